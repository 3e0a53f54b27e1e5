"""What recording cost: the collector's CPU time and memory, and what the client took in the program."""

import json
import re
import subprocess

import pytest
from page_rows import write_page
from waiting import wait_until

PROGRAM = r"""
#include <stdlib.h>
int main(void)
{
    for (int i = 0; i < 400000; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("cost") / "program"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], input=PROGRAM, text=True, check=True)
    return path


def test_the_collector(run, heapscope, program, tmp_path):
    done = run([program], "-i", 1, "--dump-every", "50ms")
    found = done.report()
    cost = found["cost"]
    assert 0 < cost["recording_cpu_seconds"] < 20 and 0 < cost["names_cpu_seconds"] < 20, cost
    assert 0 < cost["collector_cpu_seconds"] < 20 and 1 << 20 < cost["collector_peak_rss_bytes"] < 1 << 30, cost
    assert "recorder_cpu_seconds" not in found["processes"][0], "it is not measured unless it is limited"
    page = write_page(heapscope, tmp_path / "page.html", done.file)
    assert page.documents["report-0"]["cost"] == cost and page.snapshots[-1]["recorder_cpu_ms"] is None
    text = heapscope("report", "--health", done.file).stdout
    assert re.search(r"[0-9.]+ [mu]?s +of CPU time for snapshots", text) and "CPU time for recording" not in text, text


def test_the_client(run, heapscope, program, tmp_path):
    done = run([program], "-i", 1, "--max-overhead", "100%")
    process = done.report()["processes"][0]
    each_ns = process["recorder_cpu_seconds"] * 1e9 / process["sample_count"]
    assert 20 < each_ns < 5000, process
    snapshot = write_page(heapscope, tmp_path / "page.html", done.file).snapshots[-1]
    assert snapshot["recorder_cpu_ms"] == pytest.approx(1000 * process["recorder_cpu_seconds"])
    assert re.search(r"≈ [0-9.]+ [mu]?s +of CPU time for recording in the process", heapscope("report", "--health", done.file).stdout)


def test_a_file_that_does_not_tell(run, heapscope, program, tmp_path):
    done = run([program])
    assert heapscope("export", "--format", "pprof", done.file, "-o", tmp_path / "x.pb.gz").returncode == 0
    assert json.loads(heapscope("report", "--json", tmp_path / "x.pb.gz").stdout)["cost"] is None


def test_a_daemon_tells_what_the_session_cost(daemon, program):
    """Its process does other work, too."""
    name = daemon.begin("-n", program.name, "-i", 1)
    assert daemon.run([program]) == 0
    wait_until(lambda: daemon.session(name)["running_count"] == 0)
    cost = daemon.stop().report()["cost"]
    assert cost["recording_cpu_seconds"] > 0 and "collector_cpu_seconds" not in cost, cost
