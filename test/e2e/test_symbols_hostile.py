"""Broken debug information: whatever libdw makes of it, the profile is completed, and in time."""

import pathlib
import random
import re
import subprocess
import time

import pytest
import symbols_reference as reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
REASONS = {"found", "no symbols for this code", "not readable as an ELF file", "reading the file failed",
           "reading the file took too long", "no such file"}


@pytest.fixture(scope="session")
def symbols(built_once):
    return reference.tool_in(built_once("symbols", lambda folder: reference.build_tool(ROOT, folder)))


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """A program, its addresses, and where its debug sections and headers are in the file."""
    path = tmp_path_factory.mktemp("hostile") / "program"
    source = ROOT / "test" / "target" / "symbols.cc"
    subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id=none", str(source), "-o", str(path)], check=True)
    out = subprocess.run(["readelf", "-SW", str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout
    form = r"\] (\.debug_\w+|\.symtab|\.strtab) +\w+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)"
    areas = [(name, int(at, 16), int(size, 16)) for name, at, size in re.findall(form, out)]
    assert len(areas) > 6
    data = path.read_bytes()
    areas.append(("header", 0, 64))
    at = int.from_bytes(data[40:48], "little")
    areas.append(("section headers", at, len(data) - at))
    return data, reference.call_sites(path), areas


@pytest.mark.costly
@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 120))]
)
def test_changed_bytes(symbols, program, tmp_path, seed):
    data, addresses, areas = program
    random_ = random.Random(seed)
    changed = bytearray(data)
    name, start, size = areas[seed % len(areas)]
    for _ in range(random_.choice([1, 5, 50, 500])):
        changed[start + random_.randrange(size)] = random_.choice([0, 1, 0x7F, 0x80, 0xFF, random_.randrange(256)])
    path = tmp_path / "program"
    path.write_bytes(changed)
    before = time.monotonic()
    found = symbols(path, addresses, "-w", "-t", "3000")
    assert time.monotonic() - before < 6, name
    assert found.reason in REASONS
    assert len(found.chains) == len(addresses)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("kind", ["noise", "zeros", "ones", "cut"])
def test_whole_sections(symbols, program, tmp_path, kind):
    data, addresses, areas = program
    # Unterminated strings make names of 64 KB: a few are enough.
    addresses = addresses[::5]
    random_ = random.Random(kind)
    for name, start, size in areas:
        changed = bytearray(data)
        if kind == "cut":
            del changed[start + size // 2 :]
        else:
            fill = {"noise": random_.randbytes(size), "zeros": bytes(size), "ones": b"\xff" * size}[kind]
            changed[start : start + size] = fill
        path = tmp_path / "program"
        path.write_bytes(changed)
        found = symbols(path, addresses, "-w", "-t", "3000")
        assert found.reason in REASONS, name
        assert len(found.chains) == len(addresses)
