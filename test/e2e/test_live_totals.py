"""How much lives in each recorded process: in `heapscope list`, and in the list of processes of the live page."""

import page_browser
import pytest
from daemon import Daemon
from ui_server import Ui
from waiting import wait_until

MIB = 1 << 20
# Holds so many MiB, in blocks of 1000 bytes.
HOLDS = """
import sys
kept = [bytes(1000) for _ in range(int(sys.argv[1]) * 1048576 // 1033)]
print("ready", flush=True)
sys.stdin.read()
"""
SIZES_MIB = (8, 16, 32, 64)


@pytest.fixture
def machine(dist, heapscope, report, folder):
    """A daemon, and four programs of known sizes that it records from their start: (daemon, {pid: MiB})."""
    daemon = Daemon(dist, heapscope, report, folder)
    try:
        script = folder / "hs-holds.py"  # by this name the session knows the programs
        script.write_text(HOLDS)
        daemon.begin("-n", script.name, "-i", "4096")
        programs = [daemon.launch(["/usr/bin/python3", script, str(size)]) for size in SIZES_MIB]
        for program in programs:
            assert program.process.stdout.readline() == "ready\n"
        yield daemon, {program.pid: size for program, size in zip(programs, SIZES_MIB)}
    finally:
        daemon.stop_all()


def test_in_the_list(machine):
    daemon, sizes = machine
    clients = {client["pid"]: client for client in daemon.list()["clients"]}
    assert clients.keys() == sizes.keys()
    for pid, size in sizes.items():
        assert size * MIB <= clients[pid]["live_bytes"] * 1.04 and clients[pid]["live_bytes"] < (size + 4) * MIB
    text = daemon.ask("list", env={"COLUMNS": 200}).stdout
    head, *lines = next(part for part in text.split("\n\n") if "OVERHEAD" in part).splitlines()
    end = head.index("LIVE") + len("LIVE")
    own = [line for line in lines if line.split() and int(line.split()[0]) in sizes]
    assert len(own) == len(sizes), text
    for line in own:
        number, unit = line[:end].split()[-2:]
        assert unit == "MiB" and float(number) * MIB == pytest.approx(clients[int(line.split()[0])]["live_bytes"], rel=0.01), text


@pytest.mark.costly
def test_what_is_not_recorded_has_none(machine):
    daemon, sizes = machine
    daemon.stop()
    wait_until(lambda: all("session" not in client for client in daemon.list()["clients"]))
    assert not any("live_bytes" in client for client in daemon.list()["clients"])


@pytest.mark.costly
def test_on_the_page(machine, dist, tmp_path):
    daemon, sizes = machine
    ui = Ui(dist, cwd=tmp_path, env={"XDG_RUNTIME_DIR": tmp_path, **{name: str(value) for name, value in daemon.env.items()}})
    try:
        page_browser.try_page("live_totals", "", page_browser.ROOT / "build" / "page-shots" / "live", HEAPSCOPE_LINK=ui.link,
                              HEAPSCOPE_SIZES=",".join(f"{pid}={size}" for pid, size in sizes.items()))
        assert not daemon.list()["watches"], "the list needs no watch"
    finally:
        ui.process.kill()
        ui.process.communicate()
