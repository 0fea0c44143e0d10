//! Standard output and error of workers, passed through whole lines at a time.
//!
//! Each worker writes into pipes. One thread of the pool reads them and writes lines to the
//! output and error of this process, so that lines of different workers never mix. It has the
//! pipes for itself: when this process's own output is blocked, workers that print wait, and
//! nothing else does.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;

use crate::sys;

/// A line longer than this is passed through in parts.
const LONGEST: usize = 64 * 1024;

/// How often one pipe is read before it is the turn of others.
const MOST_READS: usize = 64;

const QUIT: u64 = u64::MAX;

/// What is read, and where it goes.
struct Pipe {
    fd: OwnedFd,
    to: BorrowedFd<'static>,
    line: Vec<u8>,
}

/// The pool's side of the pipes.
pub(crate) struct Output {
    poller: OwnedFd,
    bell: OwnedFd,
    pipes: Mutex<BTreeMap<u64, Pipe>>,
}

impl Output {
    pub(crate) fn new() -> rustix::io::Result<Self> {
        use rustix::event::epoll::{CreateFlags, create};
        let (poller, bell) = (create(CreateFlags::CLOEXEC)?, sys::event_fd()?);
        sys::watch(&poller, &bell, QUIT, false)?;
        Ok(Self { poller, bell, pipes: Mutex::new(BTreeMap::new()) })
    }

    /// Makes the two pipes of a worker, and gives the ends that the worker writes to.
    pub(crate) fn pipes(&self, worker: u64) -> rustix::io::Result<[OwnedFd; 2]> {
        let out = self.pipe(worker << 1, rustix::stdio::stdout())?;
        let err = self.pipe(worker << 1 | 1, rustix::stdio::stderr())?;
        Ok([out, err])
    }

    fn pipe(&self, token: u64, to: BorrowedFd<'static>) -> rustix::io::Result<OwnedFd> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (fd, far) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&fd, rustix::fs::OFlags::NONBLOCK)?;
        sys::watch(&self.poller, &fd, token, false)?;
        self.pipes.lock().insert(token, Pipe { fd, to, line: Vec::new() });
        Ok(far)
    }

    /// Passes lines through until it is told to quit and nothing is left to read.
    pub(crate) fn run(&self) {
        let mut events = Vec::with_capacity(64);
        let mut quits = false;
        while !quits && sys::wait_events(&self.poller, &mut events, None).is_ok() {
            for event in &events {
                match event.data.u64() {
                    QUIT => quits = true,
                    token => self.read(token),
                }
            }
        }
        let tokens: Vec<u64> = self.pipes.lock().keys().copied().collect();
        tokens.into_iter().for_each(|token| self.read(token));
    }

    /// Reads what is there, but not for ever from one that writes as fast. The lock is not held
    /// while lines are written.
    fn read(&self, token: u64) {
        let Some(mut pipe) = self.pipes.lock().remove(&token) else { return };
        for _ in 0..MOST_READS {
            let mut part = [0; 8192];
            match rustix::io::read(pipe.fd.as_fd(), &mut part[..]) {
                Ok(0) => return pipe.pass(true),
                Ok(n) => {
                    pipe.line.extend_from_slice(&part[..n]);
                    pipe.pass(false);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return,
            }
        }
        self.pipes.lock().insert(token, pipe);
    }

    /// Asks the thread to end, and waits for that, but not for ever: this process's own output
    /// may be blocked.
    pub(crate) fn quit(&self, ended: &mpsc::Receiver<()>, thread: JoinHandle<()>, wait: Duration) {
        sys::ring_bell(&self.bell);
        if ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Disconnected) {
            let _ = thread.join();
        }
    }
}

impl Pipe {
    /// Writes whole lines, and at the end what is left, as a line of its own.
    fn pass(&mut self, all: bool) {
        if all && self.line.last().is_some_and(|last| *last != b'\n') {
            self.line.push(b'\n');
        }
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole = if self.line.len() > LONGEST { self.line.len() } else { whole };
        let mut rest = &self.line[..whole];
        while !rest.is_empty() {
            match rustix::io::write(self.to, rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                // Whoever read our output is gone; the workers must not wait for that.
                Err(_) => break,
            }
        }
        self.line.drain(..whole);
    }
}
