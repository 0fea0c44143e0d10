#!/usr/bin/env python3
"""Checks the documentation without building it.

Every relative link leads to a file, every `#anchor` to a heading, every chapter of the book is in
its summary, and every code block says its language (one that does not would be taken for Rust).
Needs only the Python standard library.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "docs" / "src"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*(```+|~~~+)(.*)$")


def pages():
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("docs", "tests", "examples", "benches"):
        yield from sorted((ROOT / folder).rglob("*.md"))


def split(text):
    """The prose lines with their numbers, and the openings of code blocks."""
    prose, openings, fence = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if match and fence is None:
            fence = match[1]
            openings.append((number, match[2].strip()))
        elif match and line.strip() == fence:
            fence = None
        elif fence is None:
            prose.append((number, re.sub(r"`[^`]*`", "``", line)))
    return prose, openings


def anchors(path):
    """The anchors that mdBook and GitHub make from headings."""
    found, fence = set(), None
    for line in path.read_text(encoding="utf-8").splitlines():
        match = FENCE.match(line)
        if match:
            fence = match[1] if fence is None else None
        elif fence is None and line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            title = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            found.add(title)
    return found


def check_page(path):
    name = path.relative_to(ROOT)
    prose, openings = split(path.read_text(encoding="utf-8"))
    for number, language in openings:
        if not language and name.parts[0] != "tests":
            yield f"{name}:{number}: the code block does not say its language"
    for number, line in prose:
        for match in LINK.finditer(line):
            target = match[1] or match[2]
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            goal = (path.parent / file).resolve() if file else path
            if not goal.exists():
                yield f"{name}:{number}: there is no {target}"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                yield f"{name}:{number}: {file or name} has no heading #{anchor}"


def check_summary():
    summary = BOOK / "SUMMARY.md"
    listed = {target.split("#")[0] for target, _ in LINK.findall(summary.read_text("utf-8"))}
    for path in sorted(BOOK.rglob("*.md")):
        chapter = path.relative_to(BOOK).as_posix()
        if path != summary and chapter not in listed:
            yield f"docs/src/{chapter} is not in docs/src/SUMMARY.md"


def main():
    paths = list(pages())
    errors = [error for path in paths for error in check_page(path)] + list(check_summary())
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    if errors:
        return 1
    print(f"links and code blocks of {len(paths)} pages are in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
