#!/usr/bin/env python3
"""Checks that crates depend on each other only as docs/src/architecture.md says.

Also checks that crates without `unsafe` forbid it, and that no source file grows too long.
Needs only the Python standard library and `cargo`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Crate -> the crates of the workspace that it may depend on. A crate that is not named here may
# not exist: a new crate gets its line, and its place in the architecture chapter.
ALLOWED = {
    "pams-core": set(),
    "process-pool": set(),
    "tensor-share": set(),
    "pams-facts": set(),
    "pams-config": {"pams-core"},
    "pams-agent": {"pams-core", "pams-config"},
    "pams-runner": {"pams-core", "pams-config", "pams-agent", "process-pool", "tensor-share"},
    "pams-candle": {"pams-core", "pams-config", "pams-agent", "tensor-share"},
    "pams-torch": {
        "pams-core",
        "pams-config",
        "pams-agent",
        "process-pool",
        "tensor-share",
        "pams-runner",
        "pams-candle",
    },
    "pams-results": {"pams-core", "pams-runner"},
    "pams-sweep": {
        "pams-core",
        "pams-config",
        "pams-agent",
        "process-pool",
        "pams-runner",
        "pams-results",
    },
    # None stands for "any".
    "pams-cli": None,
    "pams-examples": None,
    "pams-own-network": None,
    "pams-tests": None,
}

# Who may depend on the command line, which prints and ends processes.
MAY_USE_CLI = {"pams-tests", "pams-examples"}

# Crates that need `unsafe`: they map memory or start processes.
MAY_BE_UNSAFE = {"process-pool", "tensor-share"}

WARN_LINES = 500
MOST_LINES = 700


def packages():
    """The packages of the workspace as cargo describes them."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return json.loads(output)["packages"]


def check_arrows(members):
    names = {package["name"] for package in members}
    for package in members:
        name = package["name"]
        if name not in ALLOWED:
            yield f"the crate {name} has no line in .ci/layering.py: say what it may depend on"
            continue
        allowed = ALLOWED[name]
        # Tests may look at anything below the command line; only what users build counts.
        normal = [one for one in package["dependencies"] if one["kind"] in (None, "build")]
        for used in sorted({one["name"] for one in normal} & names):
            if used == "pams-cli" and name not in MAY_USE_CLI:
                yield f"{name} depends on pams-cli, on which only tests and examples may depend"
            elif allowed is not None and used not in allowed:
                listed = ", ".join(sorted(allowed)) or "no crate of the workspace"
                yield f"{name} depends on {used}, but may depend only on: {listed}"


def check_unsafe(members):
    for package in members:
        if package["name"] in MAY_BE_UNSAFE:
            continue
        for target in package["targets"]:
            if not {"lib", "bin"} & set(target["kind"]):
                continue
            root = Path(target["src_path"])
            if "#![forbid(unsafe_code)]" not in root.read_text(encoding="utf-8"):
                yield f"{root.relative_to(ROOT)} does not begin with #![forbid(unsafe_code)]"


def code_lines(text):
    """Lines of code: no blank lines, no comments, nothing from the tests at the end on."""
    text = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, maxsplit=1, flags=re.MULTILINE)[0]
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def check_lengths(members):
    """Yields (is an error, sentence)."""
    for package in members:
        folder = Path(package["manifest_path"]).parent
        for path in sorted(folder.rglob("*.rs")):
            n = code_lines(path.read_text(encoding="utf-8"))
            if n > WARN_LINES:
                most = f"split it: at most {MOST_LINES} are allowed"
                yield n > MOST_LINES, f"{path.relative_to(ROOT)} has {n} lines of code; {most}"


def main():
    members = packages()
    errors = [*check_arrows(members), *check_unsafe(members)]
    for is_error, sentence in check_lengths(members):
        if is_error:
            errors.append(sentence)
        else:
            print(f"warning: {sentence}")
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    if errors:
        return 1
    print(f"layers, unsafe and file lengths of {len(members)} crates are in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
