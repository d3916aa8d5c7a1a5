"""Looks at the viewer in a browser: ADDRESS, TOKEN and AXE, with a run called a.

AXE is the file axe.min.js of axe-core, which looks at what a screen reader and a
keyboard need; empty for none."""

import pathlib
import re
import shutil
import sys

from playwright.sync_api import expect, sync_playwright

address = sys.argv[1]
with sync_playwright() as p:
    browser = p.chromium.launch(executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    wrong = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)

    axe = pathlib.Path(sys.argv[3]).read_text() if sys.argv[3] else None
    looked_at = set()

    def accessible(what):
        """Fails where axe finds a serious fault on the page as it is."""
        if axe is None or what in looked_at:
            return
        looked_at.add(what)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)")
        for f in found:
            if f["impact"] in ("serious", "critical"):
                wrong.append(f"{what}: {f['id']}: {f['help']}: " + "; ".join(n["html"][:200] for n in f["nodes"][:3]))

    page.goto(f"{address}/?{sys.argv[2]}")
    accessible("list")
    assert "token" not in page.url, page.url
    page.get_by_role("link", name="a", exact=True).click()
    expect(page.get_by_role("heading", name="Trials")).to_be_visible()
    accessible("run")
    # A choice filters at once, and the address can be shared.
    page.locator("select[name=outcome]").select_option("death")
    page.wait_for_url(re.compile("outcome=death"))
    page.get_by_role("link", name="steps").click()
    page.wait_for_url(re.compile("sort=moves"))
    page.locator("tbody a").first.click()
    player = page.locator(".player")
    expect(player).to_have_attribute("data-frame", "0")
    page.keyboard.press("ArrowRight")
    expect(player).to_have_attribute("data-frame", "1")
    page.keyboard.press("Home")
    expect(player).to_have_attribute("data-frame", "0")
    page.keyboard.press("d")
    expect(player.locator(".ending")).to_contain_text("Death")
    accessible("trial")
    # Another beside it: both step together, and the step at which they part is marked.
    choice = page.locator("select[name=with]")
    other = choice.locator("option", has_text="success").first.get_attribute("value")
    choice.select_option(other)
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".player")).to_have_count(2)
    page.locator("#parting").click()
    frames = page.locator(".player").evaluate_all("all => all.map((p) => p.dataset.frame)")
    assert frames[0] == frames[1] == str(int(page.locator("#parting").get_attribute("data-frame")) - 1), frames
    page.keyboard.press("ArrowRight")
    accessible("two trials")
    # A prompt as it was sent.
    page.get_by_text("with their exact prompts").click()
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Reply")).to_be_visible()
    accessible("prompt")
    # A phone scrolls tables, never the page.
    page.set_viewport_size({"width": 390, "height": 800})
    for path in ("/", "/run?name=a"):
        page.goto(address + path)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(address + "/report?name=a")
    expect(page.get_by_role("heading", name="Findings")).to_be_visible()
    accessible("report")
    # A person plays: with arrow keys, from a picture, and by judging entries.
    page.goto(address + "/play")
    accessible("play")
    page.get_by_label("Your name").fill("anna")
    page.get_by_label("What you see").select_option("vision")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_alt_text("the lake as it is now")).to_be_visible()
    expect(page.locator("#where")).to_contain_text("You are at (0,0), the goal is at (7,7). Steps left: 50.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "walk"
    accessible("walk")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#where")).to_contain_text("You are at (1,0)")
    page.get_by_role("button", name="UP").click()
    expect(page.locator("#where")).to_contain_text("You are at (0,0), the goal is at (7,7). Steps left: 48.")
    page.get_by_role("button", name="Leave").click()
    page.wait_for_url(re.compile("/run"))
    expect(page.get_by_text("0 of 1 trials")).to_be_visible()
    page.get_by_role("button", name="Go on with it").click()
    expect(page.locator("#where")).to_contain_text("Steps left: 48.")
    page.goto(address + "/play?task=detect&strategy=self-verify&name=%3Ci%3E")
    page.get_by_role("button", name="Begin").click()
    assert "/play" in page.url  # such a name is refused before anything is sent
    page.get_by_label("Your name").fill("carl")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("checkbox")).to_have_count(64)
    accessible("audit")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        accessible("audit, " + scheme)
    page.get_by_label("SAFE at (0,0)").check()
    page.get_by_role("button", name="64 judged").click()
    page.wait_for_url(re.compile("/run"))
    expect(page.get_by_text("1 of 1 trials (100%)")).to_be_visible()
    assert not wrong, wrong
    browser.close()
