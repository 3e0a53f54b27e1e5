"""A headless Firefox, driven through Marionette, its own protocol for tests: JSON messages with their length in front."""

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess

from waiting import wait_until

PROGRAMS = ("firefox-esr", "firefox")
PREFERENCES = {
    "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False, "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "browser.startup.page": 0, "browser.aboutwelcome.enabled": False, "browser.sessionstore.resume_from_crash": False,
}


def find():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Firefox:
    def __init__(self, folder, width=1280, height=800):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});" for key, value in {**PREFERENCES, "marionette.port": port}.items()]
        (folder / "user.js").write_text("\n".join(lines) + "\n", encoding="utf-8")
        with open(folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                [find(), "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", folder,
                 f"--width={width}", f"--height={height}"],
                stdout=log, stderr=log, env=self._environment(folder))
        self._bytes = b""
        self._count = 0
        self._socket = None
        try:
            wait_until(lambda: self._connect(port), why=lambda: f"Firefox does not listen: {(folder / 'log').read_text()}", patience_s=120)
            self._message()
            self.call("WebDriver:NewSession", capabilities={})
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _environment(folder):
        return {**os.environ, "HOME": str(folder), "MOZ_HEADLESS": "1"}

    def _connect(self, port):
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:
            return False
        return True

    def _message(self):
        while b":" not in self._bytes:
            self._read()
        length, _, rest = self._bytes.partition(b":")
        while len(rest) < int(length):
            self._read()
            rest = self._bytes.partition(b":")[2]
        self._bytes = rest[int(length):]
        return json.loads(rest[:int(length)])

    def _read(self):
        more = self._socket.recv(65536)
        assert more, "Firefox ended"
        self._bytes += more

    def call(self, command, **params):
        self._count += 1
        text = json.dumps([0, self._count, command, params]).encode()
        self._socket.sendall(str(len(text)).encode() + b":" + text)
        _, number, error, result = self._message()
        assert number == self._count and error is None, f"{command}: {error}"
        return result

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)

    def run(self, script, *args):
        """What the script returns; it runs in the page."""
        return self.call("WebDriver:ExecuteScript", script=script, args=list(args))["value"]

    def press(self, selector, *keys):
        """Keys for the element, as a user presses them."""
        element = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        self.run("arguments[0].focus()", element)
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def click(self, selector):
        element = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        self.call("WebDriver:ElementClick", id=next(iter(element.values())))

    def complaints(self, url):
        """What the browser's console says of this page: errors and warnings of scripts, and of its policy."""
        self.call("Marionette:SetContext", value="chrome")
        text = "return Services.console.getMessageArray().filter(m => m instanceof Ci.nsIScriptError).map(m => [m.sourceName, m.errorMessage]);"
        messages = self.call("WebDriver:ExecuteScript", script=text, args=[])["value"]
        self.call("Marionette:SetContext", value="content")
        return [message for source, message in messages if source.startswith(url)]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))

    def close(self):
        if self._socket:
            self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=30)
