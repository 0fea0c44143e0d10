"""Reads the run folders that `pams run --out` writes.

    from pams_results import read_run

    run = read_run("results/CI2002-42")
    run.run["summary"]["orders"]     # what run.json says
    run.steps                        # a table as a data frame, read when it is asked for
    run.table("orders", columns=["time", "price"])

Tables are data frames of polars or of pandas (with pyarrow), whichever is installed; if both are,
polars. `read_run(path, library="pandas")` chooses. One file, no other dependency: copy it.
"""

import json
from pathlib import Path

__all__ = ["Run", "read_run"]

# The texts of these columns repeat; as categories they take little memory.
_CATEGORIES = ("market", "agent", "buy_agent", "sell_agent", "session", "side", "kind", "event")


def read_run(path, library=None):
    """The run folder at `path`. `library` is "polars" or "pandas"; by default what is installed."""
    return Run(path, library)


class Run:
    """A run folder. Tables are attributes (`run.steps`), read once, when they are asked for."""

    def __init__(self, path, library=None):
        self.path = Path(path)
        try:
            self.run = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"{self.path} is no run folder: it has no run.json; `pams run --out` makes one"
            ) from None
        if self.run["format"] != 1:
            raise ValueError(f"{self.path} has the format {self.run['format']}; this module reads 1")
        if library not in (None, "polars", "pandas"):
            raise ValueError(f"there is no library {library!r}; there are 'polars' and 'pandas'")
        self.library = library or _installed()
        self._tables = {}

    @property
    def config(self):
        """The config as it was understood."""
        return json.loads((self.path / "config.json").read_text(encoding="utf-8"))

    @property
    def tables(self):
        """The names of the tables."""
        return sorted(self.run["tables"]["rows"])

    def table(self, name, columns=None):
        """A table, or some of its columns, as a data frame. Each call reads the file."""
        if name not in self.run["tables"]["rows"]:
            raise KeyError(f"there is no table {name!r}; there are {', '.join(self.tables)}")
        form = self.run["tables"]["format"]
        read = {"polars": _polars, "pandas": _pandas}[self.library]
        return read(self.path / f"{name}.{form}", form, columns)

    def lazy(self, name):
        """A table as a lazy frame of polars, which reads only what a query needs."""
        import polars

        form = self.run["tables"]["format"]
        scan = {"parquet": polars.scan_parquet, "csv": _scan_csv, "jsonl": polars.scan_ndjson}
        return scan[form](self.path / f"{name}.{form}")

    def __getattr__(self, name):
        # Only called for what is no attribute yet.
        if name.startswith("_") or "run" not in self.__dict__ or name not in self.tables:
            raise AttributeError(f"{type(self).__name__} has no attribute or table {name!r}")
        if name not in self._tables:
            self._tables[name] = self.table(name)
        return self._tables[name]

    def __dir__(self):
        return [*super().__dir__(), *self.tables]

    def __repr__(self):
        rows = self.run["tables"]["rows"]
        sizes = ", ".join(f"{name} {rows[name]}" for name in self.tables)
        return f"<Run {self.path}: seed {self.run['seed']}; rows: {sizes}>"


def _installed():
    for library in ("polars", "pandas"):
        try:
            __import__(library)
        except ImportError:
            continue
        return library
    raise ImportError("reading tables needs polars, or pandas with pyarrow: pip install polars")


# For CSV: names look like numbers in some runs, and a table may have no rows to guess from.
_FLOAT = {
    "market_price", "fundamental_price", "best_bid", "best_ask", "mid_price",
    "last_executed_price", "executed_value", "price", "cash",
}


def _polars(path, form, columns):
    import polars

    if form == "parquet":
        frame = polars.read_parquet(path, columns=columns)
    elif form == "csv":
        scan = _scan_csv(path)
        frame = (scan if columns is None else scan.select(columns)).collect()
    else:
        text = path.stat().st_size > 0
        frame = polars.read_ndjson(path) if text else polars.DataFrame()
        frame = frame if columns is None or not text else frame.select(columns)
    present = [name for name in _CATEGORIES if name in frame.columns]
    return frame.with_columns(polars.col(present).cast(polars.Categorical)) if present else frame


def _scan_csv(path):
    import polars

    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
    kinds = {name: _kind(name, polars.String, polars.Float64, polars.Int64) for name in names}
    texts = [name for name in names if name in _CATEGORIES]
    # Only numbers can be missing; a text that is empty is one.
    return polars.scan_csv(path, schema=kinds).with_columns(polars.col(texts).fill_null(""))


def _pandas(path, form, columns):
    import pandas

    if form == "parquet":
        frame = pandas.read_parquet(path, columns=columns)
    elif form == "csv":
        with open(path, encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split(",")
        kinds = {name: _kind(name, "str", "float64", "Int64") for name in names}
        # Only numbers can be missing; an agent may be called NA.
        missing = {name: [""] for name in names if name not in _CATEGORIES}
        frame = pandas.read_csv(
            path, dtype=kinds, usecols=columns, float_precision="round_trip",
            keep_default_na=False, na_values=missing,
        )
    else:
        frame = pandas.read_json(path, lines=True, dtype=False, precise_float=True)
        frame = frame if columns is None or frame.empty else frame[columns]
    present = [name for name in _CATEGORIES if name in frame.columns]
    return frame.astype({name: "category" for name in present})


def _kind(name, text, real, whole):
    return text if name in _CATEGORIES else real if name in _FLOAT else whole
