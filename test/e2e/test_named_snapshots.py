"""A program takes snapshots of itself, by name, under `run`, `attach`, `record` and `start`."""

import json
import os
import shutil
import signal
import subprocess

import pytest
from conftest import clean_env
from preload import preloadable
from resident import need_ptrace
from waiting import stop_process, wait_until

EAGAIN, EINVAL, ENAMETOOLONG, ENOTCONN, ETIMEDOUT = 11, 22, 36, 107, 110
BLOCK = 1000


class Snapper:
    """test/target/snapper.c, which obeys commands."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        **more)
        assert self.process.stdout.readline() == "ready\n"

    def obey(self, command):
        """Returns what the call returned; `self.took_ms` is how long that was."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        result, self.took_ms = map(int, self.process.stdout.readline().split())
        return result

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def snapper(target):
    """snapper(COMMAND_BEFORE...): the program, started by another one."""
    started = []

    def call(*before, **more):
        more.setdefault("env", clean_env())
        it = Snapper([*before, target("snapper", "-pthread")], **more)
        started.append(it)
        return it

    yield call
    for it in started:
        it.kill()


@pytest.fixture
def under_run(snapper, dist, tmp_path):
    """under_run(OPTIONS...): the program under `heapscope run`; it.file is the trace."""

    def call(*options):
        file = tmp_path / "run.pftrace"
        it = snapper(dist / "bin/heapscope", "run", "-q", "-i", 1, *options, "-o", file, "--")
        it.file = file
        return it

    return call


def named(report, file):
    """{name: bytes that were live}, of the snapshots with a name in a file."""
    processes = report(file)["processes"]
    names = [n["name"] for p in processes for n in p.get("named_snapshots", [])]
    return {name: report(file, "--snapshot", name)["processes"][0]["live"]["bytes"] for name in names}


def check_race(live, count):
    """Each snapshot has one block more than the one before, and nothing that came after its call."""
    values = [live[f"race {i}"] for i in range(count)]
    assert values == [values[0] + i * BLOCK for i in range(count)]
    assert values[0] > 500_000  # the block that was freed after the call


def test_the_snapshot_is_exact_at_the_call(under_run, report):
    it = under_run()
    assert it.obey(f"add 10 {BLOCK}") == 0
    assert it.obey("take first") == 0
    assert it.obey("race 30") == 0
    assert it.obey("drop 40") == 0
    assert it.obey("take last one") == 0
    assert it.end() == 0
    live = named(report, it.file)
    assert list(live) == ["first", *(f"race {i}" for i in range(30)), "last one"]
    check_race(live, 30)
    assert live["race 0"] - live["first"] == BLOCK + 500_000
    assert live["first"] - live["last one"] == 10 * BLOCK


def test_names(under_run, report, heapscope, tmp_path):
    it = under_run()
    for name in ["é漢字 \t x", "7", "same", "same", "x" * 63, "'quoted' $(no) \\ \"name\""]:
        assert it.obey("take " + name) == 0
    assert it.obey("take \udcff\udcfe".encode("utf-8", "surrogateescape").decode("latin1")) == 0
    for name, error in [("", EINVAL), ("x" * 64, ENAMETOOLONG), ("x" * 200, ENAMETOOLONG)]:
        assert it.obey("take " + name) == -error
    assert it.end() == 0
    found = [n["name"] for n in report(it.file)["processes"][0]["named_snapshots"]]
    assert found[:6] == ["é漢字 \t x", "7", "same", "same", "x" * 63, "'quoted' $(no) \\ \"name\""]
    assert len(found) == 7
    # By name the last one; a number is a place.
    assert report(it.file, "--snapshot", "same")["processes"][0]["snapshot"] == 3
    assert report(it.file, "--snapshot", "7")["processes"][0]["snapshot"] == 7
    missing = heapscope("report", it.file, "--snapshot", "nothing")
    assert missing.returncode == 1 and "there is no snapshot named 'nothing'; there are 'é" in missing.stderr
    text = heapscope("report", it.file).stdout
    assert "The program took these snapshots: 0 'é漢字 x', 1 '7', 2 'same'" in " ".join(text.split())
    rows = json.loads(heapscope("query", "--format", "json", it.file,
                                "SELECT idx, dump_name FROM heapscope_dumps WHERE dump_name IS NOT NULL").stdout)
    assert [r["dump_name"] for r in rows][:6] == found[:6] and len(rows) == 7
    lines = [json.loads(line) for line in heapscope("export", "--format", "json", it.file).stdout.splitlines()]
    assert [line["name"] for line in lines if line["type"] == "dump" and "name" in line][:4] == found[:4]
    folded = heapscope("export", "--format", "folded", "--snapshot", "same", it.file)
    assert folded.returncode == 0 and folded.stdout


def test_comparing_by_name(under_run, report, heapscope):
    """FILE@NAME, in diff, check and --base, is what --snapshot NAME shows."""
    it = under_run()
    for command in ("add 1 1000", "take before, loading", "add 2 1000", "take me@home"):
        assert it.obey(command) == 0
    assert it.end() == 0
    before, after = f"{it.file}@before, loading", f"{it.file}@me@home"
    live = {name: report(it.file, "--snapshot", name)["totals"]["live"]["bytes"] for name in ("before, loading", "me@home")}
    found = json.loads(heapscope("diff", "--json", before, after).stdout)["total"]
    assert [found["before"], found["after"]] == list(live.values()) and found["after"] > found["before"]
    found = json.loads(heapscope("report", "--json", "--base", before, "--snapshot", "me@home", it.file).stdout)["total"]
    assert [found["before"], found["after"]] == list(live.values())
    assert heapscope("check", "--max-live", live["me@home"], after).returncode == 0
    assert heapscope("check", "--max-live", live["me@home"] - 1, after).returncode == 1
    assert heapscope("check", "--against", before, "--max-growth", live["me@home"] - live["before, loading"], after).returncode == 0
    missing = heapscope("diff", f"{it.file}@nothing", after)
    assert missing.returncode == 1 and "there is no snapshot named 'nothing'; there are 'before, loading', 'me@home'" in missing.stderr
    assert heapscope("diff", before, after, "--snapshots", "0,1").returncode == 2
    assert f"{it.file}x@me: No such file" in heapscope("diff", f"{it.file}x@me", after).stderr


def test_children_and_threads(under_run, report):
    it = under_run()
    assert it.obey(f"add 3 {BLOCK}") == 0
    assert it.obey("fork of the child") == 0
    assert it.obey("vfork nothing") == -EAGAIN
    assert it.obey("threads 20") == 0
    assert it.end() == 0
    processes = report(it.file, "--snapshot", "of the child")["processes"]
    assert len(processes) == 1 and processes[0]["forked_from_pid"] != 0
    assert processes[0]["live"]["bytes"] >= 3 * BLOCK  # it has what its parent had
    live = named(report, it.file)
    assert set(live) == {"of the child", *(f"thread {i}" for i in range(20))}


@pytest.mark.parametrize("options", [[], ["--no-follow"]])
def test_an_attached_process(snapper, dist, report, tmp_path, options):
    need_ptrace()
    it = snapper()
    assert it.obey("take before") == -1000  # there is no client
    file = tmp_path / "attach.pftrace"
    attach = subprocess.Popen([str(dist / "bin/heapscope"), "attach", "-i", "1", "-o", str(file), *options,
                               str(it.process.pid)], env=clean_env(), stderr=subprocess.PIPE, text=True)
    for line in attach.stderr:
        if "attached to" in line:
            break
    assert it.obey("race 10") == 0
    # Without --no-follow the child has a region of its own.
    assert it.obey("fork child") == (-ENOTCONN if options else 0)
    attach.send_signal(signal.SIGINT)
    attach.communicate(timeout=60)
    assert attach.returncode == 0
    assert it.obey("take after") == -ENOTCONN
    live = named(report, file)
    check_race(live, 10)
    assert ("child" in live) == (not options)
    assert it.end() == 0


def test_nobody_records(snapper, dist):
    it = snapper(env=clean_env(LD_PRELOAD=preloadable(dist / "lib/libheapscope_preload.so")))
    assert it.obey("take x") == -ENOTCONN
    assert it.took_ms < 1000
    assert it.end() == 0


def test_a_recorder_that_does_not_answer(under_run, report):
    it = under_run()
    assert it.obey("take first") == 0
    stop_process(it.process.pid)  # heapscope itself
    assert it.obey("take in vain") == -ETIMEDOUT
    assert 1900 <= it.took_ms < 10000
    os.kill(it.process.pid, signal.SIGCONT)
    assert it.obey("take again") == 0
    assert it.end() == 0
    assert list(named(report, it.file)) == ["first", "again"]  # the program had given up the other


def test_a_sandboxed_process(under_run, report):
    it = under_run()
    assert it.obey("take before") == 0
    assert it.obey("sandbox") == 0
    assert it.obey("take in it") == -ENOTCONN
    assert it.end() == 0
    assert list(named(report, it.file)) == ["before"]


@pytest.mark.costly
def test_a_recording_that_is_over(under_run, report):
    it = under_run("--duration", "1500ms")
    assert it.obey("take early") == 0
    wait_until(lambda: it.obey("take late") == -ENOTCONN, "the recording does not end")
    assert it.end() == 0
    assert list(named(report, it.file))[0] == "early"


def test_after_exec(under_run, report):
    it = under_run()
    assert it.obey("take one") == 0
    it.process.stdin.write("exec\n")
    it.process.stdin.flush()
    assert it.process.stdout.readline() == "ready\n"
    assert it.obey("take two") == 0
    assert it.end() == 0
    assert set(named(report, it.file)) == {"one", "two"}


@pytest.mark.skipif(os.geteuid() != 0, reason="making a PID namespace needs root")
def test_in_another_pid_namespace(dist, target, report, tmp_path):
    file = tmp_path / "run.pftrace"
    done = subprocess.run([str(dist / "bin/heapscope"), "run", "-q", "-i", "1", "-o", str(file), "--", shutil.which("unshare"),
                           "--pid", "--fork", target("snapper", "-pthread"), "race 5"], env=clean_env(), text=True,
                          stdout=subprocess.PIPE, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "race 5: 0\n")
    check_race(named(report, file), 5)
