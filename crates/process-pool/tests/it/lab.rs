//! A service that does whatever a test asks for, and helpers for looking at processes.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test asks for it")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use process_pool::{BoxError, Builder, Bytes, Context, Key, ProcessPool, Service, Snapshot};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Setup {
    #[default]
    Fine,
    Fail(String),
    Panic,
    Exit(i32),
    Hang,
    /// Dies by a signal while the file is missing, and makes it first.
    DieOnce(String),
    /// Answers `Told::Text` with what the attachment holds.
    ReadKey(u128),
    /// Hangs until the file is there.
    Await(String),
    /// Writes the file when the state is dropped.
    Farewell(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Echo(u64),
    Blob(Bytes),
    Fail,
    Panic,
    Exit(i32),
    Signal(i32),
    Hang,
    Picky(u64),
    Pid,
    Worker,
    News,
    Setup,
    Read(u128),
    Env(String),
    /// Makes the first file, then waits for the second.
    Meet(String, String),
    /// Dies while the file is missing, and makes it first.
    DieOnce(String),
    Recurse(u64),
    Allocate(u64),
    Stdin,
    /// Makes the first file, waits until cancelled, then makes the second.
    AwaitCancel(String, String),
    /// Overwrites what the worker shares with the pool.
    /// Then it exits or goes on.
    Scribble(bool),
    /// Prints lines in pieces, to output and error.
    Print(u64),
    /// An event with this message, at the level of a warning and at that of a trace.
    Event(String),
    /// The same event inside of two spans, and inside of the outer one.
    Spanned(String),
    /// Cannot be sent when 13.
    Carry(Picky),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Told {
    Number(u64),
    Text(String),
    Blob(Bytes),
    News(Vec<u64>),
    Picky(Picky),
}

/// Cannot be encoded when 13, and not decoded when 14.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picky(pub(crate) u64);

impl Serialize for Picky {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == 13 {
            return Err(serde::ser::Error::custom("13 is not written"));
        }
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            14 => Err(serde::de::Error::custom("14 is not read")),
            n => Ok(Self(n)),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum News {
    Add(u64),
    All(Vec<u64>),
    Attached(u128),
    Bad,
    Panic,
}

pub(crate) struct Lab {
    setup: Setup,
    text: String,
    news: Vec<u64>,
}

impl Service for Lab {
    const NAME: &'static str = "lab";
    type Args = Setup;
    type Request = Ask;
    type Answer = Told;
    type Update = News;

    fn start(setup: Setup, context: &Context) -> Result<Self, BoxError> {
        let mut text = String::new();
        match &setup {
            Setup::Fine | Setup::Farewell(_) => {}
            Setup::Fail(message) => return Err(message.clone().into()),
            Setup::Panic => panic!("no state today"),
            Setup::Exit(status) => quit(*status),
            Setup::Hang => hang(),
            Setup::DieOnce(path) => die_once(path),
            Setup::ReadKey(key) => text = read(context, *key)?,
            Setup::Await(path) => wait_for(path),
        }
        Ok(Self { setup, text, news: Vec::new() })
    }

    fn call(&mut self, ask: Ask, context: &Context) -> Result<Told, BoxError> {
        Ok(match ask {
            Ask::Echo(n) => Told::Number(n),
            Ask::Blob(bytes) => Told::Blob(bytes),
            Ask::Fail => {
                let cause = std::io::Error::other("the cause");
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, cause).into());
            }
            Ask::Panic => panic!("out of ideas"),
            Ask::Exit(status) => quit(status),
            Ask::Signal(signal) => loop {
                // Rust's own handler of SIGSEGV steps aside at the first one.
                raise(signal);
                nap();
            },
            Ask::Hang => hang(),
            Ask::Picky(n) => Told::Picky(Picky(n)),
            Ask::Pid => Told::Number(u64::from(std::process::id())),
            Ask::Worker => Told::Number(context.worker().number()),
            Ask::News => Told::News(self.news.clone()),
            Ask::Setup => Told::Text(self.text.clone()),
            Ask::Read(key) => Told::Text(read(context, key)?),
            Ask::Env(name) => Told::Text(env(&name).unwrap_or_default()),
            Ask::Meet(make, wait) => {
                touch(&make);
                wait_for(&wait);
                Told::Number(0)
            }
            Ask::DieOnce(path) => {
                die_once(&path);
                Told::Number(1)
            }
            Ask::Recurse(depth) => Told::Number(recurse(depth)),
            Ask::Allocate(bytes) => {
                let block = vec![1_u8; usize::try_from(bytes)?];
                Told::Number(block.iter().map(|byte| u64::from(*byte)).sum())
            }
            Ask::Stdin => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                Told::Text(text)
            }
            Ask::AwaitCancel(make, then) => {
                touch(&make);
                while !context.is_cancelled() {
                    std::thread::yield_now();
                }
                touch(&then);
                Told::Number(0)
            }
            Ask::Scribble(exits) => {
                let maps = std::fs::read_to_string("/proc/self/maps")?;
                let line = maps.lines().find(|line| line.contains("memfd:process-pool"));
                let start = line.and_then(|line| line.split('-').next()).ok_or("no mapping")?;
                let memory = std::fs::OpenOptions::new().write(true).open("/proc/self/mem")?;
                let start = u64::from_str_radix(start, 16)?;
                std::os::unix::fs::FileExt::write_all_at(&memory, &[0xff; 4096], start)?;
                if exits {
                    quit(0);
                }
                Told::Number(0)
            }
            Ask::Print(lines) => {
                for line in 0..lines {
                    print!("worker {} ", context.worker().number());
                    std::io::stdout().flush()?;
                    println!("line {line} end");
                    eprintln!("error {} {line} end", context.worker().number());
                }
                print!("unfinished");
                Told::Number(0)
            }
            Ask::Spanned(text) => {
                let outer = tracing::info_span!("outer", step = 3, found = tracing::field::Empty);
                let within = outer.enter();
                outer.record("found", "much");
                tracing::info_span!("inner").in_scope(|| tracing::warn!("deep {text}"));
                tracing::warn!("shallow {text}");
                drop(within);
                tracing::warn!(parent: &outer, "beside {text}");
                Told::Number(0)
            }
            Ask::Carry(picky) => Told::Picky(picky),
            Ask::Event(text) => {
                tracing::warn!(answer = 42, "{text}");
                tracing::trace!("too fine");
                Told::Number(0)
            }
        })
    }

    fn update(&mut self, news: News, context: &Context) -> Result<(), BoxError> {
        match news {
            News::Add(n) => self.news.push(n),
            News::All(all) => self.news = all,
            News::Attached(key) => self.text = read(context, key)?,
            News::Bad => return Err("bad news".into()),
            News::Panic => panic!("terrible news"),
        }
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Setup::Farewell(path) = &self.setup {
            touch(path);
        }
    }
}

/// The same name as [`Twin2`], and another build.
pub(crate) struct Twin1;
pub(crate) struct Twin2;

macro_rules! twin {
    ($name:ident, $build:literal) => {
        impl Service for $name {
            const NAME: &'static str = "twin";
            const BUILD: &'static str = $build;
            const REPEATABLE: bool = false;
            type Args = ();
            type Request = i32;
            type Answer = i32;
            type Update = ();
            fn start((): (), _: &Context) -> Result<Self, BoxError> {
                Ok(Self)
            }
            fn call(&mut self, n: i32, _: &Context) -> Result<i32, BoxError> {
                if n > 0 {
                    raise(n);
                }
                Ok(n)
            }
        }
    };
}
twin!(Twin1, "1");
twin!(Twin2, "2");

pub(crate) fn lab(setup: Setup, workers: usize) -> Builder<Lab> {
    ProcessPool::<Lab>::builder(&setup).workers(workers)
}

pub(crate) fn pool(workers: usize) -> ProcessPool<Lab> {
    lab(Setup::Fine, workers).build().expect("a pool")
}

pub(crate) fn ask(pool: &ProcessPool<Lab>, ask: Ask) -> Told {
    pool.submit(&ask).expect("submitted").wait().expect("answered")
}

pub(crate) fn number(told: &Told) -> u64 {
    match told {
        Told::Number(n) => *n,
        other => panic!("no number: {other:?}"),
    }
}

/// A snapshot of broadcasts that add numbers from 1 on.
pub(crate) fn counted(after: u64) -> Snapshot<News> {
    Snapshot { after, update: News::All((1..=after).collect()), attachments: vec![] }
}

fn read(context: &Context, key: u128) -> Result<String, BoxError> {
    let fd = context.attachment(Key(key)).ok_or("no such attachment")?;
    let mut text = vec![0; 100];
    let n = rustix::io::pread(fd, &mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..n]).into_owned())
}

fn recurse(depth: u64) -> u64 {
    let block = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { recurse(depth - 1) + std::hint::black_box(block)[0] / depth }
}

fn die_once(path: &str) {
    if !Path::new(path).exists() {
        touch(path);
        raise(9);
        hang();
    }
}

pub(crate) fn touch(path: &str) {
    std::fs::write(path, "").expect("written");
}

pub(crate) fn wait_for(path: &str) {
    while !Path::new(path).exists() {
        nap();
    }
}

/// Waits until something is so; the watchdog of the suite ends a wait that is in vain.
pub(crate) fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        nap();
    }
}

pub(crate) fn nap() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "what the test asks for")]
fn quit(status: i32) -> ! {
    std::process::exit(status)
}

#[expect(clippy::disallowed_methods, reason = "what the test asks for")]
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn raise(signal: i32) {
    kill(std::process::id(), signal);
}

pub(crate) fn kill(pid: u32, signal: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    let signal = Signal::from_named_raw(signal).expect("a signal");
    let _ = kill_process(pid, signal);
}

/// Kills a worker, and waits until it is dead: it may answer meanwhile.
pub(crate) fn kill_first(pool: &ProcessPool<Lab>) {
    let deaths = pool.counters().deaths;
    kill(pool.worker_pids()[0], 9);
    until(|| pool.counters().deaths > deaths);
}

/// A directory of a test's own, gone at its end.
pub(crate) struct Place(std::path::PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        // Two tests that run at the same time may use one name.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("pool-it-{process}-{made}-{name}"));
        std::fs::create_dir_all(&path).expect("made");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An anonymous file that holds a text.
pub(crate) fn file(text: &str) -> Arc<OwnedFd> {
    let fd = rustix::fs::memfd_create("it", rustix::fs::MemfdFlags::CLOEXEC).expect("made");
    rustix::io::write(fd.as_fd(), text.as_bytes()).expect("written");
    Arc::new(fd)
}

/// The children of a process, living or waiting to be waited for.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("listed").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map(|(_, after)| after.to_owned()).unwrap_or_default();
        after.split_whitespace().nth(1).and_then(|ppid| ppid.parse().ok()) == Some(parent)
    };
    pids.filter(is_child).collect()
}

/// Whether a process is there, be it as a zombie.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The living processes in whose environment a variable has this value.
pub(crate) fn marked(value: &str) -> BTreeSet<u32> {
    let mark = format!("POOL_IT_MARK={value}\0");
    let processes = std::fs::read_dir("/proc").expect("listed").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|part| part == mark.as_bytes())
    })
    .collect()
}

/// A small generator of random moments, the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A command for a program that Ctrl-C ends, also where whoever runs the tests ignores it, as a
/// shell does for what it starts in the background.
pub(crate) fn interruptible(program: std::path::PathBuf) -> std::process::Command {
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=INT").arg(program);
    command
}
