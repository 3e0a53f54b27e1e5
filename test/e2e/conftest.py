"""Fixtures of every end-to-end test: the built tree, programs to profile, and their reports as
data.

The tests use build/dist as a user would (./dev build makes it); HEAPSCOPE_DIST names another
tree. Programs come from test/target/: they are compiled once and kept in build/target until
their source or flags change.
"""

import collections
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import sys
import threading

import pytest
from truth import behind, measure

if sys.pycache_prefix:  # ./dev test: pytest takes seconds to compile all tests, and may keep what it compiled
    sys.dont_write_bytecode = False

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = pathlib.Path(os.environ.get("HEAPSCOPE_DIST", ROOT / "build" / "dist"))
TARGETS = ROOT / "test" / "target"
# The files that take longest, those of browsers apart from each other. Workers start them first: a worker that started one
# last would keep all others waiting at the end.
LONG_FILES = ["ui_live", "session_features", "page", "inject", "page_flame", "python_frames", "names_at_end", "types",
              "pprof_labels", "bind", "symbols_addr2line", "snapshot_of_run", "ui", "python_objects", "daemon",
              "instructions", "symbols_cache", "page_diff", "python_programs", "python_sampled", "lifetimes", "sources",
              "daemon_killed", "watch", "top", "frame_types", "daemon_snapshots", "api_library", "truth_exact",
              "rss_growth", "fork", "run_inline", "symbolize_trace", "trace_protoc", "truth_statistics", "peak",
              "torture"]


def pytest_addoption(parser):
    parser.addoption("--alone", choices=["with", "without", "only"], default="with",
                     help="run tests that must run alone: with all others, not at all, or nothing else")
    parser.addoption("--cases", choices=["all", "few"], default="all",
                     help="run all cases of costly tests, or only as many as their marks say")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: more than a few seconds; only with ./dev test --full")
    config.addinivalue_line("markers", "costly(cases=0): all cases take more than 0.5 seconds of CPU time together; "
                                       "without --full, ./dev test runs only the first `cases` of them")
    config.addinivalue_line("markers", "alone(reason): no other test may run at the same time")
    # A shell that starts the tests in the background makes them, and all that they start, ignore
    # these signals. A worker may call this in another thread, which cannot change them: apart.py has.
    is_main = threading.current_thread() is threading.main_thread()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP) if is_main else ():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def is_alone(item):
    """Whether no other test may run beside this one. Slow tests load the machine, so they are among these."""
    for mark in item.iter_markers("alone"):
        assert mark.args and isinstance(mark.args[0], str), f"{item.nodeid}: say why it must run alone"
    return any(item.get_closest_marker(name) for name in ("alone", "slow"))


def beyond_few(items):
    """The cases of costly tests that ./dev test leaves to ./dev test --full."""
    seen = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("costly")
        if mark:
            case = seen[item.path, item.originalname]
            seen[item.path, item.originalname] += 1
            if case >= mark.kwargs.get("cases", 0):
                yield item


def pytest_collection_modifyitems(config, items):
    if config.getoption("cases") == "few":
        left_out = set(beyond_few(items))
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    which = config.getoption("alone")
    if which != "with":
        left_out = [item for item in items if is_alone(item) != (which == "only")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_alone(item) == (which == "only")]
    if which == "without":
        places = {f"test_{name}": place for place, name in enumerate(LONG_FILES)}
        items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@contextlib.contextmanager
def lock(path):
    """A worker that builds at this path holds this lock, so that several workers build it once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def let_others_in(folder):
    """Every user may look for files below this folder of a test. pytest closes it, and those that it lies in."""
    for each in (folder, *folder.parents[:-2]):
        if each.stat().st_uid == os.geteuid() and not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o055)


@functools.cache
def names_folder():
    """The cache of unpacked debug information that the tests share, as the runs of a user do; one for each build, so
    that no test sees what another build found."""
    programs = (DIST / "bin" / "heapscope", DIST / "bin" / "heapscoped")
    key = hashlib.sha256(b"".join(p.read_bytes() for p in programs if p.exists())).hexdigest()[:12]
    folder = ROOT / "build" / "target" / f"names-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(folder.parent.glob("names-*")) - {folder}:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def clean_env(**extra):
    """The environment without variables that influence heapscope or a program's allocator, plus
    `keep`."""
    dropped = ("HEAPSCOPE_", "LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES", "COLUMNS")
    env = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    env["HEAPSCOPE_CACHE"], env["HEAPSCOPE_STATE"] = str(names_folder()), "off"
    env.update({k: str(v) for k, v in extra.items()})
    return env


class Run:
    """One `heapscope run`: how it ended, its output, and the file that it wrote."""

    def __init__(self, done, file, report):
        self.status = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        self.file = file
        self._report = report

    def report(self, *options):
        """`heapscope report --json` of the file, as Python data."""
        return self._report(self.file, *options)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def dist():
    assert (DIST / "bin" / "heapscope").exists(), "run ./dev build first"
    return DIST


@pytest.fixture(scope="session")
def heapscope(dist):
    """heapscope("report", FILE, ...): runs it and returns status, stdout and stderr.

    Output is text (bytes that are not text are escaped). `env` is added to a clean environment;
    other keywords are those of subprocess.run.
    """

    def call(*args, env=None, binary=dist / "bin" / "heapscope", **options):
        options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
        options.setdefault("timeout", 120)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run(
            [str(binary), *map(str, args)],
            env=clean_env(**(env or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            check=False,
            **options,
        )

    return call


@pytest.fixture(scope="session")
def report(heapscope):
    """report(FILE, *OPTIONS): `heapscope report --json` as Python data."""

    def call(file, *options):
        done = heapscope("report", "--json", *options, file)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def folder():
    """A folder with a short path, as sockets need it, accessible to other users."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="hs-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def run(heapscope, report, tmp_path):
    """run([PROG, ARGS...], "-i", 1, env={...}): profiles a program in a folder of this test."""
    count = 0

    def call(program, *options, env=None, **more):
        nonlocal count
        file = tmp_path / f"run{count}.pftrace"
        count += 1
        done = heapscope("run", "-q", "-o", file, *options, "--", *program, env=env, **more)
        return Run(done, file, report)

    return call


@pytest.fixture(scope="session")
def target():
    """target("threads", "-pthread"): path of test/target/threads.c (or .cc), compiled."""

    def call(name, *flags):
        source = next(p for p in (TARGETS / f"{name}.c", TARGETS / f"{name}.cc") if p.exists())
        command = ["g++" if source.suffix == ".cc" else "gcc", "-g", "-O1", "-Wall", "-I", TARGETS]
        command = [*map(str, command), str(source), *flags]
        headers = sorted(TARGETS.glob("*.h"))
        key = repr(command).encode() + b"".join(p.read_bytes() for p in [source, *headers])
        out = ROOT / "build" / "target" / f"{name}-{hashlib.sha256(key).hexdigest()[:12]}"
        if not out.exists():
            with lock(out.with_suffix(".lock")):
                if not out.exists():
                    made = out.with_suffix(f".{os.getpid()}")
                    subprocess.run([*command, "-o", str(made)], check=True)
                    made.rename(out)
        return str(out)

    return call


@pytest.fixture(scope="session")
def built_once(tmp_path_factory):
    """built_once("tool", MAKE): a copy of the folder that MAKE(FOLDER) filled, once for each state of our sources."""
    sources = [p for folder in ("src", "test/e2e") for p in (ROOT / folder).rglob("*.[chS]")]
    key = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(sources))).hexdigest()[:12]

    def call(name, make):
        kept = ROOT / "build" / "target" / f"{name}-{key}"
        with lock(kept.with_suffix(".lock")):
            if not kept.exists():
                made = kept.with_suffix(f".{os.getpid()}")
                made.mkdir()
                make(made)
                made.rename(kept)
        return shutil.copytree(kept, tmp_path_factory.mktemp(name), dirs_exist_ok=True)

    return call


@pytest.fixture
def same(run, tmp_path):
    """same([PROG, ARGS...], 4096): compares a plain run with a profiled one, returns the latter."""

    def call(program, interval, *options, plain=None, edit=lambda text: text, status=0, **more):
        more.setdefault("cwd", tmp_path)
        more.setdefault("timeout", 300)
        kept = dict(more)
        if "input" not in kept:
            kept["stdin"] = subprocess.DEVNULL
        bare = subprocess.run(
            plain or program,
            env=clean_env(**(kept.pop("env", None) or {})),
            capture_output=True,
            text=True,
            errors="backslashreplace",
            check=False,
            **kept,
        )
        profiled = run(program, "-i", interval, *options, **more)
        assert profiled.status == bare.returncode == status, profiled.stderr
        assert edit(profiled.stdout) == edit(bare.stdout)
        assert edit(profiled.stderr) == edit(bare.stderr)
        return profiled

    return call


@pytest.fixture
def exact(run, target, tmp_path):
    """exact(["threads", "churn"], losses=...): profiles every allocation of a program and compares
    with its truth.

    Options are those of heapscope run, besides -i 1.
    """

    def call(program, *options, library=None, losses=(), flags=(), **more):
        name, *args = program
        command = [target(name, "-pthread", *flags), *args]
        command = behind(library, command) if library else command
        measured = measure(run, tmp_path, command, "-i", 1, *options, **more)
        measured.assert_exact(losses)
        return measured

    return call


@pytest.fixture
def daemon_class():
    """The class of the fixture `daemon`; a test file may override it."""
    from daemon import Daemon  # imported here because it needs the definitions above

    return Daemon


@pytest.fixture
def daemon(daemon_class, dist, heapscope, report, tmp_path):
    """`heapscoped` on a socket of its own, with methods for commands and programs: see daemon.py."""
    folder = tmp_path / "daemon"
    folder.mkdir()
    daemon = daemon_class(dist, heapscope, report, folder)
    yield daemon
    daemon.stop_all()


HEAPS = """SELECT heap_name, sum(size) AS live_bytes, sum(count) AS live_count,
    sum(CASE WHEN count > 0 THEN size ELSE 0 END) AS bytes, sum(CASE WHEN count > 0 THEN count ELSE 0 END) AS count
    FROM heap_profile_allocation GROUP BY 1"""


@pytest.fixture(scope="session")
def heaps(heapscope):
    """heaps(FILE): {heap: (live bytes, live blocks, bytes, blocks)}."""

    def call(file):
        done = heapscope("query", "--format", "json", file, HEAPS)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)
        return {row["heap_name"]: (row["live_bytes"], row["live_count"], row["bytes"], row["count"]) for row in rows}

    return call


@pytest.fixture(scope="session")
def flags(dist):
    """Compiler and linker flags for programs that use libheapscope.so."""
    return ["-I", str(dist / "include")], ["-L", str(dist / "lib"), "-lheapscope", f"-Wl,-rpath,{dist / 'lib'}"]


@pytest.fixture
def attach(dist, tmp_path):
    """attach(PID, ...): `heapscope attach`, see resident.py; killed at the end of the test if it
    still runs."""
    from resident import Attached

    started = []

    def call(*args, **more):
        started.append(Attached(dist, tmp_path / f"attached{len(started)}.pftrace", *args, **more))
        return started[-1]

    yield call
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def fetch_node_modules(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", "pprof-format@2", "speedscope@1", "ajv@8"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not answer: formats are not read by other readers")
    if done.returncode != 0:
        pytest.skip("npm could not fetch pprof-format, speedscope and ajv: not read by other readers")


@pytest.fixture(scope="session")
def node_modules(root):
    """Packages that read the formats; kept in build/npm."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed: formats are not read by other readers")
    folder = root / "build" / "npm"
    with lock(root / "build" / "npm.lock"):
        if not (folder / "node_modules" / "speedscope").exists():
            fetch_node_modules(folder)
    return folder


# --- programs that are linked with the client: binding.py, which needs this file


@pytest.fixture
def link(target, dist):
    """link("bound", ORDER): the program, linked with these libraries."""
    from binding import ORDERS, compile_with
    return lambda name, order="first", *flags: compile_with(target, dist, name, ORDERS[order], *flags)


@pytest.fixture
def api_only(target, dist):
    """The program with the API's library, which has no client."""
    from binding import compile_with
    return compile_with(target, dist, "bound", ["-lheapscope"])


@pytest.fixture
def start_bound(tmp_path):
    """start_bound(PROGRAM, **ENV): starts one, which looks for a daemon at tmp_path / "sock"."""
    from binding import Programs
    programs = Programs(tmp_path)
    yield programs.start
    programs.end_all()
