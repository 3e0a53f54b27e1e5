"""Budgets: a profile becomes coarser but does not end, its figures stay right, and each change is
reported."""

import math
import os
import signal
import statistics
import subprocess
import time

import pytest
from conftest import clean_env
from resident import need_ptrace
from trace_text import get, parse, protoc
from truth import Amounts, measure, new_truth, read_truth
from waiting import let_time_pass, wait_until

MIB = 1 << 20


@pytest.fixture(scope="session")
def program(target):
    return target("budget", "-pthread")


def changes_of(report, nth=0):
    return report["processes"][nth].get("interval_changes", [])


def errors(measured):
    """For each site and quantity: the error in units of the stated standard error (exact figures
    must have no error)."""
    margins = {}
    for stack in measured.report["stacks"]:
        names = {f["function"] for f in stack["frames"] if f["function"].startswith("site_")}
        for name in names:
            squares = [(stack[k].get(f"{q}_high", stack[k].get(q, 0)) - stack[k].get(q, 0)) ** 2
                       for k in ("live", "alloc") for q in ("bytes", "count")]
            margins[name] = margins.get(name, Amounts()) + Amounts(*squares)
    found = {}
    for name, truth in measured.truth.items():
        off = measured.sites.get(name, Amounts()) - truth
        for quantity, error, square in zip(Amounts._fields, off, margins.get(name, Amounts())):
            if error:
                assert square > 0, f"{quantity} of {name} is said to be exact and is off by {error}"
                found[name, quantity] = error / (math.sqrt(square) / 1.96)
    return found


class Watched:
    """`heapscope run` of a program, and the largest size of its region, read through its
    descriptor."""

    def __init__(self, dist, folder, program, *options, pause_s=0, **env):
        self.file = folder / f"watched{time.monotonic_ns()}.pftrace"
        command = [dist / "bin" / "heapscope", "run", "-q", "-o", self.file, *options, "--", *program]
        self.process = subprocess.Popen([*map(str, command)], env=clean_env(**env), stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, text=True)
        self.region_bytes = self.cpu_s = 0
        self.pause_s, self.resume = pause_s, None
        while self.process.poll() is None:
            try:
                self.look()
            except OSError:
                pass
            let_time_pass(0.002, "how often it looks")
        self.stdout = self.process.stdout.read()

    def look(self):
        pid = self.process.pid
        times = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        self.cpu_s = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if "memfd:heapscope" in os.readlink(path):
                self.region_bytes = max(self.region_bytes, os.stat(path).st_blocks * 512)
                if self.pause_s and self.resume is None and self.region_bytes > MIB // 2:  # the client knows its limit
                    os.kill(pid, signal.SIGSTOP)
                    self.resume = time.monotonic() + self.pause_s
        if self.resume and time.monotonic() > self.resume:
            os.kill(pid, signal.SIGCONT)


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize("interval, limit", [(1, "16M"), (4096, "1M"), (512, "4M")])
def test_a_growing_heap_stays_below(dist, program, report, tmp_path, interval, limit):
    watched = Watched(dist, tmp_path, [program, "grow", 3000000], "-i", interval, "--max-memory", limit)
    assert watched.process.returncode == 0
    found = report(watched.file)
    process = found["processes"][0]
    limit_bytes = int(limit[:-1]) * MIB
    assert limit_bytes / 4 < watched.region_bytes <= limit_bytes
    assert process["recorder_bytes"] <= limit_bytes
    changes = changes_of(found)
    assert changes and not found["losses"], found["losses"]
    assert process["asked_interval_bytes"] == changes[0]["from_bytes"] == interval
    assert process["interval_bytes"] == changes[-1]["to_bytes"] > interval
    for change in changes:
        assert change["reason"] == "memory" and change["limit"] == limit_bytes
        assert change["to_bytes"] > change["from_bytes"]
    assert [c["from_bytes"] for c in changes[1:]] == [c["to_bytes"] for c in changes[:-1]]


def test_without_a_budget_nothing_changes(run, program):
    done = run([program, "grow", 300000], "-i", 1)
    found = done.report()
    assert not changes_of(found) and found["processes"][0]["interval_bytes"] == 1
    assert found["processes"][0]["asked_interval_bytes"] == 1 and not found["is_sampled"]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", [1, 4096])
def test_figures_stay_right(run, program, tmp_path, interval):
    """The interval rises in the middle: exact figures before, and samples of several intervals
    after."""
    off = {}
    limit = "8M" if interval == 1 else "1M"
    for seed in range(4):
        measured = measure(run, tmp_path, [program, "grow", 1500000], "-i", interval, "--max-memory", limit,
                           env={"HEAPSCOPE_SEED": 100 + seed})
        assert not measured.losses and len(changes_of(measured.report)) >= 1
        for key, error in errors(measured).items():
            off.setdefault(key, []).append(error)
    assert {k[0] for k in off} >= {"site_small", "site_medium"}
    for key, found in off.items():
        assert max(map(abs, found)) < 5, (key, found)
        # The mean of four has half the standard error of one.
        assert abs(statistics.mean(found)) < 2.5, (key, found)


@pytest.mark.alone("the program has to end within the two seconds for which its collector is stopped")
def test_a_collector_that_comes_too_late(dist, program, report, heapscope, tmp_path):
    """Then the client itself stops growing its tables, counts what it loses, and continues."""
    truth = new_truth(tmp_path)
    watched = Watched(dist, tmp_path, [program, "grow", 3000000], "-i", 1, "--max-memory", "4M", pause_s=2,
                      TRUTH_FILE=truth)
    assert watched.process.returncode == 0
    assert 3 * MIB < watched.region_bytes <= 4 * MIB
    found = report(watched.file)
    losses = {loss["name"]: loss for loss in found["losses"]}
    assert set(losses) == {"memory_limit"} and losses["memory_limit"]["is_serious"]
    assert losses["memory_limit"]["count"] + found["processes"][0]["sample_count"] == 3000000
    # Everything that was recorded is exact.
    live = found["totals"]["live"]
    assert live["count"] <= found["processes"][0]["sample_count"] and not found["is_sampled"]
    # The report says what is missing, in units of the program's allocations.
    assert found["is_incomplete"]
    assert found["missing"]["allocations"] + found["totals"]["alloc"]["count"] == 3000000
    assert found["missing"]["bytes"] + found["totals"]["alloc"]["bytes"] == sum(s.alloc_bytes for s in read_truth(truth).values())
    text = heapscope("report", watched.file).stdout
    assert "at least" in text and "are missing from these figures" in text
    assert "  exact: " not in text and "95 % confidence" not in text
    checked = heapscope("check", "--max-live", "1G", watched.file)
    assert checked.returncode == 1 and "data is missing" in checked.stdout


@pytest.mark.costly
def test_a_forked_child_has_its_own_budget(run, program, tmp_path):
    measured = measure(run, tmp_path, [program, "forks", 3000000], "-i", 1, "--max-memory", "8M")
    parent, child = sorted(measured.report["processes"], key=lambda p: bool(p.get("forked_from_pid")))
    assert child["forked_from_pid"] == parent["pid"]
    for process in (parent, child):
        assert process["asked_interval_bytes"] == 1 < process["interval_bytes"]
        assert process["recorder_bytes"] <= 8 * MIB
    assert child["interval_bytes"] >= parent["interval_bytes"]
    for key, error in errors(measured).items():
        assert abs(error) < 5, key


# --- what is reported -----------------------------------------------------------------------------


def test_every_change_is_told(heapscope, run, program, tmp_path):
    done = run([program, "grow", 2000000], "-i", 1, "--max-memory", "8M", "--no-compress")
    found = done.report()
    changes = changes_of(found)
    text = " ".join(heapscope("report", done.file).stdout.split())
    for change in changes if len(changes) <= 4 else [*changes[:3], changes[-1]]:
        assert change["text"] in text
        assert change["text"].startswith("sampling interval raised from ") and "memory budget of 8.00 MiB" in change["text"]
        assert 0 < change["at_seconds"] < found["processes"][0]["duration_seconds"]
    packets = parse(protoc("decode", done.file.read_bytes()))["packet"]
    dumps = [p["heapscope"][0]["dump"][0] for p in packets if "heapscope" in p and "dump" in p["heapscope"][0]]
    told = [(get(c, "from_interval_bytes"), get(c, "to_interval_bytes"), get(c, "reason"), get(c, "limit"))
            for c in dumps[-1]["changes"]]
    assert told == [(c["from_bytes"], c["to_bytes"], 1, 8 * MIB) for c in changes]
    # Also in Perfetto's own fields.
    heaps = [h for p in packets if "profile_packet" in p for h in p["profile_packet"][0].get("process_dumps", [])]
    assert get(heaps[-1], "orig_sampling_interval_bytes") == 1
    assert get(heaps[-1], "sampling_interval_bytes") == changes[-1]["to_bytes"]


@pytest.mark.costly
def test_an_earlier_snapshot_knows_no_later_change(report, run, program):
    done = run([program, "grow", 4000000], "-i", 1, "--max-memory", "8M", "--dump-every", "50ms")
    last = changes_of(done.report())
    assert last
    first = done.report("--snapshot", 0)["processes"][0]
    assert all(c["at_seconds"] <= first["duration_seconds"] for c in first.get("interval_changes", []))
    assert len(first.get("interval_changes", [])) < len(last)


# --- overhead -------------------------------------------------------------------------------------


def slower_by(stdout):
    """By how many percent malloc took longer than libc's own function, which no profiler sees, once
    the interval is stable."""
    shares = [float(line.split()[0]) for line in stdout.splitlines()]
    return statistics.median(shares[len(shares) // 2:])


@pytest.mark.costly
def test_overhead_raises_the_interval(run, program):
    """Without a budget, the program would lose a tenth of its speed in malloc's turn."""
    done = run([program, "busy", 1, 60], "--max-overhead", "0.5%")
    changes = changes_of(done.report())
    assert changes and {c["reason"] for c in changes} == {"overhead"}
    assert changes[0]["limit"] == 5000 and changes[0]["at_seconds"] < 5
    assert "overhead budget of 0.5 %" in changes[0]["text"]
    assert changes[-1]["to_bytes"] >= 4 * 4096


@pytest.mark.costly
def test_a_quiet_program_keeps_its_interval(run, program):
    done = run([program, "busy", 1, 5000], "--max-overhead", "5%")
    assert not changes_of(done.report())


@pytest.mark.slow
def test_overhead_ends_near_its_budget(run, program):
    """Half of the program's time goes through malloc, so 1 % of the total is 2 % of that half. No
    interval can reduce the cost of the first few samples."""
    lost = {}
    for _ in range(3):
        for name, options in {"few": ["-i", "64M"], "all": [], "some": ["--max-overhead", "1%"]}.items():
            done = run([program, "busy", 4, 60], *options)
            assert done.status == 0
            lost.setdefault(name, []).append(slower_by(done.stdout))
    found = {name: statistics.median(shares) for name, shares in lost.items()}
    print(found)
    assert found["all"] - found["few"] > 6, "too little to be saved"
    assert found["some"] - found["few"] < 2.7, found


# --- the collector's own time ---------------------------------------------------------------------


@pytest.mark.slow
def test_snapshots_become_rarer(dist, program, report, tmp_path):
    """A snapshot of millions of blocks takes some ten milliseconds, and one is requested every ten."""
    steps = f"(for i in 1 2 3 4 5 6 7 8 9 10; do echo; sleep .3; done) | exec {program} steps 6000000"
    options = ["-i", 1, "--dump-every", "10ms", "--no-symbolize"]
    free = Watched(dist, tmp_path, ["sh", "-c", steps], *options)
    kept = Watched(dist, tmp_path, ["sh", "-c", steps], *options, "--max-cpu-secs", 1)
    print(free.cpu_s, kept.cpu_s)
    assert free.cpu_s > 1.7, "too little to be saved"
    assert kept.cpu_s < 1.4
    found = next(p for p in report(kept.file)["processes"] if p["name"].startswith("budget-"))
    changes = found["interval_changes"]
    assert {c["reason"] for c in changes} == {"collector_cpu"} and changes[0]["limit"] == 1e9
    assert changes[0]["snapshot_rarity"] == 4 and "scheduled snapshots 4 times less often" in changes[0]["text"]
    assert found["is_final"] and found["snapshot_count"] > 3
    assert found["live"]["bytes"] > 100 * MIB


@pytest.mark.costly
def test_a_budget_that_is_not_used_up_changes_nothing(run, program):
    done = run([program, "busy", 1, 60], "--dump-every", "100ms", "--max-cpu-secs", 5)
    assert not changes_of(done.report()) and done.report()["processes"][0]["snapshot_count"] > 7


# --- attach and the daemon ------------------------------------------------------------------------


def test_a_session_has_budgets(daemon, program, tmp_path):
    truth = new_truth(tmp_path)
    name = daemon.begin("-n", "budget-*", "-i", 1, "--max-memory", "4M", "--max-overhead", "90%", "--max-cpu-secs", 60)
    assert daemon.run([program, "grow", "2000000"], env={"TRUTH_FILE": truth}) == 0
    wait_until(lambda: daemon.session(name)["running_count"] == 0)
    measured = daemon.measured(daemon.stop(), truth)
    process = measured.report["processes"][0]
    assert changes_of(measured.report) and process["asked_interval_bytes"] == 1
    assert process["recorder_bytes"] <= 4 * MIB and process["interval_bytes"] > 1
    if not measured.losses:
        for key, error in errors(measured).items():
            assert abs(error) < 5, key


def test_a_running_program_gets_a_budget_with_its_session(daemon, program):
    running = daemon.launch([program, "steps", "2000000"])
    running.step()
    daemon.begin("-p", running.pid, "-i", 1, "--max-memory", "4M")
    for _ in range(9):
        assert running.step() == "done\n"
    done = daemon.stop()
    running.end()
    found = done.report()
    assert changes_of(found) and found["processes"][0]["recorder_bytes"] <= 4 * MIB
    # The next session is not affected.
    assert found["processes"][0]["asked_interval_bytes"] == 1


def test_attach_has_budgets(dist, program, report, tmp_path):
    need_ptrace()
    file = tmp_path / "attached.pftrace"
    with subprocess.Popen([program, "steps", "3000000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=clean_env(), text=True) as running:
        attached = subprocess.Popen(
            [str(dist / "bin" / "heapscope"), "attach", "-i", "1", "--max-memory", "4M", "-o", str(file),
             str(running.pid)], env=clean_env(), stderr=subprocess.PIPE, text=True)
        assert "attached to" in attached.stderr.readline()
        for _ in range(10):
            running.stdin.write("\n")
            running.stdin.flush()
            assert running.stdout.readline() == "done\n"
        attached.send_signal(signal.SIGINT)
        attached.communicate(timeout=30)
        running.stdin.close()
    assert attached.returncode == 0
    found = report(file)
    assert changes_of(found) and found["processes"][0]["recorder_bytes"] <= 4 * MIB


# --- wrong and odd usage --------------------------------------------------------------------------

COMMANDS = {"run": ["--", "true"], "attach": ["1"], "start": ["-n", "x"]}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options, word", [
    (["--max-overhead", "0%"], "--max-overhead"),
    (["--max-overhead", "101%"], "--max-overhead"),
    (["--max-overhead", "much"], "--max-overhead"),
    (["--max-overhead", "1e1"], "--max-overhead"),
    (["--max-overhead", "1%%"], "--max-overhead"),
    (["--max-memory", "1000"], "--max-memory"),
    (["--max-cpu-secs", "0"], "--max-cpu-secs"),
    (["--shmem-size", "12288"], "power of two"),
    (["--shmem-size", "4096"], "--shmem-size"),
    (["--block-client", "--no-block-client"], "cannot be combined"),
])
def test_wrong_usage(heapscope, command, options, word):
    done = heapscope(command, *options, *COMMANDS[command])
    assert done.returncode == 2 and word in done.stderr, done.stderr


@pytest.mark.parametrize("options", [["--shmem-size", "8M"], ["--block-client"], ["--no-block-client"]])
def test_heapprofds_options_are_taken_and_said_to_do_nothing(heapscope, tmp_path, options):
    file = tmp_path / "x.pftrace"
    done = heapscope("run", *options, "-o", file, "--", "/bin/ls", "/")
    assert done.returncode == 0 and f"{options[0]} has no effect" in done.stderr
    assert heapscope("run", "-q", *options, "-o", file, "--", "/bin/true").stderr == ""
