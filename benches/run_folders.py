#!/usr/bin/env python3
"""What keeping a run costs: python3 benches/run_folders.py PAMS CONFIG [STEPS] [ROUNDS]

Runs the same simulation with and without outputs, in turn, and prints the ratios of run time and of CPU time to the run
without outputs. STEPS replaces the length of the last session, 0 leaves it. Files go to a temporary folder.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(pams, config, options):
    before = cpu_seconds()
    command = [pams, "run", config, "--seed", "1", "--summary", "json", "--quiet", *options]
    summary = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return summary["run_seconds"], cpu_seconds() - before, summary["peak_memory_bytes"] / 2**20


def main():
    pams, config = sys.argv[1:3]
    steps, rounds = (int(number) for number in [*sys.argv[3:5], "0", "5"][:2])
    with tempfile.TemporaryDirectory() as folder:
        settings = json.loads(Path(config).read_text(encoding="utf-8"))
        if steps:
            settings["simulation"]["sessions"][-1]["iterationSteps"] = steps
        config = f"{folder}/config.json"
        Path(config).write_text(json.dumps(settings), encoding="utf-8")
        out = ["--out", f"{folder}/out", "--overwrite"]
        outputs = {
            "nothing": [],
            "--log": ["--log", f"{folder}/log.jsonl"],
            "parquet": out,
            "parquet, depth 5": [*out, "--depth", "5"],
            "csv": [*out, "--out-format", "csv"],
            "jsonl": [*out, "--out-format", "jsonl"],
        }
        figures = {name: [] for name in outputs}
        for _ in range(rounds):
            for name, options in outputs.items():
                figures[name].append(run(pams, config, options))
    best = {name: [min(column) for column in zip(*runs)] for name, runs in figures.items()}
    base = best["nothing"]
    for name, (seconds, cpu, memory) in best.items():
        median = statistics.median(one[0] for one in figures[name])
        print(
            f"{name:16} run {seconds:.3f} s (median {median:.3f}), {seconds / base[0]:.2f} times; "
            f"CPU {cpu:.3f} s, {cpu / base[1]:.2f} times; peak {memory:.0f} MiB"
        )
    print("load", *(f"{load:.1f}" for load in os.getloadavg()))


main()
