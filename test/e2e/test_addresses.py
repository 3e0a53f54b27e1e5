"""Libraries are at other addresses in each process: an export shows those of the process that it is of."""

import subprocess

import pytest


@pytest.fixture(scope="module")
def pair(heapscope, tmp_path_factory):
    """A trace of two runs of cat, and what each one printed of its own mappings."""
    file = tmp_path_factory.mktemp("addresses") / "x"
    code = "cat /proc/self/maps; echo; cat /proc/self/maps; exit 0"
    done = heapscope("run", "-q", "-i", 1, "-o", file, "--", "/bin/sh", "-c", code)
    assert done.returncode == 0, done.stderr
    return file, done.stdout.split("\n\n")


def processes(report, file):
    return [p["pid"] for p in report(file)["processes"] if p["name"] == "cat"]


def code_of_libc(maps):
    (line,) = [line for line in maps.splitlines() if "r-xp" in line and "/libc.so.6" in line]
    return tuple(int(word, 16) for word in line.split()[0].split("-"))


def test_pprof(heapscope, report, root, pair, tmp_path):
    file, maps = pair
    out = tmp_path / "x.pb.gz"
    seen = set()
    for pid, text in zip(processes(report, file), maps):
        assert heapscope("export", "-f", "pprof", "--pid", pid, "-o", out, file).returncode == 0
        plain = subprocess.run(["gzip", "-dc", out], capture_output=True, check=True).stdout
        decoded = subprocess.run(["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto", "pprof.proto"],
                                 input=plain, capture_output=True, check=True).stdout.decode()
        start, end = code_of_libc(text)
        assert f"memory_start: {start}\n  memory_limit: {end}\n" in decoded
        addresses = [int(line.split()[1]) for line in decoded.splitlines() if line.startswith("  address: ")]
        assert sum(start <= address < end for address in addresses) > 3
        seen.add(start)
    assert len(seen) == 2, "one address twice: nothing was tested"


def test_massif(heapscope, report, pair):
    file, maps = pair
    for pid, text in zip(processes(report, file), maps):
        start, end = code_of_libc(text)
        written = heapscope("export", "-f", "massif", "--pid", pid, file).stdout
        words = [word for line in written.splitlines() for word in line.split() if word.startswith("0x")]
        assert sum(start <= int(word.rstrip(":"), 16) < end for word in words) > 3
