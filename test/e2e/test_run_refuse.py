"""What heapscope run cannot do, it says: in one clear line beforehand, and without leaving partial
results."""

import contextlib
import glob
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest
from conftest import let_others_in

TRUE = "/usr/bin/true"


def refused(done, status, *words):
    """Requires one line on standard error that contains these words; returns it."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("heapscope: ")
    for word in words:
        assert word in lines[0]
    return lines[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder where heapscope runs; it must be left as it was."""
    before = tmp_path / "work"
    before.mkdir()
    monkeypatch.chdir(before)
    yield before


def is_empty(folder):
    return list(folder.iterdir()) == []


@pytest.fixture
def program(tmp_path):
    """program(name, bytes): an executable file; if it ran, it would leave a file "ran"."""

    def make(name, data, mode=0o755):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)
        return path

    return make


# --- programs ---------------------------------------------------------------------------------------


def test_missing_program(heapscope, folder):
    refused(heapscope("run", "--", "no-such-program"), 127, "no-such-program: no such program in PATH")
    refused(heapscope("run", "--", "./no-such"), 127, "./no-such: no such program")
    refused(heapscope("run", "--", ""), 127, "no such program")
    assert is_empty(folder)


def test_not_executable(heapscope, folder, program):
    file = program("data", "text", 0o644)
    refused(heapscope("run", "--", file), 126, str(file), "no permission to execute it")
    refused(heapscope("run", "--", folder), 126, str(folder))
    assert is_empty(folder)


def test_file_in_path_that_may_not_run(heapscope, folder, program):
    file = program("tool", "text", 0o644)
    done = heapscope("run", "--", "tool", env={"PATH": str(file.parent)})
    refused(done, 126, str(file))


def test_static_program(heapscope, folder, tmp_path):
    source = tmp_path / "s.c"
    source.write_text("int main(void) { return 0; }")
    for flags in (["-static"], ["-static-pie"]):
        static = tmp_path / "static"
        subprocess.run(["gcc", *flags, "-o", static, source], check=True)
        refused(heapscope("run", "--", static), 1, str(static), "statically linked")
    assert is_empty(folder)


def test_dynamic_loader_itself_is_fine(heapscope, tmp_path):
    loader = "/lib64/ld-linux-x86-64.so.2"
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", loader, TRUE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("offset", "value", "words"),
    [(4, 1, "32-bit"), (18, 183, "another processor")],
    ids=["32-bit", "foreign"],
)
def test_other_kinds_of_elf(heapscope, folder, program, offset, value, words):
    data = bytearray(pathlib.Path(TRUE).read_bytes())
    data[offset] = value
    refused(heapscope("run", "--", program("odd", bytes(data))), 1, words)
    assert is_empty(folder)


def test_musl_program(heapscope, folder, program):
    data = pathlib.Path(TRUE).read_bytes()
    name = b"/lib64/ld-linux-x86-64.so.2"
    assert data.count(name) == 1
    file = program("musl", data.replace(name, b"/lib/ld-musl-x86_64.so.1".ljust(len(name), b"\0")))
    refused(heapscope("run", "--", file), 1, "musl")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another owner")
def test_setuid_program(heapscope, folder, tmp_path):
    for mode, owner, words in ((0o4755, (65534, 0), "set-user-id"), (0o2755, (0, 65534), "set-group-id")):
        file = tmp_path / "su"
        shutil.copy(TRUE, file)
        os.chown(file, *owner)
        file.chmod(mode)
        refused(heapscope("run", "--", file), 1, words, "LD_PRELOAD")
    # Programs owned by root give root no extra rights.
    os.chown(file, 0, 0)
    file.chmod(0o4755)
    assert heapscope("run", "-q", "--", file).returncode == 0


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setcap") or not shutil.which("setpriv"),
    reason="needs root, setcap, setpriv",
)
def test_program_with_capabilities(heapscope, dist, tmp_path):
    file = tmp_path / "cap"
    shutil.copy(TRUE, file)
    subprocess.run(["setcap", "cap_net_raw+ep", file], check=True)
    assert heapscope("run", "-q", "-o", tmp_path / "x", "--", file).returncode == 0
    let_others_in(tmp_path)
    tmp_path.chmod(0o777)
    command = ["setpriv", "--reuid=65534", "--clear-groups", dist / "bin" / "heapscope", "run"]
    command += ["-o", tmp_path / "y", "--", file]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    refused(done, 1, "capabilities")


@pytest.fixture
def sanitized(tmp_path):
    """sanitized(compiler, flags...): a program that frees what it allocates, or reads beyond it."""
    source = tmp_path / "s.c"
    source.write_text("""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    volatile char *block = calloc(1, 10);
    puts("running");
    int read = block[argc > 1 ? atoi(argv[1]) : 0];
    free((void *)block);
    return 3 + read;
}
""")

    def make(compiler, *flags):
        path = tmp_path / "sanitized"
        subprocess.run([compiler, *flags, "-o", path, source], check=True)
        return path

    return make


SANITIZERS = [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")]


@pytest.mark.parametrize(("flag", "words"), SANITIZERS)
def test_sanitizer_in_a_library(heapscope, folder, sanitized, flag, words):
    file = sanitized("gcc", f"-fsanitize={flag}")
    refused(heapscope("run", "--", file), 1, str(file), words, "without the sanitizer")
    assert is_empty(folder)


@pytest.mark.parametrize(("flag", "words"), SANITIZERS)
def test_child_with_a_sanitizer_runs_as_without_us(run, sanitized, flag, words):
    file = sanitized("gcc", f"-fsanitize={flag}")
    done = run(["/bin/sh", "-c", f"{file}; exit $?"], "-i", 1)
    assert (done.status, done.stdout, done.stderr) == (3, "running\n", "")
    assert [p["name"] for p in done.report()["processes"]] == ["sh"]


def test_sanitizer_still_finds_errors_in_a_child(run, sanitized):
    file = sanitized("gcc", "-fsanitize=address")
    done = run(["/bin/sh", "-c", f"{file} 10; exit $?"], env={"ASAN_OPTIONS": "exitcode=77"})
    assert done.status == 77
    assert "heap-buffer-overflow" in done.stderr


def test_sanitizer_in_the_program_is_a_malloc_of_its_own(heapscope, tmp_path, sanitized):
    file = sanitized("gcc", "-fsanitize=address", "-static-libasan")
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", file)
    assert done.returncode == 3
    assert "contains its own malloc" in done.stderr and "a sanitizer serves its memory" in done.stderr


@pytest.mark.parametrize("flag", ["undefined", "leak"])
def test_sanitizers_that_bear_us(run, sanitized, flag):
    done = run([sanitized("gcc", f"-fsanitize={flag}")], "-i", 1)
    assert (done.status, done.stdout, done.stderr) == (3, "running\n", "")
    assert done.report()["totals"]["alloc"]["bytes"] >= 10


def test_script_for_a_missing_interpreter(heapscope, folder, program):
    file = program("script", "#!/no/such/thing -x\n")
    refused(heapscope("run", "--", file), 126, str(file), "/no/such/thing")
    assert is_empty(folder)


def test_script_for_a_static_interpreter(heapscope, folder, program, tmp_path):
    source = tmp_path / "s.c"
    source.write_text("int main(void) { return 0; }")
    static = tmp_path / "interp"
    subprocess.run(["gcc", "-static", "-o", static, source], check=True)
    file = program("script", f"#!{static}\n")
    refused(heapscope("run", "--", file), 1, str(file), str(static), "statically linked")


def test_scripts_run(heapscope, report, tmp_path, program):
    first = program("one", "#!/bin/sh\nexit 3\n")
    second = program("two", f"#! {first} arg\n")
    bare = program("bare", "exit 4\n")
    for file, status in ((first, 3), (second, 3), (bare, 4)):
        done = heapscope("run", "-q", "-o", tmp_path / "x", "--", file)
        assert done.returncode == status, done.stderr
        assert report(tmp_path / "x")["processes"]


def test_truncated_elf(heapscope, folder, program):
    file = program("cut", pathlib.Path(TRUE).read_bytes()[:200])
    done = heapscope("run", "--", file)
    assert done.returncode in (1, 126)
    assert len(done.stderr.splitlines()) == 1
    assert is_empty(folder)


def test_own_malloc_is_said(heapscope, report, tmp_path):
    source = tmp_path / "own.c"
    source.write_text("""
#include <stddef.h>
static char heap[1 << 20]; static size_t at;
void *malloc(size_t n) { void *p = heap + at; at += (n + 15) & ~15UL; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
int main(void) { return malloc(10000) == 0; }
""")
    program = tmp_path / "own"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-rdynamic", "-o", program, source], check=True)
    done = heapscope("run", "-q", "-o", tmp_path / "x", "--", program)
    assert done.returncode == 0
    assert "(own) contains its own malloc" in done.stderr and "its free: it is too short" in done.stderr
    (process,) = report(tmp_path / "x")["processes"]
    assert process["has_own_malloc"]


# --- output -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["missing/x", ".", "link/x", "file/x"])
def test_unwritable_output_is_said_before_the_program_runs(heapscope, tmp_path, where):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    ran = tmp_path / "ran"
    done = heapscope("run", "-o", tmp_path / where, "--", "/usr/bin/touch", ran)
    refused(done, 1, "cannot write", str(tmp_path), "touch was not started")
    assert not ran.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_full_device(heapscope, folder):
    done = heapscope("run", "-q", "-o", "/dev/full", "--", "/bin/sh", "-c", "exit 6")
    refused(done, 6, "/dev/full", "No space left on device")
    assert is_empty(folder)
    assert pathlib.Path("/dev/full").is_char_device()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_full_disk_leaves_nothing(heapscope, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], check=True)
    try:
        (disk / "old").write_text("old")
        for options in ((), ("--dump-every", "20ms")):
            code = "import time; x = [[i] for i in range(50000)]; time.sleep(0.2); raise SystemExit(7)"
            done = heapscope(
                "run", "-q", "-i", 64, *options, "-o", disk / "old", "--", "/usr/bin/python3", "-c", code
            )
            refused(done, 7, "No space left on device", str(disk / "old"))
            assert [p.name for p in disk.iterdir()] == ["old"]
            assert (disk / "old").read_text() == "old"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_file_size_limit(dist, tmp_path):
    script = f"ulimit -f 8; exec {shlex.quote(str(dist / 'bin' / 'heapscope'))} run -q -i 64 -o {tmp_path}/x -- /usr/bin/python3 -c 'raise SystemExit(2)'"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    # The limit also keeps the client from making its region: then there is nothing to write.
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) >= 1
    assert list(tmp_path.iterdir()) == []


def test_pipe_and_standard_output(dist, tmp_path, report):
    for target in ("-", "/dev/stdout"):
        command = f"{shlex.quote(str(dist / 'bin' / 'heapscope'))} run -q -o {target} -- {TRUE} | cat > {tmp_path}/x"
        subprocess.run(["/bin/sh", "-c", command], check=True)
        assert report(tmp_path / "x")["processes"]


def test_old_file_is_replaced_as_a_whole(heapscope, tmp_path, report):
    real = tmp_path / "real"
    real.write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    code = f"import pathlib; assert pathlib.Path({str(real)!r}).read_text() == 'old'"
    assert heapscope("run", "-q", "-o", link, "--", "/usr/bin/python3", "-c", code).returncode == 0
    assert link.is_symlink()
    assert report(real)["processes"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


# --- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-i", "0"], "at least 1"),
        (["-i", "x"], "'x' is not a size"),
        (["-i", "9T"], "too large"),
        (["--dump-every", "5"], "'5' is not a duration"),
        (["--dump-every", "1ms"], "at least 10ms"),
        (["--intervall", "7"], "--intervall"),
        ([], "no program"),
    ],
)
def test_wrong_usage(heapscope, folder, options, words):
    ran = folder / "ran"
    program = ["--", "/usr/bin/touch", str(ran)] if options else []
    done = heapscope("run", *options, *program)
    assert done.returncode == 2
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert words in first
    assert rest == ["heapscope: Try 'heapscope run --help'."]
    assert is_empty(folder)


def test_options_end_at_the_program(heapscope, tmp_path):
    done = heapscope("run", "-q", "-o", tmp_path / "x", "/bin/sh", "-c", "exit 8")
    assert done.returncode == 8, done.stderr


def test_missing_library_is_said(heapscope, folder):
    done = heapscope("run", "--", TRUE, env={"HEAPSCOPE_LIB": folder})
    refused(done, 1, f"libheapscope_preload.so in {folder}", "HEAPSCOPE_LIB")


FAULTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* heapscope run calls this when its child waits to execute the program. */
int signalfd(int fd, const sigset_t *set, int flags)
{
    int child = 0;
    siginfo_t info;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    FILE *children = fopen(path, "re");
    if (!children || fscanf(children, "%d", &child) != 1) {
        abort();
    }
    fclose(children);
    kill(child, SIGKILL);
    waitid(P_PID, child, &info, WEXITED | WNOWAIT);
    int (*real)(int, const sigset_t *, int) = dlsym(RTLD_NEXT, "signalfd");
    return real(fd, set, flags);
}
"""


def test_child_is_killed_before_it_executes_the_program(heapscope, folder, program, tmp_path):
    """This is status 1, and not that of a program that cannot be executed."""
    (tmp_path / "faults.c").write_text(FAULTS)
    library = tmp_path / "faults.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "faults.c", "-ldl"], check=True)
    file = program("leaves-a-file", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    done = heapscope("run", "--", file, env={"LD_PRELOAD": library})
    refused(done, 1, f"cannot start {file}", "the process that was to execute it has ended")
    assert not (tmp_path / "ran").exists()
    assert is_empty(folder)


def test_names_with_blanks(dist, tmp_path, report):
    """The loader has no quoting in LD_PRELOAD."""
    copy = tmp_path / "a tree: here"
    shutil.copytree(dist, copy, symlinks=True)
    file = tmp_path / "x"
    done = subprocess.run(
        [copy / "bin" / "heapscope", "run", "-q", "-o", file, "--", TRUE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert report(file)["processes"][0]["name"] == "true"
    # Folders of other tests, whose programs end meanwhile, are there too; Path.glob() fails when one of them goes.
    for link in map(pathlib.Path, glob.glob("/tmp/heapscope-??????/*.so")):
        with contextlib.suppress(FileNotFoundError):
            assert not link.readlink().is_relative_to(copy)


def test_heapscope_cannot_take_over_the_signals(dist, folder):
    """The message and the status say that heapscope failed, and not that the program cannot be executed (126)."""
    done = subprocess.run(
        ["strace", "-f", "-o", "/dev/null", "-e", "inject=signalfd4:error=EMFILE",
         dist / "bin" / "heapscope", "run", "--", "/bin/echo", "it ran"],
        capture_output=True, text=True, check=False,
    )
    refused(done, 1, "cannot record /bin/echo: Too many open files", "it was not started")
    assert is_empty(folder)
