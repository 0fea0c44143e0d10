"""Compare two lists of records: PAMS's and ours."""

from __future__ import annotations

import json
import math
from typing import Any, Iterator, Sequence

Record = dict[str, Any]

FLOATS = ("price", "market_price", "fundamental_price", "cash")
"""The keys that may differ by `TOLERANCE` where equality to the last digit is not asked."""

TOLERANCE = 1e-12
CASH_TOLERANCE = 1e-8
"""Absolute, for cash only: it is a sum that may cancel to something near 0."""


def is_exact(text: str) -> bool:
    """Whether a run of this configuration must equal PAMS to the last digit.

    It need not where a market has a volatility or a drift: NumPy's `exp` may differ from the C library's.
    """
    blocks = [block for block in json.loads(text).values() if isinstance(block, dict)]
    return not any(block.get(key) for block in blocks for key in ("fundamentalVolatility", "fundamentalDrift"))


def first_difference(expected: Sequence[Record], actual: Sequence[Record], exact: bool) -> int | None:
    """The index of the first record that differs, None when all are equal. Extra keys in `actual` are ignored."""
    for index, (mine, theirs) in enumerate(zip(expected, actual)):
        if not _equal_records(mine, theirs, exact):
            return index
    return None if len(expected) == len(actual) else min(len(expected), len(actual))


def context(expected: Sequence[Record], actual: Sequence[Record], index: int, before: int = 3) -> Iterator[str]:
    """Lines that show the difference at `index`, after some records that were equal."""
    for position in range(max(0, index - before), index):
        yield f"  {position:7} both   {json.dumps(expected[position], ensure_ascii=False)}"
    for name, records in (("PAMS", expected), ("ours", actual)):
        record = json.dumps(records[index], ensure_ascii=False) if index < len(records) else "(no more records)"
        yield f"  {index:7} {name}   {record}"


def _equal_records(expected: Record, actual: Record, exact: bool) -> bool:
    return all(key in actual and _equal_values(key, value, actual[key], exact) for key, value in expected.items())


def _equal_values(key: str, expected: Any, actual: Any, exact: bool) -> bool:
    if key in FLOATS and expected is not None:
        if isinstance(actual, bool) or not isinstance(actual, (int, float)):
            return False
        if exact:
            return float(expected) == float(actual)
        slack = CASH_TOLERANCE if key == "cash" else 0.0
        return math.isclose(expected, actual, rel_tol=TOLERANCE, abs_tol=slack)
    return type(expected) is type(actual) and expected == actual
