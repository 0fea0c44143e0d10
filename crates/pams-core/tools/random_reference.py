"""Writes tests/it/random/reference.rs with CPython 3.11 and NumPy 1.26:

python3.11 tools/random_reference.py > tests/it/random/reference.rs
"""

import math
import platform
import random
import textwrap

import numpy

SEEDS = [0, 1, 42, 2**31, 2**32 + 5, 2**64 - 1]
BOUNDS = [1, 2, 3, 100, 2**31 + 1, 2**32, 2**32 + 1, 2**63 + 1, 2**64 - 1]
RANGES = [(0, 2**31), (-5, 5), (7, 7), (-(2**63), 2**63 - 1), (-(2**63), 2**63 - 2)]
WEIGHTS = [0.5, 0.0, 2.0, 1.5]
TAIL_START = 3.6541528853610088


def floats(values):
    return [f"{value!r}" for value in map(float, values)]


def listing(values):
    return "&[" + ", ".join(str(value) for value in values) + "]"


def fields(pairs):
    for name, value in pairs:
        text = f"{name}: {value},"
        print(textwrap.fill(text, 108, initial_indent=" " * 8, subsequent_indent=" " * 12))


def cpython(seed):
    def fresh():
        return random.Random(seed)

    def times(n, draw):
        return [draw() for _ in range(n)]

    yield "seed", seed
    rng = fresh()
    yield "random", listing(floats(times(5, rng.random)))
    rng = fresh()
    yield "words", listing(times(3, lambda: rng.getrandbits(32)) + times(2, lambda: rng.getrandbits(64)))
    rng = fresh()
    yield "below", listing((n, listing(times(3, lambda: rng._randbelow(n)))) for n in BOUNDS).replace("'", "")
    rng = fresh()
    yield "integer", listing((a, b, rng.randint(a, b)) for a, b in RANGES)
    rng = fresh()
    yield "normal", listing(floats([rng.gauss(1.5, 0.25), rng.gauss(-2.0, 3.0), rng.gauss(0.0, 1.0), rng.random()]))
    rng = fresh()
    yield "uniform", listing(floats(times(3, lambda: rng.uniform(-1.0, 3.5))))
    rng = fresh()
    yield "exponential", listing(floats(times(3, lambda: -2.5 * math.log(rng.random()))))
    rng = fresh()
    yield "chosen", listing(times(12, lambda: rng.choices(range(len(WEIGHTS)), WEIGHTS)[0]))
    rng = fresh()
    yield "orders", listing(listing(rng.sample(range(n), n)) for n in (0, 1, 2, 5, 100))
    yield "random_after_orders", floats([rng.random()])[0]
    yield "random_of_child", floats([random.Random(fresh().randint(0, 2**31)).random()])[0]


def numpy_normals(seed):
    state = numpy.random.default_rng(seed).bit_generator.state["state"]
    yield "seed", seed
    yield "state", state["state"]
    yield "increment", state["inc"]
    yield "normals", listing(floats(numpy.random.default_rng(seed).standard_normal(10)))


def numpy_tails(wanted):
    """Normals from beyond the last layer, with the normal that follows."""
    for seed in range(10_000):
        normals = numpy.random.default_rng(seed).standard_normal(40)
        for i in range(39):
            if abs(normals[i]) > TAIL_START:
                yield f"({seed}, {i}, {listing(floats(normals[i:i + 2]))})"
                wanted -= 1
                if wanted == 0:
                    return


def main():
    print("//! What CPython and NumPy draw, written by `tools/random_reference.py` with")
    print(f"//! CPython {platform.python_version()}, NumPy {numpy.__version__} and {' '.join(platform.libc_ver())}.")
    print("\nuse super::{CPython, NumPy};")
    print(f"\npub(super) const WEIGHTS: &[f64] = {listing(WEIGHTS)};")
    print("\npub(super) const CPYTHON: &[CPython] = &[")
    for seed in SEEDS:
        print("    CPython {")
        fields(cpython(seed))
        print("    },")
    print("];\n\npub(super) const NUMPY: &[NumPy] = &[")
    for seed in SEEDS:
        print("    NumPy {")
        fields(numpy_normals(seed))
        print("    },")
    print("];\n\n/// Seed, how many normals come before, and two normals of which the first is from the tail.")
    print("pub(super) const NUMPY_TAILS: &[(u64, usize, &[f64])] = &[")
    for tail in numpy_tails(8):
        print(f"    {tail},")
    print("];")


main()
