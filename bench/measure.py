"""Runs a command and measures how much CPU time it, its children and their helpers took together.

A supervisor process adopts everything that the command leaves behind (PR_SET_CHILD_SUBREAPER)
and waits for all of it. The kernel's sum over waited-for children (RUSAGE_CHILDREN) therefore
includes the profiled program, the profiler's collector, and background helpers.
"""

import ctypes
import dataclasses
import os
import resource
import select
import signal
import struct
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


@dataclasses.dataclass
class Cost:
    cpu_s: float
    wall_s: float
    status: int  # of the command itself, as a shell reports it


def supervise(argv, folder, env, log_path, report_fd):
    """Runs in the supervisor; never returns."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a benchmark that is killed leaves no process running
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.chdir(folder)
            log = os.open(log_path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.execvpe(argv[0], argv, env)
        except OSError as err:
            os.write(2, ("%s: %s\n" % (argv[0], err)).encode())
        os._exit(127)
    status = 127
    while True:
        try:
            waited, raw = os.wait()
        except ChildProcessError:
            break
        if waited == pid:
            code = os.waitstatus_to_exitcode(raw)
            status = code if code >= 0 else 128 - code
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.write(report_fd, struct.pack("ddi", usage.ru_utime + usage.ru_stime,
                                    time.monotonic() - start, status))
    os._exit(0)


def run(argv, folder, env, log_path, drive=None, limit_s=600):
    """Runs argv in folder to its end; `drive`, if given, sends it work from outside in the
    meantime.

    Returns None if it took longer than limit_s and was killed.
    """
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        os.setpgid(0, 0)
        try:
            supervise(argv, folder, env, log_path, write_fd)
        finally:
            os._exit(1)
    os.close(write_fd)
    try:
        if drive:
            drive(folder)
        if not select.select([read_fd], [], [], limit_s)[0]:
            os.killpg(pid, signal.SIGKILL)
            return None
        data = os.read(read_fd, 64)
    except BaseException:
        os.killpg(pid, signal.SIGKILL)
        raise
    finally:
        os.close(read_fd)
        os.waitpid(pid, 0)
    if len(data) != struct.calcsize("ddi"):
        raise RuntimeError("the supervisor of %s died" % argv[0])
    return Cost(*struct.unpack("ddi", data))
