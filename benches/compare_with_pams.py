"""Times PAMS 0.3.0 and our command in turn on the same configs and prints the ratios.

    python3 -m venv .venv && .venv/bin/pip install pams==0.3.0
    cargo build --release -p pams-cli && cargo build --release -p pams-runner --example measure
    .venv/bin/python benches/compare_with_pams.py [--rounds 5] [--configs CI2002 shock_transfer ...]

A round runs PAMS once and each of our generators, in turn, so that a change of the machine's speed hits all of them. PAMS
runs in a process of its own whose imports and reading are not timed. Ours is timed twice: `one shot` is a fresh
`pams run` process with its record hash, as a user starts it (`run_seconds` of its summary); `warm` is the median of several
runs in one process. Steps and orders per second are medians; a ratio is the median of the rounds' ratios with its smallest
and largest value. Long configs are shortened for PAMS and us alike (`--steps`), which favours PAMS: it slows down as the
book grows. `draws alone` is what the shuffles of all agents cost when nobody is asked: the floor.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GENERATORS = ("mt19937", "xoshiro256++")
WARM_RUNS = 15

PAMS = """
import json, random, resource, sys, time, warnings
from pams.runners import SequentialRunner
warnings.simplefilter("ignore")
config, seed = sys.argv[1], int(sys.argv[2])
runner = SequentialRunner(settings=json.load(open(config)), prng=random.Random(seed))
start = time.perf_counter()
runner.main()
seconds = time.perf_counter() - start
simulator = runner.simulator
print(json.dumps({
    "run_seconds": seconds,
    "steps": sum(session.iteration_steps for session in simulator.sessions),
    "orders": sum(sum(m.get_n_buy_orders()) + sum(m.get_n_sell_orders()) for m in simulator.markets),
    "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""

Run = dict[str, Any]


def last_line(command: list[str]) -> Run:
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def pams(config: Path, seed: int) -> Run:
    return last_line([sys.executable, "-c", PAMS, str(config), str(seed)])


def one_shot(config: Path, seed: int, generator: str) -> Run:
    command = [str(ROOT / "target/release/pams"), "run", str(config), "--seed", str(seed), "--prng", generator]
    return last_line([*command, "--summary", "json", "--quiet"])


def warm(config: Path, generator: str) -> Run:
    command = [str(ROOT / "target/release/examples/measure"), str(config), generator, str(WARM_RUNS)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *runs, draws = [json.loads(line) for line in output.splitlines()]
    seconds = statistics.median(run["run_seconds"] for run in runs)
    orders = statistics.median(run["orders"] for run in runs)
    return {"run_seconds": seconds, "steps": runs[0]["steps"], "orders": orders, **draws}


def shortened(config: Path, steps: int, folder: Path) -> Path:
    settings = json.loads(config.read_text())
    for session in settings["simulation"]["sessions"]:
        session["iterationSteps"] = min(session["iterationSteps"], steps)
    path = folder / config.name
    path.write_text(json.dumps(settings))
    return path


def spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):7.0f} times ({min(ratios):.0f} to {max(ratios):.0f})"


def row(label: str, runs: list[Run], against: list[Run] | None) -> None:
    steps = statistics.median(run["steps"] / run["run_seconds"] for run in runs)
    orders = statistics.median(run["orders"] / run["run_seconds"] for run in runs)
    memory = runs[0].get("peak_memory_bytes")
    text = f"  {label:28} {steps:12,.0f} steps/s {orders:12,.0f} orders/s"
    text += f" {memory / 2**20:8.1f} MiB" if memory else " " * 13
    if against:
        text += spread([theirs["run_seconds"] / ours["run_seconds"] for ours, theirs in zip(runs, against)])
    print(text, flush=True)


def compare(config: Path, rounds: int) -> None:
    theirs: list[Run] = []
    ours: dict[str, list[Run]] = {}
    for seed in range(1, rounds + 1):
        theirs.append(pams(config, seed))
        for generator in GENERATORS:
            ours.setdefault(f"{generator}, one shot", []).append(one_shot(config, seed, generator))
            ours.setdefault(f"{generator}, warm", []).append(warm(config, generator))
    row("PAMS 0.3.0", theirs, None)
    for label, runs in ours.items():
        row(label, runs, theirs)
    for (label, runs) in ours.items():
        if "draws_seconds" in runs[0]:
            draws = statistics.median(run["draws_seconds"] / run["steps"] for run in runs)
            whole = statistics.median(run["run_seconds"] / run["steps"] for run in runs)
            name = label.removesuffix(", warm")
            print(f"  {name}: {whole * 1e6:.3f} µs a step, of which draws alone {draws * 1e6:.3f} µs", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=600, help="most steps of a session")
    parser.add_argument(
        "--configs", nargs="+", default=["CI2002", "shock_transfer", "deep_market", "wide_market"], metavar="NAME"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.configs:
            config = shortened(ROOT / "examples/configs" / f"{name}.json", arguments.steps, Path(folder))
            print(f"{name} ({arguments.rounds} rounds)", flush=True)
            compare(config, arguments.rounds)


if __name__ == "__main__":
    main()
