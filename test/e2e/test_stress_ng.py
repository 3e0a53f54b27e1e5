"""stress-ng's stressors: what it does to a kernel, it does to a process under heapscope, with the
same result.

stress-ng runs each stressor in a forked process. Some also run in the profiled process itself:
first_forks.c makes the first forks do nothing.
"""

import os
import re

import pytest
from comparing import INTERVALS, allocations, need
from truth import behind

pytestmark = pytest.mark.slow

STRESSORS = (
    "malloc fork vfork clone sigsegv mmap pthread exec stack bigheap brk switch daemon context bad-altstack stackmmap"
    " seccomp vforkmany"
)
# (stressor, forks that do nothing, operations): the work of about a second.
INSIDE = [
    ("malloc", 2, 20000),
    ("bigheap", 2, 2000),
    ("brk", 2, 20000),
    ("sigsegv", 1, 20000),
    ("pthread", 1, 1000),
    ("context", 1, 500),
    ("signest", 1, 1000),
    ("dynlib", 1, 100),
    ("tsearch", 1, 2),
    ("usersyscall", 1, 20000),
]


def of_any_run(text):
    text = re.sub(r"\[\d+\]", "[]", text)
    return re.sub(r"\d+\.\d+s", "s", text)


def stress(name, *options):
    (stress_ng,) = need("stress-ng")
    as_user = []
    if name == "exec" and os.geteuid() == 0:  # stress-ng does not run it as root
        as_user = [*need("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]
    return [*as_user, stress_ng, "--verify", "--no-rand-seed", "--oomable", "--temp-path", "/tmp", f"--{name}", "1", *map(str, options)]


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name", STRESSORS.split())
def test_stressor(same, name, interval):
    allocations(same(stress(name, "-t", 1), interval, edit=of_any_run), 5)


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name, forks, operations", INSIDE, ids=[i[0] for i in INSIDE])
def test_stressor_in_the_profiled_process(same, target, name, forks, operations, interval):
    skip = target("first_forks", "-shared", "-fPIC", "-ldl")
    program = behind(skip, stress(name, f"--{name}-ops", operations))
    profiled = same(program, interval, edit=of_any_run, env={"FIRST_FORKS": forks}, timeout=100)
    allocations(profiled, 20)
