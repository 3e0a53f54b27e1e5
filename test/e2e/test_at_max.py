"""--dump-at-max: what lived at the peak, where Perfetto and traceconv look for it; and which dump a
time given to `profile` selects."""

import gzip
import json
import pathlib
import re
import subprocess

import pytest
from test_frame_names import sql
from test_sources import expand

SOURCE = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void *summit(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
__attribute__((noinline)) static void *late(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
int main(int argc, char **argv)
{
    static void *v[100];
    for (int i = 0; i < 100; i++) v[i] = summit(100000);
    for (int i = 0; i < 100; i++) free(v[i]);
    late(7000);
    if (argc > 1) usleep(700000);
    if (argc > 2) execl(argv[0], argv[0], (char *)0);
    return 0;
}
"""
PEAK = (10_000_000, 100)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("max")
    (folder / "peak.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-g", "-o", folder / "peak", folder / "peak.c"], check=True)
    return folder / "peak"


def unreleased(heapscope, file):
    """The total of live bytes in a pprof file."""
    lines = heapscope("export", "-f", "json", file, "-o", "-").stdout.splitlines()
    (dump,) = [line for line in map(json.loads, lines) if line["type"] == "dump"]
    return dump["live_bytes"], dump["live_count"]


@pytest.mark.parametrize("options", [["--dump-at-max"], ["--dump-at-max", "--dump-every", "50ms"]])
def test_run(heapscope, run, program, tmp_path, options):
    done = run([program, "slowly"], "-i", "1", *options)
    query = "SELECT sum(size), sum(count), min(size) > 0, count(DISTINCT ts) FROM heap_profile_allocation"
    assert sql(heapscope, done.file, query) == [[str(PEAK[0]), str(PEAK[1]), "1", "1"]]
    assert sql(heapscope, done.file, "SELECT name FROM stats WHERE severity <> 'info' AND value > 0") == []
    # Our own fields have both values, as always.
    totals = done.report()["totals"]
    assert totals["live"]["bytes"] == 7000 and totals["alloc"]["bytes"] == PEAK[0] + 7000
    assert (totals["peak"]["bytes"], totals["peak"]["count"]) == PEAK
    heapscope("profile", "--output-dir", tmp_path / "out", done.file)
    last = sorted((tmp_path / "out").iterdir(), key=lambda file: int(file.name.split(".")[1]))[-1]
    assert unreleased(heapscope, last) == PEAK


def test_not_asked_for(heapscope, run, program):
    done = run([program], "-i", "1")
    samples = [sample for packet in expand(pathlib.Path(done.file).read_bytes()) for profile in packet.get("profile_packet", [])
               for heap in profile.get("process_dumps", []) for sample in heap.get("samples", [])]
    assert samples and not any("self_max" in sample for sample in samples)
    assert sql(heapscope, done.file, "SELECT sum(size) FROM heap_profile_allocation") == [["7000"]]


def test_another_program_with_the_pid(heapscope, run, program):
    """What the first image had at its peak is gone when the second one begins."""
    done = run([program, "and", "again"], "-i", "1", "--dump-at-max")
    assert sql(heapscope, done.file, "SELECT sum(size) FROM heap_profile_allocation") == [[str(PEAK[0])]]
    assert sql(heapscope, done.file, "SELECT name FROM stats WHERE severity <> 'info' AND value > 0") == []


def test_record(heapscope, program, tmp_path):
    """heap_profile's flag: one file, with the peak."""
    out = tmp_path / "out"
    out.mkdir()
    done = heapscope("record", "-i", "1", "--dump-at-max", "-o", out, "--", program)
    assert done.returncode == 0 and "dump_at_max" not in done.stderr, done
    (file,) = out.glob("heap_dump.*.pb.gz")
    assert gzip.decompress(file.read_bytes()) and unreleased(heapscope, file) == PEAK


def test_one_time_is_one_dump(heapscope, run, program, tmp_path):
    """The end of a window is the start of the next one: a time selects the dump that was taken at
    that time."""
    done = run([program, "slowly"], "-i", "1", "--dump-every", "50ms")
    ends = [int(row[0]) for row in sql(heapscope, done.file, "SELECT ts_end FROM heap_profile ORDER BY ts_end")]
    starts = [int(row[0]) for row in sql(heapscope, done.file, "SELECT ts FROM heap_profile ORDER BY ts_end")]
    assert len(ends) > 5
    for k, time in enumerate([ends[0], ends[3], ends[-1], starts[0]]):
        out = tmp_path / f"out{k}"
        assert heapscope("profile", "--timestamps", str(time), "--output-dir", out, done.file).returncode == 0
        assert len(list(out.iterdir())) == 1, (k, re.sub(r"\s+", " ", str(list(out.iterdir()))))
    out = tmp_path / "two"
    heapscope("profile", "--timestamps", f"{ends[0]},{ends[3]}", "--output-dir", out, done.file)
    assert len(list(out.iterdir())) == 2
