"""Lengths of all instructions of real libraries, by us and by objdump, whose tables share nothing
with ours."""

import collections
import pathlib
import re
import subprocess

import pytest

from compiling import INCLUDES, ROOT

LIB = pathlib.Path("/lib/x86_64-linux-gnu")
LIBRARIES = ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libjemalloc.so.2", "libtcmalloc_minimal.so.4",
             "libmimalloc.so.2.0"]
# "  28000:\t48 8b 05 10 00 00 00 \tmov ..."
LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(.*)$")
OTHER = re.compile(r"9b |([0-9a-f]{2} )*(rex\S*|\.byte.*|\(bad\).*|data16|[c-g]s|ss|repn?z|lock)$")


@pytest.fixture(scope="session")
def insn_tool(tmp_path_factory):
    tool = tmp_path_factory.mktemp("insn") / "insn_tool"
    sources = [ROOT / "test/e2e/insn_tool.c", ROOT / "src/arch/x86_64/insn.c"]
    subprocess.run(["cc", "-std=c17", "-O2", "-D_GNU_SOURCE", *INCLUDES, *sources, "-o", tool],
                   check=True)
    return tool


def text_section(path):
    """(address, offset, size) of .text."""
    out = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    found = re.search(r" \.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", out)
    return [int(n, 16) for n in found.groups()]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("name", LIBRARIES)
def test_all_lengths(insn_tool, name):
    path = LIB / name
    if not path.exists():
        path = pathlib.Path("/usr") / path.relative_to("/")
    if not path.exists():
        pytest.skip(f"{name} is not there")
    va, offset, size = text_section(path)
    limit = min(size, 1 << 21)
    listing = subprocess.run(
        ["objdump", "-dw", "--insn-width=15", "-j", ".text", f"--stop-address={va + limit:#x}", path],
        check=True, capture_output=True, text=True,
    ).stdout
    lines = [LINE.match(line) for line in listing.splitlines()]
    # For data among code, objdump shows a prefix without an instruction, or bytes. Excluded are
    # also fwait, which objdump joins with the next instruction, and the last instruction, which may
    # be cut.
    known = [(int(m[1], 16), len(m[2].split()), m[3]) for m in lines if m and not OTHER.match(m[2] + m[3])][:-1]
    asked = "".join(f"{at - va + offset:x}\n" for at, _, _ in known)
    answers = subprocess.run([insn_tool, path], input=asked, check=True, capture_output=True, text=True)
    lengths = [int(n) for n in answers.stdout.split()]
    assert len(lengths) == len(known) > 2000
    wrong = [(hex(at), text, right, ours) for (at, right, text), ours in zip(known, lengths) if ours not in (0, right)]
    assert not wrong, wrong[:20]
    refused = collections.Counter(
        text.split()[0] for (_, _, text), ours in zip(known, lengths) if ours == 0
    )
    # Almost nothing is unknown: data among code, which objdump shows as instructions.
    assert sum(refused.values()) <= len(known) / 2000, refused
