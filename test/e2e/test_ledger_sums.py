"""The resident memory of several processes together, and how much of it is not explained."""

import json
import os
import re

import pytest

MIB = 1 << 20


def sums_by_kind(ledger, column):
    kinds = {}
    for line in ledger["lines"]:
        kinds[line["kind"]] = kinds.get(line["kind"], 0) + line[column]
    return kinds


@pytest.fixture(scope="module")
def family(dist, heapscope, target, tmp_path_factory):
    """The recording of sharing_family.c, with a file of 8 MiB, and the names of the program and the file."""
    folder = tmp_path_factory.mktemp("family")
    mapped, file = folder / "mapped", folder / "family.pftrace"
    mapped.write_bytes(os.urandom(8 * MIB))
    program = target("sharing_family")
    # Each snapshot of a process that was not read for a second reads its memory.
    done = heapscope("run", "-q", "-i", "1", "--dump-every", "300ms", "-o", file, "--", "/bin/sh", "-c", 'sleep 2.5 | exec "$0" "$1"', program, mapped)
    assert done.returncode == 0, done.stderr
    return file, str(program), str(mapped)


def test_shared_memory_counts_once(report, family):
    file, program, mapped = family
    whole = report(file)
    processes = [p for p in whole["processes"] if p["exe"] == program]
    assert len(processes) == 5
    ledger = whole["ledger"]
    named = {line["name"]: line for line in ledger["lines"] if line["kind"] == "file" and line["name"] == mapped}
    assert named[mapped]["rss_bytes"] == 5 * 8 * MIB
    # PSS is rounded for each mapping.
    assert abs(named[mapped]["pss_bytes"] - 8 * MIB) < 32768
    # One process has mapped it, and the others have inherited it.
    shared = [line for line in ledger["lines"] if line["kind"] == "mmap" or line.get("name") == "/dev/zero (deleted)"]
    assert 0 <= sum(line["rss_bytes"] for line in shared) - 5 * 4 * MIB < 32768
    assert abs(sum(line["pss_bytes"] for line in shared) - 4 * MIB) < 32768
    held = sums_by_kind(ledger, "rss_bytes")["malloc_large"]
    assert 5 * MIB <= held <= 5 * MIB + 65536
    # What nobody shares is the same in both.
    assert held - 65536 < sums_by_kind(ledger, "pss_bytes")["malloc_large"] <= held
    for column in ("rss_bytes", "pss_bytes", "swap_bytes"):
        assert ledger[column] == sum(p["ledger_sums"][column] for p in whole["processes"] if "ledger_sums" in p)
    assert ledger["process_count"] == len([p for p in whole["processes"] if "ledger_sums" in p]) >= 5


def test_several_processes_in_words(heapscope, family):
    file, program, mapped = family
    said = heapscope("report", "--rss", file).stdout
    assert re.search(r"^ +PSS +share +RSS +consists of$", said, re.M), said
    assert re.search(rf"^ +8\.\d\d MiB +\d+\.\d % +40\.0 MiB +{re.escape(mapped)}$", said, re.M), said
    table = said[said.index("\nProcesses"):]
    assert len(re.findall(rf"^ .*MiB .* s +\d+ +{re.escape(program)}", table, re.M)) == 5
    summary = " ".join(heapscope("report", file).stdout.split())
    assert re.search(r"\n  resident +\d\d\.\d MiB +PSS of \d processes; the sum of RSS is \d\d\.\d MiB\n",
                     heapscope("report", file).stdout)
    pss, rss = re.search(r"([\d.]+) MiB were resident in \d processes, each at its last reading, with shared memory "
                         r"divided among them \(PSS; the sum of RSS is ([\d.]+) MiB\)", summary).groups()
    assert 12 + 5 < float(pss) < 12 + 5 + 8 and float(rss) >= 5 * 12 + 5




EARLY_PEAK = """import mmap, tempfile, time
kept = b"y" * (8 << 20)
file = tempfile.TemporaryFile()  # in no heap
file.truncate(40 << 20)
big = mmap.mmap(file.fileno(), 40 << 20)
for i in range(40):
    big.write(b"x" * (1 << 20))
time.sleep(1)
big.close()
more = b"z" * (16 << 20)  # the most that is live is later than the most that is resident
time.sleep(2)"""


def test_peak_of_rss_is_not_that_of_blocks(run, heapscope):
    done = run(["/usr/bin/python3", "-c", EARLY_PEAK], "--dump-every", "300ms")
    whole = done.report()
    ledger, peak = whole["ledger"], whole["rss_peak_ledger"]
    assert peak["rss_bytes"] > ledger["rss_bytes"] + 16 * MIB
    assert peak["read_to_seconds"] < ledger["read_from_seconds"]
    words = " ".join(heapscope("report", "--rss", done.file).stdout.split())
    assert re.search(r"RSS share PSS RSS peak consists of", words)
    both = r"RSS was highest [\d.]+ m?s after the start \([\d.]+ MiB\), live blocks [\d.]+ m?s after the start \([\d.]+ MiB\)"
    assert re.search(both, words) and re.search(both, " ".join(heapscope("report", done.file).stdout.split()))
    process, = whole["processes"]
    assert process["peak_at_seconds"] > peak["read_to_seconds"] and "at a moment between" not in words
    row = re.search(r"([\d.]+) MiB [\d.]+ % [\d.]+ MiB ([\d.]+) MiB in all", words)
    assert float(row[1]) == pytest.approx(ledger["rss_bytes"] / MIB, rel=0.01)
    assert float(row[2]) == pytest.approx(peak["rss_bytes"] / MIB, rel=0.01)


def test_limit_of_what_is_not_explained(run, heapscope, target, tmp_path):
    """known_memory.c has 5 MiB of anonymous memory without a name, and little else."""
    (tmp_path / "mapped").write_bytes(os.urandom(4 * MIB))
    done = run(["/bin/sh", "-c", 'sleep 1.5 | exec "$0" "$1"', target("known_memory", "-pthread"), tmp_path / "mapped"],
               "--dump-every", "300ms", "--heaps", "libc.malloc")  # the heap mmap would explain it
    pid = next(p["pid"] for p in done.report()["processes"] if "/known_memory-" in p["exe"])
    ledger = done.report("--pid", pid)["ledger"]
    lines = [line for line in ledger["lines"] if not line["is_explained"]]
    assert {line["kind"] for line in lines} <= {"anonymous", "brk"} and not any("name" in line for line in lines)
    assert ledger["unexplained_bytes"] == sum(line["rss_bytes"] for line in lines) + ledger["changed_bytes"]
    assert 5 * MIB <= ledger["unexplained_bytes"] <= 5 * MIB + 512 * 1024
    words = heapscope("report", "--rss", "--pid", pid, done.file).stdout
    assert re.search(r"5\.\d\d MiB +1\d\.\d % .*not explained", words), words
    for limit, status in (("6M", 0), ("5M", 1), ("40%", 0), ("10%", 1)):
        said = heapscope("check", "--max-unexplained", limit, done.file)
        assert said.returncode == status, said.stdout
        assert "resident memory that is not explained: " in said.stdout
    limits = tmp_path / "limits"
    limits.write_text("max-unexplained 10%\n")
    junit = tmp_path / "junit.xml"
    said = heapscope("check", "--limits", limits, "--json", "--junit", junit, done.file)
    row, = json.loads(said.stdout)["files"][0]["limits"]
    assert said.returncode == 1 and row["name"] == "max-unexplained" and row["limit_share"] == 0.1
    assert row["verdict"] == "fail" and "max-unexplained" in junit.read_text()
    answer = heapscope("query", "--format", "json", done.file,
                       "SELECT sum(abs(rss_bytes)) AS b FROM heapscope_ledger l JOIN heapscope_processes p "
                       f"ON p.last_dump_id = l.dump_id AND p.pid = {pid} WHERE NOT is_explained AND NOT is_rss_peak")
    assert json.loads(answer.stdout) == [{"b": ledger["unexplained_bytes"]}]


def test_limit_with_processes_that_ended_too_soon(run, heapscope):
    """Nothing is known of their memory; it may all be without an explanation."""
    done = run(["/bin/sh", "-c", "/bin/sleep 0.01; sleep 1.2; exit 0"], "--dump-every", "300ms")
    ledger = done.report()["ledger"]
    assert ledger["missing_process_count"] > 0
    limit = ledger["unexplained_bytes"]
    assert heapscope("check", "--max-unexplained", limit, done.file).returncode == 0
    strict = heapscope("check", "--strict", "--max-unexplained", limit, done.file)
    assert strict.returncode == 1 and "ended too soon" in strict.stdout
    assert heapscope("check", "--max-unexplained", limit - 1, done.file).returncode == 1


def test_one_process_of_several_in_words(run, heapscope):
    """Of two processes, one ends too soon: the other one is no plural."""
    code = "import subprocess, time; subprocess.run(['/bin/true']); time.sleep(1.2)"
    done = run(["/usr/bin/python3", "-c", code], "--dump-every", "300ms")
    assert done.report()["ledger"]["missing_process_count"] == 1
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert re.search(r" PSS of one process; its RSS is [\d.]+ MiB ", text), text
    assert re.search(r"were resident in one process at its last reading, .* \(PSS; RSS is [\d.]+ MiB\): ", text), text


def test_limit_without_a_ledger(run, heapscope):
    done = run(["/bin/true"])
    said = heapscope("check", "--max-unexplained", "50%", done.file)
    assert said.returncode == 1 and "does not say what the resident memory consists of" in said.stdout


@pytest.mark.parametrize("value", ["much", "5%%", "-1"])
def test_limit_that_makes_no_sense(heapscope, value):
    done = heapscope("check", "--max-unexplained", value, "x")
    assert done.returncode == 2 and "is neither a share" in done.stderr
