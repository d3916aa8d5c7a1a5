"""A run as data frames."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from .binary import find_binary

TABLES = ("instances", "trials", "judgments", "steps", "calls")


@dataclass(frozen=True)
class Frames:
    """The tables of a run (docs/export.md): ``trials`` and ``instances`` stand
    alone, ``judgments``, ``steps`` and ``calls`` join them by ``trial``."""

    instances: Any
    trials: Any
    judgments: Any
    steps: Any
    calls: Any


def load(
    run: str | os.PathLike[str],
    *,
    engine: str = "pandas",
    tables: tuple[str, ...] | list[str] = TABLES,
    binary: str | os.PathLike[str] | None = None,
) -> Frames:
    """A run folder, or a folder of its Parquet files, as data frames.

    Parameters
    ----------
    run: the run folder, which the spatialstale program then exports into a
        temporary folder, also where an export lies in it; or a folder that
        ``export --format parquet`` wrote, or some of its files.
    engine: "pandas", "polars" or "pyarrow".
    tables: those to read; the others are ``None``.
    binary: the spatialstale program; else ``SPATIALSTALE_BIN``, else the PATH.
    """
    read = _reader(engine)
    unknown = sorted(set(tables) - set(TABLES))
    if unknown:
        raise ValueError(f"unknown tables {unknown}; there are {list(TABLES)}")
    folder = pathlib.Path(run)
    if not (folder / "run.db").exists():
        return _frames(folder, tables, read)
    # The run itself counts: an export that lies in its folder may be older.
    place = os.fspath(folder)
    if place.startswith("-"):  # no flag
        place = os.path.join(os.curdir, place)
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary) / "export"
        done = subprocess.run(
            [find_binary(binary), "export", place, "--format", "parquet", "--out", os.fspath(out)],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"spatialstale export ended with {done.returncode}")
        return _frames(out, tables, read)


def _frames(folder: pathlib.Path, tables: tuple[str, ...] | list[str], read: Any) -> Frames:
    there = [t for t in TABLES if (folder / f"{t}.parquet").exists()]
    if not there:
        raise FileNotFoundError(f"{folder} is no run folder and holds no Parquet export of one")
    missing = [t for t in TABLES if t in tables and t not in there]
    if missing:
        raise FileNotFoundError(f"{folder} holds no {missing[0]}.parquet; of a run's tables it holds {there}, choose among them with tables=")
    return Frames(**{t: read(folder / f"{t}.parquet") if t in tables else None for t in TABLES})


def _reader(engine: str) -> Any:
    if engine == "pandas":
        import pandas

        return lambda path: pandas.read_parquet(path, engine="pyarrow")
    if engine == "polars":
        import polars

        # Read whole: a lazy or mapped frame would outlive a temporary file.
        return lambda path: polars.read_parquet(path, memory_map=False)
    if engine == "pyarrow":
        import pyarrow.parquet

        return lambda path: pyarrow.parquet.read_table(path, memory_map=False)
    raise ValueError(f"engine {engine!r}: there are 'pandas', 'polars' and 'pyarrow'")
