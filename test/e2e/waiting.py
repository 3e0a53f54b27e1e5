"""How a test waits: for an event wherever there is one, with wait_until or a function that names the event. Where the
test needs time itself, let_time_pass says what for. tools/check-sleeps refuses time.sleep in every other file."""

import contextlib
import json
import os
import pathlib
import signal
import time

PATIENCE_S = 30


def wait_until(what, why="nothing happened", patience_s=PATIENCE_S, every_s=0.01):
    """Returns the first result of what() that is true. `why` is the message when there is none, or a function that makes
    it."""
    end = time.monotonic() + patience_s
    while not (found := what()):
        assert time.monotonic() < end, why() if callable(why) else why
        time.sleep(every_s)
    return found


def let_time_pass(seconds, what_for):
    """`what_for` tells the reader why no event would do: the test is about a duration, an interval, an age, or a rate; it
    acts at any moment; or it expects that nothing happens."""
    assert what_for
    time.sleep(seconds)


# --- processes ----------------------------------------------------------------------------------


def state_of(pid):
    """The state of a process's first thread, as in /proc: "R", "S", "T", "Z"…; "" when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_for_state(pid, states):
    wait_until(lambda: state_of(pid) in states.split(), lambda: f"process {pid} is in state {state_of(pid)!r}, not {states}")


def wait_for_program(pid, name):
    """Waits until the process has executed this program, and the program waits in a system call."""
    def is_waiting():
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name[:15] and state_of(pid) == "S"

    wait_until(is_waiting, f"process {pid} does not become {name}")


def wait_for_sleep(pid):
    """Waits until the process's first thread sleeps in clock_nanosleep(2)."""
    wait_until(lambda: pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("230 "), f"process {pid} does not sleep")


def wait_for_computing(pid):
    """Waits until the process computes: until it has used processor time since this began."""
    def user_ticks():
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])

    before = user_ticks()
    wait_until(lambda: user_ticks() > before + 1, f"process {pid} does not compute")


def child_pids(pid, title=b""):
    """The pids of the process's children whose command line contains `title`. A child that ends meanwhile is left out."""
    found = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if title in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def thread_count(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def tracer_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().partition("TracerPid:")[2].split()[0])


def stop_process(pid):
    """Sends SIGSTOP and waits until none of the process's threads runs."""
    def is_stopped():
        try:
            stats = [(task / "stat").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        except FileNotFoundError:
            return False  # a thread just ended
        return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)

    os.kill(pid, signal.SIGSTOP)
    wait_until(is_stopped, "it does not stop")


# --- recordings ---------------------------------------------------------------------------------


def list_all(heapscope, kind, **more):
    """The "sessions" or "clients" of every recorder that `heapscope list` finds."""
    done = heapscope("list", "--json", **more)
    if done.returncode != 0:
        return []
    found = json.loads(done.stdout)
    return found[kind] + [one for recording in found["recordings"] for one in recording[kind]]


def wait_for_clients(heapscope, session, pids, **more):
    """Waits until the session, such as "attach.4711", records these processes."""
    wait_until(lambda: set(pids) <= {c["pid"] for c in list_all(heapscope, "clients", **more) if c["session"] == session},
               f"{session} does not record all of {pids}")


def wait_for_samples(heapscope, session, count, pids=(), **more):
    """Waits until each process of the session, or each of these, has had this many samples."""
    def have_all():
        counts = {c["pid"]: c["sample_count"] for c in list_all(heapscope, "clients", **more) if c["session"] == session}
        return counts and all(counts.get(pid, 0) >= count for pid in pids or counts)

    wait_until(have_all, f"{session} has no {count} samples of each process")


def wait_for_snapshot(heapscope, pid, file, *options):
    """Takes a snapshot of a process, as soon as it is recorded."""
    wait_until(lambda: heapscope("snapshot", "-p", pid, "-o", file, *options).returncode == 0)


def wait_for_dumps(heapscope, session, count, **more):
    """Waits until the session has written this many dumps."""
    wait_until(lambda: any(s["session"] == session and s["dump_count"] >= count
                           for s in list_all(heapscope, "sessions", **more)), f"{session} does not dump")
