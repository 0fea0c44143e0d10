//! One worker as the pool sees it: its process, its ring ends, and what is on its way.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;
use rustix::io::Errno;

use crate::control::Receiver;
use crate::frame::{Assembler, Garbage, Head, Kind};
use crate::ring::{Consumer, Producer};
use crate::segment::{CLAIMS, Segment};
use crate::service::{Attachment, WorkerId};
use crate::sys::{self, Process};
use crate::task::Job;

/// Frames up to this size go into the ring in one piece.
const ONE_PIECE: usize = 4096;

/// What a worker may be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The initializer runs.
    Starting,
    /// The owner makes a snapshot for it.
    Catching,
    /// Tasks may be sent.
    Ready,
    /// No more tasks; it stops after those that it has.
    Retiring,
    /// It was killed, and its end is awaited.
    Dying,
}

/// A broadcast, encoded once for all workers.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) body: Vec<u8>,
    pub(crate) attachments: Vec<Attachment>,
}

/// Something on its way to the worker.
#[derive(Debug)]
pub(crate) enum Out {
    Args(Arc<Update>),
    Task(Arc<Job>, u64),
    /// With the number of the last broadcast that it includes.
    Update(u64, Arc<Update>),
    /// Nothing behind it is sent before a snapshot takes its place.
    Gap,
    Detach(Vec<u8>),
    Stop,
}

impl Out {
    fn parts(&self) -> Option<(Kind, u64, &[u8], &[Attachment])> {
        Some(match self {
            Self::Args(args) => (Kind::Args, 0, &args.body, &args.attachments),
            Self::Task(job, seq) => (Kind::Task, *seq, &job.payload, &job.attachments),
            Self::Update(_, update) => (Kind::Update, 0, &update.body, &update.attachments),
            Self::Detach(keys) => (Kind::Detach, 0, keys, &[]),
            Self::Stop => (Kind::Stop, 0, &[], &[]),
            Self::Gap => return None,
        })
    }
}

/// A task that the worker has, started or not.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) job: Arc<Job>,
    pub(crate) seq: u64,
}

/// The pool's side of a worker.
pub(crate) struct Link {
    pub(crate) id: WorkerId,
    pub(crate) phase: Phase,
    pub(crate) process: Process,
    pub(crate) segment: Arc<Segment>,
    pub(crate) answers: Consumer,
    pub(crate) assembler: Assembler,
    pub(crate) bell: OwnedFd,
    pub(crate) control: Receiver,
    pub(crate) outstanding: VecDeque<Sent>,
    /// Since when the first outstanding task is the first.
    pub(crate) since: Instant,
    /// Until when the initializer, or the end after a stop, may take.
    pub(crate) deadline: Option<Instant>,
    /// It has been told to stop.
    pub(crate) stopped: bool,
    /// The initializer has ended well.
    pub(crate) was_ready: bool,
    /// The process has reached `init`.
    pub(crate) greeted: bool,
    /// It has closed its end of the control channel: until when its process may take to end.
    pub(crate) severed: Option<Instant>,
    /// It has overwritten what it shares with the pool, or left it.
    pub(crate) garbled: bool,
    /// A caller listens to the ring.
    pub(crate) listened: bool,
    /// Broadcasts that it gets, unless the snapshot includes them which it waits for.
    pub(crate) held: Vec<(u64, Arc<Update>)>,
    /// The number of the last broadcast of which it is told by a snapshot when it is ready.
    pub(crate) born_after: u64,
    /// A snapshot is to take the place of updates in the outbox.
    pub(crate) gap: bool,
    /// The memory of updates that wait, and how much of it is a reason to look at them.
    pub(crate) waiting: usize,
    pub(crate) looks_at: usize,
    /// What the worker itself said before it ended.
    pub(crate) last_words: Option<(String, Option<String>)>,
    pub(crate) bytes_out: u64,
    tasks: Producer,
    lifeline: OwnedFd,
    pub(crate) outbox: VecDeque<Out>,
    /// The frame in front of the outbox: its head, how much of head and body is written.
    front: Option<([u8; Head::SIZE], usize)>,
    /// How many messages with descriptors were sent for the frame in front.
    front_fds: u32,
    keys: FxHashSet<u128>,
    next_seq: u64,
    scratch: Vec<u8>,
}

/// The ends that the starter made for a new worker.
pub(crate) struct Ends {
    pub(crate) process: Process,
    pub(crate) segment: Arc<Segment>,
    pub(crate) bell: OwnedFd,
    pub(crate) lifeline: OwnedFd,
    pub(crate) control: Receiver,
    /// The process has reached `init`.
    pub(crate) greeted: bool,
}

/// An answer out of the ring, with the task that it is for.
pub(crate) struct Answer {
    pub(crate) job: Arc<Job>,
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Link {
    pub(crate) fn new(
        id: WorkerId,
        ends: Ends,
        deadline: Option<Instant>,
        born_after: u64,
    ) -> Self {
        use crate::segment::Way;
        let Ends { process, segment, bell, lifeline, control, greeted } = ends;
        Self {
            id,
            phase: Phase::Starting,
            process,
            answers: Consumer::new(segment.clone(), Way::ToPool),
            tasks: Producer::new(segment.clone(), Way::ToWorker),
            segment,
            assembler: Assembler::default(),
            bell,
            lifeline,
            control,
            outstanding: VecDeque::new(),
            since: sys::now(),
            deadline,
            stopped: false,
            was_ready: false,
            greeted,
            severed: None,
            garbled: false,
            listened: false,
            held: Vec::new(),
            born_after,
            gap: false,
            waiting: 0,
            looks_at: 0,
            last_words: None,
            bytes_out: 0,
            outbox: VecDeque::new(),
            front: None,
            front_fds: 0,
            keys: FxHashSet::default(),
            next_seq: 0,
            scratch: Vec::new(),
        }
    }

    /// How many tasks were sent to this worker in its life.
    pub(crate) fn sent(&self) -> u64 {
        self.next_seq
    }

    /// Whether another task may be sent while `depth` may be outstanding.
    pub(crate) fn has_room(&self, depth: usize) -> bool {
        self.phase == Phase::Ready
            && self.outstanding.len() < depth
            && self.next_seq.saturating_sub(self.segment.consumed()) < CLAIMS
    }

    /// Asks to be woken when the worker takes something, although nothing is in the outbox.
    pub(crate) fn want_room(&self) {
        self.tasks.want_room();
    }

    /// Sends a task, or puts it in line.
    pub(crate) fn send_task(&mut self, job: Arc<Job>) -> Result<(), Garbage> {
        let seq = self.next_seq;
        self.next_seq += 1;
        if self.outstanding.is_empty() {
            self.since = sys::now();
        }
        self.segment.offer(seq);
        self.outstanding.push_back(Sent { job: job.clone(), seq });
        self.send(Out::Task(job, seq))
    }

    /// Sends a frame, or puts it in line.
    pub(crate) fn send(&mut self, out: Out) -> Result<(), Garbage> {
        self.waiting += out.weight();
        self.outbox.push_back(out);
        self.flush()
    }

    /// Writes what is in line, as far as there is room. When that is not everything, the worker
    /// is asked to ring when it has taken something.
    pub(crate) fn flush(&mut self) -> Result<(), Garbage> {
        if self.outbox.is_empty() {
            return Ok(());
        }
        let mut asked = false;
        while !self.outbox.is_empty() {
            if self.write_front()? {
                continue;
            }
            if asked {
                break;
            }
            // Once more after asking: the room may have come in between.
            self.tasks.want_room();
            asked = true;
        }
        self.tasks.wake_consumer();
        Ok(())
    }

    /// Writes the frame in front, or a part of it; `false` when nothing more fits.
    fn write_front(&mut self) -> Result<bool, Garbage> {
        let Some(out) = self.outbox.front() else { return Ok(false) };
        let Some((kind, seq, body, attachments)) = out.parts() else { return Ok(false) };
        if self.front.is_none() {
            let fds = &mut self.front_fds;
            let sent = send_attachments(&self.lifeline, &mut self.keys, attachments, fds);
            // Another error means that the worker is gone; its pidfd tells what to do.
            if let Err(Errno::AGAIN | Errno::TOOMANYREFS) = sent {
                return Ok(false);
            }
            let fds = std::mem::take(fds);
            if let Out::Detach(keys) = out {
                // Not earlier: what is in line before it sends these keys, what follows again.
                forget(&mut self.keys, keys);
            }
            let head = Head { kind, fds, seq, len: body.len() as u64, nanos: 0 };
            self.front = Some((head.to_bytes(), 0));
        }
        let (head, written) = self.front.as_mut().expect("invariant: set above");
        let size = Head::SIZE + body.len();
        let n = if *written == 0 && size <= ONE_PIECE {
            self.scratch.clear();
            self.scratch.extend_from_slice(head);
            self.scratch.extend_from_slice(body);
            self.tasks.write(&self.scratch)
        } else if *written < Head::SIZE {
            self.tasks.write(&head[*written..])
        } else {
            self.tasks.write(&body[*written - Head::SIZE..])
        };
        let n = n.map_err(|_| Garbage)?;
        *written += n;
        self.bytes_out += n as u64;
        if *written == size {
            self.front = None;
            self.waiting -= out.weight();
            self.outbox.pop_front();
            if self.outbox.is_empty() {
                self.looks_at = 0;
            }
            return Ok(true);
        }
        if n > 0 {
            self.tasks.wake_consumer();
        }
        Ok(n > 0)
    }

    /// Whether a part of the frame in front is on its way.
    pub(crate) fn has_begun(&self) -> bool {
        self.front.is_some() || self.front_fds > 0
    }

    /// Takes all answers out of the ring, until the worker is sure to ring for the next.
    pub(crate) fn read_answers(&mut self, answers: &mut Vec<Answer>) -> Result<(), Garbage> {
        loop {
            while let Some((head, body)) = self.assembler.next(&mut self.answers)? {
                self.answers.wake_producer();
                // Tasks in between were taken back; the claims made sure of that.
                let answered = self.outstanding.front().is_some_and(|sent| sent.seq == head.seq);
                let sent = if answered { self.outstanding.pop_front() } else { None };
                let job = sent.ok_or(Garbage)?.job;
                self.since = sys::now();
                answers.push(Answer { job, head, body });
            }
            self.answers.wake_producer();
            if self.answers.announce_sleep() {
                return Ok(());
            }
        }
    }

    /// Asks the worker to drop its state and exit.
    pub(crate) fn stop(&mut self, deadline: Option<Instant>) {
        self.phase = Phase::Retiring;
        if !self.stopped {
            self.stopped = true;
            self.deadline = deadline;
            if self.send(Out::Stop).is_err() {
                self.kill();
            }
        }
    }

    /// Whether the process has reached `init`: the first thing that it does there is to say so.
    pub(crate) fn has_greeted(&mut self) -> bool {
        if !self.greeted {
            let flags = rustix::net::RecvFlags::DONTWAIT;
            let received = rustix::net::recv(&self.lifeline, &mut [0; 4], flags);
            self.greeted = received.is_ok_and(|(_, len)| len == 4);
        }
        self.greeted
    }

    /// Takes back what was not started, from the end, and keeps the first `keep` tasks.
    pub(crate) fn take_back(&mut self, keep: usize) -> Vec<Arc<Job>> {
        let mut jobs = Vec::new();
        while self.outstanding.len() > keep {
            let Some(sent) = self.outstanding.pop_back() else { break };
            if !self.segment.revoke(sent.seq) {
                self.outstanding.push_back(sent);
                break;
            }
            jobs.push(sent.job);
        }
        jobs.reverse();
        jobs
    }

    /// Cancels a task that the worker has; `true` when it never starts.
    pub(crate) fn cancel(&mut self, job: &Arc<Job>) -> bool {
        let Some(at) = self.outstanding.iter().position(|sent| Arc::ptr_eq(&sent.job, job)) else {
            return false;
        };
        let seq = self.outstanding[at].seq;
        if self.segment.revoke(seq) {
            self.outstanding.remove(at);
            return true;
        }
        self.segment.cancel(seq);
        false
    }

    /// These keys did not arrive: they are sent again when needed.
    pub(crate) fn forget_keys(&mut self, keys: impl Iterator<Item = u128>) {
        for key in keys {
            self.keys.remove(&key);
        }
    }

    /// Whether nothing is on its way to the worker or expected from it.
    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding.is_empty() && self.outbox.is_empty()
    }

    /// Ends the worker at once.
    pub(crate) fn kill(&mut self) {
        self.phase = Phase::Dying;
        self.deadline = None;
        self.process.kill();
    }
}

/// Forgets keys that the worker lets go, in the encoding of their message.
fn forget(keys: &mut FxHashSet<u128>, bytes: &[u8]) {
    for key in bytes.chunks_exact(16) {
        keys.remove(&u128::from_le_bytes(key.try_into().expect("invariant: chunks of 16")));
    }
}

/// Sends those attachments that the worker does not have, and counts the messages. After an
/// error, the same call goes on where it stopped.
fn send_attachments(
    lifeline: &OwnedFd,
    keys: &mut FxHashSet<u128>,
    attachments: &[Attachment],
    messages: &mut u32,
) -> rustix::io::Result<()> {
    let missing: Vec<_> =
        attachments.iter().filter(|attachment| !keys.contains(&attachment.key().0)).collect();
    for part in missing.chunks(sys::MAX_FDS) {
        let bytes: Vec<u8> = part.iter().flat_map(|one| one.key().0.to_le_bytes()).collect();
        let fds: Vec<BorrowedFd<'_>> = part.iter().map(|one| one.as_fd()).collect();
        sys::send_fds(lifeline, &bytes, &fds, false)?;
        *messages += 1;
        keys.extend(part.iter().map(|one| one.key().0));
    }
    Ok(())
}
