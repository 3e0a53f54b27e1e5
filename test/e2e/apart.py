#!/usr/bin/env python3
"""Python in a PID namespace of its own: apart.py ARGS... runs `python3 ARGS...` there.

The workers that run end-to-end tests side by side are started so. heapscope finds programs by name among all
processes of the machine, and many tests run programs of the same name: without walls between them a session of one
test would record the program of another. What a test leaves behind ends with its worker.
"""

import ctypes
import os
import pathlib
import signal
import sys

CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
PR_SET_PDEATHSIG = 1
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
# Where ./dev test keeps compiled Python. An option, as the programs of tests would inherit a variable.
COMPILED = pathlib.Path(__file__).resolve().parents[2] / "build" / "pycache"


def check(status, what):
    if status != 0:
        sys.exit(f"apart.py: {what}: {os.strerror(ctypes.get_errno())}")


def reap(child):
    """What the first process of a namespace has to do: it waits for all whose parents are gone. Ends with `child`."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def end_with_parent(libc):
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def be_first(libc):
    """Process 1 of the namespace, with a /proc that shows it."""
    end_with_parent(libc)
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    check(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV_NOEXEC, None), "mount")
    worker = os.fork()
    if worker == 0:
        end_with_parent(libc)
        os.execv(sys.executable, [sys.executable, "-X", f"pycache_prefix={COMPILED}", *sys.argv[1:]])
    return reap(worker)


def main():
    # As pytest_configure does, which cannot do it in a worker's other thread.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare")
    first = os.fork()
    status = be_first(libc) if first == 0 else reap(first)
    return status if status >= 0 else 128 - status


sys.exit(main())
