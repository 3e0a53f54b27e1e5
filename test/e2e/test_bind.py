"""Programs that record without a session, and the daemon that keeps their regions."""

import errno
import json
import os
import pathlib
import shutil
import signal

import pytest
from binding import ORDERS, OWN, kept_descriptors, own_figures
from daemon import Daemon
from preload import preloadable
from resident import need_ptrace
from waiting import PATIENCE_S, let_time_pass, wait_until


@pytest.fixture
def make_daemon(dist, heapscope, report, tmp_path):
    made = []

    def make(*options, **more):
        if not made:
            made.append(Daemon(dist, heapscope, report, tmp_path, options, **more))
        return made[0]

    yield make
    for daemon in made:
        daemon.stop_all()


@pytest.fixture
def snapshot(tmp_path, report):
    """snapshot(daemon, PID): figures of the program's own functions in a snapshot by the daemon."""

    def call(daemon, pid, *by):
        file = tmp_path / "snapshot.pftrace"
        done = daemon.ask("snapshot", *(by or ("-p", pid)), "--output-file", file)
        assert done.returncode == 0, done.stderr
        return own_figures(report, file)

    return call


def wait_for(daemon, program):
    return wait_until(lambda: daemon.client(program.pid), "the program did not announce itself")


# --- from the first allocation ---


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("order", ORDERS)
def test_exact_from_the_first_allocation(make_daemon, link, start_bound, snapshot, order):
    daemon = make_daemon()
    program = start_bound(link("bound", order))
    program.tell("keep 300")
    program.tell("drop 100")
    wait_for(daemon, program)
    assert daemon.client(program.pid)["session"] == "(bound)"
    assert snapshot(daemon, program.pid) == program.truth() == (21000, 201, 31000, 301)
    assert len(kept_descriptors(program.pid)) == 1
    assert program.end() == 3


@pytest.mark.parametrize("flags", [(), ("-static-libstdc++", "-static-libgcc")], ids=["shared", "static"])
def test_operators_of_cxx(make_daemon, link, start_bound, snapshot, flags):
    daemon = make_daemon()
    program = start_bound(link("bound_new", "first", *flags))
    assert program.process.stdout.readline() == "ready\n"
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid) == (1064, 2, 3464, 102)
    program.process.stdin.close()
    assert program.process.wait(PATIENCE_S) == 0


def test_default_interval(make_daemon, link, start_bound):
    daemon = make_daemon()
    program = start_bound(link("bound"), interval=None)
    wait_for(daemon, program)
    assert daemon.client(program.pid)["interval_bytes"] == 4096
    assert program.tell("stats").split()[2] == "0"


def test_by_name_and_by_koid(make_daemon, link, start_bound, snapshot):
    daemon = make_daemon()
    path = link("bound")
    program = start_bound(path)
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid, "--by-name", os.path.basename(path)) == program.truth()
    assert snapshot(daemon, program.pid, "--by-koid", program.pid) == program.truth()
    assert "by (bound)" in daemon.ask("list").stdout


# --- a daemon later ---


@pytest.mark.parametrize("way", ["poll", "keep 64", "stats"])
def test_daemon_comes_later(make_daemon, link, start_bound, snapshot, way):
    """The client finds it by calls of the API and by samples, and nothing is lost."""
    program = start_bound(link("bound"))
    program.tell("keep 300")
    kept = kept_descriptors(program.pid)
    assert len(kept) == 1 and kept[0] >= 1000
    daemon = make_daemon()

    def comes():
        program.tell(way)
        return daemon.client(program.pid)

    wait_until(comes, "the program did not announce itself", every_s=0.1)
    assert snapshot(daemon, program.pid) == program.truth()
    assert kept_descriptors(program.pid) == kept


# --- a daemon after another one ---


# How a daemon ends: in order, or killed together with the process that keeps its descriptors.
ENDS = {"SIGTERM": ([], signal.SIGTERM), "SIGKILL": (["--keep", "0s"], signal.SIGKILL)}


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", ["poll", "keep 64", "stats"])
def test_daemon_follows_another(make_daemon, link, start_bound, snapshot, end, way):
    """What the first daemon had is not lost, nor what was recorded between them."""
    options, by = ENDS[end]
    daemon = make_daemon(*options)
    path = link("bound")
    program = start_bound(path)
    program.tell("keep 300")
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid) == (31000, 301, 31000, 301)
    for _ in range(2):
        daemon.end(by)
        program.tell("keep 100")
        program.tell("drop 50")
        daemon.start()

        def comes():
            program.tell(way)
            return daemon.client(program.pid)

        wait_until(comes, "the program did not announce itself", every_s=0.1)
        assert daemon.client(program.pid)["session"] == "(bound)"
        assert snapshot(daemon, program.pid, "--by-name", os.path.basename(path)) == program.truth()
    assert len(kept_descriptors(program.pid)) == 1


@pytest.mark.parametrize("end", ENDS)
def test_session_of_a_daemon_that_ended(make_daemon, link, start_bound, snapshot, end):
    """Its interval and its heaps end with the daemon, however that ends."""
    options, by = ENDS[end]
    daemon = make_daemon(*options)
    program = start_bound(link("bound"))
    program.tell("keep 300")
    wait_for(daemon, program)
    daemon.begin("-p", program.pid, "-i", "1000000")
    program.tell("keep 1")
    daemon.end(by)
    daemon.start()
    let_time_pass(1.1, "the client looks for a daemon once a second")
    program.tell("poll")
    wait_for(daemon, program)
    assert daemon.client(program.pid)["interval_bytes"] == 1
    live, count, *_ = snapshot(daemon, program.pid)
    program.tell("keep 300")
    assert snapshot(daemon, program.pid)[:2] == (live + 30000, count + 300)


def test_one_target_for_each_process(make_daemon, link, start_bound, snapshot):
    """A process whose hello waits in a queue sends another one; the daemon takes the region once."""
    daemon = make_daemon()
    program = start_bound(link("bound"))
    wait_for(daemon, program)
    daemon.end()
    daemon.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    for _ in range(3):
        let_time_pass(1.1, "the client looks for a daemon once a second")
        program.tell("poll")
    os.kill(daemon.pid, signal.SIGCONT)
    wait_for(daemon, program)
    assert [c["pid"] for c in daemon.list()["clients"]] == [program.pid]
    assert snapshot(daemon, program.pid) == program.truth()
    let_time_pass(1.1, "the client looks for a daemon once a second")
    program.tell("poll")
    assert snapshot(daemon, program.pid) == program.truth()


def test_idle_process_after_a_restart(make_daemon, link, start_bound):
    """Nothing of ours runs in it: the command says what it waits for."""
    daemon = make_daemon()
    program = start_bound(link("bound"))
    wait_for(daemon, program)
    daemon.end()
    done = daemon.ask("snapshot", "-p", program.pid)
    assert done.returncode == 1 and "Start heapscoped" in done.stderr, done.stderr
    daemon.start()
    done = daemon.ask("snapshot", "-p", program.pid)
    assert done.returncode == 1 and "has found no daemon since this one started" in done.stderr, done.stderr


def test_program_that_closes_everything(make_daemon, link, start_bound):
    """It loses the way to a daemon, and nothing else."""
    program = start_bound(link("bound"))
    program.tell("close")
    make_daemon()
    let_time_pass(1.1, "the client looks for a daemon once a second")
    assert program.tell("poll") == "0"
    program.tell("keep 300")
    assert program.tell("stats") == "31000 0 1"
    assert program.end() == 3


def test_not_profileable(make_daemon, link, start_bound):
    daemon = make_daemon()
    program = start_bound(link("bound"), HEAPSCOPE_PROFILEABLE="0")
    assert program.tell("bind 1 -") == str(-errno.EPERM)
    assert program.tell("stats") == str(-errno.ENOTCONN)
    assert daemon.list()["clients"] == [] and kept_descriptors(program.pid) == []


# --- what other commands say ---


def test_commands_say_what_is_missing(link, start_bound, heapscope):
    program = start_bound(link("bound"))
    program.tell("keep 1")
    done = heapscope("snapshot", "-p", program.pid)
    assert done.returncode == 1 and "records without a session, and has found no daemon yet" in done.stderr
    said = heapscope("doctor", program.pid)
    assert "start heapscoped" in said.stdout, said.stdout + said.stderr


def test_doctor_knows_both_libraries(link, start_bound, heapscope, dist):
    program = start_bound(link("bound"), LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"))
    program.tell("keep 1")
    said = heapscope("doctor", program.pid)
    assert "both of heapscope's libraries are loaded" in said.stdout, said.stdout + said.stderr


def test_attach_says_who_records(link, start_bound, heapscope, tmp_path):
    """The process has its client already: no second one is loaded, and nothing is thrown away."""
    need_ptrace()
    program = start_bound(link("bound"))
    program.tell("keep 300")
    done = heapscope("attach", program.pid, "-d", "1s", "-o", tmp_path / "attached.pftrace")
    assert done.returncode == 1 and "start heapscoped" in done.stderr, done.stderr
    assert "memfd:heapscope-client" not in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
    assert program.tell("stats") == "31000 0 1"


# --- heapscope_bind ---


def test_bind_in_a_linked_program(make_daemon, link, start_bound, snapshot):
    daemon = make_daemon()
    program = start_bound(link("bound"))
    assert program.tell("bind 1 -") == "0"
    assert program.tell("bind 1 -") == str(-errno.EALREADY)
    assert program.tell("stats") == "1000 0 1"
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid) == program.truth()


def test_bind_changes_the_interval(make_daemon, link, start_bound, report, tmp_path):
    daemon = make_daemon()
    program = start_bound(link("bound"), interval=None)
    assert program.tell("bind 1 -") == "0"
    program.tell("keep 300")
    assert program.tell("stats").split()[2] == "0"  # what came before was sampled
    wait_for(daemon, program)
    assert daemon.client(program.pid)["interval_bytes"] == 1
    file = tmp_path / "changed.pftrace"
    assert daemon.ask("snapshot", "-p", program.pid, "-o", file).returncode == 0
    rows = report(file, "--view", "objects", "--top", "all")["functions_by_self"]
    assert sum(row["self"]["count"] for row in rows if row["function"] in OWN) >= 300


def test_bind_with_a_socket(make_daemon, link, start_bound, snapshot, tmp_path):
    daemon = make_daemon()
    program = start_bound(link("bound"), HEAPSCOPE_SOCKET=tmp_path / "nobody")
    assert program.tell("bind 0 relative") == str(-errno.EINVAL)
    assert program.tell("bind 0 /" + "x" * 200) == str(-errno.EINVAL)
    assert program.tell(f"bind 0 {daemon.socket}") == "0"
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid) == program.truth()


def test_bind_elsewhere_comes_too_late(make_daemon, link, start_bound, tmp_path):
    daemon = make_daemon()
    program = start_bound(link("bound"))
    wait_for(daemon, program)
    assert program.tell(f"bind 0 {tmp_path / 'other'}") == str(-errno.EISCONN)
    assert program.tell("bind 0 -") == "0"


@pytest.mark.parametrize("when", ["before", "later"])
def test_bind_in_a_preloaded_program(dist, make_daemon, api_only, start_bound, snapshot, when):
    """Recorded from the call on: dormant before it, or idle without a daemon."""
    daemon = make_daemon() if when == "before" else None
    program = start_bound(api_only, interval=None, LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"))
    program.tell("keep 50")
    assert program.tell("bind 1 -") == "0"
    program.tell("keep 300")
    program.tell("drop 320")
    daemon = daemon or make_daemon()
    wait_until(lambda: program.tell("poll") and (daemon.client(program.pid) or {}).get("session") == "(bound)",
               "it did not announce itself", every_s=0.1)
    assert snapshot(daemon, program.pid) == (0, 0, 30000, 300)
    assert program.end() == 3


def test_preloaded_with_an_interval(dist, make_daemon, api_only, start_bound, snapshot):
    daemon = make_daemon()
    program = start_bound(api_only, LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"))
    program.tell("keep 300")
    wait_for(daemon, program)
    assert snapshot(daemon, program.pid) == program.truth()


def test_one_client_only(dist, make_daemon, link, start_bound, snapshot):
    """The preloaded library comes first; what the other one would record twice is recorded once."""
    daemon = make_daemon()
    program = start_bound(link("bound"), LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"))
    program.tell("keep 300")
    wait_for(daemon, program)
    assert len(daemon.list()["clients"]) == 1
    assert snapshot(daemon, program.pid) == program.truth()
    assert program.tell("bind 1 -") == "0"
    maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text()
    assert "libheapscope_preload" in maps and "libheapscope_malloc" in maps


# --- sessions, forks, ends ---


def test_session_gives_back_what_it_took(make_daemon, link, start_bound, snapshot, report):
    daemon = make_daemon()
    program = start_bound(link("bound"))
    program.tell("keep 300")
    wait_for(daemon, program)
    session = daemon.begin("-p", program.pid, "-i", "1")
    assert daemon.client(program.pid)["session"] == session
    program.tell("keep 100")
    done = daemon.stop(session)
    assert own_figures(report, done.file) == program.truth() == (41000, 401, 41000, 401)
    program.tell("drop 200")
    assert daemon.client(program.pid)["session"] == "(bound)"
    assert snapshot(daemon, program.pid) == program.truth() == (21000, 201, 41000, 401)


def test_session_of_another_interval(make_daemon, link, start_bound, tmp_path, report):
    """Its samples stay, and no figure is called exact any more."""
    daemon = make_daemon()
    program = start_bound(link("bound"))
    wait_for(daemon, program)
    daemon.begin("-p", program.pid, "-i", "1000000")
    program.tell("keep 1")
    daemon.stop()
    assert daemon.client(program.pid)["interval_bytes"] == 1
    program.tell("keep 300")
    file = tmp_path / "after.pftrace"
    assert daemon.ask("snapshot", "-p", program.pid, "-o", file).returncode == 0
    text = daemon.ask("report", file).stdout
    assert "exact" not in text, text


def test_session_that_waits_takes_it_from_its_start(make_daemon, link, start_bound, report):
    daemon = make_daemon()
    path = link("bound")
    session = daemon.begin("-n", os.path.basename(path), "-i", "1")
    program = start_bound(path)
    program.tell("keep 300")
    wait_for(daemon, program)
    assert daemon.client(program.pid)["session"] == session
    truth = program.truth()
    assert program.end() == 3
    assert own_figures(report, daemon.stop(session).file) == truth


@pytest.mark.parametrize("when", ["before", "later"])
def test_forked_child_is_bound(make_daemon, link, start_bound, snapshot, when):
    daemon = make_daemon() if when == "before" else None
    program = start_bound(link("bound"))
    program.tell("keep 300")
    child = int(program.tell("fork"))
    program.tell("keep 20")
    assert program.tell("bind 1 -") == "0"
    daemon = daemon or make_daemon()
    wait_until(lambda: program.tell("poll") and daemon.client(child), "the child did not announce itself", every_s=0.1)
    assert daemon.client(child)["session"] == "(bound)"
    assert snapshot(daemon, child)[:2] == program.truth()[:2] == (33000, 321)
    if when == "before":
        assert snapshot(daemon, program.pid)[:2] == (31000, 301)


def test_executed_program_is_bound(make_daemon, link, start_bound, snapshot):
    daemon = make_daemon()
    program = start_bound(link("bound"))
    program.tell("keep 300")
    wait_for(daemon, program)
    program.tell("exec")
    program.tell("keep 5")
    wait_until(lambda: snapshot(daemon, program.pid) == program.truth() == (1500, 6, 1500, 6), "the new program is not recorded")


class Storing(Daemon):
    stores = True

    def stored(self, name):
        done = self.ask("snapshots", "--json")
        assert done.returncode == 0, done.stderr
        return next((s["id"] for s in json.loads(done.stdout)["snapshots"] if s["name"] == name), None)


@pytest.mark.parametrize("when", ["before", "later"])
def test_named_snapshot_and_kill(dist, heapscope, link, start_bound, report, tmp_path, when):
    """A bound process asks for a snapshot of itself, and leaves its last state when it is killed."""
    folder = tmp_path / "stored"
    folder.mkdir()
    daemon = Storing(dist, heapscope, report, folder) if when == "before" else None
    program = start_bound(link("bound"), HEAPSCOPE_SOCKET=folder / "sock")
    try:
        program.tell("keep 300")
        if when == "later":
            assert program.tell("snapshot early") == str(-errno.ENOTCONN)
            daemon = Storing(dist, heapscope, report, folder)
            let_time_pass(1.1, "the client looks for a daemon once a second")
        assert program.tell("snapshot loaded") == "0"
        truth = program.truth()
        program.tell("drop 300")
        last = program.truth()
        program.process.kill()
        program.process.wait()
        wait_until(lambda: daemon.client(program.pid) is None, "the daemon keeps a process that was killed")
        for name, figures in (("loaded", truth), ("killed-SIGKILL", last)):
            id_ = wait_until(lambda name=name: daemon.stored(name), lambda: daemon.text())
            file = tmp_path / f"{name}.pftrace"
            assert daemon.ask("snapshots", "--download", id_, "--output-file", file).returncode == 0
            assert own_figures(report, file) == figures
    finally:
        if daemon:
            daemon.stop_all()


@pytest.mark.parametrize("end", ENDS)
def test_named_snapshot_finds_the_next_daemon(dist, heapscope, link, start_bound, report, tmp_path, end):
    """At once: not only when a second has passed."""
    folder = tmp_path / "stored"
    folder.mkdir()
    options, by = ENDS[end]
    daemon = Storing(dist, heapscope, report, folder, options)
    try:
        program = start_bound(link("bound"), HEAPSCOPE_SOCKET=folder / "sock")
        program.tell("keep 300")
        wait_for(daemon, program)
        daemon.end(by)
        assert program.tell("snapshot nobody") == str(-errno.ENOTCONN)
        daemon.start()
        assert program.tell("snapshot loaded") == "0"
        id_ = wait_until(lambda: daemon.stored("loaded"), lambda: daemon.text())
        file = tmp_path / "loaded.pftrace"
        assert daemon.ask("snapshots", "--download", id_, "--output-file", file).returncode == 0
        assert own_figures(report, file) == program.truth()
    finally:
        daemon.stop_all()


def test_next_daemon_has_it(make_daemon, link, start_bound, snapshot):
    daemon = make_daemon()
    program = start_bound(link("bound"))
    program.tell("keep 300")
    wait_for(daemon, program)
    daemon.end(signal.SIGKILL)
    program.tell("keep 100")
    daemon.start()
    assert daemon.client(program.pid)["session"] == "(bound)"
    assert snapshot(daemon, program.pid) == program.truth() == (41000, 401, 41000, 401)
    daemon.stop(daemon.begin("-p", program.pid, "-i", "1"))
    daemon.end(signal.SIGKILL)
    daemon.start()
    assert snapshot(daemon, program.pid) == program.truth()


def test_policy_forbids(make_daemon, link, start_bound, tmp_path):
    # A condition of a policy ends at a blank, and this folder's path may have one.
    path = shutil.copy(link("bound"), tmp_path / "bound")
    policy = tmp_path / "policy.conf"
    policy.write_text(f"never exe={path}\n")
    daemon = make_daemon("--policy", str(policy))
    program = start_bound(path)
    wait_for(daemon, program)
    assert daemon.client(program.pid)["is_dormant"] and "may not record without a session" in daemon.text()
    assert program.tell("bind 1 -") == str(-errno.EPERM)
    policy.write_text("")
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: "0 rules" in daemon.text())
    other = start_bound(path)
    wait_for(daemon, other)
    assert daemon.client(other.pid)["session"] == "(bound)" and daemon.client(program.pid)["is_dormant"]
    policy.write_text(f"never exe={path}\n")
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: daemon.client(other.pid)["is_dormant"], "a policy that is read later does not count")
