"""A server under permanent load, profiled for long: the profiler's memory stays constant, and its
figures do not drift.

A minute; HEAPSCOPE_SOAK_MINUTES sets another time (releases: 30).
"""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import clean_env
from waiting import let_time_pass, wait_until

MINUTES = float(os.environ.get("HEAPSCOPE_SOAK_MINUTES", 1))
# How many standard errors a figure may be off: of some hundred comparisons, none exceeds this by
# chance.
ERRORS_MAX = 5


def status_kib(pid, field):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB", text, re.M).group(1))


def child_of(pid, name):
    def found():
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return next((int(child) for child in children
                     if pathlib.Path(f"/proc/{child}/comm").read_text().startswith(name)), None)

    return wait_until(found, f"{name} was not started")


def watch(process, pid):
    """[(KiB of the collector, KiB of the region)] while it runs."""
    seen = []
    while process.poll() is None:
        try:
            seen.append((status_kib(process.pid, "RssAnon"), status_kib(pid, "RssShmem")))
        except (OSError, AttributeError):  # the program is ending
            break
        let_time_pass(1, "how often it looks")
    return seen


@pytest.mark.slow
def test_soak(dist, report, target, tmp_path):
    program, file, truth = target("soak", "-pthread", "-O2"), tmp_path / "x.pftrace", tmp_path / "truth"
    with truth.open("w") as out:
        process = subprocess.Popen(
            [dist / "bin/heapscope", "run", "-q", "--dump-every", f"{MINUTES * 60 / 40}s", "-o", file, "--",
             program, str(int(MINUTES * 60))], stdout=out, env=clean_env())
        seen = watch(process, child_of(process.pid, "soak"))
        assert process.wait() == 0
    # Constant: the second half needs no more than the second quarter did, except for a buffer or
    # two.
    quarter = len(seen) // 4
    for what, values in zip(("collector", "region"), zip(*seen)):
        warm, later = max(values[quarter:2 * quarter]), max(values[2 * quarter:])
        assert later <= warm * 1.05 + 1024, f"{what}: {[*dict.fromkeys(values)]}"
    # No drift: in each dump, and at the end.
    lines = [tuple(map(int, line.split())) for line in truth.read_text().splitlines()]
    final = report(file)
    (run,) = final["processes"]
    assert final["losses"] == []
    check(final, lines[-1], 0)
    start_ns = lines[-1][0] - run["duration_seconds"] * 1e9
    for number in range(4, run["snapshot_count"] - 1):
        shot = report(file, "--snapshot", str(number))
        at_ns = start_ns + shot["duration_seconds"] * 1e9
        near = [line for line in lines if abs(line[0] - at_ns) < 2e9]
        # Between two lines the truth changes.
        moved = max(line[1] for line in near) - min(line[1] for line in near)
        check(shot, near[len(near) // 2], moved + near[0][1] * 0.005)


def check(shot, line, slack_bytes):
    live = shot["totals"]["live"]
    error = live["bytes_margin"] / 1.96
    assert abs(live["bytes"] - line[1]) < ERRORS_MAX * error + slack_bytes, (live, line)
