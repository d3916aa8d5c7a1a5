"""Opens a report in headless Chromium: no error, no request, replays that say
what the run's records say, and no page wider than a phone.

    python browse.py REPORT.html JSONL_DIR [SCREENSHOTS_DIR]
    python browse.py REPORT.html

Without the records no replay is played.
"""

import json
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]
MOST = 8  # replays of each task that are played
wrong = []


def check(good, *words):
    if not good:
        wrong.append(" ".join(map(str, words)))


def lines(folder, name):
    with open(folder / f"{name}.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def walk(page, trial, steps, instance):
    """Steps through an episode's replay, and back."""
    page.evaluate("key => { location.hash = '#replay-' + key }", trial["trial"])
    page.wait_for_function("key => document.querySelector('#which').value === key", arg=trial["trial"])
    stage = page.locator("#stage")
    rows = [list(r) for r in (instance["rows"] if instance["events"] else instance["rows_after"])]
    for n, step in enumerate(steps):
        for r, c, cell in step["event"]:
            rows[r][c] = cell
        frame(page, trial, n, step["pos"], rows)
        said = page.locator("#now").inner_text()
        check(step["action"] in said, trial["trial"], "step", n + 1, "is told as", said)
        if n % 2:
            page.get_by_role("button", name="Step forward").click()
        else:
            stage.focus()
            page.keyboard.press("ArrowRight")
    frame(page, trial, len(steps), steps[-1]["next"], rows)
    check(page.get_by_role("button", name="Step forward").is_disabled(), trial["trial"], "goes on behind its end")
    ending = page.locator(".ending").inner_text()
    word = {"success": "goal", "death": "hole", "timeout": "steps"}[trial["outcome"]]
    check(word in ending.lower(), trial["trial"], trial["outcome"], "is told as", ending)
    page.keyboard.press("Home")
    check(stage.get_attribute("data-frame") == "0", "Home does not lead to the first step")
    page.keyboard.press("End")
    check(stage.get_attribute("data-frame") == str(len(steps)), "End does not lead to the last step")
    page.keyboard.press("ArrowLeft")
    check(stage.get_attribute("data-frame") == str(len(steps) - 1), "the left arrow does not step back")


def frame(page, trial, n, agent, rows):
    where = (trial["trial"], "frame", n)
    check(page.locator("#stage").get_attribute("data-frame") == str(n), *where, "is not shown")
    at = page.locator(".board .agent:not(.ghost)").get_attribute("data-agent")
    check(at == f"{agent[0]},{agent[1]}", *where, "has the agent at", at, "not", agent)
    cells = page.eval_on_selector_all("[data-cell]", "all => all.map(n => n.dataset.type).join('')")
    check(cells == "".join(map("".join, rows)), *where, "shows", cells)


def detection(page, trial, judgments):
    page.evaluate("key => { location.hash = '#replay-' + key }", trial["trial"])
    page.wait_for_function("key => document.querySelector('#which').value === key", arg=trial["trial"])
    windows = {}
    for j in judgments:
        windows.setdefault(j["window"], []).append(j)
    for n, window in sorted(windows.items()):
        missed = sum(j["truth"] and j["verdict"] == "valid" for j in window)
        wrongly = sum(not j["truth"] and j["verdict"] == "stale" for j in window)
        shown = page.locator(".verdicts .missed").count(), page.locator(".verdicts .flagged-wrongly").count()
        check(shown == (missed, wrongly), trial["trial"], "window", n, "shows", shown, "missed and wrong, not", (missed, wrongly))
        if n + 1 < len(windows):
            page.keyboard.press("ArrowRight") if page.evaluate("document.activeElement.id === 'stage'") else page.get_by_role("button", name="Step forward").click()


# Elements whose words come from a run. A model's name has no end, and no place to break.
NAMED = ".about, .note, .notes li, .need, .warning, .facts dd, .models li, h3, h4, .set > summary .name, .section th, .cards .l, pre, code"
LONG = "openrouter/" + "averylongname" * 12


def too_wide(page, width):
    """Names what sticks out of the window, outside boxes that scroll by themselves."""
    return page.evaluate(
        """width => document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]
        .filter(n => !n.closest('.scroll') && n.scrollWidth > width).map(n => n.tagName + '.' + n.className).slice(-3)""",
        width,
    )


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
        for name, width, height, scheme in [("laptop", 1440, 900, "light"), ("dark", 1440, 900, "dark"), ("phone", 390, 844, "light")]:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda m, name=name: check(m.type != "error", name, "console:", m.text))
            page.on("pageerror", lambda e, name=name: check(False, name, "error:", e))
            page.on("request", lambda r, name=name: check(r.url == report.as_uri() or r.url.startswith("data:"), name, "request:", r.url))
            page.goto(report.as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, name, "is", wide, "pixels wide, not", width, too_wide(page, width))
            cards = page.evaluate("[...document.querySelectorAll('.card .scroll')].filter(n => n.scrollWidth > n.clientWidth + 1).length")
            check(cards == 0 or name == "phone", name, "cuts", cards, "of the cards on top")
            broken = page.evaluate("[...document.images].filter(i => i.loading !== 'lazy' && !(i.complete && i.naturalWidth > 0)).length")
            check(broken == 0, name, "has", broken, "pictures that are none")
            check(page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => a.hash.length > 1 && !document.getElementById(decodeURIComponent(a.hash.slice(1)))).length") == 0, name, "has links that lead nowhere")
            ids = page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
            check(len(ids) == len(set(ids)), name, "has an id twice")
            if name == "laptop" and folder:
                embedded = page.eval_on_selector_all("#which option", "all => all.map(o => o.value)")
                check(len(embedded) > 0, "no replay is embedded")
                played = {"detect": 0, "navigate": 0}
                # Episodes of L3 first: in them the lake changes.
                for t in sorted(trials, key=lambda t: t["regime"], reverse=True):
                    if t["trial"] not in embedded or played[t["task"]] >= MOST:
                        continue
                    played[t["task"]] += 1
                    if t["task"] == "navigate":
                        walk(page, t, steps[t["trial"]], instances[t["seed"], t["regime"], t["rows"], t["cols"]])
                    else:
                        detection(page, t, judgments[t["trial"]])
                check(min(played.values()) > 0, "replays of", played)
                print(f"{len(embedded)} replays: {played}")
            if pictures:
                page.screenshot(path=pictures / f"{name}.png")
                page.locator("#player").scroll_into_view_if_needed()
                page.screenshot(path=pictures / f"{name}-replay.png")
                if name == "laptop":
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
