"""Servers that fork their workers, run by a user who is not root, and what another library counted
in them.

Each has a master whose forked children serve. load(SECONDS) fails when a request fails; renew()
makes the master fork new children.
"""

import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
from typing import NamedTuple

import pytest
from comparing import need, wait_for_socket
from conftest import clean_env
from preload import preloadable
from waiting import child_pids, wait_for_state, wait_until

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


class Sums(NamedTuple):
    live_bytes: int
    live_count: int
    alloc_bytes: int
    alloc_count: int


class Witness:
    """The files of test/target/heap_witness.c, which is preloaded."""

    def __init__(self, library, place):
        self.library, self.place = str(preloadable(library)), place
        self.since = 0

    def path(self, pid):
        return pathlib.Path(f"{self.place}.{pid}")

    def begin(self, pids):
        """From now on, returns only what is allocated later in these processes and in those that
        they fork."""
        self.since = 1
        for pid in pids:
            with self.path(pid).open("r+b") as file:
                file.write(struct.pack("<Q", 1))

    def sums(self, pid):
        data = struct.unpack("<Q8q", self.path(pid).read_bytes())[1:]
        of_epochs = [data[4 * i:4 * i + 4] for i in range(self.since, 2)]
        return Sums(*map(sum, zip(*of_epochs)))


class Server:
    """Runs while the `with` lasts, and must not end by itself."""

    stop = signal.SIGTERM

    def __init__(self, folder):
        self.folder = folder

    def begin(self, **env):
        self.process = subprocess.Popen(list(map(str, self.command())), env=clean_env(**env), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder,
                                        start_new_session=True, **NOBODY)
        self.pid = self.process.pid

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, kind, *_):
        ended = self.process.poll()
        if ended is None:
            self.process.send_signal(self.stop)
        try:
            self.text = self.process.communicate(timeout=30)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.text = self.process.communicate()[0]
        if kind is None:
            assert ended is None, (ended, self.text[-2000:])
            assert self.process.returncode == 0, self.text[-2000:]

    def workers(self):
        return child_pids(self.pid)

    def say(self, command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=clean_env(), check=False,
                              timeout=120, cwd=self.folder, **NOBODY)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class Nginx(Server):
    name = "nginx"
    has_idle_master = True

    def __init__(self, folder):
        super().__init__(folder)
        self.program, self.wrk = need("nginx", "wrk")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (folder / "index.html").write_text("hello\n" * 1000)
        (folder / "nginx.conf").write_text(f"""
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on; gzip_types text/html; gzip_min_length 10;
server {{ listen 127.0.0.1:{self.port}; root {folder}; }} }}
""")

    def command(self):
        return [self.program, "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", self.folder / "error.log"]

    def wait(self):
        wait_until(lambda: len(self.workers()) == 2)

    def load(self, seconds):
        text = self.say([self.wrk, "-t1", "-c8", f"-d{seconds}", "-H", "Accept-Encoding: gzip",
                         f"http://127.0.0.1:{self.port}/index.html"])
        assert "Socket errors" not in text and "Non-2xx" not in text, text
        assert int(re.search(r"(\d+) requests in", text)[1]) > 20, text

    def renew(self):
        before = self.workers()
        os.kill(self.pid, signal.SIGHUP)
        wait_until(lambda: len(self.workers()) == 2 and not set(before) & set(self.workers()))

    def end(self):
        assert "signal" not in (self.folder / "error.log").read_text().replace("signal process started", "")


class Postgres(Server):
    name = "postgres"
    has_idle_master = False  # it forks helpers one after the other, and works in between
    stop = signal.SIGINT

    def __init__(self, folder):
        super().__init__(folder)
        (self.pgbench,) = need("pgbench")
        servers = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not servers:
            pytest.skip("postgres is not installed")
        self.bin = servers[-1].parent
        self.options = ["-h", folder, "-U", "me", "postgres"]
        self.clients = []
        self.say([self.bin / "initdb", "-D", folder / "data", "-A", "trust", "-U", "me", "--no-sync"])

    def command(self):
        return [self.bin / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=",
                "-c", "fsync=off", "-c", "autovacuum=off"]

    def wait(self):
        file = self.folder / "data" / "postmaster.pid"
        wait_until(lambda: file.exists() and "ready" in file.read_text())
        self.say([self.pgbench, "-i", "-q", *self.options])
        self.renew()

    def load(self, seconds):
        text = self.say([self.pgbench, "-c", "3", "-T", seconds, *self.options])
        assert "number of failed transactions: 0" in text, text

    def renew(self):
        """Opens connections that stay, and that have done some work."""
        self.hang_up()
        for _ in range(2):
            client = subprocess.Popen([str(self.bin / "psql"), "-XAtq", *map(str, self.options)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=clean_env(), **NOBODY)
            self.clients.append(client)
            client.stdin.write("select count(*), sum(abalance) from pgbench_accounts where aid % 7 = 3;\n")
            client.stdin.flush()
            assert client.stdout.readline().startswith("14286|")

    def hang_up(self):
        for client in self.clients:
            client.stdin.close()
            client.wait(30)
            client.stdout.close()
        self.clients = []

    def __exit__(self, *what):
        self.hang_up()
        super().__exit__(*what)

    def end(self):
        assert "terminated by signal" not in self.text and "PANIC" not in self.text, self.text


PREFORK = """
import json, os, signal, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
sock.listen(64)
table = {str(i): [i] * 20 for i in range(500)}

def work():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    table.pop('7')
    kept = []
    while True:
        peer, _ = sock.accept()
        kept.append(json.dumps(table))
        del kept[:-50]
        with peer:
            try:
                peer.sendall(str(len(kept[-1])).encode())
            except BrokenPipeError:
                pass

workers = []
def renew(*_):
    old = list(workers)
    workers.clear()
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            work()
        workers.append(pid)
    for pid in old:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)

def end(*_):
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
    os._exit(0)

signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, renew)
renew()
while True:
    signal.pause()
"""

ASKER = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(sys.argv[1])
        assert int(sock.recv(99)) > 1000
"""


class Prefork(Server):
    name = "prefork.py"
    has_idle_master = False  # the loops of master and workers are the same functions of the interpreter

    def command(self):
        (self.folder / "prefork.py").write_text(PREFORK)
        return ["/usr/bin/python3", self.folder / "prefork.py", self.folder / "sock"]

    def begin(self, **env):
        super().begin(PYTHONMALLOC="malloc", **env)

    def wait(self):
        wait_for_socket(self.folder / "sock")
        wait_until(lambda: len(self.workers()) == 2)

    def load(self, seconds):
        self.say([sys.executable, "-c", ASKER, self.folder / "sock", seconds])

    def renew(self):
        before = self.workers()
        os.kill(self.pid, signal.SIGHUP)
        wait_until(lambda: len(self.workers()) == 2 and not set(before) & set(self.workers()))
        for worker in self.workers():
            wait_for_state(worker, "S")  # it waits for a connection

    def end(self):
        assert self.text == "", self.text


SERVERS = [Nginx, Postgres, Prefork]
