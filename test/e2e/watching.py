"""A viewer that watches a process, with a reader of ctl.proto of its own: the messages, byte by byte."""

import array
import contextlib
import os
import pathlib
import socket
import struct

MAGIC = 0x31304C5443534548
ERROR, WATCH, WATCHED, NEXT, UPDATE = 0, 12, 13, 14, 15
IN_FILE = 1
END_PROCESS, END_FAILED = 1, 2
PATIENCE_S = 60


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def fields(body):
    """{number: [values]} of a protobuf message."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(body):
        key = number()
        if key & 7 == 0:
            value = number()
        elif key & 7 == 1:
            value = struct.unpack_from("<d", body, at)[0]
            at += 8
        else:
            size = number()
            value = body[at:at + size]
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(packed):
    """A packed column of varints."""
    values, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def doubles(packed):
    return list(struct.unpack(f"<{len(packed) // 8}d", packed))


def datagram(kind, body=b""):
    return struct.pack("<QIIII", MAGIC, 1, kind, len(body), 0) + body


def receive(sock):
    """(kind, body, descriptors) of the next message; None: the other side has closed the connection."""
    data, control, _, _ = sock.recvmsg(1 << 17, socket.CMSG_SPACE(16))
    if not data:
        return None
    fds = []
    for _, _, given in control:
        fds += array.array("i", given[:len(given) // 4 * 4])
    _, _, kind, size, flags = struct.unpack_from("<QIIII", data)
    body = data[24:]
    if flags & IN_FILE:
        with open(fds.pop(), "rb") as file:
            file.seek(0)
            body = file.read(size)
    assert len(body) == size
    return kind, body, fds


def listening(pid):
    """The address at which this command takes requests: its abstract socket."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if len(words) == 8 and words[7].startswith("@heapscope-") and f"socket:[{words[6]}]" in inodes and words[3] == "00010000":
            return "\0" + words[7][1:]
    raise AssertionError(f"process {pid} does not listen")


class Refused(Exception):
    """The collector's refusal."""


class Watch:
    """A watch, and what the viewer knows by it."""

    def __init__(self, address, pid=0, name=None, interval_ms=100):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(PATIENCE_S)
            asking.connect(str(address))
            body = b"\x08" + varint(pid) if pid else b""
            body += b"\x12" + varint(len(name)) + name.encode() if name else b""
            asking.send(datagram(WATCH, body + b"\x18" + varint(interval_ms)))
            kind, body, fds = receive(asking)
        if kind == ERROR:
            raise Refused(fields(body)[1][0].decode())
        assert kind == WATCHED and len(fds) == 1
        self.watched = fields(body)
        self.sock = socket.socket(fileno=fds[0])
        self.sock.settimeout(PATIENCE_S)
        self.stacks = {}  # id: (heap, frame ids)
        self.rows = {}  # stack id: (live bytes, live count, alloc bytes, alloc count)
        self.modules, self.frames, self.heaps = [], [], {}
        self.process, self.end, self.row_count = {}, 0, 0

    def ask(self):
        self.sock.send(datagram(NEXT))

    def take(self):
        """Takes in the next update. Returns its fields; None: the worker is gone."""
        got = receive(self.sock)
        if got is None:
            return None
        kind, body, _ = got
        assert kind == UPDATE
        update = fields(body)
        self.process = fields(update[7][0]) if 7 in update else self.process
        self.end = update.get(6, [0])[0]
        for heap in map(fields, update.get(8, [])):
            self.heaps[heap[1][0]] = heap[2][0].decode()
        self.modules += [fields(m)[1][0].decode() for m in update.get(9, [])]
        for frames in map(fields, update.get(10, [])):
            columns = [numbers(frames.get(n, [b""])[0]) for n in (1, 2, 3)]
            assert len({len(c) for c in columns}) == 1
            assert all(module < len(self.modules) for module in columns[1])
            self.frames += zip(*columns)
        for stacks in map(fields, update.get(12, [])):
            self._add_stacks(stacks)
        self.row_count = 0
        for rows in map(fields, update.get(13, [])):
            ids = numbers(rows[1][0])
            columns = [doubles(rows[n][0]) for n in (2, 3, 6, 7)]
            assert all(len(c) == len(ids) for c in columns)
            for n, row in zip(ids, zip(*columns)):
                assert n in self.stacks
                self.rows[n] = row
            self.row_count = len(ids)
        return update

    def _add_stacks(self, stacks):
        ids, heaps, _, counts, frame_ids = (numbers(stacks.get(n, [b""])[0]) for n in (1, 2, 3, 4, 5))
        at = 0
        for stack, heap, count in zip(ids, heaps, counts):
            assert stack not in self.stacks and heap in self.heaps and count > 0
            self.stacks[stack] = (heap, frame_ids[at:at + count])
            at += count
        assert at == len(frame_ids) and all(f < len(self.frames) for f in frame_ids)

    def look(self):
        """Asks for an update and waits until all of it is there. Returns the last part's fields."""
        self.ask()
        update = self.take()
        while update and update.get(5, [0])[0]:
            self.ask()
            update = self.take()
        return update

    def sums(self):
        """(live bytes, live count, alloc bytes, alloc count) of all rows."""
        return tuple(map(sum, zip(*self.rows.values()))) if self.rows else (0, 0, 0, 0)

    def totals(self):
        return tuple(self.process[n][0] for n in (14, 15, 16, 17))

    def close(self):
        self.sock.close()


@contextlib.contextmanager
def watching(*args, **more):
    it = Watch(*args, **more)
    try:
        yield it
    finally:
        it.close()
