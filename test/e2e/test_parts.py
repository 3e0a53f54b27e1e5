"""Parts: what each thread holds through each stack, by age: `report --by`, and heapscope_parts."""

import json
import re
import subprocess

import pytest
from conftest import clean_env
from threads_at_work import at_work, number
from waiting import wait_for_snapshot

THREADS = 3
OLD, NEW = 100, 10


@pytest.fixture(scope="module")
def recorded(dist, target, tmp_path_factory):
    """test/target/parts.c, of which everything is recorded, up to its end."""
    file = tmp_path_factory.mktemp("parts of threads") / "x.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "-o", file, "--", target("parts", "-pthread"), THREADS, 1500]
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=clean_env(), timeout=60)
    assert done.returncode == 0
    return file


def parts_of(heapscope, file, *options):
    done = heapscope("report", "--json", *options, file)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def bytes_by(parts, key):
    """Of each group whose name has this form: its bytes and objects."""
    return {part[key].split()[0]: (part["amount"]["bytes"], part["amount"]["count"]) for part in parts}


def test_threads_and_ages(heapscope, recorded):
    report = parts_of(heapscope, recorded, "--by", "thread,age")
    threads = {part["thread"].split()[0]: part for part in report["parts"]}
    for n in range(1, THREADS + 1):
        part = threads[f"part-{n}"]
        assert re.fullmatch(rf"part-{n} \(tid \d+\)", part["thread"])
        ages = {group["age"]: (group["amount"]["bytes"], group["amount"]["count"]) for group in part["parts"]}
        assert ages.pop("under 1 s") == (NEW * 1000, NEW)
        # Thread-local memory of the C library may be as old.
        old = ages.pop("1 to 10 s")
        assert old[0] >= OLD / 2 * (100 + n) and old[1] >= OLD / 2
        assert not ages


def test_the_peak(heapscope, recorded):
    """At the peak, before the first free, the old blocks lived as well."""
    report = parts_of(heapscope, recorded, "--by", "stack,thread", "--view", "peak")
    assert sum(part["amount"]["bytes"] for part in report["parts"]) == pytest.approx(report["totals"]["peak"]["bytes"])
    made = [part for part in report["parts"] if any(frame["function"] == "make" for frame in part["frames"])]
    threads = {}
    for part in made:
        for name, (size, _) in bytes_by(part["parts"], "thread").items():
            threads[name] = threads.get(name, 0) + size
    most = {f"part-{n}": OLD * (100 + n) + NEW * 1000 for n in range(1, THREADS + 1)}
    # The threads do not reach their peaks at the same time; each has its old blocks when the first one frees.
    assert threads.keys() == most.keys()
    assert all(OLD / 2 * 101 < threads[name] <= most[name] for name in most), threads
    assert sum(threads.values()) > 0.6 * sum(most.values())


@pytest.mark.parametrize("order", ["thread", "stack,age", "age,stack,thread", "process,heap,thread,age,stack"])
def test_any_order(heapscope, recorded, order):
    """Groups add up to the group above them, and all of them to the total."""
    report = parts_of(heapscope, recorded, "--by", order)

    def check(parts, whole, depth):
        assert sum(part["amount"]["bytes"] for part in parts) == whole["bytes"]
        assert sum(part["amount"]["count"] for part in parts) == whole["count"]
        sizes = [part["amount"]["bytes"] for part in parts]
        assert sizes == sorted(sizes, reverse=True)
        for part in parts:
            assert ("parts" in part) == (depth + 1 < len(order.split(",")))
            if "parts" in part:
                check(part["parts"], part["amount"], depth + 1)

    check(report["parts"], report["totals"]["live"], 0)


def test_text(heapscope, recorded):
    words = heapscope("report", "--by", "thread,stack", "--top", 2, recorded).stdout
    assert "Live memory by thread, then by stack" in words
    assert re.search(r"\n +1\d\.\d KiB +\d\d\.\d % +\d+ +part-3 \(tid \d+\)\n", words), words
    assert re.search(r"\d +make < work\n", words), words
    assert re.search(r"… \d more\n", words), words
    objects = heapscope("report", "--by", "age", "--view", "objects", recorded).stdout
    assert "Live objects by age" in objects


def test_summary_of_threads(heapscope, recorded, run):
    """The report names the largest threads; of a program with one thread, it does not."""
    words = heapscope("report", recorded).stdout
    section = words[words.index("\nThreads "):words.index("\nFunctions by")]
    names = re.findall(r"\d  +(\S+) \(tid \d+\)\n", section)
    assert names[:3] == ["part-3", "part-2", "part-1"], section
    one = run(["/usr/bin/python3", "-c", "a = ['x' * 1000 for i in range(1000)]; import os; os._exit(0)"]).file
    words = heapscope("report", one).stdout
    assert "\nFunctions by" in words and "\nThreads " not in words


SUMS = """
SELECT count(*) FROM heapscope_samples s
WHERE abs(live_bytes - (SELECT total(bytes) FROM heapscope_parts p WHERE p.dump_id = s.dump_id AND p.node_id = s.node_id
                        AND p.heap_name = s.heap_name AND view = 'live')) > 0.001
   OR abs(live_count - (SELECT total(count) FROM heapscope_parts p WHERE p.dump_id = s.dump_id AND p.node_id = s.node_id
                        AND p.heap_name = s.heap_name AND view = 'live')) > 0.001
   OR abs(peak_bytes - (SELECT total(bytes) FROM heapscope_parts p WHERE p.dump_id = s.dump_id AND p.node_id = s.node_id
                        AND p.heap_name = s.heap_name AND view = 'peak')) > 0.001
"""


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", [1, 4096])
def test_parts_add_up(heapscope, run, interval):
    """In every dump, the parts of each stack and heap add up to its row, for what lives and for the peak."""
    done = run(["/usr/bin/python3", "-c", at_work(0.04)], "-i", interval, "--dump-every", "200ms")
    assert done.status == 0, done.stderr
    file = done.file
    assert number(heapscope, file, "SELECT count(*) FROM heapscope_dumps") >= 4
    assert number(heapscope, file, "SELECT count(*) FROM heapscope_parts WHERE NOT is_others") > 100
    assert number(heapscope, file, SUMS) == 0


@pytest.mark.costly
def test_forked(heapscope, run):
    """A forked process has parts of what it inherited."""
    code = "import os; a = [str(i) * 9 for i in range(30000)]; p = os.fork(); b = [str(i) for i in range(9000)]; p and os.wait()"
    file = run(["/usr/bin/python3", "-c", code], "-i", 1).file
    assert number(heapscope, file, SUMS) == 0
    report = parts_of(heapscope, file, "--by", "process,heap", "--view", "peak")
    assert len(report["parts"]) == 2


@pytest.mark.costly
def test_many_threads(dist, heapscope, target, tmp_path):
    """Each of thousands of threads has its part; the file has few bytes for each."""
    count = 3000
    file = tmp_path / "now.pftrace"
    program = target("parts", "-pthread")
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "-o", tmp_path / "x.pftrace", "--", program, count, 0]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as it:
        assert it.stdout.readline() == "ready\n"
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(it.pid)], stdout=subprocess.PIPE, text=True).stdout
        wait_for_snapshot(heapscope, children.split()[0], file)
        it.stdin.close()
        assert it.wait(60) == 0
    assert number(heapscope, file, SUMS) == 0
    named = "SELECT count(DISTINCT thread_name) FROM heapscope_parts WHERE view = 'live' AND thread_name LIKE 'part-%'"
    assert number(heapscope, file, named) == count
    assert file.stat().st_size < count * 150


def test_without_parts(heapscope, recorded, tmp_path):
    """A file of another format knows no threads: --by says so."""
    pprof = tmp_path / "x.pb.gz"
    assert heapscope("export", "--format", "pprof", recorded, "-o", pprof).returncode == 0
    done = heapscope("report", "--by", "thread", pprof)
    assert done.returncode == 1 and done.stdout == ""
    assert "--by needs a trace of this version of heapscope" in done.stderr


@pytest.mark.parametrize("options, words", [
    (["--by", "thread,colour"], "'colour' is not one of process, heap, thread, type, scope, label:KEY, age, stack"),
    (["--by", "age,age"], "'age' is not one of"),
    (["--by", "thread,"], "'' is not one of"),
    (["--by", "thread,stack", "--tree"], "leave out stack"),
    (["--by", "thread", "--rss"], "--by cannot be shown together with --rss"),
    (["--by", "thread", "--view", "alloc_space"], "--by with thread, type or age needs --view space, objects or peak"),
    (["--by", "thread", "--tree", "--base", "other.pftrace"], "--tree and --by at once"),
])
def test_wrong_use(heapscope, recorded, options, words):
    done = heapscope("report", *options, recorded)
    assert done.returncode == 2 and words in done.stderr
