"""The daemon of a test: its socket, its commands, and programs that announce themselves to it."""

import json
import os
import signal
import subprocess
import time

from conftest import clean_env
from preload import preloadable
from truth import Measured, read_truth, truths_of_children
from waiting import PATIENCE_S, wait_until


class Program:
    """A running program with the client preloaded."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def step(self):
        """Runs the next phase of test/target/phases.c to its end."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


class Done:
    """The result of a session, in the form of a run: see truth.Measured."""

    def __init__(self, stopped, report):
        self.status = stopped.returncode
        self.stderr = stopped.stderr
        self.file = stopped.stdout.strip()
        self._report = report

    def report(self, *options):
        return self._report(self.file, *options)


class Daemon:
    """`heapscoped` on a socket in a folder. stop_all() ends the daemon and its programs."""

    stores = False  # snapshots that programs take of themselves

    def __init__(self, dist, heapscope, report, folder, options=(), user=None, shell=None):
        self.dist, self.folder = dist, folder
        self.socket = folder / "sock"
        self.state = folder / "state" if self.stores else "off"
        self.env = {"HEAPSCOPE_SOCKET": self.socket, "HEAPSCOPE_STATE": self.state}
        self._heapscope, self._report = heapscope, report
        self._programs = []
        self.command = [str(dist / "bin" / "heapscoped"), "--socket", str(self.socket), *options]
        self.user = user
        self.shell = shell
        self.start()

    def start(self):
        self.log = (self.folder / "log").open("a")
        command = self.command if not self.shell else ["sh", "-c", f'{self.shell}; exec "$@"', "sh", *self.command]
        self.process = subprocess.Popen(command, env=clean_env(HEAPSCOPE_STATE=self.state), stderr=self.log, stdin=subprocess.DEVNULL,
                                        user=self.user, group=self.user, extra_groups=[] if self.user else None)
        self.pid = self.process.pid
        wait_until(self.answers, "the daemon does not come up")

    def answers(self):
        assert self.process.poll() is None, self.text()
        return self.socket.exists() and self.ask("list", "--json").returncode == 0

    def text(self):
        return (self.folder / "log").read_text()

    def ask(self, *args, env=None, **more):
        """Runs `heapscope ARGS` against this daemon."""
        return self._heapscope(*args, env={**self.env, **(env or {})}, **more)

    def begin(self, *args, **more):
        """Runs `heapscope start ARGS`; returns the session's name."""
        args = [*args] if "-o" in args else [*args, "-o", self.folder / f"session{time.monotonic_ns()}.pftrace"]
        done = self.ask("start", *args, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def stop(self, *args):
        done = self.ask("stop", *args)
        assert done.returncode == 0, done.stderr
        return Done(done, self._report)

    def list(self):
        done = self.ask("list", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def session(self, name):
        return next(s for s in self.list()["sessions"] if s["session"] == str(name))

    def client(self, pid):
        return next((c for c in self.list()["clients"] if c["pid"] == pid), None)

    def preloaded(self, **env):
        return clean_env(LD_PRELOAD=preloadable(self.dist / "lib" / "libheapscope_preload.so"), **self.env, **env)

    def launch(self, command, env=None, **more):
        """Starts a program with the client preloaded; returns when the program has announced
        itself."""
        process = subprocess.Popen(command, env=self.preloaded(**(env or {})), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **more)
        program = Program(process)
        self._programs.append(program)
        wait_until(lambda: self.client(program.pid), f"{command} did not announce itself")
        return program

    def phases(self, target, truth=None):
        program = self.launch([target("phases")], env={"TRUTH_FILE": truth} if truth else None)
        program.process.stdout.readline()
        return program

    def run(self, command, env=None, **more):
        """Runs a program to its end."""
        return subprocess.run(command, env=self.preloaded(**(env or {})), stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.DEVNULL, timeout=120, **more).returncode

    def measured(self, done, truth):
        """Compares what was recorded with a program's truth."""
        report = done.report("--top", "all", "--view", "alloc_objects")
        return Measured(done, report, read_truth(truth, *truths_of_children(truth).values()), truth)

    def end(self, by=signal.SIGTERM):
        if self.process.poll() is None:
            os.kill(self.pid, by)
        status = self.process.wait(PATIENCE_S)
        self.log.close()
        return status

    def stop_all(self):
        for program in self._programs:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
            program.process.stdin.close()
            program.process.stdout.close()
        self.end()
