//! An executor from outside the runner's crate: tasks run in subprocesses over TCP sockets.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pams_core::StepDelta;
use pams_runner::remote::{RemoteWorker, decode_answer, encode_start, encode_task, encode_update};
use pams_runner::{Answer, Executor, ExecutorError, StartPlan, Task};

/// The argument that turns the test program into a worker, followed by an address.
pub const WORKER: &str = "tcp-worker";

/// Runs tasks in subprocesses of `program`, each at the other end of a TCP connection.
#[derive(Debug)]
pub struct TcpExecutor {
    program: PathBuf,
    workers: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    process: Child,
    stream: TcpStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Message {
    Start = 1,
    Update = 2,
    Task = 3,
}

impl TcpExecutor {
    /// An executor whose workers run `program tcp-worker ADDRESS`.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), workers: Vec::new() }
    }
}

impl Executor for TcpExecutor {
    fn start(&mut self, plan: StartPlan) -> Result<(), ExecutorError> {
        let start = encode_start(&plan, &crate::registry())?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        for _ in 0..plan.workers {
            let process = Command::new(&self.program)
                .args([WORKER, &address])
                .stdin(Stdio::null())
                .spawn()?;
            let (mut stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            send(&mut stream, Message::Start, &start)?;
            self.workers.push(Connection { process, stream });
        }
        Ok(())
    }

    fn update(&mut self, delta: StepDelta) -> Result<(), ExecutorError> {
        let bytes = encode_update(&delta)?;
        for worker in &mut self.workers {
            send(&mut worker.stream, Message::Update, &bytes)?;
        }
        Ok(())
    }

    fn run(&mut self, tasks: Vec<Task>) -> Result<Vec<Answer>, ExecutorError> {
        let n_workers = self.workers.len();
        for (index, task) in tasks.iter().enumerate() {
            let stream = &mut self.workers[index % n_workers].stream;
            send(stream, Message::Task, &encode_task(task)?)?;
        }
        let mut answers = Vec::with_capacity(tasks.len());
        for (index, task) in tasks.into_iter().enumerate() {
            let bytes = receive(&mut self.workers[index % n_workers].stream)?;
            answers.push(decode_answer(&bytes, task)?);
        }
        Ok(answers)
    }

    fn stop(&mut self) {
        for Connection { mut process, stream } in self.workers.drain(..) {
            // A worker ends when its connection does.
            drop(stream);
            let _ = process.wait();
        }
    }
}

impl Drop for TcpExecutor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a worker until its connection ends.
///
/// # Errors
///
/// When the connection breaks or brings nonsense.
pub fn serve(address: &str) -> Result<(), ExecutorError> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut incoming = BufReader::new(stream.try_clone()?);
    let mut worker: Option<RemoteWorker> = None;
    let mut kind = [0];
    while incoming.read(&mut kind)? == 1 {
        let bytes = receive(&mut incoming)?;
        match (kind[0], &mut worker) {
            (1, none) => *none = Some(RemoteWorker::start(&bytes, &crate::registry())?),
            (2, Some(worker)) => worker.update(&bytes)?,
            (3, Some(worker)) => send_bytes(&mut stream, &worker.answer(&bytes)?)?,
            (kind, _) => return Err(format!("message {kind} makes no sense here").into()),
        }
    }
    Ok(())
}

fn send(stream: &mut TcpStream, kind: Message, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&[kind as u8])?;
    send_bytes(stream, bytes)
}

fn send_bytes(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(bytes)
}

fn receive(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    stream.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    stream.take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
