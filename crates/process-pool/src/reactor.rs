//! The thread that reads answers and notices deaths and time-outs. It never waits for a worker:
//! what cannot be written now is written when the worker rings.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::control::Said;
use crate::error::{Error, ErrorKind};
use crate::events::Note;
use crate::frame::Kind;
use crate::link::{Answer, Link, Phase};
use crate::service::WorkerId;
use crate::starter::Order;
use crate::state::{Course, Death, Shared, State};
use crate::worker::Failure;
use crate::{codec, foreign, sys};

/// The token of the pool's own event descriptor.
pub(crate) const WAKE: u64 = u64::MAX;
/// The token of a process that forks workers.
const SERVER: u64 = u64::MAX - 1;

const BELL: u64 = 0;
const EXIT: u64 = 1;
const CONTROL: u64 = 2;

/// How long a task runs before what waits behind it goes to an idle worker.
const HEAD_OF_LINE: Duration = Duration::from_millis(1);

/// How long a process may live on that has closed its connection to the pool.
const SEVERED: Duration = Duration::from_secs(1);

/// How many messages of one worker are taken before it is the turn of others.
const A_FEW: usize = 16;
/// More than its socket can hold.
const ALL: usize = 4096;

/// Watches what a worker may ring, say, and be.
pub(crate) fn watch(poller: &OwnedFd, link: &Link) -> rustix::io::Result<()> {
    let token = link.id.0 << 2;
    sys::watch(poller, &link.bell, token | BELL, true)?;
    sys::watch(poller, &link.control, token | CONTROL, false)?;
    sys::watch(poller, &link.process.fd, token | EXIT, false)?;
    // What it has written before is seen now.
    sys::ring_bell(&link.bell);
    Ok(())
}

/// Watches a process that forks workers: its end is told once.
pub(crate) fn watch_server(poller: &OwnedFd, process: &OwnedFd) -> rustix::io::Result<()> {
    sys::watch(poller, process, SERVER, true)
}

pub(crate) struct Reactor {
    shared: Arc<Shared>,
}

impl Reactor {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn run(self) {
        let shared = &*self.shared;
        shared.own_thread();
        let bug = Error::new(ErrorKind::Start, "a thread of the pool panicked");
        if let Err(error) = foreign::run(|| self.work()).unwrap_or(Err(bug)) {
            // A bug of ours, or somebody closed our descriptors: nobody must wait for a thread
            // that is gone. Without their links, workers end by themselves.
            shared.locked(|state| {
                state.fail(&error, shared);
                let links = state.places.iter_mut().filter_map(|place| place.link.take());
                links.for_each(|link| _ = link.process.reap());
                state.course = Course::Over;
            });
        }
        let _ = shared.orders.send(Order::Quit);
    }

    fn work(&self) -> Result<(), Error> {
        let shared = &*self.shared;
        let mut events = Vec::with_capacity(64);
        let mut answers = Vec::new();
        loop {
            let wait = shared.locked(|state| {
                for event in &events {
                    let event: &rustix::event::epoll::Event = event;
                    let token = event.data.u64();
                    let worker = WorkerId(token >> 2);
                    match (token, token & 3) {
                        (WAKE, _) => {}
                        (SERVER, _) => _ = shared.orders.send(Order::LookAtServers),
                        (_, BELL) => state.on_bell(worker, &mut answers, shared),
                        (_, CONTROL) => state.on_control(worker, A_FEW, shared),
                        _ => state.on_exit(worker, &mut answers, shared),
                    }
                }
                state.tend(shared)
            });
            let Some(wait) = wait else { return Ok(()) };
            sys::wait_events(&shared.poller, &mut events, wait).map_err(|error| {
                let error = std::io::Error::from(error);
                Error::new(ErrorKind::Start, format!("waiting for workers: {error}"))
            })?;
        }
    }
}

impl State {
    /// The worker has rung: there are answers, or there is room.
    pub(crate) fn on_bell(&mut self, worker: WorkerId, answers: &mut Vec<Answer>, shared: &Shared) {
        let Some(link) = self.link(worker) else { return };
        let intact = link.read_answers(answers).and_then(|()| link.flush());
        if intact.is_err() && link.phase != Phase::Dying {
            link.last_words = Some(("wrote garbage into its ring".to_owned(), None));
            link.garbled = true;
            link.kill();
        }
        self.take_answers(worker, answers);
        self.pump(shared);
        if self.course != Course::Running && self.is_drained() {
            shared.changed.notify_all();
        }
    }

    fn take_answers(&mut self, worker: WorkerId, answers: &mut Vec<Answer>) {
        if !answers.is_empty() {
            self.failed_starts = 0;
            self.barren_deaths = 0;
        }
        for Answer { job, head, body } in answers.drain(..) {
            self.counters.bytes_received += (body.len() + crate::frame::Head::SIZE) as u64;
            self.typical = match self.typical {
                0 => head.nanos.max(1),
                typical => (typical - typical / 8 + head.nanos / 8).max(1),
            };
            if head.kind == Kind::Answer {
                self.finish(&job, Ok((body, worker)));
                continue;
            }
            if head.kind == Kind::Attachment {
                let keys = job.attachments.iter().map(|attachment| attachment.key().0);
                if let Some(link) = self.link(worker) {
                    link.forget_keys(keys);
                }
            }
            let kind = match head.kind {
                Kind::Panic => ErrorKind::Panic,
                Kind::Codec => ErrorKind::Codec,
                Kind::Attachment => ErrorKind::Attachment,
                _ => ErrorKind::Service,
            };
            let Failure { message, backtrace } = codec::decode_message(&body)
                .unwrap_or_else(|| Failure { message: "unknown".to_owned(), backtrace: None });
            let text = match kind {
                ErrorKind::Panic => format!("{worker} panicked: {message}"),
                _ => format!("{worker}: {message}"),
            };
            self.finish(&job, Err(Error::with(kind, text, Some(worker), backtrace)));
        }
    }

    /// The worker has said something beside its answers.
    fn on_control(&mut self, worker: WorkerId, at_most: usize, shared: &Shared) {
        for _ in 0..at_most {
            let Some(link) = self.link(worker) else { return };
            let Some(said) = link.control.try_recv::<Said>() else {
                if link.control.is_closed() && link.severed.is_none() {
                    // Usually the process is about to end, and says by its status why.
                    link.severed = Some(sys::now() + SEVERED);
                    let _ = rustix::event::epoll::delete(&shared.poller, &link.control);
                }
                return;
            };
            match said {
                Said::Ready if link.phase == Phase::Starting && link.born_after == 0 => {
                    self.caught_up(worker, None, shared);
                }
                Said::Ready if link.phase == Phase::Starting => {
                    link.phase = Phase::Catching;
                    link.deadline = None;
                    let _ = shared.orders.send(Order::Snapshot { worker });
                }
                Said::Ready => {}
                Said::Stranger(text) => {
                    self.fail(&Error::new(ErrorKind::NotInitialized, text), shared);
                }
                Said::OtherBuild(text) => {
                    self.fail(&Error::new(ErrorKind::OtherBuild, text), shared);
                }
                Said::Failed { message, backtrace } => {
                    link.last_words = Some((message, backtrace));
                }
                Said::Event { level, target, spans, message } => {
                    self.notes.push(Note::Event { worker, level, target, spans, message });
                }
            }
        }
    }

    /// The process has ended.
    fn on_exit(&mut self, worker: WorkerId, answers: &mut Vec<Answer>, shared: &Shared) {
        // What it answered and said before its end counts.
        self.on_control(worker, ALL, shared);
        if let Some(link) = self.link(worker) {
            let _ = link.read_answers(answers);
        }
        self.take_answers(worker, answers);
        let at = self
            .places
            .iter()
            .position(|place| place.link.as_ref().is_some_and(|link| link.id == worker));
        let Some(at) = at else { return };
        let Some(mut link) = self.places[at].link.take() else { return };
        self.counters.bytes_sent += link.bytes_out;
        let _ = rustix::event::epoll::delete(&shared.poller, &link.bell);
        let exit = link.process.reap();
        shared.changed.notify_all();
        self.places[at].start_at = Some(sys::now());
        let end = match (&link.last_words, exit) {
            (Some((words, _)), _) if link.phase == Phase::Dying => words.clone(),
            (_, Some(exit)) => exit.to_string(),
            (_, None) => "ended, and somebody else took its status".to_owned(),
        };
        let signal = match exit {
            Some(sys::Exit::Signal(signal)) => Some(signal),
            _ => None,
        };
        if !link.was_ready {
            let (text, backtrace) = link.start_failure(&end);
            return self.start_failed(at, worker, text, backtrace, shared);
        }
        let mut again = Vec::new();
        let outstanding = std::mem::take(&mut link.outstanding);
        let graceful = link.stopped && exit == Some(sys::Exit::Code(0));
        let out_of_date = link.last_words.is_some() && link.phase != Phase::Dying;
        for (at, sent) in outstanding.into_iter().enumerate() {
            let started = link.segment.was_started(sent.seq) || (at == 0 && link.garbled);
            // The first may have been the cause before it started: too large to be taken in.
            let harmless = !started && (at > 0 || out_of_date);
            let death = Death { worker, started, end: &end, signal };
            if harmless || self.after_death(&sent.job, &death, &shared.settings) {
                again.push(sent.job);
            }
        }
        self.put_back(again);
        match link.last_words {
            Some((message, backtrace)) if out_of_date => {
                let text = format!("{worker} could not take an update in: {message}");
                return self.start_failed(at, worker, text, backtrace, shared);
            }
            _ => {}
        }
        if graceful {
            self.counters.recycled += u64::from(self.course == Course::Running);
        } else if link.phase != Phase::Dying || link.garbled {
            self.counters.deaths += 1;
            self.barren_deaths += 1;
            self.notes.push(Note::Death { worker, pid: link.process.pid, end });
            // Workers that die without ever answering are not replaced as fast as they die.
            let barren = self.barren_deaths.saturating_sub(3).min(10);
            if barren > 0 {
                let wait = Duration::from_millis(1 << barren);
                self.places[at].start_at = Some(sys::now() + wait);
            }
        }
        self.pump(shared);
    }

    /// Does what is due, and says how long nothing else will be; `None` at the end.
    fn tend(&mut self, shared: &Shared) -> Option<Option<Duration>> {
        let now = sys::now();
        if self.course == Course::Draining && self.is_drained() {
            self.course = Course::Stopping;
        }
        self.check_times(now, shared);
        if self.course >= Course::Stopping {
            let stop_by = now.checked_add(shared.settings.stop_timeout);
            for link in self.links().filter(|link| link.phase != Phase::Dying) {
                let waits = matches!(link.phase, Phase::Ready | Phase::Retiring);
                if waits && link.outstanding.is_empty() { link.stop(stop_by) } else { link.kill() }
            }
            if self.places.iter().all(|place| place.link.is_none() && !place.starting) {
                self.abandon(&self.failure.clone().unwrap_or_else(Error::closed));
                self.course = Course::Over;
                shared.changed.notify_all();
                return None;
            }
        } else {
            self.start_due(now, shared);
            self.share_out(now, shared);
        }
        self.looks_at = self.next_deadline(shared);
        Some(self.looks_at.map(|at| at.saturating_duration_since(sys::now())))
    }

    fn check_times(&mut self, now: Instant, shared: &Shared) {
        let settings = &shared.settings;
        let stop_by = now.checked_add(settings.stop_timeout);
        let mut late = Vec::new();
        for link in self.links().filter(|link| link.phase != Phase::Dying) {
            if link.severed.is_some_and(|severed| severed <= now) {
                link.last_words = Some(("closed its connection to the pool".to_owned(), None));
                link.garbled = true;
                link.kill();
                continue;
            }
            if link.deadline.is_some_and(|deadline| deadline <= now) {
                if !link.was_ready {
                    let text = format!("was not ready after {:?}", settings.start_timeout);
                    link.last_words = Some((text, None));
                }
                link.kill();
                continue;
            }
            if let Some((due, timeout)) = link.task_deadline(settings.task_timeout)
                && due <= now
            {
                late.push((link.outstanding[0].job.clone(), link.id, timeout));
                link.kill();
                continue;
            }
            if link.phase == Phase::Retiring && link.is_idle() {
                link.stop(stop_by);
            }
        }
        for (job, worker, timeout) in late {
            let text = format!("the task took longer than {timeout:?}; {worker} was killed");
            self.finish(&job, Err(Error::with(ErrorKind::TimedOut, text, Some(worker), None)));
        }
    }

    fn start_due(&mut self, now: Instant, shared: &Shared) {
        for at in 0..self.places.len() {
            let place = &mut self.places[at];
            let due = place.start_at.is_some_and(|start| start <= now);
            if due && place.link.is_none() && !place.starting {
                place.starting = true;
                place.start_at = None;
                let worker = WorkerId(self.next_worker);
                self.next_worker += 1;
                let _ = shared.orders.send(Order::Start { place: at, worker });
            }
        }
    }

    /// Gives tasks that wait behind a long one to idle workers.
    fn share_out(&mut self, now: Instant, shared: &Shared) {
        if !self.queue.is_empty() || !self.links().any(|link| link.has_room(1)) {
            return;
        }
        let mut back = Vec::new();
        for link in self.links() {
            if link.outstanding.len() > 1 && link.since + HEAD_OF_LINE <= now {
                back.extend(link.take_back(1));
            }
        }
        if !back.is_empty() {
            // The tasks were not as short as they seemed.
            self.typical = u64::try_from(HEAD_OF_LINE.as_nanos()).unwrap_or(u64::MAX);
            self.put_back(back);
            self.pump(shared);
        }
    }

    fn next_deadline(&mut self, shared: &Shared) -> Option<Instant> {
        let mut next = None::<Instant>;
        let mut earlier = |at: Instant| next = Some(next.map_or(at, |next| next.min(at)));
        let runs = self.course < Course::Stopping;
        let idle = self.links().any(|link| link.has_room(1));
        for place in &self.places {
            if let (None, false, Some(at), true) =
                (&place.link, place.starting, place.start_at, runs)
            {
                earlier(at);
            }
            let Some(link) = &place.link else { continue };
            if link.phase == Phase::Dying {
                continue;
            }
            link.deadline.into_iter().chain(link.severed).for_each(&mut earlier);
            if let Some((due, _)) = link.task_deadline(shared.settings.task_timeout) {
                earlier(due);
            }
            if idle && link.outstanding.len() > 1 {
                earlier(link.since + HEAD_OF_LINE);
            }
        }
        next
    }
}

impl Link {
    /// When the first outstanding task has run for too long, and how long it may.
    pub(crate) fn task_deadline(&self, default: Option<Duration>) -> Option<(Instant, Duration)> {
        let timeout = self.outstanding.front()?.job.timeout.or(default)?;
        Some((self.since.checked_add(timeout)?, timeout))
    }

    /// Why this process did not become a worker.
    fn start_failure(&mut self, end: &str) -> (String, Option<String>) {
        let id = self.id;
        let greeted = self.has_greeted();
        match self.last_words.take() {
            Some((words, backtrace)) if self.phase != Phase::Dying => {
                (format!("the initializer of {id} failed: {words}"), backtrace)
            }
            _ if greeted => (format!("{id} {end} in its initializer"), None),
            _ => {
                let text = format!(
                    "{id} {end} and never called `process_pool::init`: does the `main` of its \
                     executable begin with it?"
                );
                (text, None)
            }
        }
    }
}
