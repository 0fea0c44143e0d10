//! The control channel between the pool and a worker: ipc-channel over sockets of our own.
//!
//! ipc-channel's own way to connect two processes, the one-shot server, is a socket file in a
//! temporary directory: it stays behind when the process is killed, and `accept` never returns
//! when the other side dies first. Here both ends of a socket pair are made by the pool, one
//! travels to the worker as a descriptor, and ipc-channel *adopts* it: a channel is made the
//! usual way, and our socket takes the place of its descriptor (`dup3`).
//!
//! Messages are encoded by the codec and sent in pieces that fit one packet. So ipc-channel
//! never serializes a value, never sends a descriptor, and never makes a channel in the middle
//! of a message: the three places where it can panic or leak.

use std::fmt::Debug;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use ipc_channel::ipc::{IpcBytesReceiver, IpcBytesSender};
use ipc_channel::{IpcError, TryRecvError};
use parking_lot::Mutex;
use rustix::io::{DupFlags, Errno, Result};
use serde::{Deserialize, Serialize};

use crate::codec;

/// Bytes of a message in one packet.
const PIECE: usize = 16 * 1024;

/// The first message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) service: String,
    pub(crate) build: u64,
    pub(crate) worker: u64,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) stack_size: Option<u64>,
    pub(crate) spin: bool,
    pub(crate) events: u8,
    pub(crate) pipes: bool,
}

/// What a worker says beside its answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The state is made: tasks may come.
    Ready,
    /// There is no such service.
    Stranger(String),
    /// The service is of another build.
    OtherBuild(String),
    /// The initializer, or an update, failed.
    Failed { message: String, backtrace: Option<String> },
    /// Something for the log of the pool's process.
    Event { level: u8, target: String, spans: String, message: String },
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Sender(Mutex<IpcBytesSender>);

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Receiver {
    channel: IpcBytesReceiver,
    fd: RawFd,
    pieces: Vec<u8>,
    /// The other side is gone, or has closed its end.
    closed: bool,
}

impl Sender {
    /// Makes one end of a socket pair the sender of a channel.
    pub(crate) fn adopt(socket: OwnedFd) -> Result<Self> {
        // The first send of a process opens a probing socket pair and panics without room for it.
        drop(crate::sys::socket_pair()?);
        let (sender, _) = channel()?;
        replace(fd_of(&sender)?, &socket)?;
        Ok(Self(Mutex::new(sender)))
    }

    /// Sends a message. It blocks while the other side has a full socket and reads nothing.
    pub(crate) fn send<T: Serialize>(&self, message: &T) -> std::io::Result<()> {
        let bytes = codec::encode(message).map_err(std::io::Error::other)?;
        let mut packet = Vec::with_capacity(PIECE.min(bytes.len()) + 1);
        let mut pieces = bytes.chunks(PIECE).peekable();
        let channel = self.0.lock();
        while let Some(piece) = pieces.next() {
            packet.clear();
            packet.push(u8::from(pieces.peek().is_some()));
            packet.extend_from_slice(piece);
            loop {
                match channel.send(&packet) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                    Ok(()) => break,
                }
            }
        }
        Ok(())
    }
}

impl Receiver {
    /// Makes one end of a socket pair the receiver of a channel.
    pub(crate) fn adopt(socket: OwnedFd) -> Result<Self> {
        let (_, receiver) = channel()?;
        let fd = fd_of(&receiver)?;
        replace(fd, &socket)?;
        Ok(Self { channel: receiver, fd, pieces: Vec::new(), closed: false })
    }

    /// Waits for a message; `None` is the end of the channel, or bytes that are no message.
    pub(crate) fn recv<T: for<'de> Deserialize<'de>>(&mut self) -> Option<T> {
        loop {
            match self.channel.recv() {
                Ok(packet) => {
                    if let Some(message) = self.take(&packet) {
                        return message;
                    }
                }
                Err(IpcError::Io(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether a look for a message has found the end of the channel.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// A message that is there already.
    pub(crate) fn try_recv<T: for<'de> Deserialize<'de>>(&mut self) -> Option<T> {
        loop {
            let packet = match self.channel.try_recv() {
                Ok(packet) => packet,
                Err(TryRecvError::IpcError(IpcError::Disconnected)) => {
                    self.closed = true;
                    return None;
                }
                Err(_) => return None,
            };
            if let Some(message) = self.take(&packet) {
                return message;
            }
        }
    }

    /// Adds a packet; the outer `None` says that more are to come.
    fn take<T: for<'de> Deserialize<'de>>(&mut self, packet: &[u8]) -> Option<Option<T>> {
        let (more, piece) = packet.split_first()?;
        self.pieces.extend_from_slice(piece);
        if *more != 0 {
            return None;
        }
        let bytes = std::mem::take(&mut self.pieces);
        Some(codec::decode_message(&bytes))
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: `fd` is the descriptor of `channel` (`adopt`), which keeps it open as long as
        // `self` lives: it is neither sent nor taken out.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }
}

fn channel() -> Result<(IpcBytesSender, IpcBytesReceiver)> {
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    ipc_channel::ipc::bytes_channel().map_err(errno)
}

/// The descriptor of an end, which ipc-channel shows in its debug form only.
fn fd_of(end: &impl Debug) -> Result<RawFd> {
    let text = format!("{end:?}");
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let fd: RawFd = digits.parse().map_err(|_| Errno::NOTSUP)?;
    // SAFETY: only looked at, for the length of this call; a number that is no open descriptor
    // makes `fstat` fail.
    let stat = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(fd) })?;
    let is_socket = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_socket();
    if is_socket { Ok(fd) } else { Err(Errno::NOTSUP) }
}

/// Puts our socket in the place of a channel's descriptor, which the channel goes on owning.
fn replace(fd: RawFd, socket: &OwnedFd) -> Result<()> {
    // SAFETY: `fd` was just made by `channel` and belongs to an end that the caller holds;
    // `ManuallyDrop` leaves closing it to that end.
    let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(fd) });
    rustix::io::dup3(socket, &mut place, DupFlags::CLOEXEC)
}

#[cfg(test)]
mod tests {
    use super::{Receiver, Said, Sender};

    #[test]
    fn messages_of_any_size_cross_adopted_sockets() {
        let (near, far) = crate::sys::socket_pair().unwrap();
        let sender = Sender::adopt(near).unwrap();
        let mut receiver = Receiver::adopt(far).unwrap();
        assert!(receiver.try_recv::<Said>().is_none());
        let long = "x".repeat(100_000);
        let said = Said::Failed { message: long.clone(), backtrace: None };
        sender.send(&said).unwrap();
        sender.send(&Said::Ready).unwrap();
        let Some(Said::Failed { message, .. }) = receiver.recv() else { panic!("no message") };
        assert_eq!(message, long);
        assert!(matches!(receiver.try_recv(), Some(Said::Ready)));
        drop(sender);
        assert!(receiver.recv::<Said>().is_none());
    }
}
