"""The ledger of programs that people run: its lines add up to what the kernel says, to the page."""

import contextlib
import re
import shutil
import signal
import subprocess

import pytest
from conftest import clean_env
from waiting import wait_for_snapshot, wait_until

JAVA = """import java.util.*;
public class Kept {
    public static void main(String[] args) throws Exception {
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < 100000; i++) { kept.add(new byte[100]); }
        System.gc();
        System.out.println("ready");
        System.in.read();
    }
}"""
GO = """package main
// #include <stdlib.h>
// #include <string.h>
// static void *get(int n) { void *p = malloc(n); memset(p, 1, n); return p; }
import "C"
import ("fmt"; "os")
func main() {
    kept := [][]byte{}
    for i := 0; i < 20000; i++ { kept = append(kept, make([]byte, 200)); C.get(100) }
    fmt.Println("ready")
    os.Stdin.Read(kept[0])
}"""
PYTHON = """import sys
kept = [{i: str(i)} for i in range(50000)]
print("ready", flush=True)
sys.stdin.read()"""
NODE = """let kept = [];
for (let i = 0; i < 50000; i++) kept.push({i, s: "x" + i});
console.log("ready");
process.stdin.resume()"""
PERL = """my @kept = map {"x$_" x 10} 1..50000; $| = 1; print "ready\\n"; <STDIN>"""
NGINX = """daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/log;
events {{ }}
http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; server {{ listen unix:{folder}/socket; }} }}"""


def need(program):
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


def python(_):
    return ["/usr/bin/python3", "-c", PYTHON]


def perl(_):
    return [need("perl"), "-e", PERL]


def node(_):
    return [need("node"), "-e", NODE]


def java(folder):
    (folder / "Kept.java").write_text(JAVA)
    return [need("java"), folder / "Kept.java"]


def go(folder):
    (folder / "kept.go").write_text(GO)
    done = subprocess.run([need("go"), "build", "-o", folder / "kept", folder / "kept.go"], capture_output=True, text=True,
                          env=clean_env(GO111MODULE="off", GOCACHE=str(folder / "cache"), HOME=str(folder)))
    assert done.returncode == 0, done.stderr
    return [folder / "kept"]


@contextlib.contextmanager
def running(args, is_ready=None):
    """A program that prints "ready", unless is_ready tells, and ends with its standard input or by SIGTERM."""
    process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.PIPE, text=True, env=clean_env(),
                               stdout=subprocess.DEVNULL if is_ready else subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        if is_ready:
            wait_until(is_ready)
        else:
            assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.send_signal(signal.SIGCONT)
        process.stdin.close()
        process.terminate()
        process.wait(30)


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        text = file.read()
    return {key: int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M)[1]) * 1024 for key in ("Rss", "Pss")}


def threads_are_stopped(pid):
    with open(f"/proc/{pid}/status") as file:
        return "T (stopped)" in file.read()


@contextlib.contextmanager
def stopped(pid):
    subprocess.run(["kill", "-STOP", str(pid)], check=True)
    try:
        wait_until(lambda: threads_are_stopped(pid))
        yield
    finally:
        subprocess.run(["kill", "-CONT", str(pid)], check=True)


def check(heapscope, report, dist, pid, folder):
    """Returns the ledger of the process, which stands still, after it was compared with the kernel's sums."""
    file = folder / f"{pid}.pftrace"
    recording = subprocess.Popen([dist / "bin" / "heapscope", "attach", str(pid), "-q", "-o", folder / "x.pftrace"],
                                 env=clean_env(), stderr=subprocess.DEVNULL)
    try:
        return check_recorded(heapscope, report, pid, file)
    finally:
        recording.send_signal(signal.SIGINT)
        recording.wait(60)


def snapshot_of_stopped(heapscope, report, pid, file):
    """Takes a snapshot while the process stands still. Returns its ledger, or None: meanwhile other processes changed with
    how many its pages of files are shared."""
    with stopped(pid):
        before = rollup(pid)
        done = heapscope("snapshot", "-p", pid, "-o", file)
        after = rollup(pid)
    assert done.returncode == 0, done.stderr
    assert before["Rss"] == after["Rss"]
    ledger = report(file)["ledger"]
    assert ledger["rss_bytes"] == after["Rss"]
    least, most = sorted([before["Pss"], after["Pss"]])
    return ledger if most <= 1.02 * least and 0.95 * least <= ledger["pss_bytes"] <= 1.05 * most else None


def check_recorded(heapscope, report, pid, file):
    """The same of a process that is being recorded, with a snapshot in the file."""
    wait_for_snapshot(heapscope, pid, file.with_suffix(".first.pftrace"))
    ledger = wait_until(lambda: snapshot_of_stopped(heapscope, report, pid, file), "the PSS is not the kernel's")
    assert sum(line["rss_bytes"] for line in ledger["lines"]) == ledger["rss_bytes"]
    pss = sum(line["pss_bytes"] for line in ledger["lines"])
    assert abs(pss - ledger["pss_bytes"]) <= 4096 + 0.001 * ledger["pss_bytes"]
    return ledger


def is_explained(ledger):
    """Of a process that was attached to, at most one part in a hundred is not."""
    return ledger["unexplained_bytes"] <= 0.01 * ledger["rss_bytes"]


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("program", [python, perl, node, java, go], ids=lambda program: program.__name__)
def test_program(heapscope, report, dist, tmp_path, program):
    with running(program(tmp_path)) as pid:
        assert is_explained(check(heapscope, report, dist, pid, tmp_path))


@pytest.mark.costly
def test_redis(heapscope, report, dist, tmp_path):
    """Its malloc is jemalloc."""
    socket = tmp_path / "s"
    args = [need("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    with running(args, socket.exists) as pid:
        fill = "for i = 1, 50000 do redis.call('set', i, string.rep('x', 100)) end"
        subprocess.run(["redis-cli", "-s", socket, "eval", fill, "0"], check=True, stdout=subprocess.DEVNULL)
        ledger = check(heapscope, report, dist, pid, tmp_path)
    assert ledger["rss_bytes"] > 12 << 20 and is_explained(ledger)


def test_nginx_workers(heapscope, report, dist, tmp_path):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not nginx:
        pytest.skip("nginx is not installed")
    (tmp_path / "conf").write_text(NGINX.format(folder=tmp_path))
    with running([nginx, "-c", tmp_path / "conf"], (tmp_path / "socket").exists) as pid:
        def workers():
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                return [int(child) for child in file.read().split()]
        wait_until(lambda: len(workers()) == 2)
        for worker in workers():
            assert is_explained(check(heapscope, report, dist, worker, tmp_path))
