"""Snapshots of a running program are instants: everything adds up in each of them.

test/target/windows.c holds a window of blocks whose sizes are neighbours. A snapshot in which a block
of another moment is found, or one is missing, does not have the sum of such a window.
"""

import pytest

WINDOW = 3000
CYCLE = 100000


def newest_of(live, alloc_count):
    """The number of the newest block, if these are its window; None if they are no window at all."""
    count = round(live["count"])
    for newest in range(alloc_count - 2, alloc_count + 3):
        oldest = max(newest - count, 0)
        if sum(n % CYCLE + 1 for n in range(oldest, newest)) == round(live["bytes"]):
            return newest
    return None


def site_of(stack):
    return next((f["function"] for f in stack["frames"] if f["function"].startswith("site_")), None)


@pytest.mark.parametrize("threads", [1, 4])
def test_each_snapshot_adds_up(run, target, threads):
    program = [target("windows", "-pthread", "-O2"), "2", threads]
    done = run(list(map(str, program)), "-i", 1, "--dump-every", "20ms")
    assert done.status == 0, done.stderr
    (process,) = done.report()["processes"]
    count = process["snapshot_count"]
    assert count > 20
    bad = []
    for number in range(count - 1):
        report = done.report("--snapshot", number)
        sites = {}
        for stack in report["stacks"]:
            site = site_of(stack)
            if site:
                live, alloc = sites.setdefault(site, ({"bytes": 0, "count": 0}, {"count": 0}))
                live["bytes"] += stack["live"]["bytes"]
                live["count"] += stack["live"]["count"]
                alloc["count"] += stack["alloc"]["count"]
        for site, (live, alloc) in sites.items():
            in_window = live["count"] in (WINDOW, WINDOW + 1) or alloc["count"] <= WINDOW + 2
            if not in_window or newest_of(live, round(alloc["count"])) is None:
                bad.append((number, site, live, alloc))
        assert len(sites) <= threads
    assert bad == []
    assert len(sites) == threads
