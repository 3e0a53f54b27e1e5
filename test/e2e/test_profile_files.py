"""heapscope profile: one pprof file for each heap of each dump, in traceconv's layout."""

import re
import subprocess

import pytest
from conftest import clean_env

PROGRAM = "import time\nkept = []\nfor i in range(12):\n    kept += [bytes(2000) for j in range(300)]\n" \
          "    time.sleep(0.1)\n"


def totals(root, file):
    """Sums of the values of all samples, in the order of the sample types."""
    text = subprocess.run(
        ["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto",
         f"{root}/src/profile/proto/pprof.proto"],
        input=file.read_bytes(), capture_output=True, check=True).stdout.decode()
    sums = [0, 0, 0, 0]
    for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        for i, value in enumerate(re.findall(r"^  value: (\d+)", sample, re.M)):
            sums[i] += int(value)
    return sums


def test_a_file_for_each_dump(dist, root, report, heapscope, tmp_path):
    trace, out = tmp_path / "t.pftrace", tmp_path / "out"
    subprocess.run([dist / "bin" / "heapscope", "run", "-qi1", "--exclude-heaps", "mmap,python.obj", "--dump-every", "300ms",
                    "-o", trace, "--", "/usr/bin/python3", "-c", PROGRAM], check=True, timeout=60,
                   env=clean_env())
    done = subprocess.run([dist / "bin" / "heapscope", "profile", "--output-dir", out, trace],
                          capture_output=True, text=True, timeout=60, env=clean_env())
    assert done.returncode == 0 and f"Wrote profiles to {out}" in done.stderr
    files = {int(f.name.split(".")[1]): f for f in out.iterdir()}
    assert sorted(files) == list(range(1, len(files) + 1)) and len(files) >= 3
    for number, file in files.items():
        assert re.fullmatch(rf"heap_dump\.{number}\.\d+\.libc\.malloc\.pb", file.name)
        said = report(trace, "--snapshot", str(number - 1))["totals"]
        assert totals(root, file) == [said["alloc"]["count"], said["alloc"]["bytes"],
                                      said["live"]["count"], said["live"]["bytes"]]


@pytest.mark.costly
def test_default_folder_and_refusals(dist, tmp_path):
    env = clean_env(TMPDIR=str(tmp_path))

    def profile(*args):
        return subprocess.run([dist / "bin" / "heapscope", "profile", *args], capture_output=True,
                              text=True, timeout=60, env=env)
    trace = tmp_path / "t.pftrace"
    subprocess.run([dist / "bin" / "heapscope", "run", "-qi1", "-o", trace, "--", "/usr/bin/python3",
                    "-c", "pass"], check=True, timeout=60, env=env)
    done = profile(trace)
    folder = re.search(r"Wrote profiles to (\S+)", done.stderr).group(1)
    assert re.fullmatch(rf"{tmp_path}/heap_profile-\d{{12}}[a-z]{{5}}", folder)
    for args, status, words in [(["--pid", "1", trace], 1, "no snapshot matches"),
                                (["--timestamps", "5", trace], 1, "no snapshot matches"),
                                (["--timestamps", "x", trace], 2, "not a number"),
                                (["--perf", trace], 2, "only native heap profiles"),
                                ([tmp_path / "none"], 1, "No such file")]:
        done = profile(*args)
        assert (done.returncode, words in done.stderr) == (status, True), done
