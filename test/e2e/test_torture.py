"""Programs that do what profilers fear. Nothing changes for them."""

import pytest
from comparing import INTERVALS

# --- system calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("what", ["word", "six"])
def test_syscall_touches_its_arguments_only(same, target, what, interval):
    """What lies where its last argument would be is the caller's."""
    same([target("calls", "-pthread"), what], interval)
