"""Libraries are at other addresses in each process: an export shows the addresses of the selected
process."""

import subprocess

import pytest


@pytest.fixture(scope="module")
def pair(heapscope, tmp_path_factory):
    """A trace of two runs of cat, and the mappings that each one printed."""
    file = tmp_path_factory.mktemp("addresses") / "x"
    code = "cat /proc/self/maps; echo; cat /proc/self/maps; exit 0"
    done = heapscope("run", "-q", "-i", 1, "-o", file, "--", "/bin/sh", "-c", code)
    assert done.returncode == 0, done.stderr
    return file, done.stdout.split("\n\n")


def processes(report, file):
    return [p["pid"] for p in report(file)["processes"] if p["name"] == "cat"]


def decoded(heapscope, root, file, pid, out):
    assert heapscope("export", "-f", "pprof", "--pid", pid, "-o", out, file).returncode == 0
    plain = subprocess.run(["gzip", "-dc", out], capture_output=True, check=True).stdout
    return subprocess.run(["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto", "pprof.proto"],
                          input=plain, capture_output=True, check=True).stdout.decode()


def code_of_libc(maps):
    (line,) = [line for line in maps.splitlines() if "r-xp" in line and "/libc.so.6" in line]
    return tuple(int(word, 16) for word in line.split()[0].split("-"))


def test_pprof(heapscope, report, root, pair, tmp_path):
    file, maps = pair
    seen = set()
    for pid, text in zip(processes(report, file), maps):
        written = decoded(heapscope, root, file, pid, tmp_path / "x.pb.gz")
        start, end = code_of_libc(text)
        assert f"memory_start: {start}\n  memory_limit: {end}\n" in written
        addresses = [int(line.split()[1]) for line in written.splitlines() if line.startswith("  address: ")]
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


def test_two_programs_at_one_address(heapscope, report, root, tmp_path):
    """Programs that the loader does not move have the same addresses: each process has its own
    program there."""
    for name in ("first", "second"):
        (tmp_path / f"{name}.c").write_text(f"""
            #include <stdlib.h>
            __attribute__((noinline)) void *in_{name}(void) {{ void *p = malloc(5000); __asm__ volatile("" : : "r"(p)); return p; }}
            int main(void) {{ in_{name}(); return 0; }}""")
        subprocess.run(["gcc", "-O1", "-g", "-no-pie", "-o", tmp_path / name, tmp_path / f"{name}.c"], check=True)
    file = tmp_path / "x"
    done = heapscope("run", "-q", "-i", 1, "-o", file, "--", "/bin/sh", "-c", f"{tmp_path}/first; {tmp_path}/second; exit 0")
    assert done.returncode == 0, done.stderr
    places = {}
    for process in report(file)["processes"]:
        if process["name"] not in ("first", "second"):
            continue
        written = decoded(heapscope, root, file, process["pid"], tmp_path / "x.pb.gz")
        other = {"first": "second", "second": "first"}[process["name"]]
        assert f"/{process['name']}\"" in written and f"in_{process['name']}\"" in written
        assert f"/{other}\"" not in written and f"in_{other}\"" not in written
        places[process["name"]] = {int(line.split()[1]) for line in written.splitlines() if line.startswith("  address: 4")}
    # Not moved and of the same shape: otherwise the test would show nothing.
    assert places["first"] & places["second"]
