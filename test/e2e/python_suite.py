#!/usr/bin/python3
"""CPython's own regression tests, alone and under heapscope: do the same ones pass?

    python_suite.py [-i BYTES]... [--jobs N] [--timeout S] [MODULE...]    all modules, if none is named

Each test module runs in a process and a folder of its own. Every single test has an outcome.
Where outcomes differ, the module is tried again, alone and under heapscope, to distinguish tests
that fail by chance from tests that fail because of heapscope. Each profile must be readable and
not empty.

A full run takes more than an hour; test_python_suite.py runs some modules.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree as ElementTree

from conftest import DIST, clean_env

PYTHON = "/usr/bin/python3"
AGAIN = 4  # how many more times a module with differences is tried
KILLED = "ran out of time"


def all_modules():
    """All modules that the tests have; none when they are not installed."""
    listed = subprocess.run([PYTHON, "-m", "test", "--list-tests"], capture_output=True, text=True, check=False)
    return [line for line in listed.stdout.split() if line.startswith("test_")]


def outcomes_of(xml):
    """{test: outcome} of a module; a test with failing subtests counts once."""
    worst = {}
    try:
        cases = ElementTree.parse(xml).iter("testcase")
    except (FileNotFoundError, ElementTree.ParseError):  # the output may contain what XML cannot express
        return worst
    for case in cases:
        kinds = {child.tag for child in case} & {"error", "failure", "skipped"}
        name, outcome = case.get("name"), min(kinds, default="passed")
        worst[name] = min(worst.get(name, "skipped"), outcome, key=["error", "failure", "passed", "skipped"].index)
    return worst


class Outcome:
    """One run of one module."""

    def __init__(self, module, interval, timeout):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hs-"))
        xml, trace = folder / "results.xml", folder / "trace"
        command = [PYTHON, "-m", "test", "--timeout", str(timeout), "--junit-xml", str(xml), "-W", module]
        if interval:
            run = [str(DIST / "bin" / "heapscope"), "run", "-q", "-i", str(interval), "-o", str(trace), "--"]
            command = [*run, *command]
        work = folder / "work"
        work.mkdir()
        self.trouble = ""
        with subprocess.Popen(
            command,
            cwd=work,
            env=clean_env(TMPDIR=work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                self.text = process.communicate(timeout=timeout + 60)[0].decode(errors="backslashreplace")
                self.status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.text = process.communicate()[0].decode(errors="backslashreplace")
                self.status = KILLED
        self.tests = outcomes_of(xml)
        if interval and self.status != KILLED:
            self.trouble = trouble_with(trace)
        shutil.rmtree(folder, ignore_errors=True)

    def facts(self):
        """The results that must be equal alone and under heapscope."""
        return {**self.tests, "(exit status)": self.status}


def trouble_with(trace):
    """What is wrong with a profile; nothing if it is readable and has allocations."""
    command = [str(DIST / "bin" / "heapscope"), "report", "--json", "--top", "1", str(trace)]
    done = subprocess.run(command, capture_output=True, env=clean_env(), check=False)
    if done.returncode != 0:
        return done.stderr.decode(errors="backslashreplace").strip() or f"report ends with {done.returncode}"
    report = json.loads(done.stdout)
    return "" if report["totals"]["alloc"]["count"] >= 100 else "almost nothing was recorded"


class Verdict:
    """The results of a module alone, and under heapscope with one interval."""

    def __init__(self, module, interval, alone, timeout):
        profiled = [Outcome(module, interval, timeout)]
        alone = [alone]
        if alone[0].facts() != profiled[0].facts():
            for _ in range(AGAIN):
                alone.append(Outcome(module, None, timeout))
                profiled.append(Outcome(module, interval, timeout))
        self.module, self.interval = module, interval
        self.test_count = len(alone[0].tests)
        self.trouble = next((o.trouble for o in profiled if o.trouble), "")
        # {test: how often it had which outcome alone, and under heapscope}, where these differ.
        self.different = {}
        self.harmed = []
        for name in sorted(set().union(*(o.facts() for o in alone + profiled))):
            counts = [collections.Counter(o.facts().get(name, "absent") for o in side) for side in (alone, profiled)]
            if counts[0] != counts[1]:
                self.different[name] = tuple(map(dict, counts))
                usual = [c.most_common(1)[0][0] for c in counts]
                if usual[0] != usual[1]:
                    self.harmed.append(name)
        self.text = next((o.text for o in profiled if any(o.facts().get(n) != alone[0].facts().get(n)
                                                          for n in self.different)), "")

    @property
    def is_good(self):
        return not self.harmed and not self.trouble

    def __str__(self):
        word = "same" if not self.different else "HARMED" if self.harmed else "by chance"
        lines = [f"{word:9} {self.module} -i {self.interval}: {self.test_count} tests {self.trouble}".rstrip()]
        for name, (alone, profiled) in self.different.items():
            lines.append(f"    {name}: alone {alone}, under heapscope {profiled}")
        return "\n".join(lines)


def compare(module, intervals, timeout):
    """Verdicts on one module, one per interval."""
    alone = Outcome(module, None, timeout)
    return [Verdict(module, interval, alone, timeout) for interval in intervals]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interval", type=int, action="append", help="default: 4096 and 1")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a module")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    modules = options.modules or all_modules()
    if not modules:
        sys.exit("the tests are not installed: libpython3.11-testsuite")
    intervals = options.interval or [4096, 1]
    verdicts, broken = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(compare, module, intervals, options.timeout) for module in modules]
        for future in concurrent.futures.as_completed(futures):
            try:
                found = future.result()
            except Exception:
                traceback.print_exc()
                broken += 1
                continue
            for verdict in found:
                verdicts.append(verdict)
                print(verdict, flush=True)
                if not verdict.is_good:
                    print("        " + verdict.text[-3000:].replace("\n", "\n        "), flush=True)
    tests = sum(v.test_count for v in verdicts)
    words = [sum(map(bool, column)) for column in zip(*((v.different, not v.is_good) for v in verdicts))]
    print(f"{len(verdicts)} comparisons of {tests} tests: {words[0]} differ, {words[1]} not by chance alone")
    sys.exit(1 if words[1] or broken else 0)


if __name__ == "__main__":
    main()
