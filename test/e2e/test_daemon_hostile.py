"""heapscoped with hostile peers and with several users: the kernel's credentials decide which user
may do what."""

import os
import random
import shutil
import struct
import subprocess
import tempfile
import pathlib

import pytest
from daemon import Daemon
from daemon_peer import ERROR, LIST, SNAPSHOT, START, STOP, answer, connect, field, head, send

from conftest import clean_env
from preload import preloadable
from waiting import wait_until

NOBODY = 65534
OTHER = 1
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}


@pytest.fixture
def folder():
    """A folder that every user can access, like /tmp."""
    path = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="heapscoped-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def make(dist, heapscope, report, folder):
    made = []

    def call(*options, **more):
        sub = folder / f"daemon{len(made)}"
        sub.mkdir()
        sub.chmod(0o755)
        if more.get("user"):
            os.chown(sub, more["user"], more["user"])
        made.append(Daemon(dist, heapscope, report, sub, options, **more))
        return made[-1]

    yield call
    for daemon in made:
        daemon.stop_all()


def sleeper(daemon, **who):
    return subprocess.Popen(["/bin/sleep", "60"], env=daemon.preloaded(), **who)


def is_well(daemon):
    """Still registers programs and answers commands?"""
    process = sleeper(daemon)
    try:
        wait_until(lambda: daemon.client(process.pid))
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not daemon.client(process.pid))
    return True


def count_fds(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


BAD = {
    "nothing": [b""],
    "a byte": [b"H"],
    "garbage": [os.urandom(n) for n in (8, 24, 100, 5000)],
    "a head cut": [head(LIST)[:n] for n in range(8, 24)],
    "another magic": [head(LIST, magic=1)],
    "more than it says": [head(LIST, b"abc", length=1)],
    "less than it says": [head(LIST, b"abc", length=1 << 31), head(LIST, length=0xFFFFFFFF)],
    "too long": [head(START, bytes(40000)), head(START, bytes(100000))],
    "unknown kinds": [head(k) for k in (0, 1, 3, 5, 7, 9, 10, 77, 0xFFFFFFFF)],
    "a body in no file": [head(LIST, length=10, flags=1), head(START, length=1 << 26, flags=1)],
    "no protobuf": [head(k, b"\xff" * 20) for k in (START, STOP, LIST, SNAPSHOT)],
    "endless varints": [head(k, b"\x80" * 300) for k in (START, STOP, SNAPSHOT)],
    "a hello without a process": [struct.pack("<QIIIIQ", 0x31304F4C4C454853, 1, 64, 1, 0, 1 << 40) + bytes(32)],
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_request(make, what):
    daemon = make()
    before = count_fds(daemon)
    for data in BAD[what]:
        with connect(daemon) as sock:
            send(sock, data)
            reply = answer(sock) if data and len(data) >= 24 and "hello" not in what else None
            assert reply is None or reply[0] == ERROR
    assert is_well(daemon)
    wait_until(lambda: count_fds(daemon) <= before + 1)


def test_another_version_is_told(make):
    daemon = make()
    with connect(daemon) as sock:
        send(sock, head(LIST, version=2))
        kind, body = answer(sock)
    assert kind == ERROR and b"version" in body


def test_random_requests(make):
    """Messages with a valid beginning and random contents behind it, as often as time allows."""
    daemon = make()
    dice = random.Random(1)
    for _ in range(1500):
        fields = []
        for _ in range(dice.randrange(8)):
            number = dice.randrange(1, 20)
            fields.append(field(number, dice.choice([0, 1, dice.getrandbits(32), dice.getrandbits(63)]) if dice.random() < 0.5
                                else dice.choice([b"", b"x", b"../..", b"*" * 100, bytes(dice.randrange(100))])))
        fds = [os.open("/dev/null", os.O_RDWR) for _ in range(dice.randrange(4))]
        with connect(daemon) as sock:
            send(sock, head(dice.choice([START, STOP, LIST, SNAPSHOT]), b"".join(fields)), fds)
            answer(sock)
        for fd in fds:
            os.close(fd)
    assert is_well(daemon)
    assert daemon.list()["sessions"] == []


def test_silence_and_floods(make):
    daemon = make()
    silent = [connect(daemon) for _ in range(300)]
    assert is_well(daemon)
    talkers = []
    for _ in range(560):
        talkers.append(connect(daemon))
        send(talkers[-1], head(LIST))
    assert is_well(daemon)  # the oldest connections are closed
    for sock in silent + talkers:
        sock.close()
    wait_until(lambda: count_fds(daemon) < 30)
    assert is_well(daemon)


def test_more_descriptors_than_there_is_room_for(make):
    daemon = make()
    before = count_fds(daemon)
    fd = os.open("/dev/null", os.O_RDONLY)
    for _ in range(20):
        with connect(daemon) as sock:
            send(sock, head(LIST), [fd] * 200)
            reply = answer(sock)
            assert reply is None or reply[0] in (ERROR, LIST + 1)
    os.close(fd)
    assert is_well(daemon)
    wait_until(lambda: count_fds(daemon) <= before + 1)


def start_request(**names):
    body = field(2, b"x") + field(5, 4096)
    return body + field(16, names.get("temp", b"t")) + field(17, names.get("final", b"f")) + field(18, b"/t")


def test_files_that_are_none(make, folder):
    """The daemon checks a file that it receives: its kind, mode and names."""
    daemon = make()
    place = os.open(folder, os.O_RDONLY)
    good = os.open(folder / "t", os.O_RDWR | os.O_CREAT)
    pipe = os.pipe()
    cases = [([], {}), ([good], {}), ([place, good], {}), ([pipe[1], place], {}), ([good, good], {}),
             ([os.open(folder / "t", os.O_RDONLY), place], {}), ([os.open(folder / "t", os.O_PATH), place], {}),
             ([os.open("/dev/null", os.O_RDWR), place], {}), ([good, place], {"final": b"../x"}),
             ([good, place], {"temp": b"a/b"}), ([good, place], {"final": b""}), ([good, place], {"final": b".."})]
    for fds, names in cases:
        with connect(daemon) as sock:
            send(sock, head(START, start_request(**names)), fds)
            kind, body = answer(sock)
            assert kind == ERROR and b"cannot begin" in body, (fds, names)
    with connect(daemon) as sock:
        send(sock, head(START, start_request()), [good, place])
        assert answer(sock)[0] == START + 1
    assert len(daemon.list()["sessions"]) == 1


def test_a_file_that_is_taken_away(make, folder, target):
    """Another process removes or replaces the temporary file: no other file gets the final name."""
    daemon = make()
    program = daemon.phases(target)
    daemon.begin("-p", program.pid, "-o", folder / "x.pftrace")
    (temp,) = folder.glob(".x.pftrace.*")
    temp.unlink()
    temp.write_text("something else")
    done = daemon.ask("stop")
    assert done.returncode == 1
    assert not (folder / "x.pftrace").exists() and temp.read_text() == "something else"


# --- users --------------------------------------------------------------------------------------


def test_a_user_of_the_machines_daemon(make, folder):
    daemon = make("--system")
    assert daemon.socket.stat().st_mode & 0o777 == 0o666
    roots, users = sleeper(daemon), sleeper(daemon, **AS_NOBODY)
    try:
        wait_until(lambda: daemon.client(roots.pid) and daemon.client(users.pid))
        seen = daemon.ask("list", "--json", **AS_NOBODY).stdout
        assert str(users.pid) in seen and f'"pid": {roots.pid},' not in seen
        done = daemon.ask("start", "-n", "sleep", "--session", "users", "-o", folder / "users.pftrace", **AS_NOBODY)
        assert done.returncode == 0, done.stderr
        assert daemon.client(users.pid)["session"] == "users"
        assert daemon.client(roots.pid)["is_dormant"]
        done = daemon.ask("start", "-p", roots.pid, "-o", folder / "x", **AS_NOBODY)
        assert done.returncode == 1 and "it belongs to user 0" in done.stderr
        daemon.begin("-p", roots.pid, "--session", "roots")
        for command in (["stop", "roots"], ["snapshot", "-p", roots.pid]):
            done = daemon.ask(*command, "-q", **AS_NOBODY)
            assert done.returncode == 1, command
        assert daemon.session("roots")["state"] == "running"
        later = sleeper(daemon, **AS_NOBODY)
        wait_until(lambda: daemon.client(later.pid) and daemon.client(later.pid).get("session") == "users")
        later.kill()
        later.wait()
        done = daemon.ask("snapshot", "-p", users.pid, "-o", folder / "now.pftrace", **AS_NOBODY)
        assert done.returncode == 0, done.stderr
        done = daemon.ask("stop", **AS_NOBODY)
        assert done.returncode == 0, done.stderr
        file = (folder / "users.pftrace").stat()
        assert (file.st_uid, file.st_gid) == (NOBODY, NOBODY)
        assert len(daemon._report(folder / "users.pftrace")["processes"]) == 2
    finally:
        for process in (roots, users):
            process.kill()
            process.wait()


def test_a_user_cannot_have_a_file_put_where_he_may_not(make, folder):
    """A descriptor of a folder does not give the right to write there, even though root's daemon
    uses it."""
    daemon = make("--system")
    closed = folder / "closed"
    closed.mkdir(mode=0o755)
    own = folder / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    request = head(START, field(2, b"sleep") + field(5, 4096) + field(16, b"t") + field(17, b"f") + field(18, b"/t"))
    code = f"""
import array, os, socket, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
fds = [os.open("{own}/t", os.O_RDWR | os.O_CREAT), os.open("{closed}", os.O_RDONLY)]
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.connect("{daemon.socket}")
sock.sendmsg([bytes.fromhex("{request.hex()}")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
sys.exit(sock.recv(9999)[12] != {START + 1})
"""
    assert subprocess.run(["/usr/bin/python3", "-c", code], check=False).returncode == 0
    os.link(own / "t", closed / "t")  # as if the name belonged there
    process = sleeper(daemon, **AS_NOBODY)
    wait_until(lambda: daemon.client(process.pid))
    process.kill()
    process.wait()
    wait_until(lambda: not daemon.client(process.pid))
    done = daemon.ask("stop")
    assert done.returncode == 1 and "Permission denied" in done.stderr
    assert sorted(os.listdir(closed)) == ["t"]


def test_a_users_own_daemon(make, folder, heapscope):
    daemon = make(user=NOBODY)
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
    users, roots = sleeper(daemon, **AS_NOBODY), sleeper(daemon)
    try:
        wait_until(lambda: daemon.client(users.pid))
        done = daemon.ask("start", "-n", "sleep", "-o", folder / "x.pftrace", **AS_NOBODY)
        assert done.returncode == 0, done.stderr
        # Root's programs do not hand their memory to another user's daemon.
        assert not daemon.client(roots.pid)
        other = daemon.ask("list", user=OTHER, group=OTHER, extra_groups=[])
        assert other.returncode == 1 and "another user" in other.stderr
        assert daemon.ask("stop", **AS_NOBODY).returncode == 0
        assert len(daemon._report(folder / "x.pftrace")["processes"]) == 1
    finally:
        for process in (users, roots):
            process.kill()
            process.wait()


def test_a_daemon_that_is_not_trusted(make, folder):
    """Another user's socket is where the daemon's should be: neither programs nor commands talk to
    it."""
    fake = folder / "fake"
    code = f"""
import os, socket, time
os.setgid({NOBODY}); os.setuid({NOBODY})
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.bind("{fake}"); sock.listen(9); os.chmod("{fake}", 0o777); sock.settimeout(30)
print("ready", flush=True)
talk, _ = sock.accept()
print(len(talk.recv(999)), flush=True)
"""
    with subprocess.Popen(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        env = clean_env(HEAPSCOPE_SOCKET=fake, LD_PRELOAD=preloadable(make().dist / "lib" / "libheapscope_preload.so"))
        subprocess.run(["/bin/true"], env=env, check=True, user=OTHER, group=OTHER, extra_groups=[])
        assert process.stdout.readline() == "0\n"  # the connection was closed without an answer


def test_a_users_share_of_connections(make):
    """One user cannot use up the connections of others."""
    daemon = make("--system")
    code = f"""
import os, socket, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
kept = []
for i in range(300):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect("{daemon.socket}")
    sock.send(bytes.fromhex("{head(LIST).hex()}"))
    sock.recv(99999)
    kept.append(sock)
gone = 0
for sock in kept:
    sock.setblocking(False)
    try:
        gone += sock.recv(99) == b""
    except BlockingIOError:
        pass
print(gone, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) >= 300 - 144
        assert is_well(daemon)
        process.stdin.close()
        assert process.wait(30) == 0
