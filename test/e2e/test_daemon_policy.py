"""Which user may profile which process: users, policies, what programs themselves allow; and the
reason in the trace."""

import json
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
from resident import need_ptrace
from waiting import list_all, wait_until

NOBODY, OTHER = 65534, 1
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
AS_OTHER = {"user": OTHER, "group": OTHER, "extra_groups": []}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="two users are needed, and only root can be both")
HIDES = "import ctypes, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="heapscoped-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def agent(folder):
    """A program with a unique name and path."""
    program = folder / f"hs-agent{os.getpid()}"
    shutil.copy("/bin/sleep", program)
    return program


class World:
    """A daemon with a policy, and programs of several users."""

    def __init__(self, dist, heapscope, report, folder):
        self.dist, self.heapscope, self._report, self.folder = dist, heapscope, report, folder
        self.policy = folder / "policy.conf"
        self.processes = []
        self.daemon = None

    def rules(self, *rules, mode=0o644):
        self.policy.write_text("\n".join(rules) + "\n")
        self.policy.chmod(mode)

    def start(self, *rules, options=("--system",), **more):
        sub = self.folder / "daemon"
        sub.mkdir()
        sub.chmod(0o755)
        if more.get("user"):
            os.chown(sub, more["user"], more["user"])
        self.rules(*rules)
        self.daemon = Daemon(self.dist, self.heapscope, self._report, sub, (*options, "--policy", str(self.policy)), **more)
        return self.daemon

    def program(self, command, env=None, is_preloaded=True, **who):
        environ = self.daemon.preloaded(**(env or {})) if is_preloaded else clean_env(**(env or {}))
        process = subprocess.Popen(list(map(str, command)), env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **who)
        self.processes.append(process)
        if is_preloaded:
            wait_until(lambda: self.daemon.client(process.pid), f"{command} did not announce itself")
        return process

    def session(self, *args, **who):
        """Begins a session and ends it; returns the report of its file and the command's output."""
        file = self.folder / f"session{time.monotonic_ns()}.pftrace"
        done = self.daemon.ask("start", *args, "-o", file, **who)
        if done.returncode == 0:
            stopped = self.daemon.ask("stop", done.stdout.strip(), **who)
            assert stopped.returncode == 0, stopped.stderr
        else:
            wait_until(file.exists, done.stderr)
        return self._report(file), done.stderr

    def refused(self, *args, **who):
        """(pid, reason, text) of the processes that the user could not profile."""
        report, _ = self.session(*args, **who)
        return [(r["pid"], r["reason"], r["text"]) for r in report["not_profiled"]]

    def recorded(self, *args, **who):
        """Pids of the processes that the user could profile."""
        report, said = self.session(*args, **who)
        assert report["not_profiled"] == [], said
        return [p["pid"] for p in report["processes"]]

    def hup(self):
        before = self.daemon.text()
        os.kill(self.daemon.pid, signal.SIGHUP)
        wait_until(lambda: self.daemon.text() != before)
        return self.daemon.text()[len(before):]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        if self.daemon:
            self.daemon.stop_all()


@pytest.fixture
def world(dist, heapscope, report, folder):
    made = World(dist, heapscope, report, folder)
    yield made
    made.stop()


# --- rules --------------------------------------------------------------------------------------


@needs_root
def test_never_is_for_root_too(world, agent):
    world.start("# keys", f"never exe={agent}")
    process = world.program([agent, "60"])
    for args in (["-n", agent.name], ["-p", process.pid]):
        (refused,) = world.refused(*args)
        assert refused[:2] == (process.pid, "refused_policy")
        assert f"{world.policy}:2 forbids it (never exe={agent})" in refused[2]
    # A process may change its name, but not its executable.
    disguised = world.program(["bash", "-c", f"exec -a harmless {agent} 60"])
    wait_until(lambda: os.readlink(f"/proc/{disguised.pid}/exe") == str(agent))
    wait_until(lambda: world.daemon.client(disguised.pid))
    assert world.refused("-p", disguised.pid)[0][1] == "refused_policy"
    agent.unlink()
    assert world.refused("-p", process.pid)[0][1] == "refused_policy"


@needs_root
def test_a_program_that_starts(world, agent):
    world.start(f"never user={NOBODY}")
    name = world.daemon.begin("-n", agent.name, "--no-running", "-i", 1, "-o", world.folder / "x.pftrace")
    theirs = world.program([agent, "60"], **AS_NOBODY)
    ours = world.program([agent, "60"])
    wait_until(lambda: world.daemon.client(ours.pid)["session"] == name)
    assert world.daemon.client(theirs.pid)["is_dormant"]
    # A process that has ended when the daemon looks is judged by the user that it had.
    brief = subprocess.Popen([agent, "0"], env=world.daemon.preloaded(), **AS_NOBODY)
    brief.wait()
    wait_until(lambda: world.daemon.session(name)["rejected_count"] == 2)
    report = world.daemon.stop(name).report()
    assert [p["pid"] for p in report["processes"]] == [ours.pid]
    assert {(r["pid"], r["reason"]) for r in report["not_profiled"]} == {
        (theirs.pid, "refused_policy"), (brief.pid, "refused_policy")}


@needs_root
def test_control_groups(world, agent):
    group = pathlib.Path("/proc/self/cgroup").read_text().splitlines()[-1].split(":", 2)[2]
    world.start("never cgroup=/no-such-group", f"never cgroup={group}")
    process = world.program([agent, "60"])
    (refused,) = world.refused("-p", process.pid)
    assert refused[1] == "refused_policy" and f"{world.policy}:2 " in refused[2]


@needs_root
def test_to_whom_a_process_is_given(world, agent):
    world.start(f"profileable exe={agent} by={OTHER},@77", "debuggable *")
    others = world.program(["sleep", "60"], **AS_NOBODY)
    for who in (AS_OTHER, {"user": 2, "group": 77, "extra_groups": []}, {"user": 2, "group": 2, "extra_groups": [77]}):
        given = world.program([agent, "60"], **AS_NOBODY)
        assert world.recorded("-p", given.pid, **who) == [given.pid]
    given = world.program([agent, "60"], **AS_NOBODY)
    (refused,) = world.refused("-p", given.pid, user=2, group=2, extra_groups=[])
    assert refused[:2] == (given.pid, "refused_other_user")
    assert f"belongs to user {NOBODY}" in refused[2]
    (refused,) = world.refused("-p", others.pid, **AS_OTHER)
    assert refused[1] == "refused_other_user"
    # A user with a session may take snapshots of the processes that it records, and of no others.
    name = world.daemon.begin("-p", given.pid, "-o", world.folder / "mine.pftrace", **AS_OTHER)
    done = world.daemon.ask("snapshot", "-p", given.pid, "-o", world.folder / "now.pftrace", **AS_OTHER)
    assert done.returncode == 0, done.stderr
    seen = json.loads(world.daemon.ask("list", "--json", **AS_OTHER).stdout)
    assert [client["pid"] for client in seen["clients"]] == [given.pid]
    assert world.daemon.ask("stop", name, **AS_OTHER).returncode == 0


@needs_root
def test_attaching_is_for_the_debuggable(world, agent):
    need_ptrace()
    world.start(f"profileable exe={agent} by={OTHER}")
    process = world.program([agent, "60"], is_preloaded=False, **AS_NOBODY)
    roots = world.program([agent, "60"], is_preloaded=False)
    for who in ({}, AS_NOBODY, AS_OTHER):
        (refused,) = world.refused("-p", process.pid, **who)
        assert refused[1] == "refused_policy" and "forbids attaching" in refused[2]
    world.rules(f"debuggable exe={agent} by={OTHER}")
    assert "1 rule" in world.hup()
    for who in (AS_OTHER, AS_NOBODY, {}):
        name = world.daemon.begin("-p", process.pid, "-o", world.folder / f"{len(who)}{who.get('user')}.pftrace", **who)
        wait_until(lambda: (world.daemon.client(process.pid) or {}).get("session") == name)
        assert world.daemon.ask("stop", name, **who).returncode == 0
        wait_until(lambda: not world.daemon.client(process.pid))
    assert process.poll() is None
    (refused,) = world.refused("-p", roots.pid, **AS_OTHER)
    assert "only root may attach to processes of root" in refused[2]


@needs_root
def test_willing(world, agent):
    """As on a machine where only programs that agree may be profiled."""
    world.start("profileable willing", "never *")
    process = world.program([agent, "60"])
    agrees = world.program([agent, "60"], env={"HEAPSCOPE_PROFILEABLE": "yes"})
    assert world.recorded("-p", agrees.pid) == [agrees.pid]
    assert world.refused("-p", process.pid)[0][1] == "refused_policy"


# --- the file -----------------------------------------------------------------------------------


@needs_root
def test_a_new_policy_counts_at_once(world, agent):
    world.start("debuggable *")
    process, other = world.program([agent, "60"]), world.program(["sleep", "60"])
    name = world.daemon.begin("-p", process.pid, "-p", other.pid, "-o", world.folder / "x.pftrace")
    world.rules("never *", "nevermore *")
    said = world.hup()
    assert f"{world.policy}:2: 'nevermore' is not a class" in said and "stays as it was" in world.daemon.text()
    assert world.daemon.session(name)["running_count"] == 2
    world.rules(f"never exe={agent}", mode=0o666)
    assert "other than its owner may write to it" in world.hup()
    assert world.daemon.session(name)["running_count"] == 2
    world.rules(f"never exe={agent}")
    world.hup()
    wait_until(lambda: world.daemon.session(name)["running_count"] == 1)
    assert world.daemon.client(process.pid)["is_dormant"]
    report = world.daemon.stop(name).report()
    assert {p["pid"] for p in report["processes"]} == {process.pid, other.pid}
    assert [(r["pid"], r["reason"]) for r in report["not_profiled"]] == [(process.pid, "refused_policy")]
    world.policy.unlink()
    assert "No such file" in world.hup()
    assert world.refused("-p", process.pid)[0][1] == "refused_policy"


@needs_root
def test_the_next_daemon_has_its_own_policy(world, agent):
    """After kill -9: what was allowed stays allowed, and what is forbidden now ends."""
    world.start(f"profileable exe={agent} by={OTHER}")
    given = world.program([agent, "60"], **AS_NOBODY)
    name = world.daemon.begin("-p", given.pid, "-o", world.folder / "x.pftrace", **AS_OTHER)
    world.daemon.end(signal.SIGKILL)
    world.daemon.start()
    wait_until(lambda: (world.daemon.client(given.pid) or {}).get("session") == name)
    world.daemon.end(signal.SIGKILL)
    world.rules("never *")
    world.daemon.start()
    wait_until(lambda: world.daemon.client(given.pid) and world.daemon.client(given.pid)["is_dormant"])
    wait_until((world.folder / "x.pftrace").exists)
    seen = world._report(world.folder / "x.pftrace")["not_profiled"]
    assert [(r["pid"], r["reason"]) for r in seen] == [(given.pid, "refused_policy")]


def test_a_daemon_does_not_start_without_its_policy(dist, folder):
    policy = folder / "p"

    def start(*options):
        done = subprocess.run([dist / "bin/heapscoped", "--socket", folder / "sock", "--policy", policy, *options],
                              env=clean_env(), stderr=subprocess.PIPE, text=True, timeout=30, check=False)
        assert not (folder / "sock").exists()
        return done.returncode, done.stderr

    status, said = start()
    assert status == 1 and f"{policy}: No such file" in said
    policy.write_text("never *\n\nnever user=no-such-user\n")
    policy.chmod(0o644)
    status, said = start()
    assert status == 1 and f"{policy}:3: there is no user 'no-such-user'" in said
    policy.write_text("never *\n")
    policy.chmod(0o622)
    assert "chmod go-w" in start()[1]
    if os.geteuid() == 0:
        policy.chmod(0o600)
        os.chown(policy, NOBODY, NOBODY)
        status, said = start("--system")
        assert status == 1 and "chown root" in said


@needs_root
def test_a_users_own(world, agent):
    world.policy.touch()
    os.chown(world.policy, NOBODY, NOBODY)
    world.start(f"never exe={agent}", options=(), user=NOBODY)
    process = world.program([agent, "60"], **AS_NOBODY)
    assert world.refused("-p", process.pid, **AS_NOBODY)[0][1] == "refused_policy"
    world.rules("profileable *")
    world.hup()
    assert world.recorded("-p", process.pid, **AS_NOBODY) == [process.pid]


def test_without_a_policy_a_hangup_ends_a_users_daemon(dist, heapscope, report, tmp_path):
    daemon = Daemon(dist, heapscope, report, tmp_path)
    assert daemon.end(signal.SIGHUP) == 0


# --- what programs themselves allow -------------------------------------------------------------


@needs_root
def test_not_dumpable(world):
    world.start("# nothing")
    hides = world.program(["/usr/bin/python3", "-c", HIDES], **AS_NOBODY)
    agrees = world.program(["/usr/bin/python3", "-c", HIDES], env={"HEAPSCOPE_PROFILEABLE": 1}, **AS_NOBODY)
    for process in (hides, agrees):
        assert process.stdout.readline() == b"ready\n"
    (refused,) = world.refused("-p", hides.pid, **AS_NOBODY)
    assert refused[:2] == (hides.pid, "refused_not_dumpable")
    assert world.recorded("-p", agrees.pid, **AS_NOBODY) == [agrees.pid]
    assert world.recorded("-p", hides.pid) == [hides.pid]  # by root
    need_ptrace()
    late = world.program(["/usr/bin/python3", "-c", HIDES], is_preloaded=False, env={"HEAPSCOPE_PROFILEABLE": 1}, **AS_NOBODY)
    assert late.stdout.readline() == b"ready\n"
    assert world.refused("-p", late.pid, **AS_NOBODY)[0][1] == "refused_not_dumpable"


@needs_root
def test_a_program_that_changed_its_user(world):
    """The process may know secrets that its new user may not."""
    world.start("# nothing")
    code = f"import os, sys; os.setgid({NOBODY}); os.setuid({NOBODY}); print('ready', flush=True); sys.stdin.read()"
    process = world.program(["/usr/bin/python3", "-c", code])
    assert process.stdout.readline() == b"ready\n"
    assert world.refused("-p", process.pid, **AS_NOBODY)[0][1] == "refused_other_user"
    assert world.recorded("-p", process.pid) == [process.pid]


def test_opted_out_of_being_attached_to(dist, heapscope, report, tmp_path, folder, agent):
    need_ptrace()
    daemon = Daemon(dist, heapscope, report, tmp_path)
    process = subprocess.Popen([agent, "60"], env=clean_env(HEAPSCOPE_PROFILEABLE="0"))
    willing = subprocess.Popen([agent, "60"], env=clean_env())
    try:
        file = folder / "x.pftrace"
        done = daemon.ask("start", "-p", process.pid, "-o", file)
        assert done.returncode == 1 and "HEAPSCOPE_PROFILEABLE=0" in done.stderr
        wait_until(file.exists)
        assert [r["reason"] for r in report(file)["not_profiled"]] == ["refused_opted_out"]
        text = heapscope("report", file).stdout
        assert f"PID {process.pid} ({agent.name}) was not profiled: it was started with HEAPSCOPE_PROFILEABLE=0;" in text
        done = heapscope("attach", process.pid, "-d", "100ms", "-o", folder / "y")
        assert done.returncode == 1 and "start it without that variable" in done.stderr
        file = folder / "z.pftrace"
        done = heapscope("attach", "-n", agent.name, "-d", "100ms", "-o", file)
        assert done.returncode == 0 and f"cannot attach to {process.pid}" in done.stderr, done.stderr
        seen = report(file)
        assert [p["pid"] for p in seen["processes"]] == [willing.pid]
        assert [(r["pid"], r["reason"]) for r in seen["not_profiled"]] == [(process.pid, "refused_opted_out")]
        assert "heapscope-client" not in pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    finally:
        for it in (process, willing):
            it.kill()
            it.wait()
        daemon.stop_all()


def test_run_decides_for_its_program_and_that_for_its_children(heapscope, report, tmp_path):
    file = tmp_path / "x.pftrace"
    script = "printenv HEAPSCOPE_PROFILEABLE; sh -c 'exec true one'; HEAPSCOPE_PROFILEABLE=off sh -c 'exec true two'"
    done = heapscope("run", "-i", 1, "-o", file, "--", "bash", "-c", script, env={"HEAPSCOPE_PROFILEABLE": "0"})
    assert done.returncode == 0, done.stderr
    lines = [p["cmdline"] for p in report(file)["processes"]]
    assert any(line.startswith("bash") for line in lines) and "true one" in lines
    assert not any("two" in line for line in lines if not line.startswith("bash"))


# --- many processes, and none -------------------------------------------------------------------


@needs_root
def test_many_are_counted(world, agent):
    world.start(f"never exe={agent}")
    processes = [world.program([agent, "60"]) for _ in range(35)]
    report, _ = world.session("-n", agent.name)
    assert len(report["not_profiled"]) == 32
    losses = {loss["name"]: 0 for loss in report["losses"]}
    for loss in report["losses"]:
        losses[loss["name"]] += loss["count"]
    assert losses == {"refused_policy": len(processes)}
    # A request for all processes is a request for those that the user may profile.
    world.rules("profileable *")
    world.hup()
    world.daemon.begin("--all", "--no-running", "-o", world.folder / "all.pftrace", **AS_NOBODY)
    world.program([agent, "60"])
    done = world.daemon.ask("stop", **AS_NOBODY)
    assert done.returncode == 1 and "no process was recorded" in done.stderr


@needs_root
def test_what_proc_hides_the_daemon_hides(world, agent):
    hide = ["unshare", "-m", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc"]
    if subprocess.run(hide, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip("nothing may be mounted here")
    world.start("# nothing", shell="exec unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec \"$@\"' sh \"$@\"")
    roots, theirs = world.program([agent, "60"]), world.program([agent, "60"], **AS_NOBODY)
    assert world.recorded("-n", agent.name, **AS_NOBODY) == [theirs.pid]
    done = world.daemon.ask("start", "-p", roots.pid, "-o", world.folder / "x", **AS_NOBODY)
    assert done.returncode == 1 and "there is no such process" in done.stderr and agent.name not in done.stderr
    assert world.recorded("-p", roots.pid) == [roots.pid]


def test_a_process_that_is_not_there_is_no_reason_for_a_file(dist, heapscope, report, tmp_path):
    daemon = Daemon(dist, heapscope, report, tmp_path)
    try:
        file = tmp_path / "x.pftrace"
        done = daemon.ask("start", "-p", 2**22 + 1, "-o", file)
        assert done.returncode == 1 and "no such process" in done.stderr
        wait_until(lambda: daemon.list()["sessions"][-1]["state"] == "failed")
        assert not file.exists()
    finally:
        daemon.stop_all()


@needs_root
def test_a_users_daemon_with_the_capability(dist, heapscope, report, folder, agent):
    """The kernel opens /proc/PID/mem of other users' processes only for a process that may open
    every file."""
    need_ptrace()
    sub = folder / "daemon"
    sub.mkdir()
    os.chown(sub, NOBODY, NOBODY)
    process = subprocess.Popen([agent, "60"], env=clean_env(), **AS_OTHER)
    daemon = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+sys_ptrace,+dac_override",
                               "--ambient-caps=+sys_ptrace,+dac_override", dist / "bin/heapscoped", "--socket", sub / "sock"],
                              env=clean_env(), stderr=subprocess.PIPE)
    env = {"HEAPSCOPE_SOCKET": sub / "sock"}
    try:
        wait_until(lambda: heapscope("list", env=env, **AS_NOBODY).returncode == 0)
        done = heapscope("start", "-p", process.pid, "-o", folder / "x.pftrace", env=env, **AS_NOBODY)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: any(c["pid"] == process.pid for c in list_all(heapscope, "clients", env=env, **AS_NOBODY)))
        done = heapscope("stop", env=env, **AS_NOBODY)
        assert done.returncode == 0 and "1 process," in done.stderr, done.stderr
        assert report(folder / "x.pftrace")["not_profiled"] == []
    finally:
        daemon.terminate()
        daemon.wait(30)
        daemon.stderr.close()
        process.kill()
        process.wait()
