"""heapscope run and processes: killed ones, thousands of short ones, exec, processes that stay,
hostile ones."""

import os
import shlex
import shutil
import subprocess

import pytest

from conftest import clean_env
from waiting import PATIENCE_S, list_all, wait_for_dumps, wait_until

PYTHON = "/usr/bin/python3"
PRELUDE = "import array, ctypes, mmap, os, signal, socket, struct, subprocess, sys, time\n"


def python(code, *args):
    return [PYTHON, "-c", PRELUDE + code, *map(str, args)]


def test_default_file_name(heapscope, tmp_path, monkeypatch, report):
    monkeypatch.chdir(tmp_path)
    done = heapscope("run", "--", "/bin/sh", "-c", "echo $$")
    (file,) = tmp_path.iterdir()
    assert file.name == f"heapscope.sh.{done.stdout.strip()}.pftrace"
    assert report(file)["processes"][0]["pid"] == int(done.stdout)
    assert file.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    umask = os.umask(0o22)
    os.umask(umask)
    return umask


def test_summary(heapscope, tmp_path, report):
    code = "x = [bytes(50000) for i in range(200)]; os._exit(0)"
    done = heapscope("run", "-o", tmp_path / "x", "--", *python(code))
    assert done.stdout == ""
    assert "MiB" in done.stderr
    assert "live at the end" in done.stderr
    assert f"Next: heapscope report {tmp_path / 'x'}" in done.stderr
    assert "\x1b" not in done.stderr
    live = report(tmp_path / "x")["totals"]["live"]["bytes"]
    assert 10_000_000 < live < 18_000_000  # with Python's arenas


def test_reader_of_the_summary_goes_away(dist, report, tmp_path):
    file = tmp_path / "x.pftrace"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([dist / "bin/heapscope", "run", "-o", file, "--", "/bin/true"], stderr=write,
                          env=clean_env(), check=False)
    os.close(write)
    assert done.returncode == 0
    assert report(file)["processes"]


def test_quiet(heapscope, tmp_path):
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", "/usr/bin/true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_kill_loses_nothing(run, tmp_path):
    """1000 blocks of 10000 bytes, half of them freed, then SIGKILL at once."""
    source = tmp_path / "k.c"
    source.write_text("""
#include <signal.h>
#include <stdlib.h>
static void *keep[1000];
int main(void)
{
    for (int i = 0; i < 1000; i++) keep[i] = malloc(10000);
    for (int i = 0; i < 500; i++) free(keep[i]);
    raise(SIGKILL);
}
""")
    subprocess.run(["gcc", "-o", tmp_path / "k", source], check=True)
    for interval in (1, 4096):
        done = run([tmp_path / "k"], "-i", interval)
        assert done.status == 128 + 9
        totals = done.report()["totals"]
        for name, count in (("alloc", 1000), ("live", 500), ("peak", 1000)):
            assert (totals[name]["bytes"], totals[name]["count"]) == (count * 10_000, count)


def test_exec_makes_a_new_profile(run):
    """The same pid three times: each image is final, only the last one has the status."""
    done = run(["/bin/sh", "-c", "exec /bin/sh -c 'exec /usr/bin/python3 -c \"raise SystemExit(4)\"'"])
    assert done.status == 4
    processes = done.report()["processes"]
    assert len({p["pid"] for p in processes}) == 1
    assert [p["name"] for p in processes] == ["sh", "sh", "python3"]
    assert all(p["is_final"] for p in processes)
    assert [p.get("exit_status") for p in processes] == [None, None, 4]


def compile_silent(folder):
    """A program that the client cannot see: it holds 10 MiB for a while, and ends with status 3."""
    source = folder / "silent.c"
    source.write_text(
        "#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile kept;\n"
        "int main(void) { kept = malloc(10 << 20); usleep(100000); return 3; }\n"
    )
    subprocess.run(["gcc", "-static", source, "-o", folder / "silent"], check=True)
    return folder / "silent"


@pytest.mark.parametrize("how", ["{}", "sleep 0.2; exec {}", "LD_PRELOAD= exec /bin/sleep 0.1"], ids=["at-once", "later", "other"])
def test_a_program_that_is_not_recorded_takes_over(run, heapscope, tmp_path, how):
    """The image before it is over, and its allocations are not all of the process's."""
    silent = shlex.quote(str(compile_silent(tmp_path)))
    done = run(["/bin/bash", "-c", how.format(silent)], "-i", 1)
    assert done.status == (0 if "sleep 0.1" in how else 3)
    report = done.report()
    process = next(p for p in report["processes"] if p["name"] == "bash")
    assert (process["name"], process["end"]) == ("bash", "executed another program")
    assert "exit_status" not in process and not report["is_exact"]
    words = " ".join(heapscope("report", done.file).stdout.split())
    assert f"! bash (pid {process['pid']}) executed another program, of which nothing is in this file" in words
    assert "exact: all" not in words


def test_children_that_execute_programs_that_are_not_recorded(run, heapscope, tmp_path):
    silent = shlex.quote(str(compile_silent(tmp_path)))
    done = run(["/bin/bash", "-c", f"{silent}; {silent}; exit 0"], "-i", 1)
    ends = [p["end"] for p in done.report()["processes"]]
    assert ends == ["exited with status 0"] + ["executed another program"] * 2
    assert {p["name"] for p in done.report()["processes"]} == {"bash"}
    words = " ".join(heapscope("report", done.file).stdout.split())
    assert "and 1 more process executed another program" in words and "exact: all" not in words


@pytest.mark.costly
def test_exec_between_dumps(run, heapscope):
    """Each image is one process with all its dumps; the last dump of the older one comes before the
    first of the newer one."""
    code = "import os, sys, time; n = int(sys.argv[1]); keep = [bytes(5000) for i in range(400 * n)]; time.sleep(0.5); " \
           "n < 3 and os.execv(sys.executable, [sys.executable, '-c', os.environ['CODE'], str(n + 1)])"
    done = run(["/usr/bin/env", f"CODE={code}", "/usr/bin/python3", "-c", code, "1"], "--dump-every", "150ms", "-i", "64")
    processes = [p for p in done.report()["processes"] if p["name"] == "python3"]
    assert [p["is_final"] for p in processes] == [True] * 3, processes
    assert len({p["pid"] for p in processes}) == 1 and processes[-1]["exit_status"] == 0
    assert [p["live"]["bytes"] > 1_900_000 * (i + 1) for i, p in enumerate(processes[:2])] == [True, True], processes
    sql = "SELECT exit_kind, end_ns, min(time_ns), dump_count FROM heapscope_processes p JOIN heapscope_dumps d ON " \
          "d.process_id = p.id WHERE name = 'python3' GROUP BY p.id ORDER BY p.start_ns"
    rows = [line.split(",") for line in heapscope("query", "--format", "csv", done.file, sql).stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ['"executed"', '"executed"', '"code"'], rows
    for older, newer in zip(rows, rows[1:]):
        assert int(older[2]) < int(older[1]) < int(newer[2]), rows
    assert all(int(row[3]) >= 2 for row in rows), rows
    text = heapscope("report", done.file).stdout
    assert text.count("executed another program") == len(done.report()["processes"]) - 1, text
    sql = "SELECT sum(size) FROM heap_profile_allocation"
    live = int(heapscope("query", "--format", "csv", done.file, sql).stdout.splitlines()[1])
    assert abs(live - processes[-1]["live"]["bytes"]) <= 16, (live, processes)


@pytest.mark.costly
def test_many_short_processes(dist, report, tmp_path):
    """More processes than descriptors, and every single one is in the file."""
    count = 300
    code = f"""
running = []
for i in range({count}):
    running.append(subprocess.Popen(["/bin/sh", "-c", f"exit {{i % 256}}"]))
    if len(running) > 40:
        running.pop(0).wait()
for p in running:
    p.wait()
"""
    recorder = shlex.quote(str(dist / "bin" / "heapscope"))
    script = f'ulimit -n 64; exec {recorder} run -q -i 1 -o {tmp_path}/x -- "$@"'
    subprocess.run(["/bin/sh", "-c", script, "sh", *python(code)], env=clean_env(), check=True)
    shells = [p for p in report(tmp_path / "x")["processes"] if p["name"] == "sh"]
    assert len(shells) == count
    assert all(p["is_final"] and p["alloc"]["bytes"] > 0 for p in shells)
    assert os.listdir(tmp_path) == ["x"]


def test_children_can_be_left_alone(run):
    code = "subprocess.run(['/bin/sh', '-c', 'true; true']); raise SystemExit(6)"
    done = run(python(code), "--no-follow")
    assert done.status == 6
    (process,) = done.report()["processes"]
    assert process["name"] == "python3"
    assert len(run(python(code)).report()["processes"]) == 2


def test_no_follow_goes_through_exec(run):
    done = run(["/bin/sh", "-c", "/bin/true; exec /usr/bin/python3 -c pass"], "--no-follow")
    assert [p["name"] for p in done.report()["processes"]] == ["sh", "python3"]


def test_scheduled_dumps(heapscope, dist, report, tmp_path):
    """The program grows until it has been dumped ten times, however long that and its start take on a busy machine."""
    file, stop, grown = tmp_path / "run.pftrace", tmp_path / "stop", tmp_path / "grown"
    code = f"""x = []
while not os.path.exists({str(stop)!r}):
    x.append(bytes(100000))
    if len(x) == 20: open({str(grown)!r}, "w").close()
    time.sleep(0.05)"""
    process = subprocess.Popen([dist / "bin" / "heapscope", "run", "-q", "-o", file, "--dump-every", "200ms", "--", *python(code)],
                               env=clean_env())
    try:
        wait_until(grown.exists, "the program does not grow")
        session = f"run.{process.pid}"
        count = next(s["dump_count"] for s in list_all(heapscope, "sessions") if s["session"] == session)
        wait_for_dumps(heapscope, session, max(10, count + 2))
    finally:
        stop.touch()
        assert process.wait(PATIENCE_S) == 0
    (recorded,) = report(file)["processes"]
    count = recorded["snapshot_count"]
    assert 10 <= count <= recorded["duration_seconds"] / 0.2 + 2
    totals = [report(file, "--snapshot", i)["totals"] for i in range(count)]
    live, allocated = ([one[key]["bytes"] for one in totals] for key in ("live", "alloc"))
    assert allocated == sorted(allocated)
    assert live[-2] > live[0] + 500_000


def test_children_that_outlive_the_duration(heapscope, report, tmp_path):
    """They are recorded, so it is not said that nothing was recorded of the program's children."""
    code = f"subprocess.run([{PYTHON!r}, '-c', 'x = bytes(300000); import time; time.sleep(1)'])"
    done = heapscope("run", "-d", "500ms", "-o", tmp_path / "x", "--", *python(code))
    assert done.returncode == 0
    assert len(report(tmp_path / "x")["processes"]) == 2
    assert "nothing was recorded" not in done.stderr
    said = "2 processes were still running; their heap is recorded as it was when the time of --duration was over"
    assert said in " ".join(done.stderr.split()), done.stderr


def test_processes_that_stay(heapscope, report, tmp_path):
    """A child in the background: its heap is recorded as it was, and it continues unharmed."""
    mark, stop = tmp_path / "mark", tmp_path / "stop"
    code = f"""
x = bytes(300000)
while not os.path.exists("{stop}"): time.sleep(0.02)
x = [bytes(1000) for i in range(10000)]
open("{mark}", "w").write("fine")
"""
    script = f"{PYTHON} -c '{PRELUDE + code}' >/dev/null 2>&1 & sleep 0.7"
    done = heapscope("run", "-o", tmp_path / "x", "--", "/bin/sh", "-c", script)
    assert done.returncode == 0
    assert "1 process is still running; its heap is recorded as it was when the program ended" in done.stderr
    process = next(p for p in report(tmp_path / "x")["processes"] if p["name"] == "python3")
    assert process["live"]["bytes"] > 300000
    assert "exit_status" not in process
    stop.touch()
    wait_until(lambda: mark.exists() and mark.read_text() == "fine", "it does not end well")


def test_rss_is_known_without_exit(run):
    code = "x = b'x' * 60_000_000; time.sleep(0.5); os.kill(os.getpid(), 9)"
    (process,) = run(python(code)).report()["processes"]
    assert 60_000_000 < process["rss_peak_bytes"] < 120_000_000


def test_names_can_be_left_out(run, heapscope, target, tmp_path):
    """The file then has no names; a reader on this machine sees the same as with them."""
    program = target("views")

    def seen(*options):
        done = run([program], "-i", 1, "--no-compress", *options)
        exported = tmp_path / "folded"
        assert heapscope("export", "--format", "folded", done.file, "-o", exported).returncode == 0
        return done.file.read_bytes(), done.report()["stacks"], exported.read_text()

    with_names = seen()
    without = seen("--no-symbolize")
    assert b"views.c" in with_names[0] and b"views.c" not in without[0]
    assert "views.c" in str(with_names[1])
    keys = [[(s["live"], s["alloc"], [(f["function"], f.get("line")) for f in s["frames"]]) for s in stacks]
            for stacks in (with_names[1], without[1])]
    assert keys[0] == keys[1]
    assert with_names[2] == without[2]


# --- hostile processes ------------------------------------------------------------------------------

CONNECT = """
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\\0" + os.environ["HEAPSCOPE_COLLECTOR"])
    return s
def send(data, *fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    connect().sendmsg([data], rights)
def hello(bytes):
    return struct.pack("<QIIIIQ", 0x31304F4C4C454853, 1, 64, os.getpid(), 0, bytes) + b"\\0" * 32
def memfd(bytes, seal=True, data=b""):
    import fcntl
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, bytes)
    os.pwrite(fd, data, 0)
    if seal:
        fcntl.fcntl(fd, 1033, 2)
    return fd
"""


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize(
    "attack",
    [
        "send(b'')",
        "send(b'x' * 64)",
        "send(b'x' * 10000)",
        "send(hello(4096))",
        "send(hello(1 << 20), os.open('/dev/zero', os.O_RDWR))",
        "send(hello(1 << 20), memfd(1 << 20, seal=False))",
        "send(hello(1 << 20), memfd(1 << 20))",
        "send(hello(1 << 62), memfd(1 << 20))",
        "send(hello(1 << 20), memfd(1 << 20, data=os.urandom(1 << 20)))",
        "r, w = os.pipe(); send(hello(1 << 20), r, w, r, w, r, w)",
        "send(hello(1 << 20)[:63], memfd(1 << 20))",
    ],
)
def test_nonsense_is_counted_and_harmless(heapscope, report, tmp_path, attack):
    code = CONNECT + f"\nfor i in range(3): {attack}\nraise SystemExit(3)"
    done = heapscope("run", "-o", tmp_path / "x", "--", *python(code))
    assert done.returncode == 3
    if attack != "send(b'')":
        assert "3 processes could not be read and are missing: " in done.stderr
    (process,) = report(tmp_path / "x")["processes"]
    assert process["exit_status"] == 3


def test_killed_before_the_hello(heapscope, tmp_path):
    code = CONNECT + """
for i in range(3):
    if os.fork() == 0:
        s = connect()
        os.kill(os.getpid(), signal.SIGKILL)
    os.wait()
"""
    done = heapscope("run", "-o", tmp_path / "x", "--", *python(code))
    assert "heapscope: 3 processes ended before recording had begun\n" in done.stderr
    assert "could not be read" not in done.stderr


def test_killed_at_birth(heapscope, tmp_path):
    code = "for i in range(200): p = subprocess.Popen(['/bin/true']); p.kill(); p.wait()"
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", *python(code))
    assert (done.returncode, done.stderr) == (0, "")


def test_silent_connections_do_not_keep_others_out(heapscope, report, tmp_path):
    """As many silent connections as are kept, and still one that sends a hello is served."""
    code = CONNECT + """
held = [connect() for i in range(200)]
# 64 are kept: when the 136th connection is closed, all have been accepted.
assert held[135].recv(1) == b""
held[136].setblocking(False)
try:
    held[136].recv(1)
    raise SystemExit(4)
except BlockingIOError:
    pass
subprocess.run(["/bin/sh", "-c", "exit 0"])
held = None
raise SystemExit(3)
"""
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", *python(code))
    assert done.returncode == 3
    assert sorted(p["name"] for p in report(tmp_path / "x")["processes"]) == ["python3", "sh"]


def test_own_region_scribbled_over(heapscope, report, tmp_path):
    """A program that overwrites its region: the others are still in the file."""
    code = """
for line in open("/proc/self/maps"):
    if "memfd:heapscope" in line:
        lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
        if len(sys.argv) < 2 or hi - lo > 4096:
            ctypes.memset(lo, int(sys.argv[1]), hi - lo)
os._exit(2)
"""
    for byte in (0xFF, 0x5A, 0):
        script = ["/bin/sh", "-c", '"$@"; exit 9', "sh", *python(code, byte)]
        done = heapscope("run", "-q", "-o", tmp_path / "x", "--", *script)
        assert done.returncode == 9, done.stderr
        names = [p["name"] for p in report(tmp_path / "x")["processes"]]
        assert "sh" in names


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv"
)
def test_other_users_are_refused(dist, heapscope, tmp_path):
    """A process that belongs neither to root nor to our session may not put regions into our
    profile."""
    code = CONNECT + "\nfd = memfd(1 << 20)\nos.setsid()\nos.setuid(65534)\nsend(hello(1 << 20), fd)"
    script = ["/bin/sh", "-c", '"$@"; exit 0', "sh", *python(code)]
    done = heapscope("run", "-o", tmp_path / "x", "--", *script, start_new_session=True)
    assert done.returncode == 0
    assert "1 process of other users asked to be recorded, and was refused" in done.stderr


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv"
)
def test_program_that_gives_up_root_is_still_seen(run):
    done = run(["setpriv", "--reuid=65534", "--clear-groups", "/bin/sh", "-c", "exit 3"])
    assert done.status == 3
    assert [p["name"] for p in done.report()["processes"]] == ["setpriv", "sh"]


def test_a_child_with_another_c_library(heapscope, report, tmp_path):
    """musl's loader gets our library, too: the child starts, ends normally, and is not recorded."""
    compiler = shutil.which("musl-gcc")
    if not compiler:
        pytest.skip("musl-gcc is not installed")
    source = tmp_path / "child.c"
    source.write_text("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 9999; i++) free(malloc(i)); return 3; }\n")
    subprocess.run([compiler, "-O1", source, "-o", tmp_path / "child"], check=True)
    done = heapscope("run", "-q", "-i", 1, "-o", tmp_path / "x", "--", "/bin/sh", "-c", f"{tmp_path}/child; exit $?")
    assert (done.returncode, done.stderr) == (3, "")
    assert [process["name"] for process in report(tmp_path / "x")["processes"]] == ["sh"]
