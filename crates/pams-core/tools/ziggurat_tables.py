"""Writes src/random/ziggurat_tables.rs: python3 tools/ziggurat_tables.py > src/random/ziggurat_tables.rs

Both tables follow the recurrence of Marsaglia and Tsang (2000): layers of equal area v under exp(-x^2/2), from the
base strip at r inwards, x' = sqrt(-2 ln(v / x + exp(-x^2/2))), in double precision. They differ in v and in the order
of the layers. Where a published table was computed with an exp that rounds the other way, `NUDGES` names the entry;
the tests compare every drawn bit with NumPy and with rand_distr.
"""

import math

LAYERS = 256
R = 3.6541528853610088
MANTISSA = 2.0**52

# Entries of the published density tables that lie one unit in the last place above or below the value computed here.
NUMPY_NUDGES = {38: math.inf}
ZIGNOR_NUDGES = {3: math.inf, 94: -math.inf}


def density(x):
    return math.exp(-0.5 * x * x)


def nudged(value, index, nudges):
    return math.nextafter(value, nudges[index]) if index in nudges else value


def numpy_tables(area=0.004928673233974652):
    """Layers from the base (0) to the widest (255); limits and scales in units of 2^-52."""
    limit, scale, height = [0] * LAYERS, [0.0] * LAYERS, [1.0] * LAYERS
    outer = R
    scale[255], height[255] = outer / MANTISSA, density(outer)
    limit[0], scale[0] = round(outer * height[255] / area * MANTISSA), area / height[255] / MANTISSA
    for i in range(254, 0, -1):
        x = math.sqrt(-2.0 * math.log(area / outer + height[i + 1]))
        limit[i + 1] = round(x / outer * MANTISSA)
        scale[i], height[i] = x / MANTISSA, nudged(density(x), i, NUMPY_NUDGES)
        outer = x
    return limit, scale, height


def zignor_tables(area=0.00492867323399):
    """Edges from the base (0, the strip's width as a rectangle) to the top (256, nothing)."""
    edge = [area / density(R), R]
    while len(edge) < LAYERS:
        x = edge[-1]
        edge.append(math.sqrt(-2.0 * math.log(area / x + density(x))))
    edge.append(0.0)
    return edge, [nudged(density(x), i, ZIGNOR_NUDGES) for i, x in enumerate(edge)]


def table(doc, name, kind, values):
    print(f"\n/// {doc}\n#[rustfmt::skip]\npub(super) static {name}: [{kind}; {len(values)}] = [")
    for i in range(0, len(values), 4):
        print("    " + " ".join(f"{value!r}," for value in values[i : i + 4]))
    print("];")


def main():
    limit, scale, height = numpy_tables()
    edge, top = zignor_tables()
    print("//! Tables of the two ziggurats, written by `tools/ziggurat_tables.py`.")
    print("\n/// Where the base strip ends and the tail of both ziggurats begins.")
    print(f"pub(super) const TAIL_START: f64 = {R!r};")
    table("NumPy's: a 52-bit draw below this lies inside the layer for certain.", "NUMPY_LIMIT", "u64", limit)
    table("NumPy's: value of one unit of the 52-bit draw.", "NUMPY_SCALE", "f64", scale)
    table("NumPy's: density at the outer edge of the layer.", "NUMPY_DENSITY", "f64", height)
    table("Doornik's ZIGNOR, as `rand_distr` has it: outer edges of the layers.", "ZIGNOR_EDGE", "f64", edge)
    table("Doornik's ZIGNOR: density at the edges (that of the base is never read).", "ZIGNOR_DENSITY", "f64", top)


main()
