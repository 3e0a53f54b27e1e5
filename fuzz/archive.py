#!/usr/bin/env python3
"""Packs the inputs that fuzzing found into archives, one for each target. archive.h describes the format.

archive.py unpack ARCHIVE FOLDER         writes each input to FOLDER, as a file named by its hash
archive.py add ARCHIVE FOLDER [KEPT...]  adds the inputs of FOLDER that neither the archive nor a folder KEPT has

An archive that does not exist counts as empty; `add` creates it, and never removes an input. Both print how many inputs there were.
"""

import os
import pathlib
import sys

FIRST_LINE = b"heapscope fuzz inputs 1"
LAST_LINE = b"end"


def fnv1a(data):
    """The 64-bit FNV-1a hash of the bytes."""
    hash_ = 0xCBF29CE484222325
    for byte in data:
        hash_ = ((hash_ ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hash_


def encode(data):
    return data.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\0", b"\\0")


def decode(line):
    parts = line.split(b"\\\\")
    for part in parts:
        if part.count(b"\\") != part.count(b"\\n") + part.count(b"\\0"):
            raise ValueError("a backslash before an unknown letter")
    return b"\\".join(part.replace(b"\\n", b"\n").replace(b"\\0", b"\0") for part in parts)


def read(path):
    """The inputs of an archive; ValueError if it is damaged."""
    if not path.exists():
        return set()
    lines = path.read_bytes().split(b"\n")
    if lines[0] != FIRST_LINE or lines[-2:] != [LAST_LINE, b""] or len(lines) < 4:
        raise ValueError("no first line, no last line, or no inputs")
    inputs = set()
    for line in lines[1:-2]:
        hash_, _, text = line.partition(b" ")
        data = decode(text)
        if hash_ != b"%016x" % fnv1a(data):
            raise ValueError(f"the input of {hash_} has another hash")
        inputs.add(data)
    return inputs


def write(path, inputs):
    """Replaces the archive in one step, so that an interrupted run loses nothing."""
    rows = sorted((b"%016x" % fnv1a(data), data) for data in inputs)
    lines = [FIRST_LINE, *(hash_ + b" " + encode(data) for hash_, data in rows), LAST_LINE, b""]
    new = path.with_suffix(".new")
    new.write_bytes(b"\n".join(lines))
    os.replace(new, path)


def contents(folder):
    return {path.read_bytes() for path in folder.iterdir() if path.is_file()} if folder.exists() else set()


def main(command, archive, folder, *kept):
    archive, folder = pathlib.Path(archive), pathlib.Path(folder)
    inputs = read(archive)
    if command == "unpack" and not kept:
        folder.mkdir(parents=True, exist_ok=True)
        for data in inputs:
            (folder / ("%016x" % fnv1a(data))).write_bytes(data)
        print(f"{archive}: {len(inputs)} inputs")
    elif command == "add":
        # The empty input needs no storage: replay always runs it.
        new = contents(folder) - inputs - {b""}
        for other in kept:
            new -= contents(pathlib.Path(other))
        if new:
            write(archive, inputs | new)
        print(f"{archive}: {len(new)} inputs added to {len(inputs)}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"archive.py: {sys.argv[2]}: {error}")
