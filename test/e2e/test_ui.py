"""`heapscope ui`: who is answered, and what the server can do. Requests are those that browsers and hostile programs send."""

import gzip
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import browser
import pytest
from ui_server import Ui, read_all, record_strings
from waiting import child_pids, let_time_pass, state_of, wait_until

JSON = {"Content-Type": "application/json"}
API = ["files", "processes", "sessions", "config?pid=1", "internals"]
GROWING = "import sys, time\nkept = []\nwhile True:\n    kept.append(bytearray(100000)); time.sleep(0.01)\n"


@pytest.fixture(scope="module")
def trace(heapscope, tmp_path_factory):
    return record_strings(heapscope, tmp_path_factory.mktemp("ui") / "app.pftrace")


@pytest.fixture
def start_ui(dist, tmp_path):
    started = []
    folder = tmp_path / "ui"
    folder.mkdir()

    def call(*args, **more):
        more.setdefault("cwd", folder)
        # No daemon but that of the test.
        more["env"] = {"XDG_RUNTIME_DIR": tmp_path, **(more.get("env") or {})}
        started.append(Ui(dist, *args, **more))
        return started[-1]

    yield call
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def ui(start_ui, trace):
    return start_ui(trace)


@pytest.fixture
def growing():
    process = subprocess.Popen(["/usr/bin/python3", "-c", GROWING])
    yield process.pid
    process.kill()
    process.wait()


def post(ui, path, body, **more):
    return ui.ask(path, "POST", JSON, json.dumps(body).encode(), **more)


def is_refused(answer, status=403):
    return answer.status == status and len(answer.body) < 300 and b"app.pftrace" not in answer.body


# --- who may ask --------------------------------------------------------------------------------


def test_address(ui):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}", ui.link)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("::1", ui.port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((next(iter(own_addresses()), "127.0.0.2"), ui.port))


def own_addresses():
    """The machine's other addresses."""
    text = subprocess.run(["hostname", "-I"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return [address for address in text.split() if "." in address]


def test_token(ui):
    for path in ["/", *(f"/api/{name}" for name in API)]:
        assert is_refused(ui.ask(path, token=False)), path
        for wrong in ("", "x", ui.token[:-1], ui.token + "0", ui.token.upper(), "0" * 64):
            assert is_refused(ui.ask(path, headers={"X-Heapscope-Token": wrong})), (path, wrong)
            assert is_refused(ui.ask(f"{path}{'&' if '?' in path else '?'}token={wrong}", token=False)), (path, wrong)
    assert is_refused(post(ui, "/api/start", {"pid": [1]}, token=False))
    assert is_refused(post(ui, f"/api/start?token={ui.token}", {"pid": [1]}, token=False))


def test_cookie_replaces_the_token(ui):
    first = ui.ask(f"/?token={ui.token}", token=False, headers={"Sec-Fetch-Site": "none"})
    assert first.status == 303
    assert first.headers["location"] == "/"
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"heapscope-{ui.port}=")
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and ui.token not in cookie
    value = {"Cookie": cookie.partition(";")[0]}
    assert ui.ask("/", headers=value, token=False).status == 200
    assert ui.ask("/api/files", headers=value, token=False).status == 200
    # With the cookie, everything else is still checked.
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-site"}):
        assert is_refused(ui.ask("/api/files", headers={**value, **headers}, token=False)), headers
    # The cookie of another server is no cookie of this one.
    other = {"Cookie": value["Cookie"].replace(str(ui.port), str(ui.port + 1))}
    assert is_refused(ui.ask("/api/files", headers=other, token=False))


def test_other_sites(ui):
    port = ui.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"localhost.evil.example:{port}",
                 f"127.0.0.1.nip.example:{port}", ""):
        assert is_refused(ui.ask("/api/files", headers={"Host": host})), host
    assert ui.ask("/api/files", headers={"Host": None}).status == 400
    for origin in ("http://evil.example", "null", "https://ui.perfetto.dev", f"https://127.0.0.1:{port}", f"http://localhost:{port}",
                   f"http://127.0.0.1:{port + 1}"):
        assert is_refused(ui.ask("/api/files", headers={"Origin": origin})), origin
        assert is_refused(ui.ask("/api/start", "POST", {**JSON, "Origin": origin}, b'{"pid":[1]}')), origin
    for site in ("cross-site", "same-site", "nonsense"):
        assert is_refused(ui.ask("/api/files", headers={"Sec-Fetch-Site": site})), site
    # No preflight succeeds.
    assert "access-control-allow-origin" not in ui.ask("/api/files", "OPTIONS", {"Origin": f"http://127.0.0.1:{port}"}).headers
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert ui.ask("/api/files", headers={"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}).status == 200


def test_dns_rebinding(ui):
    """A page of evil.example whose name now means 127.0.0.1: to its browser, it asks its own site."""
    host = f"evil.example:{ui.port}"
    rebound = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert is_refused(ui.ask("/api/files", headers=rebound))
    assert is_refused(ui.ask(f"/?token={ui.token}", headers=rebound))
    assert is_refused(ui.ask("/api/stop", "POST", {**JSON, **rebound}, b'{"session":"a"}'))


def test_headers_twice(ui):
    for name, other in (("Host", "evil.example"), ("Origin", "http://evil.example"), ("Cookie", "a=b")):
        request = f"GET /api/files HTTP/1.1\r\nHost: {ui.host}\r\nX-Heapscope-Token: {ui.token}\r\n"
        request += f"Origin: http://{ui.host}\r\nCookie: c=d\r\n{name}: {other}\r\n\r\n"
        assert ui.send(request.encode()).startswith(b"HTTP/1.1 400"), name


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_other_users(ui):
    """Even with the token: the connection is closed before an answer."""
    code = f"""import socket, sys
for path in ("/", "/api/files"):
    sock = socket.create_connection(("127.0.0.1", {ui.port}))
    request = f"GET {{path}} HTTP/1.1\\r\\nHost: {ui.host}\\r\\nX-Heapscope-Token: {ui.token}\\r\\n\\r\\n"
    try:
        sock.sendall(request.encode())
        # A socket that its process has closed belongs to no user any more.
        if "close" in sys.argv:
            sock.close()
            continue
        print(len(sock.recv(65536)))
    except ConnectionError:
        print(0)
"""
    def ask(*args, **more):
        return subprocess.run(["/usr/bin/python3", "-c", code, *args], cwd="/", stdout=subprocess.PIPE, text=True, check=True,
                              **more).stdout.split()

    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    assert ask(**nobody) == ["0", "0"]
    ask("close", **nobody)
    assert all(int(n) > 0 for n in ask())
    counts = json.loads(ui.ask("/api/internals").text)["server"]
    assert counts["foreign_connection_count"] >= 3
    assert counts["request_count"] == 3  # those of this user


# --- what is answered ---------------------------------------------------------------------------


def test_headers_of_answers(ui):
    for path in ["/", "/api/files", "/api/none", "/api/download?file=0&format=svg"]:
        headers = ui.ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'"), path
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
    svg = ui.ask("/api/download?file=0&format=svg").headers
    assert svg["content-disposition"] == 'attachment; filename="app.svg"'
    assert svg["content-security-policy"].endswith("sandbox")


def test_paths_are_not_files(ui, trace):
    secret = trace.parent / "secret"
    secret.write_text("secret")
    for path in (f"/{secret}", f"/../..{secret}", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/api/../etc/passwd", "//etc/passwd",
                 "/etc/passwd", "/api/files/", "/API/files", "/api/%66iles", "/api//files", "/.git/config", "/api"):
        answer = ui.ask(path)
        assert answer.status == 404 and len(answer.body) < 300, path
    for query in (f"file={secret}", "file=../secret", "file=-1", "file=1", "file=99999999999999999999", "file=0x0", "file=", "", "file=0%00",
                  "file=0&file=1&document=../../etc/passwd", f"file=0&document={secret}"):
        for path in (f"/api/profile?{query}&document=profile", f"/api/download?{query}&format=folded"):
            answer = ui.ask(path)
            assert answer.status in (200, 400, 404) and b"secret" not in answer.body, path
            assert answer.status != 200 or query.startswith("file=0&"), path
    # What belongs to an option is not one: --snapshot names no file.
    assert ui.ask(f"/api/download?file=0&format=folded&view={secret}").status == 400
    assert ui.ask(f"/api/download?file=0&format=folded&snapshot={secret}").status in (404, 409)
    assert ui.ask("/api/download?file=0&format=folded&output=/tmp/x").status == 200


def test_methods(ui):
    for method in ("HEAD", "PUT", "DELETE", "TRACE", "PATCH", "CONNECT", "OPTIONS", "get", "G"):
        assert ui.ask("/api/files", method).status in (400, 405, 501), method
    assert ui.ask("/api/start").status == 405
    assert ui.ask("/api/files", "POST", JSON, b"{}").status == 405
    # A form of another site can send these.
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data", None):
        assert ui.ask("/api/start", "POST", {"Content-Type": kind}, b'{"pid":[1]}').status == 415


def test_files_and_documents(ui, trace, report):
    files = json.loads(ui.ask("/api/files").text)
    assert [(f["name"], f["path"], f["is_complete"], f["bytes"]) for f in files["files"]] == [
        ("app.pftrace", str(trace), True, trace.stat().st_size)]
    plain = ui.ask("/api/profile?file=0&document=profile")
    assert "content-encoding" not in plain.headers
    profile = json.loads(plain.text)
    assert profile["format"] == 1
    packed = ui.ask("/api/profile?file=0&document=profile", headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body)) == profile
    # Other documents are there now; their sums are those of the report.
    totals = report(trace)["totals"]["live"]
    live = 0
    for snapshot in (profile["snapshots"][i] for i in profile["files"][0]["selected"]):
        for encoding in ({"Accept-Encoding": "gzip"}, {}):
            answer = ui.ask(f"/api/profile?file=0&document={snapshot['rows']}", headers=encoding)
            rows = json.loads(gzip.decompress(answer.body) if encoding else answer.body)
            assert (rows["count"] > 0) == (snapshot["row_count"] > 0)
        live += snapshot["live"]["bytes"]
    assert live == pytest.approx(totals["bytes"])
    assert json.loads(ui.ask("/api/profile?file=0&document=report-0").text)["totals"]["live"] == totals
    assert ui.ask("/api/profile?file=0&document=rows-99999", headers={"Accept-Encoding": "gzip"}).status == 404
    assert json.loads(ui.ask("/api/internals").text)["server"]["kept_answer_bytes"] > 0


def test_documents_of_a_file_that_changes(start_ui, trace, heapscope, tmp_path):
    file = tmp_path / "again.pftrace"
    file.write_bytes(trace.read_bytes())
    server = start_ui(file, trace)
    gzipped = {"Accept-Encoding": "gzip"}
    first = server.ask("/api/profile?file=0&document=profile", headers=gzipped).body
    assert server.ask("/api/profile?file=0&document=profile", headers=gzipped).body == first
    done = heapscope("run", "-q", "-i", "1", "-o", file, "--", "true")
    assert done.returncode == 0
    second = server.ask("/api/profile?file=0&document=profile", headers=gzipped).body
    assert json.loads(gzip.decompress(second))["title"] != json.loads(gzip.decompress(first))["title"]
    both = json.loads(gzip.decompress(server.ask("/api/profile?file=0,1&document=profile", headers=gzipped).body))
    assert [f["name"] for f in both["files"]] == [str(file), str(trace)]


def test_downloads(ui, trace, heapscope, tmp_path):
    got = ui.ask("/api/download?file=0&format=trace")
    assert got.body == trace.read_bytes()
    assert got.headers["content-disposition"] == 'attachment; filename="app.pftrace"'
    for form, exported in (("folded", "folded"), ("speedscope", "speedscope"), ("svg", "svg"), ("massif", "massif"), ("jsonl", "json"),
                           ("pprof", "pprof")):
        out = tmp_path / form
        assert heapscope("export", "-q", "--format", exported, "-o", out, trace).returncode == 0
        got = ui.ask(f"/api/download?file=0&format={form}")
        assert (got.status, got.body) == (200, out.read_bytes()), form
    alloc = ui.ask("/api/download?file=0&format=folded&view=alloc_space")
    assert alloc.body == heapscope("export", "--format", "folded", "--view", "alloc_space", trace).stdout.encode()
    assert json.loads(ui.ask("/api/download?file=0&format=json").text)["totals"]
    assert ui.ask("/api/download?file=0&format=csv").text.startswith('"pid","process","function","module",')
    assert ui.ask("/api/download?file=0&format=sqlite").body.startswith(b"SQLite format 3")
    assert ui.ask("/api/download?file=0&format=nonsense").status == 404


def test_broken_files(start_ui, trace, tmp_path):
    """A file that no reader takes, and one that is cut off: the server goes on."""
    broken, cut = tmp_path / "broken.pftrace", tmp_path / "cut.pftrace"
    broken.write_bytes(b"\x0a\xff\xff\xff\xff\xff\xff" * 100)
    cut.write_bytes(trace.read_bytes()[:-1000])
    server = start_ui(broken, cut, trace)
    answer = server.ask("/api/profile?file=0&document=profile")
    assert answer.status == 409 and "error" in json.loads(answer.text)
    assert server.ask("/api/download?file=0&format=svg").status == 409
    assert server.ask("/api/profile?file=1&document=profile").status in (200, 409)
    assert server.ask("/api/profile?file=2&document=profile").status == 200
    broken.unlink()
    assert server.ask("/api/profile?file=0&document=profile").status == 404
    assert server.ask("/api/download?file=0&format=trace").status == 404


def test_missing_file(heapscope, tmp_path):
    done = heapscope("ui", "--no-open", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No such file" in done.stderr


# --- what it can cost ---------------------------------------------------------------------------


def test_slow_and_oversized_requests(ui):
    begun = time.monotonic()
    head = f"GET /api/files HTTP/1.1\r\nHost: {ui.host}\r\nX-Heapscope-Token: {ui.token}\r\n"
    post_head = f"POST /api/start HTTP/1.1\r\nHost: {ui.host}\r\nX-Heapscope-Token: {ui.token}\r\nContent-Type: application/json\r\n"
    slow = [ui.connect() for _ in range(4)]
    slow[1].sendall(head.encode())                                  # the head does not end
    slow[2].sendall(f"{post_head}Content-Length: 100\r\n\r\n{{".encode())  # the body does not come
    # Sizes.
    assert b" 413 " in ui.send(f"{post_head}Content-Length: 65537\r\n\r\n".encode()).partition(b"\r\n")[0]
    assert not ui.send(f"{head}X: {'x' * 40000}\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
    assert not ui.send(f"GET /{'x' * 40000} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
    assert ui.ask(f"/api/files?{'a&' * 100}").status == 400
    assert ui.ask(f"/api/files?a={'x' * 5000}").status == 400
    assert not ui.send(f"{post_head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"8000\r\n" + b"x" * 0x8000 + b"\r\n" +
                       b"8001\r\n" + b"x" * 0x8001 + b"\r\n0\r\n\r\n").startswith(b"HTTP/1.1 200")
    # A byte now and then does not help.
    while time.monotonic() - begun < 60:
        try:
            slow[3].sendall(b"G")
        except (BrokenPipeError, ConnectionResetError):
            break
        let_time_pass(0.3, "a request whose bytes come slowly")
    assert 9 < time.monotonic() - begun < 60
    assert [read_all(sock) for sock in slow] == [b""] * 4
    assert ui.ask("/api/files").status == 200
    assert json.loads(ui.ask("/api/internals").text)["server"]["slow_connection_count"] >= 4


def test_many_connections(ui):
    idle = [ui.connect() for _ in range(200)]
    for sock in idle:
        read_all(sock)  # until the server closes it
    assert ui.ask("/api/files").status == 200
    assert len(os.listdir(f"/proc/{ui.process.pid}/fd")) < 40


def test_nonsense(ui):
    for data in (b"\0" * 1000, b"\xff" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000, b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                 b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 b"GET /api/files HTTP/1.1\r\nHost: " + ui.host.encode() + b"\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"):
        with ui.connect() as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            assert b" 200 " not in read_all(sock).partition(b"\r\n")[0]
    for body in (b"", b"{", b"[]", b"null", b'{"pid":', b'{"pid":[1e999]}', b"[" * 30000, b'{"pid":"\xff\xfe"}', b'{"session":"../x"}', b'{"pid":-1}',
                 b'{"session":"-o"}', b'{"pid":1.5,"blocks":{}}'):
        for path in ("/api/start", "/api/stop", "/api/snapshot"):
            assert ui.ask(path, "POST", JSON, body).status in (400, 409), (path, body)
    assert ui.ask("/api/files").status == 200


def test_signals_end_it(start_ui, trace):
    """And the processes of handlers end with it, however it ends."""
    for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        server = start_ui(trace)
        idle, busy = server.connect(), watch(server, server.process.pid)
        (child,) = wait_until(lambda: child_pids(server.process.pid), "no process makes the answer")
        assert server.end(number)[0] == status
        assert read_all(idle) == b""
        read_all(busy)
        wait_until(lambda: state_of(child) in ("", "Z"), "the process that makes the answer goes on")


# --- recordings ---------------------------------------------------------------------------------


def test_config(ui, heapscope, tmp_path):
    query = "pid=4711&name=redis*&interval=8K&dump-every=10s&duration=1m&heaps=pool*&max-memory=64M&blocks=true&dump-at-max=true"
    got = json.loads(ui.ask(f"/api/config?{query}").text)
    assert "# not in a TraceConfig: the list of live blocks (--blocks)" in got["config"]
    # No daemon runs: attach would record, if it has all of the options.
    assert got["command"].startswith("heapscope attach 4711 --'name=redis*' --interval=8K ")
    assert json.loads(ui.ask("/api/config?pid=1&session=a").text)["command"] == "heapscope start --pid=1 --session=a"
    file = tmp_path / "config"
    file.write_text(got["config"])
    # `record` reads it, and prints what it understood.
    done = heapscope("record", "-c", file, "--print-config")
    assert done.returncode == 0, done.stderr
    for line in ("sampling_interval_bytes: 8192", "pid: 4711", 'process_cmdline: "redis*"', 'heaps: "pool*"', "dump_interval_ms: 10000",
                 "max_heapprofd_memory_kb: 65536", "duration_ms: 60000"):
        assert line in done.stdout, line
    for query, words in (("interval=0&pid=1", "interval"), ("pid=x", "not a process id"), ("", "nothing to profile"), ("output=/x", "not a setting"),
                         ("pid=1&blocks=maybe", "true or false"), ("pid=1&dump-every=1", "dump-every")):
        answer = ui.ask(f"/api/config?{query}")
        assert (answer.status, words in json.loads(answer.text)["error"]) == (400, True), answer.text


def test_processes(ui, growing):
    def find():
        found = json.loads(ui.ask("/api/processes").text)
        (ours,) = [p for p in found["processes"] if p["pid"] == growing]
        return (found, ours) if ours["rss_bytes"] > 1 << 20 else None  # otherwise it has only just begun

    found, ours = wait_until(find)
    assert ours["name"].startswith("python3") and ours["uid"] == os.geteuid()
    assert ours["eligible"] is True and ours["is_recorded"] is False
    sizes = [p["rss_bytes"] + p["swap_bytes"] for p in found["processes"]]
    assert sizes == sorted(sizes, reverse=True)
    # Asked again at once, it answers what it has.
    assert json.loads(ui.ask("/api/processes").text) == found


def read_events(sock, count):
    """The first events of a stream: (kind, data)."""
    events, text = [], b""
    while len(events) < count:
        more = sock.recv(65536)
        if not more:
            break
        text += more
        events = [(kind.decode(), json.loads(data)) for kind, data in re.findall(rb"event: (\w+)\ndata: (.*)\n\n", dechunk(text))]
    return events


def dechunk(text):
    head, _, rest = text.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return rest
    body = b""
    while b"\r\n" in rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[:int(size, 16)]
        rest = rest[int(size, 16) + 2:]
    return body


def watch(ui, pid):
    sock = ui.connect()
    sock.sendall(f"GET /api/watch?pid={pid}&interval_ms=100 HTTP/1.1\r\nHost: {ui.host}\r\nX-Heapscope-Token: {ui.token}\r\n\r\n".encode())
    return sock


def check_recording(ui, growing, session):
    """Of a process that grows by 100,000 bytes at a time: watches it, takes a snapshot, and ends the session."""
    with watch(ui, growing) as sock:
        events = read_events(sock, 20)
    assert {kind for kind, _ in events} == {"ledger", "update"}
    ledgers = [data for kind, data in events if kind == "ledger"]
    events = [(kind, data) for kind, data in events if kind == "update"]
    for ledger in ledgers:
        assert sum(line["rss_bytes"] for line in ledger["lines"]) == pytest.approx(ledger["rss_bytes"], rel=0.05)
        assert any(line.get("name", "").endswith("libc.so.6") for line in ledger["lines"])
    live = [data["process"]["live_bytes"] for _, data in events]
    assert live[-1] > live[0]
    # The rows, put together, are the totals.
    rows, strings, functions, types = {}, [], {}, {}
    for _, data in events:
        strings += data["strings"]
        functions.update(zip(data["frames"]["id"], data["frames"]["function"]))
        rows.update(zip(data["rows"]["stack"], data["rows"]["live_bytes"]))
        if not data["has_more"]:
            assert sum(rows.values()) == pytest.approx(data["process"]["live_bytes"])
        for stack in set(data["types"]["stack"]):
            types[stack] = 0
        for stack, name, size in zip(data["types"]["stack"], data["types"]["type"], data["types"]["live_bytes"]):
            assert strings[name] or size == 0
            types[stack] += size
        assert all(size <= rows[stack] * (1 + 1e-9) for stack, size in types.items()) or data["has_more"]
    names = {strings[function] for function in functions.values()}
    assert any("Py" in name for name in names), names
    # The connection is closed: the watch ends.
    wait_until(lambda: json.loads(ui.ask("/api/internals").text)["server"]["stream_count"] == 0, "the stream does not end")
    snapped = json.loads(post(ui, "/api/snapshot", {"pid": growing}).text)
    assert os.path.exists(snapped["path"])
    check_moments(ui, growing)
    stopped = post(ui, "/api/stop", {"session": session})
    assert stopped.status == 200, stopped.text
    path = json.loads(stopped.text)["path"]
    files = {f["path"]: f for f in json.loads(ui.ask("/api/files").text)["files"]}
    assert files[path]["is_complete"] and files[snapped["path"]]["is_complete"]
    idx = files[path]["file"]
    profile = json.loads(ui.ask(f"/api/profile?file={idx}&document=profile").text)
    assert profile["processes"][0]["pid"] == growing
    return path


def check_moments(ui, pid):
    """Snapshots for looking at only: the last eight stay, until the end."""
    paths = [json.loads(post(ui, "/api/snapshot", {"pid": pid, "moment": True}).text)["path"] for _ in range(10)]
    assert len(set(paths)) == 10 and not any(path.startswith(os.path.realpath(f"/proc/{ui.process.pid}/cwd") + "/") for path in paths)
    assert [os.path.exists(path) for path in paths] == [False] * 2 + [True] * 8
    assert os.stat(os.path.dirname(paths[0])).st_mode & 0o777 == 0o700
    files = {f["path"]: f for f in json.loads(ui.ask("/api/files").text)["files"]}
    assert [path in files and files[path]["is_moment"] for path in paths] == [False] * 2 + [True] * 8
    newest = files[paths[9]]["file"]
    assert ui.ask(f"/api/profile?file={newest - 9}&document=profile").status == 404
    profile = json.loads(ui.ask(f"/api/profile?file={newest}&document=profile").text)
    assert [process["pid"] for process in profile["processes"]] == [pid]
    ui.moment_folder = os.path.dirname(paths[0])


@pytest.mark.costly
def test_recording_with_a_daemon(start_ui, daemon, growing, tmp_path):
    ui = start_ui(env={"HEAPSCOPE_SOCKET": daemon.socket})
    started = post(ui, "/api/start", {"pid": growing, "interval": 1, "dump-every": "1s", "session": "ours"})
    assert started.status == 200, started.text
    begun = json.loads(started.text)
    assert begun["session"] == "ours"
    assert "sampling_interval_bytes: 1\n" in begun["config"]
    assert begun["path"].startswith(str(tmp_path / "ui"))
    wait_until(lambda: any(c["pid"] == growing for c in json.loads(ui.ask("/api/sessions").text)["clients"]), "it is not recorded")
    assert post(ui, "/api/start", {"pid": growing, "session": "ours"}).status == 409
    refused = post(ui, "/api/start", {"pid": growing, "no-follow": True})
    assert refused.status == 409 and "heapscope attach --no-follow" in json.loads(refused.text)["error"]
    assert check_recording(ui, growing, "ours") == begun["path"]
    assert post(ui, "/api/stop", {"session": "none"}).status == 409
    assert json.loads(ui.ask("/api/sessions").text)["daemon"]["pid"] == daemon.pid
    roles = {p["pid"]: p for p in json.loads(ui.ask("/api/internals").text)["processes"]}
    assert roles[ui.process.pid]["is_ui"] and roles[daemon.pid]["rss_bytes"] > 0
    assert "go on" not in ui.end()[1]
    assert not os.path.exists(ui.moment_folder)


@pytest.mark.costly
def test_recording_without_a_daemon(start_ui, growing):
    ui = start_ui()
    assert json.loads(ui.ask("/api/sessions").text)["daemon"] is None
    started = post(ui, "/api/start", {"pid": growing})
    assert started.status == 200, started.text
    begun = json.loads(started.text)
    assert re.fullmatch(r"attach\.\d+", begun["session"])
    assert begun["command"] == f"heapscope attach {growing}"
    assert check_recording(ui, growing, begun["session"]) == begun["path"]
    refused = post(ui, "/api/start", {"pid": growing, "all": True})
    assert refused.status == 409 and "needs the daemon" in json.loads(refused.text)["error"]
    assert post(ui, "/api/start", {"pid": 2**31 - 1}).status == 409


# Forks a child that allocates as it does, when a line comes.
FORKS = """
import os, sys, time
print("ready", flush=True)
sys.stdin.readline()
os.fork()
kept = []
while True:
    kept.append(bytearray(100000))
    time.sleep(0.02)
"""


@pytest.mark.parametrize("settings", [{}, {"no-follow": True}])
def test_children_without_a_daemon(start_ui, settings):
    ui = start_ui()
    program = subprocess.Popen(["/usr/bin/python3", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               process_group=0)
    try:
        assert program.stdout.readline() == "ready\n"
        answer = post(ui, "/api/start", {"pid": program.pid, **settings})
        assert answer.status == 200, answer.text
        begun = json.loads(answer.text)
        assert ("--no-follow" in begun["command"]) == bool(settings)
        assert ("# not in a TraceConfig: to leave out children" in begun["config"]) == bool(settings)
        program.stdin.write("\n")
        program.stdin.flush()
        (child,) = wait_until(lambda: child_pids(program.pid))

        def clients():
            found = json.loads(ui.ask("/api/sessions").text)["recordings"]
            return {c["pid"] for r in found for c in r["clients"] if r["sessions"][0]["session"] == begun["session"]}

        if settings:
            let_time_pass(2, "the child must not appear")
            assert clients() == {program.pid}
        else:
            wait_until(lambda: clients() == {program.pid, child}, lambda: str(clients()))
        assert post(ui, "/api/stop", {"session": begun["session"]}).status == 200
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def test_errors_as_answers(start_ui):
    """What the page asks for, so that a browser's console stays empty; what a check refuses has its status."""
    ui = start_ui()
    asks = {"X-Heapscope-Errors": "as-answers"}
    answer = ui.ask("/api/config?interval=4x&pid=1", headers=asks)
    assert (answer.status, answer.headers["x-heapscope-status"]) == (200, "400")
    assert "'4x' is not a size" in json.loads(answer.text)["error"]
    answer = ui.ask("/api/profile?file=7&document=profile", headers=asks)
    assert (answer.status, answer.headers["x-heapscope-status"]) == (200, "404")
    plain = ui.ask("/api/config?interval=4x&pid=1")
    assert plain.status == 400 and "x-heapscope-status" not in plain.headers
    assert ui.ask("/api/config?interval=4x&pid=1", headers={"X-Heapscope-Errors": "1"}).status == 400
    for headers, status in (({"Origin": "http://example.org"}, 403), ({"Host": "example.org"}, 403), ({"X-Heapscope-Token": "x"}, 403)):
        assert ui.ask("/api/files", headers={**asks, **headers}).status == status
    assert ui.ask("/api/no-such-route", headers=asks).status == 404
    good = ui.ask("/api/files", headers=asks)
    assert good.status == 200 and "x-heapscope-status" not in good.headers


def test_recording_goes_on_after_the_end(start_ui, heapscope, growing, tmp_path):
    ui = start_ui()
    session = json.loads(post(ui, "/api/start", {"pid": growing}).text)["session"]
    assert "go on" in ui.end()[1]
    done = heapscope("stop", session, env={"XDG_RUNTIME_DIR": tmp_path})
    assert done.returncode == 0, done.stderr


def test_watch_ends(ui, growing):
    with watch(ui, growing) as sock:
        events = read_events(sock, 1)
    assert events[0][0] == "end" and "not recorded" in events[0][1]["reason"]
    with watch(ui, "x") as sock:
        assert read_events(sock, 1)[0][0] == "end"


FILES = sorted((pathlib.Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "fuzz_trace").iterdir())


def test_fuzzed_traces(start_ui, trace):
    """Files that were made to break readers: each is an answer or an error, and the server goes on."""
    server = start_ui(*FILES, trace)
    for idx, file in enumerate(FILES):
        for path in (f"/api/profile?file={idx}&document=profile", f"/api/download?file={idx}&format=svg"):
            answer = server.ask(path)
            assert answer.status in (200, 409), (file, answer.text[:200])
    assert server.ask(f"/api/profile?file={len(FILES)}&document=profile").status == 200


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A page of another port of this machine: to the browser, the same site and another origin."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_):
        pass


@pytest.fixture
def elsewhere():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.costly
@pytest.mark.skipif(not browser.find(), reason="needs Chromium")
def test_in_a_browser(ui, elsewhere, tmp_path):
    """Where the browser's own rules matter: the cookie, the redirect, and what a page of another port can do with the cookie."""
    def counts():
        return json.loads(ui.ask("/api/internals").text)["server"]

    tab = browser.Browser(tmp_path / "profile")
    try:
        tab.open_address(ui.link)
        assert tab.js("location.pathname + location.search") == "/"
        assert tab.js("document.cookie") == ""  # HttpOnly
        assert tab.js("fetch('/api/files').then(answer => answer.status).catch(String)") in (200, "TypeError: Failed to fetch")
        tab.open_address(elsewhere)
        tab.wait("document.title === 'elsewhere'")
        before = counts()
        for options in ("{}", "{credentials: 'include'}", "{credentials: 'include', mode: 'no-cors'}",
                        "{credentials: 'include', mode: 'no-cors', method: 'POST', body: '{}'}",
                        "{credentials: 'include', method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}}"):
            result = tab.js(f"fetch('http://{ui.host}/api/stop', {options}).then(a => a.type).catch(() => 'failed')")
            assert result in ("failed", "opaque"), options
        after = counts()
        assert after["refused_count"] - before["refused_count"] >= 5
        assert after["request_count"] - before["request_count"] == 1  # the one that asked for the counts
        # Nor can that page be shown inside another one, or opened by it.
        tab.js(f"document.body.innerHTML = '<iframe src=\"{ui.link}\"></iframe>'")
        wait_until(lambda: counts()["refused_count"] > after["refused_count"], "the frame asked for nothing")
    finally:
        tab.close()


RECORD = """(async () => {
  const ask = (path, body) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const begun = await (await ask("/api/start", { pid: PID, interval: 1 })).json();
  const events = [];
  await new Promise((resolve, reject) => {
    const source = new EventSource("/api/watch?pid=PID&interval_ms=100");
    source.addEventListener("end", () => { source.close(); reject(new Error("ended")); });
    source.addEventListener("update", event => {
      events.push(JSON.parse(event.data).process.live_bytes);
      if (events.length === 5) { source.close(); resolve(); }
    });
  });
  const ended = await (await ask("/api/stop", { session: begun.session })).json();
  const files = (await (await fetch("/api/files")).json()).files;
  const file = files.findIndex(each => each.path === ended.path);
  const profile = await (await fetch(`/api/profile?file=${file}&document=profile`)).json();
  return { events, pids: profile.processes.map(each => each.pid), isComplete: files[file].is_complete };
})()"""


@pytest.mark.costly
@pytest.mark.skipif(not browser.find(), reason="needs Chromium")
def test_recording_in_a_browser(ui, growing, tmp_path):
    """With the requests of a page: it starts a recording, watches it grow, ends it, and reads the file."""
    tab = browser.Browser(tmp_path / "profile")
    try:
        tab.open_address(ui.link)
        if "connect-src" not in ui.ask("/").headers["content-security-policy"]:
            pytest.skip("this heapscope was built without the page")
        got = tab.js(RECORD.replace("PID", str(growing)))
        assert got["isComplete"] and got["pids"] == [growing]
        assert len(got["events"]) == 5 and got["events"][-1] > got["events"][0]
    finally:
        tab.close()
