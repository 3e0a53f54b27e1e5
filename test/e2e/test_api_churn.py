"""Two heaps that threads use at once, one carved and one primary, with equal ids far above all addresses:
test/target/api_churn.c."""

import json

import pytest
from conftest import HEAPS

CARVED, OWN = "churn.carved", "churn.own"


@pytest.fixture(scope="module")
def program(target, dist):
    return target("api_churn", "-pthread", "-I", str(dist / "include"), "-L", str(dist / "lib"), "-lheapscope",
                  f"-Wl,-rpath,{dist / 'lib'}")


@pytest.fixture
def heaps(heapscope):
    """heaps(FILE): for each process, {heap: [live bytes, live count, bytes, count]}."""

    def call(file):
        sql = HEAPS.replace("SELECT heap_name", "SELECT upid, heap_name").replace("GROUP BY 1", "GROUP BY 1, 2 ORDER BY 1")
        done = heapscope("query", "--format", "json", file, sql)
        assert done.returncode == 0, done.stderr
        found = {}
        for row in json.loads(done.stdout):
            figures = [row[k] for k in ("live_bytes", "live_count", "bytes", "count")]
            found.setdefault(row["upid"], {})[row["heap_name"]] = figures
        return list(found.values())

    return call


def truth_of(stdout, word=""):
    rows = [line[len(word):].split() for line in stdout.splitlines() if line.startswith(word + "churn.")]
    return {name: [int(f) for f in figures] for name, *figures in rows}


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("threads", [1, 4, 13])
def test_exact_with_threads(run, heaps, program, threads):
    done = run([program, threads, 20000], "-i", 1)
    assert done.status == 0, done.stderr
    truth = truth_of(done.stdout)
    found = heaps(done.file)[0]
    assert len(truth) == 2 and {name: found[name] for name in truth} == truth
    assert done.report()["losses"] == []


def test_a_child_inherits_both(run, heaps, program):
    done = run([program, 3, 5000, "fork"], "-i", 1)
    parent, child = heaps(done.file)
    for found, truth in ((parent, truth_of(done.stdout)), (child, truth_of(done.stdout, "child "))):
        assert len(truth) == 2 and {name: found[name] for name in truth} == truth


def test_killed(run, heaps, program):
    done = run([program, 2, 3000, "kill"], "-i", 1)
    assert done.status == 128 + 9
    truth = truth_of(done.stdout)
    assert {name: heaps(done.file)[0][name] for name in truth} == truth


@pytest.mark.parametrize("interval, is_exact", [(1, 1), (512, 0)])
def test_stats(run, program, interval, is_exact):
    done = run([program, 2, 1000, "stats"], "-i", interval)
    stats = next(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("stats "))
    assert stats[3] == str(is_exact)
    # A block of 1,000 bytes is recorded exactly at either interval.
    assert stats[:3] == ["1000", "0", "1000"]


@pytest.mark.costly
@pytest.mark.parametrize("interval", [512, 4096])
def test_samples_estimate_each_heap(run, heaps, program, interval):
    """The sums of six runs, whose errors are below five standard errors."""
    off = {}
    for seed in range(6):
        done = run([program, 3, 20000], "-i", interval, env={"HEAPSCOPE_SEED": seed})
        found = heaps(done.file)[0]
        for name, figures in truth_of(done.stdout).items():
            for k in (0, 2):
                sums = off.setdefault((name, k), [0, 0])
                sums[0] += found[name][k] - figures[k]
                sums[1] += figures[k]
    assert set(off) == {(name, k) for name in (CARVED, OWN) for k in (0, 2)}
    for key, (error, total) in off.items():
        # The variance of a sum of bytes is at most interval * bytes.
        assert abs(error) < 5 * (interval * total) ** 0.5, (key, error, total)


def test_a_carved_heap_with_more_than_its_parent(run, heapscope, program):
    """It does not lie where the program says: no share of the parent is printed."""
    done = run([program, 1, 2000], "-i", 1)
    table = heapscope("report", done.file).stdout.split("\nHeaps ")[1].split("\n\n")[0]
    rows = [line.split() for line in table.splitlines()]
    carved = next(row for row in rows if CARVED + "," in row)
    assert "%" not in carved and " ".join(carved).endswith("in libc.malloc, of which less is recorded")
