"""Studies in which a Python function audits, keeps the memory or walks."""

import re

import pytest

import spatialstale


def by_grid(entries, observation):
    """A perfect auditor of a lake that it is sent cell by cell."""
    verdicts = {}
    for entry in entries:
        claim, row, col = re.match(r"(\w+) at \((\d+),(\d+)\)", entry["text"]).groups()
        hole = observation["grid"][int(row)][int(col)] == "H"
        verdicts[entry["memory_id"]] = "stale" if hole == (claim == "SAFE") else "valid"
    return verdicts


def zigzag(request):
    """Right, down, right, down: what it did last is its state."""
    last = request["state"] or "DOWN"
    action = "RIGHT" if last == "DOWN" else "DOWN"
    return action, action


def test_auditor_and_agent():
    frames = spatialstale.run(auditor=by_grid, agent=zigzag, grid=True, settings=["seeds=2", "navigation.episodes=1"])
    trials = frames.trials
    mine = trials[(trials.strategy == "mine") & (trials.task == "detect")]
    assert set(mine.model) == {"ref/reader", "agent/mine"} and set(mine.modality) == {"text", "vision"}
    judgments = frames.judgments[frames.judgments.trial.isin(mine.trial)]
    assert ((judgments.verdict == "stale") == judgments.truth).all() and judgments.truth.any()
    walked = frames.steps[frames.steps.trial.isin(trials[trials.model == "agent/mine"].trial)]
    assert set(walked.action) == {"RIGHT", "DOWN"}
    assert (walked[walked.t == 1].action == "RIGHT").all() and (walked[walked.t == 2].action == "DOWN").all()
    assert not ((trials.model == "agent/mine") & (trials.strategy == "omcd")).any()


def test_judgments_and_pictures(tmp_path):
    seen = []

    def auditor(entries, observation):
        seen.append(observation)
        return [{"memory_id": entries[0]["memory_id"], "verdict": "valid", "confidence": 0.25, "reasoning": "why not"}]

    frames = spatialstale.run(
        auditor=auditor, name="first only", out=tmp_path / "run", settings=["seeds=1", "regimes=L1", "tasks=detect", "detection.modalities=vision"]
    )
    assert (tmp_path / "run" / "run.db").exists()
    assert all(o["png"].startswith(b"\x89PNG") and "grid" not in o and "text" not in o for o in seen) and seen
    mine = frames.judgments[frames.judgments.trial.isin(frames.trials[frames.trials.strategy == "first only"].trial)]
    assert list(mine.verdict)[0] == "valid" and set(list(mine.verdict)[1:]) == {"unanswered"}
    assert list(mine.confidence)[0] == 0.25 and list(mine.reason)[0] == "why not"


def test_memory():
    steps = []

    def notebook(request):
        """What the grid shows now; after the third step it writes nothing more."""
        told = request["state"] or 0
        steps.append((request["step"], told, len(request["entries"])))
        if told == 3:
            return None, told
        words = {"H": "DANGER", "F": "SAFE", "S": "SAFE", "G": "SAFE"}
        seen = enumerate(request["observation"]["grid"])
        return {f"cell_{r}_{c}": f"{words[cell]} at ({r},{c}): seen" for r, row in seen for c, cell in enumerate(row)}, told + 1

    frames = spatialstale.run(
        memory=notebook, models="ref/believer", grid=True, settings=["seeds=3", "regimes=[L2]", "tasks=navigate", "navigation.episodes=1"]
    )
    trials = frames.trials
    by_strategy = trials.groupby("strategy")
    assert (by_strategy.outcome.value_counts().loc["mine"].index == "success").all()  # a believer with a true memory
    assert "death" in by_strategy.outcome.value_counts().loc["no-filter"].index
    mine = frames.steps[frames.steps.trial.isin(trials[trials.strategy == "mine"].trial)]
    assert set(mine.memory) == {"filtered"} and (mine.removed.map(len) > 0).all()
    assert all(told == min(step - 1, 3) and count == 64 for step, told, count in steps)


def test_a_function_that_fails():
    def auditor(entries, observation):
        raise KeyError("no such cell")

    with pytest.raises(RuntimeError, match="KeyError: 'no such cell'"):
        spatialstale.run(auditor=auditor, settings=["seeds=1", "tasks=detect"])
    with pytest.raises(ValueError, match="give an auditor, an agent or a memory"):
        spatialstale.run()
    with pytest.raises(RuntimeError, match="unknown study"):
        spatialstale.run(auditor=auditor, study="nothing")
