//! Code of others on threads of the pool, or in a worker: services, wakers, subscribers, owners.
//!
//! Whatever it does, the thread that runs it must go on: a panic ends here, and a wait for what
//! that very thread has to do is refused.

use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind};
use crate::state::Shared;

/// What a panic carried. It is never dropped, because its drop is foreign code as well.
pub(crate) type Payload = ManuallyDrop<Box<dyn Any + Send>>;

/// Runs foreign code; a panic ends there.
pub(crate) fn run<T>(code: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(code)).map_err(ManuallyDrop::new)
}

thread_local! {
    /// The pool whose thread this is, by the address of its [`Shared`].
    static OWNER: Cell<usize> = const { Cell::new(0) };
}

impl Shared {
    /// Notes that this thread is one of the pool's own.
    pub(crate) fn own_thread(&self) {
        OWNER.set(std::ptr::from_ref(self).addr());
    }

    /// Whether this thread must not wait for the pool, because others wait for it.
    pub(crate) fn is_own_thread(&self) -> bool {
        OWNER.get() == std::ptr::from_ref(self).addr()
    }

    /// The error of a wait on a thread of the pool.
    pub(crate) fn would_hang(&self, what: &str) -> Error {
        let service = self.settings.service;
        let text = format!(
            "waiting for {what} of service {service} on a thread of its pool, in a waker, a \
             subscriber or a snapshot, would wait for ever"
        );
        Error::new(ErrorKind::WouldHang, text)
    }
}
