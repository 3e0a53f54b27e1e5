"""Blocks: each recorded live block of a snapshot, with `--blocks`, and heapscope_blocks in SQL."""

import csv
import io
import subprocess

import pytest
from conftest import clean_env
from threads_at_work import at_work, number

SUMS = """
SELECT count(*) FROM heapscope_samples s
LEFT JOIN (SELECT dump_id, node_id, heap_name, sum(bytes) AS bytes, sum(count) AS count
           FROM heapscope_blocks GROUP BY 1, 2, 3) b USING (dump_id, node_id, heap_name)
WHERE live_bytes != ifnull(b.bytes, 0) OR abs(live_count - ifnull(b.count, 0)) > 1e-6
"""


def rows(heapscope, file, sql):
    done = heapscope("query", "--format", "csv", file, sql)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def known_blocks(program):
    """What test/target/block_list.c says: address -> size and thread."""
    known = {}
    for line in program.stdout:
        if line == "ready\n":
            return known
        address, size, thread = line.split()
        known[address] = (size, thread)
    raise AssertionError("the program ended")


@pytest.fixture
def listed(dist, target, tmp_path):
    """The program, recorded, while it waits: (process of `run`, blocks that it named, file)."""
    file = tmp_path / "a folder" / "x.pftrace"
    file.parent.mkdir()
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "--blocks", "-o", file, "--", target("block_list", "-pthread"), "x"]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as program:
        yield program, known_blocks(program), file
        program.stdin.close()


def made(heapscope, file):
    sql = ("SELECT address, size, thread_name, age_ns, bytes, count FROM heapscope_blocks "
           "WHERE thread_name LIKE 'maker-%' AND size BETWEEN 100 AND 129 AND heap_name = 'libc.malloc'")
    return {row["address"]: row for row in rows(heapscope, file, sql)}


def test_every_block(heapscope, listed):
    """Each live block is listed once, with its address, size and thread; freed ones are not."""
    program, known, file = listed
    print("free", file=program.stdin, flush=True)
    while program.stdout.readline() != "freed\n":
        pass
    program.stdin.close()
    assert program.wait() == 0
    kept = {address: what for i, (address, what) in enumerate(known.items()) if i >= 200 or i % 2 == 1}
    found = made(heapscope, file)
    assert {address: (row["size"], row["thread_name"]) for address, row in found.items() if address in known} == kept
    assert all(float(row["bytes"]) == float(row["size"]) and float(row["count"]) == 1 for row in found.values())
    assert all(0 <= int(row["age_ns"]) < 60e9 for row in found.values())
    assert number(heapscope, file, SUMS) == 0


def test_a_snapshot_of_its_own(heapscope, listed, tmp_path):
    program, known, _ = listed
    for options, has_blocks in ([], False), (["--blocks"], True):
        file = tmp_path / f"{has_blocks}.pftrace"
        done = heapscope("snapshot", *options, "-p", child_of(program.pid), "-o", file)
        assert done.returncode == 0, done.stderr
        assert (set(made(heapscope, file)) >= set(known)) == has_blocks
        assert (number(heapscope, file, SUMS) == 0) == has_blocks
        assert ("recorded live blocks are listed" in heapscope("report", file).stdout) == has_blocks


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return children.read().split()[0]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", [1, 4096])
def test_sums(heapscope, run, report, interval):
    """At each snapshot, taken while threads work, what the blocks stand for adds up to the stacks'."""
    done = run(["/usr/bin/python3", "-c", at_work(0.02)], "-i", interval, "--blocks", "--dump-every", "100ms")
    assert done.status == 0
    assert number(heapscope, done.file, "SELECT count(DISTINCT dump_id) FROM heapscope_blocks") > 2
    assert number(heapscope, done.file, SUMS) == 0
    assert number(heapscope, done.file, "SELECT count(*) FROM heapscope_blocks WHERE address IS NOT NULL") > 1000
    assert report(done.file)["processes"][0]["block_count"] > 0


@pytest.mark.parametrize("interval", [1, 4096])
def test_registered_heaps(heapscope, run, target, flags, interval):
    """Blocks of heaps of the program's own, primary and carved, with the ids that it gave them."""
    done = run([target("api_heaps", *flags[0], *flags[1])], "-i", interval, "--blocks")
    assert done.status == 0
    assert number(heapscope, done.file, SUMS) == 0
    names = {row["heap_name"] for row in rows(heapscope, done.file, "SELECT DISTINCT heap_name FROM heapscope_samples WHERE live_bytes > 0")}
    assert names == {row["heap_name"] for row in rows(heapscope, done.file, "SELECT DISTINCT heap_name FROM heapscope_blocks")}


def test_ages_of_a_program_that_ends_at_once(heapscope, run):
    """Births are whole milliseconds, and none is after the snapshot that has the block."""
    count = 0
    for _ in range(20):
        done = run(["/bin/ls", "/"], "-i", 1, "--blocks")
        count += number(heapscope, done.file, "SELECT count(*) FROM heapscope_blocks WHERE birth_ns IS NOT NULL")
        assert number(heapscope, done.file, "SELECT count(*) FROM heapscope_blocks WHERE age_ns IS NULL") == 0
    assert count > 0


def test_not_asked_for(heapscope, run):
    """Without --blocks the file has none, and the report does not mention them."""
    done = run(["/bin/true"], "-i", 1)
    assert number(heapscope, done.file, "SELECT count(*) FROM heapscope_blocks") == 0
    assert "listed one by one" not in heapscope("report", done.file).stdout
