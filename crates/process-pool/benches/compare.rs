//! What a task costs, beside procspawn and Python's pools in the same run: medians, tails and ratios.
//!
//! `cargo bench -p process-pool --bench compare`
#![expect(clippy::print_stdout, reason = "a benchmark shows its figures")]
#![expect(clippy::disallowed_methods, reason = "benchmarks measure time")]

mod common;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use common::Echo;
use ipc_channel::ipc::{self, IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcSender};
use process_pool::{
    BoxError, Bytes, Context, ProcessPool, Service, Snapshot, StartMethod, prepare_fork, service,
};

struct NoOp;

impl Service for NoOp {
    const NAME: &'static str = "no-op";
    type Args = ();
    type Request = u64;
    type Answer = u64;
    type Update = Bytes;

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(&mut self, n: u64, _: &Context) -> Result<u64, BoxError> {
        Ok(n)
    }

    fn update(&mut self, _: Bytes, _: &Context) -> Result<(), BoxError> {
        Ok(())
    }
}

type Figures = BTreeMap<&'static str, f64>;

fn quantile(times: &mut [Duration], q: f64) -> f64 {
    times.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let at = ((times.len() - 1) as f64 * q) as usize;
    times[at].as_secs_f64() * 1e6
}

fn no_op_pool(workers: usize, method: StartMethod) -> ProcessPool<NoOp> {
    let snapshot = || Snapshot { after: u64::MAX, update: Bytes::default(), attachments: vec![] };
    let builder = ProcessPool::<NoOp>::builder(&()).workers(workers).start_method(method);
    builder.snapshots(snapshot).build().expect("a pool")
}

fn round_trips(figures: &mut Figures) {
    let pool = no_op_pool(2, StartMethod::Spawn);
    let one = |n| pool.submit(&n).expect("submitted").wait().expect("answered");
    (0..5_000).for_each(|n| assert_eq!(one(n), n));
    let mut times: Vec<_> = (0..50_000)
        .map(|n| {
            let since = Instant::now();
            one(n);
            since.elapsed()
        })
        .collect();
    figures.insert("no-op median, us", quantile(&mut times, 0.5));
    figures.insert("no-op p99, us", quantile(&mut times, 0.99));

    let requests: Vec<u64> = (0..200_000).collect();
    let since = Instant::now();
    let mut tasks = Vec::with_capacity(requests.len());
    for n in &requests {
        tasks.push(pool.submit(n).expect("submitted"));
    }
    for (task, n) in tasks.into_iter().zip(&requests) {
        assert_eq!(task.wait().expect("answered"), *n);
    }
    figures.insert("pipelined, us each", since.elapsed().as_secs_f64() * 1e6 / 200_000.0);
}

fn megabytes(figures: &mut Figures) {
    let pool = ProcessPool::<Echo>::builder(&()).workers(2).build().expect("a pool");
    let block = Bytes(vec![7; 1 << 20]);
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let since = Instant::now();
            let back = pool.submit(&block).expect("submitted").wait().expect("answered");
            assert_eq!(back.0.len(), block.0.len());
            since.elapsed()
        })
        .collect();
    figures.insert("1 MiB both ways, us", quantile(&mut times, 0.5));
}

fn starts(figures: &mut Figures) {
    for (method, name) in [
        (StartMethod::Spawn, "first answer, 2 spawned, us"),
        (StartMethod::ForkServer, "first answer, 2 forkserver, us"),
        (StartMethod::Fork, "first answer, 2 forked, us"),
    ] {
        let mut times: Vec<_> = (0..30)
            .map(|_| {
                let since = Instant::now();
                let pool = no_op_pool(2, method);
                pool.map(&[1, 2]).expect("answered");
                since.elapsed()
            })
            .collect();
        figures.insert(name, quantile(&mut times, 0.5));
    }
}

fn broadcasts(figures: &mut Figures) {
    for (workers, name) in [
        (2, "broadcast 1 KB to 2 and a task each, us"),
        (16, "broadcast 1 KB to 16 and a task each, us"),
    ] {
        let pool = no_op_pool(workers, StartMethod::Spawn);
        let update = Bytes(vec![1; 1000]);
        let tasks: Vec<u64> = (0..workers as u64).collect();
        let mut times: Vec<_> = (0..2_000)
            .map(|_| {
                let since = Instant::now();
                pool.broadcast(&update).expect("sent");
                pool.map(&tasks).expect("answered");
                since.elapsed()
            })
            .collect();
        figures.insert(name, quantile(&mut times, 0.5));
    }
}

/// The round trip that ipc-channel would add to a task: bytes to another process and back.
fn ipc_channel_alone() -> Figures {
    let (server, name) =
        IpcOneShotServer::<(IpcBytesSender, IpcBytesReceiver)>::new().expect("made");
    let own = std::env::current_exe().expect("a path");
    let mut child = Command::new(own).env("IPC_ECHO", name).spawn().expect("started");
    let (_, (there, back)) = server.accept().expect("connected");
    let request = [0; 40];
    let trip = || {
        there.send(&request).expect("sent");
        assert_eq!(back.recv().expect("received").len(), request.len());
    };
    (0..2_000).for_each(|_| trip());
    let mut times: Vec<_> = (0..20_000)
        .map(|_| {
            let since = Instant::now();
            trip();
            since.elapsed()
        })
        .collect();
    drop(there);
    child.wait().expect("ended");
    Figures::from([
        ("no-op median, us", quantile(&mut times, 0.5)),
        ("no-op p99, us", quantile(&mut times, 0.99)),
    ])
}

/// The other side of [`ipc_channel_alone`].
fn ipc_echo(name: String) {
    let (there, requests) = ipc::bytes_channel().expect("made");
    let (answers, back) = ipc::bytes_channel().expect("made");
    IpcSender::connect(name).expect("connected").send((there, back)).expect("sent");
    while let Ok(bytes) = requests.recv() {
        answers.send(&bytes).expect("sent");
    }
}

/// procspawn's pool, as far as it has the same: functions instead of a service, and re-run
/// processes only.
fn procspawn_pool() -> Figures {
    let make = || procspawn::Pool::new(2).expect("a pool");
    let pool = make();
    let one = |n: u64| procspawn::spawn!(in pool, (n) || n).join().expect("answered");
    (0..2_000).for_each(|n| assert_eq!(one(n), n));
    let mut times: Vec<_> = (0..20_000)
        .map(|n| {
            let since = Instant::now();
            one(n);
            since.elapsed()
        })
        .collect();
    let mut figures = Figures::from([
        ("no-op median, us", quantile(&mut times, 0.5)),
        ("no-op p99, us", quantile(&mut times, 0.99)),
    ]);

    // A hundred at a time: each takes descriptors until it is answered, and without any left
    // procspawn panics.
    let since = Instant::now();
    for round in 0..200_u64 {
        let numbers = round * 100..(round + 1) * 100;
        let tasks: Vec<_> = numbers.clone().map(|n| procspawn::spawn!(in pool, (n) || n)).collect();
        for (task, n) in tasks.into_iter().zip(numbers) {
            assert_eq!(task.join().expect("answered"), n);
        }
    }
    figures.insert("pipelined, us each", since.elapsed().as_secs_f64() * 1e6 / 20_000.0);

    let block = Bytes(vec![7; 1 << 20]);
    let mut times: Vec<_> = (0..50)
        .map(|_| {
            let since = Instant::now();
            let task = procspawn::spawn!(in pool, (block.clone() => block) || block);
            assert_eq!(task.join().expect("answered").0.len(), block.0.len());
            since.elapsed()
        })
        .collect();
    figures.insert("1 MiB both ways, us", quantile(&mut times, 0.5));
    pool.shutdown();

    let mut times: Vec<_> = (0..30)
        .map(|_| {
            let since = Instant::now();
            let pool = make();
            let tasks = [1_u64, 2].map(|n| procspawn::spawn!(in pool, (n) || n));
            assert_eq!(tasks.map(|task| task.join().expect("answered")), [1, 2]);
            let took = since.elapsed();
            pool.shutdown();
            took
        })
        .collect();
    figures.insert("first answer, 2 spawned, us", quantile(&mut times, 0.5));
    figures
}

fn python(peer: &str) -> Option<Figures> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.py");
    let output = Command::new("python3").arg(script).arg(peer).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut figures = Figures::new();
    for line in text.lines() {
        let (name, value) = line.rsplit_once('=')?;
        figures.insert(Box::leak(name.to_owned().into_boxed_str()), value.parse().ok()?);
    }
    Some(figures)
}

fn main() {
    process_pool::init(&[service::<NoOp>(), service::<Echo>()]);
    prepare_fork().expect("one thread");
    if let Ok(name) = std::env::var("IPC_ECHO") {
        return ipc_echo(name);
    }
    // Like ours, procspawn turns the re-run executable into a worker here.
    procspawn::init();
    // `cargo test --benches` only asks whether it runs.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let gigabyte = std::env::var("PARENT_GB").is_ok().then(|| vec![1_u8; 1 << 30]);
    let mut rounds = Vec::new();
    let peers = [
        "pool-spawn",
        "pool-fork",
        "pool-forkserver",
        "executor-spawn",
        "executor-fork",
        "executor-forkserver",
    ];
    let mut theirs: BTreeMap<&str, Vec<Figures>> = BTreeMap::new();
    for _ in 0..3 {
        let mut figures = Figures::new();
        round_trips(&mut figures);
        megabytes(&mut figures);
        starts(&mut figures);
        broadcasts(&mut figures);
        rounds.push(figures);
        theirs.entry("ipc-channel alone").or_default().push(ipc_channel_alone());
        theirs.entry("procspawn").or_default().push(procspawn_pool());
        for peer in peers {
            if let Some(figures) = python(peer) {
                theirs.entry(peer).or_default().push(figures);
            }
        }
    }
    let middle = |rounds: &[Figures], name: &str| {
        let mut values: Vec<f64> = rounds.iter().filter_map(|one| one.get(name).copied()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let spread = Some((*values.first()?, *values.last()?))?;
        Some((values[values.len() / 2], spread))
    };
    println!("median of 3 rounds taken in turn; in brackets the smallest and largest round");
    for name in rounds[0].keys() {
        let Some((own, (low, high))) = middle(&rounds, name) else { continue };
        println!("{name:<42} {own:>10.1}  [{low:.1} .. {high:.1}]");
        for (peer, figures) in &theirs {
            if let Some((their, (low, high))) = middle(figures, name) {
                let ratio = their / own;
                println!(
                    "    {peer:<38} {their:>10.1}  [{low:.1} .. {high:.1}]  {ratio:.1} times ours"
                );
            }
        }
    }
    drop(gigabyte);
}
