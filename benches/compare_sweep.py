"""Times a sweep of `pams sweep` beside PAMS 0.3.0 that loops over seeds in as many processes, and prints the ratio.

    python3 -m venv .venv && .venv/bin/pip install pams==0.3.0
    cargo build --release -p pams-cli
    .venv/bin/python benches/compare_sweep.py [--rounds 5] [--seeds 1000] [--part 4] [--jobs 2] [--config CI2002]

A round runs PAMS on a part of the seeds and then our sweep of all of them, so that a change of the machine's speed hits both.
Each PAMS process makes a runner for each of its seeds and runs it; its imports and the reading of the config are not timed.
Ours is the whole command as a user starts it, with the start of its workers, its journal, its record hashes and its table.
What is compared is seconds a run. Memory is the peak of every process as the system tells it, for the sweep and for one that
has ten times as many seeds: beyond 8 bytes a run and a block of the table's rows (16,384) it should not grow with them.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PAMS = """
import json, random, resource, sys, time, warnings
from pams.runners import SequentialRunner
warnings.simplefilter("ignore")
settings = json.load(open(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for seed in json.loads(sys.argv[2]):
    SequentialRunner(settings=json.loads(json.dumps(settings)), prng=random.Random(seed)).main()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
"""


def pams(config: Path, seeds: list[int], jobs: int) -> tuple[float, list[int]]:
    """Seconds a run, and the peak memory of each process in bytes."""
    processes = []
    for job in range(jobs):
        command = [sys.executable, "-c", PAMS, str(config), json.dumps(seeds[job::jobs])]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        processes.append(subprocess.Popen(command, text=True, stderr=subprocess.DEVNULL, **pipes))
    for process in processes:
        # PAMS prints nothing before the first run.
        assert process.stdout.readline() == "ready\n"
    start = time.perf_counter()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]
    seconds = time.perf_counter() - start
    assert all(process.returncode == 0 for process in processes)
    return seconds / len(seeds), [int(output.splitlines()[-1]) for output in outputs]


def peak_memory(process: int) -> int:
    """The peak memory of a process in bytes; 0 when it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else 0


def children(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def sweep(config: Path, seeds: int, jobs: int, folder: Path, watched: bool) -> tuple[float, int, list[int]]:
    """Seconds a run, and the peak memory of the main process and of each worker in bytes, if watched."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(ROOT / "target/release/pams"), "sweep", str(config), "--seeds", f"0..{seeds}"]
    command += ["--jobs", str(jobs), "--out", str(folder), "--format", "json", "--quiet"]
    start = time.perf_counter()
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)
    main, workers = 0, {}
    while watched and process.poll() is None:
        main = max(main, peak_memory(process.pid))
        for worker in children(process.pid):
            workers[worker] = max(workers.get(worker, 0), peak_memory(worker))
        time.sleep(0.002)
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    summary = json.loads(output)
    assert process.returncode == 0 and summary["runs"] == seeds and summary["found"] == 0
    return seconds / seeds, main, sorted(workers.values())


def mebibytes(sizes: list[int]) -> str:
    return " + ".join(f"{size / 2**20:.1f}" for size in sizes) + " MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--part", type=int, default=4, help="how many seeds PAMS runs in a round")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--config", default="CI2002", metavar="NAME")
    arguments = parser.parse_args()
    config = ROOT / "examples/configs" / f"{arguments.config}.json"
    seeds, jobs = arguments.seeds, arguments.jobs
    print(f"{arguments.config}, {seeds} seeds, {jobs} processes, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sweep"
        theirs, ours = [], []
        for round in range(arguments.rounds):
            first = round * arguments.part
            seconds, memory = pams(config, list(range(first, first + arguments.part)), jobs)
            theirs.append(seconds)
            ours.append(sweep(config, seeds, jobs, out, watched=False)[0])
        ratios = [pams / pams_rs for pams, pams_rs in zip(theirs, ours)]
        print(f"  PAMS 0.3.0  {statistics.median(theirs) * 1e3:10.3f} ms a run, {mebibytes(memory)}")
        print(f"  pams sweep  {statistics.median(ours) * 1e3:10.3f} ms a run", end="")
        print(f", {statistics.median(ratios):.0f} times ({min(ratios):.0f} to {max(ratios):.0f})", flush=True)
        for factor in (1, 10):
            _, main, workers = sweep(config, factor * seeds, jobs, out, watched=True)
            print(f"  memory with {factor * seeds:,} seeds: main {mebibytes([main])}, workers {mebibytes(workers)}")


if __name__ == "__main__":
    main()
