"""Runs as data frames, against the JSON lines."""

import json
import subprocess

import pytest

import spatialstale


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    binary = spatialstale.find_binary()
    subprocess.run([binary, "run", "quick", "--seeds", "1", "--out", folder / "run"], check=True, capture_output=True)
    subprocess.run([binary, "export", folder / "run", "--out", folder / "lines"], check=True, capture_output=True)
    subprocess.run([binary, "export", folder / "run", "--format", "parquet", "--out", folder / "parquet"], check=True, capture_output=True)
    return folder


def rows(frame):
    return frame.num_rows if hasattr(frame, "num_rows") else len(frame)


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("source", ["run", "parquet"])
def test_load(run, engine, source):
    frames = spatialstale.load(run / source, engine=engine)
    for name in ("instances", "trials", "judgments", "steps", "calls"):
        frame = getattr(frames, name)
        lines = [json.loads(line) for line in open(run / "lines" / f"{name}.jsonl", encoding="utf-8")]
        assert rows(frame) == len(lines) > 0
        columns = frame.column_names if engine == "pyarrow" else list(frame.columns)
        assert columns == list(lines[0])
    verdicts = frames.judgments["verdict"].to_pylist() if engine == "pyarrow" else list(frames.judgments["verdict"])
    assert verdicts == [json.loads(line)["verdict"] for line in open(run / "lines" / "judgments.jsonl", encoding="utf-8")]


def test_some_tables(run):
    frames = spatialstale.load(run / "parquet", tables=["trials"])
    assert frames.steps is None and len(frames.trials) > 0


def test_mistakes(run, tmp_path):
    with pytest.raises(FileNotFoundError, match="no run folder"):
        spatialstale.load(tmp_path)
    with pytest.raises(ValueError, match="unknown tables"):
        spatialstale.load(run / "run", tables=["trial"])
    with pytest.raises(ValueError, match="engine"):
        spatialstale.load(run / "run", engine="dask")
    (tmp_path / "run.db").write_text("no database")
    with pytest.raises(RuntimeError, match="run.db"):
        spatialstale.load(tmp_path)
