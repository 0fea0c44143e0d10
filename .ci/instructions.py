#!/usr/bin/env python3
"""Counts the instructions of the book, a step, the draws and the FCN agent with callgrind, and
compares them with what was recorded.

    .ci/instructions.py [--record]

Instructions do not depend on what else the machine does, so a change of a few per cent is one of
the code, the compiler or the libraries. More than the tolerance above the record is an error; less
is told, so that the record gets written anew with --record. Where valgrind is not installed,
nothing is checked.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = Path(__file__).with_name("instructions.json")
# A folder of its own, because the profile may be another one than the rest of CI builds with.
TARGET = ROOT / "target/instructions"
PROGRAM = TARGET / "release/examples/instructions"
TOLERANCE = 0.03

# The difference between the two counts is what is counted.
WORK = {
    "book": (20_000, 120_000),
    "step-xoshiro": (1_000, 6_000),
    "step-mt19937": (1_000, 6_000),
    "draws": (1_000, 6_000),
    "agent": (1_000, 21_000),
}


def build():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CARGO_PROFILE_RELEASE_")}
    command = ["cargo", "build", "--release", "--quiet", "--target-dir", TARGET]
    command += ["-p", "pams-runner", "--no-default-features", "--example", "instructions"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def instructions(work, count):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, work, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"error: {work} {count} did not run under callgrind:\n{done.stderr}")
    return int(found[1])


def measure():
    measured = {}
    for work, (few, many) in WORK.items():
        measured[work] = round((instructions(work, many) - instructions(work, few)) / (many - few), 1)
    return measured


def main():
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed, so instructions are not counted")
        return 0
    build()
    measured = measure()
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(measured, indent=2) + "\n")
    recorded = json.loads(RECORD.read_text())
    worse = False
    for work, now in measured.items():
        before = recorded[work]
        change = now / before - 1
        worse |= change > TOLERANCE
        remark = ""
        if change > TOLERANCE:
            remark = f"  more than {TOLERANCE:.0%} above the record"
        elif change < -TOLERANCE:
            remark = "  better than the record: write it anew with --record"
        print(f"{work:14} {now:9.1f} instructions each, recorded {before:9.1f} ({change:+.1%}){remark}")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
