#!/usr/bin/env python3
"""Runs agents with networks on every runner in turn and prints milliseconds a step and their ratio.

    cargo build --release -p pams-cli
    python3 benches/compare_runners.py --rounds 7

Each run is a fresh `pams` with one thread of candle in each process; setup is not counted. All
runners have to give the same record hash. Needs only the Python standard library.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNNERS = ["sequential", "threads", "processes", "torch"]


def run(pams, config, runner, workers):
    command = [pams, "run", ROOT / "examples" / "configs" / f"{config}.json", "--seed", "1", "--summary", "json"]
    command += ["--quiet", "--torch-threads", "1", "--runner", runner]
    if runner != "sequential":
        command += ["--num-parallel", str(workers)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    summary = json.loads(output)
    return 1000 * summary["run_seconds"] / summary["steps"], summary["records_hash"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pams", default=ROOT / "target" / "release" / "pams")
    parser.add_argument("--configs", nargs="+", default=["candle", "candle_large"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    for config in arguments.configs:
        times, hashes = {runner: [] for runner in RUNNERS}, set()
        for _ in range(arguments.rounds):
            for runner in RUNNERS:
                time, records = run(arguments.pams, config, runner, arguments.workers)
                times[runner].append(time)
                hashes.add(records)
        if len(hashes) != 1:
            sys.exit(f"{config}: the records differ: {sorted(hashes)}")
        print(f"{config}, {arguments.workers} workers, load {os.getloadavg()[0]:.1f}")
        for runner, measured in times.items():
            # Round by round, so that what else the machine did is in both.
            ratios = [before / after for before, after in zip(times["sequential"], measured)]
            print(
                f"  {runner:10}  {statistics.median(measured):8.3f} ms/step, at best {min(measured):.3f};"
                f"  times faster than sequential: {statistics.median(ratios):.2f}"
                f" ({min(ratios):.2f} to {max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
