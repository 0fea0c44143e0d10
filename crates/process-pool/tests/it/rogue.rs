//! A service that behaves badly, and one that has its name.

use std::cell::Cell;

use process_pool::{BoxError, Context, ProcessPool, Service};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, Setup, hang, lab};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Deed {
    Nothing,
    /// Closes all descriptors but the standard ones, then answers or hangs.
    CloseAll(bool),
    /// Panics with a value whose drop panics.
    PanicWithBomb,
    /// Is itself a value whose drop panics, in the worker.
    Bomb(Bomb),
    /// Is kept in the state: its drop is that of the state.
    Keep(Bomb),
    /// Cannot be encoded: that panics.
    Unspeakable(Mute),
    /// Answers with what cannot be encoded.
    AnswerMute,
    /// Forks a child that sleeps, and answers with its number.
    Fork,
    /// Emits events and prints without end.
    Flood,
    /// Builds a pool of its own and answers with its workers' numbers.
    Nest,
    /// Uses another panic hook.
    Hook,
    /// Wants no signal when its parent dies.
    ForgetDeath,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Numbers(Vec<u32>),
    Mute(Mute),
}

/// Panics when it is dropped where it was decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bomb(Cell<bool>);

impl Serialize for Bomb {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer)?;
        Ok(Self(Cell::new(true)))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0.get(), "the bomb went off");
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mute;

impl Serialize for Mute {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("speechless")
    }
}

#[derive(Default)]
pub(crate) struct Rogue {
    nested: Option<ProcessPool<Lab>>,
    kept: Option<Bomb>,
}

impl Service for Rogue {
    const NAME: &'static str = "rogue";
    type Args = ();
    type Request = Deed;
    type Answer = Reply;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self::default())
    }

    fn call(&mut self, deed: Deed, _: &Context) -> Result<Reply, BoxError> {
        let mut numbers = Vec::new();
        match deed {
            Deed::Nothing | Deed::Unspeakable(_) => {}
            Deed::CloseAll(hangs) => {
                close_all();
                if hangs {
                    hang();
                }
            }
            Deed::PanicWithBomb => std::panic::panic_any(Bomb(Cell::new(true))),
            Deed::Bomb(bomb) => drop(bomb),
            Deed::Keep(bomb) => self.kept = Some(bomb),
            Deed::AnswerMute => return Ok(Reply::Mute(Mute)),
            Deed::Fork => numbers.push(fork()),
            Deed::Flood => loop {
                tracing::warn!("drowning {}", "x".repeat(1000));
            },
            Deed::Nest => {
                let nested = lab(Setup::Fine, 2).build()?;
                numbers = nested.worker_pids();
                self.nested = Some(nested);
            }
            Deed::ForgetDeath => rustix::process::set_parent_process_death_signal(None)?,
            Deed::Hook => std::panic::set_hook(Box::new(|_| panic!("hooked"))),
        }
        Ok(Reply::Numbers(numbers))
    }
}

/// Two services of one name in one program.
pub(crate) struct Namesake<const N: u8>;

impl<const N: u8> Service for Namesake<N> {
    const NAME: &'static str = "namesake";
    type Args = ();
    type Request = ();
    type Answer = u8;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(&mut self, (): (), _: &Context) -> Result<u8, BoxError> {
        Ok(N)
    }
}

#[expect(unsafe_code, reason = "what the test asks for")]
fn close_all() {
    // SAFETY: unsound indeed, as some programs are: every owner of a descriptor is robbed of it.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}

#[expect(unsafe_code, reason = "what the test asks for")]
fn fork() -> u32 {
    // SAFETY: the child only sleeps until it is killed.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }
    pid.unsigned_abs()
}

/// Handles a signal by nothing at all, so that it interrupts whatever waits.
#[expect(unsafe_code, reason = "what the test asks for")]
pub(crate) fn interrupted_by(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: all zeroes is a valid `sigaction`, without `SA_RESTART`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    // SAFETY: the handler does nothing, which is safe in a signal handler.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
}

/// Lets the kernel take the status of children.
#[expect(unsafe_code, reason = "what the test asks for")]
pub(crate) fn ignore_children() {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}
