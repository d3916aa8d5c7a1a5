"""Opens a report in headless Chromium: no error, no request, at most ten screens
before anything is unfolded, replays that say what the run's records say, and no
page wider than a phone.

    python browse.py REPORT.html JSONL_DIR [SCREENSHOTS_DIR]
    python browse.py REPORT.html

Without the records no replay is played.
"""

import json
import re
import pathlib
import re
import shutil
import sys

from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]
MOST = 6  # replays of each task that are played
SCREENS = 10
wrong = []


def check(good, *words):
    if not good:
        wrong.append(" ".join(map(str, words)))


def lines(folder, name):
    with open(folder / f"{name}.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def shown(page):
    """What the player shows, in one question: each takes its time."""
    return page.evaluate(
        """() => {
          const all = (which, of) => [...document.querySelectorAll(which)].map(of);
          return {
            frame: Number(document.querySelector('.player').dataset.frame), now: document.querySelector('.now').textContent,
            agent: all('.agent:not(.ghost)', n => n.dataset.agent)[0], cells: all('[data-cell]', n => n.dataset.type).join(''),
            gone: all('.gone', n => n.dataset.entry), side: document.querySelector('.side').textContent,
          };
        }"""
    )


def frame(page, trial, n, agent, rows):
    where, now = (trial["trial"], "frame", n), shown(page)
    check(now["frame"] == n, *where, "is not shown")
    check(now["agent"] == f"{agent[0]},{agent[1]}", *where, "has the agent at", now["agent"], "not", agent)
    check(now["cells"] == "".join(map("".join, rows)), *where, "shows", now["cells"])
    return now


def walk(page, trial, steps, instance):
    """Steps through an episode's replay, and back."""
    rows = [list(r) for r in (instance["rows"] if instance["events"] else instance["rows_after"])]
    entries = [m["id"] for m in instance["memory"]]
    for n, step in enumerate(steps):
        for r, c, cell in re.findall(r"\((\d+),(\d+)\)=(\w)", step["event"]):
            rows[int(r)][int(c)] = cell
        now = frame(page, trial, n, step["pos"], rows)
        where = (trial["trial"], "step", n + 1)
        check(step["action"] in now["now"], *where, "is told as", now["now"])
        check(now["gone"] == [e for e in entries if e in step["removed"]], *where, "is without", now["gone"], "not", step["removed"])
        check(len(step["dropped"]) == 0 or "Changes dropped" in now["side"], *where, "does not tell what was dropped")
        check(not step["fallback"] or "fallback" in now["side"], *where, "does not tell of the fallback")
        if n == 1:
            page.get_by_role("button", name="Step forward").click()
        else:
            page.evaluate("document.querySelector('.player').focus()")
            page.keyboard.press("ArrowRight")
    frame(page, trial, len(steps), steps[-1]["next"], rows)
    check(page.get_by_role("button", name="Step forward").is_disabled(), trial["trial"], "goes on behind its end")
    ending = page.locator(".ending").inner_text()
    word = {"success": "goal", "death": "hole", "timeout": "neither"}[trial["outcome"]]
    check(word in ending.lower(), trial["trial"], trial["outcome"], "is told as", ending)
    for key, to in (("Home", 0), ("End", len(steps)), ("ArrowLeft", len(steps) - 1)):
        page.keyboard.press(key)
        check(page.locator(".player").get_attribute("data-frame") == str(to), key, "does not lead to step", to)


def detection(page, trial, judgments):
    windows = {}
    for j in judgments:
        windows.setdefault(j["window"], []).append(j)
    for n, window in sorted(windows.items()):
        want = [
            sum(j["truth"] and j["verdict"] == "stale" for j in window), sum(j["truth"] and j["verdict"] == "valid" for j in window),
            sum(not j["truth"] and j["verdict"] == "stale" for j in window), sum(j["verdict"] == "unanswered" for j in window),
        ]
        shown = [page.locator(f".verdicts .{name}").count() for name in ("found", "missed", "flagged-wrongly", "no-answer")]
        check(shown == want, trial["trial"], "window", n, "shows", shown, "found, missed, wrong and unanswered, not", want)
        if n + 1 < len(windows):
            page.get_by_role("button", name="Step forward").click()


def play(page, trials, steps, judgments, instances):
    """Plays trials of every kind; those of L3 first: in them the lake changes."""
    played, kinds = {"detect": 0, "navigate": 0}, set()
    for t in sorted(trials, key=lambda t: t["regime"], reverse=True):
        kind = (t["task"], t["modality"], t["regime"], t["strategy"], t["outcome"], t["model"])
        if kind in kinds or played[t["task"]] >= MOST or t["outcome"] == "error":
            continue
        kinds.add(kind)
        played[t["task"]] += 1
        page.evaluate("key => { location.hash = '#trial-' + key }", t["trial"])
        page.wait_for_function("key => key.startsWith(document.querySelector('.player').dataset.trial)", arg=t["trial"])
        check(t["trial"][:8] in page.locator(".player code").inner_text(), t["trial"], "does not name the command that prints it")
        if t["task"] == "navigate":
            walk(page, t, steps[t["trial"]], instances[t["seed"], t["regime"], t["rows"], t["cols"]])
        else:
            detection(page, t, judgments[t["trial"]])
    check(min(played.values()) > 0, "replays of", played)
    print(f"replayed {played} of {len(trials)} trials")


def keyboard(page, trials):
    """A few keys lead to a replay: choose an outcome, a trial, Enter, step."""
    page.select_option("#filters [name=outcome]", "death")
    check(str(sum(t["outcome"] == "death" for t in trials)) in page.locator("#matching").inner_text().replace(",", ""), "deaths are", page.locator("#matching").inner_text())
    page.locator("#list").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    check(page.locator(".player").get_attribute("data-frame") == "1", "keys do not lead to a replay's second step")
    page.evaluate("document.getElementById('filters').reset()")


# Elements whose words come from a run. A model's name has no end, and no place to break.
NAMED = "h1, .facts, .about, .note, .notes li, .absent li, .warning, .findings li, summary, tr.section th, pre, code, .what"
LONG = "openrouter/" + "averylongname" * 12


def too_wide(page, width):
    """Names what sticks out of the window, outside boxes that scroll by themselves."""
    return page.evaluate(
        """width => document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]
        .filter(n => !n.closest('.scroll') && n.scrollWidth > width).map(n => n.tagName + '.' + n.className).slice(-3)""",
        width,
    )


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    page.wait_for_timeout(300)


def main(report, folder, pictures):
    trials, steps, judgments, instances = [], {}, {}, {}
    if folder:
        trials = lines(folder, "trials")
        for s in lines(folder, "steps"):
            steps.setdefault(s["trial"], []).append(s)
        for j in lines(folder, "judgments"):
            judgments.setdefault(j["trial"], []).append(j)
        instances = {(i["seed"], i["regime"], len(i["rows"]), len(i["rows"][0])): i for i in lines(folder, "instances")}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=FLAGS)
        for name, width, height, scheme in [("laptop", 1280, 800, "light"), ("dark", 1280, 800, "dark"), ("phone", 390, 844, "light")]:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda m, name=name: check(m.type != "error", name, "console:", m.text))
            page.on("pageerror", lambda e, name=name: check(False, name, "error:", e))
            page.on("request", lambda r, name=name: check(r.url == report.as_uri() or r.url.startswith("data:"), name, "request:", r.url))
            page.goto(report.as_uri())
            page.wait_for_selector(".player svg")
            high = page.evaluate("document.documentElement.scrollHeight")
            check(high <= SCREENS * height, name, "is", high, "pixels high before anything is unfolded")
            check(not too_wide(page, width), name, "is too wide:", too_wide(page, width))
            if pictures:
                page.screenshot(path=pictures / f"{name}.png")
                page.screenshot(path=pictures / f"{name}-whole.png", full_page=True)
            if name == "laptop" and folder:
                keyboard(page, trials)
                play(page, trials, steps, judgments, instances)
            unfold(page)
            check(not too_wide(page, width), name, "is too wide when unfolded:", too_wide(page, width))
            silent = page.evaluate("[...document.querySelectorAll('.scroll')].filter(n => n.scrollWidth > n.clientWidth + 1 && !n.classList.contains('wide')).length")
            check(silent == 0, name, "has", silent, "wide tables that do not say that they scroll")
            page.evaluate("document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
            page.wait_for_function("[...document.images].every(i => i.complete)")
            check(page.evaluate("[...document.images].every(i => i.naturalWidth > 0)"), name, "has pictures that are none")
            if name == "laptop" and pictures:
                page.pdf(path=pictures / "print.pdf", format="A4")
            if name == "phone":
                page.evaluate("([named, long]) => document.querySelectorAll(named).forEach(n => { n.textContent = long })", [NAMED, LONG])
                check(not too_wide(page, width), name, "is too wide for a long name:", too_wide(page, width))
            context.close()
        browser.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None, pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    for w in wrong[:20]:
        print("wrong:", w)
    sys.exit(1 if wrong else 0)
