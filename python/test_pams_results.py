"""Checks run folders of one run in several formats: python test_pams_results.py RUN_DIR…

Needs polars, pandas and pyarrow.
"""

import math
import sys
from pathlib import Path

import pandas
import polars

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pams_results import read_run


def values(frame, name):
    """A column as a list, with None for what is missing."""
    if isinstance(frame, polars.DataFrame):
        return frame[name].to_list()
    column = frame[name].astype(object)
    return [None if value is None or value is pandas.NA or value != value else value for value in column]


def check(run):
    """What the tables say is what run.json says."""
    for name, rows in run.run["tables"]["rows"].items():
        assert len(run.table(name)) == rows, (name, len(run.table(name)), rows)
    names = run.run["markets"]
    assert len(names) > 1
    for market in run.run["summary"]["markets"]:
        steps = list(zip(values(run.steps, "market"), values(run.steps, "executed_volume")))
        assert sum(volume for name, volume in steps if name == market["name"]) == market["executed_volume"]
        prices = list(zip(values(run.executions, "market"), values(run.executions, "price")))
        last = [price for name, price in prices if name == market["name"]]
        assert (last[-1] if last else None) == market["last_executed_price"]
    assert [names[number] for number in values(run.orders, "market_id")] == values(run.orders, "market")
    agents = dict(zip(values(run.accounts, "agent_id"), values(run.accounts, "agent")))
    assert [agents[number] for number in values(run.orders, "agent_id")] == values(run.orders, "agent")
    assert set(values(run.orders, "side")) == {"buy", "sell"}
    assert all(math.isfinite(cash) for cash in values(run.accounts, "cash"))
    assert values(run.table("orders", columns=["time"]), "time") == values(run.orders, "time")
    assert set(values(run.depth, "level")) == {0, 1}
    config = run.config
    assert set(config["simulation"]["markets"]) <= set(config)


def main():
    paths = sys.argv[1:]
    runs = [read_run(path, library) for path in paths for library in ("polars", "pandas")]
    for run in runs:
        check(run)
    # Every format and library gives the same values, to the last digit.
    first = runs[0]
    for run in runs[1:]:
        for name in first.tables:
            if first.run["tables"]["rows"][name] == 0:
                continue
            for column in first.table(name).columns:
                expected, found = values(first.table(name), column), values(run.table(name), column)
                assert expected == found, (run.path, run.library, name, column)
    # The one line, without this module.
    steps = f"{paths[0]}/steps.parquet"
    assert len(polars.read_parquet(steps)) == len(pandas.read_parquet(steps)) == len(first.steps)
    lazy = first.lazy("orders").filter(polars.col("side") == "buy").collect()
    assert len(lazy) == values(first.orders, "side").count("buy")
    try:
        read_run(Path(paths[0]).parent)
        raise SystemExit("a folder that is no run was read")
    except FileNotFoundError as error:
        assert "is no run folder" in str(error)
    print(f"{len(paths)} runs are read as they were written")


main()
