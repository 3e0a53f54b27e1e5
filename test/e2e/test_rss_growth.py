"""Why the resident memory grew: `diff --rss`, on a program that grows for one reason after the other."""

import json
import os
import re
import signal
import subprocess

import pytest
from conftest import clean_env
from test_ledger import running
from waiting import let_time_pass, wait_for_snapshot

MIB = 1 << 20
CAUSES = ("held", "scattered", "retained", "mapped", "anonymous", "shared", "stacks", "files", "arenas")
PARTS = {"mapped": "mmap", "held": "malloc_held", "scattered": "malloc_free", "retained": "malloc_free", "arenas": "malloc_free"}


class Growing:
    """rss_grows.c, attached to: do(WORD) makes it grow, and takes a snapshot."""

    def __init__(self, heapscope, process, folder):
        self.heapscope, self.process, self.folder, self.count = heapscope, process, folder, 0

    def snapshot(self):
        self.count += 1
        file = self.folder / f"{self.count}.pftrace"
        done = self.heapscope("snapshot", "-p", self.process.pid, "-o", file)
        assert done.returncode == 0, done.stderr
        return file

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"
        return self.snapshot()


def grow(dist, heapscope, target, folder, words, **env):
    """The snapshot before and after each word."""
    mapped = folder / "mapped"
    mapped.write_bytes(os.urandom(12 * MIB))
    with running(target("rss_grows", "-pthread"), mapped, **env) as process:
        recording = subprocess.Popen([dist / "bin" / "heapscope", "attach", str(process.pid), "-q", "-o",
                                      folder / "x.pftrace"], env=clean_env())
        try:
            wait_for_snapshot(heapscope, process.pid, folder / "0.pftrace")
            growing = Growing(heapscope, process, folder)
            before = growing.snapshot()
            pairs = {}
            for word in words:
                after = growing.do(word)
                pairs[word] = before, after
                before = after
        finally:
            recording.send_signal(signal.SIGINT)
            recording.wait(60)
    return pairs


@pytest.fixture(scope="module")
def pairs(dist, heapscope, target, tmp_path_factory):
    return grow(dist, heapscope, target, tmp_path_factory.mktemp("grows"), CAUSES)


def resident(heapscope, pair):
    return json.loads(heapscope("diff", "--rss", "--json", *pair).stdout)["resident"]


@pytest.mark.costly
@pytest.mark.parametrize("cause", CAUSES)
def test_cause(heapscope, pairs, cause):
    found = resident(heapscope, pairs[cause])
    assert found["cause"] == cause and found["measure"] == "rss" and found["is_whole"], found["verdict"]
    parts = {row["part"]: row["after_bytes"] - row["before_bytes"] for row in found["parts"]}
    grew = found["after_bytes"] - found["before_bytes"]
    assert parts[PARTS.get(cause, cause)] == max(parts.values()) > 0.8 * grew > 8 * MIB
    changed = [abs(sum(parts.values()) - grew), abs(sum(row["after_bytes"] - row["before_bytes"] for row in found["lines"]) - grew)]
    assert max(changed) < MIB
    words = heapscope("diff", "--rss", *pairs[cause]).stdout
    assert re.search(r"Resident memory grew by \d+\.\d MiB: .* \+\d+\.\d MiB", words), words
    # The parts and the same advice are in the comparison of blocks, and in its JSON.
    blocks = " ".join(heapscope("diff", *pairs[cause]).stdout.split())
    advice = found["verdict"].split("iB. ", 1)[1:]
    assert all(part in blocks for part in advice) and len(advice) == (cause not in ("shared", "files"))
    assert json.loads(heapscope("diff", "--json", *pairs[cause]).stdout)["resident"] == found


@pytest.mark.costly
def test_names_of_lines(heapscope, pairs):
    words = heapscope("diff", "--rss", *pairs["files"]).stdout
    assert re.search(r"\+12\.0 MiB +0 B +12\.0 MiB +mapped files: /.*/mapped$", words, re.M), words
    words = heapscope("report", "--rss", "--base", *pairs["files"]).stdout
    assert re.search(r"\+12\.0 MiB +0 B +12\.0 MiB +mapped files: /.*/mapped$", words, re.M), words


def test_arenas_and_their_remedy(dist, heapscope, target, tmp_path, pairs):
    """The setting that the text names works: the threads use the same memory one after the other."""
    many = resident(heapscope, pairs["arenas"])
    assert many["arenas_after"] >= many["arenas_before"] + 7 and "MALLOC_ARENA_MAX=2" in many["verdict"]
    pair, = grow(dist, heapscope, target, tmp_path, ["arenas"], MALLOC_ARENA_MAX=2).values()
    few = resident(heapscope, pair)
    assert few["cause"] != "arenas" and few["arenas_after"] <= 2
    assert few["after_bytes"] - few["before_bytes"] < 0.5 * (many["after_bytes"] - many["before_bytes"])


def test_trim_and_its_remedy(dist, heapscope, target, tmp_path):
    """What malloc_trim() is said to give back, it does."""
    retained, trimmed = grow(dist, heapscope, target, tmp_path, ["retained", "trim"]).values()
    grew, fell = resident(heapscope, retained), resident(heapscope, trimmed)
    assert grew["trim_bytes"] > 8 * MIB and "malloc_trim(0) would give back" in grew["verdict"]
    assert fell["before_bytes"] - fell["after_bytes"] == pytest.approx(grew["trim_bytes"], rel=0.05)
    assert fell["cause"] == "retained" and "shrank" in fell["verdict"]


def test_trend(dist, heapscope, target, tmp_path):
    """Each second the program needs 3 MiB more than before at once, and frees it: RSS grows, and its blocks do not."""
    file = tmp_path / "x.pftrace"
    command = [dist / "bin/heapscope", "run", "-q", "-i", "1", "--dump-every", "1s", "-o", file, "--",
               target("rss_grows", "-pthread")]
    with subprocess.Popen(list(map(str, command)), env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(8):
            process.stdin.write("more\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            let_time_pass(0.8, "the trend is over time, and readings are a second apart")
        process.stdin.close()
        assert process.wait(60) == 0
    whole = json.loads(heapscope("diff", "--trend", "--rss", "--json", file).stdout)
    found = whole["resident"]
    readings, parts = found["readings"], {row["part"]: row for row in found["parts"]}
    assert len(readings) >= 4 and whole["pid"] > 0
    assert parts["malloc_free"]["steps_down"] == 0 and parts["malloc_free"]["steps_up"] >= 3
    assert readings[-1]["malloc_free"] - readings[0]["malloc_free"] > 8 * MIB
    for row in readings:
        assert abs(sum(row[part] for part in parts) - row["rss_bytes"]) < 65536
        assert row["malloc_held"] < 4 * MIB and row["live_bytes"] < 16 * MIB  # 12 of them are mapped
    assert found["rss"]["low"] <= found["rss"]["per_second"] <= found["rss"]["high"]
    two = resident(heapscope, (f"{file}@0", file))
    assert (two["before_bytes"], two["after_bytes"]) == (readings[0]["rss_bytes"], readings[-1]["rss_bytes"])
    assert two["cause"] == "retained"
    # With fewer readings, from a machine that hardly ran, Student's t proves little.
    if len(readings) >= 6:
        assert found["cause"] == "retained" and found["rss"]["verdict"] == "grows"
        assert "Most of that is no leak" in found["verdict"]
        assert "+" in heapscope("diff", "--trend", "--rss", file).stdout
    words = heapscope("diff", "--trend", "--rss", file).stdout
    assert len(re.findall(r"^ +(?:0 ns|[\d.]+ m?s) +[\d.]+ MiB", words[words.index("\nReadings"):], re.M)) == len(readings)
    assert found["verdict"] in " ".join(words.split())
    assert found["verdict"] in " ".join(heapscope("diff", "--trend", file).stdout.split())
    assert json.loads(heapscope("diff", "--trend", "--json", file).stdout)["resident"] == found


def test_trend_of_several_processes(dist, heapscope, tmp_path):
    """Of a program and three children, one child grows; another one ends after half of the time."""
    program = tmp_path / "children.py"
    program.write_text("""import os, time
children = []
for child in range(3):
    children.append(os.fork())
    if children[-1] == 0:
        kept = []
        for _ in range(4 if child == 0 else 8):
            kept.append(b"x" * (1500000 if child == 1 else 5000))
            time.sleep(0.7)
        os._exit(0)
for pid in children:
    os.waitpid(pid, 0)
""")
    file = tmp_path / "x.pftrace"
    done = heapscope("run", "-q", "--dump-every", "1s", "-o", file, "--", "/usr/bin/python3", program)
    assert done.returncode == 0, done.stderr
    whole = json.loads(heapscope("diff", "--trend", "--rss", "--json", file).stdout)
    found = whole["resident"]
    assert found["measure"] == "pss" and len(whole["processes"]) == 4
    fastest = max((row for row in whole["processes"] if "per_second" in row), key=lambda row: row["per_second"])
    assert fastest["verdict"] == "grows" and fastest["per_second"] > 1e6
    counts = [row["processes"] for row in found["readings"]]
    assert 4 in counts and counts[-1] == 3
    assert found["pss"]["per_second"] == pytest.approx(fastest["per_second"], rel=0.5)
    for row in found["readings"]:
        assert abs(sum(row[part["part"]] for part in found["parts"]) - row["pss_bytes"]) < 65536 * row["processes"]
    words = heapscope("diff", "--trend", "--rss", file).stdout
    went = f"The number of processes went from {counts[0]} to 3."
    assert "(PSS): 4 processes" in words and (went in " ".join(words.split()) or counts[0] == 3)
    assert re.search(rf"grows +\S+ \({fastest['pid']}\)", words)
    one = json.loads(heapscope("diff", "--trend", "--rss", "--json", "--process", fastest["pid"], file).stdout)
    assert one["pid"] == fastest["pid"] and one["resident"]["measure"] == "rss"
    asked = heapscope("diff", "--trend", file)
    assert asked.returncode == 1 and "choose it with --process PID" in asked.stderr


def test_trend_without_readings(run, heapscope):
    done = heapscope("diff", "--trend", "--rss", run(["/bin/true"]).file)
    assert done.returncode == 1 and "a trend of resident memory needs 3 snapshots" in done.stderr


def test_without_ledgers(run, heapscope):
    file = run(["/bin/true"]).file
    done = heapscope("diff", "--rss", file, file)
    assert done.returncode == 0 and "does not say what its resident memory consisted of" in done.stdout
    assert "resident" not in json.loads(heapscope("diff", "--rss", "--json", file, file).stdout)


@pytest.mark.parametrize("other", [["--normalize"], ["--heap", "x"], ["--view", "space"], ["--tree"],
                                   ["--format", "pprof"]])
def test_what_does_not_go_with_it(heapscope, other):
    done = heapscope("diff", "--rss", *other, "a", "b", "-o", "x")
    assert done.returncode == 2 and "--rss cannot be shown together with" in done.stderr
