#!/usr/bin/env python3
"""A memory without a model: it writes down what it sees, cell by cell.

An entry that the listing contradicts is written anew, one that it confirms is
left, and one about a cell that is not seen is marked as old. It reads the text
that a model would read; of a picture it reads nothing, and the memory stays.
"""

import json
import re
import sys

CELL = re.compile(r"\((\d+),(\d+)\)=(\S)")
ENTRY = re.compile(r"^(SAFE|DANGER) at \((\d+),(\d+)\)")
OLD = " (not seen since)"
WORDS = {"H": "DANGER at ({0},{1}): Hole - dangerous, do not step"}


def remember(entry, cells):
    said = ENTRY.match(entry["text"])
    if said is None:
        return entry
    cell = cells.get((said[2], said[3]), "?")
    text = entry["text"].removesuffix(OLD)
    if cell == "?":
        text += OLD
    elif (cell == "H") != (said[1] == "DANGER"):
        text = WORDS.get(cell, "SAFE at ({0},{1}): Frozen ice - safe to walk").format(said[2], said[3])
    return {"memory_id": entry["memory_id"], "text": text}


for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "method": "notebook 1"}
    cells = {(row, col): cell for row, col, cell in CELL.findall(request["observation"].get("text", ""))}
    if cells:
        answer["entries"] = [remember(e, cells) for e in request["entries"]]
    print(json.dumps(answer), flush=True)
