"""Looks at the viewer in a browser: ADDRESS, with a run called a."""

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

    page.goto(address)
    page.get_by_role("link", name="a", exact=True).click()
    expect(page.get_by_role("heading", name="Trials")).to_be_visible()
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
    # A prompt as it was sent.
    page.get_by_text("with their exact prompts").click()
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Reply")).to_be_visible()
    # A phone scrolls tables, never the page.
    page.set_viewport_size({"width": 390, "height": 800})
    for path in ("/", "/run?name=a"):
        page.goto(address + path)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(address + "/report?name=a")
    expect(page.get_by_role("heading", name="Findings")).to_be_visible()
    assert not wrong, wrong
    browser.close()
