"""Shared by tests that compare a profiled program with a plain run of it (the fixture `same`)."""

import shutil
import socket

import pytest
from waiting import wait_until

INTERVALS = [4096, 1]


def need(*names):
    """Paths of programs; the test is skipped without them."""
    found = [shutil.which(n) for n in names]
    if None in found:
        pytest.skip(f"{names[found.index(None)]} is not installed")
    return found


def allocations(profiled, least=1):
    """Requires at least this many recorded allocations, which shows that the program was really
    profiled."""
    report = profiled.report("--top", "1")
    assert report["totals"]["alloc"]["count"] >= least
    return report


def wait_for_socket(path):
    """Waits until a process listens."""
    def answers():
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(str(path)) == 0

    wait_until(answers, f"{path} does not answer", every_s=0.05)
