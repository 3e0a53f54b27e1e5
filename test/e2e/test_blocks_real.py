"""Blocks of real programs: a C++ program with counters, redis-server, and a session of the daemon."""

import subprocess

import pytest
from conftest import clean_env
from test_blocks import SUMS, known_blocks, number, rows
from test_contents import Recorded
from test_dupes import dupes


def test_objects_of_cpp(heapscope, run, target):
    """Each live object of a class has a block of its size."""
    done = run([target("duplicates")], "-i", 1, "--blocks")
    assert done.status == 0
    found = rows(heapscope, done.file, "SELECT size, count(*) AS n FROM heapscope_blocks GROUP BY size")
    counts = {int(row["size"]): int(row["n"]) for row in found}
    assert counts[248] == 7 and counts[1000] == 90 and counts[8192] == 20
    assert number(heapscope, done.file, SUMS) == 0


def test_a_session_of_the_daemon(heapscope, daemon, target):
    """start --blocks, and a snapshot with and without blocks of a process that the daemon records."""
    session = daemon.begin("--blocks", "-i", 1, "-n", "block_list*")
    program = daemon.launch([target("block_list", "-pthread")])
    known = known_blocks(program.process)
    for options, count in ([], 0), (["--blocks"], len(known)):
        file = daemon.folder / f"{count}.pftrace"
        assert daemon.ask("snapshot", *options, "-p", program.pid, "-o", file).returncode == 0
        assert number(heapscope, file, f"SELECT count(*) FROM heapscope_blocks WHERE address IN ({','.join(known)})") == count
    program.end()
    done = daemon.stop(session)
    assert number(heapscope, done.file, "SELECT count(*) FROM heapscope_blocks WHERE size BETWEEN 100 AND 129") >= len(known)
    assert number(heapscope, done.file, SUMS) == 0


def test_a_process_that_is_attached_to(heapscope, attach, target):
    with subprocess.Popen([target("block_list", "-pthread"), "x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as program:
        known_blocks(program)
        attached = attach("--blocks", program.pid)
        assert attached.is_recording, attached.said
        print("free", file=program.stdin, flush=True)
        assert program.stdout.readline() == "freed\n"
        assert attached.stop() == 0, attached.said
        program.stdin.close()
    assert "recorded live blocks are listed" in heapscope("report", attached.file).stdout
    assert number(heapscope, attached.file, SUMS) == 0


@pytest.mark.costly
@pytest.mark.skipif(not subprocess.run(["which", "redis-server"], capture_output=True, check=False).stdout, reason="no redis-server")
def test_redis(heapscope, dist, tmp_path):
    """Equal values of a database are found as duplicates."""
    socket = tmp_path / "redis.sock"
    command = ["redis-server", "--port", 0, "--unixsocket", socket, "--save", "", "--dir", tmp_path, "--daemonize", "no"]
    with Recorded(dist, tmp_path / "run.pftrace", command) as program:
        while "ready" not in program.process.stdout.readline().lower():
            assert program.process.poll() is None
        text = "".join(f"SET key:{i:05d} {'v' * 300}\n" for i in range(1000))
        subprocess.run(["redis-cli", "-s", socket], input=text, text=True, check=True, capture_output=True)
        done = heapscope("snapshot", "-p", program.pid, "--output-contents-dir", tmp_path / "c", "-o", tmp_path / "x.pftrace")
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert number(heapscope, tmp_path / "x.pftrace", SUMS) == 0
    found = dupes(heapscope, tmp_path / "x.pftrace", tmp_path / "c", "--min-bytes", 0)
    assert any(group["copies"] >= 1000 and 300 <= group["size_bytes"] < 400 for group in found["groups"]), found["groups"][:5]
