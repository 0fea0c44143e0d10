"""What a set of random configurations exercises: how many of them had each effect, and how many PAMS refused."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from typing import TYPE_CHECKING, Iterable

import reference

if TYPE_CHECKING:
    from random_config import Config


def _run(work: tuple[str, int]) -> tuple[list[str], int, str | None]:
    result = reference.run(*work)
    effects = [name for name, count in result.effects.items() if count]
    return effects, len(result.records), result.records[-1]["message"] if result.failed else None


def of_configs(configs: Iterable[Config], seed: int, jobs: int = 2) -> str:
    """Run them all under PAMS and report, one line per effect."""
    configs = list(configs)
    effects: Counter[str] = Counter()
    errors: list[str] = []
    records = 0
    with multiprocessing.Pool(jobs) as pool:
        work = [(config.text, seed) for config in configs]
        for config, (names, count, error) in zip(configs, pool.imap(_run, work, chunksize=4)):
            effects.update(names)
            records += count
            if error is not None:
                errors.append(f"  {config.name}: {error}")
    return report(effects, errors, len(configs), records, sum(config.exact for config in configs))


def report(effects: Counter[str], errors: list[str], runs: int, records: int, exact: int) -> str:
    """The summary as text."""
    lines = [f"{runs} configurations, {exact} exact, {records} records, {len(errors)} ended by an error; of these had"]
    lines += [f"  {count:5}  {name}" for name, count in sorted(effects.items())]
    return "\n".join([*lines, *errors])
