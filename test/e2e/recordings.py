"""`heapscope run` and `heapscope attach` at work, for tests that ask them for something meanwhile."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from conftest import clean_env
from resident import need_ptrace
from waiting import wait_for_samples, wait_for_sleep, wait_until

NOBODY, OTHER = 65534, 65533
GROWS = """
import sys, time
kept = []
print("ready", flush=True)
while True:
    kept.append(bytearray(5000))
    if len(kept) > 1000: del kept[:500]
    time.sleep(0.0005)
"""


class Recording:
    """`heapscope run` or `attach` at work, and the process that it records."""

    def __init__(self, dist, command, args, program=None, **more):
        self.file = pathlib.Path(args[args.index("-o") + 1])
        self.target = None
        if program and command == "attach":
            self.target = subprocess.Popen(program, env=clean_env(), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            args, program = [*args, self.target.pid], []
        tail = ["--", *program] if program else []
        self.said = self.file.with_suffix(".said")  # not a pipe: the program may outlive its recording and keep it open
        with self.said.open("w") as said:
            self.process = subprocess.Popen([str(dist / "bin/heapscope"), command, *map(str, args), *tail], stderr=said,
                                            env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
        self.name = f"{command}.{self.process.pid}"
        self.command = command

    def end(self, by=signal.SIGTERM):
        """Ends the program or the recording; returns the output."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        self.process.wait(60)
        return self.said.read_text()

    def stop_all(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.target:
            self.target.kill()
            self.target.wait()


@contextlib.contextmanager
def recorder(dist, heapscope, folder):
    """A function record("run" or "attach", [PROGRAM...], *OPTIONS), which returns when the recording is in the list. At the
    end, whatever it has started is killed."""
    started = []

    def call(command, program, *options, **more):
        if command == "attach":
            need_ptrace()
        args = ["-q", "-o", folder / f"{command}{len(started)}.pftrace", *options]
        it = Recording(dist, command, args, program, **more)
        started.append(it)
        wait_until(lambda: it.process.poll() is not None or (listed(heapscope, it) or {}).get("clients"),
                   lambda: f"{it.name} does not record: {it.said.read_text()}")
        assert it.process.poll() is None, it.said.read_text()
        it.pid = listed(heapscope, it)["clients"][0]["pid"]
        return it

    try:
        yield call
    finally:
        for it in started:
            it.stop_all()
            if it.command == "run" and hasattr(it, "pid"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(it.pid, signal.SIGKILL)


def listed(heapscope, recording, **more):
    done = heapscope("list", "--json", **more)
    found = json.loads(done.stdout)["recordings"] if done.returncode == 0 else []
    return next((r for r in found if r["pid"] == recording.process.pid), None)


def wait_for_growth(heapscope, recording):
    """Waits until GROWS is in its loop, and much of what it allocated there is recorded."""
    wait_for_sleep(recording.pid)
    before = listed(heapscope, recording)["clients"][0]["sample_count"]
    wait_for_samples(heapscope, recording.name, before + 200)


def python(text=GROWS):
    return ["/usr/bin/python3", "-c", text]
