"""The hot paths cost what bench/instructions.tsv says: the client's instructions, by callgrind."""

import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def instructions(root, dist, monkeypatch):
    monkeypatch.setenv("HEAPSCOPE_DIST", str(dist))
    monkeypatch.syspath_prepend(str(root / "bench"))
    for name in ("variants", "storms", "instructions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__("instructions")


def is_gcc_12():
    said = subprocess.run(["gcc", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=False)
    return said.stdout.split(".")[0].strip() == "12"


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.skipif(not is_gcc_12(), reason="the counts are those of gcc 12")
@pytest.mark.parametrize("library", ["CLIENT", "LINKED"])
def test_no_path_grew(instructions, tmp_path, library):
    kept = instructions.read()
    counts = instructions.count(str(tmp_path), getattr(instructions, library))
    assert set(kept) == set(counts) or (library == "LINKED" and len(counts) == 5)
    grown = {name: "%.1f, was %.1f" % (now, kept[name]) for name, now in counts.items()
             if now > kept[name] * 1.05 + 0.5}
    assert not grown, "grew by more than 5 %; if meant, run bench/run --instructions and commit the file"


def test_callgrind_files_are_read_right(instructions, tmp_path):
    """Only the cost of one object itself, without that of functions that it calls in any object."""
    path = tmp_path / "callgrind.out"
    path.write_text(
        "version: 1\nevents: Ir\n\nob=(1) /x/lib.so\nfl=(1) a.c\nfn=(1) f\n10 5\n+2 7\n"
        "cob=(2) /x/libc.so.6\ncfn=(2) malloc\ncalls=1 0\n+1 1000\n* 3\n"
        "ob=(2)\nfn=(2)\n5 1000\nob=(1)\nfn=(3) g\ncfn=(1)\ncalls=2 10\n20 15\n20 2\n"
        "ob=(3) /x/other-lib.so\nfn=(4) h\n1 99\ntotals: 1\n", encoding="utf-8")
    assert instructions.own_cost(str(path), "lib.so") == 5 + 7 + 3 + 2
