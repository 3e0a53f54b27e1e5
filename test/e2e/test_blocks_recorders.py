"""`--blocks` of `record`, with and without a daemon, and of `start` with a daemon that does not know it."""

import os
import signal
import socket
import subprocess
import threading

import pytest
from conftest import clean_env
from daemon_peer import START, field, head
from test_blocks import SUMS, number

PYTHON = "/usr/bin/python3"
SCRIPT = "x = [bytearray(1000) for i in range(2000)]; print('ready', flush=True); input(); import os; os._exit(0)"  # frees nothing
COUNT = "SELECT count(*) FROM heapscope_blocks"


def is_listed(heapscope, file):
    """Are the blocks of the file those of its samples? Each sampled block is one."""
    return number(heapscope, file, COUNT) > 1000 and number(heapscope, file, SUMS) == 0


@pytest.mark.parametrize("name", ["heapscope", "heap_profile"])
@pytest.mark.parametrize("options", [["--blocks"], []], ids=["blocks", "none"])
def test_record_program(dist, heapscope, tmp_path, name, options):
    words = [dist / "bin" / name] + (["record"] if name == "heapscope" else [])
    done = subprocess.run([*words, "-i", "1", *options, "-o", tmp_path, "--", PYTHON, "-c", SCRIPT],
                          capture_output=True, text=True, timeout=120, env=clean_env(), input="\n", check=False)
    assert done.returncode == 0, done.stderr
    assert is_listed(heapscope, tmp_path / "raw-trace") == bool(options)


def test_record_with_a_daemon(dist, daemon, heapscope, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    program = daemon.launch([PYTHON, "-c", "input(); " + SCRIPT])
    env = {**clean_env(), **{name: str(value) for name, value in daemon.env.items()}}
    command = [dist / "bin" / "heapscope", "record", "-i", "1", "--blocks", "-p", str(program.pid), "-o", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as record:
        assert "Profiling active" in record.stdout.readline()
        assert program.step() == "ready\n"
        record.send_signal(signal.SIGINT)
        _, errors = record.communicate(timeout=60)
    assert record.returncode == 0 and "older version" not in errors, errors
    assert is_listed(heapscope, out / "raw-trace")


def answer_once(listener, body):
    """A daemon that answers one request to begin a session."""
    sock, _ = listener.accept()
    with sock:
        _, fds, _, _ = socket.recv_fds(sock, 65536, 8)
        for fd in fds:
            os.close(fd)
        sock.send(head(START + 1, body))


@pytest.mark.parametrize("body, options, is_said", [
    (field(4, 1), ["--blocks"], True),
    (field(4, 1), [], False),
    (field(4, 1) + field(5, 1), ["--blocks"], False),
], ids=["old daemon", "not asked for", "new daemon"])
def test_start_with_an_older_daemon(heapscope, tmp_path, body, options, is_said):
    """An older daemon does not say that it lists blocks: the command says so, and that the recording goes on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "sock"))
        listener.listen(8)
        thread = threading.Thread(target=answer_once, args=(listener, field(1, b"s") + body), daemon=True)
        thread.start()
        done = heapscope("start", "-n", "nobody", *options, "-o", tmp_path / "x.pftrace", env={"HEAPSCOPE_SOCKET": tmp_path / "sock"})
        thread.join(30)
    assert done.returncode == 0 and done.stdout == "s\n", done.stderr
    assert ("the daemon is of an older version, and does not list blocks" in done.stderr) == is_said, done.stderr
