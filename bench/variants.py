"""The profilers under which a program is measured: nothing, heapscope at some intervals, others.

A variant turns a command line into another one, with its environment, and says where it writes.
Each variant writes into a folder of its own, so that the size of its output can be measured.
"""

import dataclasses
import glob
import os
import pathlib
import shutil
from typing import List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
DIST = pathlib.Path(os.environ.get("HEAPSCOPE_DIST", ROOT / "build" / "dist"))


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    before: Tuple[str, ...] = ()  # arguments before the command; {out} is the output folder
    env: Tuple[Tuple[str, str], ...] = ()
    is_ours: bool = False  # a failure ends the benchmark
    rounds_max: int = 100  # fewer rounds for a variant that is slow, or whose figure needs no more
    limit_s: int = 600  # a run that takes longer is abandoned

    def command(self, argv: List[str], out: str):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("HEAPSCOPE_", "LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES"))}
        env.update((k, v.format(out=out)) for k, v in self.env)
        return [word.format(out=out) for word in self.before] + argv, env


def heapscope(name, *options, rounds_max=100):
    words = (str(DIST / "bin" / "heapscope"), "run", "-q", *options, "-o", "{out}/run.pftrace", "--")
    return Variant(name, words, is_ours=True, rounds_max=rounds_max)


NOTHING = Variant("nothing")
DEFAULT = heapscope("heapscope")
EVERY = heapscope("heapscope -i 1", "-i", "1", rounds_max=7)
RARE = heapscope("heapscope -i 512K", "-i", "512K", rounds_max=7)
# The client alone, loaded into a program that is not profiled.
DORMANT = Variant("dormant", env=(("LD_PRELOAD", str(DIST / "lib" / "libheapscope_preload.so")),),
                  is_ours=True)
HEAPTRACK = Variant("heaptrack", ("heaptrack", "-o", "{out}/heaptrack"), rounds_max=4)
HEAPTRACK_RAW = Variant("heaptrack --raw", ("heaptrack", "--raw", "-o", "{out}/heaptrack"), rounds_max=4)


def gperftools():
    """Its heap profiler is part of its allocator; None where tcmalloc is not installed."""
    found = glob.glob("/usr/lib/*/libtcmalloc.so.4")
    if not found:
        return None
    return Variant("gperftools", env=(("LD_PRELOAD", found[0]), ("HEAPPROFILE", "{out}/heap")),
                   rounds_max=1, limit_s=20)


def chosen(is_full):
    others = [RARE, HEAPTRACK_RAW, gperftools()] if is_full else []
    return [NOTHING, DEFAULT, EVERY, HEAPTRACK] + [v for v in others if v]


def named(names):
    """Returns the variants of these names, after "nothing"; exits with a message if a name is
    unknown."""
    known = {v.name: v for v in chosen(True) + [DORMANT]}
    for name in names:
        if name not in known:
            raise SystemExit("bench: there is no variant '%s'; there are %s" % (name, ", ".join(known)))
    return [NOTHING] + [known[name] for name in names if name != NOTHING.name]


def missing():
    """Returns the commands that the variants need and the machine does not have."""
    return [word for word in ("heaptrack",) if not shutil.which(word)]
