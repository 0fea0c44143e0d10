//! System calls as small safe functions, and the only clock of the crate.
//!
//! Everything here restarts after a signal: no caller ever sees `EINTR`.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::io::{Errno, Result, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

/// How many descriptors one message carries at most (the kernel allows 253).
pub(crate) const MAX_FDS: usize = 64;

/// The clock of time-outs and counters.
#[expect(
    clippy::disallowed_methods,
    reason = "time-outs of processes need a clock; no answer depends on it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A pair of connected sockets that keep message borders and are closed on exec.
pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd)> {
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// A counter that wakes whoever polls it.
pub(crate) fn event_fd() -> Result<OwnedFd> {
    use rustix::event::EventfdFlags;
    rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
}

/// Wakes the poller of an event descriptor. A full counter has woken it already.
pub(crate) fn ring_bell(bell: &OwnedFd) {
    let _ = retry_on_intr(|| rustix::io::write(bell, &1_u64.to_ne_bytes()));
}

/// Sends one message with descriptors; with `wait` false a full socket is `EAGAIN`.
pub(crate) fn send_fds(
    socket: &OwnedFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    wait: bool,
) -> Result<()> {
    let mut flags = SendFlags::NOSIGNAL;
    if !wait {
        flags |= SendFlags::DONTWAIT;
    }
    let sent = retry_on_intr(|| {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Errno::TOOBIG);
        }
        rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)
    })?;
    if sent == bytes.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
}

/// A received message: its length, and its descriptors.
///
/// `Ok((0, []))` is the end of the stream. Descriptors that the process had no room for are
/// `EMFILE`; those that did arrive are closed then.
pub(crate) fn recv_fds(socket: &OwnedFd, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = retry_on_intr(|| {
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)
    })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE);
    }
    Ok((received.bytes, fds))
}

/// Whether the other end of a socket is gone, after waiting for that as long as given.
pub(crate) fn hung_up(socket: &OwnedFd, wait: Option<Duration>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
    let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::empty())];
    match retry_on_intr(|| poll(&mut fds, timeout.as_ref())) {
        // A descriptor that somebody else closed is as good as gone.
        Ok(_) => fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
        Err(_) => false,
    }
}

/// Watches a descriptor. Edge-triggered watches need no read to be armed again.
pub(crate) fn watch(poller: &OwnedFd, fd: impl AsFd, token: u64, edge: bool) -> Result<()> {
    let mut flags = epoll::EventFlags::IN;
    if edge {
        flags |= epoll::EventFlags::ET;
    }
    epoll::add(poller, fd, epoll::EventData::new_u64(token), flags)
}

/// Waits for events; an interrupted wait is an empty one.
pub(crate) fn wait_events(
    poller: &OwnedFd,
    events: &mut Vec<epoll::Event>,
    timeout: Option<Duration>,
) -> Result<()> {
    use rustix::event::Timespec;
    events.clear();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match epoll::wait(poller, rustix::buffer::spare_capacity(events), timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A process by its descriptor: a number that is reused can never be meant.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) fd: OwnedFd,
}

impl Process {
    /// A child of this process that nobody has waited for yet. Without room for its descriptor,
    /// the child is ended and waited for.
    pub(crate) fn of_child(pid: Pid) -> Result<Self> {
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Self { pid, fd }),
            // It has ended, and somebody else took its status: the number may mean another now.
            Err(Errno::SRCH) => Err(Errno::SRCH),
            Err(error) => {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                let options = rustix::process::WaitOptions::empty();
                let _ = retry_on_intr(|| rustix::process::waitpid(Some(pid), options));
                Err(error)
            }
        }
    }

    /// Whether the process has ended, and is a zombie at most.
    pub(crate) fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        retry_on_intr(|| poll(&mut fds, Some(&now))).is_ok_and(|n| n > 0)
    }

    /// Ends the process for sure. That it has ended already is fine.
    pub(crate) fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.fd, Signal::KILL);
    }

    /// Waits for the end and says it in words; `None` when somebody else took the status.
    pub(crate) fn reap(&self) -> Option<Exit> {
        let wait =
            || rustix::process::waitid(WaitId::PidFd(self.fd.as_fd()), WaitIdOptions::EXITED);
        let status = retry_on_intr(wait).ok().flatten()?;
        match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => Some(Exit::Signal(signal)),
            (None, Some(code)) => Some(Exit::Code(code)),
            (None, None) => None,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by {name} (signal {signal})"),
                None => write!(f, "was killed by signal {signal}"),
            },
        }
    }
}

/// The name of a signal.
pub(crate) fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// How many threads this process has; 1 when only the caller lives.
pub(crate) fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}
