"""The page in Firefox: every view draws, nothing is on the console, and the main interactions work.

Chromium has the whole list (test/browser); this finds what another engine does differently.
"""

import firefox
import page_browser
import page_large
import page_sample
import pytest
from waiting import wait_until

SHOTS = page_browser.ROOT / "build" / "page-shots" / "firefox"
RIGHT, ENTER = "\ue014", "\ue007"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if not firefox.find():
        pytest.skip("no Firefox: the page is not tried in it")
    path = tmp_path_factory.mktemp("firefox") / "page.html"
    path.write_text(page_sample.page(page_browser.template()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    browser = firefox.Firefox(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def go(browser, page, fragment):
    browser.open(page.as_uri() + fragment)
    wait_until(lambda: browser.run("return !!document.querySelector('main, .shell-failure') && !document.querySelector('.loading')"),
               why=f"{fragment} is not drawn", patience_s=60)


def test_every_view(browser, page):
    go(browser, page, "")
    views = browser.run("return [...document.querySelectorAll('nav[aria-label=Views] a')]"
                        ".map(a => new URLSearchParams(a.hash.slice(1)).get('view') || 'overview')")
    assert {"overview", "timeline", "diff"} <= set(views)
    SHOTS.mkdir(parents=True, exist_ok=True)
    for view in views:
        go(browser, page, f"#view={view}")
        assert browser.run("return document.querySelector('main').className").endswith(f"view-{view}")
        assert browser.run("return document.querySelector('.shell-failure')") is None, view
        assert browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view
        browser.screenshot(SHOTS / f"{view}.png")
    assert browser.complaints(page.as_uri()) == []


def test_the_timeline_is_drawn_and_zoomed(browser, page):
    go(browser, page, "#view=timeline")
    assert browser.run("return document.querySelectorAll('.timeline-diamond').length") == 3
    drawn = """
        const canvas = document.querySelector('.timeline-chart canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) colours.add(data.slice(i, i + 3).join());
        return colours.has('0,114,178') && colours.has('181,213,236');"""
    assert browser.run(drawn), "the curve and what is below it have their colours"
    browser.press(".timeline-charts", "+")
    assert "timeline.range=" in browser.run("return location.hash")
    browser.press(".timeline-charts", "0")
    browser.press("[role=listbox]", RIGHT, ENTER)
    assert browser.run("return new URLSearchParams(location.hash.slice(1)).get('view')") == "flame"


@pytest.mark.costly
def test_the_difference_says_what_changed(browser, page):
    go(browser, page, "#view=diff")
    assert "Live memory grew by 57.8 MiB" in browser.run("return document.querySelector('.change-words').textContent")
    browser.click("button[aria-label='Exchange before and after']")
    wait_until(lambda: "shrank" in browser.run("return document.querySelector('.change-words').textContent"), why="the sides are not exchanged")
    assert browser.complaints(page.as_uri()) == []


@pytest.mark.costly
def test_a_worker_reads_a_large_snapshot(browser, tmp_path):
    """From a file on disk; a worker that the page's policy forbids would be a complaint."""
    path = tmp_path / "large.html"
    path.write_text(page_large.page(page_browser.template(), 100_000), encoding="utf-8")
    go(browser, path, "#view=table&table.kind=stacks")
    wait_until(lambda: "of 100,000 rows" in browser.run("return document.querySelector('[role=status]')?.textContent ?? ''"),
               why="the table of stacks is not drawn", patience_s=60)
    assert browser.complaints(path.as_uri()) == []
