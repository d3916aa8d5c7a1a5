"""Loads a dataset folder with Hugging Face's datasets library and compares
its Parquet tables and pictures with the JSON lines.

    python load_dataset.py DIR
"""

import json
import pathlib
import re
import sys

from datasets import Image as Picture
from datasets import disable_progress_bars, load_dataset
from PIL import Image

POSITIONS = {"pos", "agent", "goal"}


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return [json.loads(line) for line in f]


def typed(value, name=""):
    if name in POSITIONS:
        return {"row": value[0], "col": value[1]}
    if name == "flips":
        return [{"row": int(r), "col": int(c), "to": to} for r, c, to in re.findall(r"\((\d+),(\d+)\)=(.)", value)]
    if isinstance(value, list):
        return [typed(v) for v in value]
    if isinstance(value, dict):
        return {k: typed(v, k) for k, v in value.items()}
    return value


def main(folder):
    disable_progress_bars()
    observations = load_dataset(str(folder), split="test")
    assert isinstance(observations.features["image"], Picture), observations.features
    want = lines(folder / "observations" / "metadata.jsonl")
    assert len(observations) == len(want) > 0
    for row, w in zip(observations, want):
        image, name = row.pop("image"), w.pop("file_name")
        with Image.open(folder / "observations" / name) as png:
            assert image.mode == "RGB" and image.size == png.size and image.convert("RGB").tobytes() == png.convert("RGB").tobytes(), name
        assert row == typed(w), (row, w)

    # As arrays they are colours too, and no indices of a palette.
    arrays = load_dataset(str(folder), split="test").with_format("numpy")
    for row, w in zip(arrays, lines(folder / "observations" / "metadata.jsonl")):
        with Image.open(folder / "observations" / w["file_name"]) as png:
            assert row["image"].shape == (png.height, png.width, 3) and row["image"].tobytes() == png.convert("RGB").tobytes()

    for config in ["instances", "entries"]:
        rows = load_dataset(str(folder), config, split="test")
        want = lines(folder / f"{config}.jsonl")
        assert len(rows) == len(want) > 0
        for row, w in zip(rows, want):
            assert row == typed(w), (row, w)

    pictures = load_dataset("imagefolder", data_dir=str(folder / "observations"), split="train")
    assert len(pictures) == len(observations)
    assert sorted(r["text"] for r in pictures) == sorted(r["text"] for r in observations)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
