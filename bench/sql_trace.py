#!/usr/bin/env python3
"""Makes a large trace, to measure how long importing it takes: a million call-site nodes, a hundred
dumps.

    bench/sql_trace.py OUT.pftrace [NODES] [DUMPS]
    time heapscope export --format sqlite OUT.pftrace -o OUT.sqlite
"""

import random
import sys

SHARED, OWN = 4, 16  # frames of a stack: those that all stacks share, and its own


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packet(*parts):
    return message(1, b"".join(parts) + number(10, 1))


def string(field, iid, text):
    return message(field, number(1, iid) + message(2, text))


def tables(stacks, frames, rand):
    """Packets of interned data: small ones, as recorders write them."""
    head = string(17, 1, b"lib.so") + string(16, 1, b"\1\2\3\4") + message(
        19, number(1, 1) + number(2, 1) + number(4, 1 << 20) + number(5, 1 << 30) + number(7, 1))
    yield packet(number(13, 1), number(42, 1), message(12, head))
    for first in range(1, frames + 1, 5000):
        data = bytearray()
        for iid in range(first, min(first + 5000, frames + 1)):
            data += string(5, iid, b"function_%d" % iid)
            data += message(6, number(1, iid) + number(2, iid) + number(3, 1) + number(4, iid * 16))
        yield packet(message(12, bytes(data)))
    tags = [varint(2 << 3) + varint(iid) for iid in range(frames + 1)]
    for first in range(1, stacks + 1, 2000):
        data = bytearray()
        for iid in range(first, min(first + 2000, stacks + 1)):
            own = [tags[1 + (iid * 7919) % frames]] + rand.choices(tags[1:], k=OWN - 1)
            data += message(7, number(1, iid) + b"".join(tags[1:SHARED + 1]) + b"".join(own))
        yield packet(message(12, bytes(data)))


def dump(index, stacks, totals, rand):
    """A tenth of the stacks change in each dump."""
    samples = bytearray()
    chosen = range(1, stacks + 1) if index == 0 else rand.sample(range(1, stacks + 1), stacks // 10)
    for iid in chosen:
        total = totals.setdefault(iid, [0, 0, 0, 0])
        total[0] += 4096
        total[2] += 1
        if index > 0:
            total[1] += 4096
            total[3] += 1
        samples += message(2, number(1, iid) + number(2, total[0]) + number(3, total[1])
                           + number(5, total[2]) + number(6, total[3]))
    heap = (number(1, 1000) + bytes(samples) + number(9, (index + 1) * 10**9) + message(11, b"libc.malloc")
            + number(12, 4096) + number(13, 4096))
    return packet(number(8, (index + 1) * 10**9), message(37, message(5, heap) + number(7, index)))


def main():
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    dumps = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    stacks, frames = nodes // OWN, max(nodes // 10, 100)
    rand = random.Random(1)
    with open(sys.argv[1], "wb") as out:
        out.write(packet(message(6, message(1, number(1, 6) + number(2, 1))
                                 + message(1, number(1, 4) + number(2, 1)))))
        for data in tables(stacks, frames, rand):
            out.write(data)
        totals = {}
        for index in range(dumps):
            out.write(dump(index, stacks, totals, rand))


if __name__ == "__main__":
    main()
