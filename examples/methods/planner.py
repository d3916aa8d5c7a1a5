#!/usr/bin/env python3
"""An agent without a model: the shortest way by what is remembered.

It walks on cells that an entry in view calls SAFE, never on one called DANGER,
and on cells without an entry only where there is no other way. It looks at
nothing else. With stale entries in view it walks into holes; with a memory that
is true, or rid of what is not, it gets through. So it parts "knew that it was
stale" from "could plan".
"""

import heapq
import json
import re
import sys

MOVES = {"DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0), "LEFT": (0, -1)}
ENTRY = re.compile(r"^(SAFE|DANGER) at \((\d+),(\d+)\)")


def first_move(position, goal, size, claims):
    unknown = size[0] * size[1]  # dearer than any way over safe cells
    costs, queue = {position: 0}, [(0, position, None)]
    while queue:
        cost, cell, first = heapq.heappop(queue)
        if cell == goal:
            return first
        for move, (down, right) in MOVES.items():
            beside = (cell[0] + down, cell[1] + right)
            claim = claims.get(beside)
            if not (0 <= beside[0] < size[0] and 0 <= beside[1] < size[1]) or claim == "DANGER":
                continue
            further = cost + (1 if claim == "SAFE" else unknown)
            if further < costs.get(beside, further + 1):
                costs[beside] = further
                heapq.heappush(queue, (further, beside, first or move))
    return "DOWN" if position[0] < goal[0] else "RIGHT"  # the memory leaves no way


for line in sys.stdin:
    request = json.loads(line)
    entries = (ENTRY.match(e["text"]) for e in request["memory"]["entries"])
    claims = {(int(e[2]), int(e[3])): e[1] for e in entries if e}
    size = (request["rows"], request["cols"])
    action = first_move(tuple(request["position"]), tuple(request["goal"]), size, claims)
    print(json.dumps({"id": request["id"], "method": "planner 1", "action": action}), flush=True)
