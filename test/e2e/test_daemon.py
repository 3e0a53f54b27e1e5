"""heapscoped: sessions by name and pid, dumps, snapshots, and what happens when the daemon or its
targets end."""

import gzip
import os
import signal
import socket
import subprocess

import pytest
from daemon import Daemon

from conftest import clean_env
from preload import preloadable
from resident import Resident, need_ptrace
from truth import Amounts, new_truth, read_sites, read_truth
from waiting import stop_process, wait_for_program, wait_until

PYTHON = "/usr/bin/python3"


# --- programs that start ------------------------------------------------------------------------


@pytest.mark.parametrize("program", [["threads", "churn"], ["family"], ["processes", "fork"], ["processes", "daemon"]],
                         ids=" ".join)
def test_a_program_that_starts_is_recorded_from_its_first_allocation(daemon, target, tmp_path, program):
    truth = new_truth(tmp_path)
    name = daemon.begin("-n", f"{program[0]}-*", "-i", 1)
    assert daemon.run([target(program[0], "-pthread"), *program[1:]], env={"TRUTH_FILE": truth}) == 0
    if program[-1] == "daemon":
        wait_until(lambda: daemon.session(name)["running_count"] == 0)
    done = daemon.stop()
    measured = daemon.measured(done, truth)
    measured.assert_exact()
    assert all(p["is_from_startup"] for p in measured.report["processes"])


def test_a_program_that_is_not_meant_is_left_alone(daemon, target):
    daemon.begin("-n", "something-else", "-i", 1, "--session", "mine")
    program = daemon.phases(target)
    assert daemon.client(program.pid)["is_dormant"]
    program.step()
    done = daemon.ask("stop", "mine")
    assert done.returncode == 1
    assert "no process was recorded" in done.stderr
    assert not list(daemon.folder.glob("*.pftrace")) and not list(daemon.folder.glob(".*"))


def test_each_session_has_its_own_programs(daemon, target, tmp_path):
    truths = [new_truth(tmp_path)]
    daemon.begin("-n", "threads-*", "-i", 1, "--session", "threads")
    daemon.begin("-n", "family-*", "-i", 1, "--session", "family")
    daemon.run([target("threads", "-pthread"), "storm"], env={"TRUTH_FILE": truths[0]})
    truths.append(new_truth(tmp_path))
    daemon.run([target("family", "-pthread")], env={"TRUTH_FILE": truths[1]})
    for name, truth in zip(("threads", "family"), truths):
        daemon.measured(daemon.stop(name), truth).assert_exact()


def test_exec_and_short_processes(daemon):
    daemon.begin("-n", "sh", "-n", "python3", "-i", 1, "--no-running")
    assert daemon.run(["/bin/sh", "-c", "for i in 1 2 3; do /bin/true; done; exec /usr/bin/python3 -c 'exit(3)'"]) == 3
    processes = daemon.stop().report()["processes"]
    assert [p["name"] for p in processes] == ["sh", "python3"]
    assert processes[0]["pid"] == processes[1]["pid"]
    assert all(p["is_final"] and p["is_from_startup"] for p in processes)


def test_scripts_by_their_name(daemon, tmp_path):
    script = tmp_path / "server.py"
    script.write_text("x = bytes(300000)\n")
    daemon.begin("-n", "server.py", "--no-running")
    daemon.run([PYTHON, "-c", "pass"])
    daemon.run([PYTHON, str(script)])
    (process,) = daemon.stop().report()["processes"]
    assert process["cmdline"].endswith("server.py")


def test_no_startup_and_no_running(daemon, target):
    running = daemon.phases(target)
    only_running = daemon.begin("-n", "phases-*", "--no-startup", "--session", "running")
    assert only_running == "running"
    started = daemon.phases(target)
    assert daemon.client(started.pid)["is_dormant"]
    daemon.begin("-n", "phases-*", "--no-running", "--session", "starting")
    assert daemon.client(started.pid)["is_dormant"]
    third = daemon.phases(target)
    assert daemon.client(third.pid)["session"] == "starting"
    assert daemon.client(running.pid)["session"] == "running"


# --- programs that run --------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["name", "pid"])
def test_of_a_running_program_only_what_comes_after(daemon, target, tmp_path, by):
    truth = new_truth(tmp_path)
    program = daemon.phases(target, truth)
    program.step()
    name = daemon.begin(*(["-n", "phases-*"] if by == "name" else ["-p", program.pid]), "-i", 1)
    program.step()
    done = daemon.stop(name)
    measured = daemon.measured(done, truth)
    assert measured.sites.keys() == {"site_phase1"}
    assert measured.sites["site_phase1"] == measured.truth["site_phase1"]
    assert not measured.losses
    (process,) = measured.report["processes"]
    assert not process["is_from_startup"]
    program.step()  # not recorded, and not harmed
    assert program.end() == 0


@pytest.mark.costly
def test_threads_notice_a_session(daemon, target, tmp_path):
    """Four threads that were dormant, each with a countdown of its own."""
    truth = new_truth(tmp_path)
    program = daemon.launch([target("endless", "-pthread"), "3"], env={"TRUTH_FILE": truth})
    name = daemon.begin("-p", program.pid, "-i", 4096)
    wait_until(lambda: daemon.session(name)["sample_count"] > 500)
    report = daemon.stop().report()
    assert len({t["tid"] for t in report["threads"]}) == 4 if "threads" in report else True
    assert {"site_kept", "site_churned", "site_grown"} <= read_sites(report).keys() | {"site_churned", "site_grown"}
    dormant = [daemon.client(program.pid)]
    assert dormant[0]["is_dormant"]


def test_a_session_by_pid_ends_with_its_process(daemon, target):
    program = daemon.phases(target)
    name = daemon.begin("-p", program.pid, "-i", 1)
    program.step()
    assert program.end() == 0
    wait_until(lambda: daemon.session(name)["state"] == "done")
    done = daemon.stop(name)  # the session is already over: the command says where its file is
    assert done.report()["processes"][0]["pid"] == program.pid


def test_duration_and_scheduled_dumps(daemon, target):
    program = daemon.phases(target)
    name = daemon.begin("-p", program.pid, "-d", "1300ms", "--dump-every", "400ms", "--dump-phase", "200ms")
    wait_until(lambda: daemon.session(name)["state"] == "done")
    session = daemon.session(name)
    assert 4 <= session["dump_count"] <= 5  # at 0.2, 0.6, 1.0 s, and the end
    assert 1.2e9 < session["end_real_ns"] - session["start_real_ns"] < 3e9
    (process,) = daemon.stop(name).report()["processes"]
    assert process["snapshot_count"] == session["dump_count"]


def test_dump_above_a_limit(daemon, target):
    code = "import time\nx=[]\nfor i in range(40): x.append(bytes(200000)); time.sleep(0.03)\ntime.sleep(60)"
    program = daemon.launch([PYTHON, "-c", code])
    name = daemon.begin("-p", program.pid, "--dump-above", "2M")
    wait_until(lambda: daemon.session(name)["dump_count"] == 1)
    live = daemon.stop().report("--snapshot", 0)["totals"]["live"]["bytes"]
    assert 2 << 20 < live < 5 << 20


def test_sigusr1_dumps_all_that_is_recorded(daemon, target):
    programs = [daemon.phases(target) for _ in range(2)]
    for i, program in enumerate(programs):
        daemon.begin("-p", program.pid, "-i", 1, "--session", f"s{i}")
        program.step()
    os.kill(daemon.pid, signal.SIGUSR1)
    wait_until(lambda: daemon.session("s0")["dump_count"] == daemon.session("s1")["dump_count"] == 1)
    for program in programs:
        program.step()
    for i in range(2):
        done = daemon.stop(f"s{i}")
        first, last = (read_sites(done.report("--snapshot", n, "--view", "alloc_objects", "--top", "all")) for n in (0, 1))
        assert first.keys() == {"site_phase0"} and last.keys() == {"site_phase0", "site_phase1"}


def test_the_file_grows_only_by_what_changes(daemon, target):
    program = daemon.phases(target)
    name = daemon.begin("-p", program.pid, "-i", 1)
    program.step()
    sizes = []
    for rounds in (10, 40):
        for _ in range(rounds):
            dumps = daemon.session(name)["dump_count"]
            os.kill(daemon.pid, signal.SIGUSR1)
            wait_until(lambda: daemon.session(name)["dump_count"] > dumps)
        sizes.append(daemon.session(name)["file_bytes"])
    # Unchanged stacks are not written again: a dump is little more than a header.
    assert (sizes[1] - sizes[0]) / 40 < 500, sizes
    daemon.stop()


# --- one session per process --------------------------------------------------------------------


def test_a_process_has_one_session(daemon, target, tmp_path):
    truth = new_truth(tmp_path)
    program = daemon.phases(target, truth)
    first = daemon.begin("-n", "phases-*", "-i", 1)
    second = daemon.ask("start", "-p", program.pid, "-o", tmp_path / "second.pftrace")
    assert second.returncode == 1
    assert f"another session records it, {first}" in second.stderr
    wait_until((tmp_path / "second.pftrace").exists)
    rejected = daemon._report(tmp_path / "second.pftrace")
    assert [p["pid"] for p in rejected["processes"]] == [program.pid]
    assert {loss["name"] for loss in rejected["losses"]} == {"rejected_concurrent"}
    third = daemon.begin("-n", "phases-*", "-i", 100)
    program.step()
    daemon.measured(daemon.stop(first), truth).assert_exact()
    assert {loss["name"] for loss in daemon.stop(third).report()["losses"]} == {"rejected_concurrent"}


def test_a_process_that_was_recorded_before(daemon, target, tmp_path):
    """Each session has only what was allocated while it lasted."""
    truth = new_truth(tmp_path)
    program = daemon.phases(target, truth)
    for phase in range(3):
        daemon.begin("-p", program.pid, "-i", 1)
        program.step()
        measured = daemon.measured(daemon.stop(), truth)
        site = f"site_phase{phase}"
        assert measured.sites == {site: measured.truth[site]}
        assert not measured.losses
    daemon.begin("-p", program.pid)
    assert program.end() == 0  # before it allocates anything more
    wait_until(lambda: daemon.list()["sessions"][-1]["state"] in ("failed", "done"))


def test_a_process_without_the_recorder(daemon, target, tmp_path):
    """The daemon attaches for each session, and detaches afterwards."""
    need_ptrace()
    program = Resident(target("resident", "-pthread", "-ldl"), tmp_path)
    try:
        program.tell("before")
        for _ in range(3):
            already = read_truth(program.truth_path)
            daemon.begin("-p", program.pid, "-i", 1)
            wait_until(lambda: daemon.client(program.pid))
            program.tell("work")
            report = daemon.stop().report("--top", "all", "--view", "alloc_objects")
            now = read_truth(program.truth_path)
            sites = read_sites(report)
            assert sites == {n: now[n] - already.get(n, Amounts()) for n in sites} and sites
            assert "site_before" not in sites and not report["losses"]
            wait_until(lambda: not daemon.client(program.pid))
    finally:
        program.stop()
    done = daemon.ask("start", "-p", program.pid, "-o", daemon.folder / "x")
    assert done.returncode == 1 and "no such process" in done.stderr


@pytest.mark.costly
def test_one_session_right_after_the_other(daemon, target, tmp_path):
    """The first session is still detaching from the process when the second one requests it."""
    need_ptrace()
    program = Resident(target("resident", "-pthread", "-ldl"), tmp_path)
    try:
        for _ in range(12):
            name = daemon.begin("-p", program.pid, "-i", 1)
            wait_until(lambda: daemon.session(name)["running_count"] == 1)
            program.tell("work")
            report = daemon.stop().report("--top", "all", "--view", "alloc_objects")
            assert read_sites(report) and not report["losses"]
    finally:
        program.stop()


def test_a_process_that_cannot_be_attached_to(daemon, target, tmp_path):
    need_ptrace()
    program = Resident(target("resident", "-pthread", "-ldl"), tmp_path)
    try:
        stop_process(program.pid)
        daemon.begin("-p", program.pid)
        wait_until(lambda: daemon.list()["sessions"][-1]["state"] == "done")
        done = daemon.stop(daemon.list()["sessions"][-1]["session"])
        assert f"process {program.pid} cannot be attached to" in done.stderr and "stopped" in done.stderr
        refused = done.report()["not_profiled"]
        assert [(r["pid"], r["reason"]) for r in refused] == [(program.pid, "refused_no_client")]
        assert "stopped" in refused[0]["text"] and "kill -CONT" in refused[0]["remedy"]
    finally:
        program.stop()


# --- snapshots ----------------------------------------------------------------------------------


def test_snapshot(daemon, target, tmp_path, monkeypatch, report):
    monkeypatch.chdir(tmp_path)
    program = daemon.phases(target)
    name = daemon.begin("-p", program.pid, "-i", 1)
    program.step()
    done = daemon.ask("snapshot", "-o", "now.pb.gz")
    assert done.returncode == 0, done.stderr
    assert f"process {program.pid}" in done.stderr and f"session {name}" in done.stderr
    assert b"site_phase0" in gzip.decompress((tmp_path / "now.pb.gz").read_bytes())
    assert daemon.ask("snapshot", "-p", program.pid, "--output-file", "now.pftrace").returncode == 0
    assert daemon.ask("snapshot", "--by-name", "phases-*", "-q").stderr == ""
    assert daemon.ask("snapshot", "--no-symbolize", "-o", "bare").returncode == 0
    assert b"site_phase0" in (tmp_path / "now.pftrace").read_bytes()
    assert b"site_phase0" not in (tmp_path / "bare").read_bytes()
    default = next(tmp_path.glob("heapscope.phases-*.snapshot.pftrace"))
    for file in ("now.pftrace", default, "bare"):
        live = read_sites(report(file, "--top", "all"))
        assert (live["site_phase0"].live_bytes, live["site_phase0"].live_count) == (10000, 100)
    program.step()
    (process,) = daemon.stop().report()["processes"]
    assert process["snapshot_count"] == 1


def test_snapshot_of_what(daemon, target):
    def refused(*args):
        done = daemon.ask("snapshot", *args)
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr

    assert "heapscope start" in refused()
    programs = [daemon.phases(target) for _ in range(2)]
    assert "no session records process" in refused("-p", programs[0].pid)
    assert "has not announced itself" in refused("-p", os.getpid())
    daemon.begin("-n", "phases-*")
    assert "no process named 'x*'" in refused("-n", "x*")
    for text in (refused(), refused("-n", "phases-*")):
        assert "2 processes" in text and all(str(p.pid) in text for p in programs)


# --- the end of daemon, sessions and programs ---------------------------------------------------


def test_sigterm_finishes_the_files(daemon, target, tmp_path, report):
    program = daemon.phases(target)
    for i in range(3):
        daemon.begin("-n", "phases-*", "-i", 1, "-o", tmp_path / f"{i}.pftrace")
    program.step()
    assert daemon.end() == 0
    assert not daemon.socket.exists() and not (daemon.folder / "sock.board").exists()
    assert "site_phase0" in str(report(tmp_path / "0.pftrace")["stacks"])
    assert report(tmp_path / "2.pftrace")["losses"][0]["name"] == "rejected_concurrent"
    program.step()
    assert program.end() == 0


def test_targets_survive_a_daemon_that_is_killed(daemon, target, tmp_path):
    program = daemon.phases(target)
    daemon.begin("-p", program.pid, "-i", 1, "-o", tmp_path / "x.pftrace")
    program.step()
    daemon.end(signal.SIGKILL)
    program.step()
    assert daemon.run(["/bin/sh", "-c", "exit 7"]) == 7  # finds no daemon
    assert not (tmp_path / "x.pftrace").exists()
    daemon.start()  # takes over the socket of the dead daemon
    name = daemon.begin("-n", "true", "--no-running", "-i", 1)
    daemon.run(["/bin/true"])
    assert daemon.session(name)["process_count"] == 1
    program.step()
    assert program.end() == 0


def test_one_daemon_at_a_socket(daemon, dist):
    second = subprocess.run([dist / "bin/heapscoped", "--socket", daemon.socket], env=clean_env(), stderr=subprocess.PIPE,
                            text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "another daemon listens" in second.stderr
    assert daemon.list()["sessions"] == []
    file = daemon.folder / "file"
    file.write_text("mine")
    second = subprocess.run([dist / "bin/heapscoped", "--socket", file], env=clean_env(), stderr=subprocess.PIPE,
                            text=True, timeout=30, check=False)
    assert second.returncode == 1 and file.read_text() == "mine"


@pytest.mark.costly
def test_a_file_that_cannot_be_written(dist, heapscope, report, target, tmp_path):
    daemon = Daemon(dist, heapscope, report, tmp_path, shell="ulimit -f 8")
    try:
        program = daemon.phases(target)
        code = "x = []\nfor i in range(3000): exec(f'def f{i}(): return bytes({i}+600)'); x.append(eval(f'f{i}()'))"
        name = daemon.begin("-n", "python3*", "--no-running", "-i", 1, "-o", tmp_path / "big.pftrace")
        daemon.run([PYTHON, "-c", code])
        daemon.run([PYTHON, "-c", "import json, sqlite3, unittest"])
        done = daemon.ask("stop", name)
        assert done.returncode == 1 and "File too large" in done.stderr
        assert not (tmp_path / "big.pftrace").exists()
        program.step()
        assert program.end() == 0
    finally:
        daemon.stop_all()


def test_supervisor(dist, heapscope, report, tmp_path):
    """What systemd does: makes the socket before, and waits for a readiness message."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "sock"))
    listener.listen(64)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(tmp_path / "notify"))
    notify.settimeout(30)
    script = f'LISTEN_PID=$$ LISTEN_FDS=1 NOTIFY_SOCKET={tmp_path}/notify exec "$0"'
    with subprocess.Popen(["sh", "-c", script, dist / "bin/heapscoped"], env=clean_env(), stderr=subprocess.DEVNULL,
                          pass_fds=[3], preexec_fn=lambda: os.dup2(listener.fileno(), 3)) as process:
        assert notify.recv(100) == b"READY=1"
        env = {"HEAPSCOPE_SOCKET": tmp_path / "sock"}
        assert heapscope("list", env=env).returncode == 0
        process.terminate()
        assert notify.recv(100) == b"STOPPING=1"
        assert process.wait(30) == 0
    assert (tmp_path / "sock").exists()  # it belongs to the supervisor
    assert not (tmp_path / "sock.board").exists()


def test_without_a_daemon(heapscope, dist, tmp_path):
    env = {"HEAPSCOPE_SOCKET": tmp_path / "nobody"}
    for command in (["list"], ["stop"], ["snapshot"], ["start", "-n", "x", "-o", tmp_path / "x"]):
        done = heapscope(*command, env=env)
        assert done.returncode == 1
        assert "no daemon is running" in done.stderr and "heapscoped &" in done.stderr
    assert os.listdir(tmp_path) == []
    trace = tmp_path / "strace"
    preloaded = clean_env(LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"), XDG_RUNTIME_DIR=tmp_path)
    subprocess.run(["strace", "-o", trace, "-e", "trace=socket,connect,memfd_create", "/bin/true"], env=preloaded, check=True)
    calls = [line for line in trace.read_text().splitlines() if "(" in line]
    assert len(calls) <= 4, calls


def test_the_users_place(dist, heapscope, tmp_path):
    """$XDG_RUNTIME_DIR: daemon, programs and commands find each other without further options."""
    env = {"XDG_RUNTIME_DIR": tmp_path}
    with subprocess.Popen([dist / "bin/heapscoped"], env=clean_env(**env), stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: heapscope("list", env=env).returncode == 0)
        assert heapscope("start", "-q", "-n", "true", "-i", 1, "-o", tmp_path / "x.pftrace", env=env).returncode == 0
        subprocess.run(["/bin/true"], env=clean_env(LD_PRELOAD=preloadable(dist / "lib/libheapscope_preload.so"), **env), check=True)
        done = heapscope("stop", env=env)
        assert done.returncode == 0 and "1 process," in done.stderr
        process.terminate()
        assert process.wait(30) == 0
    wait_until(lambda: os.listdir(tmp_path) == ["x.pftrace"], "the daemon left something")


def test_not_profileable(daemon):
    before = len(daemon.list()["clients"])
    with subprocess.Popen(["/bin/sleep", "60"], env=daemon.preloaded(HEAPSCOPE_PROFILEABLE=0)) as process:
        daemon.begin("-n", "sleep", "--no-running", "--session", "s")
        wait_for_program(process.pid, "sleep")  # its client has decided
        assert len(daemon.list()["clients"]) == before
        assert daemon.session("s")["running_count"] == 0
        process.kill()


def test_wrong_usage(daemon):
    for args in (["start"], ["start", "-n", "x", "--no-running", "--no-startup"], ["start", "-p", "x"], ["start", "-p", "0"],
                 ["start", "-n", "x", "-i", "0"], ["start", "-n", "x", "--dump-phase", "1s"],
                 ["start", "-n", "x", "--session", "a/b"]):
        done = daemon.ask(*args)
        assert done.returncode == 2, args
    assert "no session is running" in daemon.ask("stop").stderr
    daemon.begin("-n", "a", "--session", "a")
    daemon.begin("-n", "b", "--session", "b")
    assert "name one: a b" in daemon.ask("stop").stderr
    assert "there is no session 'c'" in daemon.ask("stop", "c").stderr
    assert "already" in daemon.ask("start", "-n", "a", "--session", "a", "-o", daemon.folder / "x").stderr
    assert "regular file" in daemon.ask("start", "-n", "a", "-o", "/dev/null").stderr


def test_list_is_readable(daemon, target):
    program = daemon.phases(target)
    daemon.begin("-n", "phases-*", "-n", "other")
    for columns in (40, 80, 200):
        text = daemon.ask("list", env={"COLUMNS": columns}).stdout
        assert str(program.pid) in text and max(map(len, text.splitlines())) <= columns
    assert "phases-*, other" in text


# --- forked children ----------------------------------------------------------------------------

WORKERS = """
import os, sys, time
def work():
    x, parent = [], os.getppid()
    while os.getppid() == parent:
        x.append(bytes(100_000)); time.sleep(0.01)
        if len(x) > 50: x.clear()
for i in range(2):
    if os.fork() == 0: work()
print("ready", flush=True)
sys.stdin.read()
"""


def test_workers_of_a_running_server(daemon):
    """Forked before the session began; each has its own region."""
    script = daemon.folder / "hs-workers.py"
    script.write_text(WORKERS)
    program = daemon.launch([PYTHON, script])
    program.process.stdout.readline()
    name = daemon.begin("-n", "hs-workers.py", "-i", 4096)
    wait_until(lambda: daemon.session(name)["running_count"] == 3)
    wait_until(lambda: all(c["sample_count"] > 20 for c in daemon.list()["clients"] if c["pid"] != program.pid))
    processes = daemon.stop().report()["processes"]
    children = [p for p in processes if p["pid"] != program.pid]
    assert len(processes) == 3 and all(c["forked_from_pid"] == program.pid for c in children)
    assert all(c["alloc"]["bytes"] > 1_000_000 and not c["is_from_startup"] for c in children)
    for child in children:
        os.kill(child["pid"], signal.SIGKILL)


def test_a_program_that_went_to_the_background(daemon):
    """The first process has ended; the remaining child has announced itself, dormant."""
    code = "import os, time\nif os.fork(): os._exit(0)\nx = [bytes(10000) for i in range(20)]\nprint(os.getpid(), flush=True)\n" \
           "while True: x.append(bytes(10000)); time.sleep(0.01)"
    script = daemon.folder / "hs-background.py"
    script.write_text(code)
    done = subprocess.Popen([PYTHON, script], env=daemon.preloaded(), stdout=subprocess.PIPE, text=True)
    pid = int(done.stdout.readline())
    done.wait()
    try:
        wait_until(lambda: daemon.client(pid))
        assert daemon.client(pid)["is_dormant"]
        name = daemon.begin("-n", "hs-background.py", "--no-startup")
        wait_until(lambda: daemon.session(name)["sample_count"] > 10)
        (process,) = daemon.stop().report()["processes"]
        assert process["pid"] == pid and not process["is_from_startup"]
    finally:
        os.kill(pid, signal.SIGKILL)
        done.stdout.close()


def test_children_that_only_execute_do_not_announce_themselves(daemon):
    before = daemon.list()["daemon"]
    assert before["pid"] == daemon.pid
    daemon.begin("-n", "nothing")
    daemon.run(["/bin/sh", "-c", "for i in 1 2 3 4 5; do $(/bin/true); done"])
    assert daemon.list()["clients"] == []
