"""Services under load, as in production: the same answers, log and exit status as without
heapscope, and a profile.

Each runs twice in a folder of its own, plainly and under heapscope, on a socket in that folder,
and is stopped by its usual signal.
"""

import difflib
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from comparing import INTERVALS, need, wait_for_socket
from conftest import clean_env
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def folder():
    """A folder with a short path, as sockets need it, accessible to other users."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="hs-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


class Service:
    """A service that runs while the `with` lasts; afterwards it has the exit status and the output."""

    def __init__(self, command, wait, stop):
        """wait(): returns when the service is ready."""
        self.command = [str(c) for c in command]
        self.wait, self.stop = wait, stop
        self.status = self.text = None

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            env=clean_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            self.wait()
        except BaseException:
            os.killpg(self.process.pid, signal.SIGKILL)
            print(self.process.communicate()[0])
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(self.stop)
        try:
            self.text = self.process.communicate(timeout=120)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self.status = self.process.returncode


def said(command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=300, env=clean_env(), check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Logged only if the server stops before it has noticed that a client is gone.
OF_THE_MOMENT = re.compile("terminating connection due to administrator command|could not send data to client")


def messages(log):
    """The contents of a log, in any order and without times, pids and figures."""
    lines = [line for line in log.splitlines() if not OF_THE_MOMENT.search(line)]
    lines = (re.sub(r"^[-\d:./ UTC]+", "", line) for line in lines)
    return sorted({re.sub(r"\d+", "N", re.sub(r"hs-\w+", "hs-", line)) for line in lines})


def assert_same(profiled, bare):
    """Shows the differences between texts and lists of lines, line by line."""
    for ours, theirs in zip(profiled, bare, strict=True):
        lines = [x.splitlines() if isinstance(x, str) else x for x in (theirs, ours)]
        different = "\n".join(difflib.unified_diff(*lines, "alone", "under heapscope", lineterm=""))
        assert not different, different


# --- postgres ---------------------------------------------------------------------------------------


class Postgres:
    """One cluster, initialised and run by a user who is not root, because postgres refuses root."""

    def __init__(self, folder, profiler):
        self.folder, self.profiler = folder, profiler
        server = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not server:
            pytest.skip("postgres is not installed")
        self.bin = server[-1].parent
        self.as_user = []
        folder.mkdir()
        if os.geteuid() == 0:
            need("setpriv")
            user = pwd.getpwnam("nobody")
            self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.data = folder / "data"

    def run(self):
        """Everything that its users can see, as text."""
        init = [self.bin / "initdb", "-D", self.data, "-A", "trust", "-U", "test", "--no-locale", "-E", "UTF8"]
        seen = said([*self.profiler("initdb"), *self.as_user, *init], cwd=self.folder)
        start = [self.bin / "postgres", "-D", self.data, "-k", self.folder]
        settings = ["listen_addresses=", "fsync=off", "log_connections=on", "log_checkpoints=off", "shared_buffers=16MB"]
        start += [w for s in settings for w in ("-c", s)]
        with Service([*self.profiler("server"), *self.as_user, *start], self.wait, signal.SIGINT) as server:
            self.load()
            seen += self.answers()
        assert server.status == 0, server.text
        log = messages(server.text.replace(str(self.folder), "FOLDER"))
        return seen.replace(str(self.folder), "FOLDER"), log

    def wait(self):
        """A trial connection would appear in the log."""
        file = self.data / "postmaster.pid"
        wait_until(lambda: file.exists() and "ready" in file.read_text(), "postgres does not get ready", 60, every_s=0.05)

    def client(self, name, *arguments):
        return said([self.bin / name, "-h", self.folder, "-U", "test", *arguments, "postgres"])

    def load(self):
        self.client("pgbench", "-q", "-i", "-s", "1")
        self.client("pgbench", "-c", "8", "-j", "2", "-t", "150", "--random-seed=1")
        # The server forks a process for each of these connections.
        self.client("pgbench", "-c", "4", "-j", "2", "-t", "40", "-C", "-S", "--random-seed=1")

    def answers(self):
        questions = [
            "select count(*), sum(abalance) - (select sum(delta) from pgbench_history) from pgbench_accounts",
            "select count(*) from pgbench_history",
            "select md5(string_agg(x::text, ',' order by x)) from generate_series(1, 50000) x",
            "select aid % 7 as k, count(*) from pgbench_accounts group by k order by k",
            "create extension if not exists plpgsql; do $$ begin perform 1 / 0; exception when others then null; end $$",
        ]
        return "".join(self.client("psql", "-XAt", "-c", q) for q in questions)


@pytest.mark.parametrize("interval", INTERVALS)
def test_postgres(dist, report, folder, interval):
    # The postgres user must be able to read our library.
    tree = folder / "dist"
    shutil.copytree(dist, tree, symlinks=True)

    def profiler(name):
        return [tree / "bin" / "heapscope", "run", "-q", "-i", interval, "-o", folder / name, "--"]

    bare = Postgres(folder / "a", lambda name: []).run()
    assert_same(Postgres(folder / "b", profiler).run(), bare)
    servers = [p for p in report(folder / "server")["processes"] if p["name"] == "postgres"]
    assert servers and servers[0]["exit_status"] == 0
    assert servers[0]["alloc"]["bytes"] > 500_000
    # initdb starts the server several times itself, and waits for it.
    assert sum(p["name"] == "postgres" for p in report(folder / "initdb")["processes"]) >= 3


# --- nginx ------------------------------------------------------------------------------------------

NGINX = """
worker_processes 2;
pid {folder}/pid;
error_log {folder}/error notice;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_min_length 100;
    gzip_types text/plain;
    server {{
        listen unix:{folder}/sock;
        listen 127.0.0.1:{port};
        root {folder}/www;
        location /again {{ proxy_pass http://unix:{folder}/sock:/large.txt; }}
    }}
}}
"""


def free_port():
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def nginx(folder, profiler):
    """What nginx answered, printed and did while it was under load and reloaded its configuration."""
    server, wrk, curl = need("nginx", "wrk", "curl")
    folder.mkdir()
    (folder / "www").mkdir()
    (folder / "www" / "large.txt").write_text("".join(f"line {i}\n" for i in range(20000)))
    (folder / "www" / "small.txt").write_text("small\n")
    port = free_port()
    config = folder / "config"
    config.write_text(("user root;" if os.geteuid() == 0 else "") + NGINX.format(folder=folder, port=port))
    command = [*profiler("nginx"), server, "-c", config, "-p", folder, "-g", "daemon off;"]
    url = f"http://127.0.0.1:{port}"
    with Service(command, lambda: wait_for_socket(folder / "sock"), signal.SIGQUIT) as service:
        seen = ""
        for path in ("small.txt", "large.txt", "again", "missing"):
            answer = said([curl, "-s", "-i", "--compressed", f"{url}/{path}"])
            seen += re.sub(r"(Date|Last-Modified|ETag): .*", "", answer)
        for path in ("small.txt", "again"):
            load = said([wrk, "-t", "2", "-c", "20", "-d", "2s", "-H", "Accept-Encoding: gzip", f"{url}/{path}"])
            assert "Non-2xx" not in load and "Socket errors" not in load, load
            assert int(re.search(r"(\d+) requests in", load)[1]) > 50, load
        os.kill(int((folder / "pid").read_text()), signal.SIGHUP)  # new workers start, the old ones end
        seen += said([curl, "-s", f"{url}/small.txt"])
    assert service.status == 0, service.text
    errors = messages((folder / "error").read_text().replace(str(folder), "FOLDER"))
    # Which signals arrive together is chance, and so is whether a request of wrk is still in
    # progress at the end.
    late = ("connecting to upstream", "reading response header")
    errors = [e for e in errors if not any(words in e for words in late)]
    return seen, service.text, [e for e in errors if "exited on signal" in e or "[notice]" not in e]


@pytest.mark.parametrize("interval", INTERVALS)
def test_nginx(dist, report, folder, interval):
    def profiler(name):
        return [dist / "bin" / "heapscope", "run", "-q", "-i", interval, "-o", folder / name, "--"]

    bare = nginx(folder / "a", lambda name: [])
    assert_same(nginx(folder / "b", profiler), bare)
    data = report(folder / "nginx")
    assert data["processes"][0]["name"] == "nginx" and data["processes"][0]["exit_status"] == 0
    assert data["totals"]["alloc"]["count"] > 100
