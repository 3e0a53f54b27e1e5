"""The page in a real browser: what holds for every view, and the page around the views."""

import page_browser
import page_sample
import pytest

SHOTS = page_browser.ROOT / "build" / "page-shots"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with a profile that the tests know."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_sample.page(page_browser.template()), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["every_view", "shell"])
def test_in_chromium(page, name):
    page_browser.try_page(name, page, SHOTS / "sample")
