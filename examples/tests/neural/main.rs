//! The examples with neural agents run and tell what they promise.

use std::process::Command;

/// The output of an example that ends well.
#[track_caller]
fn run(program: &str) -> String {
    let mut command = Command::new(program);
    command.env("RAYON_NUM_THREADS", "1").env("CANDLE_NUM_THREADS", "1");
    let output = command.output().expect("the example starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn both_runners_have_the_same_records() {
    let output = run(env!("CARGO_BIN_EXE_torch_runner"));
    let [torch, sequential] = output.lines().collect::<Vec<_>>()[..] else {
        panic!("two lines: {output}");
    };
    assert!(torch.contains(" 4000 orders, "), "{output}");
    let records = |line: &str| line.split_once(' ').map(|(_, records)| records.trim().to_owned());
    assert_eq!(records(torch), records(sequential));
}

#[test]
fn the_model_of_each_worker_is_asked() {
    let output = run(env!("CARGO_BIN_EXE_worker_initializer"));
    assert!(output.starts_with("800 orders, "), "{output}");
}
