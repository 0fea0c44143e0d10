//! Locks on single bytes of a file, which belong to an open file and not to a process.
#![expect(unsafe_code, reason = "rustix has no locks of open file descriptions")]

use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fd::OwnedFd;

use crate::error::{Error, Result};

/// What is locked. The bytes lie behind every segment, so they are nobody's data.
#[derive(Debug, Clone, Copy)]
#[repr(i64)]
pub(crate) enum Byte {
    Gate = i64::MAX - 2,
    Turnstile = i64::MAX - 1,
}

#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(crate) enum Mode {
    Shared = libc::F_RDLCK,
    Exclusive = libc::F_WRLCK,
}

/// Waits for the lock.
pub(crate) fn lock(file: &OwnedFd, byte: Byte, mode: Mode) -> Result<()> {
    loop {
        match set(file, byte, mode as i32) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::system("lock a mutable arena", error)),
        }
    }
}

/// Gives the lock back, if there is one.
pub(crate) fn unlock(file: &OwnedFd, byte: Byte) {
    let unlocked = set(file, byte, libc::F_UNLCK);
    debug_assert!(unlocked.is_ok(), "a lock is given back");
}

fn set(file: &OwnedFd, byte: Byte, kind: i32) -> io::Result<()> {
    let to_short =
        |value: i32| libc::c_short::try_from(value).expect("invariant: a small constant");
    let wanted = libc::flock {
        l_type: to_short(kind),
        l_whence: to_short(libc::SEEK_SET),
        l_start: byte as i64,
        l_len: 1,
        // These locks demand it.
        l_pid: 0,
    };
    // SAFETY: `OwnedFd` promises that the descriptor is open; this command reads one `flock` through
    // its pointer, and the local value lives until the call returns.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const wanted) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
