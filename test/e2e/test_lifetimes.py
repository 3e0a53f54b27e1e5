"""Lifetimes of freed blocks: `--lifetimes`, `report --lifetimes`, and heapscope_lifetimes."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace

HELD, HELD_MS = 100, 1300
# The function that allocated: of nodes n, p and q, from the inside.
CALLER = "CASE WHEN n.name = 'malloc' AND p.name = 'made' THEN q.name WHEN n.name IN ('malloc', 'realloc', 'made') THEN p.name ELSE n.name END"


def rows_of(report, key="lifetimes"):
    """By the function that allocated."""
    rows = {}
    for row in report[key]["stacks"]:
        name = next((f["function"] for f in row["frames"] if f["function"] not in ("malloc", "realloc", "made")), "")
        rows[name] = row
    return rows


def query(heapscope, file, sql):
    done = heapscope("query", "--format", "json", file, sql)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lifetimes(run, *options):
    return run.report("--lifetimes", "--top", "all", *options)


@pytest.fixture(scope="module")
def known(heapscope, report, target, tmp_path_factory):
    """A program whose lifetimes are known, of which all is recorded."""
    file = tmp_path_factory.mktemp("known lifetimes") / "x.pftrace"
    done = heapscope("run", "-q", "-i", 1, "--lifetimes", "-o", file, "--", target("lifetimes", "-pthread"), "known", HELD_MS)
    assert done.returncode == 0, done.stderr
    sum_ms, count = map(int, done.stdout.split())
    assert count == HELD

    class Known:
        path = file
        held_ms = sum_ms

        @staticmethod
        def report(*options):
            return report(file, *options)
    return Known


def test_blocks_and_temporary_ones(known):
    rows = rows_of(lifetimes(known))
    freed = {name: (row["freed"]["count"], row["temporary"]["count"]) for name, row in rows.items()}
    assert freed["at_once"] == (1000, 1000)
    assert freed["behind_one"] in ((1000, 500), (500, 500), (500, 0))  # two lines, of which one row may be left
    assert freed["queue"] == (390, 0)
    # The first block is malloc's, and each realloc ends the block before.
    assert freed["grow"][0] in (199, 1) and freed["grow"][0] == freed["grow"][1]
    assert freed["fail"] == (0, 0)
    assert freed["hold"] == (HELD, 1)  # the last one


def test_more_allocations_in_between(heapscope, known):
    """Each class by itself, over all stacks of a function."""
    rows = query(heapscope, known.path, f"""
        SELECT {CALLER} AS name, l.between_max, sum(l.count) AS count FROM heapscope_lifetimes l
        JOIN heapscope_nodes n ON n.id = l.node_id JOIN heapscope_nodes p ON p.id = n.parent_id
        JOIN heapscope_nodes q ON q.id = p.parent_id WHERE l.kind = 'temporary' GROUP BY 1, 2""")
    found = {(row["name"], row["between_max"]): row["count"] for row in rows}
    assert found[("at_once", 0)] == 1000
    assert found[("behind_one", 0)] == found[("behind_one", 1)] == 500
    assert found[("queue", 15)] == 390  # 10 others
    assert ("hold", 127) in found and found[("hold", 127)] <= HELD
    totals = [lifetimes(known, "--temporary", n)["lifetimes"]["temporary"]["count"] for n in (0, 1, 3, 7, 15, 31, 63, 127)]
    assert totals == sorted(totals)
    assert totals[1] - totals[0] == 501 and totals[4] - totals[3] >= 390


def test_times(known):
    report = lifetimes(known)
    row = rows_of(report)["hold"]
    # The coarse clock's resolution is at most 10 ms, and it is read for each block.
    assert row["lifetime_object_ms"] == pytest.approx(known.held_ms, abs=HELD * 10 + HELD)
    assert row["lifetime_byte_ms"] == 200 * row["lifetime_object_ms"]
    mean_ms = row["lifetime_object_ms"] / HELD
    assert (row["mean_lifetime_ms"], row["mean_lifetime_low_ms"], row["mean_lifetime_high_ms"]) == (mean_ms, mean_ms - 10, mean_ms + 10)
    assert rows_of(report)["at_once"]["mean_lifetime_ms"] < 1


def test_survival(known):
    rows = rows_of(lifetimes(known))
    assert rows["at_once"]["survival"]["1h"] == {"share": 0, "low": 0, "high": 0}
    assert rows["hold"]["survival"]["1s"] == {"share": 1, "low": 1, "high": 1}
    assert "1min" not in rows["hold"]["survival"] or rows["hold"]["survival"]["1min"]["share"] == 0


def test_a_failed_realloc_ends_nothing(known):
    row = rows_of(lifetimes(known))["fail"]
    assert row["alloc"]["count"] == 1 and row["freed"]["count"] == 0 and row["unknown_lifetime"]["count"] == 0


def expect_sums(heapscope, file):
    """In each dump and of each stack: allocated = live + freed. Returns how many blocks have unknown lifetimes."""
    wrong = query(heapscope, file, """
        WITH freed AS (SELECT dump_id, node_id, heap_name, sum(bytes) AS bytes, sum(count) AS count
                       FROM heapscope_lifetimes WHERE kind = 'lifetime' GROUP BY 1, 2, 3)
        SELECT s.dump_id, s.node_id, s.alloc_bytes, s.live_bytes, f.bytes, s.alloc_count, s.live_count, f.count
        FROM heapscope_samples s LEFT JOIN freed f USING (dump_id, node_id, heap_name)
        WHERE s.alloc_bytes <> s.live_bytes + ifnull(f.bytes, 0) OR s.alloc_count <> s.live_count + ifnull(f.count, 0)""")
    assert not wrong
    unknown = query(heapscope, file, "SELECT dump_id, sum(count) AS n FROM heapscope_lifetimes "
                                     "WHERE kind = 'lifetime' AND from_ms IS NULL AND heap_name <> 'mmap' GROUP BY 1 ORDER BY 1")
    return {row["dump_id"]: row["n"] for row in unknown}


@pytest.mark.costly
def test_sums_while_threads_free(heapscope, run, target):
    """Threads free each other's blocks while snapshots are taken."""
    done = run([target("lifetimes", "-pthread"), "churn", 3, 400000], "-i", 1, "--lifetimes", "--dump-every", "50ms")
    assert done.status == 0, done.stderr
    unknown = expect_sums(heapscope, done.file)
    dumps = query(heapscope, done.file, "SELECT id FROM heapscope_dumps ORDER BY id")
    assert len(dumps) > 3
    # At the end nothing is under way; before, at most one free of each thread, and of the loader's.
    assert unknown.get(dumps[-1]["id"], 0) == 0
    assert all(count <= 4 for count in unknown.values()), unknown


def test_sums_of_a_program_that_is_killed(heapscope, run, target):
    done = run(["sh", "-c", "kill -KILL $$"], "-i", 1, "--lifetimes")
    assert done.status == 137
    expect_sums(heapscope, done.file)


def test_a_forked_child(heapscope, run, target):
    done = run([target("lifetimes", "-pthread"), "fork"], "-i", 1, "--lifetimes")
    assert done.status == 0, done.stderr
    expect_sums(heapscope, done.file)
    rows = query(heapscope, done.file, f"""
        SELECT {CALLER} AS name, l.from_ms IS NULL AS is_unknown, sum(l.count) AS count FROM heapscope_lifetimes l
        JOIN heapscope_nodes n ON n.id = l.node_id JOIN heapscope_nodes p ON p.id = n.parent_id
        JOIN heapscope_nodes q ON q.id = p.parent_id
        WHERE l.kind = 'lifetime' AND {CALLER} IN ('own', 'inherited') GROUP BY 1, 2""")
    assert {(r["name"], r["is_unknown"]): r["count"] for r in rows} == {("own", 0): 10, ("inherited", 1): 10}


def test_sampled_figures_have_margins(heapscope, run, target):
    done = run([target("lifetimes", "-pthread"), "churn", 2, 300000], "--lifetimes")
    report = lifetimes(done)
    total = report["lifetimes"]
    assert total["freed"]["count_low"] < total["freed"]["count"] < total["freed"]["count_high"]
    alloc, live = report["totals"]["alloc"], report["totals"]["live"]
    assert total["freed"]["bytes"] == pytest.approx(alloc["bytes"] - live["bytes"], rel=0.01)
    said = heapscope("report", "--lifetimes", "--temporary", 1, done.file)
    assert said.returncode == 1 and "-i 1" in said.stderr and "--temporary 0" in said.stderr


def test_wrong_usage(heapscope, known):
    for options, words in ((["--temporary", 1], "--lifetimes"), (["--lifetimes", "--temporary", 2], "1, 3, 7"),
                           (["--lifetimes", "--tree"], "--tree"), (["--lifetimes", "--by", "age"], "--by")):
        done = heapscope("report", *options, known.path)
        assert done.returncode == 2 and words in done.stderr


def test_not_recorded(heapscope, run):
    done = run(["true"], "-i", 1)
    said = heapscope("report", "--lifetimes", done.file)
    assert said.returncode == 1 and "record with --lifetimes" in said.stderr and not said.stdout
    assert "Temporary" not in heapscope("report", done.file).stdout
    assert not query(heapscope, done.file, "SELECT * FROM heapscope_lifetimes")


def test_the_text(heapscope, known):
    text = heapscope("report", "--lifetimes", "--width", 200, known.path).stdout
    assert re.search(r"1,000\s+under 10\.0 ms\s+1,000\s+100\.0 %\s+0 %\s+0 %\s+0 %\s+made < at_once < main", text)
    text = heapscope("report", known.path).stdout
    assert text.count("Temporary: ") == 1 and "--lifetimes shows where" in text


# --- from start to end through other commands ---------------------------------------------------------------------


def temporary(done):
    return done.report("--lifetimes")["lifetimes"]["temporary"]["count"]


def test_through_the_daemon(daemon, heapscope, target):
    """A program that starts finds in the startup hint file that lifetimes are asked for; one that runs gets a new region."""
    program = target("lifetimes", "-pthread")
    name = daemon.begin("-n", "lifetimes-*", "-i", 1, "--lifetimes")
    assert daemon.session(name)["lifetimes"] is True
    assert "with lifetimes" in daemon.ask("list").stdout
    assert daemon.run([program, "known", "1"]) == 0
    done = daemon.stop(name)
    assert temporary(done) >= 1000
    assert not sum(expect_sums(heapscope, done.file).values())
    running = daemon.launch([program, "serve"])
    counts = []
    for options in ([], ["--lifetimes"], []):
        name = daemon.begin("-p", running.pid, "-i", 1, *options)
        assert daemon.session(name)["lifetimes"] is bool(options)
        running.process.stdin.write("x\n")
        running.process.stdin.flush()
        assert running.process.stdout.readline() == "done\n"
        done = daemon.stop(name)
        said = heapscope("report", "--json", "--lifetimes", done.file)
        counts.append(json.loads(said.stdout)["lifetimes"]["temporary"]["count"] if said.returncode == 0 else None)
    assert counts == [None, 1000, None]


def test_attached(attach, heapscope, report, target):
    need_ptrace()
    with subprocess.Popen([target("lifetimes", "-pthread"), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=clean_env(), text=True) as process:
        session = attach(process.pid, "-i", 1, "--lifetimes")
        assert session.is_recording, session.said
        process.stdin.write("x\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        assert session.stop() == 0, session.said
        process.stdin.close()
    assert report(session.file, "--lifetimes")["lifetimes"]["temporary"]["count"] == 1000


def test_record(heapscope, report, target, tmp_path):
    (tmp_path / "out").mkdir()
    done = heapscope("record", "-i", 1, "--lifetimes", "-o", tmp_path / "out", "--", target("lifetimes", "-pthread"), "known", 1)
    assert done.returncode == 0, done.stderr
    assert report(tmp_path / "out" / "raw-trace", "--lifetimes")["lifetimes"]["temporary"]["count"] >= 1000


# --- statistics ---------------------------------------------------------------------------------------------------


def is_inside(truth, low, high):
    return low - 0.5 <= truth <= high + 0.5


def outcome(run, target, seed, interval=4096):
    """Which of the figures are inside their intervals."""
    done = run([target("lifetimes", "-pthread"), "mixed", "1050"], "-i", interval, "--lifetimes", env={"HEAPSCOPE_SEED": seed})
    assert done.status == 0, done.stderr
    freed, at_once, mean_ms, old = map(float, done.stdout.split())
    total = done.report("--lifetimes", "--top", "1")["lifetimes"]
    survival = total["survival"]["1s"]
    return {
        "freed": is_inside(freed, total["freed"].get("count_low", total["freed"]["count"]), total["freed"].get("count_high", total["freed"]["count"])),
        "temporary": is_inside(at_once, total["temporary"]["count_low"], total["temporary"]["count_high"]),
        "mean": total["mean_lifetime_low_ms"] - 3 <= mean_ms <= total["mean_lifetime_high_ms"] + 3,
        "survival": survival["low"] <= old <= survival["high"],
    }


@pytest.mark.slow
def test_intervals_hold(run, target):
    """Of 200 runs, the intervals hold the truth in at least 95 %; each figure's own in 93 % (one run more or less is chance)."""
    runs = 200
    held = {}
    for seed in range(1, runs + 1):
        for figure, is_held in outcome(run, target, seed).items():
            held[figure] = held.get(figure, 0) + is_held
    assert sum(held.values()) >= 0.95 * runs * len(held), held
    assert all(count >= 0.93 * runs for count in held.values()), held


# --- other tools --------------------------------------------------------------------------------------------------

PROGRAMS = {
    "known": lambda target: [target("lifetimes", "-pthread"), "known", "20"],
    "sort": lambda target: ["sort", "--parallel=1", "/etc/services"],
    "bash": lambda target: ["bash", "-c", "for i in 1 2 3 4 5 6 7 8 9; do x=$x$i; done; echo $x"],
    "gawk": lambda target: ["awk", "{ n[$1] = n[$1] $2 } END { for (k in n) print k, n[k] }", "/etc/services"],
    "perl": lambda target: ["perl", "-e", "my %h; $h{$_ % 97} .= \"x$_\" for 1 .. 2000; print scalar keys %h"],
}


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_temporary_blocks_are_those_of_heaptrack(run, target, tmp_path, name):
    """The raw file of heaptrack has each call; what heaptrack_print says is computed from it, too."""
    program = PROGRAMS[name](target)
    done = run(program, "-i", 1, "--lifetimes")
    ours = lifetimes(done)["lifetimes"]
    raw = record_raw(program, tmp_path)
    exact, theirs, freed = count_temporary(raw)
    assert freed > 20
    said = heaptrack_says(program, tmp_path)
    # The programs allocate the same in each run, but for what the two tools' own libraries change.
    assert said == pytest.approx(theirs, abs=3 + theirs * 0.01)
    assert ours["temporary"]["count"] == pytest.approx(exact, abs=3 + exact * 0.01)


def record_raw(program, tmp_path):
    subprocess.run(["heaptrack", "--raw", "-o", tmp_path / "raw", *program], check=True, env=clean_env(),
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    file = next(tmp_path.glob("raw*"))
    tool = {".zst": "zstdcat", ".gz": "zcat"}[file.suffix]
    return subprocess.run([tool, file], check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout


def count_temporary(raw):
    """From heaptrack's record of calls: blocks that were freed with no allocation in between; and as heaptrack
    counts them: the free must be the first one after the allocation, but may be of another block of the same
    size and stack."""
    exact = theirs = freed = 0
    last = last_kind = None
    is_first = False
    kinds = {}
    for line in raw.splitlines():
        if line.startswith("+ "):
            size, trace, address = line.split()[1:4]
            last, last_kind, is_first = address, (size, trace), True
            kinds[address] = last_kind
        elif line.startswith("- "):
            address = line.split()[1]
            kind = kinds.pop(address, None)
            if kind is None:
                continue
            freed += 1
            exact += address == last
            theirs += is_first and kind == last_kind
            is_first = False
            last = None if address == last else last
    return exact, theirs, freed


def heaptrack_says(program, tmp_path):
    subprocess.run(["heaptrack", "-o", tmp_path / "whole", *program], check=True, env=clean_env(),
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    file = next(tmp_path.glob("whole*"))
    text = subprocess.run(["heaptrack_print", file], check=True, env=clean_env(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=120).stdout
    return int(re.search(r"temporary memory allocations: (\d+)", text).group(1))


# Programs that compute for a while, so that time is a share of the instructions as well.
COMPUTING = {
    "phases": lambda target: [target("lifetimes", "-pthread"), "phases", "150000000"],
    "perl": lambda target: ["perl", "-e", "my $s = 0; for my $i (1 .. 300) { my %h; $h{$_} = \"x$_\" for 1 .. 400; $s += keys %h; } print $s"],
    "bash": lambda target: ["bash", "-c", "for ((i = 0; i < 20000; i++)); do x=$i$i; y=${x/1/22}; done; echo $y"],
    "jq": lambda target: ["jq", "-n", "reduce range(60000) as $i (0; . + ([range(5)] | map(tostring) | add | length))"],
    "sqlite": lambda target: ["sqlite3", ":memory:", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
                              "SELECT count(DISTINCT printf('%d-%s', i % 997, hex(i))) FROM n"],
}


def dhat(program, tmp_path):
    """Of the stacks of which no block is left at the end: their blocks, and the mean lifetime as a share of the whole
    run. Then the number of all blocks."""
    file = tmp_path / "dhat.out"
    subprocess.run(["valgrind", "--tool=dhat", "--num-callers=100", "--run-libc-freeres=no", "--run-cxx-freeres=no",
                    f"--dhat-out-file={file}", *program], check=True, env=clean_env(),
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=190)
    found = json.loads(file.read_text())
    rows = [pp for pp in found["pps"] if pp["ebk"] == 0]
    blocks = sum(pp["tbk"] for pp in rows)
    return blocks, sum(pp["tl"] for pp in rows) / found["te"] / blocks, sum(pp["tbk"] for pp in found["pps"])


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
# Under valgrind, jq takes half a minute.
@pytest.mark.costly
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name == "jq" else ()) for name in sorted(COMPUTING)])
def test_lifetimes_are_those_of_dhat(run, target, tmp_path, name):
    program = COMPUTING[name](target)
    blocks, share, all_blocks = dhat(program, tmp_path)
    done = run(program, "-i", 1, "--lifetimes")
    report = lifetimes(done)
    rows = [row for row in report["lifetimes"]["stacks"] if row["freed"]["count"] and row["freed"]["count"] == row["alloc"]["count"]]
    count = sum(row["freed"]["count"] for row in rows)
    ours = sum(row["lifetime_object_ms"] for row in rows) / count / (report["duration_seconds"] * 1000)
    # heapscope's variables in the environment are blocks of perl and bash. A realloc begins a block in both.
    assert report["totals"]["alloc"]["count"] == pytest.approx(all_blocks, abs=30)
    # A stack is cut differently, so that a few have no block left here, and some there.
    assert count == pytest.approx(blocks, rel=0.05)
    # There, time is a number of instructions; here, recording each allocation takes some of it.
    assert 0.6 < ours / share < 1.6, (ours, share)
