"""At the end of a recording, names come from the sources that the reading commands ask: folders and servers that the environment
names. A server that does not answer costs a few seconds, and nothing else.

The recorded program is stripped, and its debug file is somewhere else."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
import symbols_reference as reference
from conftest import clean_env
from daemon import Program
from resident import need_ptrace
from test_files_at_capture import build
from waiting import let_time_pass, wait_until

SECONDS_MAX = 20  # for a server that says nothing: it has 5 s, on a machine that others use, too


class Stripped:
    """A program without names, and its debug file."""

    def __init__(self, folder):
        self.path = build(folder / "bin" / "my prog", "kept", "sha1", "-g")
        self.debug = folder / "debug" / "my prog.debug"
        self.debug.parent.mkdir()
        shutil.copy(self.path, self.debug)
        subprocess.run(["strip", self.path], check=True)
        self.id = reference.build_id(self.path)


@pytest.fixture
def stripped(tmp_path):
    return Stripped(tmp_path)


def run_it(dist, file, program, end=None):
    """`heapscope run` of one step of the program; `end` is called when the program has ended. Returns messages and duration."""
    command = [dist / "bin" / "heapscope", "run", "-i", "1", "-o", file, "--", program.path]
    process = subprocess.Popen(command, env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    begun = time.monotonic()
    process.stdin.close()
    if end:
        end(process)
    said = process.stderr.read()
    assert process.wait() == 0, said
    process.stdout.close()
    process.stderr.close()
    return said, time.monotonic() - begun


def has_name(heapscope, monkeypatch, file, name="kept"):
    """The file itself has the name, without a source to look in."""
    for variable in SOURCES:
        monkeypatch.delenv(variable, raising=False)
    done = heapscope("export", "-q", "-f", "folded", "--view", "alloc_objects", file)
    assert done.returncode == 0, done.stderr
    return f"{name} " in done.stdout


SOURCES = ["PERFETTO_BINARY_PATH", "PPROF_BINARY_PATH", "BREAKPAD_SYMBOL_DIR", "DEBUGINFOD_URLS"]


@pytest.fixture(params=SOURCES[:3])
def name_source(request, monkeypatch, stripped, tmp_path):
    """Sets a variable of the environment, and returns the function's name there."""
    folder, name = stripped.debug.parent, "kept"
    if request.param == "BREAKPAD_SYMBOL_DIR":
        folder, name = tmp_path / "a folder", "breakpad::kept(int)"
        folder.mkdir()
        symbols = subprocess.check_output(["nm", "-S", stripped.debug], text=True)
        address, size = next(line.split()[:2] for line in symbols.splitlines() if line.endswith(" kept"))
        (folder / "x.sym").write_text(f"MODULE Linux x86_64 0123456789ABCDEF0 my prog\nINFO CODE_ID {stripped.id.upper()}\n"
                                      f"FUNC {address} {size} 0 {name}\n")
    monkeypatch.setenv(request.param, str(folder))
    return name


def test_run(dist, heapscope, monkeypatch, stripped, name_source, tmp_path):
    file = tmp_path / "x.pftrace"
    run_it(dist, file, stripped)
    assert has_name(heapscope, monkeypatch, file, name_source)


def start_it(stripped):
    process = subprocess.Popen([stripped.path], env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return Program(process)


def test_attach(heapscope, attach, monkeypatch, stripped, name_source):
    need_ptrace()
    program = start_it(stripped)
    session = attach(program.pid)
    assert session.is_recording, session.said
    assert program.step() == "done\n"
    assert session.stop() == 0, session.said
    program.end()
    program.process.stdout.close()
    assert has_name(heapscope, monkeypatch, session.file, name_source)


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("end", ["stop", "snapshot", "pprof"])
def test_daemon(monkeypatch, heapscope, stripped, name_source, request, end, tmp_path):
    """The daemon's own environment counts; for a snapshot, the command's."""
    daemon = request.getfixturevalue("daemon")
    program = daemon.launch([str(stripped.path)])
    assert program.process.stdout.readline() == "ready\n"
    name = daemon.begin("-p", program.pid)
    assert program.step() == "done\n"
    if end == "stop":
        file = daemon.stop(name).file
    else:
        file = tmp_path / ("snap.pb.gz" if end == "pprof" else "snap.pftrace")
        done = daemon.ask("snapshot", "-p", program.pid, "-o", file)
        assert done.returncode == 0, done.stderr
        daemon.stop(name)
    program.end()
    assert has_name(heapscope, monkeypatch, file, name_source)


def test_folder_that_is_not_there(dist, monkeypatch, stripped, tmp_path):
    """It is said once, and the recording is whole."""
    monkeypatch.setenv("PERFETTO_BINARY_PATH", str(tmp_path / "absent"))
    said, _ = run_it(dist, tmp_path / "x.pftrace", stripped)
    assert said.count(f"PERFETTO_BINARY_PATH: no names come from the folder {tmp_path / 'absent'}") == 1, said


# --- servers ---------------------------------------------------------------------------------------


@pytest.fixture
def silent(monkeypatch, tmp_path):
    """A server that takes connections and never answers; the event is set when it has one."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken, connections = threading.Event(), []

    def take():
        while True:
            try:
                connections.append(listener.accept()[0])
            except OSError:
                return
            taken.set()

    thread = threading.Thread(target=take)
    thread.start()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{listener.getsockname()[1]}")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache of debuginfod"))
    yield taken
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for connection in connections:
        connection.close()


def test_server_that_does_not_answer(dist, heapscope, monkeypatch, stripped, silent, tmp_path):
    file = tmp_path / "x.pftrace"
    said, seconds = run_it(dist, file, stripped)
    assert silent.is_set() and seconds < SECONDS_MAX, f"{seconds:.1f} s: {said}"
    assert "DEBUGINFOD_URLS: no server answered" in said, said
    assert not has_name(heapscope, monkeypatch, file)
    # The question is asked again: the client library does not believe that there is no answer.
    assert not list((tmp_path / "cache of debuginfod").glob("*/debuginfo"))
    # The names of other modules are there.
    done = heapscope("report", "--json", file)
    assert done.returncode == 0 and "__libc_start" in done.stdout


def test_signal_ends_the_waiting(dist, heapscope, monkeypatch, stripped, silent, tmp_path):
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "25")
    file = tmp_path / "x.pftrace"

    def interrupt(process):
        assert silent.wait(60), "no server was asked"
        let_time_pass(1.2, "a signal of this second would belong to the end of the recording")
        process.send_signal(signal.SIGINT)

    said, seconds = run_it(dist, file, stripped, interrupt)
    assert seconds < SECONDS_MAX and "interrupted: some functions have no names" in said, f"{seconds:.1f} s: {said}"
    assert heapscope("report", file).returncode == 0


def test_daemon_does_not_wait_for_a_server(monkeypatch, stripped, silent, request):
    """While a file is finished, the daemon answers."""
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "8")
    daemon = request.getfixturevalue("daemon")
    program = daemon.launch([str(stripped.path)])
    assert program.process.stdout.readline() == "ready\n"
    name = daemon.begin("-p", program.pid)
    assert program.step() == "done\n"
    stopping = threading.Thread(target=daemon.stop, args=[name])
    stopping.start()
    assert silent.wait(60), "no server was asked"
    begun = time.monotonic()
    assert daemon.ask("list").returncode == 0
    seconds = time.monotonic() - begun
    is_waiting = stopping.is_alive()
    stopping.join()
    program.end()
    assert is_waiting and seconds < 5, f"{seconds:.1f} s"


@pytest.fixture
def server(stripped, monkeypatch, tmp_path):
    """Debian's debuginfod on loopback, which serves the debug file."""
    if not shutil.which("debuginfod"):
        pytest.skip("debuginfod is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(tmp_path / "log", "wb")
    process = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", str(tmp_path / "index.sqlite"), str(stripped.debug.parent)],
                               stdout=log, stderr=log, cwd=tmp_path)

    def is_ready():
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) != 0:
                return False
            client.sendall(f"GET /buildid/{stripped.id}/debuginfo HTTP/1.0\r\n\r\n".encode())
            return b" 200 " in client.recv(64)

    wait_until(is_ready, "debuginfod does not serve the file")
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache of debuginfod"))
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    log.close()


def test_names_of_a_server(dist, heapscope, monkeypatch, stripped, server, tmp_path):
    file = tmp_path / "x.pftrace"
    run_it(dist, file, stripped)
    assert has_name(heapscope, monkeypatch, file)
    assert os.listdir(tmp_path / "cache of debuginfod"), "the client library keeps what it got"


def test_no_server_is_asked_without_the_variable(dist, heapscope, monkeypatch, stripped, silent, tmp_path):
    monkeypatch.delenv("DEBUGINFOD_URLS")
    file = tmp_path / "x.pftrace"
    run_it(dist, file, stripped)
    assert not silent.is_set() and not has_name(heapscope, monkeypatch, file)
    assert pathlib.Path(file).stat().st_size > 0
