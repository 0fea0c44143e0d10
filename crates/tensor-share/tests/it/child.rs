//! Other processes: this test program again, running one scenario.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use candle_core::{Device, Tensor};
use rustix::fd::AsFd as _;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use tensor_share::{
    Arena, MutableArena, SharedTensor, SharingStrategy, attach, collect, copied_arenas, detach,
    sweep,
};

use crate::same_bits::{digest, results};
use crate::util::{Place, address, arena, decode, elements, encode, range};

/// A process that runs a scenario.
pub(crate) struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

/// Starts a process with a value. A descriptor that the value needs becomes its standard input.
pub(crate) fn start(scenario: &str, value: &impl Serialize) -> Running {
    start_by(Command::new(std::env::current_exe().unwrap()), scenario, value)
}

/// As [`start`], by a shell that does something before.
pub(crate) fn start_after(shell: &str, scenario: &str, value: &impl Serialize) -> Running {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]);
    command.arg(std::env::current_exe().unwrap());
    start_by(command, scenario, value)
}

fn start_by(mut command: Command, scenario: &str, value: &impl Serialize) -> Running {
    let (bytes, attachments) = collect(|| encode(value));
    let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    let carried = attachments.iter().find_map(|one| one.descriptor().map(|fd| (one.key(), fd)));
    let (key, stdin) = match carried {
        Some((key, fd)) => (key, Stdio::from(fd.try_clone_to_owned().unwrap())),
        None => (0, Stdio::null()),
    };
    let mut child = command
        .args(["--exact", "child::entry", "--nocapture", "--test-threads=1"])
        .env("SCENARIO", scenario)
        .env("VALUE", hex)
        .env("KEY", key.to_string())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    Running { child, said }
}

impl Running {
    /// What the process says next.
    pub(crate) fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            let n = self.said.read_line(&mut line).unwrap();
            assert!(n > 0, "the process ended: {:?}", self.child.wait());
            if let Some((_, said)) = line.split_once('@') {
                return said.trim_end().to_owned();
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as the kernel would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends by itself and as it should.
    pub(crate) fn finish(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(clippy::disallowed_methods, reason = "how a scenario is told to this process")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[expect(clippy::print_stdout, reason = "how this process answers")]
pub(crate) fn say(what: impl std::fmt::Display) {
    println!("@{what}");
    std::io::stdout().flush().unwrap();
}

fn for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn entry() {
    let Some(scenario) = told("SCENARIO") else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let hex = told("VALUE").unwrap();
    let byte = |index| u8::from_str_radix(&hex[index..index + 2], 16).unwrap();
    let value: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let key: u128 = told("KEY").unwrap().parse().unwrap();
    if key != 0 {
        let descriptor = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        attach(key, descriptor).unwrap();
    }
    run(&scenario, &value, key);
}

/// Text of the first few elements.
fn head(tensor: &Tensor) -> String {
    format!("{:?}", &elements::<f32>(tensor)[..3])
}

fn run(scenario: &str, value: &[u8], key: u128) {
    match scenario {
        "read" => {
            let shared: SharedTensor = decode(value);
            say(head(&shared.tensor().unwrap()));
        }
        "read and stay" => {
            let shared: SharedTensor = decode(value);
            say(head(&shared.tensor().unwrap()));
            for_ever();
        }
        "write in place" => {
            let shared: SharedTensor = decode(value);
            let tensor = shared.tensor().unwrap();
            say(copied_arenas().unwrap().len());
            tensor.zero_set().unwrap();
            tensor.slice_set(&range(2), 0, 1).unwrap();
            say(head(&tensor));
            let copied = copied_arenas().unwrap();
            say(copied.iter().all(|found| found.arena == shared.arena_id() && found.bytes > 0));
            say(shared.arena().unwrap().copied_bytes().unwrap());
        }
        "panic" => {
            let _held = decode::<SharedTensor>(value).tensor().unwrap();
            let caught = std::panic::catch_unwind(|| {
                let _arena = arena(Place::FileSystem, &[("x", &range(9))]);
                panic!("as wanted");
            });
            say(caught.is_err());
        }
        "make and stay" => {
            let strategy: SharingStrategy = decode(value);
            let mut builder = Arena::builder();
            builder.strategy(strategy).add("x", candle_core::DType::F32, 3).unwrap();
            let mut writer = builder.create().unwrap();
            writer.slice_mut::<f32>("x").unwrap().fill(7.0);
            let arena = writer.seal().unwrap();
            say(hex_of(&encode(&arena.shared("x").unwrap())));
            for_ever();
        }
        "write and stay" => {
            let mut builder = Arena::builder();
            builder.strategy(SharingStrategy::FileSystem);
            builder.add("x", candle_core::DType::F32, 3).unwrap();
            let writer = builder.create().unwrap();
            let text = format!("{writer:?}");
            say(&text.split("ArenaId(").nth(1).unwrap()[..32]);
            for_ever();
        }
        "make" => {
            let (strategy, n_bytes): (SharingStrategy, usize) = decode(value);
            let mut builder = Arena::builder();
            builder.strategy(strategy).add("x", candle_core::DType::U8, n_bytes).unwrap();
            match builder.create() {
                Ok(_) => say("made"),
                Err(error) => say(error),
            }
        }
        "many arenas" => {
            let (strategy, n_arenas, n_tensors): (SharingStrategy, usize, usize) = decode(value);
            match many_arenas(strategy, n_arenas, n_tensors) {
                Ok(sum) => say(sum),
                Err(error) => say(error),
            }
        }
        "attach and count" => {
            let tensors: Vec<SharedTensor> = decode(value);
            let tensors: Vec<_> =
                tensors.into_iter().map(|shared| shared.tensor().unwrap()).collect();
            say(tensors.len());
            assert!(detach(key));
            let last = tensors.last().unwrap();
            say(elements::<f32>(last).len());
            let before = crate::util::mapping_at(address(last)).is_some();
            let place = address(last);
            drop(tensors);
            let after =
                crate::util::mapping_at(place).is_some_and(|line| line.contains("tensor-share"));
            say(format!("{before} {after}"));
        }
        "attach many" => {
            let (files, tensors): (Vec<(u128, i32)>, Vec<SharedTensor>) = decode(value);
            for (key, number) in files {
                let path = format!("/proc/{}/fd/{number}", std::os::unix::process::parent_id());
                attach(key, std::fs::File::open(path).unwrap().into()).unwrap();
            }
            say(tensors.iter().filter(|shared| shared.tensor().is_ok()).count());
            let (_, again) = collect(|| encode(&tensors));
            say(again.iter().filter(|one| one.descriptor().is_some()).count());
        }
        "train" => {
            let arena: MutableArena = decode(value);
            let one = Tensor::ones(3, candle_core::DType::F32, &Device::Cpu).unwrap();
            for _ in 0..100 {
                arena.var("x").unwrap().add(&one).unwrap();
            }
            say("trained");
        }
        "step and stay" => {
            let arena: MutableArena = decode(value);
            let _step = arena.step().unwrap();
            say("in a step");
            for_ever();
        }
        "same bits" => {
            let shared: Vec<SharedTensor> = decode(value);
            let tensors: Vec<_> = shared.iter().map(|one| one.tensor().unwrap()).collect();
            let pairs = tensors.chunks(2).map(|pair| [&pair[0], &pair[1]]);
            let digests: Vec<u64> = pairs.map(|pair| digest(&results(pair))).collect();
            say(format!("{digests:?}"));
        }
        "sweep" => say(sweep().unwrap().processes),
        "make and drop for ever" => loop {
            let arena = arena(Place::FileSystem, &[("x", &range(9))]);
            let again: SharedTensor = decode(&encode(&arena.shared("x").unwrap()));
            say(head(&again.tensor().unwrap()));
        },
        "open and drop for ever" => {
            // The parent holds the arena, so it is opened and closed each time.
            let shared: SharedTensor = decode(value);
            loop {
                say(head(&shared.clone().tensor().unwrap()));
            }
        }
        "train and look for ever" => {
            let arena: MutableArena = decode(value);
            let one = Tensor::ones(3, candle_core::DType::F32, &Device::Cpu).unwrap();
            loop {
                arena.var("x").unwrap().add(&one).unwrap();
                say(arena.snapshot().unwrap().version);
            }
        }
        "kill others at any moment" => crate::killed::kill_others_at_any_moment(),
        other => panic!("no scenario {other}"),
    }
}

pub(crate) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let byte = |index| u8::from_str_radix(&hex[index..index + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn many_arenas(
    strategy: SharingStrategy,
    n_arenas: usize,
    n_tensors: usize,
) -> tensor_share::Result<usize> {
    let mut arenas = Vec::new();
    for _ in 0..n_arenas {
        let mut builder = Arena::builder();
        builder.strategy(strategy);
        for index in 0..n_tensors {
            builder.add(&index.to_string(), candle_core::DType::F32, 4)?;
        }
        let mut writer = builder.create()?;
        for index in 0..n_tensors {
            writer.slice_mut::<f32>(&index.to_string())?.fill(1.0);
        }
        arenas.push(writer.seal()?);
    }
    let mut sum = 0;
    for arena in &arenas {
        for (_, shared) in arena.iter() {
            sum += usize::from(elements::<f32>(&shared.tensor()?) == [1.0; 4]);
        }
    }
    Ok(sum)
}
