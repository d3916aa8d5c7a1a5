"""Compares a Parquet export with the JSONL export of the same run, row by row,
as pyarrow and pandas, Polars and DuckDB read it, and has them read the JSON
lines, too.

    python compare_parquet.py JSONL_DIR PARQUET_DIR
"""

import json
import math
import pathlib
import re
import sys

import duckdb
import pandas
import polars
import pyarrow.json
import pyarrow.parquet

TABLES = ["instances", "trials", "judgments", "steps", "calls"]
POSITIONS = {"pos", "next"}
FLIPS = {"event", "dropped", "flips"}


def as_typed(value, name=""):
    """A value of the JSON lines as the Parquet files have it."""
    if isinstance(value, dict):
        return {k: as_typed(v, k) for k, v in value.items()}
    if name in POSITIONS:
        return {"row": value[0], "col": value[1]}
    if name in FLIPS:
        return [{"row": int(r), "col": int(c), "to": to} for r, c, to in re.findall(r"\((\d+),(\d+)\)=(.)", value)]
    if isinstance(value, list):
        return [as_typed(v) for v in value]
    return value


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        for line in f:
            yield as_typed(json.loads(line))


def same(a, b):
    """Whether two values are equal, numbers of one kind."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return b is not None and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    return type(a) is type(b) and a == b


def with_pandas(path):
    """pandas, without its habit of turning a missing number into NaN."""
    frame = pandas.read_parquet(path, dtype_backend="pyarrow")
    for row in frame.to_dict("records"):
        yield {k: None if v is pandas.NA or isinstance(v, float) and math.isnan(v) else plain(v) for k, v in row.items()}


def plain(v):
    if hasattr(v, "tolist"):
        v = v.tolist()
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return v


def with_duckdb(path):
    result = duckdb.sql(f"SELECT * FROM read_parquet('{path}')")
    names = result.columns
    for row in result.fetchall():
        yield dict(zip(names, row))


READERS = {
    "pyarrow": lambda path: pyarrow.parquet.read_table(path).to_pylist(),
    "pandas": with_pandas,
    "polars": lambda path: polars.read_parquet(path).to_dicts(),
    "duckdb": with_duckdb,
}

# What the documentation says of the JSON lines.
JSON_READERS = {
    "pyarrow": lambda path: pyarrow.json.read_json(path).to_pylist(),
    "pandas": lambda path: pandas.read_json(path, lines=True).to_dict("records"),
    "polars": lambda path: polars.read_ndjson(path, infer_schema_length=None).to_dicts(),
    "duckdb": lambda path: duckdb.sql(f"SELECT * FROM '{path}'").df().to_dict("records"),
}


def main(jsonl, parquet):
    wrong = 0
    for table in TABLES:
        want = list(lines(jsonl / f"{table}.jsonl"))
        for reader, read in READERS.items():
            got = list(read(parquet / f"{table}.parquet"))
            if len(got) != len(want):
                wrong += 1
                print(f"{table} by {reader}: {len(got)} rows, want {len(want)}")
            for i, (w, g) in enumerate(zip(want, got)):
                if not same(w, g):
                    wrong += 1
                    print(f"{table} by {reader}, row {i}:\n  want {w}\n  got  {g}")
                    break
        for reader, read in JSON_READERS.items():
            got = list(read(jsonl / f"{table}.jsonl"))
            if len(got) != len(want):
                wrong += 1
                print(f"{table}.jsonl by {reader}: {len(got)} rows, want {len(want)}")
            for name in FLIPS & set(got[0]):
                if [as_typed(g[name], name) for g in got] != [w[name] for w in want]:
                    wrong += 1
                    print(f"{table}.jsonl by {reader}: {name} differs")
        print(f"{table}: {len(want)} rows, read by {', '.join(READERS)}")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 0)
