"""Programs that do what profilers fear. Nothing changes for them."""

import subprocess

import pytest
from comparing import INTERVALS

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
