"""Leaks: `report --leaks`, `check --max-leak-growth` and heapscope_births, with programs that hold memory in several ways."""

import concurrent.futures
import json
import re
import subprocess

import pytest
from conftest import clean_env

# What the program allocates through, by the way in which it holds memory; None: nothing of it is a leak.
LEAK_OF = {"cache": None, "leak": "forget", "table": None, "thread": "handle"}
MILLISECONDS = 500


@pytest.fixture(scope="module")
def record(dist, target, tmp_path_factory):
    """Records one run of test/target/leaks.c."""
    folder = tmp_path_factory.mktemp("leaks of programs")
    program = target("leaks", "-pthread")

    def record(kind, seed, *options):
        file = folder / f"{kind} {seed} {'-'.join(map(str, options))}.pftrace"
        command = [dist / "bin" / "heapscope", "run", "-q", *options, "-o", file, "--", program, kind, seed, MILLISECONDS]
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=clean_env(), timeout=60)
        assert done.returncode == 0
        return file

    return record


def leaks_of(heapscope, file):
    done = heapscope("report", "--leaks", "--json", "--top", "all", file)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["leaks"]


def names_of(row):
    return [frame["function"] for frame in row["frames"]]


def first_leak(leaks):
    """The functions of the first stack that leaks."""
    rows = [row for row in leaks["stacks"] if row["verdict"] == "leaks"]
    assert rows == leaks["stacks"][:len(rows)]
    return (names_of(rows[0]), len(rows)) if rows else ([], 0)


WAYS = [("-i", 1), ("-i", 1, "--dump-every", "60ms"), ("-i", 256), ("-i", 256, "--dump-every", "60ms")]


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way)))
@pytest.mark.parametrize("kind", sorted(LEAK_OF))
def test_one(heapscope, record, kind, way):
    leaks = leaks_of(heapscope, record(kind, 1, *way))
    assert not leaks["is_too_short"]
    assert (leaks["earlier_snapshot_count"] > 0) == ("--dump-every" in way)
    names, count = first_leak(leaks)
    assert count == (LEAK_OF[kind] is not None)
    if LEAK_OF[kind]:
        assert LEAK_OF[kind] in names


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way)))
@pytest.mark.parametrize("kind", sorted(LEAK_OF))
def test_two_hundred(heapscope, record, kind, way):
    """The leak is first in 95 % of the runs, and nothing else is called one in any."""
    def run(seed):
        file = record(kind, seed, *way)
        found = first_leak(leaks_of(heapscope, file))
        file.unlink()
        return found

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(1, 201)))
    if LEAK_OF[kind] is None:
        assert [names for names, count in found if count > 0] == []
    else:
        assert [names for names, count in found if count > 1] == []
        assert sum(LEAK_OF[kind] in names for names, _ in found) >= 190


def test_text(heapscope, record):
    file = record("leak", 2, "-i", 1)
    words = heapscope("report", "--leaks", file).stdout
    leaks = words[words.index("\nLeaks   "):words.index("\nNo leaks\n")]
    assert re.search(r"[0-9] [KM]iB/s ± [0-9.]+ [KM]iB/s ", leaks) and "sure" in leaks and "> forget" in leaks
    assert "There is one snapshot" in words
    words = heapscope("report", "--leaks", record("table", 2, "-i", 1)).stdout
    assert "\n  No leak is certain.\n" in words


def test_births(heapscope, record):
    """Births add up to what lives, in every dump and at every interval."""
    file = record("thread", 3, "-i", 64, "--dump-every", "50ms")
    done = heapscope("query", "--format", "csv", file, """
        SELECT count(DISTINCT dump_id) AS dumps, max(abs(live_bytes - births)) AS off FROM (
            SELECT s.dump_id, live_bytes, (SELECT total(bytes) FROM heapscope_births b WHERE b.dump_id = s.dump_id
                                           AND b.node_id = s.node_id AND b.heap_name = s.heap_name) AS births
            FROM heapscope_samples s)""")
    assert done.returncode == 0, done.stderr
    dumps, off = done.stdout.split()[1].split(",")
    assert int(dumps) > 3 and float(off) == 0


def test_limit(heapscope, record):
    file = record("leak", 3, "-i", 1)
    done = heapscope("check", file, "--max-leak-growth", "1M/h")
    assert done.returncode == 1
    assert "growth of leaks: " in done.stdout and "limit 1.00 MiB/h" in done.stdout and "forget" in done.stdout
    assert heapscope("check", file, "--max-leak-growth", "100G/m").returncode == 0
    assert heapscope("check", record("cache", 3, "-i", 1), "--max-leak-growth", "0").returncode == 0
    done = heapscope("check", file, "--max-leak-growth", "1M/y")
    assert done.returncode == 2 and "'1M/y' is not a growth" in done.stderr


def test_trend(heapscope, record):
    file = record("leak", 4, "-i", 1, "--dump-every", "60ms")
    done = heapscope("diff", "--trend", "--json", file)
    assert done.returncode == 0, done.stderr
    trend = json.loads(done.stdout)
    assert [row["function"] for row in trend["functions"] if row["leak_confidence"] > 0] == ["forget"]
    assert [row["frames"][0] for row in trend["stacks"] if row["leak_confidence"] > 0] == ["forget"]
    words = heapscope("diff", "--trend", file).stdout
    assert re.search(r"steps +leak +function\n", words) and re.search(r"% +forget\n", words), words


def test_known_leaks(heapscope, record, tmp_path):
    known = tmp_path / "known leaks.supp"
    known.write_text("leak:forget\n")
    done = heapscope("check", record("leak", 3, "-i", 1), "--max-leak-growth", "0", "--suppressions", known)
    assert done.returncode == 0, done.stdout


def test_other_files(heapscope, tmp_path):
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;f 10\n")
    done = heapscope("report", "--leaks", folded)
    assert done.returncode == 1 and "does not say when the blocks were allocated" in done.stderr
    done = heapscope("check", folded, "--max-leak-growth", "0")
    assert done.returncode == 1 and "cannot be judged" in done.stdout


@pytest.mark.parametrize("option", ["--tree", "--rss", "--health", "--by=stack", "--view=peak"])
def test_misuse(heapscope, record, option):
    done = heapscope("report", "--leaks", option, record("leak", 3, "-i", 1))
    assert done.returncode == 2 and "--leaks" in done.stderr
