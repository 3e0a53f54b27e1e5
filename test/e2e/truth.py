"""Compares a profile with what the profiled program says about its own heap (test/target/truth.h)."""

import re
import struct
from typing import NamedTuple

from preload import preloadable

MAGIC = 0x3130687475727473
SITES = 1023
HEADER = 96
SITE = struct.Struct("<64sqqqq")


class Amounts(NamedTuple):
    """Of one site: live amounts, and all that was ever allocated."""

    live_bytes: float = 0
    live_count: float = 0
    alloc_bytes: float = 0
    alloc_count: float = 0

    def __add__(self, other):
        return Amounts(*(a + b for a, b in zip(self, other)))

    def __sub__(self, other):
        return Amounts(*(a - b for a, b in zip(self, other)))


def read_truth(*paths):
    """What one process, or several together, stated: {site: Amounts}."""
    together = {}
    for path in paths:
        for name, amounts in read_one(path).items():
            together[name] = together.get(name, Amounts()) + amounts
    return together


def read_one(path):
    data = path.read_bytes()
    magic, count = struct.unpack_from("<QQ", data)
    assert magic == MAGIC, "the program did not tell its truth"
    sites = {}
    for i in range(count):
        name, *amounts = SITE.unpack_from(data, HEADER + SITE.size * i)
        name = name.rstrip(b"\0").decode()
        sites[name] = sites.get(name, Amounts()) + Amounts(*amounts)
    return sites


def site_of(stack):
    """The innermost function of a stack that is a site; None: no function is."""
    for frame in stack["frames"]:
        match = re.match(r"site_\w+", frame["function"])
        if match:
            return match[0]
    return None


def read_sites(report, what=("bytes", "count")):
    """The profile's figures in the form of read_truth()."""
    sites = {}
    for stack in report["stacks"]:
        name = site_of(stack)
        if name:
            amounts = Amounts(*(stack[k].get(q, 0) for k in ("live", "alloc") for q in what))
            sites[name] = sites.get(name, Amounts()) + amounts
    return sites


class Measured:
    """One program under heapscope: the run, its report, its truth."""

    def __init__(self, run, report, truth, truth_path=None):
        self.run = run
        self.report = report
        self.truth = truth
        self.truth_path = truth_path
        self.sites = read_sites(report)

    @property
    def losses(self):
        """{name: count} of all losses in the report."""
        losses = {}
        for loss in self.report["losses"]:
            losses[loss["name"]] = losses.get(loss["name"], 0) + loss["count"]
        return losses

    @property
    def differences(self):
        """{site: profile - truth}, where that is not zero."""
        names = self.truth.keys() | self.sites.keys()
        found = {n: self.sites.get(n, Amounts()) - self.truth.get(n, Amounts()) for n in names}
        return {n: d for n, d in found.items() if any(d)}

    def assert_exact(self, losses=()):
        """Everything equals the truth, and only the named losses occurred."""
        assert self.run.status == 0, self.run.stderr
        assert self.truth, "a program without sites shows nothing"
        assert not self.differences, self.differences
        # _init and _fini of each object have no unwind information: their callees' callers are
        # found by frame pointers.
        assert set(self.losses) - {"stack_guessed"} <= set(losses), self.losses


def new_truth(folder):
    """A new file for $TRUTH_FILE."""
    count = len(list(folder.glob("truth?")))
    path = folder / f"truth{count}"
    with path.open("wb") as file:
        file.truncate(HEADER + SITE.size * SITES)
    return path


def truths_of_children(path):
    """The files of forked processes: {pid: path}."""
    return {int(p.suffix[1:]): p for p in path.parent.glob(path.name + ".*")}


def behind(library, program):
    """The command that runs a program with one more library preloaded, behind the profiler's."""
    script = 'LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$0" exec "$@"'
    return ["sh", "-c", script, str(preloadable(library)), *program]


def measure(run, folder, program, *options, env=None, **more):
    """Profiles a program that states its truth; every allocation, unless the options say otherwise."""
    path = new_truth(folder)
    options = options or ("-i", 1)
    done = run(program, *options, env={"TRUTH_FILE": path, **(env or {})}, **more)
    # In this view every stack that ever allocated is listed, with all its amounts.
    report = done.report("--top", "all", "--view", "alloc_objects")
    return Measured(done, report, read_truth(path, *truths_of_children(path).values()), path)
