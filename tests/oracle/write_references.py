"""Write the committed reference records to `tests/data/`.

    python write_references.py [--jobs 2] [--out ../data]

Makes `samples.jsonl.gz` (the setups of `examples/configs`) and `random.jsonl.gz` (random configurations). The format
is in `tests/oracle/README.md`. The two big samples take PAMS minutes and megabytes, so they are there with one seed and
fewer steps; `live.py --samples` compares them in full.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import platform
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Iterable, Iterator

import numpy

import compare
import coverage
import random_config
import reference

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (1, 2, 3)
BIG = ("deep_market", "wide_market")
"""Samples with one seed only and `SHORT` steps, last in the file."""

SHORT = (30, 150)
"""Steps of the sessions of the big samples here; long enough for the first orders to expire."""

RANDOM_CONFIGS = 300
LONGEST = 2500
"""Random configurations with more records are left to `live.py`: the repository should stay small."""
ERRORS = 0.05
"""The share of random configurations that PAMS may refuse."""


@dataclass(frozen=True)
class Work:
    """One reference run."""

    name: str
    text: str
    seed: int


@dataclass(frozen=True)
class Done:
    """One finished reference run: its lines, with the header, and what it exercised."""

    lines: list[str]
    effects: list[str]
    error: str | None
    exact: bool


def maker() -> dict[str, Any]:
    """What made the file: the parts that can change a last digit."""
    cpu: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        cpu.setdefault(key.strip(), value.strip())
    features = [flag for flag in cpu.get("flags", "").split() if flag.startswith(("sse4", "avx", "fma", "bmi"))]
    return {
        "type": "maker",
        "pams": metadata.version("pams"),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "cpu": cpu.get("model name", platform.processor()),
        "cpu_features": features,
    }


def run(work: Work) -> Done:
    """Run PAMS on it."""
    result = reference.run(work.text, work.seed)
    exact = compare.is_exact(work.text)
    header = {
        "type": "config",
        "name": work.name,
        "seed": work.seed,
        "exact": exact,
        "records": len(result.records),
        "config": work.text,
    }
    lines = [reference.to_line(record) for record in (header, *result.records)]
    error = result.records[-1]["message"] if result.failed else None
    return Done(lines, [name for name, count in result.effects.items() if count], error, exact)


def samples() -> Iterator[Work]:
    """The setups of `examples/configs`."""
    paths = sorted((ROOT / "examples" / "configs").glob("*.json"), key=lambda path: (path.stem in BIG, path.stem))
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if reference.is_only_ours(text):
            continue
        if path.stem in BIG:
            yield Work(f"{path.stem} (short)", shortened(text), SEEDS[0])
        else:
            yield from (Work(path.stem, text, seed) for seed in SEEDS)


def shortened(text: str) -> str:
    """The configuration with `SHORT` steps in its sessions."""
    settings = json.loads(text)
    for session, steps in zip(settings["simulation"]["sessions"], SHORT, strict=True):
        session["iterationSteps"] = steps
    return json.dumps(settings, indent=1)


def random_works() -> Iterator[Work]:
    """Random configurations without end."""
    number = 0
    while True:
        config = random_config.generate(number)
        yield Work(config.name, config.text, number)
        number += 1


def short_ones(runs: Iterable[Done]) -> Iterator[Done]:
    """The first of them that are neither too long nor one error too many."""
    kept = errors = 0
    for done in runs:
        if len(done.lines) > LONGEST or (done.error and errors >= RANDOM_CONFIGS * ERRORS):
            continue
        errors += done.error is not None
        kept += 1
        yield done
        if kept == RANDOM_CONFIGS:
            return


def write(path: Path, runs: Iterable[Done]) -> None:
    """Write a file and print what is in it."""
    effects: Counter[str] = Counter()
    errors: list[str] = []
    count = records = exact = 0
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write((reference.to_line(maker()) + "\n").encode())
        for done in runs:
            file.write(("\n".join(done.lines) + "\n").encode())
            effects.update(done.effects)
            count += 1
            records += len(done.lines) - 1
            exact += done.exact
            if done.error:
                errors.append(f"  {done.error}")
    print(f"{path.name}: {path.stat().st_size} bytes; {coverage.report(effects, errors, count, records, exact)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default 2)")
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "data", help="where to write (default tests/data)")
    parser.add_argument("--only", choices=("samples", "random"), help="write only this file")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(arguments.jobs) as pool:
        if arguments.only != "random":
            write(arguments.out / "samples.jsonl.gz", pool.imap(run, list(samples())))
        if arguments.only != "samples":
            write(arguments.out / "random.jsonl.gz", short_ones(batches(pool)))
    return 0


def batches(pool: Any) -> Iterator[Done]:
    """Runs of random configurations, some at a time: a pool would take all of an endless supply."""
    works = random_works()
    while True:
        yield from pool.map(run, [next(works) for _ in range(40)], chunksize=2)


if __name__ == "__main__":
    sys.exit(main())
