"""Reads Inspect logs with Inspect's own library and compares them with the JSON
lines of the same run.

    python read_inspect.py LOGS_DIR JSONL_DIR
"""

import json
import math
import pathlib
import sys

from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries, read_eval_log_samples


def lines(folder, name):
    with open(folder / f"{name}.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def main(logs, folder):
    trials = {t["trial"]: t for t in lines(folder, "trials")}
    calls = {}
    for c in lines(folder, "calls"):
        calls.setdefault(c["trial"], []).append(c)
    seen = set()
    listed = list_eval_logs(str(logs))
    assert len(listed) == len(list(logs.glob("*.eval"))) > 0, listed
    for info in listed:
        header = read_eval_log(info, header_only=True)
        whole = read_eval_log(info)
        assert whole.eval.model == header.eval.model
        task = header.eval.task.removeprefix("spatialstale-")
        mine = [t for t in trials.values() if (t["task"], t["model"]) == (task, header.eval.model)]
        failed = [t for t in mine if t["outcome"] == "error"]
        assert header.status == ("cancelled" if len(mine) < header.results.total_samples else "error" if failed else "success")
        assert (header.error is not None) == (header.status == "error")
        summaries = read_eval_log_sample_summaries(info)
        samples = list(read_eval_log_samples(info, all_samples_required=False))
        assert len(summaries) == len(samples) == len(whole.samples) == len(mine), (len(summaries), len(mine))
        assert header.results.completed_samples == sum(t["outcome"] != "error" for t in mine)
        for sample in samples:
            t = trials[sample.metadata["trial"]]
            seen.add(t["trial"])
            assert sample.epoch == max(1, t["episode"])
            scores = {k: v.value for k, v in (sample.scores or {}).items()}
            if t["outcome"] == "error":
                assert sample.error and not scores
                assert sample.error.message == sample.error.traceback_ansi == t["error"]
            elif task == "detect":
                assert scores == {k: t[k] for k in ("f1", "precision", "recall", "unanswered") if t[k] is not None}, (scores, t)
            else:
                assert (scores["outcome"], scores["reward"], scores["steps"]) == (t["outcome"], t["reward"], t["steps"])
            models = [e for e in sample.events if e.event == "model"]
            replies = [c["reply"] for c in calls.get(t["trial"], [])]
            assert [e.output.completion for e in models] == replies
            assert [m.text for m in sample.messages if m.role == "assistant"] == replies
            if t["modality"] == "vision" and models:
                shown = [c for m in sample.messages if isinstance(m.content, list) for c in m.content if c.type == "image"]
                assert shown and all(c.image.startswith("attachment://") or c.image.startswith("data:image/png") for c in shown)
                assert sample.attachments and all(v.startswith("data:image/png;base64,") for v in sample.attachments.values())
        for score in header.results.scores:
            values = [s.scores[score.name].value for s in samples if score.name in (s.scores or {})]
            assert math.isclose(score.metrics["mean"].value, sum(values) / len(values), rel_tol=1e-12), score
            assert score.scored_samples == len(values)
    assert seen == set(trials), f"{len(seen)} of {len(trials)} trials"
    table = samples_df(str(logs), quiet=True)
    assert len(table) == len(trials), f"{len(table)} rows of {len(trials)} trials"
    assert evals_df(str(logs), quiet=True)["run_id"].nunique() == 1
    print(f"{len(listed)} logs, {len(seen)} samples")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
