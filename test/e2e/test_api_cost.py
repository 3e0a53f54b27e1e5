"""What a report to libheapscope.so costs while nothing is recorded, in instructions of the library (callgrind)."""

import shutil
import subprocess
import sys

import pytest
from conftest import clean_env

FEW, MANY = 500, 2500


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_instructions_of_a_quiet_report(root, dist, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "bench"))
    for name in ("variants", "storms", "instructions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    own_cost = __import__("instructions").own_cost
    program = tmp_path / "bench_api"
    subprocess.run(["gcc", "-O2", root / "bench" / "bench_api.c", "-I", dist / "include", "-L", dist / "lib", "-lheapscope",
                    f"-Wl,-rpath,{dist / 'lib'}", "-o", program], check=True)
    costs = []
    for count in (FEW, MANY):
        out = tmp_path / f"callgrind.{count}"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=counted_reports",
                        program, "count", str(count)], env=clean_env(), check=True, capture_output=True)
        costs.append(own_cost(str(out), "libheapscope.so"))
    a_pair = (costs[1] - costs[0]) / (MANY - FEW)
    assert 8 <= a_pair <= 18, "instructions of report_alloc and report_free; was 16"
