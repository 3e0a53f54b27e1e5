"""`heapscope ui --perfetto` and `--speedscope`: one file for a viewer of others."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import browser
import pytest
from ui_server import Ui, record_strings

PERFETTO = "https://ui.perfetto.dev"


@pytest.fixture(scope="module")
def trace(heapscope, tmp_path_factory):
    return record_strings(heapscope, tmp_path_factory.mktemp("ui") / "some name&.pftrace")


@pytest.fixture
def ui(dist):
    started = []

    def call(*args, **more):
        started.append(Ui(dist, *args, **more))
        return started[-1]

    yield call
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


# --- the Perfetto UI ----------------------------------------------------------------------------


def test_perfetto(ui, trace):
    server = ui("--perfetto", trace)
    assert server.link == f"{PERFETTO}/#!/?url=http://127.0.0.1:9001/some_name_.pftrace"
    # What its page asks first: is a trace_processor there?
    assert server.ask("/status", "POST", {"Origin": PERFETTO, "Sec-Fetch-Site": "cross-site"}).status == 415
    # What browsers ask before they let a page read from this machine.
    asked = server.ask(server.path, "OPTIONS", {"Origin": PERFETTO, "Access-Control-Request-Private-Network": "true"})
    assert asked.status == 204
    assert asked.headers["access-control-allow-private-network"] == "true"
    got = server.ask(server.path, headers={"Origin": PERFETTO, "Sec-Fetch-Site": "cross-site"})
    assert got.status == 200
    assert got.headers["access-control-allow-origin"] == PERFETTO
    assert got.body == trace.read_bytes()
    assert server.wait()[0] == 0


def test_perfetto_refuses_other_sites(ui, trace):
    server = ui("--perfetto", trace)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://ui.perfetto.dev"},
                    {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example:9001"}, {"Host": None}):
        answer = server.ask(server.path, headers=headers)
        assert answer.status in (400, 403), headers
        assert b"perfetto" not in answer.body and len(answer.body) < 200
    for path in ("/", "/some name&.pftrace", "//some_name_.pftrace", "/../some_name_.pftrace", "/etc/passwd"):
        assert server.ask(path.replace(" ", "%20")).status == 404, path
    assert server.ask(server.path, "POST", {"Content-Type": "application/json"}, body=b"").status == 405
    assert server.ask(server.path).status == 200
    assert server.wait()[0] == 0


def test_perfetto_gives_the_file_once(ui, tmp_path):
    file = tmp_path / "large.pftrace"
    with file.open("wb") as out:
        out.truncate(64 << 20)
    server = ui("--perfetto", file)
    request = f"GET {server.path} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode()
    # One that breaks off does not count.
    with server.connect() as sock:
        sock.sendall(request)
        assert sock.recv(100)
        second = server.ask(server.path)
        assert second.status == 410 and len(second.body) < 200
    assert len(server.ask(server.path).body) == 64 << 20
    assert server.wait()[0] == 0
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_perfetto_port_in_use(heapscope, trace):
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 9001))
        sock.listen()
        done = heapscope("ui", "--no-open", "--perfetto", trace)
    assert done.returncode == 1
    assert "port 9001 of 127.0.0.1 is in use" in done.stderr
    assert done.stdout == ""


def test_perfetto_ended_before(ui, trace):
    server = ui("--perfetto", trace)
    status, messages = server.end(signal.SIGINT)
    assert status == 1
    assert "ssh -L 9001:127.0.0.1:9001" in messages
    assert "ended before" in messages


def test_usage(heapscope, trace, tmp_path):
    for args, words in ([["--perfetto", trace, trace], "one too many"], [["--perfetto", trace, "--speedscope", trace], "combined"],
                        [["--perfetto", trace, "--port", "80"], "9001"], [["--speedscope-dir", "x"], "--speedscope"],
                        [["--port", "65536", "--speedscope", trace], "--port"]):
        done = heapscope("ui", *args)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    for args, words in ([["--perfetto", tmp_path / "none"], "No such file"], [["--perfetto", tmp_path], "not a regular file"],
                        [["--speedscope", tmp_path / "none"], "No such file"]):
        done = heapscope("ui", "--no-open", *args)
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_other_users_are_refused(ui, trace):
    server = ui("--perfetto", trace)
    code = f"""import socket
sock = socket.create_connection(("127.0.0.1", {server.port}))
try:
    sock.sendall(b"GET {server.path} HTTP/1.1\\r\\nHost: {server.host}\\r\\n\\r\\n")
    print(len(sock.recv(65536)))
except ConnectionError:
    print(0)
"""
    done = subprocess.run(["/usr/bin/python3", "-c", code], user=65534, group=65534, extra_groups=[], cwd="/",
                          stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "0\n"
    same = subprocess.run(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert int(same.stdout) > 0


# --- speedscope ---------------------------------------------------------------------------------


def test_speedscope_missing(heapscope, trace, tmp_path):
    done = heapscope("ui", "--no-open", "--speedscope", trace, cwd=tmp_path, env={"HOME": tmp_path, "NODE_PATH": tmp_path})
    if pathlib.Path("/usr/local/lib/node_modules/speedscope").exists():
        pytest.skip("speedscope is installed for all users")
    assert done.returncode == 1
    assert "npm install speedscope" in done.stderr
    done = heapscope("ui", "--no-open", "--speedscope", trace, "--speedscope-dir", tmp_path)
    assert done.returncode == 1
    assert "has no build of speedscope" in done.stderr


def test_speedscope_serves_the_build_and_the_profile(ui, heapscope, trace, node_modules):
    server = ui("--speedscope", trace, cwd=node_modules)
    package = node_modules / "node_modules" / "speedscope" / "dist" / "release"
    assert server.ask("/").body == (package / "index.html").read_bytes()
    for file in package.glob("speedscope*"):
        assert server.ask(f"/{file.name}").body == file.read_bytes()
    assert server.ask("/", token=False).status == 403
    assert server.ask("/../package.json").status == 404
    got = server.ask("/heapscope.speedscope.json")
    exported = heapscope("export", "--format", "speedscope", trace)
    assert json.loads(got.text)["shared"] == json.loads(exported.stdout)["shared"]
    assert server.end()[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_speedscope_of_another_user_is_not_served(heapscope, trace, node_modules, folder):
    copy = shutil.copytree(node_modules / "node_modules" / "speedscope", folder / "speedscope")
    os.chown(copy / "dist" / "release", 65534, 65534)
    done = heapscope("ui", "--no-open", "--speedscope", trace, "--speedscope-dir", copy)
    assert done.returncode == 1
    assert "another user" in done.stderr


@pytest.mark.costly
@pytest.mark.skipif(not browser.find(), reason="needs Chromium")
def test_speedscope_in_a_browser(ui, trace, node_modules, tmp_path):
    server = ui("--speedscope", trace, cwd=node_modules)
    tab = browser.Browser(tmp_path / "profile")
    try:
        tab.open_address(server.link)
        # The name of the profile is in the page's title when it is loaded.
        tab.wait("document.title.includes('python3')")
        assert tab.js("location.search") == ""
        assert tab.js("document.querySelectorAll('canvas').length > 0")
    finally:
        tab.close()
