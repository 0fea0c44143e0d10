//! Processes that fork workers: the fork server and the zygote.
//!
//! Both are the same loop over a socket. The server comes from re-running the executable; the
//! zygote is forked from the pool's own process while that has one thread. Both have one thread
//! for all their life, so that a fork copies no lock that another thread holds.
//!
//! A worker is forked with `CLONE_PARENT`: its parent is the pool's process, not the server. So
//! the pool waits for it as for any child, the signal at the parent's death means the pool's
//! death, and the death of the server harms no worker.

use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use rustix::process::Pid;

use crate::error::{Error, ErrorKind};
use crate::{foreign, init, sys};

/// Forks a worker for each socket that arrives, until the pool's end closes.
pub(crate) fn serve(socket: &OwnedFd, parent: Pid) {
    loop {
        let Ok((len, mut fds)) = sys::recv_fds(socket, &mut [0; 8]) else {
            // No room for the descriptor: it is closed, which tells the pool.
            continue;
        };
        if len == 0 {
            return;
        }
        let Some(lifeline) = fds.pop() else { continue };
        if sys::hung_up(&lifeline, Some(std::time::Duration::ZERO)) {
            // The pool gave up while this process was stopped: nobody would wait for the worker.
            continue;
        }
        let errno = match fork_for(parent) {
            Fork::Child => {
                // The copy of the server's socket must not keep the server's end open. It is
                // borrowed from the caller, which never runs again in this process.
                close(socket);
                init::serve(lifeline, init::table(), parent, init::end_now)
            }
            Fork::Parent => 0,
            Fork::Failed(errno) => errno,
        };
        // Before the socket of the worker closes: then the pool looks for the reason.
        if errno != 0 && sys::send_fds(socket, &errno.to_le_bytes(), &[], true).is_err() {
            return;
        }
        drop(lifeline);
    }
}

enum Fork {
    Child,
    Parent,
    Failed(i32),
}

/// Forks a sibling: a process whose parent is the pool's process.
fn fork_for(parent: Pid) -> Fork {
    if rustix::process::getppid() != Some(parent) {
        init::end_now(0);
    }
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without `CLONE_VM` and with no stack given, this is a fork. The process has one
    // thread (the server and the zygote start none), so the child holds no lock of a thread that
    // does not exist in it.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    match pid {
        0 => Fork::Child,
        -1 => Fork::Failed(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN)),
        _ => Fork::Parent,
    }
}

fn close(socket: &OwnedFd) {
    use std::os::fd::AsRawFd;
    // SAFETY: called in a forked child that leaves the owner of `socket` behind: `serve` never
    // returns there, so the descriptor is not used or closed again.
    unsafe { libc::close(socket.as_raw_fd()) };
}

/// A process that forks workers, seen from the pool.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) socket: OwnedFd,
    pub(crate) process: sys::Process,
}

impl Server {
    /// Asks for a worker on this socket. Whether one came is seen on the socket's other end.
    pub(crate) fn request(&self, lifeline: &OwnedFd) -> rustix::io::Result<()> {
        use std::os::fd::AsFd;
        sys::send_fds(&self.socket, b"fork", &[lifeline.as_fd()], true)
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    /// Why the last request failed, if the server has said so.
    pub(crate) fn refusal(&self) -> Option<std::io::Error> {
        let mut errno = [0; 4];
        let fd = std::os::fd::AsFd::as_fd(&self.socket);
        let flags = rustix::net::RecvFlags::DONTWAIT;
        let (len, _) = rustix::net::recv(fd, &mut errno, flags).ok()?;
        (len == 4).then(|| std::io::Error::from_raw_os_error(i32::from_le_bytes(errno)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill();
        self.process.reap();
    }
}

/// The one zygote of this process.
static ZYGOTE: Mutex<Option<Server>> = Mutex::new(None);

/// Runs code with the zygote, if there is one.
pub(crate) fn with_zygote<T>(code: impl FnOnce(&Server) -> T) -> Option<T> {
    ZYGOTE.lock().as_ref().map(code)
}

/// Takes the status of a zygote that has ended.
pub(crate) fn forget_dead_zygote() {
    let mut zygote = ZYGOTE.lock();
    if zygote.as_ref().is_some_and(Server::has_ended) {
        *zygote = None;
    }
}

/// Why no zygote can be forked now; `None` when it can, or is there.
pub(crate) fn why_no_zygote() -> Option<String> {
    forget_dead_zygote();
    if ZYGOTE.lock().is_some() {
        return None;
    }
    let threads = sys::thread_count();
    (threads != 1).then(|| {
        format!(
            "start method fork needs a process with one thread, and this one has {threads}: a \
             forked copy would wait for ever for locks that the other threads hold. Call \
             `process_pool::prepare_fork()` at the top of `main`, or use forkserver"
        )
    })
}

/// Forks the zygote from which workers of the start method `fork` come.
///
/// Building the first pool with that method does it too. A program that starts threads before
/// its first pool calls this earlier, right after [`init`](crate::init).
///
/// # Errors
///
/// `Unavailable` when the process has more than one thread; `NotInitialized` without `init`.
pub fn prepare_fork() -> Result<(), Error> {
    if !init::was_called() {
        return Err(Error::new(ErrorKind::NotInitialized, crate::builder::FORGOTTEN));
    }
    if let Some(reason) = why_no_zygote() {
        return Err(Error::new(ErrorKind::Unavailable, reason));
    }
    let mut zygote = ZYGOTE.lock();
    if zygote.is_some() {
        return Ok(());
    }
    let refused = |error: std::io::Error| {
        Error::new(ErrorKind::Start, format!("forking the zygote: {error}"))
    };
    let (near, far) = sys::socket_pair().map_err(|error| refused(error.into()))?;
    let parent = rustix::process::getpid();
    let _ = std::io::Write::flush(&mut std::io::stdout());
    // SAFETY: the process has one thread (checked above), so the child holds no lock of a thread
    // that does not exist in it, except `ZYGOTE`, which it never takes.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        close(&near);
        init::follow_to_death(parent);
        if let Ok(null) = std::fs::File::open("/dev/null") {
            let _ = rustix::stdio::dup2_stdin(&null);
        }
        // Nothing may return or unwind from here into the copy of a program's `main`.
        let served = foreign::run(|| serve(&far, parent));
        init::end_now(i32::from(served.is_err()));
    }
    let pid = Pid::from_raw(pid).filter(|_| pid > 0);
    let pid = pid.ok_or_else(|| refused(std::io::Error::last_os_error()))?;
    let process = sys::Process::of_child(pid).map_err(|error| refused(error.into()))?;
    *zygote = Some(Server { socket: near, process });
    Ok(())
}
