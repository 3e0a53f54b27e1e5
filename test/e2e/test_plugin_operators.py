"""Plugins that have operators new and delete of their own, and are unloaded: no call reaches code
that is gone, and a block that one operator allocated is never freed by another."""

import pathlib
import subprocess

import pytest

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "target"
# How each plugin is built, in the order in which they are opened.
ORDERS = {
    "own": ("OWN", "OWN"),
    "runtime_first": ("RUNTIME", "OWN", "OWN"),
    "runtime_last": ("OWN", "OWN", "RUNTIME"),
}


@pytest.fixture(params=ORDERS)
def plugins(request, tmp_path):
    files = [tmp_path / f"plugin{i}.so" for i in range(len(ORDERS[request.param]))]
    for i, (file, kind) in enumerate(zip(files, ORDERS[request.param])):
        subprocess.run(["g++", "-g", "-O1", "-shared", "-fPIC", f"-D{kind}", f"-DNUMBER={i}", TARGETS / "plugin_operators.cc",
                        "-o", file], check=True)
    return files


@pytest.mark.costly(cases=3)
@pytest.mark.parametrize("interval", [1, 512])
def test_run(run, target, plugins, interval):
    done = run([target("unloaded", "-ldl"), "300", *plugins], "-i", interval)
    assert (done.status, done.stdout) == (0, "ready\nfine\n")


@pytest.mark.costly(cases=1)
def test_attach(heapscope, target, plugins, tmp_path):
    program = target("unloaded", "-ldl")
    running = subprocess.Popen([program, "0", *map(str, plugins)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout.readline() == "ready\n"
        for _ in range(5):
            done = heapscope("attach", running.pid, "-q", "-i", 64, "-d", "50ms", "-o", tmp_path / "x.pftrace")
            assert done.returncode == 0, done.stderr
        said, _ = running.communicate("\n", timeout=60)
    finally:
        running.kill()
        running.wait()
    assert (running.returncode, said) == (0, "fine\n")
