"""Snapshots that programs take of themselves, and what they leave when they are killed: in the daemon's store."""

import gzip
import json
import os
import signal
import socket
import struct
import subprocess

import pytest
from conftest import clean_env, let_others_in
from daemon import Daemon
from resident import need_ptrace
from test_named_snapshots import EAGAIN, EINVAL, ENOTCONN, ETIMEDOUT, Snapper, check_race, named
from waiting import wait_until

NOBODY, OTHER = 65534, 65533
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs several users")


class Storing(Daemon):
    """A daemon with a store in its folder."""

    stores = True

    def snapper(self, target, **more):
        more.setdefault("env", self.preloaded())
        program = Snapper([target("snapper", "-pthread")], **more)
        self._snappers = [*getattr(self, "_snappers", []), program]
        wait_until(lambda: self.client(program.process.pid), "the program did not announce itself")
        return program

    def stored(self, *options, **more):
        """What `heapscope snapshots` lists."""
        done = self.ask("snapshots", "--json", *options, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["snapshots"]

    def names(self, *options, **more):
        return [s["name"] for s in self.stored(*options, **more)]

    def wait_for(self, *names):
        """Waits until these are stored, in any order."""
        wait_until(lambda: sorted(self.names()) == sorted(names), lambda: f"stored: {self.names()}; {self.text()}")

    def download(self, id_, file):
        done = self.ask("snapshots", "--download", id_, "--output-file", file)
        assert done.returncode == 0, done.stderr
        return file

    def stop_all(self):
        for program in getattr(self, "_snappers", []):
            program.kill()
        super().stop_all()


@pytest.fixture
def daemon_class():
    return Storing


@pytest.fixture
def make(dist, heapscope, report, tmp_path):
    """make("--option", user=..): a daemon with options."""
    made = []

    def call(*options, **more):
        folder = tmp_path / f"daemon{len(made)}"
        folder.mkdir()
        folder.chmod(0o755)
        if more.get("user"):
            os.chown(folder, more["user"], more["user"])
        let_others_in(folder)
        made.append(Storing(dist, heapscope, report, folder, options, **more))
        return made[-1]

    yield call
    for daemon in made:
        daemon.stop_all()


def id_of(daemon, name):
    return next(s["id"] for s in daemon.stored() if s["name"] == name)


def test_stored_and_in_the_file(daemon, target, report, tmp_path):
    name = daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("race 10") == 0
    assert it.obey("take after load, é 100%") == 0
    assert it.obey("fork child") == 0
    names = [*(f"race {i}" for i in range(10)), "after load, é 100%", "child"]
    daemon.wait_for(*names)
    check_race(named(report, daemon.stop(name).file), 10)
    # Each is a file of its own, which is exact as well.
    one = report(daemon.download(id_of(daemon, "race 7"), tmp_path / "7.pftrace"))
    zero = report(daemon.download(id_of(daemon, "race 0"), tmp_path / "0.pftrace"))
    assert one["totals"]["live"]["bytes"] - zero["totals"]["live"]["bytes"] == 7000
    assert one["processes"][0]["snapshot_name"] == "race 7"
    assert "add_blocks" in json.dumps(one["stacks"])
    # They outlive the program, and the daemon.
    pid = it.process.pid
    assert it.end() == 0
    assert daemon.end() == 0
    assert sorted(daemon.names()) == sorted(names)
    assert daemon.names("--pid", pid) == [n for n in daemon.names() if n != "child"]
    assert daemon.names("--by-koid", pid + 100000) == []
    assert len(daemon.names("--by-name", "snap*")) == 12 and daemon.names("--by-name", "other") == []
    assert "no stored snapshot is of such a process" in daemon.ask("snapshots", "--by-name", "other").stdout
    text = daemon.ask("snapshots").stdout
    assert len(text.splitlines()) == 13 and "after load, é 100%" in text and text.startswith("ID ")
    pprof = daemon.download(id_of(daemon, "after load, é 100%"), tmp_path / "x.pb.gz")
    assert b"add_blocks" in gzip.decompress(pprof.read_bytes())


def test_delete_and_wrong_usage(daemon, target, tmp_path):
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert [it.obey(f"take {i}") for i in range(3)] == [0, 0, 0]
    daemon.wait_for("0", "1", "2")
    one, last = id_of(daemon, "1"), 3
    assert daemon.ask("snapshots", "--delete", one).returncode == 0
    daemon.wait_for("0", "2")
    for option in ["--delete", "--download"]:
        gone = daemon.ask("snapshots", option, one, cwd=tmp_path)
        assert gone.returncode == 1 and f"there is no stored snapshot '{one}'" in gone.stderr
        for wrong in ["x", "0", "-1", "../1", "1000:1", "system:1", "1 "]:
            assert daemon.ask("snapshots", option, wrong, cwd=tmp_path).returncode == 1
    for usage in [["--delete", "1", "--download", "1"], ["-o", "x"], ["--download", "1", "--json"], ["--pid", "0"],
                  ["--delete", "1", "--pid", "7"], ["x"]]:
        assert daemon.ask("snapshots", *usage).returncode == 2, usage
    # A number is not given twice, also if it was the last one.
    if int(one) != last:
        assert daemon.ask("snapshots", "--delete", last).returncode == 0
    assert it.obey("take new") == 0
    wait_until(lambda: "new" in daemon.names(), "it is not stored")
    assert int(id_of(daemon, "new")) == last + 1
    default = daemon.ask("snapshots", "--download", last + 1, cwd=tmp_path)
    assert default.returncode == 0, default.stderr
    assert (tmp_path / f"heapscope.snapper.{it.process.pid}.{last + 1}.pftrace").exists() or \
        list(tmp_path.glob(f"heapscope.snapper*.{it.process.pid}.{last + 1}.pftrace"))
    unwritable = daemon.ask("snapshots", "--download", last + 1, "-o", tmp_path / "no" / "folder.pftrace")
    assert unwritable.returncode == 1 and "cannot write" in unwritable.stderr


def test_limits(make, target):
    daemon = make("--snapshots", "3")
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    for i in range(6):
        assert it.obey(f"take {i}") == 0
        wait_until(lambda i=i: str(i) in daemon.names(), "it is not stored")
    assert daemon.names() == ["3", "4", "5"]


@pytest.mark.parametrize("options, said", [(["--snapshots", "0"], None), (["--snapshots-size", "100"], "larger than the limit")])
def test_nothing_is_stored(make, target, report, options, said):
    daemon = make(*options)
    name = daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("take x") == 0  # it is in the session's file
    if said:
        wait_until(lambda: said in daemon.text(), "no message")
    assert list(named(report, daemon.stop(name).file)) == ["x"]
    assert daemon.end() == 0 and daemon.names() == []


@pytest.mark.costly
def test_many_at_once(daemon, target):
    daemon.begin("-n", "snapper*", "-i", 1)
    programs = [daemon.snapper(target) for _ in range(4)]
    for it in programs:
        it.process.stdin.write("threads 25\n")
        it.process.stdin.flush()
    for it in programs:
        assert it.process.stdout.readline().split()[0] == "0"
    wait_until(lambda: len(daemon.names()) == 100, lambda: f"{len(daemon.names())} are stored; {daemon.text()}")
    ids = [int(s["id"]) for s in daemon.stored()]
    assert sorted(ids) == list(range(1, 101))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_killed_program_leaves_its_last_state(daemon, target, report, tmp_path, number):
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("add 7 12345") == 0
    it.process.send_signal(number)
    it.process.wait()
    name = f"killed-{signal.Signals(number).name}"
    daemon.wait_for(name)
    found = report(daemon.download(id_of(daemon, name), tmp_path / "x.pftrace"))
    assert found["processes"][0]["exit_signal"] == number
    assert found["totals"]["live"]["bytes"] >= 7 * 12345


def test_what_leaves_nothing(daemon, target):
    dormant = daemon.snapper(target)
    assert dormant.obey("take x") == -ENOTCONN  # no session records it
    dormant.kill()
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.end() == 0
    by_exec = daemon.snapper(target)
    by_exec.process.stdin.write("exec\n")
    by_exec.process.stdin.flush()
    assert by_exec.process.stdout.readline() == "ready\n"
    assert by_exec.end() == 0
    wait_until(lambda: not daemon.list()["clients"], "they do not end")
    assert daemon.end() == 0 and daemon.names() == []


def test_between_sessions(daemon, target, report):
    first = daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("take one") == 0
    assert list(named(report, daemon.stop(first).file)) == ["one"]
    assert it.obey("take none") == -ENOTCONN
    second = daemon.begin("-p", it.process.pid, "-i", 1)
    # The process makes a region for the new session, although it allocates nothing before.
    assert it.obey("take two") == 0
    assert list(named(report, daemon.stop(second).file)) == ["two"]
    daemon.wait_for("one", "two")


def test_a_daemon_that_is_killed(daemon, target, report):
    name = daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("race 3") == 0
    daemon.wait_for("race 0", "race 1", "race 2")
    daemon.end(signal.SIGKILL)
    assert sorted(daemon.names()) == ["race 0", "race 1", "race 2"]  # they may be of one millisecond
    assert it.obey("take in vain") in (-ETIMEDOUT, -ENOTCONN)
    assert it.took_ms < 10000
    daemon.start()
    assert it.obey("take again") == 0
    daemon.wait_for("race 0", "race 1", "race 2", "again")
    live = named(report, daemon.stop(name).file)
    assert list(live) == ["race 0", "race 1", "race 2", "again"]
    assert it.obey("take late") == -ENOTCONN


@pytest.mark.parametrize("end", ["lives", "ends"])
def test_a_daemon_that_is_killed_while_it_reads(daemon, target, report, tmp_path, end):
    """The program was told that the snapshot is taken: the next daemon reads it, of the same instant."""
    name = daemon.begin("-n", "snapper*", "-i", 1)
    for i in range(100):  # until the kill comes while the region is read
        it = daemon.snapper(target)
        assert it.obey("add 90000 50") == 0
        assert it.obey(f"take now {i}") == 0
        daemon.end(signal.SIGKILL)
        assert it.obey("drop 30000") == 0 and it.obey("add 10 1000000") == 0
        if end == "ends":
            it.end()
        daemon.start()
        wait_until(lambda i=i: f"now {i}" in daemon.names(), lambda i=i: f"now {i} of {daemon.names()}: {daemon.text()}")
        id_ = next(s["id"] for s in daemon.stored() if s["name"] == f"now {i}")
        live = report(daemon.download(id_, tmp_path / "now.pftrace"), "--top", "all")["stacks"]
        own = [s["live"] for s in live if any(f["function"] == "add_blocks" for f in s["frames"])]
        assert (sum(o["bytes"] for o in own), sum(o["count"] for o in own)) == (90000 * 50, 90000)
        it.kill()
        if f"'now {i}'" in daemon.text():
            break
    assert f"now {i}' that it has taken of itself is read now" in daemon.text()
    assert f"now {i}" in named(report, daemon.stop(name).file)


def test_killed_while_no_daemon_runs(daemon, target):
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("add 7 12345") == 0
    daemon.end(signal.SIGKILL)
    it.process.kill()
    # A zombie until now: the next daemon can see how it ended.
    daemon.start()
    daemon.wait_for("killed-SIGKILL")


def test_killed_while_it_waits(daemon, target):
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("add 7 12345") == 0
    os.kill(daemon.pid, signal.SIGSTOP)
    it.process.stdin.write("take last words\n")
    it.process.stdin.flush()
    wait_until(lambda: is_polling(it.process.pid), "it does not ask")
    it.process.kill()
    it.process.wait()
    os.kill(daemon.pid, signal.SIGCONT)
    # Nothing was done after the call: both are its state at the call.
    daemon.wait_for("last words", "killed-SIGKILL")


def is_polling(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == "271"  # ppoll, x86-64


def test_attached_by_the_daemon(daemon, target, tmp_path, dist, report):
    need_ptrace()
    it = Snapper([target("snapper", "-pthread")], env=clean_env())
    try:
        name = daemon.begin("-p", it.process.pid, "-i", 1)
        wait_until(lambda: daemon.client(it.process.pid), "it is not attached to")
        assert it.obey("race 5") == 0
        assert it.obey("fork child") == 0
        daemon.stop(name)
        daemon.wait_for(*(f"race {i}" for i in range(5)), "child")
        # Another recorder, whose socket has a shorter name: children still find it.
        file = tmp_path / "a.pftrace"
        attach = subprocess.Popen([str(dist / "bin/heapscope"), "attach", "-i", "1", "-o", str(file),
                                   str(it.process.pid)], env=clean_env(), stderr=subprocess.PIPE, text=True)
        for line in attach.stderr:
            if "attached to" in line:
                break
        assert it.obey("take x") == 0
        assert it.obey("fork y") == 0
        attach.send_signal(signal.SIGINT)
        attach.communicate(timeout=60)
        assert set(named(report, file)) == {"x", "y"}
    finally:
        it.kill()


# --- users ----------------------------------------------------------------------------------------


@ROOT_ONLY
def test_of_several_users(make, target, tmp_path):
    let_others_in(tmp_path)
    daemon = make("--system")
    daemon.begin("-n", "snapper*", "-i", 1)
    programs = {user: daemon.snapper(target, user=user, group=user, extra_groups=[]) for user in (0, NOBODY, OTHER)}
    for user, it in programs.items():
        assert it.obey(f"take of {user}") == 0
    wait_until(lambda: len(daemon.names()) == 3, lambda: f"{daemon.stored()} {daemon.text()}")
    assert {s["id"]: (s["name"], s["uid"]) for s in daemon.stored()} == {
        "1": ("of 0", 0), f"{NOBODY}:1": (f"of {NOBODY}", NOBODY), f"{OTHER}:1": (f"of {OTHER}", OTHER)}

    def as_user(user, *args):
        return daemon.ask("snapshots", *args, user=user, group=user, extra_groups=[], cwd=writable)

    writable = tmp_path / "writable"
    writable.mkdir(mode=0o777)
    writable.chmod(0o777)
    own = json.loads(as_user(NOBODY, "--json").stdout)["snapshots"]
    assert [(s["id"], s["name"]) for s in own] == [("1", f"of {NOBODY}")]
    for option in ["--download", "--delete"]:
        assert as_user(OTHER, option, f"{NOBODY}:1").returncode == 1
    assert as_user(NOBODY, "--download", "1", "-o", "mine.pftrace").returncode == 0
    assert as_user(NOBODY, "--delete", "1").returncode == 0
    assert len(daemon.names()) == 2
    assert daemon.ask("snapshots", "--delete", f"{OTHER}:1").returncode == 0
    assert daemon.names() == ["of 0"]
    # The folders let no other user in.
    for user in (0, NOBODY, OTHER):
        st = (daemon.state / str(user)).stat()
        assert (st.st_uid, st.st_mode & 0o777) == (user, 0o700)


@ROOT_ONLY
def test_a_process_that_its_user_may_not_profile(make, target, tmp_path):
    let_others_in(tmp_path)
    daemon = make("--system")
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target, user=NOBODY, group=NOBODY, extra_groups=[])
    assert it.obey("secret") == 0  # prctl(PR_SET_DUMPABLE, 0)
    assert it.obey("take secret") == 0
    daemon.wait_for("secret")
    assert daemon.stored()[0]["uid"] == 0  # root recorded it


def test_a_folder_that_cannot_be_made(daemon, target, report):
    daemon.state.symlink_to("/proc")
    name = daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    assert it.obey("take x") == 0
    wait_until(lambda: "cannot store the snapshot 'x' of process" in daemon.text(), "no message")
    assert list(named(report, daemon.stop(name).file)) == ["x"]


@pytest.mark.parametrize("state, status", [("relative", 1), ("off", 0), ("", 0)])
def test_places(dist, heapscope, tmp_path, state, status):
    env = {"HEAPSCOPE_STATE": state, "XDG_STATE_HOME": tmp_path}
    listed = heapscope("snapshots", env=env)
    assert listed.returncode == status
    if status:
        assert "HEAPSCOPE_STATE is neither the absolute path of a folder nor 'off'" in listed.stderr
        done = subprocess.run([dist / "bin/heapscoped", "--socket", tmp_path / "sock"], env=clean_env(**env), check=False,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "HEAPSCOPE_STATE" in done.stderr
    elif state == "off":
        assert listed.stdout == "no snapshot is stored\n"


def test_what_others_put_into_the_folder(daemon, target, tmp_path):
    folder = daemon.state / str(os.geteuid())
    folder.mkdir(parents=True, mode=0o700)
    (folder / "5,1,1,p,garbage.pftrace").write_bytes(b"garbage")
    (folder / "6,1,1,p,empty.pftrace").write_bytes(b"")
    (folder / "7,1,1,p\x1b[31m,x.pftrace").write_bytes(b"")
    (folder / "8,1,1,p,esc%1B[31m%0A.pftrace").write_bytes(b"x")
    os.mkfifo(folder / "9,1,1,p,pipe.pftrace")
    assert [s["id"] for s in daemon.stored()] == ["5", "6", "8"]
    text = daemon.ask("snapshots").stdout
    assert "\x1b" not in text and len(text.splitlines()) == 4
    for id_ in ["5", "6", "8"]:
        done = daemon.ask("snapshots", "--download", id_, "-o", tmp_path / "x.pftrace")
        assert done.returncode == 1 and "not a snapshot" in done.stderr
        assert not (tmp_path / "x.pftrace").exists()
    daemon.begin("-n", "snapper*", "-i", 1)
    assert daemon.snapper(target).obey("take good") == 0
    wait_until(lambda: "good" in daemon.names(), "it is not stored")
    assert id_of(daemon, "good") == "9"


# --- messages that no client sends ----------------------------------------------------------------


def message(name=b"x", magic=b"NMESNP01", version=1, size=128, pid=None, name_bytes=None, start=0):
    pid = os.getpid() if pid is None else pid
    return struct.pack("<8sIIIIQ64s32x", magic, version, size, pid, len(name) if name_bytes is None else name_bytes, start,
                       name)


def ask_raw(daemon, data):
    """The error in the answer; None: there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(10)
        sock.connect(str(daemon.socket))
        sock.send(data)
        try:
            answer = sock.recv(100)
        except ConnectionResetError:
            return None
    return struct.unpack("<8sIi", answer)[2] if answer else None


def test_hostile_messages(daemon, target):
    daemon.begin("-n", "snapper*", "-i", 1)
    it = daemon.snapper(target)
    # This process is no target, whatever it says.
    assert ask_raw(daemon, message()) == -EAGAIN
    assert ask_raw(daemon, message(pid=it.process.pid)) == -EAGAIN
    for bad in [message(version=0), message(size=1), message(name_bytes=0), message(name_bytes=64), message(b"x" * 64),
                message(b"a\0b"), message(name_bytes=2**32 - 1), message()[:100], b"NMESNP01"]:
        assert ask_raw(daemon, bad) == -EINVAL, bad
    assert ask_raw(daemon, b"NMESNP0") is None
    for _ in range(200):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.connect(str(daemon.socket))
            sock.send(message())
    assert it.obey("take good") == 0
    daemon.wait_for("good")
    assert it.end() == 0
