"""The live page of a process with 100,000 distinct stacks: it answers, and its memory has a limit."""

import subprocess

import page_browser
import pytest
from daemon import Daemon
from ui_server import Ui
from waiting import wait_until


@pytest.mark.slow
def test_a_hundred_thousand_stacks(dist, heapscope, report, folder, tmp_path):
    program = tmp_path / "hs-many-stacks"
    subprocess.run(["gcc", "-O1", "-DDEPTH=15", "-o", program, page_browser.ROOT / "bench" / "watched.c"], check=True)
    daemon = Daemon(dist, heapscope, report, folder)
    ui = Ui(dist, cwd=tmp_path, env={"XDG_RUNTIME_DIR": tmp_path, **{name: str(value) for name, value in daemon.env.items()}})
    try:
        daemon.begin("-n", program.name, "-i", 1)
        it = daemon.launch([program, "200000", "1000000000", "5000"])
        wait_until(lambda: daemon.client(it.pid)["sample_count"] > 300_000, "it does not exchange blocks", patience_s=120)
        said = page_browser.try_page("live_speed", "", page_browser.ROOT / "build" / "page-shots" / "live", HEAPSCOPE_LINK=ui.link,
                                     HEAPSCOPE_PID=str(it.pid))
        print(*(line for line in said.splitlines() if "milliseconds" in line))
        wait_until(lambda: not daemon.list()["watches"], "the watch goes on without a viewer")
    finally:
        ui.process.kill()
        ui.process.communicate()
        daemon.stop_all()
