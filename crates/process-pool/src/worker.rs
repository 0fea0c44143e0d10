//! The inside of a worker process: the loop that takes frames from the ring and answers them.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::control::{Said, Sender};
use crate::error::chain;
use crate::frame::{Assembler, Head, Kind};
use crate::ring::{Consumer, Producer, Sleeper};
use crate::segment::Segment;
use crate::service::{BoxError, Key, Service, WorkerId};
use crate::spin::Spin;
use crate::{codec, foreign, sys};

/// Frames up to this size go into the ring in one piece.
const ONE_PIECE: usize = 4096;

/// What a service may know of the worker that it runs in.
#[derive(Debug)]
pub struct Context {
    worker: WorkerId,
    attachments: FxHashMap<u128, OwnedFd>,
    segment: Arc<Segment>,
    seq: Cell<u64>,
}

impl Context {
    /// The worker's number, as the pool counts.
    #[must_use]
    pub fn worker(&self) -> WorkerId {
        self.worker
    }

    /// The descriptor that came under a key, with this message or an earlier one.
    #[must_use]
    pub fn attachment(&self, key: Key) -> Option<BorrowedFd<'_>> {
        self.attachments.get(&key.0).map(AsFd::as_fd)
    }

    /// Whether nobody waits for the running task any more, so that it may stop early.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.segment.is_cancelled(self.seq.get())
    }
}

/// An error or panic on its way to the pool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) backtrace: Option<String>,
}

impl Failure {
    fn text(message: String) -> Self {
        Self { message, backtrace: None }
    }
}

/// The worker's ends of everything that leads to the pool.
pub(crate) struct Link {
    pub(crate) worker: WorkerId,
    pub(crate) segment: Arc<Segment>,
    pub(crate) tasks: Consumer,
    pub(crate) answers: Producer,
    pub(crate) bell: OwnedFd,
    pub(crate) lifeline: Arc<OwnedFd>,
    pub(crate) control: Arc<Sender>,
    pub(crate) spin: Spin,
}

impl Link {
    /// The next frame, waited for. `None` when the ring is unusable.
    fn next(&mut self, assembler: &mut Assembler) -> Option<(Head, Vec<u8>)> {
        loop {
            let frame = assembler.next(&mut self.tasks).ok()?;
            if self.tasks.producer_waits() {
                sys::ring_bell(&self.bell);
            }
            match frame {
                Some(frame) => return Some(frame),
                None => self.tasks.wait(&mut self.spin),
            }
        }
    }

    /// Takes the attachments of a frame out of the socket.
    fn receive(&self, messages: u32, into: &mut FxHashMap<u128, OwnedFd>) -> Result<(), String> {
        let mut keys = [0; sys::MAX_FDS * 16];
        let mut result = Ok(());
        for _ in 0..messages {
            match sys::recv_fds(&self.lifeline, &mut keys) {
                Ok((len, fds)) => {
                    let keys = keys[..len].chunks_exact(16);
                    for (key, fd) in keys.zip(fds) {
                        let key = key.try_into().expect("invariant: chunks of 16");
                        into.insert(u128::from_le_bytes(key), fd);
                    }
                }
                Err(error) => {
                    let error = std::io::Error::from(error);
                    result = Err(format!("receiving a descriptor: {error}"));
                }
            }
            if self.tasks.producer_waits() {
                sys::ring_bell(&self.bell);
            }
        }
        result
    }

    /// Sends a frame, waiting for the pool to make room where the ring is full.
    fn send(&mut self, kind: Kind, seq: u64, nanos: u64, body: &[u8]) -> Option<()> {
        let head = Head { kind, fds: 0, seq, len: body.len() as u64, nanos }.to_bytes();
        if body.len() <= ONE_PIECE {
            let mut frame = Vec::with_capacity(Head::SIZE + body.len());
            frame.extend_from_slice(&head);
            frame.extend_from_slice(body);
            return self.write(&frame);
        }
        self.write(&head)?;
        self.write(body)
    }

    fn write(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let n = self.answers.write(bytes).ok()?;
            match self.answers.sleeper() {
                Some(Sleeper::Usual) => sys::ring_bell(&self.bell),
                Some(Sleeper::Listener) => self.segment.wake_listener(),
                None => {}
            }
            bytes = &bytes[n..];
            if n == 0 {
                self.answers.wait_for_room();
            }
        }
        Some(())
    }
}

/// Runs a service until it is told to stop; the result is the exit status.
pub(crate) fn run<S: Service>(mut link: Link) -> i32 {
    let mut context = Context {
        worker: link.worker,
        attachments: FxHashMap::default(),
        segment: link.segment.clone(),
        seq: Cell::new(u64::MAX >> 3),
    };
    let mut assembler = Assembler::default();
    catch_panics();
    let mut state = None::<S>;
    while let Some((head, body)) = link.next(&mut assembler) {
        let received = link.receive(head.fds, &mut context.attachments);
        match head.kind {
            Kind::Args => {
                let started = guarded(|| {
                    let args = received.and_then(|()| codec::decode(&body));
                    S::start(args.map_err(|error| format!("its arguments: {error}"))?, &context)
                });
                match started {
                    Ok(made) => state = Some(made),
                    Err(failure) => return failed(&link, failure),
                }
                if link.control.send(&Said::Ready).is_err() {
                    return 1;
                }
            }
            Kind::Task => {
                if !link.segment.start(head.seq) {
                    continue;
                }
                context.seq.set(head.seq);
                let state = state.as_mut().expect("invariant: arguments come first");
                let since = sys::now();
                let (kind, answer) = match received {
                    Ok(()) => answer(state, &body, &context),
                    Err(error) => (Kind::Attachment, encoded(&Failure::text(error))),
                };
                let nanos = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                if link.send(kind, head.seq, nanos, &answer).is_none() {
                    return 1;
                }
            }
            Kind::Update => {
                let state = state.as_mut().expect("invariant: arguments come first");
                let updated = guarded(|| {
                    let update = received.and_then(|()| codec::decode(&body));
                    state.update(update?, &context)
                });
                if let Err(failure) = updated {
                    return failed(&link, failure);
                }
            }
            Kind::Detach => {
                for key in body.chunks_exact(16) {
                    let key = key.try_into().expect("invariant: chunks of 16");
                    context.attachments.remove(&u128::from_le_bytes(key));
                }
            }
            Kind::Stop => {
                let dropped = guarded(|| {
                    drop(state);
                    Ok(())
                });
                return i32::from(dropped.is_err());
            }
            _ => return 1,
        }
    }
    1
}

fn answer<S: Service>(state: &mut S, body: &[u8], context: &Context) -> (Kind, Vec<u8>) {
    // Decoding and encoding run code of the service as well.
    let answer = foreign::run(|| {
        let codec_failure = |text| (Kind::Codec, encoded(&Failure::text(text)));
        let request = match codec::decode(body) {
            Ok(request) => request,
            Err(error) => return codec_failure(format!("the request cannot be decoded: {error}")),
        };
        match state.call(request, context) {
            Ok(answer) => match codec::encode(&answer) {
                Ok(bytes) => (Kind::Answer, bytes),
                Err(error) => codec_failure(format!("the answer cannot be encoded: {error}")),
            },
            Err(error) => (Kind::ServiceError, encoded(&Failure::text(chain(&*error)))),
        }
    });
    answer.unwrap_or_else(|payload| (Kind::Panic, encoded(&panic_failure(&**payload))))
}

/// Runs code of the service where a panic is as good as an error.
fn guarded<T>(code: impl FnOnce() -> Result<T, BoxError>) -> Result<T, Failure> {
    match foreign::run(code) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Failure::text(chain(&*error))),
        Err(payload) => {
            let mut failure = panic_failure(&**payload);
            failure.message = format!("panicked: {}", failure.message);
            Err(failure)
        }
    }
}

fn failed(link: &Link, failure: Failure) -> i32 {
    let Failure { message, backtrace } = failure;
    let _ = link.control.send(&Said::Failed { message, backtrace });
    1
}

fn encoded(failure: &Failure) -> Vec<u8> {
    codec::encode(failure).expect("invariant: texts can be encoded")
}

thread_local! {
    static CAUGHT: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the place and the stack of panics on this thread instead of printing them.
fn catch_panics() {
    SERVES.set(true);
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !SERVES.get() {
            return others(info);
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let stack = std::backtrace::Backtrace::force_capture().to_string();
        CAUGHT.set(Some((place, stack)));
    }));
}

fn panic_failure(payload: &(dyn std::any::Any + Send)) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned());
    match CAUGHT.take() {
        Some((place, stack)) => {
            Failure { message: format!("{text}, at {place}"), backtrace: Some(stack) }
        }
        None => Failure::text(text),
    }
}
