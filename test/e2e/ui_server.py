"""`heapscope ui` in a test: started on a port of its own, and asked with requests that no browser would change."""

import http.client
import signal
import socket
import subprocess
from urllib.parse import parse_qs, urlsplit

from conftest import clean_env
from waiting import PATIENCE_S


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()


def record_strings(heapscope, file):
    """Records a program with 100,000 strings into a file, and returns the file."""
    done = heapscope("run", "-q", "-o", file, "--", "/usr/bin/python3", "-c", "x = [str(i) for i in range(100000)]")
    assert done.returncode == 0, done.stderr
    return file


class Ui:
    """A running `heapscope ui ARGS`."""

    def __init__(self, dist, *args, env=None, cwd=None):
        self.process = subprocess.Popen([str(dist / "bin" / "heapscope"), "ui", "--no-open", *map(str, args)],
                                        env=clean_env(**(env or {})), cwd=cwd, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.link = self.process.stdout.readline().strip()
        assert self.link, self.process.communicate()[1]
        # In the link of the Perfetto UI, the server's address is an argument of the fragment.
        self.address = self.link.partition("url=")[2] or self.link
        parts = urlsplit(self.address)
        self.port = parts.port
        self.path = parts.path
        self.host = f"127.0.0.1:{self.port}"
        self.token = parse_qs(parts.query).get("token", [""])[0]

    def ask(self, path, method="GET", headers=None, body=None, token=True, **more):
        """One request; `headers` replace those of an allowed one, and None leaves one out."""
        all_headers = {"Host": self.host, **({"X-Heapscope-Token": self.token} if token and self.token else {}), **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S, **more)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in all_headers.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def send(self, data):
        """Sends these bytes, and returns what comes until the server closes the connection."""
        with self.connect() as sock:
            try:
                sock.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_all(sock)

    def end(self, number=signal.SIGINT):
        """Ends it with a signal, unless it has ended; returns status and messages."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self):
        messages = self.process.communicate(timeout=PATIENCE_S)[1]
        return self.process.returncode, messages


def read_all(sock):
    got = b""
    try:
        while more := sock.recv(65536):
            got += more
    except ConnectionResetError:
        pass
    return got
