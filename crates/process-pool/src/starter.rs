//! The thread that starts processes: one for the life of the pool, because the signal at the
//! parent's death is sent when the *thread* ends that started the child.
//!
//! It also asks the owner for snapshots, so that foreign code never holds up the reactor.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::builder::StartMethod;
use crate::control::{Receiver, Sender, Start};
use crate::error::{Error, ErrorKind};
use crate::events::Note;
use crate::foreign;
use crate::init::ROLE;
use crate::link::{Ends, Link, Out};
use crate::reactor;
use crate::segment::Segment;
use crate::server::{self, Server};
use crate::service::WorkerId;
use crate::state::{Course, Shared};
use crate::sys::{self, Process};

/// What the reactor asks of the starter.
#[derive(Debug)]
pub(crate) enum Order {
    /// A process for a place.
    Start { place: usize, worker: WorkerId },
    /// A snapshot for a worker that has become ready, or lags behind with updates.
    Snapshot { worker: WorkerId },
    /// Whatever forks workers may have ended.
    LookAtServers,
    /// The end.
    Quit,
}

pub(crate) struct Starter {
    shared: Arc<Shared>,
    orders: mpsc::Receiver<Order>,
    server: Option<Server>,
    /// Keeps the zygote's descriptor in the poller.
    zygote: Option<OwnedFd>,
}

impl Starter {
    pub(crate) fn new(shared: Arc<Shared>, orders: mpsc::Receiver<Order>) -> Self {
        Self { shared, orders, server: None, zygote: None }
    }

    pub(crate) fn run(mut self) {
        self.shared.own_thread();
        let (ends, ended) = mpsc::channel();
        let passes = self.shared.output.as_ref().and_then(|_| self.pass_output_through(ends));
        self.watch_zygote();
        while let Ok(order) = self.orders.recv() {
            match order {
                Order::Start { place, worker } => self.start(place, worker),
                Order::Snapshot { worker } => self.snapshot(worker),
                Order::LookAtServers => self.look_at_servers(),
                Order::Quit => break,
            }
        }
        if let (Some(output), Some(passes)) = (&self.shared.output, passes) {
            output.quit(&ended, passes, self.shared.settings.stop_timeout);
        }
    }

    /// Lets the reactor notice the end of the zygote, so that it does not stay as a zombie.
    fn watch_zygote(&mut self) {
        if self.shared.settings.method == StartMethod::Fork {
            let copy = server::with_zygote(|zygote| zygote.process.fd.try_clone().ok()).flatten();
            self.zygote = copy.filter(|fd| reactor::watch_server(&self.shared.poller, fd).is_ok());
        }
    }

    /// Takes the status of what has ended.
    fn look_at_servers(&mut self) {
        if self.server.as_ref().is_some_and(Server::has_ended) {
            self.server = None;
        }
        server::forget_dead_zygote();
    }

    /// Starts the thread for what workers print. It drops `ends` when it ends.
    fn pass_output_through(&self, ends: mpsc::Sender<()>) -> Option<JoinHandle<()>> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("process-pool-output".to_owned());
        let started = thread.spawn(move || {
            if let Some(output) = &shared.output {
                output.run();
            }
            drop(ends);
        });
        let failed = |error| {
            let error = Error::new(ErrorKind::Start, format!("starting a thread: {error}"));
            self.shared.locked(|state| state.fail(&error, &self.shared));
        };
        started.map_err(failed).ok()
    }

    fn start(&mut self, place: usize, worker: WorkerId) {
        let ends = self.make(worker);
        let shared = &self.shared;
        shared.locked(|state| {
            state.places[place].starting = false;
            let ends = match ends {
                Ok(ends) => ends,
                Err(error) => {
                    let text = format!("starting {worker}: {error}");
                    return state.start_failed(place, worker, text, None, shared);
                }
            };
            let deadline = sys::now().checked_add(shared.settings.start_timeout);
            let mut link = Link::new(worker, ends, deadline, state.epoch);
            if state.course >= Course::Stopping {
                link.kill();
            }
            let watched = reactor::watch(&shared.poller, &link)
                .and_then(|()| link.send(Out::Args(shared.settings.args.clone())).or(Ok(())));
            if let Err(error) = watched {
                link.kill();
                link.process.reap();
                let error = std::io::Error::from(error);
                let text = format!("watching {worker}: {error}");
                return state.start_failed(place, worker, text, None, shared);
            }
            state.places[place].link = Some(link);
        });
        shared.wake_reactor();
    }

    /// Makes a process and all that connects it.
    fn make(&mut self, worker: WorkerId) -> std::io::Result<Ends> {
        let settings = &self.shared.settings;
        let (lifeline, far) = sys::socket_pair()?;
        let (commands, far_commands) = sys::socket_pair()?;
        let (said, far_said) = sys::socket_pair()?;
        let (segment, memory) = Segment::create(settings.ring)?;
        let segment = Arc::new(segment);
        let bell = sys::event_fd()?;
        let control = Receiver::adopt(said)?;
        let pipes = match &self.shared.output {
            Some(output) => Some(output.pipes(worker.0)?),
            None => None,
        };
        let mut fds = vec![far_commands.as_fd(), far_said.as_fd(), memory.as_fd(), bell.as_fd()];
        fds.extend(pipes.iter().flatten().map(OwnedFd::as_fd));
        // Both first messages fit into the sockets, so this waits for nobody.
        sys::send_fds(&lifeline, b"pool", &fds, true)?;
        let forks = settings.method == StartMethod::Fork;
        Sender::adopt(commands)?.send(&Start {
            service: settings.service.to_owned(),
            build: settings.build,
            worker: worker.0,
            env: if forks { settings.env.clone() } else { Vec::new() },
            memory_limit: settings.memory_limit,
            stack_size: settings.stack_size,
            spin: self.shared.cpus > 1,
            events: crate::events::wanted(),
            pipes: pipes.is_some(),
        })?;
        drop((far_commands, far_said, memory, pipes));
        let (process, greeted) = match settings.method {
            StartMethod::Spawn => {
                let process = self.run_executable("worker", far)?;
                self.launched();
                (process, false)
            }
            StartMethod::ForkServer => (self.fork_by_server(&lifeline, far)?, true),
            StartMethod::Fork => {
                let asked = server::with_zygote(|zygote| zygote.request(&far));
                match asked {
                    Some(Ok(())) => {}
                    None | Some(Err(Errno::PIPE | Errno::CONNRESET)) => return Err(lost("zygote")),
                    Some(Err(error)) => return Err(error.into()),
                }
                drop(far);
                self.launched();
                let process = self.greeting(&lifeline, None)?;
                let refused = || server::with_zygote(Server::refusal).flatten();
                (process.ok_or_else(|| refused().unwrap_or_else(|| lost("zygote")))?, true)
            }
        };
        Ok(Ends { process, segment, bell, lifeline, control, greeted })
    }

    fn launched(&self) {
        self.shared.locked(|state| state.counters.launches += 1);
    }

    fn fork_by_server(&mut self, lifeline: &OwnedFd, far: OwnedFd) -> std::io::Result<Process> {
        // A server that has died since the last worker is replaced, once for each worker.
        for _ in 0..2 {
            let server = match self.server.take() {
                Some(server) => server,
                None => {
                    let (socket, far) = sys::socket_pair()?;
                    let process = self.run_executable("server", far)?;
                    // Unwatched, its end is noticed when the next worker is asked for.
                    let _ = reactor::watch_server(&self.shared.poller, &process.fd);
                    Server { socket, process }
                }
            };
            if server.request(&far).is_ok() {
                drop(far);
                self.launched();
                let process = self.greeting(lifeline, Some(&server))?;
                let refusal = if process.is_none() { server.refusal() } else { None };
                self.server = Some(server);
                return match (process, refusal) {
                    (Some(process), _) => Ok(process),
                    (None, Some(error)) => Err(error),
                    (None, None) => {
                        self.server = None;
                        Err(lost("fork server"))
                    }
                };
            }
        }
        Err(lost("fork server"))
    }

    /// Waits for the number of a forked worker; `None` when there will be none.
    ///
    /// The process that forks may be stopped. When the pool ends meanwhile, its own server is
    /// killed: then there is a worker, which says so, or nobody holds the other end any more. The
    /// zygote belongs to other pools too, and gets some time.
    fn greeting(
        &self,
        lifeline: &OwnedFd,
        server: Option<&Server>,
    ) -> std::io::Result<Option<Process>> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let settings = &self.shared.settings;
        let mut until = sys::now().checked_add(settings.start_timeout);
        let mut ending = false;
        let look = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let mut fds = [PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN)];
        while rustix::io::retry_on_intr(|| poll(&mut fds, Some(&look)))? == 0 {
            if !ending && self.shared.locked(|state| state.course >= Course::Stopping) {
                ending = true;
                if let Some(server) = server {
                    server.process.kill();
                }
                let stop_by = sys::now().checked_add(settings.stop_timeout);
                until = [until, stop_by].into_iter().flatten().min();
            }
            if until.is_some_and(|until| until <= sys::now()) {
                return Err(lost("forking process, which answers nothing,"));
            }
        }
        let mut pid = [0; 4];
        match sys::recv_fds(lifeline, &mut pid) {
            Ok((4, _)) => {
                let pid = Pid::from_raw(i32::from_le_bytes(pid)).ok_or_else(|| lost("worker"))?;
                Ok(Some(Process::of_child(pid)?))
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Runs the executable again, with a socket in the place of its standard input.
    fn run_executable(&self, role: &str, socket: OwnedFd) -> std::io::Result<Process> {
        let settings = &self.shared.settings;
        let mut command = match &settings.executable {
            Some(path) => Command::new(path),
            None => own_executable(),
        };
        let own = rustix::process::getpid().as_raw_nonzero();
        command
            .arg(format!("--process-pool-{role}={}", settings.service))
            .envs(settings.env.iter().map(|(name, value)| (name, value)))
            .env(ROLE, format!("{role}:{own}"))
            .stdin(Stdio::from(socket));
        let child = command.spawn().map_err(|error| {
            let path = command.get_program().to_string_lossy();
            std::io::Error::new(error.kind(), format!("running {path}: {error}"))
        })?;
        Ok(Process::of_child(Pid::from_child(&child))?)
    }

    fn snapshot(&self, worker: WorkerId) {
        let settings = &self.shared.settings;
        let made = settings.snapshots.as_ref().map(|snapshots| {
            // A panic of the owner's code is the owner's error, not the end of this thread.
            foreign::run(snapshots).unwrap_or_else(|_| Err("the owner's code panicked".to_owned()))
        });
        self.shared.locked(|state| match made {
            Some(Err(error)) => {
                let text = format!("making a snapshot for {worker}: {error}");
                state.fail(&Error::new(ErrorKind::Start, text), &self.shared);
            }
            Some(Ok((after, update))) => {
                state.caught_up(worker, Some((after, Arc::new(update))), &self.shared);
            }
            None => state.caught_up(worker, None, &self.shared),
        });
        self.shared.wake_reactor();
    }
}

/// The running executable by a path that also works when its file was replaced or deleted.
fn own_executable() -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    command
}

fn lost(what: &str) -> std::io::Error {
    std::io::Error::other(format!("the {what} has ended"))
}

impl crate::state::State {
    /// A process that did not become a worker: another try, or the end of the pool.
    pub(crate) fn start_failed(
        &mut self,
        place: usize,
        worker: WorkerId,
        text: String,
        backtrace: Option<String>,
        shared: &Shared,
    ) {
        if self.course >= Course::Stopping {
            return;
        }
        self.failed_starts += 1;
        let tries = self.failed_starts;
        if tries >= shared.settings.max_starts {
            let text = format!("{text} (start {tries} of {tries})");
            let error = Error::with(ErrorKind::Start, text, Some(worker), backtrace);
            return self.fail(&error, shared);
        }
        self.notes.push(Note::NoStart { worker, tries, text });
        let wait = std::time::Duration::from_millis(1 << tries.min(10));
        self.places[place].start_at = Some(sys::now() + wait);
    }

    /// A worker has its state, or lags behind: it gets what it has missed, and then tasks.
    pub(crate) fn caught_up(
        &mut self,
        worker: WorkerId,
        snapshot: Option<(u64, Arc<crate::link::Update>)>,
        shared: &Shared,
    ) {
        let Some(link) = self.link(worker) else { return };
        if link.phase == crate::link::Phase::Dying {
            return;
        }
        if link.gap {
            if let Some((after, update)) = snapshot
                && link.fill_gap(after, update, shared.settings.update_backlog)
            {
                let _ = shared.orders.send(Order::Snapshot { worker });
            }
            return self.pump(shared);
        }
        let born_after = link.born_after;
        let after = snapshot.as_ref().map_or(born_after, |(after, _)| *after);
        if after < born_after {
            let text = format!(
                "a snapshot for {worker} that includes broadcast {after} at most; {born_after} \
                 had been sent when it was asked for"
            );
            return self.fail(&Error::new(ErrorKind::Config, text), shared);
        }
        link.phase = crate::link::Phase::Ready;
        link.was_ready = true;
        link.deadline = None;
        link.waiting = 0;
        let held = std::mem::take(&mut link.held);
        let held = held.into_iter().filter(|(epoch, _)| *epoch > after);
        let mut updates = snapshot.into_iter().chain(held);
        if updates.try_for_each(|(epoch, update)| link.send(Out::Update(epoch, update))).is_err() {
            link.kill();
        }
        if born_after == 0 {
            // A worker that was told nothing cannot fail at it.
            self.failed_starts = 0;
        }
        self.counters.starts += 1;
        shared.changed.notify_all();
        self.pump(shared);
    }
}
