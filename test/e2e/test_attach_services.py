"""Attaching to real services under load, again and again: no request fails, no process dies,
nothing accumulates.

ROUNDS times each; 200 with ./dev test --full.
"""

import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import threading

import pytest
from comparing import need, wait_for_socket
from conftest import clean_env
from resident import need_ptrace
from waiting import child_pids, thread_count, wait_until


@pytest.fixture(autouse=True)
def permitted():
    need_ptrace()


@pytest.fixture
def rounds(request):
    return 200 if request.config.getoption("-m") == "slow or not slow" else 6


class Process:
    """Runs while the `with` lasts, and must not end by itself."""

    def __init__(self, *command, stop=signal.SIGTERM, **options):
        self.command, self.stop, self.options = [str(c) for c in command], stop, options

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            env=clean_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **self.options,
        )
        self.pid = self.process.pid
        return self

    def __exit__(self, kind, *_):
        ended = self.process.poll()
        self.process.send_signal(self.stop)
        try:
            self.text = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.text = self.process.communicate()[0]
        if kind is None:
            assert ended is None, (ended, self.text[-2000:])


def mappings(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text()


class Attacher:
    """Attaches and detaches, and keeps the figures of each time."""

    def __init__(self, heapscope, report, folder):
        self.heapscope, self.report, self.folder = heapscope, report, folder
        self.stops_ms = []
        self.functions = set()

    def once(self, pid, *options):
        file = self.folder / "attached.pftrace"
        done = self.heapscope("attach", pid, "--top", "0", "-o", file, *(options or ("-d", "100ms")))
        assert done.returncode == 0, done.stderr
        self.stops_ms += [float(ms) for ms in re.findall(r"stopped for ([\d.]+) ms", done.stderr)]
        found = self.report(file, "--top", "all", "--view", "alloc_objects")
        self.functions |= {f["function"] for s in found["stacks"] for f in s["frames"]}
        return found

    def many(self, pid, rounds, *options):
        before = None
        for i in range(rounds):
            self.once(pid, *options)
            assert os.path.exists(f"/proc/{pid}")
            if i == 0:
                before = mappings(pid)
        kept = [m.count("heapscope") for m in (before, mappings(pid))]
        assert kept[0] == kept[1]
        ordered = sorted(self.stops_ms)
        print(
            f"borrowed thread: median {ordered[len(ordered) // 2]:.1f} ms, first {self.stops_ms[0]:.1f} ms,"
            f" most {ordered[-1]:.1f} ms of {len(ordered)}"
        )


@pytest.fixture
def attacher(heapscope, report, folder):
    return Attacher(heapscope, report, folder)


@pytest.mark.costly
def test_redis(attacher, folder, rounds):
    need("redis-server", "redis-benchmark", "redis-cli")
    path = folder / "redis.sock"
    server = Process("redis-server", "--port", 0, "--unixsocket", path, "--save", "", "--dir", folder, "--io-threads", 2)
    with server as redis:
        wait_for_socket(path)
        load = Process("redis-benchmark", "-s", path, "-n", 100000000, "-c", 20, "-t", "set,lpush", "-r", 100000, "-d", 200)
        with load:
            attacher.many(redis.pid, rounds)
        assert "error" not in load.text.lower()
        info = subprocess.run(["redis-cli", "-s", path, "ping"], capture_output=True, text=True, check=True)
        assert info.stdout == "PONG\n"
    assert {"setCommand", "main"} <= attacher.functions or len(attacher.functions) > 30


@pytest.mark.costly
def test_nginx(attacher, folder, rounds):
    need("nginx", "wrk")
    (folder / "index.html").write_text("hello\n" * 1000)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "nginx.conf"
    config.write_text(f"""
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on; gzip_types text/html; gzip_min_length 10;
server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
""")
    with Process("nginx", "-p", folder, "-c", config, "-e", folder / "error.log") as nginx:
        wait_until(lambda: (folder / "nginx.pid").exists())
        children = pathlib.Path(f"/proc/{nginx.pid}/task/{nginx.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 2)
        workers = [int(pid) for pid in children.read_text().split()]
        load = Process(
            "wrk", "-t1", "-c8", "-d600", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{port}/index.html", stop=signal.SIGINT
        )
        with load:
            for worker in workers:
                attacher.many(worker, rounds // 2)
            attacher.once(nginx.pid)
        assert "Socket errors" not in load.text and "Non-2xx" not in load.text, load.text
        assert int(re.search(r"(\d+) requests in", load.text)[1]) > 100
        assert children.read_text().split() == [str(w) for w in workers], "a worker died"
    assert "signal" not in (folder / "error.log").read_text()
    assert "ngx_worker_process_cycle" in attacher.functions or len(attacher.functions) > 5


@pytest.mark.costly
def test_postgres(attacher, folder, rounds):
    need("pgbench")
    server = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not server:
        pytest.skip("postgres is not installed")
    programs = server[-1].parent
    as_user = []
    if os.geteuid() == 0:
        need("setpriv")
        user = pwd.getpwnam("nobody")
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    data = folder / "data"
    made = subprocess.run(
        [*as_user, programs / "initdb", "-D", data, "-A", "trust", "-U", "me", "--no-sync"],
        capture_output=True, text=True, env=clean_env(), check=False,
    )
    assert made.returncode == 0, made.stderr
    command = [*as_user, programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    options = ["-h", folder, "-U", "me", "postgres"]
    with Process(*command, stop=signal.SIGINT) as postgres:
        wait_for_socket(folder / ".s.PGSQL.5432")
        filled = subprocess.run(["pgbench", "-i", "-q", *options], capture_output=True, text=True, check=False)
        assert filled.returncode == 0, filled.stderr
        load = subprocess.Popen(
            ["pgbench", "-c", "3", "-T", str(5 + rounds), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

        def connected():
            found = child_pids(postgres.pid, b"postgres: me postgres [local]")
            return found if len(found) == 3 else []

        backends = wait_until(connected, "pgbench does not open three connections", every_s=0.05)
        attacher.many(backends[0], rounds)
        attacher.once(backends[1])
        attacher.once(postgres.pid)
        text = load.communicate()[0]
        assert load.returncode == 0 and "number of failed transactions: 0" in text, text
    assert {"PostgresMain", "AllocSetAlloc"} & attacher.functions or len(attacher.functions) > 30


def test_node(attacher, folder, rounds):
    need("node")
    script = folder / "server.js"
    script.write_text("""
const http = require('http'), zlib = require('zlib');
let kept = [];
http.createServer((request, response) => {
  kept.push(Buffer.alloc(5000, 1)); if (kept.length > 500) kept = [];
  response.end(zlib.gzipSync('hello '.repeat(2000)));
}).listen('%s');
""" % (folder / "node.sock"))
    failures, count, is_over = [], 0, threading.Event()

    def ask():
        nonlocal count
        while not is_over.is_set():
            done = subprocess.run(
                ["curl", "-s", "-f", "-o", "/dev/null", "--unix-socket", folder / "node.sock", "http://x/"], check=False
            )
            count += 1
            if done.returncode != 0:
                failures.append(done.returncode)

    need("curl")
    with Process("node", script) as node:
        wait_for_socket(folder / "node.sock")
        asker = threading.Thread(target=ask)
        asker.start()
        try:
            attacher.many(node.pid, rounds)
        finally:
            is_over.set()
            asker.join()
        assert not failures and count > rounds
    assert any("deflate" in f or "node::" in f for f in attacher.functions)


@pytest.mark.costly
def test_java(attacher, folder, rounds):
    need("javac", "java")
    (folder / "Busy.java").write_text("""
import java.util.zip.*;
public class Busy {
  public static void main(String[] args) throws Exception {
    for (int t = 0; t < 3; t++) new Thread(() -> {
      byte[] data = new byte[20000], out = new byte[30000];
      while (true) { Deflater d = new Deflater(); d.setInput(data); d.finish(); d.deflate(out); d.end(); }
    }).start();
    while (true) { Thread.sleep(100); System.out.println("alive"); }
  }
}
""")
    subprocess.run(["javac", "-d", folder, folder / "Busy.java"], check=True, env=clean_env())
    with Process("java", "-Xmx64m", "-cp", folder, "Busy") as java:
        wait_until(lambda: "libzip" in mappings(java.pid))
        attacher.many(java.pid, rounds)
    assert java.text.count("alive") > rounds / 10
    assert any("deflate" in f.lower() for f in attacher.functions)


@pytest.mark.costly
def test_python_threads(attacher, folder, rounds):
    script = folder / "busy.py"
    script.write_text("""
import json, threading, time
def work():
    while True:
        json.loads(json.dumps({str(i): [i] * 50 + ['x' * 600] for i in range(200)}))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
while True:
    time.sleep(0.1)
    print('alive', flush=True)
""")
    with Process("/usr/bin/python3", script) as python:
        wait_until(lambda: thread_count(python.pid) == 5, "its threads do not start")
        attacher.many(python.pid, rounds)
    assert python.text.count("alive") > rounds / 10 and "Error" not in python.text
    assert any("json" in f.lower() or "PyUnicode" in f or "scan" in f for f in attacher.functions)


@pytest.mark.costly
@pytest.mark.parametrize("interval", [1, 4096])
def test_always_inside_malloc(attacher, target, rounds, interval):
    """Four threads do nothing but allocate: a safe point is found all the same."""
    program = subprocess.Popen(
        [target("resident", "-pthread", "-ldl")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()
    )
    try:
        program.stdin.write("busy\n")
        program.stdin.flush()
        assert program.stdout.readline() == "ok\n"
        attacher.many(program.pid, rounds, "-i", interval, "-d", "20ms")
        program.stdin.write("work\n")
        program.stdin.flush()
        assert program.stdout.readline() == "ok\n"
        assert "be_busy" in attacher.functions
    finally:
        program.kill()
        program.wait()
