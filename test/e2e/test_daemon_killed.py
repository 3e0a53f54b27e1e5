"""kill -9 of heapscoped: no target is harmed, and the next daemon continues with everything."""

import array
import fcntl
import itertools
import json
import lzma
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest
from binding import own_figures
from daemon import Daemon

from conftest import ROOT, clean_env
from preload import preloadable
from resident import Resident, need_ptrace
from truth import Amounts, Measured, new_truth, read_sites, read_truth, truths_of_children
from waiting import let_time_pass, wait_until


@pytest.fixture
def make_daemon(dist, heapscope, report, tmp_path):
    made = []

    def make(*options, **more):
        folder = tmp_path / f"daemon{len(made)}"
        folder.mkdir()
        made.append(Daemon(dist, heapscope, report, folder, options, **more))
        return made[-1]

    yield make
    for daemon in made:
        daemon.stop_all()


@pytest.fixture
def daemon(make_daemon):
    return make_daemon()


NUMBERS = itertools.count()


@pytest.fixture
def mine():
    """Begins the names of this test's programs. While no daemon records a program, the next session of any daemon that
    matches its name may attach to it: so another test must not match it."""
    return f"k{os.getpid()}-{next(NUMBERS)}-"


@pytest.fixture
def target(target, tmp_path, mine):
    """Programs under names of this test."""

    def call(name, *flags):
        path = tmp_path / (mine + name)
        if not path.exists():
            shutil.copy(target(name, *flags), path)
        return str(path)

    return call


def keepers(daemon):
    """The processes that hold the daemon's state: its socket's path is in their copy of the command
    line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm, open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                if comm.read() == "heapscope-keep\n" and str(daemon.socket).encode() in cmdline.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def kill(daemon):
    assert daemon.end(signal.SIGKILL) == -signal.SIGKILL


def assert_exact(done, truths):
    """Everything that these programs and their children state, and nothing else, under all their
    names. Returns the report."""
    report = done.report("--top", "all", "--view", "alloc_objects")
    paths = [p for truth in truths for p in (truth, *truths_of_children(truth).values())]
    Measured(done, report, read_truth(*paths)).assert_exact()
    return report


def test_a_session_goes_on(daemon, target, tmp_path, mine):
    """Phase 0 before, 1 without a daemon, 2 after: all of it, exactly, in one process."""
    truth = new_truth(tmp_path)
    name = daemon.begin("-n", f"{mine}*", "-i", 1, "--session", "mine", "-o", tmp_path / "mine.pftrace")
    program = daemon.phases(target, truth)
    program.step()
    os.kill(daemon.pid, signal.SIGUSR1)
    wait_until(lambda: daemon.session(name)["dump_count"] == 1)
    before = daemon.session(name)
    kill(daemon)
    program.step()
    daemon.start()
    assert "took over 1 sessions and 1 processes" in daemon.text()
    after = daemon.session(name)
    assert after["state"] == "running" and after["running_count"] == 1
    assert after["start_real_ns"] == before["start_real_ns"] and after["dump_count"] == 1
    assert daemon.client(program.pid)["session"] == name
    program.step()
    done = daemon.stop(name)
    measured = daemon.measured(done, truth)
    measured.assert_exact()
    assert measured.sites.keys() == {"site_phase0", "site_phase1", "site_phase2"}
    (process,) = measured.report["processes"]
    assert process["is_from_startup"] and process["snapshot_count"] == 2 and process["is_final"]
    first = read_sites(done.report("--snapshot", 0, "--view", "alloc_objects", "--top", "all"))
    assert first.keys() == {"site_phase0"}
    program.step()
    assert program.end() == 0


@pytest.mark.costly
def test_any_number_of_times(daemon, target, tmp_path, mine):
    """Kills at random moments, while dumps are written and programs work and end.

    Not while a program says hello: a hello that arrives between two system calls of the daemon
    is lost with it.
    """
    programs = {"threads": target("threads", "-pthread"), "phases": target("phases")}
    truths = [new_truth(tmp_path) for _ in range(9)]
    seed = int(os.environ.get("HEAPSCOPE_TEST_SEED", random.randrange(1 << 30)))
    print("HEAPSCOPE_TEST_SEED", seed)
    chance = random.Random(seed)
    daemon.begin("-n", f"{mine}*", "-i", 1, "--dump-every", "20ms", "--session", "mine")
    program = daemon.launch([programs["phases"]], env={"TRUTH_FILE": truths[8]})
    program.process.stdout.readline()
    for truth in truths[:8]:
        count = daemon.session("mine")["process_count"]
        threads = subprocess.Popen([programs["threads"], "churn"], stdout=subprocess.DEVNULL,
                                   env=daemon.preloaded(TRUTH_FILE=truth))
        wait_until(lambda: daemon.client(threads.pid) or daemon.session("mine")["process_count"] > count)
        let_time_pass(chance.random() * 0.15, "the daemon is killed at any moment")
        kill(daemon)
        let_time_pass(chance.random() * 0.05, "it starts again at any moment")
        daemon.start()
        assert threads.wait(60) == 0
    for _ in range(3):
        program.step()
    done = daemon.stop()
    print(daemon.text())
    assert_exact(done, truths)


def test_who_ended_before_and_meanwhile(daemon, target, tmp_path, mine):
    truths = [new_truth(tmp_path) for _ in range(3)]
    name = daemon.begin("-n", f"{mine}*", "-i", 1)
    assert daemon.run([target("threads", "-pthread"), "storm"], env={"TRUTH_FILE": truths[0]}) == 0
    wait_until(lambda: daemon.session(name)["process_count"] == 1)
    meanwhile = daemon.phases(target, truths[1])
    meanwhile.step()
    kill(daemon)
    meanwhile.step()
    meanwhile.process.kill()
    meanwhile.process.wait()
    # A program that starts without a daemon waits in the queue of the socket.
    assert daemon.run([target("threads", "-pthread"), "churn"], env={"TRUTH_FILE": truths[2]}) == 0
    daemon.start()
    report = assert_exact(daemon.stop(), truths)
    assert len(report["processes"]) == 3 and all(p["is_final"] and p["is_from_startup"] for p in report["processes"])


def test_dormant_programs_are_known_again(daemon, target, tmp_path):
    truth = new_truth(tmp_path)
    program = daemon.phases(target, truth)
    daemon.begin("-p", program.pid, "-i", 1)
    program.step()
    daemon.stop()
    other = daemon.phases(target)
    kill(daemon)
    daemon.start()
    assert daemon.client(program.pid)["is_dormant"] and daemon.client(other.pid)["is_dormant"]
    daemon.begin("-p", program.pid, "-i", 1)
    program.step()
    measured = daemon.measured(daemon.stop(), truth)
    assert measured.sites == {"site_phase1": measured.truth["site_phase1"]}


def test_attached_programs_are_let_go_of_by_the_next_one(daemon, target, tmp_path):
    need_ptrace()
    program = Resident(target("resident", "-pthread", "-ldl"), tmp_path)
    try:
        program.tell("before")
        already = read_truth(program.truth_path)
        daemon.begin("-p", program.pid, "-i", 1)
        wait_until(lambda: daemon.client(program.pid))
        program.tell("work")
        kill(daemon)
        program.tell("work")
        daemon.start()
        report = daemon.stop().report("--top", "all", "--view", "alloc_objects")
        now = read_truth(program.truth_path)
        sites = read_sites(report)
        assert sites == {n: now[n] - already.get(n, Amounts()) for n in sites} and sites
        wait_until(lambda: not daemon.client(program.pid))
        # And a new session can record it again.
        daemon.begin("-p", program.pid, "-i", 1)
        wait_until(lambda: daemon.client(program.pid))
        daemon.stop()
    finally:
        program.stop()


def test_schedules_and_durations_go_on(daemon, target):
    program = daemon.phases(target)
    name = daemon.begin("-p", program.pid, "-d", "3s", "--dump-every", "1s")
    start = time.monotonic()
    let_time_pass(0.3, "a part of the session's duration")
    kill(daemon)
    let_time_pass(1.2, "longer than the time between two dumps")
    daemon.start()
    wait_until(lambda: daemon.session(name)["state"] == "done")
    assert 2.5 < time.monotonic() - start < 6
    assert 2 <= daemon.session(name)["dump_count"] <= 3


def test_commands_say_that_it_was_killed(daemon, target):
    daemon.phases(target)
    kill(daemon)
    done = daemon.ask("list")
    assert done.returncode == 1
    assert "was killed" in done.stderr and "heapscoped &" in done.stderr
    daemon.start()


def test_when_nobody_comes_the_files_are_finished(make_daemon, target, tmp_path, report, mine):
    daemon = make_daemon("--keep", "1s")
    name = daemon.begin("-n", f"{mine}*", "-i", 1, "-o", tmp_path / "x.pftrace")
    program = daemon.phases(target)
    program.step()
    assert daemon.session(name)["state"] == "running" and len(keepers(daemon)) == 1
    kill(daemon)
    program.step()
    wait_until((tmp_path / "x.pftrace").exists)
    sites = read_sites(report(tmp_path / "x.pftrace", "--view", "alloc_objects", "--top", "all"))
    assert {n: a.alloc_count for n, a in sites.items()} == {"site_phase0": 200, "site_phase1": 200}
    wait_until(lambda: not keepers(daemon))
    assert not list(daemon.folder.glob("sock*"))
    program.step()
    assert program.end() == 0
    daemon.start()


def test_keepers_come_and_go_with_their_daemon(make_daemon, target):
    daemon = make_daemon()
    (first,) = keepers(daemon)
    daemon.phases(target)
    kill(daemon)
    daemon.start()
    assert keepers(daemon) == [first]
    assert daemon.end() == 0
    wait_until(lambda: not keepers(daemon))
    assert not list(daemon.folder.glob("sock*"))
    daemon.command += ["--keep", "0s"]
    daemon.start()
    assert not keepers(daemon)


def test_a_keeper_that_is_killed_is_no_harm(daemon, target, tmp_path, mine):
    truth = new_truth(tmp_path)
    daemon.begin("-n", f"{mine}*", "-i", 1)
    (keeper,) = keepers(daemon)
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not keepers(daemon))
    program = daemon.phases(target, truth)
    assert "its recordings are lost" in daemon.text()
    program.step()
    daemon.measured(daemon.stop(), truth).assert_exact()
    kill(daemon)
    daemon.start()  # with an fd holder of its own
    assert len(keepers(daemon)) == 1


def test_a_keeper_that_stands_still_holds_nobody_up(daemon, target, mine):
    (keeper,) = keepers(daemon)
    os.kill(keeper, signal.SIGSTOP)
    try:
        start = time.monotonic()
        daemon.begin("-n", f"{mine}*")
        program = daemon.phases(target)
        program.step()
        daemon.stop()
        assert time.monotonic() - start < 20
    finally:
        os.kill(keeper, signal.SIGCONT)


def test_two_daemons_at_one_place(daemon, target):
    second = subprocess.run(daemon.command, env=clean_env(), capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "another daemon listens" in second.stderr
    assert daemon.answers()


class Supervisor:
    """What systemd does: it keeps descriptors that a service sends, and passes them to the next
    one."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(folder / "sock"))
        self.listener.listen(100)
        self.kept = []  # (name, descriptor)
        self.texts = []

    def hear(self):
        self.sock.settimeout(0)
        while True:
            try:
                data, ancillary, _, _ = self.sock.recvmsg(4096, socket.CMSG_SPACE(64))
            except BlockingIOError:
                return
            fds = array.array("i")
            for _, _, payload in ancillary:
                fds.frombytes(payload[: len(payload) - len(payload) % 4])
            fields = dict(line.split("=", 1) for line in data.decode().splitlines())
            self.texts.append(data.decode())
            if "FDSTOREREMOVE" in fields:
                self.kept = [(name, fd) for name, fd in self.kept if name != fields["FDNAME"] or os.close(fd)]
            elif "FDSTORE" in fields:
                assert len(fields["FDNAME"]) < 256 and ":" not in fields["FDNAME"]
                self.kept += [(fields["FDNAME"], fd) for fd in fds]
            else:
                assert not fds

    def drop_all(self):
        for _, fd in self.kept:
            os.close(fd)
        self.kept = []

    def start(self, command, log):
        self.hear()
        passed = [("heapscope.socket", self.listener.fileno()), *self.kept]
        names = ":".join(name for name, _ in passed)
        # Like systemd: descriptors from 3 on, then exec.
        script = f'exec env LISTEN_PID=$$ LISTEN_FDS={len(passed)} LISTEN_FDNAMES="$0" "$@"'
        high = [os.dup2(fd, 500 + i) for i, (_, fd) in enumerate(passed)]
        redirect = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(high))
        env = clean_env(NOTIFY_SOCKET=self.path, FDSTORE=512)
        try:
            return subprocess.Popen(["/bin/bash", "-c", f"{script} {redirect}", names, *command], env=env, stderr=log,
                                    pass_fds=high)
        finally:
            for fd in high:
                os.close(fd)


@pytest.mark.parametrize("verb", ["restart", "stop and start"])
def test_bound_program_with_systemd(dist, heapscope, report, link, start_bound, tmp_path, verb):
    """systemd keeps descriptors over a restart, so that a program that does nothing is known again at once. It drops them
    when a service is stopped."""
    supervisor = Supervisor(tmp_path)
    command = [str(dist / "bin" / "heapscoped")]
    env = {"HEAPSCOPE_SOCKET": tmp_path / "sock"}
    with (tmp_path / "log").open("a") as log:
        daemon = supervisor.start(command, log)
        try:
            program = start_bound(link("bound"))
            program.tell("keep 300")
            wait_until(lambda: "(bound)" in heapscope("list", env=env).stdout)
            daemon.terminate()
            daemon.wait()
            supervisor.hear()
            if verb == "stop and start":
                supervisor.drop_all()
            daemon = supervisor.start(command, log)
            wait_until(lambda: heapscope("list", env=env).returncode == 0)
            if verb == "stop and start":
                assert "has found no daemon since" in heapscope("snapshot", "-p", program.pid, env=env).stderr
                wait_until(lambda: program.tell("poll") and "(bound)" in heapscope("list", env=env).stdout, every_s=0.1)
            file = tmp_path / "bound.pftrace"
            done = heapscope("snapshot", "-p", program.pid, "-o", file, env=env)
            assert done.returncode == 0, done.stderr
            assert own_figures(report, file) == program.truth() == (31000, 301, 31000, 301)
        finally:
            daemon.terminate()
            daemon.wait()


def test_with_systemd(dist, heapscope, report, target, tmp_path, mine):
    supervisor = Supervisor(tmp_path)
    log = (tmp_path / "log").open("a")
    command = [str(dist / "bin" / "heapscoped")]
    env = {"HEAPSCOPE_SOCKET": tmp_path / "sock"}
    truth = new_truth(tmp_path)
    file = tmp_path / "x.pftrace"
    daemon = supervisor.start(command, log)
    program = None
    try:
        assert heapscope("start", "-n", f"{mine}*", "-i", 1, "-o", file, env=env).returncode == 0
        program = subprocess.Popen([target("phases")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=clean_env(LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"), TRUTH_FILE=truth, **env))
        program.stdout.readline()

        def step():
            program.stdin.write("\n")
            program.stdin.flush()
            program.stdout.readline()

        for _ in range(3):
            step()
            wait_until(lambda: "phases" in heapscope("list", env=env).stdout)
            daemon.kill()
            daemon.wait()
            daemon = supervisor.start(command, log)
            wait_until(lambda: heapscope("list", env=env).returncode == 0)
        assert not any(name.startswith("hs1-listener") for name, _ in supervisor.kept)
        done = heapscope("stop", env=env)
        assert done.returncode == 0, done.stderr
        sites = read_sites(report(file, "--view", "alloc_objects", "--top", "all"))
        assert {n: a.alloc_count for n, a in sites.items()} == {f"site_phase{i}": 200 for i in range(3)}
        supervisor.hear()
        kept = [name.split("-")[1] for name, _ in supervisor.kept]
        assert kept.count("region") == 2 and set(kept) == {"state", "locks", "region"}  # region and pidfd: dormant
        assert any("READY=1" in text for text in supervisor.texts)
    finally:
        daemon.terminate()
        daemon.wait()
        if program:
            program.kill()
            program.communicate()
        log.close()


def a_pid_that_has_ended():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def golden_items(path, folder):
    """The descriptors as the previous daemon left them: (name, descriptor). The process has ended, and
    was started since this machine booted."""
    pid = a_pid_that_has_ended()
    for item in json.loads(lzma.open(path).read()):
        name, parts = item["name"], bytes.fromhex(item["parts"])
        is_region = name.startswith("hs1-target-")
        if item["kind"] == "folder":
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        elif item["kind"] == "file" and name.startswith("hs1-order-"):
            fd = os.open(next(folder.glob(".golden.pftrace.*")), os.O_RDWR)
        elif item["kind"] == "file":
            fd = os.memfd_create("golden", os.MFD_ALLOW_SEALING)
        else:
            continue
        if item["kind"] == "file":
            os.ftruncate(fd, item["size"])
        at = 0
        while at < len(parts):
            off, size = struct.unpack_from("<QQ", parts, at)
            os.pwrite(fd, parts[at + 16 : at + 16 + size], off)
            at += 16 + size
        if is_region:
            clocks = [time.clock_gettime_ns(c) for c in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, time.CLOCK_BOOTTIME)]
            os.pwrite(fd, struct.pack("<QQQ", *clocks), 4096 + 24)
            fcntl.fcntl(fd, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
            name = re.sub(r"(hs1-target)-\d+-\d+", rf"\1-{pid}-{os.geteuid()}", name)
        yield name, fd


@pytest.mark.parametrize("path", sorted((ROOT / "test" / "golden").glob("handover-v*.json.xz")), ids=lambda path: path.name)
def test_the_state_of_an_older_version(path, dist, heapscope, report, tmp_path):
    """Its session continues: the file gets all that its process recorded. Then the state is one of
    today's version, which survives a daemon as well."""
    supervisor = Supervisor(tmp_path)
    log = (tmp_path / "log").open("a")
    env = {"HEAPSCOPE_SOCKET": tmp_path / "sock"}
    (tmp_path / ".golden.pftrace.10277.tmp").touch()
    supervisor.kept = list(golden_items(path, tmp_path))
    daemon = supervisor.start([str(dist / "bin" / "heapscoped")], log)
    try:
        wait_until(lambda: heapscope("list", env=env).returncode == 0)
        said = (tmp_path / "log").read_text()
        assert "session golden of user 0 continues" in said and "took over 1 sessions and 1 processes" in said
        daemon.kill()
        daemon.wait()
        daemon = supervisor.start([str(dist / "bin" / "heapscoped")], log)
        wait_until(lambda: heapscope("list", env=env).returncode == 0)
        assert (tmp_path / "log").read_text().count("took over 1 sessions and 0 processes") == 1
        supervisor.hear()
        assert {name.split("-")[1] for name, _ in supervisor.kept} == {"state", "locks", "files"}
        done = heapscope("stop", env=env)
        assert done.returncode == 0, done.stderr
        # For the report it is another process than that of the first dump: it has another pid.
        processes = report(tmp_path / "golden.pftrace", "--view", "alloc_objects")["processes"]
        # 200 in each phase, and two buffers of stdio.
        assert sorted(process["alloc"]["count"] for process in processes) == [202, 602]
    finally:
        daemon.terminate()
        daemon.wait()
        log.close()


def test_a_request_that_was_not_accepted(daemon):
    """The socket of a killed daemon stays open for the next one, and requests stay in it: the
    command ends all the same."""
    os.kill(daemon.pid, signal.SIGSTOP)
    with subprocess.Popen([daemon.dist / "bin" / "heapscope", "stop"], env=clean_env(**daemon.env),
                          stderr=subprocess.PIPE, text=True) as stop:
        wait_until(lambda: "poll" in pathlib.Path(f"/proc/{stop.pid}/wchan").read_text(encoding="ascii"))
        kill(daemon)
        _, said = stop.communicate(timeout=30)
    assert stop.returncode == 1
    assert "the daemon was killed before it answered; its recordings are kept" in said


def catch_finisher(daemon, stop):
    """Stops the process that looks up names for the whole file and renames it. None: `stop`, for
    which it works, already has its answer."""
    while stop.poll() is None:
        try:
            with open(f"/proc/{daemon.pid}/task/{daemon.pid}/children", encoding="ascii") as children:
                for pid in map(int, children.read().split()):
                    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                    comm = pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
                    # It has closed the daemon's descriptors.
                    if comm == "heapscope-final" and "anon_inode:[eventpoll]" not in links:
                        os.kill(pid, signal.SIGSTOP)
                        return pid
        except OSError:
            pass
    return None


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("is_killed", [False, True], ids=["goes on", "is killed, too"])
def test_a_file_is_finished_once(daemon, tmp_path, report, is_killed, mine):
    file = tmp_path / "x.pftrace"
    finisher = None
    python = shutil.copy("/usr/bin/python3", tmp_path / f"{mine}python3")
    for _ in range(10):
        daemon.begin("-n", python.name, "--no-running", "-i", 64, "-o", file)
        daemon.run([python, "-c", "import json, sqlite3, unittest, ssl, asyncio"])
        with subprocess.Popen([daemon.dist / "bin" / "heapscope", "stop"], env=clean_env(**daemon.env),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as stop:
            finisher = catch_finisher(daemon, stop)
            if finisher:
                kill(daemon)
                assert stop.wait(30) == 1
                break
        file.unlink()
    assert finisher, "it was quicker than we ten times"
    if is_killed:
        os.kill(finisher, signal.SIGKILL)
    daemon.start()
    if not is_killed:
        assert "a process of the previous daemon is finishing it" in daemon.text()
        assert not file.exists()
        os.kill(finisher, signal.SIGCONT)
    wait_until(file.exists)
    (process,) = report(file)["processes"]
    assert process["is_final"] and process["alloc"]["bytes"] > 1_000_000
    assert not list(tmp_path.glob(".*"))
    assert "PyObject" in str(report(file)["stacks"])
