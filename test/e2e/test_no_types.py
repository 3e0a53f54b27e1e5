"""`--no-types`: the types of blocks are not read, and the report says so in place of "unknown"."""

import os

import pytest
from test_report_types import Running, types_of
from waiting import wait_for_snapshot

OBJECTS = [100, 100]


def refused(heapscope, file):
    done = heapscope("report", "--by", "type", file)
    assert done.returncode == 1 and done.stdout == ""
    assert "no types of blocks were recorded: record without --no-types" in done.stderr
    return heapscope("report", "--by", "thread", file).returncode == 0


def snapshot(heapscope, pid, file, *options):
    wait_for_snapshot(heapscope, pid, file, *options)
    return file


def test_run_and_snapshot(dist, heapscope, target, tmp_path):
    it = Running(dist, tmp_path / "run.pftrace", [target("late_types", "-O2"), *OBJECTS], "--no-types")
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    assert refused(heapscope, now) and refused(heapscope, tmp_path / "run.pftrace")


def test_snapshot_alone(dist, heapscope, target, tmp_path):
    """What a snapshot leaves out, the next one has."""
    it = Running(dist, tmp_path / "run.pftrace", [target("late_types", "-O2"), *OBJECTS])
    before, without, after = (tmp_path / f"{name}.pftrace" for name in ("before", "without", "after"))
    for file, options in ((before, ()), (without, ["--no-types"]), (after, ())):
        snapshot(heapscope, it.pid, file, *options)
    assert it.end() == 0
    assert types_of(heapscope, before)["Late"]["count"] == types_of(heapscope, after)["Late"]["count"] == 100
    assert refused(heapscope, without)


@pytest.mark.parametrize("options", [[], ["--no-types"]])
def test_start(daemon, heapscope, target, tmp_path, options):
    name = daemon.begin("-n", "late_types*", "-i", 1, *options)
    program = daemon.launch([target("late_types", "-O2"), *map(str, OBJECTS)])
    for line in program.process.stdout:
        if line == "ready\n":
            break
    daemon.ask("snapshot", "-p", program.pid, "-o", tmp_path / "now.pftrace")
    program.process.stdin.close()
    program.process.wait(60)
    file = daemon.stop(name).file
    if options:
        assert refused(heapscope, tmp_path / "now.pftrace") and refused(heapscope, file)
    else:
        assert types_of(heapscope, tmp_path / "now.pftrace")["Late"]["count"] == 100


def test_record(heapscope, target, tmp_path):
    """`record` with a program of its own: it ends at the end of its input."""
    folder = tmp_path / "its folder"
    os.mkdir(folder)
    done = heapscope("record", "--no-types", "-i", "1", "-o", folder, "--", target("late_types", "-O2"), *OBJECTS)
    assert done.returncode == 0, done.stderr
    assert refused(heapscope, folder / "raw-trace")
