"""The messages of commands to a daemon (fmt/ctl_layout.h, ctl/ctl.proto), sent by a test."""

import array
import os
import socket
import struct

START, STOP, LIST, SNAPSHOT = 2, 4, 6, 8
ERROR = 0


def connect(daemon):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(10)
    sock.connect(str(daemon.socket))
    return sock


def head(kind, body=b"", magic=0x31304C5443534548, version=1, length=None, flags=0):
    return struct.pack("<QIIII", magic, version, kind, len(body) if length is None else length, flags) + body


def send(sock, data, fds=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([data], rights)


def answer(sock):
    """Returns kind and body of the answer; None: the daemon closed the connection."""
    try:
        data = sock.recv(65536)
    except ConnectionResetError:
        return None
    return (struct.unpack_from("<I", data, 12)[0], data[24:]) if data else None


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A protobuf field: a number, or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def take_snapshot(sock, pid):
    """Returns the trace of a process as it is now, as bytes; or an error as text."""
    send(sock, head(SNAPSHOT, field(1, pid)))
    data, ancillary, _, _ = sock.recvmsg(65536, socket.CMSG_SPACE(4 * 16))
    fds = array.array("i")
    for _, _, rights in ancillary:
        fds.frombytes(rights[:len(rights) - len(rights) % fds.itemsize])
    try:
        kind = struct.unpack_from("<I", data, 12)[0]
        assert kind in (ERROR, SNAPSHOT + 1), kind
        return data[24:].decode(errors="replace") if kind == ERROR else os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
    finally:
        for fd in fds:
            os.close(fd)
