"""When something was lost and what the recording cost: every command shows it, or reads a file that has it, and keeps it when
it rewrites or appends to the file.

The program loses allocations in two bursts, a second apart; a limit on the overhead makes the recording time itself.
"""

import json
import re
import sqlite3
import subprocess
import tarfile

import pytest
from conftest import clean_env
from page_rows import write_page
from test_sql_questions import QUESTIONS

# Loses nothing in the first second, then in two bursts, the last of which ends the program.
BURSTS = """
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
static void rest(void) { nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL); }
static void burst(int count)
{
    for (int i = 0; i < count; i++) {
        __asm__ volatile("" ::"r"(malloc(16)) : "memory");
    }
}
int main(void)
{
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ 120000 << 10, 120000 << 10 }) != 0) {
        return 1;
    }
    rest();
    burst(1000000);
    rest();
    burst(1000);
    return 0;
}
"""


@pytest.fixture(scope="module")
def file(dist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("facts")
    program, path = folder / "bursts", folder / "bursts.pftrace"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=BURSTS, text=True, check=True)
    command = [f"{dist}/bin/heapscope", "run", "-q", "-i", "1", "--dump-every", "500ms", "--max-overhead", "90%",
               "-o", path, "--", program]
    # On a busy machine a burst may rest, and then its losses have two spans: such a recording is made again.
    for _ in range(5):
        done = subprocess.run(command, env=clean_env(), capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        text = subprocess.run([f"{dist}/bin/heapscope", "report", "--json", path], capture_output=True, text=True, check=True).stdout
        if all(len(loss["times"]) == 2 for loss in losses_in(json.loads(text))):
            break
    return path


def done(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def report_of(heapscope, file):
    return json.loads(done(heapscope("report", "--json", file)))


def losses_in(report):
    return [loss for loss in report["losses"] if loss["name"] == "table_full"]


@pytest.mark.costly
def test_when_something_was_lost(file, heapscope, tmp_path):
    """The second burst comes a second after the first one, and so do the spans of their losses."""
    loss, = losses_in(report_of(heapscope, file))
    first, second = loss["times"]
    assert first["count"] + second["count"] == loss["count"] and second["count"] == 1000, loss
    assert 0.7 < first["from_seconds"] < first["to_seconds"] < second["from_seconds"] < second["to_seconds"], loss
    assert second["to_seconds"] - first["from_seconds"] > 1, "the program rested in between"
    times = write_page(heapscope, tmp_path / "page.html", file).profile["loss_times"]
    assert [(time["count"], time["name"]) for time in times] == [(each["count"], "table_full") for each in loss["times"]]
    for time, each in zip(times, loss["times"], strict=True):
        assert time["to_ms"] - time["from_ms"] == pytest.approx(1000 * (each["to_seconds"] - each["from_seconds"]), abs=0.01)
        assert str(time["count"]) in time["text"].replace(",", "")


def seconds_of(text):
    number, unit = text.split()
    return float(number) / {"s": 1, "ms": 1000}[unit]


@pytest.mark.parametrize("options", [[], ["--health"], ["--leaks"]], ids=["report", "health", "leaks"])
def test_the_text_says_when(file, heapscope, options):
    loss, = losses_in(report_of(heapscope, file))
    text = " ".join(done(heapscope("report", *options, file)).split())
    span = r"between ([\d.]+ m?s) and ([\d.]+ m?s)"
    said, = re.findall(rf"\({loss['count']:,} samples\), counted {span} and {span} after the start", text)
    exact = [time[end] for time in loss["times"] for end in ("from_seconds", "to_seconds")]
    assert [seconds_of(each) for each in said] == pytest.approx(exact, rel=0.01)


def test_the_text_of_several_processes(file, heapscope, tmp_path):
    """The same recording twice: its spans overlap, and the text has each once."""
    twice = tmp_path / "twice.pftrace"
    twice.write_bytes(2 * file.read_bytes())
    loss, = losses_in(report_of(heapscope, file))
    text = " ".join(done(heapscope("report", twice)).split())
    assert re.search(rf"\({2 * loss['count']:,} samples\), counted between [^!]+ after the first start", text), text
    assert text.split("counted between")[1].split(" after")[0].count("between") == 1


def test_sql(file, heapscope):
    report = report_of(heapscope, file)
    loss, = losses_in(report)

    def ask(title):
        text = done(heapscope("query", "--format", "json", file, QUESTIONS[title]))
        return [json.loads(part) for part in re.split(r"(?<=\])\n(?=\[)", text.strip())]

    rows, = ask("When was something lost?")
    assert [(row["pid"], row["name"], row["is_serious"]) for row in rows] == [(loss["pid"], "table_full", 1)] * 2
    for row, time in zip(rows, loss["times"], strict=True):
        assert row["count"] == time["count"]
        assert (row["from_seconds"], row["to_seconds"]) == pytest.approx((time["from_seconds"], time["to_seconds"]), abs=1e-6)
    (cost,), (process,) = ask("What did the recording cost?")
    told = report["cost"]
    assert cost["collector_peak_rss_bytes"] == told["collector_peak_rss_bytes"] > 1 << 20
    for name in ("recording", "names", "collector"):
        assert cost[f"{name}_seconds"] == pytest.approx(told[f"{name}_cpu_seconds"], abs=1e-6)
    assert cost["collector_seconds"] >= cost["recording_seconds"] > 0
    assert process["client_seconds"] == pytest.approx(report["processes"][0]["recorder_cpu_seconds"], abs=1e-6)
    assert process["client_seconds"] > 1e-3


def test_exported_database(file, heapscope, tmp_path):
    out = tmp_path / "out.sqlite"
    done(heapscope("export", "--format", "sqlite", file, "-o", out))
    with sqlite3.connect(out) as db:
        for table in ("heapscope_loss_times", "heapscope_cost", "heapscope_dumps"):
            sql = f"SELECT * FROM {table}"
            direct = json.loads(done(heapscope("query", "--format", "json", file, sql)))
            rows = db.execute(sql)
            names = [column[0] for column in rows.description]
            assert [dict(zip(names, row)) for row in rows] == direct and direct, table
        live = db.execute("SELECT count(*) FROM counter c JOIN process_counter_track t ON t.id = c.track_id "
                          "WHERE t.name = 'heapscope.live_bytes' AND c.value > 0").fetchone()
        assert live[0] > 0


def test_json_lines(file, heapscope):
    report = report_of(heapscope, file)
    loss, = losses_in(report)
    lines = [json.loads(line) for line in done(heapscope("export", "--format", "json", file, "-o", "-")).splitlines()]
    of = {kind: [line for line in lines if line["type"] == kind] for kind in ("process", "dump", "loss", "cost")}
    start_ns = of["process"][0]["start_ns"]
    lost, = [line for line in of["loss"] if line["name"] == "table_full"]
    assert [((time["from_ns"] - start_ns) / 1e9, (time["to_ns"] - start_ns) / 1e9, time["count"]) for time in lost["times"]] == [
        pytest.approx((time["from_seconds"], time["to_seconds"], time["count"]), abs=1e-6) for time in loss["times"]]
    cost, = of["cost"]
    assert cost["recording_cpu_ns"] / 1e9 == pytest.approx(report["cost"]["recording_cpu_seconds"], abs=1e-6)
    assert cost["collector_peak_rss_bytes"] == report["cost"]["collector_peak_rss_bytes"]
    assert of["dump"][-1]["client_cpu_ns"] / 1e9 == pytest.approx(report["processes"][0]["recorder_cpu_seconds"], abs=1e-6)


MAP = "org.app.Cache -> x.A:\n    void first(int) -> b\n"


def whole_of(way, file, heapscope, dist, folder):
    """A file with everything that `file` has, made by another command."""
    whole = folder / "whole"
    if way == "bundle":
        done(heapscope("bundle", file, "-o", whole))
        with tarfile.open(whole) as tar:
            assert len(tar.getnames()) > 0
    elif way == "cat":
        whole.write_bytes(file.read_bytes() + (folder / "other").read_bytes())
    else:
        (folder / "map.txt").write_text(MAP)
        options = ["--proguard-map", folder / "map.txt"] if way == "deobfuscate" else []
        more = subprocess.run([dist / "bin/heapscope", way, *options, file], stdout=subprocess.PIPE, check=False, env=clean_env())
        whole.write_bytes(file.read_bytes() + more.stdout)
    return whole


@pytest.mark.parametrize("way", ["symbolize", "deobfuscate", "bundle", "cat"])
def test_commands_that_rewrite_the_file_or_append_to_it(file, heapscope, dist, tmp_path, way):
    """cat: another recording behind it, which lost nothing; costs are added up."""
    done(heapscope("run", "-q", "-o", tmp_path / "other", "--", "true"))
    whole = report_of(heapscope, whole_of(way, file, heapscope, dist, tmp_path))
    before, other = report_of(heapscope, file), report_of(heapscope, tmp_path / "other")
    assert losses_in(whole) == losses_in(before)
    if way == "cat":
        for key in ("recording_cpu_seconds", "names_cpu_seconds", "collector_cpu_seconds"):
            assert whole["cost"][key] == pytest.approx(before["cost"][key] + other["cost"][key], abs=1e-6)
        peaks = [report["cost"]["collector_peak_rss_bytes"] for report in (before, other)]
        assert whole["cost"]["collector_peak_rss_bytes"] == max(peaks)
    else:
        assert whole["cost"] == before["cost"]
    assert whole["processes"][0]["recorder_cpu_seconds"] == before["processes"][0]["recorder_cpu_seconds"]
    tracks = [[counter for counter in report["processes"][0]["counters"] if "live" in counter["name"]] for report in (whole, before)]
    assert tracks[0] == tracks[1] and max(value for track in tracks[0] for _, value in track["points"]) > 1 << 20


def test_commands_that_compare_and_judge(file, heapscope):
    """They read such a file; check does not pass what is incomplete."""
    trend = json.loads(done(heapscope("diff", "--trend", "--json", file)))
    assert trend["snapshots"] >= 3
    assert json.loads(done(heapscope("diff", "--json", file, file)))
    judged = heapscope("check", "--max-live", "1G", file)
    assert judged.returncode == 1 and "allocations not recorded" in judged.stdout + judged.stderr
