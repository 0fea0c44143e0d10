//! A process that removes what this one leaves in /dev/shm when it is killed.
//!
//! Whoever is killed can't remove its named arenas, and its workers die with it. So a small process
//! of its own waits at the end of a pipe: a byte says that all is well, the pipe's end that this
//! process has gone. It is this program, run again under a name that [`serve`] knows.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tensor_share::sweep;

/// The name under which the program is the sweeper.
const NAME: &str = "pams: removes shared memory of a killed run";

/// Whether this program's `main` gets to [`serve`], and so a sweeper would.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Removes what this process and its workers leave in /dev/shm if they are killed, as long as this
/// value lives and for that one time. If there is none, the next run removes it.
#[derive(Debug)]
pub struct Sweeper {
    process: Child,
}

impl Sweeper {
    /// Starts the process. None if this program has not called [`init`](crate::init).
    ///
    /// # Errors
    ///
    /// When no process can be started.
    pub fn start() -> io::Result<Option<Self>> {
        if !SERVES.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let process = Command::new(env::current_exe()?)
            .arg0(NAME)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the main process.
            .process_group(0)
            .spawn()?;
        Ok(Some(Self { process }))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.process.stdin.take() {
            // If it has gone, it needs no word.
            let _ = pipe.write_all(&[1]);
        }
        let _ = self.process.wait();
    }
}

/// Turns this process into a sweeper if it was started as one; otherwise returns at once.
pub(crate) fn serve() {
    SERVES.store(true, Ordering::Relaxed);
    if env::args_os().next().is_some_and(|name| name == NAME) {
        let is_well = io::stdin().read_exact(&mut [0]).is_ok();
        if !is_well {
            sweep_until_quiet();
        }
        end();
    }
}

/// Workers die a little later than their main process, and what they hold is theirs until then.
fn sweep_until_quiet() {
    const PAUSE: Duration = Duration::from_millis(10);
    const QUIET: u32 = 10;
    let mut quiet = 0;
    while quiet < QUIET {
        match sweep() {
            Ok(swept) if swept.arenas > 0 || swept.processes > 0 => quiet = 0,
            _ => quiet += 1,
        }
        thread::sleep(PAUSE);
    }
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "a sweeper has no `main` to return to")]
fn end() -> ! {
    std::process::exit(0)
}
