//! The line at the top of `main`, and the first steps of a process that is a worker or a server.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, Signal};

use crate::control::{Receiver, Said, Sender, Start};
use crate::ring::{Consumer, Producer};
use crate::segment::{Segment, Way};
use crate::service::{Entry, WorkerId};
use crate::spin::Spin;
use crate::worker::Link;
use crate::{events, foreign, server, sys};

/// The variable by which a re-run executable learns what it is: `worker:PID` or `server:PID`,
/// with the number of the process that started it.
pub(crate) const ROLE: &str = "PROCESS_POOL_ROLE";

/// The exit status of a worker that lost its pool or never had one.
const LOST: i32 = 113;

/// The exit status of a worker in which a panic was not the panic of a task.
const PANICKED: i32 = 101;

static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();

/// Turns this process into a worker if a pool started it as one; otherwise returns at once.
///
/// It belongs at the top of `main`, before threads are started and before anything is printed,
/// with all services of the program. In a worker it never returns. A second call changes nothing.
///
/// ```no_run
/// # use process_pool::{BoxError, Context, Service};
/// # struct Squares;
/// # impl Service for Squares {
/// #     const NAME: &'static str = "squares";
/// #     type Args = (); type Request = u64; type Answer = u64; type Update = ();
/// #     fn start((): (), _: &Context) -> Result<Self, BoxError> { Ok(Self) }
/// #     fn call(&mut self, n: u64, _: &Context) -> Result<u64, BoxError> { Ok(n * n) }
/// # }
/// fn main() {
///     process_pool::init(&[process_pool::service::<Squares>()]);
///     // the program
/// }
/// ```
pub fn init(services: &[Entry]) {
    let _ = TABLE.set(services.to_vec());
    #[expect(
        clippy::disallowed_methods,
        reason = "this is how a process learns that it is a worker"
    )]
    let Ok(role) = std::env::var(ROLE) else { return };
    let Some((role, parent)) = role.split_once(':') else { return };
    let Some(parent) = parent.parse().ok().and_then(Pid::from_raw) else { return };
    if !stdin_is_ours() {
        // Inherited by a process that some worker or helper started for purposes of its own.
        return;
    }
    if sys::thread_count() == 1 {
        // SAFETY: this is the only thread of the process, so nobody reads the environment now.
        unsafe { std::env::remove_var(ROLE) };
    }
    // The socket leaves descriptor 0, so that code which reads its standard input finds an end.
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { end(LOST) };
    if let Ok(null) = std::fs::File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
    }
    follow_to_death(parent);
    if role == "server" {
        server::serve(&socket, parent);
        end(0)
    }
    serve(socket, services, parent, end)
}

/// Whether `init` was called in this process, and found nothing to do.
pub(crate) fn was_called() -> bool {
    TABLE.get().is_some()
}

/// The services that `init` was given.
pub(crate) fn table() -> &'static [Entry] {
    TABLE.get().map_or(&[], Vec::as_slice)
}

fn stdin_is_ours() -> bool {
    use rustix::net::sockopt::{socket_domain, socket_type};
    use rustix::net::{AddressFamily, SocketType};
    let stdin = rustix::stdio::stdin();
    socket_domain(stdin) == Ok(AddressFamily::UNIX)
        && socket_type(stdin) == Ok(SocketType::SEQPACKET)
}

/// Makes sure that this process does not outlive the one that started it, and leaves Ctrl-C to
/// that one.
pub(crate) fn follow_to_death(parent: Pid) {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have died before the line above.
    if rustix::process::getppid() != Some(parent) {
        end_now(LOST);
    }
    set_signal(libc::SIGINT, libc::SIG_IGN);
    set_signal(libc::SIGTERM, libc::SIG_DFL);
    set_signal(libc::SIGCHLD, libc::SIG_DFL);
}

fn set_signal(signal: libc::c_int, action: libc::sighandler_t) {
    // SAFETY: ignoring a signal or giving it its default action runs no code of ours.
    unsafe { libc::signal(signal, action) };
}

/// Runs a worker on a socket to its pool. `end` is how the process ends: with or without the
/// handlers that an exit runs, which a forked process has inherited from another.
pub(crate) fn serve(socket: OwnedFd, services: &[Entry], parent: Pid, end: fn(i32) -> !) -> ! {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if sys::send_fds(&socket, &own.to_le_bytes(), &[], true).is_err() {
        end(LOST)
    }
    let Some((start, link)) = greet(socket) else { end(LOST) };
    // After a fork, this is where the parent is known to be the pool's process.
    follow_to_death(parent);
    prepare(&start);
    let mut named = services.iter().filter(|entry| entry.name == start.service);
    let Some(entry) = named.next() else {
        let names: Vec<_> = services.iter().map(|entry| entry.name).collect();
        let said = format!("the worker's `init` knows no service {}, but {names:?}", start.service);
        let _ = link.control.send(&Said::Stranger(said));
        end(1)
    };
    if named.next().is_some() {
        let said = format!("the worker's `init` knows several services {}", start.service);
        let _ = link.control.send(&Said::Stranger(said));
        end(1)
    }
    let build = (entry.build)();
    if build != start.build {
        let said = format!(
            "the worker's executable was built differently for service {}: build id {build:016x}, \
             the pool's is {:016x}",
            start.service, start.build
        );
        let _ = link.control.send(&Said::OtherBuild(said));
        end(1)
    }
    watch(&link.lifeline);
    let run = entry.run;
    // A panic that gets here must not go on into a `main` that may be another process's.
    let run = move |link| foreign::run(|| run(link)).unwrap_or(PANICKED);
    let Some(stack) = start.stack_size else { end(run(link)) };
    let thread = std::thread::Builder::new()
        .name("worker".to_owned())
        .stack_size(usize::try_from(stack).unwrap_or(usize::MAX));
    match thread.spawn(move || run(link)) {
        Ok(thread) => end(thread.join().unwrap_or(PANICKED)),
        Err(_) => end(LOST),
    }
}

/// Takes the pool's first message: the descriptors, then what to be.
fn greet(socket: OwnedFd) -> Option<(Start, Link)> {
    let (_, fds) = sys::recv_fds(&socket, &mut [0; 64]).ok()?;
    let mut fds = fds.into_iter();
    let mut next = || fds.next();
    let (receiver, sender, memory, bell) = (next()?, next()?, next()?, next()?);
    let segment = Arc::new(Segment::open(&memory).ok()?);
    let control = Arc::new(Sender::adopt(sender).ok()?);
    let start: Start = Receiver::adopt(receiver).ok()?.recv()?;
    if start.pipes {
        rustix::stdio::dup2_stdout(&next()?).ok()?;
        rustix::stdio::dup2_stderr(&next()?).ok()?;
    }
    events::forward(&control, start.events);
    let link = Link {
        worker: WorkerId(start.worker),
        tasks: Consumer::new(segment.clone(), Way::ToWorker),
        answers: Producer::new(segment.clone(), Way::ToPool),
        segment,
        bell,
        lifeline: Arc::new(socket),
        control,
        spin: Spin::new(start.spin),
    };
    Some((start, link))
}

fn prepare(start: &Start) {
    if sys::thread_count() == 1 {
        for (name, value) in &start.env {
            // SAFETY: this is the only thread of the process, so nobody reads the environment.
            unsafe { std::env::set_var(name, value) };
        }
    }
    if let Some(limit) = start.memory_limit {
        let limit = rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::As, limit);
    }
}

/// Ends the process when the pool's end of the socket closes: the second line behind the signal
/// at the parent's death.
fn watch(lifeline: &Arc<OwnedFd>) {
    let lifeline = lifeline.clone();
    let thread = std::thread::Builder::new().name("lifeline".to_owned()).stack_size(64 * 1024);
    let _ = thread.spawn(move || {
        while !sys::hung_up(&lifeline, None) {}
        end_now(LOST)
    });
}

/// Ends a process that was started as a worker.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "a worker has no `main` to return to")]
fn end(status: i32) -> ! {
    std::process::exit(status)
}

/// Ends the process at once, without running what others registered for its exit.
pub(crate) fn end_now(status: i32) -> ! {
    let _ = std::io::stdout().flush();
    // SAFETY: ends the process; no code runs after it.
    unsafe { libc::_exit(status) }
}
