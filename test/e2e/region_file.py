"""The regions of a program that this test collects itself, read as docs/FORMAT.md says: independent of the collector."""

import array
import mmap
import os
import socket
import struct
import subprocess

from conftest import clean_env
from preload import preloadable

HEADER, SECTIONS = 4096, 4096 + 608
BYTES, STACKS, RECORDS, HEAPS, SCOPES = 3, 6, 7, 8, 10


class Region:
    def __init__(self, fd):
        self.data = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
        self.control = mmap.mmap(fd, 4096)
        os.close(fd)
        self.pid = struct.unpack_from("<I", self.data, HEADER + 16)[0]

    def begin_session(self):
        """Has the client make another region at its next allocation."""
        for offset, form, more in ((24, "I", 1), (36, "I", 1), (8, "Q", 1 << 42)):  # generation, session, floor_bytes
            struct.pack_into(form, self.control, offset, struct.unpack_from(form, self.control, offset)[0] + more)

    def section(self, number):
        """Place of the first element, bytes of an element, number of elements."""
        off, elem, _, _, count = struct.unpack_from("<QIIQQ", self.data, SECTIONS + 32 * number)
        return off, elem, count

    def element(self, number, form, index, at=0):
        off, elem, count = self.section(number)
        assert index < count
        return struct.unpack_from("<" + form, self.data, off + index * elem + at)

    def text(self, off):
        start = self.section(BYTES)[0] + off
        return self.data[start:self.data.find(b"\0", start)].decode()

    def scopes_of(self, scope):
        """The names from the outermost scope to this one."""
        names = []
        while scope != 0:
            if scope == 1:
                return ["(other)"]
            hash_, name, parent = self.element(SCOPES, "QII", scope)
            assert hash_ != 0 and parent < scope
            names.insert(0, self.text(name))
            scope = parent
        return names

    def blocks(self):
        """{(heap, size): scopes} of the live blocks."""
        found = {}
        for i in range(self.section(RECORDS)[2]):
            _, size, stack, _, word = self.element(RECORDS, "QQIIQ", i)
            if word & 15 == 1:
                heap = self.element(STACKS, "B", stack, 14)[0]
                scope = self.element(STACKS, "I", stack, 120)[0]
                found[self.element(HEAPS, "64s", heap)[0].rstrip(b"\0").decode() or "libc.malloc", size & (1 << 48) - 1] = \
                    self.scopes_of(scope)
        return found


def receive(peer):
    """The region that a hello brings."""
    _, rights, _, _ = peer.recvmsg(65536, socket.CMSG_SPACE(4 * 4))
    fds = array.array("i")
    fds.frombytes(rights[0][2])
    return Region(fds[0])


def listen():
    """A collector's socket, and its name."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    name = f"heapscope-region-{os.getpid()}"
    listener.bind("\0" + name)
    listener.listen(8)
    listener.settimeout(20)
    return listener, name


def environment(dist, name, **env):
    return clean_env(LD_PRELOAD=preloadable(dist / "lib" / "libheapscope_preload.so"), HEAPSCOPE_COLLECTOR=name,
                     HEAPSCOPE_INTERVAL="1", HEAPSCOPE_FOLLOW="1", **env)


def record(dist, command, **env):
    """Runs a program at interval 1; returns its regions: its own first, then those of its children."""
    regions = []
    listener, name = listen()
    with listener:
        subprocess.run([*map(str, command)], check=True, timeout=60, env=environment(dist, name, **env))
        listener.setblocking(False)
        while True:
            try:
                peer = listener.accept()[0]
            except BlockingIOError:
                return regions
            with peer:
                regions.append(receive(peer))
