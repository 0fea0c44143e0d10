"""Compare our command with PAMS 0.3.0, run side by side.

    python live.py --pams target/release/pams --count 1000 [--seed0 0] [--jobs 2]
    python live.py --pams target/release/pams --samples ../../examples/configs --seeds 1..20 [--skip deep_market]

The command is called as `COMMAND run CONFIG --seed S --prng mt19937 --quiet --log FILE.jsonl`. It has to know the
classes of `reference.USER_CLASSES`, so it is a binary of the tests rather than the plain `pams`. Random configuration
number N (of `random_config.py`, from `--seed0` on) runs with seed N. Where PAMS ends by an error, the command must exit
with status 1, and its records are not looked at. The exit status of this script is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import compare
import random_config
import reference

TIMEOUT = 300
"""Seconds that our command may take for one configuration."""


@dataclass(frozen=True)
class Work:
    """One comparison: the configuration's file and text, the seed, and what to call."""

    config: Path
    text: str
    seed: int
    command: tuple[str, ...]
    log: Path


def check(work: Work) -> tuple[Work, str | None, bool]:
    """Run both. The answer's text says how they differ (None: they do not); the flag, whether PAMS failed."""
    work.config.parent.mkdir(parents=True, exist_ok=True)
    if not work.config.exists():
        work.config.write_text(work.text, encoding="utf-8")
    expected = reference.run(work.text, work.seed)
    work.log.unlink(missing_ok=True)
    arguments = ["run", str(work.config), "--seed", str(work.seed), "--prng", "mt19937", "--quiet"]
    try:
        done = subprocess.run(
            [*work.command, *arguments, "--log", str(work.log)], capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return work, f"our command took more than {TIMEOUT} s", expected.failed
    return work, _difference(work, expected, done), expected.failed


def _difference(work: Work, expected: reference.Run, done: subprocess.CompletedProcess[str]) -> str | None:
    said = f"status {done.returncode}, {done.stderr.strip() or 'no message'}"
    if expected.failed:
        message = expected.records[-1]["message"]
        return None if done.returncode == 1 else f"PAMS failed ({message}), ours should exit with 1: {said}"
    if done.returncode != 0:
        return f"ours failed: {said}"
    if not work.log.exists():
        return "ours wrote no records"
    try:
        actual = [json.loads(line) for line in work.log.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        return f"our records are no JSON lines: {error}"
    exact = compare.is_exact(work.text)
    index = compare.first_difference(expected.records, actual, exact)
    if index is None:
        return None
    how = "exactly" if exact else f"to {compare.TOLERANCE}"
    head = f"record {index} of {len(expected.records)} (ours has {len(actual)}), compared {how}:"
    return "\n".join([head, *compare.context(expected.records, actual, index)])


def _works(arguments: argparse.Namespace, directory: Path) -> Iterator[Work]:
    command = tuple(shlex.split(arguments.pams))
    if arguments.samples:
        first, _, last = arguments.seeds.partition("..")
        for path in sorted(Path(arguments.samples).glob("*.json")):
            text = path.read_text(encoding="utf-8")
            if path.stem not in arguments.skip and not reference.is_only_ours(text):
                for seed in range(int(first), int(last or first) + 1):
                    log = directory / f"{path.stem}-{seed}.jsonl"
                    yield Work(path, text, seed, command, log)
    for number in range(arguments.seed0, arguments.seed0 + arguments.count):
        config = random_config.generate(number)
        path = directory / f"{config.name}.json"
        yield Work(path, config.text, number, command, path.with_suffix(".jsonl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pams", required=True, metavar="COMMAND", help="our command, with leading arguments if any")
    parser.add_argument("--count", type=int, default=0, help="how many random configurations (default 0)")
    parser.add_argument("--seed0", type=int, default=0, help="number of the first random configuration (default 0)")
    parser.add_argument("--samples", metavar="DIR", help="also compare every *.json there")
    parser.add_argument("--seeds", default="1..3", metavar="A..B", help="seeds of the samples (default 1..3)")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME", help="leave this sample out; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="comparisons at once (default 2)")
    parser.add_argument("--keep", metavar="DIR", help="where configurations and records go (default: a new directory)")
    arguments = parser.parse_args()
    directory = Path(arguments.keep or tempfile.mkdtemp(prefix="pams-live-"))
    directory.mkdir(parents=True, exist_ok=True)
    equal = differ = failed = 0
    with multiprocessing.Pool(arguments.jobs) as pool:
        for work, difference, pams_failed in pool.imap(check, _works(arguments, directory)):
            failed += pams_failed
            if difference is None:
                equal += 1
                work.log.unlink(missing_ok=True)
                if work.config.parent == directory:
                    work.config.unlink()
            else:
                differ += 1
                print(f"{work.config} --seed {work.seed}\n{difference}\n", flush=True)
    if not differ and not arguments.keep:
        directory.rmdir()
    print(f"{equal} equal, {differ} differ ({failed} of all ended by an error under PAMS)")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
