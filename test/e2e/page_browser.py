"""Tries the page in a browser: runs a file of test/browser with Node, on an HTML file."""

import os
import pathlib
import shutil
import subprocess

import browser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def missing():
    """Why the page cannot be tried in a browser here, or None."""
    if not shutil.which("npm"):
        return "no npm: the page is not built and not tried in a browser"
    if not browser.find():
        return "no chromium: the page is not tried in a browser"
    return None


def template():
    """The page without data, as ./dev build makes it."""
    path = ROOT / "build" / "release" / "web" / "page.html"
    if not shutil.which("npm"):
        pytest.skip("no npm: the page is not built")
    assert path.exists() and path.stat().st_size > 0, "npm is here, but ./dev build did not build the page: see build/log/build.log"
    return path.read_text(encoding="utf-8")


def try_page(name, page, shots, **env):
    """Runs test/browser/NAME.test.mjs on the page; its output is that of the tests that failed. Pictures go to `shots`."""
    if missing():
        pytest.skip(missing())
    done = subprocess.run([ROOT / "tools" / "build-page", "browser"], stdout=subprocess.PIPE, text=True, check=True, timeout=200)
    shots.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "HEAPSCOPE_PAGE": str(page), "HEAPSCOPE_BROWSER": browser.find(), "HEAPSCOPE_SHOTS": str(shots), **env}
    done = subprocess.run(["node", "--test", pathlib.Path(done.stdout.strip()) / f"{name}.test.mjs"], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout
    return done.stdout
