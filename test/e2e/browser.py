"""A headless Chromium, driven through its debugging pipe: enough to click, type and look.

The protocol is JSON, a NUL after each message, on descriptors 3 (to the browser) and 4 (from it).
"""

import json
import os
import pathlib
import shutil
import subprocess

from waiting import wait_until

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, profile_folder, width=1200, height=700):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def place_pipes():
            # Move them to high numbers first: the pipes themselves may be 3 and 4.
            os.dup2(to_browser, 63)
            os.dup2(from_browser, 64)
            os.dup2(63, 3)
            os.dup2(64, 4)

        self._process = subprocess.Popen(
            [
                find(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--remote-debugging-pipe",
                f"--window-size={width},{height}",
                f"--user-data-dir={profile_folder}",
                "about:blank",
            ],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._bytes = b""
        self._count = 0
        self._session = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Network.enable")

    def _message(self):
        while b"\0" not in self._bytes:
            more = os.read(self._in, 1 << 16)
            assert more, "the browser is gone"
            self._bytes += more
        message, _, self._bytes = self._bytes.partition(b"\0")
        return json.loads(message)

    def _call(self, method, **params):
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def js(self, expression):
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression, seconds=20):
        wait_until(lambda: self.js(expression), f"never true: {expression}", seconds, every_s=0.05)

    def open(self, path, fragment=""):
        self._call("Page.navigate", url=pathlib.Path(path).absolute().as_uri() + fragment)
        self.wait(f"decodeURIComponent(location.pathname) === {json.dumps(str(path))} && document.readyState === 'complete'")

    def open_address(self, address):
        self._call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.protocol.startsWith('http')")

    def _mouse(self, kind, x, y, **more):
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self._mouse("mouseMoved", x, y)

    def click(self, x, y):
        self._mouse("mousePressed", x, y, button="left", clickCount=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key, code, ctrl=False):
        params = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if ctrl else 0}
        self._call("Input.dispatchKeyEvent", type="rawKeyDown", **params)
        self._call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        self._call("Input.insertText", text=text)

    def close(self):
        self._process.terminate()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)
