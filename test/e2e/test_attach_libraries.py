"""Attaches again and again to a program whose threads open and close libraries all the time: it
keeps running, its results stay right, and so do its children."""

import itertools
import pathlib
import random
import subprocess
import time

import pytest
from conftest import clean_env
from preload import preloadable

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "target"
COUNT = 60
EVERY = (
    ("-Wl,-z,relro,-z,now", 3, 0), ("-Wl,-z,norelro", 3, 1),
)
KINDS = {
    "plain": (),
    "tls": (("-DWITH_TLS", 5, 1),),
    "handlers": (("-DWITH_ATFORK", 7, 3),),
    "nested": (("-DWITH_TLS", 5, 1), ("-DOPENED", 6, 5)),
}
# How many attaches each variant gets in the quick suite: libraries, words of the program.
VARIANTS = [
    ("plain", "now deep forks signals", 12),
    ("nested", "now lazy global comings", 12),
    ("tls", "now deep nodelete signals", 6),
    ("handlers", "now deep comings", 12),
]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """Sixty libraries of a kind, built once: some bound at once with full RELRO, some without
    RELRO, the rest in between."""
    folder = tmp_path_factory.mktemp("libraries")

    def make(kind):
        files = [folder / f"{kind}{i:02}.so" for i in range(COUNT)]
        jobs = []
        for i, file in enumerate(files):
            flags = [flag for flag, each, at in (*EVERY, *KINDS[kind]) if i % each == at]
            flags = [f'-DOPENED="{files[i - 1]}"' if flag == "-DOPENED" else flag for flag in flags]
            jobs.append(["gcc", "-O1", "-g", "-shared", "-fPIC", f"-DNUMBER={i}", *flags, TARGETS / "library.c", "-o", file])
        if not files[-1].exists():
            for some in itertools.zip_longest(*[iter(jobs)] * 4):
                compilers = [subprocess.Popen(job) for job in some if job]
                assert all(compiler.wait() == 0 for compiler in compilers)
        return files

    return make


def attach_often(heapscope, program, words, files, count, folder, **extra):
    """Attaches `count` times to a program that was started for this, then ends it. Returns the
    program's output, and how long each attach took until the first recording began."""
    with open(folder / "errors", "w+") as errors:
        running = subprocess.Popen([str(word) for word in (program, *words, "--", *files)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=errors, text=True, env=clean_env(**extra))
        try:
            assert running.stdout.readline() == "ready\n"
            took = []
            for i in range(count):
                begin = time.monotonic()
                done = heapscope("attach", running.pid, "-q", "-i", "64", "-d", f"{random.randint(20, 200)}ms",
                                 "-o", folder / "x.pftrace")
                took.append(time.monotonic() - begin)
                assert running.poll() is None, f"it died of {running.poll()} at attach {i + 1}: {done.stderr}"
                assert done.returncode == 0, f"attach {i + 1}: {done.stderr}"
            said, _ = running.communicate("\n", timeout=60)
        finally:
            running.kill()
            running.wait()
        errors.seek(0)
        assert (running.returncode, errors.read()) == (0, ""), said
    return said, took


@pytest.mark.costly
@pytest.mark.parametrize(("kind", "words", "count"), VARIANTS, ids=[v[0] for v in VARIANTS])
def test_libraries_come_and_go_while_attaching(heapscope, target, libraries, tmp_path, kind, words, count):
    program = target("libraries", "-pthread", "-ldl")
    said, _ = attach_often(heapscope, program, words.split(), libraries(kind), count, tmp_path)
    assert said.startswith("fine opens=")


@pytest.mark.costly
def test_libraries_come_and_go_where_the_recorder_is_preloaded(heapscope, target, libraries, dist, tmp_path):
    """The client must not use libraries that may just be unloaded: it does not hold the loader's
    lock there."""
    program = target("libraries", "-pthread", "-ldl")
    said, _ = attach_often(heapscope, program, ["forks", "signals"], libraries("plain"), 12, tmp_path,
                           LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"))
    assert said.startswith("fine opens=")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("also", ["", "signals", "forks", "signals forks comings"])
@pytest.mark.parametrize("modes", ["now", "lazy deep", "global now deep nodelete"])
def test_libraries_come_and_go_for_long(heapscope, target, libraries, tmp_path, kind, also, modes):
    if kind == "handlers" and "forks" in also and "nodelete" not in modes:
        pytest.skip("the C library calls a fork handler of a library that another thread unmaps: it dies alone, too")
    program = target("libraries", "-pthread", "-ldl")
    said, took = attach_often(heapscope, program, [*modes.split(), *also.split()], libraries(kind), 50, tmp_path)
    print(f"{kind} {modes} {also}: median {sorted(took)[25]:.2f} s, most {max(took):.2f} s; {said}")


@pytest.mark.costly
def test_children_of_the_attached_open_libraries(heapscope, target, libraries, tmp_path):
    """A lock of the loader that is held while a child is forked stays locked in the child: its
    dlopen() would hang. The first attach is the subject of test_attach_forks.py."""
    program = target("libraries", "-pthread", "-ldl")
    said, _ = attach_often(heapscope, program, ["threads=0", "forks", "children"], libraries("plain"), 15, tmp_path)
    assert int(said.partition("children=")[2].split()[0]) > 50
