"""Shared by tests that compare a profiled program with a plain run of it (the fixture `same`)."""

import shutil
import socket
import time

import pytest

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
    for _ in range(400):
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect(str(path))
                return
            except OSError:
                time.sleep(0.05)
    raise AssertionError(f"{path} does not answer")
