"""The live page of `heapscope ui` in a real browser: a profile of a running process, from the page alone.

Pictures go to build/page-shots.
"""

import os
import subprocess

import page_browser
import pytest
from daemon import Daemon
from ui_server import Ui

SHOTS = page_browser.ROOT / "build" / "page-shots"
GROWING = """
import time
kept = []
def grow_here():
    kept.append(bytearray(100000))
while True:
    grow_here()
    time.sleep(0.02)
"""


@pytest.fixture
def start(dist, tmp_path):
    """start(*files, **env): `heapscope ui` in a folder of its own. Whatever it started is ended."""
    started = []
    folder = tmp_path / "ui"
    folder.mkdir()

    def call(*files, **env):
        started.append(Ui(dist, *files, cwd=folder, env={"XDG_RUNTIME_DIR": tmp_path, **env}))
        return started[-1]

    yield call
    for ui in started:
        ui.process.kill()
        ui.process.communicate()


@pytest.fixture
def programs(tmp_path):
    """{name: pid} of a program that grows, whose name is hs-growing, and of one that does not permit profiling."""
    growing = tmp_path / "hs-growing"
    growing.symlink_to("/usr/bin/python3")
    refuses = {**os.environ, "HEAPSCOPE_PROFILEABLE": "0"}
    both = {"growing": subprocess.Popen([growing, "-c", GROWING]),
            "refused": subprocess.Popen(["/usr/bin/python3", "-c", "input()"], env=refuses, stdin=subprocess.PIPE)}
    yield {name: process.pid for name, process in both.items()}
    for process in both.values():
        process.kill()
        process.communicate()


def try_live(name, ui, programs, folder, **env):
    folder.mkdir(parents=True, exist_ok=True)
    return page_browser.try_page(name, "", SHOTS / "live", HEAPSCOPE_LINK=ui.link, HEAPSCOPE_UI=str(ui.process.pid),
                                 HEAPSCOPE_GROWING=str(programs["growing"]), HEAPSCOPE_REFUSED=str(programs["refused"]),
                                 HEAPSCOPE_SAVED=str(folder), **env)


def check_saved(report, folder):
    """The trace that the browser has saved is one of the program."""
    saved = report(folder / "saved.pftrace")
    assert saved["totals"]["live"]["bytes"] > 100000
    assert any("grow_here" in each["function"] for each in saved["functions_by_self"])


@pytest.mark.costly
def test_without_a_daemon(start, programs, report, tmp_path):
    try_live("live", start(), programs, tmp_path / "saved")
    check_saved(report, tmp_path / "saved")


@pytest.mark.costly
def test_with_the_daemon(start, programs, dist, heapscope, report, folder, tmp_path):
    daemon = Daemon(dist, heapscope, report, folder)
    try:
        ui = start(**{name: str(value) for name, value in daemon.env.items()})
        try_live("live", ui, programs, tmp_path / "saved", HEAPSCOPE_DAEMON="1")
        check_saved(report, tmp_path / "saved")
    finally:
        daemon.stop_all()


@pytest.mark.costly
def test_files(start, heapscope, report, tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    files = [tmp_path / "one.pftrace", tmp_path / "two.pftrace"]
    for i, file in enumerate(files):
        done = heapscope("run", "-q", "-o", file, "--", "/usr/bin/python3", "-c", f"x = [str(i) for i in range({100000 * (i + 1)})]")
        assert done.returncode == 0, done.stderr
    ui = start(*files)
    page_browser.try_page("served_files", "", SHOTS / "live", HEAPSCOPE_LINK=ui.link, HEAPSCOPE_SAVED=str(saved))
    assert (saved / "saved.pftrace").read_bytes() == files[1].read_bytes()
    assert report(saved / "saved.pftrace")["totals"]["alloc"]["bytes"] > 0
