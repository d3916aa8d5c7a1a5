"""Runs as data frames, against the JSON lines."""

import json
import shutil
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


def test_the_run_counts(run, tmp_path):
    """An export that lies in a run folder may be older than the run."""
    folder = tmp_path / "run"
    shutil.copytree(run / "run", folder)
    frame = spatialstale.load(run / "parquet", engine="polars", tables=["trials"]).trials
    frame.head(1).write_parquet(folder / "trials.parquet")
    assert len(spatialstale.load(folder, tables=["trials"]).trials) == len(frame) > 1


def test_a_name_that_begins_with_a_dash(run, tmp_path, monkeypatch):
    shutil.copytree(run / "run", tmp_path / "-run")
    monkeypatch.chdir(tmp_path)
    assert len(spatialstale.load("-run", tables=["trials"]).trials) > 0


def test_some_files(run, tmp_path):
    shutil.copy(run / "parquet" / "steps.parquet", tmp_path)
    assert len(spatialstale.load(tmp_path, tables=["steps"]).steps) > 0
    with pytest.raises(FileNotFoundError, match=r"holds no instances.parquet; of a run's tables it holds \['steps'\]"):
        spatialstale.load(tmp_path)


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
