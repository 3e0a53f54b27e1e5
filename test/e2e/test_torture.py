"""Programs that do what profilers fear. Nothing changes for them."""

import subprocess

import pytest
from comparing import INTERVALS

SHARED = ["-shared", "-fPIC"]
DUMPS = ("--dump-every", "10ms")

# --- system calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("what", ["word", "six"])
def test_syscall_touches_its_arguments_only(same, target, what, interval):
    """What lies where its last argument would be is the caller's."""
    same([target("calls", "-pthread"), what], interval)


@pytest.mark.parametrize("interval", INTERVALS)
def test_calls_of_a_foreign_system(same, target, interval):
    """The program answers system calls that do not come from libc. There must be none of ours."""
    program = [target("calls", "-pthread"), "dispatch"]
    if subprocess.run(program, stdout=subprocess.DEVNULL, check=False).returncode == 77:
        pytest.skip("the kernel has no PR_SET_SYSCALL_USER_DISPATCH")
    assert same(program, interval).stdout == "0 foreign calls\n"


# --- threads that come and go while snapshots are taken ----------------------------------------------


def test_plugins_on_several_threads(exact, target):
    plugins = [target("plugin", *SHARED, f"-DSITE_NAME=site_plugin_{c}", f"-DRETURNED={i}") for i, c in enumerate("abc")]
    measured = exact(["plugin_threads", "1500", *plugins], *DUMPS, flags=["-ldl"])
    assert measured.run.stdout == "3 threads\n"
    assert all(measured.sites[f"site_plugin_{c}"].alloc_count == 3000 for c in "abc")
