"""Handlers that allocate, or jump away, in the middle of our own code.

With a toy allocator that is safe in a handler, so that whatever goes wrong is the profiler's.
"""

import re

import pytest
from truth import Amounts, behind, measure

STACKS = ["", "static", "frame"]  # of the handler: the usual one, or one of its own


@pytest.fixture
def signals(run, target, tmp_path):
    def call(*args, define=()):
        toy = target("toy_bump", "-shared", "-fPIC", "-fno-builtin", *define)
        measured = measure(run, tmp_path, behind(toy, [target("signals"), *map(str, args)]))
        assert measured.run.status == 0, measured.run.stderr
        words = re.match(r"(\d+) signals (\d+) jumps (\d+) rounds", measured.run.stdout)
        return measured, *map(int, words.groups())

    return call


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("stack", STACKS)
def test_handler_allocates(signals, stack):
    """What it allocates while we record is lost and counted, each; nothing else, and no free."""
    measured, signal_count, _, _ = signals("storm", 60, *filter(None, [stack]))
    assert signal_count > 1000
    differences = measured.differences
    assert set(differences) <= {"site_handler"}, differences
    assert set(measured.losses) <= {"reentrant"}
    lost = differences.get("site_handler", Amounts())
    assert -lost.alloc_count == measured.losses.get("reentrant", 0)
    # One block in four is kept. Of those recorded, none was freed, and all others were.
    live = measured.sites["site_handler"]
    assert live.live_bytes == 24 * live.live_count
    assert live.live_count <= signal_count


@pytest.mark.costly
@pytest.mark.parametrize("stack", STACKS)
def test_handler_jumps_away(signals, stack):
    """Thousands of operations are left in the middle. Recording goes on, and the rest is exact."""
    measured, _, jumps, rounds = signals("jump", 60, *filter(None, [stack]))
    assert jumps > 1000
    truth, found = measured.truth, measured.sites
    # Each jump can leave one operation undone, and silence its thread until the stack is used again.
    slack = jumps + measured.losses.get("reentrant", 0)
    assert measured.losses.get("reentrant", 0) < 20 * jumps
    assert set(measured.losses) <= {"reentrant"}
    for name in ("site_main", "site_main_calloc"):
        difference = found[name] - truth[name]
        assert abs(difference.live_count) <= slack, (name, difference, jumps)
        assert abs(difference.alloc_count) <= slack, (name, difference, jumps)
    # What it allocates when all is over is all there: 1000 blocks of 48 bytes, in main.
    last = [
        s
        for s in measured.report["stacks"]
        if [f["function"] for f in s["frames"][:2]] == ["site_main", "main"]
    ]
    assert sum(s["live"]["count"] for s in last) == 1000


@pytest.mark.costly
@pytest.mark.parametrize("stack", STACKS)
def test_handler_allocates_inside_realloc(signals, stack):
    """An allocator whose realloc calls malloc by name, interrupted by a handler that does."""
    arguments = ["storm", 60, *filter(None, [stack])]
    measured, _, _, _ = signals(*arguments, define=["-DBY_NAME"])
    differences = measured.differences
    assert set(differences) <= {"site_handler"}, differences
    assert set(measured.losses) <= {"reentrant"}
