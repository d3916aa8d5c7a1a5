"""Opens Inspect logs in Inspect's own viewer, in a headless Chromium.

    python view_inspect.py LOGS_DIR JSONL_DIR [SCREENSHOTS_DIR]

Every log is in the list; of a detection from pictures and of an episode the
texts, scores, steps and pictures are on the page; of a failed trial its error
is; nothing fails on the way.
"""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from inspect_ai.log import list_eval_logs, read_eval_log
from playwright.sync_api import sync_playwright


def wait_for(url, server):
    for _ in range(120):
        assert server.poll() is None, "the viewer's server ended"
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            time.sleep(0.25)
    raise AssertionError("the viewer's server does not answer")


def look(base, logs, trials, shots):
    chromium = shutil.which("chromium")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-quic"])
        page = browser.new_page(viewport={"width": 1500, "height": 1200})
        page.set_default_timeout(30_000)
        failures = []
        page.on("pageerror", lambda e: failures.append(str(e)))
        # The viewer asks for an optional file of its own, flow, that no folder need have.
        page.on("response", lambda r: r.status >= 400 and "/api/flow" not in r.url and failures.append(f"{r.status} {r.url}"))
        page.on("console", lambda m: m.type == "error" and "404" not in m.text and failures.append(m.text))

        def shot(name):
            if shots:
                shots.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=shots / f"inspect-{name}.png")

        page.goto(base)
        for model in {log.eval.model for log in logs}:  # they appear as the headers are read
            page.get_by_text(model).first.wait_for()
        assert page.inner_text("body").count("spatialstale-") == len(logs)
        shot("list")

        pictures = 0
        for task, modality in (("detect", "vision"), ("navigate", "text")):
            log = next(x for x in logs if x.eval.task == f"spatialstale-{task}" and x.status == "success")
            trial = next(t for t in trials if [t[k] for k in ("task", "model", "modality", "regime", "strategy")] == [task, log.eval.model, modality, "L3", "omcd"])
            sample = next(s for s in log.samples if s.metadata["trial"] == trial["trial"])
            at = f"{base}#/logs/{pathlib.Path(log.location).name}/samples/sample/{sample.id}/{sample.epoch}"
            page.goto(f"{at}/messages")
            page.get_by_text("An agent walks on a frozen lake").first.wait_for()
            if modality == "vision":
                page.get_by_text("more...").first.click()
                page.locator("img").first.wait_for()
                page.wait_for_function("[...document.images].some(i => i.naturalWidth > 0)")
                page.locator("img").first.scroll_into_view_if_needed()
                pictures = page.evaluate("[...document.images].filter(i => i.naturalWidth > 0).length")
                assert pictures > 0 and page.evaluate("[...document.images].every(i => !i.complete || i.naturalWidth > 0)")
            shot(f"{task}-messages")
            page.goto(f"{at}/scoring")
            page.get_by_text("EXPLANATION", exact=False).first.wait_for()
            shown = page.inner_text("body")
            for name, score in sample.scores.items():
                assert name in shown and (not score.explanation or score.explanation in shown), (name, shown)
            shot(f"{task}-scoring")
            page.goto(f"{at}/transcript")
            page.get_by_text("window0").first.wait_for()
            shown = page.inner_text("body")
            if task == "navigate":
                assert f"step{trial['steps']}" in shown, shown
            shot(f"{task}-transcript")

        failed = [(log, sample) for log in logs for sample in log.samples if sample.error]
        assert {log.eval.task for log, _ in failed} == {"spatialstale-detect", "spatialstale-navigate"}, "a test of errors needs some"
        for log, sample in (failed[0], failed[-1]):
            name = pathlib.Path(log.location).name
            page.goto(f"{base}#/logs/{name}/samples/sample/{sample.id}/{sample.epoch}/error")
            page.get_by_text(sample.error.message.split(":")[0], exact=False).first.wait_for()
            shown = " ".join(page.inner_text("body").split())
            assert " ".join(sample.error.message.split()) in shown, (sample.error.message, shown)
            shot(log.eval.task.removeprefix("spatialstale-") + "-error")
        browser.close()
        assert not failures, failures
        return pictures


def main(folder, lines, shots=None):
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder))]
    trials = [json.loads(line) for line in open(pathlib.Path(lines) / "trials.jsonl", encoding="utf-8")]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(folder), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/", server)
        pictures = look(f"http://127.0.0.1:{port}/", logs, trials, shots and pathlib.Path(shots))
    finally:
        server.terminate()
        server.wait()
    print(f"{len(logs)} logs in the viewer, {pictures} pictures on a page")


if __name__ == "__main__":
    main(*sys.argv[1:])
