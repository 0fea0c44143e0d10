#!/usr/bin/env python3
"""Renders a page of `pams plot` in headless Chromium and checks that there is something to see.

    python3 .ci/page.py results/CI2002-42/report/report.html [--screenshot FILE.png]

Needs Chromium; as root it is installed with apt-get if it is missing. Where that does not work the check
says so and does nothing. Otherwise needs only the Python standard library.
"""

import argparse
import html
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

NAMES = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    # A page that is self-contained needs no names resolved.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
WIDTH = 1100
# What charts are drawn in: see crates/pams-facts/src/plot/canvas.rs.
COLOURS = {"blue": (0x00, 0x72, 0xB2), "vermilion": (0xD5, 0x5E, 0x00), "black": (0, 0, 0)}


def find_browser():
    """The path of a browser, installed if that is possible, or the reason why there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found or os.geteuid() != 0 or not shutil.which("apt-get"):
        return found, "there is no Chromium, and only root with apt-get can install it"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    for command in [["apt-get", "update", "-qq"], install]:
        try:
            subprocess.run(command, env=environment, timeout=240, check=True, **quiet)
        except (subprocess.SubprocessError, OSError) as error:
            return None, f"Chromium can't be installed: {error}"
    return next(filter(None, map(shutil.which, NAMES)), None), "apt-get installed no Chromium"


def browse(browser, page, *arguments):
    """Opens the page; answers with what the browser printed and what it logged."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}/data", *arguments, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"error: {browser} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout, done.stderr


def read_png(path):
    """Width, and the pixels as rows of bytes with their number of channels: 8 bits, not interlaced."""
    data = path.read_bytes()
    at, packed, width, height, channels = 8, b"", 0, 0, 3
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if depth != 8 or colour not in (2, 6) or interlaced:
                raise SystemExit(f"error: {path} is another kind of PNG than expected")
            channels = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * channels
    rows, above = [], bytearray(stride)
    for y in range(height):
        begin = y * (stride + 1)
        row = bytearray(raw[begin + 1 : begin + 1 + stride])
        unfilter(raw[begin], row, above, channels)
        rows.append(bytes(row))
        above = row
    return rows, channels


def unfilter(kind, row, above, n):
    if kind == 1:
        for i in range(n, len(row)):
            row[i] = (row[i] + row[i - n]) & 255
    elif kind == 2:
        row[:] = bytes((a + b) & 255 for a, b in zip(row, above))
    elif kind == 3:
        for i in range(len(row)):
            left = row[i - n] if i >= n else 0
            row[i] = (row[i] + (left + above[i]) // 2) & 255
    elif kind == 4:
        for i in range(len(row)):
            left, corner = (row[i - n], above[i - n]) if i >= n else (0, 0)
            up = above[i]
            guess = left + up - corner
            a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
            row[i] = (row[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255


def problems_of_picture(rows, channels):
    """What is missing in a screenshot."""
    counts = {}
    for row in rows:
        for at in range(0, len(row), channels):
            pixel = row[at : at + 3]
            counts[pixel] = counts.get(pixel, 0) + 1
    if len(counts) < 100:
        yield f"the picture has only {len(counts)} colours"
    for name, wanted in COLOURS.items():
        near = lambda pixel: all(abs(a - b) < 40 for a, b in zip(pixel, wanted))
        n = sum(count for pixel, count in counts.items() if near(pixel))
        if n < 300:
            yield f"only {n} pixels of the picture are {name}"


def check(browser, page, screenshot):
    """What is wrong with the page."""
    titles = re.findall(r'<svg role="img" aria-label="([^"]*)"', page.read_text(encoding="utf-8"))
    dom, log = browse(browser, page, "--dump-dom")
    shown = html.unescape(dom)
    yield from (f"console: {line}" for line in log.splitlines() if ":CONSOLE" in line)
    if len(titles) < 4:
        yield f"the page has {len(titles)} charts"
    if dom.count("</figure>") != len(titles):
        yield f"{dom.count('</figure>')} figures are left of {len(titles)}"
    for title in map(html.unescape, titles):
        # Once as the label of the picture, once as words in it.
        if shown.count(title) < 2:
            yield f"the chart `{title}` is not in the document"
    height = 600 + 520 * len(titles)
    size = f"--window-size={WIDTH},{height}"
    browse(browser, page, size, "--force-device-scale-factor=0.5", f"--screenshot={screenshot}")
    yield from problems_of_picture(*read_png(screenshot))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--screenshot", type=Path, help="keep the picture here")
    arguments = parser.parse_args()
    browser, reason = find_browser()
    if browser is None:
        print(f"SKIPPED, the page was not rendered: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        # An empty page has to fail, or the check is worth nothing.
        blank = Path(folder) / "blank.html"
        blank.write_text("<!DOCTYPE html><title>blank</title>", encoding="utf-8")
        if len(list(check(browser, blank, Path(folder) / "blank.png"))) < 5:
            raise SystemExit("error: an empty page passes")
        screenshot = arguments.screenshot or Path(folder) / "page.png"
        problems = list(check(browser, arguments.page.resolve(), screenshot.resolve()))
    for problem in problems:
        print(f"error: {arguments.page}: {problem}", file=sys.stderr)
    if problems:
        return 1
    print(f"{arguments.page} is a page with something to see")
    return 0


if __name__ == "__main__":
    sys.exit(main())
