"""Output of older versions: their clients with today's daemon, their traces with today's readers.
See test/golden/README.md."""

import json
import lzma
import pathlib
import platform
import sqlite3
import subprocess
import sys

import pytest
from conftest import ROOT, clean_env
from daemon import Daemon
from preload import preloadable
from truth import new_truth
from waiting import wait_until

GOLDEN = ROOT / "test" / "golden"
CLIENTS = sorted(GOLDEN.glob(f"client-v*-{platform.machine()}.so.xz"))
REGIONS = sorted(GOLDEN.glob("region-v*.xz"))
TRACES = sorted(GOLDEN.glob("trace-v*.pftrace"))


class OldClients(Daemon):
    """Today's daemon with programs that were started with another client."""

    library = None

    def preloaded(self, **env):
        return clean_env(LD_PRELOAD=preloadable(self.library), **self.env, **env)


@pytest.fixture
def daemon_class():
    return OldClients


@pytest.fixture(params=CLIENTS or [None], ids=lambda path: path.name if path else "none")
def old(request, daemon, tmp_path):
    if not request.param:
        pytest.skip(f"no client was kept for {platform.machine()}")
    daemon.library = tmp_path / "client.so"
    daemon.library.write_bytes(lzma.open(request.param).read())
    return daemon


def test_there_are_some():
    assert REGIONS and TRACES and list(GOLDEN.glob("client-v*"))


# --- clients ------------------------------------------------------------------------------------


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("program", [["threads", "churn"], ["family"], ["processes", "fork"]], ids=" ".join)
def test_from_the_first_allocation(old, target, tmp_path, program):
    truth = new_truth(tmp_path)
    old.begin("-n", f"{program[0]}-*", "-i", 1)
    assert old.run([target(program[0], "-pthread"), *program[1:]], env={"TRUTH_FILE": truth}) == 0
    old.measured(old.stop(), truth).assert_exact()


def test_sessions_one_after_the_other(old, target, tmp_path, report):
    """A session begins on a running program, ends, and a new one begins; with a snapshot in
    between."""
    truth = new_truth(tmp_path)
    program = old.phases(target, truth)
    for phase in range(3):
        old.begin("-p", program.pid, "-i", 1)
        program.step()
        done = old.ask("snapshot", "-q", "-p", program.pid, "-o", tmp_path / "now.pftrace")
        assert done.returncode == 0, done.stderr
        measured = old.measured(old.stop(), truth)
        site = f"site_phase{phase}"
        assert measured.sites == {site: measured.truth[site]} and not measured.losses
        assert report(tmp_path / "now.pftrace")["totals"]["live"] == measured.report["totals"]["live"]
    program.step()
    assert program.end() == 0


def test_a_daemon_that_was_there_before(old, target):
    """The daemon is killed in the middle of a session, and the program continues."""
    program = old.phases(target)
    old.begin("-p", program.pid, "-i", 1)
    program.step()
    old.end(by=9)
    program.step()
    old.start()
    program.step()
    assert program.end() == 0


# --- regions ------------------------------------------------------------------------------------

PEER = """
import array, fcntl, lzma, os, socket, struct, sys, time
data = lzma.open(sys.argv[1]).read()
hello, at = data[:64], 64
fd = os.memfd_create("region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.ftruncate(fd, struct.unpack_from("<Q", hello, 24)[0])
while at < len(data):
    off, size = struct.unpack_from("<QQ", data, at)
    os.pwrite(fd, data[at + 16:at + 16 + size], off)
    at += 16 + size
# The header, behind the control page: it began just now.
clocks = [time.clock_gettime_ns(c) for c in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, time.CLOCK_BOOTTIME)]
os.pwrite(fd, struct.pack("<QQQ", *clocks), 4096 + 24)
version = struct.unpack("<I", os.pread(fd, 4, 4096 + 8))[0]
os.pwrite(fd, struct.pack("<I", version + int(sys.argv[3])), 4096 + 8)
fcntl.fcntl(fd, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
# It takes the name that the session asks for at the last moment: the daemon attaches to a process that has it before.
begin, end = map(int, open("/proc/self/stat").read().rsplit(")", 1)[1].split()[45:47])
with open("/proc/self/mem", "r+b", 0) as mem:
    mem.seek(begin)
    title = mem.read(end - begin)
    mem.seek(begin)
    mem.write(title.replace(b"golden-wait.py", b"golden-peer.py"))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
    sock.connect(sys.argv[2])
    sock.sendmsg([hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
os.close(fd)
print("said", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=REGIONS, ids=lambda path: path.name)
def replay(request, daemon):
    """replay(HOW_MUCH_NEWER): a process that hands over a region as if it had written it."""
    script = daemon.folder / "golden-wait.py"
    script.write_text(PEER)
    started = []

    def call(newer=0):
        command = [sys.executable, script, request.param, daemon.socket, str(newer)]
        process = subprocess.Popen(list(map(str, command)), env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        started.append(process)
        assert process.stdout.readline() == "said\n"
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


def phases_of(report):
    """The known figures of phases.c: (allocated bytes, count, live bytes, count) of its sites,
    without their names."""
    assert report["losses"] == []
    return sorted((s["alloc"]["bytes"], s["alloc"]["count"], s["live"]["bytes"], s["live"]["count"])
                  for s in report["stacks"] if s["alloc"]["count"] == 200)


KNOWN = [(20000, 200, 0, 0), (20200, 200, 0, 0), (20400, 200, 10200, 100)]


def test_a_region_is_read(daemon, replay, report, tmp_path):
    name = daemon.begin("-n", "golden-peer.py", "--no-running", "-i", 1)
    process = replay()
    wait_until(lambda: daemon.session(name)["running_count"] == 1)
    assert daemon.session(name)["sample_count"] >= 600
    done = daemon.ask("snapshot", "-q", "-p", process.pid, "-o", tmp_path / "now.pftrace")
    assert done.returncode == 0, done.stderr
    process.kill()
    process.wait()
    wait_until(lambda: daemon.session(name)["running_count"] == 0)
    last = daemon.stop(name).report("--top", "all", "--view", "alloc_objects")
    now = report(tmp_path / "now.pftrace", "--top", "all", "--view", "alloc_objects")
    assert phases_of(last) == phases_of(now) == KNOWN
    assert pathlib.Path(last["processes"][0]["cmdline"]).name == "phases" and last["processes"][0]["is_from_startup"]


def test_a_region_of_a_version_to_come(daemon, replay):
    """It cannot be read, and does no harm. (heapscope then attaches to the script as to a program
    without a client.)"""
    name = daemon.begin("-n", "golden-peer.py", "--no-running", "-i", 1)
    process = replay(newer=1)
    other = replay()
    wait_until(lambda: daemon.client(other.pid))
    assert process.poll() is None
    for one in (process, other):
        one.kill()
        one.wait()
    wait_until(lambda: daemon.session(name)["running_count"] == 0)
    found = daemon.stop(name).report()["processes"]
    assert other.pid in [p["pid"] for p in found] and {p["pid"] for p in found} <= {process.pid, other.pid}


# --- traces -------------------------------------------------------------------------------------

# (allocated bytes, objects, live bytes, objects) of phases.c after each of its phases, without what libc allocates.
PHASES = [{"site_phase0": (20000, 200, 10000, 100)},
          {"site_phase0": (20000, 200, 0, 0), "site_phase1": (20200, 200, 10100, 100)},
          {"site_phase0": (20000, 200, 0, 0), "site_phase1": (20200, 200, 0, 0), "site_phase2": (20400, 200, 10200, 100)}]
OWN = """SELECT d.idx, n.name, s.alloc_bytes, s.alloc_count, s.live_bytes, s.live_count FROM heapscope_samples s
  JOIN heapscope_dumps d ON d.id = s.dump_id JOIN heapscope_nodes n ON n.id = s.node_id WHERE n.name LIKE 'site%'"""
PERFETTO = """SELECT h.idx, y.name, sum(max(a.size, 0)), sum(max(a.count, 0)), sum(a.size), sum(a.count)
  FROM (SELECT ts_end, upid, row_number() OVER (ORDER BY ts_end) - 1 AS idx FROM heap_profile) h
  JOIN heap_profile_allocation a ON a.upid = h.upid AND a.ts <= h.ts_end
  JOIN stack_profile_callsite c ON c.id = a.callsite_id JOIN stack_profile_frame f ON f.id = c.frame_id
  JOIN stack_profile_symbol y USING (symbol_set_id) WHERE y.name LIKE 'site%' GROUP BY h.idx, y.name"""


@pytest.fixture(params=TRACES, ids=lambda path: path.name)
def kept(request):
    return request.param


def test_report_of_a_kept_trace(kept, report):
    for number, want in enumerate(PHASES):
        data = report(kept, "--snapshot", number, "--top", "all", "--view", "alloc_objects")
        leaves = {s["frames"][0]["function"]: s for s in data["stacks"]}
        got = {name: (s["alloc"]["bytes"], s["alloc"]["count"], s["live"]["bytes"], s["live"]["count"])
               for name, s in leaves.items() if name.startswith("site_")}
        assert got == want and data["losses"] == []
    assert data["totals"]["peak"]["bytes"] == 38692
    process, = data["processes"]
    assert pathlib.Path(process["cmdline"]).name == "phases" and process["is_from_startup"] and process["snapshot_count"] == 3


@pytest.mark.parametrize("sql", [OWN, PERFETTO], ids=["own", "perfetto"])
def test_a_kept_trace_as_tables(kept, heapscope, tmp_path, sql):
    out = tmp_path / "x.sqlite"
    assert heapscope("export", "-q", kept, "-o", out).returncode == 0
    with sqlite3.connect(out) as db:
        exported = db.execute(sql).fetchall()
    done = heapscope("query", "--format", "json", kept, sql)
    assert done.returncode == 0, done.stderr
    for rows in (exported, [tuple(row.values()) for row in json.loads(done.stdout)]):
        phases = [{}, {}, {}]
        for idx, name, *figures in rows:
            phases[idx][name] = tuple(figures)
        assert phases == PHASES


def test_what_is_beside_the_heap_of_a_kept_trace(kept, heapscope):
    sql = """SELECT (SELECT count(*) FROM process_counter_track WHERE name LIKE 'mem.%') AS tracks,
      (SELECT count(*) FROM counter WHERE value > 0) AS counters, (SELECT count(DISTINCT ts) FROM profiler_smaps) AS smaps,
      (SELECT count(*) FROM counter_track WHERE name = 'MemTotal') AS machine, (SELECT count(*) FROM clock_snapshot) AS clocks,
      (SELECT sum(value) FROM stats WHERE severity <> 'info') AS faults, (SELECT count(*) FROM heapscope_losses) AS losses"""
    row, = json.loads(heapscope("query", "--format", "json", kept, sql).stdout)
    assert row["tracks"] == 14 and row["counters"] >= 40 and row["smaps"] == 2 and row["machine"] == 1 and row["clocks"] >= 4
    assert row["faults"] == row["losses"] == 0


@pytest.mark.parametrize("form", ["pprof", "folded", "speedscope", "svg", "massif", "json", "memory-infra"])
def test_a_kept_trace_in_every_format(kept, heapscope, report, tmp_path, form):
    out = tmp_path / "out"
    done = heapscope("export", "-q", "-f", form, *([] if form in ("json", "pprof", "massif") else ["--view", "space"]), kept,
                     "-o", out)
    assert done.returncode == 0, done.stderr
    if form == "pprof":
        assert report(out)["totals"]["live"]["bytes"] == 18392
    elif form == "folded":
        assert sum(int(line.rpartition(" ")[2]) for line in out.read_text().splitlines()) == 18392
    else:
        assert "site_phase2" in out.read_text()
