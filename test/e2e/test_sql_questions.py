"""The queries of docs/SQL.md, on a recording with known figures: the printed queries work, and give
the right answers."""

import json
import pathlib
import re
import sqlite3
import subprocess

import pytest
from conftest import ROOT, clean_env
from recordings import listed
from waiting import wait_until

TEXT = (ROOT / "docs" / "SQL.md").read_text().split("## Questions people ask")[1]
QUESTIONS = {title: sql for title, sql in re.findall(r"### (.+?)\n(?:(?!###).)*?```sql\n(.*?)```", TEXT, re.S)}


class Recorded:
    """How `heapscope run` identifies itself in the list: for listed()."""

    def __init__(self, process):
        self.process = process


def record(dist, heapscope, target, folder):
    """phases.c, dumped after phases 0 and 1, and at its end after phase 2. Returns the file."""
    file = folder / "phases.pftrace"
    command = [dist / "bin/heapscope", "run", "-q", "-i", "1", "--dump-on-usr1", "-o", file, "--", target("phases")]
    with subprocess.Popen(list(map(str, command)), env=clean_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            process.stdout.readline()
            for phase in range(3):
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.stdout.readline() == f"{phase}\n"
                if phase < 2:
                    process.send_signal(10)
                    wait_until(lambda: listed(heapscope, Recorded(process))["sessions"][0]["dump_count"] > phase)
            process.stdin.close()
            assert process.wait(60) == 0
        finally:
            process.kill()
    return file


@pytest.fixture(scope="module")
def ask(dist, heapscope, target, tmp_path_factory):
    """ask(SQL): the results of its statements, each a list of dicts."""
    file = record(dist, heapscope, target, tmp_path_factory.mktemp("questions"))

    def call(sql):
        done = heapscope("query", "--format", "json", file, sql)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return [json.loads(part) for part in re.split(r"(?<=\])\n(?=\[)", done.stdout.strip())]

    call.file = file
    call.report = lambda: heapscope("report", "--json", file).stdout
    return call


def of_sites(rows, *columns, name="name"):
    return {r[name]: tuple(r[c] for c in columns) for r in rows if str(r[name]).startswith("site_")}


def test_there_are_some():
    assert len(QUESTIONS) == TEXT.count("```sql") == TEXT.count("\n### ") >= 17


@pytest.mark.parametrize("title", QUESTIONS)
def test_every_question_has_an_answer(ask, title):
    results = ask(QUESTIONS[title])
    # This program has one heap and loses nothing, and its recording has no limit on the overhead: test_heaps.py and
    # test_recording_facts.py ask of others.
    may_be_empty = any(words in title for words in ("missing", "inside others", "lost", "cost"))
    assert all(len(r) > 0 for r in results) or may_be_empty
    assert all(None not in row.values() for r in results for row in r), results


def test_answers_that_are_known_to_the_byte(ask):
    def answer(title):
        return ask(QUESTIONS[title])[0]

    assert of_sites(answer("What grew between two dumps?"), "grew_bytes", "grew_objects") == {
        "site_phase0": (-10000, -100), "site_phase1": (10100, 100)}
    assert of_sites(answer("Which allocations are temporary?"), "freed_bytes", "freed_objects", "percent_of_its_own") == {
        "site_phase0": (20000, 200, 100), "site_phase1": (20200, 200, 100), "site_phase2": (10200, 100, 50)}
    assert of_sites(answer("How large are the objects?"), "mean_bytes", "objects") == {
        "site_phase0": (100, 200), "site_phase1": (101, 200), "site_phase2": (102, 200)}
    assert of_sites(answer("What is older than a dump?"), "old_bytes_at_least") == {}
    program = pathlib.Path(answer("How much does each process allocate?")[0]["name"]).name
    modules = {pathlib.Path(r["module"]).name: r for r in answer("What was never freed, by program and library?")}
    assert next(r["leaked_bytes"] for m, r in modules.items() if m.startswith(program[:6])) == 10200
    libraries = {pathlib.Path(r["library"]).name: r for r in answer("How much does each library allocate?")}
    mine = next(r for m, r in libraries.items() if m.startswith(program[:6]))
    assert (mine["alloc_bytes"], mine["live_bytes"]) == (60600, 10200)
    thread, = answer("What is the share of one thread?")
    process, = answer("How much does each process allocate?")
    assert thread["percent"] == 100 and thread["live_bytes"] == process["live_bytes"]
    stack = next(r for r in answer("Stacks as text") if r["stack"].endswith("site_phase2"))
    assert stack["live_bytes"] == 10200 and ";main;" in stack["stack"]
    change = answer("How did one function change from dump to dump?")
    assert [r["idx"] for r in change] == [0, 1, 2]
    assert [b["alloc_bytes"] - a["alloc_bytes"] for a, b in zip(change, change[1:])] == [20200, 20400]


def test_answers_hold_together(ask):
    peak = ask(QUESTIONS["Who holds the peak?"])[0]
    assert 99 <= sum(r["percent"] for r in peak) <= 101
    losses, faults, sure = ask(QUESTIONS["Is anything missing, and how sure are the figures?"])
    assert losses == faults == [] and len(sure) == 3
    assert all(r["live_bytes_low"] == r["live_bytes"] == r["live_bytes_high"] for r in sure)
    for row in ask(QUESTIONS["How much memory is not the program's objects?"])[0]:
        assert 0 < row["live_bytes"] < row["rss_anon_bytes"]
    for row in ask(QUESTIONS["What is the resident memory made of, over time?"])[0]:
        assert row["anon_bytes"] > 0 and row["file_bytes"] > 0 and row["shmem_bytes"] >= 0
    lines = ask(QUESTIONS["What does the resident memory consist of?"])[0]
    report = json.loads(ask.report())
    assert {(r["kind"], r["name"], r["rss_bytes"]) for r in lines if r["kind"] != "changed"} == {
        (line["kind"], line.get("name", ""), line["rss_bytes"]) for line in report["ledger"]["lines"]}
    assert 99 <= sum(r["percent"] for r in lines) <= 101
    row, = ask(QUESTIONS["How much of the resident memory is not explained?"])[0]
    assert (row["rss_bytes"], row["unexplained_bytes"]) == (report["ledger"]["rss_bytes"], report["ledger"]["unexplained_bytes"])
    kinds = ask(QUESTIONS["What of the resident memory grew between the first and the last dump?"])[0]
    assert {r["kind"] for r in kinds} >= {"malloc_used", "code", "stack"}
    rates = of_sites(ask(QUESTIONS["Who allocates fastest?"])[0], "bytes_per_second", name="function")
    assert rates["site_phase2"][0] / rates["site_phase0"][0] == pytest.approx(1.02)
    dumps = {r["ns"] for r in ask(QUESTIONS["What did the counters say at each dump?"])[0] if r["name"] == "mem.rss.anon"}
    assert len(dumps) == 3


# --- the trace as a whole ---


def test_bounds(ask):
    row, = ask("SELECT start_ts, end_ts, trace_start() AS s, trace_end() AS e, trace_dur() AS d FROM trace_bounds")[0]
    assert (row["s"], row["e"], row["d"]) == (row["start_ts"], row["end_ts"], row["end_ts"] - row["start_ts"])
    assert 0 < row["d"] < 600e9
    assert ask("SELECT count(*) AS n FROM counter WHERE ts NOT BETWEEN trace_start() AND trace_end()")[0] == [{"n": 0}]
    assert ask("SELECT count(*) AS n FROM heap_profile WHERE ts < trace_start() OR ts_end > trace_end()")[0] == [{"n": 0}]


def test_arguments_of_rows(ask):
    sql = ("SELECT count(*) AS n, count(extract_arg(arg_set_id, 'a')) AS args FROM process; SELECT extract_arg(1, 'a') AS a; "
           "SELECT count(*) AS n FROM args; SELECT count(*) AS n FROM __intrinsic_args")
    assert [r[0] for r in ask(sql)] == [{"n": ask("SELECT count(*) AS n FROM process")[0][0]["n"], "args": 0}, {"a": None},
                                        {"n": 0}, {"n": 0}]


@pytest.mark.parametrize("unit, ns", [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9), ("min", 60 * 10**9),
                                      ("hours", 3600 * 10**9), ("days", 86400 * 10**9)])
def test_units_of_time(ask, unit, ns):
    sql = f"INCLUDE PERFETTO MODULE time.conversion; SELECT time_from_{unit}(7) AS f, time_to_{unit}({3 * ns}) AS t, "
    assert ask(sql + f"time_from_{unit}(NULL) AS n, time_to_{unit}(NULL) AS m")[0] == [
        {"f": 7 * ns, "t": 3, "n": None, "m": None}]


def test_a_time_that_is_too_long(ask, heapscope):
    done = heapscope("query", ask.file, "SELECT time_from_days(9223372036854775807)")
    assert done.returncode == 1 and "integer overflow" in done.stderr


def test_a_database_without_bounds(heapscope, tmp_path):
    db = sqlite3.connect(tmp_path / "x.db")
    db.execute("CREATE TABLE args(arg_set_id, key, int_value, string_value, real_value)")
    db.execute("INSERT INTO args VALUES(3, 'a', NULL, 'text', NULL), (3, 'b', 5, NULL, NULL)")
    db.commit()
    done = heapscope("query", "--format", "csv", tmp_path / "x.db", "SELECT extract_arg(3, 'a') x, extract_arg(3, 'b') y")
    assert done.stdout == '"x","y"\n"text",5\n'
    done = heapscope("query", tmp_path / "x.db", "SELECT trace_start()")
    assert done.returncode == 1 and "no such table: trace_bounds" in done.stderr


def test_bounds_of_an_exported_database(ask, heapscope, tmp_path):
    out = tmp_path / "x.sqlite"
    assert heapscope("export", "-q", ask.file, "-o", out).returncode == 0
    sql = "SELECT trace_start() AS s, trace_dur() AS d"
    assert json.loads(heapscope("query", "--format", "json", out, sql).stdout) == ask(sql)[0]
