"""Ledgers of a server of many processes, of a compiler, of a database, and of huge pages: their lines add up."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest
from conftest import clean_env
from fork_servers import NOBODY, Postgres
from resident import need_ptrace
from test_ledger_programs import check, need, rollup, running, stopped
from waiting import child_pids, wait_until

MIB = 1 << 20
BACKENDS = 16
GO = """package main
import ("fmt"; "os")
func main() {
    kept := [][]byte{}
    for i := 0; i < 100000; i++ { kept = append(kept, make([]byte, 200)) }
    fmt.Println("ready")
    os.Stdin.Read(kept[0])
}"""
SQL = """CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO t SELECT i, 'text ' || i FROM n;
SELECT 'ready';
"""


class ManyBackends(Postgres):
    """It runs under heapscope, or not, with many connections."""

    def __init__(self, dist, folder, how):
        super().__init__(folder)
        self.dist, self.how = dist, how

    def command(self):
        if self.how == "attach":
            return super().command()
        return [self.dist / "bin" / "heapscope", "run", "-q", "-o", self.folder / "x.pftrace", "--", *super().command()]

    def postmaster(self):
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def backends(self):
        return child_pids(self.postmaster(), b"[local]")

    def renew(self):
        while len(self.clients) < BACKENDS:
            kept = self.clients
            self.clients = []
            super().renew()
            self.clients += kept

    def __exit__(self, *what):
        self.hang_up()
        os.kill(self.postmaster(), signal.SIGINT)
        self.process.communicate(timeout=60)


def sums(ledgers, column, kinds=None):
    return sum(line[column] for ledger in ledgers for line in ledger["lines"] if kinds is None or line["kind"] in kinds)


def unexplained(ledgers, column):
    return sum(line[column] for ledger in ledgers for line in ledger["lines"] if not line["is_explained"])


@contextlib.contextmanager
def attached(dist, pids, folder, how):
    """Records processes that run, if they do not run under heapscope."""
    if how == "run":
        yield
        return
    need_ptrace()
    command = [dist / "bin" / "heapscope", "attach", *map(str, pids), "-q", "-o", folder / "attached.pftrace"]
    with subprocess.Popen(command, env=clean_env(), stderr=subprocess.DEVNULL) as recording:
        try:
            yield
        finally:
            recording.send_signal(signal.SIGINT)
            recording.wait(60)


@pytest.mark.costly
@pytest.mark.parametrize("how", ["run", "attach"])
def test_postgres(dist, heapscope, report, folder, how):
    """The proportional bytes of 16 backends count the memory that they share once, and are explained; few pages of their
    modules are in a backend's memory, and so are few headers of modules."""
    if NOBODY and subprocess.run([dist / "bin" / "heapscope", "--version"], check=False, capture_output=True, **NOBODY).returncode:
        pytest.skip("the server's user cannot run heapscope from this folder")
    server = ManyBackends(dist, folder, how)
    server.begin()
    ledgers, resident, proportional = [], 0, 0
    with server:
        pids = [server.postmaster(), *server.backends()]
        assert len(pids) == BACKENDS + 1
        with attached(dist, pids, folder, how):
            for pid in pids:
                file = folder / f"{pid}.pftrace"
                snapshot = ("snapshot", "-p", pid, "-o", file, "--no-symbolize")
                wait_until(lambda command=snapshot: heapscope(*command).returncode == 0)
                before = rollup(pid)
                done = heapscope(*snapshot)
                assert done.returncode == 0, done.stderr
                kernel = rollup(pid)
                # Reading the heap leaves the pages shared that the backends have in common since their fork.
                assert kernel["Pss"] < before["Pss"] + 131072
                ledger = report(file)["ledger"]
                assert sum(line["rss_bytes"] for line in ledger["lines"]) == ledger["rss_bytes"]
                resident += kernel["Rss"]
                proportional += kernel["Pss"]
                ledgers.append(ledger)
    assert sums(ledgers, "rss_bytes") == pytest.approx(resident, rel=0.01)
    assert sums(ledgers, "pss_bytes") == pytest.approx(proportional, rel=0.02)
    assert unexplained(ledgers, "rss_bytes") <= 0.01 * resident
    assert unexplained(ledgers, "pss_bytes") <= (0.01 if how == "run" else 0.015) * proportional
    shared = ("shared", "mmap")
    assert sums(ledgers, "pss_bytes", shared) < 0.3 * sums(ledgers, "rss_bytes", shared)


def test_clang(heapscope, report, dist, tmp_path):
    """A compiler that has read its headers, and waits for the rest of the program."""
    clang = need("clang++")
    rest = tmp_path / "rest"
    os.mkfifo(rest)
    (tmp_path / "a.cc").write_text(f'#include <map>\n#include <string>\nstd::map<std::string, int> kept;\n#include "{rest}"\n')
    command = [clang, "-c", "-o", tmp_path / "a.o", tmp_path / "a.cc"]
    with subprocess.Popen(list(map(str, command)), env=clean_env()) as process:
        # The compiler proper may be a child of the driver. This waits until it opens the file.
        writer = os.open(rest, os.O_WRONLY)
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                pid = int((file.read().split() or [process.pid])[0])
            ledger = check(heapscope, report, dist, pid, tmp_path)
        finally:
            os.write(writer, b"int main() { return 0; }\n")
            os.close(writer)
        assert process.wait(60) == 0
    assert ledger["rss_bytes"] > 40 * MIB and ledger["unexplained_bytes"] <= 0.01 * ledger["rss_bytes"]


def test_sqlite(heapscope, report, dist, tmp_path):
    with subprocess.Popen([need("sqlite3"), ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as process:
        process.stdin.write(SQL)
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        ledger = check(heapscope, report, dist, process.pid, tmp_path)
    held = sum(line["rss_bytes"] for line in ledger["lines"] if line["kind"] in ("malloc_used", "malloc_large"))
    assert held > MIB // 2 and ledger["unexplained_bytes"] <= 0.01 * ledger["rss_bytes"]


@pytest.mark.slow  # it builds two programs
def test_go_without_c(heapscope, report, dist, tmp_path):
    """Go's own linker makes a static program, which is refused with the reason, or one that the loader loads."""
    (tmp_path / "kept.go").write_text(GO)
    for mode in ("exe", "pie"):
        command = [need("go"), "build", f"-buildmode={mode}", "-o", tmp_path / mode, tmp_path / "kept.go"]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=clean_env(GO111MODULE="off", CGO_ENABLED="0", GOCACHE=str(tmp_path / "cache"), HOME=str(tmp_path)))
        assert done.returncode == 0, done.stderr
    with running([tmp_path / "exe"]) as pid:
        done = heapscope("attach", pid, "-q", "-o", tmp_path / "x.pftrace")
    assert done.returncode == 1 and "is statically linked" in done.stderr
    with running([dist / "bin" / "heapscope", "run", "-q", "-o", tmp_path / "x.pftrace", "--", tmp_path / "pie"]) as recorder:
        with open(f"/proc/{recorder}/task/{recorder}/children") as file:
            pid, file = int(file.read().split()[0]), tmp_path / "now.pftrace"
        with stopped(pid):
            before = rollup(pid)
            done = heapscope("snapshot", "-p", pid, "-o", file)
            assert done.returncode == 0 and rollup(pid)["Rss"] == before["Rss"]
    ledger = report(file)["ledger"]
    assert sum(line["rss_bytes"] for line in ledger["lines"]) == ledger["rss_bytes"] == before["Rss"] > 10 * MIB


def test_huge_pages(heapscope, report, dist, target, tmp_path):
    with subprocess.Popen([target("huge_pages")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as process:
        try:
            if process.stdout.readline() != "ready\n":
                pytest.skip("the kernel gives no huge pages")
            ledger = check(heapscope, report, dist, process.pid, tmp_path)
        finally:
            process.stdin.close()
        assert process.wait(60) == 0
    assert sum(line["rss_bytes"] for line in ledger["lines"] if line["kind"] == "anonymous") >= 16 * MIB


@pytest.fixture
def huge_page_pool():
    """The system has at least 8 free huge pages while the test runs."""
    setting = pathlib.Path("/proc/sys/vm/nr_hugepages")
    before = setting.read_text()
    try:
        setting.write_text(str(int(before) + 8))
    except OSError:
        pytest.skip("the number of huge pages cannot be changed by this user")
    yield
    setting.write_text(before)


@pytest.mark.usefixtures("huge_page_pool")
def test_a_pool_of_huge_pages(heapscope, report, dist, target, tmp_path):
    """The kernel does not count them as resident, so they are no line, and are told beside the lines."""
    with subprocess.Popen([target("huge_pool")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as process:
        try:
            if process.stdout.readline() != "ready\n":
                pytest.skip("the kernel has no huge pages to give")
            ledger = check(heapscope, report, dist, process.pid, tmp_path)
        finally:
            process.stdin.close()
        assert process.wait(60) == 0
    assert ledger["hugetlb_bytes"] == 6 * MIB and ledger["rss_bytes"] < 6 * MIB
    done = heapscope("report", "--rss", tmp_path / f"{process.pid}.pftrace")
    assert "6.00 MiB more are in huge pages of the system's pool" in " ".join(done.stdout.split())
