"""Types that a program gives with the reports of a heap of its own: heapscope_report_alloc_of."""

import json
import shutil
import subprocess

import pytest
from conftest import clean_env
from running_types import Running, snapshot, types_of

COUNT = 50
# The text of 10 MiB is cut between two characters, and what no text may contain is replaced.
ACCENTS, CLEANED = "\u00e9" * 127, "tab and \ufffd"
FIXED = {"Node": 2 * COUNT, "Text": COUNT // 2, "Element": COUNT // 2, ACCENTS: COUNT, CLEANED: COUNT, "copied": COUNT,
         "of the pool": COUNT, "wins": COUNT}
BY_FRAMES = {"int[]": COUNT}


@pytest.fixture
def program(target, flags):
    return target("typed_heap", *flags[0], *flags[1])


def counts(heapscope, file, *options):
    return {name: amount["count"] for name, amount in types_of(heapscope, file, "--heap", "pool", *options).items()}


@pytest.mark.costly
@pytest.mark.parametrize("more", [(), ("--no-types",)])
def test_known_types(dist, heapscope, program, tmp_path, more):
    """Each block has its type, whatever its memory and its stack say; also where memory is not read."""
    it = Running(dist, tmp_path / "run.pftrace", [program, "known", COUNT], *more)
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace", "--blocks", *more)
    assert it.end() == 0
    for file, options in ((now, ()), (tmp_path / "run.pftrace", ("--view", "peak"))):
        found = counts(heapscope, file, *options)
        unknown = sum(found.pop(name, 0) for name in ("(unknown)", "(not read)"))
        frames = {} if more else BY_FRAMES
        assert found.pop("old", 0) == (file != now)  # one lived at the peak
        assert found == FIXED | frames
        assert unknown == (3 * COUNT if more else 2 * COUNT)
    sql = heapscope("query", "--format", "csv", now, "SELECT type_name, count(*) FROM heapscope_blocks WHERE heap_name = 'pool' GROUP BY 1")
    rows = dict(line.rsplit(",", 1) for line in sql.stdout.splitlines()[1:])
    assert int(rows['"Node"']) == 2 * COUNT and int(rows['"of the pool"']) == COUNT and int(rows['"wins"']) == COUNT


def test_totals_are_those_of_the_stacks(dist, heapscope, program, tmp_path):
    """A stack whose blocks have several types is one stack."""
    it = Running(dist, tmp_path / "run.pftrace", [program, "known", COUNT])
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    report = json.loads(heapscope("report", "--json", "--heap", "pool", "--top", "all", now).stdout)
    assert report["totals"]["live"]["count"] == sum(FIXED.values()) + 3 * COUNT
    takes = [stack for stack in report["stacks"] if stack["frames"][0]["function"].startswith("take")]
    assert len(takes) == 8 and sum(stack["live"]["count"] for stack in takes) == 8 * COUNT


@pytest.mark.costly
def test_a_million_types(dist, heapscope, program, tmp_path):
    """32,764 have their names; the report says how much the others are."""
    it = Running(dist, tmp_path / "run.pftrace", [program, "many", 1000000])
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    found = counts(heapscope, now)
    assert sum(found.values()) == 1000000 and found["(other)"] >= 1000000 - 32764
    assert all(name.startswith("type ") or name in ("(other)", "(others)") for name in found)


def test_child(dist, heapscope, program, tmp_path):
    """A forked child has the types of the blocks that it inherited."""
    it = Running(dist, tmp_path / "run.pftrace", [program, "fork", COUNT])
    assert it.end() == 0
    done = heapscope("report", "--json", "--by", "process,type", "--heap", "pool", "--view", "peak", tmp_path / "run.pftrace")
    assert done.returncode == 0, done.stderr
    processes = {process["process"]: {part["type"]: part["amount"]["count"] for part in process["parts"]}
                 for process in json.loads(done.stdout)["parts"]}
    parent = processes.pop(next(name for name in processes if name.endswith(f"(pid {it.pid})")))
    (child,) = processes.values()
    assert parent.items() >= FIXED.items() and "Child" not in parent
    assert child.items() >= (FIXED | {"Node": 2 * COUNT + 1, "Child": 1}).items()


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("weak", [False, True])
def test_without_a_client(target, flags, weak):
    program = target("typed_heap", *flags[0], *(["-DHEAPSCOPE_WEAK"] if weak else flags[1]))
    subprocess.run([program, "known", "3"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=clean_env(), timeout=60)


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_cost_without_a_client(dist, target, flags, tmp_path):
    """A report with a type takes as many instructions of the library as one without."""
    program = target("typed_heap_cost", "-O2", *flags[0], *flags[1])
    costs = {}
    for what in ("untyped", "typed"):
        out = tmp_path / f"callgrind.{what}"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=counted", program, what, "10000"],
                       env=clean_env(), check=True, capture_output=True)
        costs[what] = int(next(line for line in out.read_text().splitlines() if line.startswith(("totals:", "summary:"))).split()[1])
    # The caller passes one argument more.
    assert 0 <= costs["typed"] - costs["untyped"] <= 10100
