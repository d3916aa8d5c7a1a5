#!/usr/bin/env python3
"""An auditor without a model: it compares each entry with the listing.

It reads the text that a model would read. Of a picture it reads nothing: no
entry is covered then.
"""

import json
import re
import sys

CELL = re.compile(r"\((\d+),(\d+)\)=(\S)")
ENTRY = re.compile(r"^(SAFE|DANGER) at \((\d+),(\d+)\)")


def judge(entry, cells):
    said = ENTRY.match(entry["text"])
    if said is None:
        return None
    cell = cells.get((said[2], said[3]), "?")
    if cell == "?":
        return {"memory_id": entry["memory_id"], "verdict": "not_covered", "reasoning": "the cell is not seen"}
    holds = (cell == "H") == (said[1] == "DANGER")
    return {"memory_id": entry["memory_id"], "verdict": "valid" if holds else "stale", "confidence": 1, "reasoning": f"the cell is {cell}"}


for line in sys.stdin:
    request = json.loads(line)
    cells = {(row, col): cell for row, col, cell in CELL.findall(request["observation"].get("text", ""))}
    judgments = [j for j in (judge(e, cells) for e in request["entries"]) if j]
    print(json.dumps({"id": request["id"], "method": "diff 1", "cost": 0, "judgments": judgments}), flush=True)
