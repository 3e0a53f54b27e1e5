#!/usr/bin/python3
"""Keeps the client of build/dist and what it writes, for the tests of later versions: see
README.md.

keep.py VERSION WHAT...: of the layout: client and region; of the traces that we write: trace; of
what a daemon leaves for the next one: handover.
"""

import array
import json
import lzma
import os
import pathlib
import platform
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIST = ROOT / "build" / "dist"
HEAPSCOPE = DIST / "bin" / "heapscope"
CLIENT = DIST / "lib" / "libheapscope_preload.so"


def keep(name, data):
    with lzma.open(HERE / name, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(data)
    print(name, (HERE / name).stat().st_size, "bytes")


def client_bytes(folder):
    stripped = folder / "client.so"
    subprocess.run(["strip", "-o", stripped, CLIENT], check=True)
    return stripped.read_bytes()


def parts(fd):
    """The file without its holes: offset, length and bytes of each part."""
    at, size = 0, os.fstat(fd).st_size
    while True:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(fd, at, os.SEEK_HOLE)
        yield struct.pack("<QQ", at, end - at) + os.pread(fd, end - at, at)
        at = end
        if at == size:
            return


def phases(folder, *flags):
    target = ROOT / "test" / "target"
    for name in ("phases.c", "truth.h"):
        (folder / name).write_bytes((target / name).read_bytes())
    subprocess.run(["gcc", "-O1", *flags, "phases.c", "-o", "phases"], cwd=folder, check=True)
    return folder / "phases"


def region_bytes(folder):
    """Acts as the daemon of a program that is to be recorded from its start."""
    program = phases(folder)
    place = folder / "sock"
    (folder / "sock.board").write_bytes(struct.pack("<QIIQ40x", 0x3130445241424853, 1, 64, 1))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place))
        listener.listen()
        env = {"LD_PRELOAD": str(CLIENT), "HEAPSCOPE_SOCKET": str(place)}
        with subprocess.Popen([program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            connection, _ = listener.accept()
            hello, ancillary, _, _ = connection.recvmsg(999, socket.CMSG_SPACE(4))
            connection.close()
            process.stdout.readline()
            for _ in range(3):
                process.stdin.write("\n")
                process.stdin.flush()
                process.stdout.readline()
            fd = array.array("i", ancillary[0][2])[0]
            process.kill()
            process.wait()
            data = b"".join(parts(fd))
            os.close(fd)
    return hello + data


def wait_for_dump(process, count):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = subprocess.run([HEAPSCOPE, "list", "--json"], stdout=subprocess.PIPE, check=True)
        for recording in json.loads(done.stdout)["recordings"]:
            if recording["pid"] == process.pid and recording["sessions"][0]["dump_count"] >= count:
                return
        time.sleep(0.05)
    sys.exit("no dump came")


def wait_for_session_dump(env):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = subprocess.run([HEAPSCOPE, "list", "--json"], env=env, stdout=subprocess.PIPE, check=True)
        if json.loads(done.stdout)["sessions"][0]["dump_count"] == 1:
            return
        time.sleep(0.05)
    sys.exit("no dump came")


def trace_bytes(folder):
    """phases.c to the end of its third phase, dumped after the first and the second, with all data
    besides the heap."""
    out = folder / "out.pftrace"
    # The path of the client is among the mappings.
    shutil.copytree(DIST, folder / "dist")
    options = ["-q", "-i", "1", "--dump-on-usr1", "--smaps", "--system-stats", "100ms", "--counters", "100ms"]
    command = [folder / "dist" / "bin" / "heapscope", "run", *options, "-o", out, "--", phases(folder, "-g")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        for phase in range(3):
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            if phase < 2:
                process.send_signal(10)
                wait_for_dump(process, phase + 1)
        process.stdin.close()
        process.wait()
    return out.read_bytes()


def held_items(place):
    """Acts as the next daemon: gets all descriptors from the fd holder, with their names."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(f"{place}.keeper")
        while True:
            text, ancillary, _, _ = sock.recvmsg(999, socket.CMSG_SPACE(64))
            if text == b"END=1":
                sock.send(b"BYE=1")
                return
            fds = array.array("i")
            for _, _, payload in ancillary:
                fds.frombytes(payload)
            yield dict(line.split("=", 1) for line in text.decode().splitlines())["FDNAME"], fds


def handover_bytes(folder):
    """A daemon is killed that has a session with a process, which has written one dump. For each
    descriptor: its item's name, its kind, and if it is a file the parts with their bytes."""
    env = {"HEAPSCOPE_SOCKET": str(folder / "sock")}
    items = []
    with subprocess.Popen([DIST / "bin" / "heapscoped"], env=env, stderr=subprocess.PIPE, text=True) as daemon:
        while "ready" not in daemon.stderr.readline():
            pass
        start = [HEAPSCOPE, "start", "-n", "phases", "-i", "1", "--session", "golden", "-o", folder / "golden.pftrace"]
        subprocess.run(start, env=env, check=True)
        preload = {**env, "LD_PRELOAD": str(CLIENT)}
        with subprocess.Popen([phases(folder)], env=preload, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            for phase in range(3):
                process.stdin.write("\n")
                process.stdin.flush()
                process.stdout.readline()
                if phase == 0:
                    daemon.send_signal(10)
                    wait_for_session_dump(env)
            daemon.kill()
            daemon.wait()
            for name, fds in held_items(folder / "sock"):
                for fd in fds:
                    mode = os.fstat(fd).st_mode
                    kind = "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
                    # Opened again: the daemon only writes to the recording.
                    data = b"".join(parts(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY))) if kind == "file" else b""
                    items.append({"name": name, "kind": kind, "size": os.fstat(fd).st_size, "parts": data.hex()})
            process.kill()
    return json.dumps(items, indent=1).encode()


def main():
    version, *what = sys.argv[1:]
    # Paths are in a region and in a trace: use those of a folder that belongs to no user.
    with tempfile.TemporaryDirectory(prefix="golden-") as made:
        folder = pathlib.Path(made)
        if "client" in what:
            keep(f"client-v{version}-{platform.machine()}.so.xz", client_bytes(folder))
        if "region" in what:
            keep(f"region-v{version}.xz", region_bytes(folder))
        if "trace" in what:
            name = f"trace-v{version}.pftrace"  # already compressed
            (HERE / name).write_bytes(trace_bytes(folder))
            print(name, (HERE / name).stat().st_size, "bytes")
        if "handover" in what:
            keep(f"handover-v{version}.json.xz", handover_bytes(folder))


main()
