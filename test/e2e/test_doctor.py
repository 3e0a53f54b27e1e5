"""heapscope doctor: its findings about machines, programs and processes whose flaw is known."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

import pytest
from preload import preloadable
from unwind_modules import make_program
from waiting import state_of, wait_until

TRUE = "/usr/bin/true"
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs to act for several users")

# Enough code of its own that the C library's start-up code is only a small part.
SOURCE = "#include <stdio.h>\n" + "".join(
    f'int f{i}(int x) {{ for (int i = 0; i < x; i++) printf("%d %d", x * i, {i}); return x + {i}; }}\n' for i in range(40)
) + "int main(int argc, char **argv) { (void)argv; return f0(argc - 1) + f1(argc - 1) - 1; }\n"


@pytest.fixture
def doctor(heapscope):
    """doctor(7): its exit status, and its findings in order: {check, state, detail, remedy}."""

    def call(*args, **more):
        done = heapscope("doctor", "--json", *args, **more)
        assert done.stderr == "", done.stderr
        return done.returncode, json.loads(done.stdout)

    return call


@pytest.fixture
def build(tmp_path):
    """build("x", "-g"): path of a program made of SOURCE."""

    def make(name, *flags):
        source = tmp_path / "source.c"
        source.write_text(SOURCE)
        path = tmp_path / name
        subprocess.run(["gcc", "-O1", *flags, "-o", path, source], check=True)
        return path

    return make


def of(findings, check):
    """The states of this check, in order, with details and remedies joined to one text."""
    mine = [f for f in findings if f["check"] == check]
    return [f["state"] for f in mine], " | ".join(f"{f['detail']} > {f['remedy']}" for f in mine)


def named(text, name):
    """Is this module listed in the text?"""
    return re.search(rf"(^|[ ,]){re.escape(name)}($|[ ,:])", text) is not None


def assert_problem(answer, check, *words):
    status, findings = answer
    states, text = of(findings, check)
    assert status == 1
    assert "problem" in states, findings
    for word in words:
        assert word in text, text


# --- this machine -----------------------------------------------------------------------------------


def test_machine_as_it_is(doctor):
    status, findings = doctor(env={"HEAPSCOPE_CACHE": "off"})
    assert status == (1 if any(f["state"] == "problem" for f in findings) else 0)
    checks = [f["check"] for f in findings]
    for check in ("recorder", "kernel", "attaching", "C library", "limits", "cache", "heapscoped"):
        assert check in checks
    assert "libheapscope_preload.so" in of(findings, "recorder")[1]
    assert of(findings, "cache") == (["ok"], "switched off (HEAPSCOPE_CACHE) > None")


def test_every_finding_that_is_not_ok_has_a_remedy(doctor, build):
    answers = [doctor(), doctor(TRUE), doctor(build("x", "-static")), doctor(os.getpid())]
    for _, findings in answers:
        for finding in findings:
            assert set(finding) == {"check", "state", "detail", "remedy"}
            assert finding["state"] in ("ok", "note", "problem")
            assert finding["detail"]
            assert finding["state"] == "ok" or finding["remedy"], finding
    assert of(answers[0][1], "kernel")[0] == ["ok"]


def test_missing_library(doctor, tmp_path):
    assert_problem(doctor(env={"HEAPSCOPE_LIB": tmp_path}), "recorder", "libheapscope_preload.so", "HEAPSCOPE_LIB")


def test_small_limits(dist):
    script = f"ulimit -f 8; ulimit -v 4000000; exec {shlex.quote(str(dist / 'bin' / 'heapscope'))} doctor"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"^problem +limits +files cannot be larger than 4.00 KiB", done.stdout, re.M)
    assert re.search(r"^note +limits +a process cannot use more than 3.81 GiB", done.stdout, re.M)


def test_cache_folder(doctor, tmp_path):
    _, findings = doctor(env={"HEAPSCOPE_CACHE": tmp_path / "cache"})
    assert of(findings, "cache") == (["ok"], f"{tmp_path}/cache > None")
    _, findings = doctor(env={"HEAPSCOPE_CACHE": "not/absolute"})
    assert of(findings, "cache")[0] == ["note"]


def test_daemon(doctor, tmp_path):
    import socket

    path = tmp_path / "s"
    _, findings = doctor(env={"HEAPSCOPE_SOCKET": path})
    assert of(findings, "heapscoped")[0] == ["note"]
    for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        with socket.socket(socket.AF_UNIX, kind) as listener:
            listener.bind(str(path))
            assert of(doctor(env={"HEAPSCOPE_SOCKET": path})[1], "heapscoped")[0] == ["note"]  # no process listens
            listener.listen()
            assert of(doctor(env={"HEAPSCOPE_SOCKET": path})[1], "heapscoped") == (["ok"], f"a process listens at {path} > None")
        path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "heapscope.sock"))
        listener.listen()
        _, findings = doctor(env={"XDG_RUNTIME_DIR": tmp_path, "HEAPSCOPE_SOCKET": ""})
        assert of(findings, "heapscoped")[0] == ["ok"]
        assert str(tmp_path) in of(findings, "heapscoped")[1]


# --- programs ---------------------------------------------------------------------------------------


def test_python(doctor):
    status, findings = doctor("/usr/bin/python3")
    assert status == 0
    assert of(findings, "program") == (["ok"], "/usr/bin/python3 can be profiled > None")
    assert of(findings, "libraries")[0] == ["ok"]
    assert of(findings, "unwind tables") == (["ok"], "every module has unwind tables (.eh_frame) > None")
    assert of(findings, "build ids")[0] == ["ok"]


def test_text_says_the_same(heapscope):
    done = heapscope("doctor", TRUE)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^ok +program +{TRUE} can be profiled$", done.stdout, re.M)
    assert "\033" not in done.stdout
    assert not re.search(r" $", done.stdout, re.M)


def test_debug_information_and_the_lack_of_it(doctor, build, tmp_path):
    build("full", "-g")
    assert not named(of(doctor(tmp_path / "full")[1], "names")[1], "full")
    build("plain")
    _, text = of(doctor(tmp_path / "plain")[1], "names")
    assert "no inlined functions and lines in plain" in text
    subprocess.run(["strip", tmp_path / "plain"], check=True)
    status, findings = doctor(tmp_path / "plain")
    states, text = of(findings, "names")
    assert status == 0
    assert "note" in states
    assert re.search(r"only exported functions have names in plain\b.*-dbgsym", text)


def test_debug_information_that_cannot_be_unpacked(doctor, build):
    program = build("app", "-g")
    subprocess.run(["objcopy", "--compress-debug-sections=zstd", program], check=True)
    assert not named(of(doctor(program)[1], "names")[1], "app")
    # The magic number of the first frame, in one of the compressed sections.
    whole = program.read_bytes()
    assert b"\x28\xb5\x2f\xfd" in whole
    program.write_bytes(whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\x00"))
    _, text = of(doctor(program)[1], "names")
    assert re.search(r"no inlined functions and lines in app: .* zstd, .*objcopy --decompress", text)


def test_debug_file_is_found(doctor, build, tmp_path):
    program = build("app", "-g")
    subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "app.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={tmp_path}/app.debug", program], check=True)
    _, text = of(doctor(program)[1], "names")
    assert f"such as {tmp_path}/app.debug" in text
    assert not named(text, "app")
    (tmp_path / "app.debug").unlink()
    assert re.search(r"only exported functions have names in app\b", of(doctor(program)[1], "names")[1])


def test_no_build_id(doctor, build):
    status, findings = doctor(build("anonymous", "-Wl,--build-id=none"))
    states, text = of(findings, "build ids")
    assert (status, states) == (0, ["note"])
    assert "no build id in anonymous:" in text
    assert "-Wl,--build-id" in text


def test_no_unwind_tables(doctor, build, tmp_path):
    # Code that every program gets from the C library does not count.
    assert_problem(
        doctor(build("bare", "-fno-asynchronous-unwind-tables")),
        "unwind tables", "no unwind tables for the code of bare: ", "-fasynchronous-unwind-tables",
    )
    program = build("cut")
    subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", program], check=True)
    assert_problem(doctor(program), "unwind tables", "no unwind tables for the code of cut: ")
    status, findings = doctor(build("fine"))
    assert status == 0
    assert of(findings, "unwind tables")[0] == ["ok"]


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("place, words", [
    ("debug_frame", "libthrough.so are only in .debug_frame"),
    ("debuglink", "libthrough.so are only in a debug file"),
    ("mini_debug_frame", "libthrough.so are only in mini debug info"),
    ("mini_eh_frame", "libthrough.so are only in mini debug info"),
    ("no_hdr", "libthrough.so (.eh_frame) cannot be found at run time: heapscope reads them"),
    ("frame_pointer", "libthrough.so, which seems to keep frame pointers"),
])
def test_unwind_tables_in_files(doctor, tmp_path, place, words):
    """Which source of unwind information a module has that is not in memory."""
    program, _ = make_program(tmp_path / "with", place, optimize="-O0")
    status, findings = doctor(program)
    states, text = of(findings, "unwind tables")
    assert (status, states) == (0, ["note"]), text
    assert words in text


def test_flaws_are_summed_up(doctor, tmp_path):
    """Each flaw is one line, however many libraries have it."""
    names = [f"many{i}" for i in range(12)]
    (tmp_path / "lib.c").write_text("int x;")
    for name in names:
        subprocess.run(["gcc", "-shared", "-Wl,--build-id=none", "-o", tmp_path / f"lib{name}.so", tmp_path / "lib.c"], check=True)
    (tmp_path / "m.c").write_text("int main(void) { return 0; }")
    links = ["-Wl,--no-as-needed", *(f"-l{name}" for name in names)]
    subprocess.run(["gcc", "-o", tmp_path / "m", tmp_path / "m.c", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", *links], check=True)
    states, text = of(doctor(tmp_path / "m")[1], "build ids")
    assert states == ["note"]
    assert "libmany0.so, libmany1.so" in text
    assert "libmany7.so and 4 more:" in text


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]])
def test_static_programs(doctor, build, flags):
    status, findings = doctor(build("x", *flags))
    assert (status, len(findings)) == (1, 1)
    assert_problem((status, findings), "program", "statically linked", "link it dynamically")


def test_other_kinds_of_programs(doctor, tmp_path):
    data = bytearray(pathlib.Path(TRUE).read_bytes())
    cases = [(4, 1, "32-bit"), (18, 183, "another processor")]
    for offset, value, words in cases:
        changed = bytearray(data)
        changed[offset] = value
        path = tmp_path / "odd"
        path.write_bytes(changed)
        path.chmod(0o755)
        assert_problem(doctor(path), "program", words, "build it for")
    loader = b"/lib64/ld-linux-x86-64.so.2"
    path.write_bytes(bytes(data).replace(loader, b"/lib/ld-musl-x86_64.so.1".ljust(len(loader), b"\0")))
    assert_problem(doctor(path), "program", "musl")


def test_programs_that_cannot_run(doctor, tmp_path):
    assert_problem(doctor("no-such-program"), "program", "no such program in PATH")
    assert_problem(doctor(tmp_path), "program", "is not an executable file, or you have no permission to execute it")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert_problem(doctor(script), "program", "/no/such/interpreter does not exist, or")


def test_scripts_are_followed(doctor, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/python3 -c\n")
    script.chmod(0o755)
    status, findings = doctor(script)
    assert status == 0
    assert of(findings, "program")[1].startswith(f"{script} is a script; /usr/bin/python3 runs it")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to("/usr/bin/python3")
    for line in ("env python3", "env -S A=1 python3 -u", "env -Spython3 -u"):
        script.write_text(f"#!/usr/bin/{line}\n")
        _, findings = doctor(script, env={"PATH": folder})
        assert of(findings, "program")[1].startswith(f"{script} is a script; {folder}/python3 runs it"), line
    for line in ("env no-such-program", "env -u A python3", "env"):
        script.write_text(f"#!/usr/bin/{line}\n")
        assert of(doctor(script)[1], "program")[1].startswith(f"{script} is a script; /usr/bin/env runs it")


@needs_root
def test_setuid_program(doctor, tmp_path):
    path = tmp_path / "su"
    shutil.copy(TRUE, path)
    os.chown(path, 65534, 0)
    path.chmod(0o4755)
    assert_problem(doctor(path), "program", "set-user-id", "profile a copy without")


def test_sanitizer(doctor, build):
    assert_problem(doctor(build("x", "-fsanitize=address")), "program", "AddressSanitizer")


def test_own_malloc(doctor, target):
    _, findings = doctor(target("own_malloc", "-pthread"))
    states, text = of(findings, "allocator")
    assert states == ["note"] and "its own malloc" in text, findings


def test_libraries_that_are_missing(doctor, tmp_path):
    (tmp_path / "lib.c").write_text("int there(void) { return 0; }")
    (tmp_path / "m.c").write_text("int there(void); int main(void) { return there(); }")
    folder = tmp_path / "lib"
    folder.mkdir()
    subprocess.run(["gcc", "-shared", "-o", folder / "libthere.so", tmp_path / "lib.c"], check=True)
    made = ["gcc", "-o", tmp_path / "m", tmp_path / "m.c", f"-L{folder}", "-lthere"]
    subprocess.run(made, check=True)
    assert_problem(doctor(tmp_path / "m"), "libraries", "libthere.so", "LD_LIBRARY_PATH")
    found = [
        (made, {"LD_LIBRARY_PATH": f"/no/such:{folder}"}),
        ([*made, f"-Wl,-rpath,{folder}"], {}),
        ([*made, "-Wl,-rpath,$ORIGIN/lib"], {}),
        ([*made, "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/lib"], {}),
    ]
    for command, env in found:
        subprocess.run(command, check=True)
        # The loader itself says the same.
        assert subprocess.run([tmp_path / "m"], env={**os.environ, **env}, check=False).returncode == 0
        status, findings = doctor(tmp_path / "m", env=env)
        assert status == 0, findings
        assert of(findings, "libraries")[0] == ["ok"]


def test_libraries_are_those_that_ldd_finds(doctor):
    for program in (TRUE, "/usr/bin/python3", shutil.which("gdb"), shutil.which("redis-server")):
        if program:
            said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            count = len(re.findall(r"=> /|^\s*/lib.*/ld-", said, re.M))
            states, text = of(doctor(program)[1], "libraries")
            # The loader only counts as needed when a library says so.
            assert states == ["ok"]
            assert int(re.search(r"of (\d+) libraries were found", text)[1]) in (count, count - 1)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_runtimes_that_make_code(doctor, tmp_path):
    """What needs a perf map, and what has names without one."""
    states, text = of(doctor("node")[1], "code made at run time")
    assert states == ["note"]
    assert "--perf-basic-prof" in text and "JavaScript functions of node 18 and later have names" in text
    for name in ("pypy3", "luajit"):
        shutil.copy("/bin/true", tmp_path / name)
        states, text = of(doctor(tmp_path / name)[1], "code made at run time")
        assert states == ["note"] and f"{name} compiles functions at run time" in text and "writes no perf map" in text


# --- processes --------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(*command, **options):
    """A process that runs until the `with` ends."""
    options.setdefault("stdin", subprocess.DEVNULL)
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, **options) as process:
        try:
            yield process
        finally:
            process.kill()
            process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def python(code, becomes=None, **options):
    """Python that runs `code`, after changing its user if requested, then waits for its end. Yields
    when it has reached that point."""
    become = f"import os; os.setgroups([]); os.setgid({becomes}); os.setuid({becomes})\n" if becomes else ""
    wait = "\nimport time; print('ready', flush=True); time.sleep(600)"
    with running("/usr/bin/python3", "-c", become + code + wait, **options) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process


def test_process(doctor):
    with python("") as process:
        status, findings = doctor(process.pid)
    assert status == 0
    assert findings[0]["check"] == "process"
    assert findings[0]["detail"] == f"{process.pid} (python3) can be profiled"
    assert of(findings, "allocator") == (["ok"], "malloc comes from the C library > None")
    assert of(findings, "memory")[0] == ["ok"]
    assert of(findings, "unwind tables")[0] == ["ok"]
    assert of(findings, "program") == ([], "")


def test_no_process(doctor):
    with python("") as process:
        pass
    assert_problem(doctor(process.pid), "process", f"there is no process {process.pid}")


def test_stopped_process(doctor):
    with python("") as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T")
        assert_problem(doctor(process.pid), "process", "is stopped", f"kill -CONT {process.pid}")


def test_zombie(doctor):
    with python("") as process:
        process.kill()
        wait_until(lambda: state_of(process.pid) == "Z")
        assert_problem(doctor(process.pid), "process", "has ended", str(os.getpid()))


def test_thread(doctor):
    with python("import threading, time; threading.Thread(target=time.sleep, args=[600], daemon=True).start()") as process:
        tids = [int(p.name) for p in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
        (tid,) = set(tids) - {process.pid}
        assert_problem(doctor(tid), "process", f"is a thread of process {process.pid}", f"use {process.pid}")


@pytest.mark.skipif(
    not pathlib.Path("/proc/2/comm").exists() or pathlib.Path("/proc/2/comm").read_text() != "kthreadd\n",
    reason="no thread of the kernel can be seen here",
)
@pytest.mark.alone("threads of the kernel are not to be seen from the namespaces of the workers")
def test_kernel_thread(doctor):
    assert_problem(doctor(2), "process", "thread of the kernel")


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_traced_process(doctor):
    with python("") as process:
        with running("strace", "-f", "-o", "/dev/null", "-p", process.pid, stderr=subprocess.DEVNULL) as tracer:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text())
            assert_problem(doctor(process.pid), "process", f"traced by {tracer.pid} (strace)", "detach")


@pytest.mark.parametrize("value", ["0", "no", "OFF"])
def test_process_that_opted_out(doctor, value):
    with python("", env={"HEAPSCOPE_PROFILEABLE": value}) as process:
        assert_problem(doctor(process.pid), "process", "does not permit profiling", "without that variable")


def test_process_that_opted_in(doctor):
    with python("", env={"HEAPSCOPE_PROFILEABLE": "1"}) as process:
        assert doctor(process.pid)[0] == 0


def policy_of(findings):
    return [(f["state"], f["detail"]) for f in findings if f["check"] == "policy"]


def test_policy(doctor, tmp_path):
    policy = tmp_path / "policy.conf"
    rules = {"never exe=/no-such": ("ok", "no rule of"), f"never user={os.geteuid()}": ("problem", ":1 forbids the daemon"),
             "profileable exe=/usr/bin/python3*": ("note", ":1 lets the daemon profile the process if it loads"),
             "debuggable * by=*": ("ok", ":1 lets the daemon profile the process (debuggable * by=*)"),
             "profileable willing": ("ok", "no rule of"), "never cgroup=/": ("problem", ":1 forbids")}
    with python("") as process:
        for rule, (state, detail) in rules.items():
            policy.write_text(rule + "\n")
            policy.chmod(0o644)
            status, findings = doctor("--policy", policy, process.pid)
            (answer,) = policy_of(findings)
            assert answer[0] == state and detail in answer[1] and str(policy) in answer[1], (rule, answer)
            assert status == (state == "problem")
    assert policy_of(doctor("--policy", policy)[1]) == [("ok", f"{policy}: 1 rule")]
    policy.write_text("never *\nnever again\n")
    assert_problem(doctor("--policy", policy), "policy", f"{policy}:2: 'again' is not a condition")
    assert_problem(doctor("--policy", tmp_path / "none"), "policy", "No such file")


def test_policy_goes_with_a_process(heapscope, tmp_path):
    assert heapscope("doctor", "--policy", tmp_path, TRUE).returncode == 2


@needs_root
def test_policy_of_what_cannot_be_seen(doctor):
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="heapscope-policy-") as policy, python("") as process:
        policy.write("never exe=/no-such\n")
        policy.flush()
        os.chmod(policy.name, 0o644)
        _, findings = doctor("--policy", policy.name, process.pid, **nobody)
        assert "not permitted to read everything on which the rules depend" in policy_of(findings)[0][1]


@needs_root
def test_process_that_is_not_dumpable(doctor):
    with python("", becomes=65534) as process:
        status, findings = doctor(process.pid)
        assert status == 0 and "only root may profile it" in of(findings, "consent")[1]
    with python("", becomes=65534, env={"HEAPSCOPE_PROFILEABLE": "1"}) as process:
        assert "agrees" in of(doctor(process.pid)[1], "consent")[1]


@needs_root
def test_users(doctor, dist):
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    one = {**nobody, "user": 1}
    with python("") as roots, python("", becomes=65534) as same, python("", **one) as other:
        for process in (same, other):
            assert doctor(process.pid)[0] == 0, "root may"
        assert_problem(doctor(roots.pid, **nobody), "process", "belongs to user 0, and heapscope runs as user 65534")
        assert_problem(doctor(other.pid, **nobody), "process", "belongs to user 1", "as that user or as root")
        # It has changed its user, so other processes of that user may not inspect it.
        assert_problem(doctor(same.pid, **nobody), "process", "gained privileges", "as root")
    with python("", **nobody) as own:
        status, findings = doctor(own.pid, **nobody)
        assert status == 0, findings
    with python("import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)", **nobody) as hidden:
        assert_problem(doctor(hidden.pid, **nobody), "process", "forbids access to its memory", "as root")
        assert doctor(hidden.pid)[0] == 0


def test_process_that_is_recorded(doctor, heapscope, dist, tmp_path):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    command = [dist / "bin/heapscope", "run", "-q", "-o", tmp_path / "x", "--", "/usr/bin/python3", "-c", code]
    with running(*command) as run:
        pid = int(run.stdout.readline())
        assert_problem(doctor(pid), "process", "is already being recorded by heapscope", f"process {run.pid} records it")
        # Its collector dies: the client continues to record, but no process reads it.
        run.kill()
        run.wait()
        status, findings = doctor(pid)
        os.kill(pid, signal.SIGKILL)
    assert status == 0
    assert of(findings, "recorder")[0] == ["note"]
    assert f"for process {run.pid}, which has ended" in of(findings, "recorder")[1]


def test_client_without_a_session(doctor, dist):
    with python("", env={"LD_PRELOAD": str(preloadable(dist / "lib/libheapscope_preload.so"))}) as process:
        status, findings = doctor(process.pid)
    assert status == 0
    assert of(findings, "recorder") == (["ok"], "the process has loaded heapscope's library, which is dormant > None")


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("heaptrack"), reason="needs heaptrack")
def test_process_of_another_profiler(doctor, tmp_path):
    libraries = sorted(pathlib.Path("/usr/lib").glob("**/libheaptrack_preload.so"))
    with python("", env={"LD_PRELOAD": str(libraries[0]), "DUMP_HEAPTRACK_OUTPUT": "/dev/null"}) as process:
        assert_problem(doctor(process.pid), "process", "profiled by heaptrack", "without heaptrack")


@pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")
def test_allocators(doctor, tmp_path):
    with running("redis-server", "--port", 0, "--unixsocket", tmp_path / "s", "--save", "") as process:
        wait_until((tmp_path / "s").exists)
        status, findings = doctor(process.pid)
    assert status == 0
    assert of(findings, "allocator") == (["ok"], "malloc comes from jemalloc > None")


def test_static_process(doctor, tmp_path):
    source = tmp_path / "s.c"
    source.write_text('#include <unistd.h>\nint main(void) { write(1, "\\n", 1); pause(); }')
    for flags, words in ((["-static"], "statically linked,"), (["-static-pie"], "(static-pie)")):
        subprocess.run(["gcc", *flags, "-o", tmp_path / "s", source], check=True)
        with running(tmp_path / "s") as process:
            process.stdout.readline()
            assert_problem(doctor(process.pid), "process", words)


def test_deleted_program(doctor, build, tmp_path):
    source = tmp_path / "d.c"
    source.write_text('#include <unistd.h>\nint main(void) { write(1, "\\n", 1); pause(); }')
    subprocess.run(["gcc", "-o", tmp_path / "d", source], check=True)
    with running(tmp_path / "d") as process:
        process.stdout.readline()
        assert of(doctor(process.pid)[1], "program")[0] == []
        (tmp_path / "d").unlink()
        status, findings = doctor(process.pid)
    assert status == 0
    states, text = of(findings, "program")
    assert states == ["note"]
    assert "deleted" in text


@pytest.mark.costly(cases=2)
@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("options", [[], ["--perf-basic-prof"], ["--perf-prof"]])
def test_code_made_at_run_time(doctor, tmp_path, options):
    code = "let x = 0; for (let i = 0; i < 1e6; i++) x += i; console.log(); setTimeout(() => {}, 600000)"
    with running(shutil.which("node"), *options, "-e", code, cwd=tmp_path) as process:
        process.stdout.readline()
        states, text = of(doctor(process.pid)[1], "code made at run time")
        pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    assert states == (["ok"] if options else ["note"])
    assert (f"jit-{process.pid}.dump" if "--perf-prof" in options else f"/tmp/perf-{process.pid}.map") in text
    assert ("JavaScript functions of node 18 and later have names" in text) == (not options)


@pytest.mark.skipif(not IS_ROOT or not shutil.which("unshare"), reason="makes namespaces")
def test_container(doctor):
    with running("unshare", "-m", "-n", "-p", "-f", "sh", "-c", "echo; sleep 600 & wait") as process:
        process.stdout.readline()
        (child,) = map(int, pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        status, findings = doctor(child)
        os.kill(child, signal.SIGKILL)
    assert status == 0
    assert "files, network and process numbers of its own" in of(findings, "container")[1]


# --- usage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["0"], ["99999999999"], ["1", "2"], ["--no-such"]])
def test_wrong_usage(heapscope, args):
    done = heapscope("doctor", *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "heapscope: Try 'heapscope doctor --help'."


def test_full_device(dist):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([dist / "bin/heapscope", "doctor"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr


def test_program_called_by_a_number(doctor, tmp_path):
    shutil.copy(TRUE, tmp_path / "7")
    status, findings = doctor("./7", cwd=tmp_path)
    assert status == 0
    assert findings[0]["detail"] == "./7 can be profiled"
