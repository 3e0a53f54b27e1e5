"""heapscope check: limits held against programs whose heaps are known to the byte."""

import subprocess

import pytest

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile sink;
static __attribute__((noinline)) void cache(int times)
{
    for (int i = 0; i < times; i++) { sink = malloc(1000); }
    sink = 0;
}
static __attribute__((noinline)) void other(void) { sink = malloc(500); sink = 0; }
int main(int argc, char **argv)
{
    (void)argc;
    void *brief = malloc(100000);
    sink = brief;
    free(brief);
    cache(atoi(argv[1]));
    other();
    _exit(0);
}
"""


@pytest.fixture
def recorded(run, tmp_path):
    """recorded(TIMES, INTERVAL): a profile with TIMES * 1000 + 500 bytes live, a peak of 100000 at least."""
    program = tmp_path / "leaker"
    (tmp_path / "leaker.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", tmp_path / "leaker.c", "-o", program], check=True)
    return lambda times, interval: run([program, str(times)], "-i", interval).file


def test_limits_to_the_byte(heapscope, recorded):
    file = recorded(10, 1)
    rows = (
        ("--max-live", 10500),
        ("--max-peak", 100000),
        ("--max-leak", 10500),
        ("--max-allocs", 12),
        ("--stack", "^cache$=10000"),
        ("--stack", "^(other|nothing)$=500"),
    )
    for option, limit in rows:
        text = str(limit)
        name, _, value = text.rpartition("=")
        less = f"{name}={int(value) - 1}" if name else str(int(value) - 1)
        done = heapscope("check", file, option, text)
        assert (done.returncode, done.stdout[:6]) == (0, "passed"), done.stdout + done.stderr
        done = heapscope("check", file, option, less)
        assert (done.returncode, done.stdout[:6]) == (1, "FAILED"), done.stdout + done.stderr


def test_growth(heapscope, recorded):
    base, file = recorded(10, 1), recorded(12, 1)
    for limit, status in (("2000", 0), ("1999", 1), ("19.1%", 0), ("19%", 1)):
        done = heapscope("check", file, "--against", base, "--max-growth", limit)
        assert done.returncode == status, (limit, done.stdout)
    assert heapscope("check", base, "--against", file, "--max-growth", "0").returncode == 0


def test_an_estimate_fails_only_when_it_is_sure(heapscope, report, recorded):
    file = recorded(1000, 4096)
    live = report(file)["totals"]["live"]
    low, value, high = (round(live[key]) for key in ("bytes_low", "bytes", "bytes_high"))
    assert low < value < high
    for limit, status, strict in ((low - 9, 1, 1), (low + 9, 0, 1), (high - 9, 0, 1), (high + 9, 0, 0)):
        done = heapscope("check", file, "--max-live", limit)
        assert done.returncode == status
        assert ("within noise of the limit" in done.stdout) == (low < limit < high)
        assert heapscope("check", "--strict", file, "--max-live", limit).returncode == strict


def test_what_is_missing_never_passes(heapscope, recorded, tmp_path):
    file = recorded(10, 1)
    cut = tmp_path / "cut.pftrace"
    data = file.read_bytes()
    cut.write_bytes(data + b"\x0a\xff\x7fabc")
    done = heapscope("check", cut, "--max-live", "1G")
    assert done.returncode == 1 and "cannot be judged" in done.stdout, done.stdout + done.stderr
    (tmp_path / "empty").write_bytes(b"")
    for bad in ("empty", "missing"):
        done = heapscope("check", file, tmp_path / bad, "--max-live", "1G")
        assert done.returncode == 1 and bad in done.stderr
        assert done.stdout.startswith("passed")


def test_wrong_usage(heapscope, recorded):
    file = recorded(1, 1)
    for options in (
        (),
        ("--stack", "cache"),
        ("--stack", "(=10M"),
        ("--stack", "cache=x"),
        ("--max-growth", "5%"),
        ("--against", file),
        ("--against", file, "--max-growth", "5x%"),
        ("--against", file, "--max-growth", "-5%"),
        ("--max-live", "many"),
    ):
        done = heapscope("check", file, *options)
        assert done.returncode == 2 and done.stderr.startswith("heapscope:"), options
