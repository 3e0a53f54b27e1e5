"""The ledger names the memory of allocators and of runtimes, and leaves at most one part in a hundred unexplained."""

import contextlib
import pathlib
import signal
import subprocess

import pytest
from conftest import clean_env
from own_allocators import flags_of
from preload import preloadable
from resident import need_ptrace
from test_ledger_programs import check, check_recorded, go, java, need, node, python, running
from waiting import wait_until

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
MIB = 1 << 20


def child_of(pid):
    """The program that `heapscope run` has started; 0: it has not yet."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return int(children[0]) if children else 0


@contextlib.contextmanager
def recorded(dist, folder, args, is_ready=None, options=(), **env):
    """A program that `heapscope run` has started, and that prints "ready", unless is_ready tells."""
    command = [dist / "bin" / "heapscope", "run", "-q", "-o", folder / "run.pftrace", *map(str, options), "--", *args]
    output = subprocess.DEVNULL if is_ready else subprocess.PIPE
    with subprocess.Popen(command, env=clean_env(**env), text=True, stdin=subprocess.PIPE, stdout=output,
                          stderr=subprocess.DEVNULL) as process:
        pid = 0
        try:
            if is_ready:
                wait_until(is_ready)
            else:
                assert process.stdout.readline() == "ready\n"
            pid = child_of(process.pid)
            yield pid
        finally:
            process.stdin.close()
            process.send_signal(signal.SIGTERM)  # which is passed on
            process.wait(60)


def named(ledger, kind):
    """{name: resident bytes} of the lines of one kind"""
    return {line.get("name", ""): line["rss_bytes"] for line in ledger["lines"] if line["kind"] == kind}


def unexplained_share(ledger):
    return ledger["unexplained_bytes"] / ledger["rss_bytes"]


def passes(heapscope, file, limit="1%"):
    done = heapscope("check", "--max-unexplained", limit, file)
    return done.returncode == 0 or done.stdout + done.stderr


# --- allocators ---------------------------------------------------------------------------------


PRELOADED = pytest.mark.parametrize("library,name", [("libjemalloc.so.2", "jemalloc"), ("libmimalloc.so.2", "mimalloc"),
                                                     ("libtcmalloc_minimal.so.4", "tcmalloc")])


@pytest.mark.costly(cases=2)
@PRELOADED
@pytest.mark.parametrize("how", ["run", "attach"])
def test_a_preloaded_allocator(heapscope, report, dist, target, tmp_path, how, library, name):
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    args, preload = [target("allocates"), "wait"], preloadable(LIBRARIES / library)
    file = tmp_path / "now.pftrace"
    if how == "run":
        with recorded(dist, tmp_path, args, LD_PRELOAD=preload) as pid:
            ledger = check_recorded(heapscope, report, pid, file)
        assert passes(heapscope, file) is True
    else:
        need_ptrace()
        with running(["/usr/bin/env", f"LD_PRELOAD={preload}", *args]) as pid:
            ledger = check(heapscope, report, dist, pid, tmp_path)
        assert unexplained_share(ledger) <= 0.01
    # 30,000 blocks of 2048 bytes; some allocators make them larger.
    assert list(named(ledger, "allocator")) == [name] and 58 * MIB <= named(ledger, "allocator")[name] <= 80 * MIB


@pytest.mark.costly(cases=1)
@PRELOADED
def test_threads_and_large_blocks_before_attaching(heapscope, report, dist, target, tmp_path, library, name):
    """Most of an allocator's memory is not what its own data points to."""
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    need_ptrace()
    preload = f"LD_PRELOAD={preloadable(LIBRARIES / library)}"
    with running(["/usr/bin/env", preload, target("allocates_widely", "-pthread")]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    assert list(named(ledger, "allocator")) == [name] and named(ledger, "allocator")[name] >= 198 * MIB
    assert unexplained_share(ledger) <= 0.01


@pytest.mark.parametrize("allocator,name", [("jemalloc", "jemalloc"), ("tcmalloc", "the program's malloc")])
def test_an_allocator_in_the_executable(heapscope, report, dist, target, tmp_path, allocator, name):
    """Its memory is known by its tables, or by the blocks in it."""
    with recorded(dist, tmp_path, [target("allocates", *flags_of(allocator)), "wait"]) as pid:
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace")
    assert list(named(ledger, "allocator")) == [name] and named(ledger, "allocator")[name] >= 50 * MIB
    assert unexplained_share(ledger) <= 0.01


@pytest.mark.costly
@pytest.mark.parametrize("how", ["run", "attach"])
def test_redis(heapscope, report, dist, tmp_path, how):
    socket = tmp_path / "s"
    args = [need("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    fill = ["redis-cli", "-s", socket, "eval", "for i = 1, 200000 do redis.call('set', i, string.rep('x', 100)) end", "0"]
    if how == "attach":
        need_ptrace()
    start = recorded(dist, tmp_path, args, socket.exists) if how == "run" else running(args, socket.exists)
    with start as pid:
        subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace") if how == "run" else check(
            heapscope, report, dist, pid, tmp_path)
    assert list(named(ledger, "allocator")) == ["jemalloc"] and named(ledger, "allocator")["jemalloc"] >= 32 * MIB
    assert unexplained_share(ledger) <= 0.01


# --- runtimes -----------------------------------------------------------------------------------

RUNTIMES = {java: {"JVM heap": 4, "JVM metaspace": 4, "JVM class space": 0.5, "JVM compiled code": 1},
            node: {"V8 heap": 6}, go: {"Go heap": 1, "Go runtime": 0.25}}


def has_parts(ledger, program):
    found = named(ledger, "runtime")
    return all(found.get(name, 0) >= least * MIB for name, least in RUNTIMES[program].items()) or found


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("program", RUNTIMES, ids=lambda program: program.__name__)
def test_a_runtime(heapscope, report, dist, tmp_path, program):
    file = tmp_path / "now.pftrace"
    with recorded(dist, tmp_path, program(tmp_path)) as pid:
        ledger = check_recorded(heapscope, report, pid, file)
    assert has_parts(ledger, program) is True
    assert passes(heapscope, file) is True


@pytest.mark.costly
@pytest.mark.parametrize("program,most", [(java, 0.01), (node, 0.01), (go, 0.01)], ids=["java", "node", "go"])
def test_a_runtime_before_attaching(heapscope, report, dist, tmp_path, program, most):
    """Its heap is named; some of its tables are not: see docs/LIMITATIONS.md."""
    need_ptrace()
    with running(program(tmp_path)) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    assert has_parts(ledger, program) is True
    assert unexplained_share(ledger) <= most


@pytest.mark.costly
@pytest.mark.parametrize("collector", ["Serial", "Parallel", "Shenandoah"])
def test_collectors_of_a_jvm(heapscope, report, dist, tmp_path, collector):
    """Their heaps consist of one part, or of two."""
    command, source = java(tmp_path)
    args = [command, f"-XX:+Use{collector}GC", "-Xmx200m", "-Xms60m", source]
    with recorded(dist, tmp_path, args) as pid:
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace")
    heap = [line for line in ledger["lines"] if line.get("name") == "JVM heap"]
    assert [line["size_bytes"] for line in heap] == [200 * MIB]
    assert named(ledger, "runtime")["JVM heap"] >= 8 * MIB
    assert unexplained_share(ledger) <= 0.01


def pythons():
    """Each release that is installed."""
    installed = [pathlib.Path("/usr/bin/python3"), *pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    return sorted({path.resolve() for path in installed})


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("command", pythons(), ids=lambda path: path.name)
def test_objects_of_a_python_before_attaching(heapscope, report, dist, tmp_path, command):
    """Most of its memory is in arenas in which nothing was recorded."""
    need_ptrace()
    with running([command, *python(tmp_path)[1:]]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    (line,) = [line for line in ledger["lines"] if line.get("name") == "python.obj"]
    assert line["rss_bytes"] >= line["used_bytes"] >= 8 * MIB
    assert unexplained_share(ledger) <= 0.01


def jvms():
    """Each release that is installed."""
    return sorted({path.resolve() for path in pathlib.Path("/usr/lib/jvm").glob("*/bin/java")}) or [pathlib.Path("java")]


@pytest.mark.costly
@pytest.mark.parametrize("command", jvms(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("options", [["-XX:+UseG1GC"], ["-XX:+UseSerialGC", "-XX:-UsePerfData"], ["-XX:+UseParallelGC"], ["-XX:+UseZGC"],
                                     ["-XX:+UseShenandoahGC", "-XX:-UsePerfData"]], ids=lambda options: options[0][8:-2])
def test_a_jvm_before_attaching(heapscope, report, dist, tmp_path, command, options):
    """It has not collected yet, so it has published nothing of its metaspace."""
    need_ptrace()
    _, source = java(tmp_path)
    source.write_text(source.read_text().replace("System.gc();", ""))
    if subprocess.run([need(command), *options, "-version"], check=False, capture_output=True).returncode:
        pytest.skip("this JVM has no such collector")
    with running([command, *options, source]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    found = named(ledger, "runtime")
    assert found["JVM metaspace"] >= 6 * MIB and 0.5 * MIB <= found["JVM class space"] <= 3 * MIB
    assert "ZGC" in options[0] or found["JVM heap"] >= 10 * MIB
    assert unexplained_share(ledger) <= 0.01


GO_THREADS = """package main
import "C"
import ("fmt"; "os"; "sync")
type node struct { next *node; x [1]int }
var all [4][]*node
func main() {
    var wg sync.WaitGroup
    for g := 0; g < 4; g++ {
        wg.Add(1)
        go func(g int) { defer wg.Done(); for i := 0; i < 1000000; i++ { all[g] = append(all[g], &node{}) } }(g)
    }
    wg.Wait()
    fmt.Println("ready")
    os.Stdin.Read(make([]byte, 1))
    fmt.Println(len(all[0]))
}"""


def test_go_without_symbols(heapscope, report, dist, tmp_path):
    """Its heap is in several arenas, whose bitmaps take 3 % of it; the executable's information is far behind its start."""
    need_ptrace()
    (tmp_path / "threads.go").write_text(GO_THREADS)
    command = [need("go"), "build", "-buildmode=pie", "-ldflags=-s -w", "-o", tmp_path / "threads", tmp_path / "threads.go"]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=clean_env(GO111MODULE="off", GOCACHE=str(tmp_path / "cache"), HOME=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    with running([tmp_path / "threads"]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    assert named(ledger, "runtime")["Go heap"] >= 64 * MIB and named(ledger, "runtime")["Go runtime"] >= 3 * MIB
    assert unexplained_share(ledger) <= 0.01


# --- heapscope's own ----------------------------------------------------------------------------


def test_memory_of_the_client(heapscope, report, dist, target, tmp_path):
    """Its tables are anonymous memory, which the kernel joins with the program's."""
    with recorded(dist, tmp_path, [target("allocates"), "wait"]) as pid:
        ledger = check_recorded(heapscope, report, pid, tmp_path / "now.pftrace")
    assert not [line for line in ledger["lines"] if line["kind"] == "data" and "libheapscope" in line["name"]]
    assert named(ledger, "anonymous").get("", 0) <= 64 << 10
    assert named(ledger, "mmap")[""] == 0


def test_data_of_an_attached_client(heapscope, report, dist, target, tmp_path):
    """It has mapped a page of the region in the middle of its zeroed data."""
    need_ptrace()
    with running([target("allocates"), "wait"]) as pid:
        ledger = check(heapscope, report, dist, pid, tmp_path)
    assert named(ledger, "anonymous").get("", 0) <= 20 << 10
