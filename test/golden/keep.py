#!/usr/bin/python3
"""Keeps the client of build/dist, and a region that it wrote, for the tests of later versions: see README.md.

keep.py VERSION, of the layout.
"""

import array
import lzma
import os
import pathlib
import platform
import socket
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENT = ROOT / "build" / "dist" / "lib" / "libheapscope_preload.so"


def keep(name, data):
    with lzma.open(HERE / name, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(data)
    print(name, (HERE / name).stat().st_size, "bytes")


def client_bytes(folder):
    stripped = folder / "client.so"
    subprocess.run(["strip", "-o", stripped, CLIENT], check=True)
    return stripped.read_bytes()


def parts(fd):
    """The file without its holes: of each part offset, length, bytes."""
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


def region_bytes(folder):
    """Be the daemon of a program that is to be recorded from its start."""
    program = folder / "phases"
    subprocess.run(["gcc", "-O1", "-I", ROOT / "test" / "target", ROOT / "test" / "target" / "phases.c", "-o", program],
                   check=True)
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


def main():
    version = int(sys.argv[1])
    # Paths are in a region: of a folder that is nobody's.
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        keep(f"client-v{version}-{platform.machine()}.so.xz", client_bytes(pathlib.Path(folder)))
        keep(f"region-v{version}.xz", region_bytes(pathlib.Path(folder)))


main()
