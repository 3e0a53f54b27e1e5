"""heapscoped with many clients: 500 programs that start at the same moment, and 100 sessions of one
user.

The cost is printed (pytest -s), and stated in docs/PERFORMANCE.md.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from conftest import clean_env
from daemon import Daemon
from preload import preloadable
from truth import read_sites
from waiting import let_time_pass, wait_until

pytestmark = pytest.mark.alone("hundreds of processes start and end at once, and delay every other test")

AS_NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
CLIENTS = 500
SESSIONS = 100


class Crowd:
    """test/target/crowd.c: processes that wait to start together."""

    def __init__(self, daemon, program, count, **who):
        env = clean_env(CROWD_PRELOAD=preloadable(daemon.dist / "lib" / "libheapscope_preload.so"), **daemon.env)
        self.process = subprocess.Popen([program, str(count)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **who)
        self.pids = [int(self.process.stdout.readline()) for _ in range(count)]

    def start(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def work(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGUSR1)

    def end(self):
        """They die with their parent, a moment later."""
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(30) == 0
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in self.pids))


class Costs:
    """What the daemon has used since this object was made."""

    def __init__(self, daemon):
        self.proc = pathlib.Path(f"/proc/{daemon.pid}")
        self.start_s, self.start_cpu_s = time.monotonic(), self.cpu_s()

    def cpu_s(self):
        return int((self.proc / "schedstat").read_text().split()[0]) / 1e9

    def since(self):
        """Seconds of wall time and of CPU time."""
        return time.monotonic() - self.start_s, self.cpu_s() - self.start_cpu_s

    def memory_kib(self):
        lines = (self.proc / "smaps_rollup").read_text().splitlines()[1:]
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        return {name: sizes[name] for name in ("Rss", "Pss", "Private_Dirty")}

    def fds(self):
        return len(os.listdir(self.proc / "fd"))


@pytest.fixture
def crowded(dist, heapscope, report, target):
    """crowded(COUNT, shell=...): a daemon of a user who is not root, if the test may choose one,
    and a crowd of that user."""
    made = []
    place = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="heapscoped-"))
    place.chmod(0o777)

    def call(count, **more):
        who = AS_NOBODY if os.geteuid() == 0 else {}
        made.append(Daemon(dist, heapscope, report, place, user=who.get("user"), **more))
        made.append(Crowd(made[0], target("crowd"), count, **who))
        return *made, who

    yield call
    if len(made) > 1:
        made[1].end()
    if made:
        made[0].stop_all()
    shutil.rmtree(place)


def registered(daemon, crowd):
    return {c["pid"] for c in daemon.list()["clients"]} & set(crowd.pids)


def idle_share(daemon, seconds):
    costs = Costs(daemon)
    let_time_pass(seconds, "what the daemon does while nothing happens is measured")
    on_clock, of_cpu = costs.since()
    return of_cpu / on_clock


def begin_sessions(daemon, pids, who):
    """One for each process, made by the command."""
    files = []
    for pid in pids:
        files.append(daemon.folder / f"{pid}.pftrace")
        done = daemon.ask("start", "-q", "-p", pid, "-i", 1, "--session", f"of-{pid}", "-o", files[-1], **who)
        assert done.returncode == 0, done.stderr
    return files


def turns_inode(daemon):
    """The file in which each process that finishes a session locks a byte; None: it does not exist
    yet."""
    for fd in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it may be closed in the meantime
            if fd.readlink().name.startswith("memfd:turns"):
                return str(fd.stat().st_ino)
    return None


def finishers(daemon):
    """How many bytes of the file are locked, and how many of the daemon's processes wait for one. The kernel makes
    /proc/locks anew for each page that is read, so one lock may be listed under its old owner and its new one: bytes
    are counted, not lines."""
    inode = turns_inode(daemon)
    # "7: POSIX ADVISORY WRITE 4711 00:01:77 0 0"; a waiting process has an arrow behind the number
    locks = [line for line in pathlib.Path("/proc/locks").read_text().splitlines() if f":{inode} " in line]
    locked = {line.split()[-2] for line in locks if "->" not in line}
    return len(locked), sum("->" in line for line in locks)


def stop_all_at_once(daemon, pids, who):
    """How many processes worked on the files at the same time, at most, and how many waited."""
    command = [daemon.dist / "bin" / "heapscope", "stop", "-q"]
    stops = [subprocess.Popen([*command, f"of-{pid}"], env=clean_env(**daemon.env), stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, **who) for pid in pids]
    seen = [(0, 0)]
    while any(stop.poll() is None for stop in stops):
        seen.append(finishers(daemon))
        let_time_pass(0.002, "how often it looks")
    said = [stop.communicate(timeout=120)[1] for stop in stops]
    assert [(stop.returncode, text) for stop, text in zip(stops, said) if stop.returncode] == []
    return max(working for working, _ in seen), max(waiting for _, waiting in seen)


@pytest.mark.costly
@pytest.mark.parametrize("idle_s", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_500_programs_and_100_sessions(crowded, report, idle_s):
    # The daemon starts with few descriptors and raises the limit as far as it is allowed.
    daemon, crowd, who = crowded(CLIENTS, shell="ulimit -S -n 64")
    before = Costs(daemon)
    fds, memory = before.fds(), before.memory_kib()
    crowd.start()
    wait_until(lambda: before.fds() >= fds + 2 * CLIENTS, "not all announced themselves")
    took_s, cpu_s = before.since()
    assert registered(daemon, crowd) == set(crowd.pids)
    let_time_pass(0.3, "what the daemon still allocates for the last of them shall count")
    now = before.memory_kib()
    print(f"\n{CLIENTS} programs announced after {took_s:.2f} s, {cpu_s * 1e6 / CLIENTS:.0f} us of the daemon each; "
          f"{before.fds()} descriptors, {now} KiB, before {memory}")
    assert cpu_s / CLIENTS < 0.002
    assert (now["Pss"] - memory["Pss"]) / CLIENTS < 32

    dormant = idle_share(daemon, idle_s)
    print(f"all dormant: {dormant:.4%} CPU over {idle_s} s")
    assert dormant < 0.001

    pids = crowd.pids[:SESSIONS]
    costs = Costs(daemon)
    files = begin_sessions(daemon, pids, who)
    on_clock, of_cpu = costs.since()
    print(f"{SESSIONS} sessions begun in {on_clock:.2f} s by as many commands, {of_cpu * 1000:.0f} ms of the daemon")
    crowd.work(pids)
    wait_until(lambda: all(s["sample_count"] >= 100 for s in daemon.list()["sessions"]))
    recorded = idle_share(daemon, idle_s)
    print(f"{SESSIONS} recorded, in a session each: {recorded:.3%} CPU, {costs.memory_kib()} KiB, {costs.fds()} descriptors")
    # In the first second, a process's counters are read ten times, for 70 to 100 us each; soon after, once a second.
    assert recorded < (0.20 if idle_s == 1 else 0.05)

    costs = Costs(daemon)
    working, waiting = stop_all_at_once(daemon, pids, who)
    on_clock, of_cpu = costs.since()
    print(f"{SESSIONS} sessions stopped at once: files after {on_clock:.2f} s, {of_cpu * 1000:.0f} ms of the daemon; "
          f"{working} worked on them at a time, {waiting} waited")
    assert 1 <= working <= max(2, os.cpu_count()) and waiting > 0
    for pid, file in zip(pids, files):
        data = report(file, "--top", "all")
        assert [p["pid"] for p in data["processes"]] == [pid]
        assert read_sites(data)["site_guest"].live_count == 50 and not data["losses"]
    assert registered(daemon, crowd) == set(crowd.pids)


def test_more_programs_than_descriptors(crowded):
    """A client that does not fit waits, unharmed and unknown, until others have ended; commands are
    answered as soon as there is room."""
    daemon, crowd, _ = crowded(200, shell="ulimit -n 200")
    crowd.start()
    costs = Costs(daemon)
    wait_until(lambda: costs.fds() > 190)
    assert idle_share(daemon, 1) < 0.05
    assert daemon.text().count("all 200 descriptors are in use") == 1
    gone = crowd.pids[:150]
    assert all(os.path.exists(f"/proc/{pid}") for pid in crowd.pids)
    for pid in gone:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: registered(daemon, crowd) == set(crowd.pids) - set(gone))
