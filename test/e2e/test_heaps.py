"""A process with two heaps: views that add them up say so."""

import json

import pytest
import trace_text
from test_sql_conformance import CLOCKS, INTERNED, profile, sample

WORDS = "2 heaps are added up: libc.malloc (10.0 KiB allocated), pool (2.00 KiB)"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    file = tmp_path_factory.mktemp("heaps") / "x.pftrace"
    text = (CLOCKS + INTERNED + profile(0, sample(1, 10240, 2), more="sampling_interval_bytes: 1")
            + profile(1, sample(1, 2048, 1), heap='heap_name: "pool"', time=21, more="sampling_interval_bytes: 1"))
    file.write_bytes(trace_text.protoc("encode", text.encode()))
    return file


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    file = tmp_path_factory.mktemp("heaps") / "y.pftrace"
    file.write_bytes(trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 10240, 2))).encode()))
    return file


def words(text):
    return " ".join(text.split())


def test_report(heapscope, report, two, one):
    assert WORDS in words(heapscope("report", two).stdout)
    heaps = {heap["name"]: heap["live"]["bytes"] for heap in report(two)["heaps"]}
    assert heaps == {"libc.malloc": 10240, "pool": 2048}
    assert "added up" not in heapscope("report", one).stdout
    assert [heap["name"] for heap in report(one)["heaps"]] == ["libc.malloc"]


@pytest.mark.parametrize("form", ["folded", "svg", "speedscope"])
def test_exports(heapscope, two, one, form):
    done = heapscope("export", "-f", form, two)
    assert WORDS in words(done.stdout + done.stderr)
    done = heapscope("export", "-f", form, one)
    assert "heaps are added up" not in done.stdout + done.stderr


def test_pprof_keeps_them_apart(heapscope, two, tmp_path):
    done = heapscope("profile", "--output-dir", tmp_path, two)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*libc.malloc*"))) == 1 and len(list(tmp_path.glob("*pool*"))) == 1


def test_diff_and_check(heapscope, two, one):
    assert WORDS in words(heapscope("diff", one, two).stdout)
    checked = heapscope("check", "--max-live", "1MB", two)
    assert checked.returncode == 0 and WORDS in words(checked.stdout)
    assert json.loads(heapscope("check", "--json", "--max-live", "1MB", two).stdout)["files"][0]["note"] == WORDS
