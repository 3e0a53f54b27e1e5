"""heapscope diff on real programs whose heaps are known to the byte."""

import json
import subprocess
from xml.etree import ElementTree

import pytest

from conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
PROTO = ROOT / "src" / "profile" / "proto"

# ORDER 1 gives the functions another order, other addresses, lines and code sizes.
SOURCE = """
#include <stdlib.h>
#include <unistd.h>
#define KEEP __attribute__((noinline, used))
static void *volatile sink;
static void keep(int times, int bytes) { for (int i = 0; i < times; i++) { sink = malloc(bytes); } }
#if ORDER
KEEP void padding(void) { sink = &sink; }
KEEP void fresh(void) { keep(3, 333); sink = 0; }
#endif
KEEP void steady(void) { keep(10, 100); sink = 0; }
KEEP void shrinker(void) { keep(ORDER ? 2 : 9, 50); sink = 0; }
#if !ORDER
KEEP void old(void) { keep(4, 44); sink = 0; }
#endif
KEEP void grower(void) { keep(ORDER ? 7 : 5, 1000); sink = 0; }
KEEP void work(void)
{
#if ORDER
    padding();
    fresh();
#else
    old();
#endif
    grower();
    steady();
    shrinker();
    sink = 0;
}
int main(void) { work(); _exit(0); }
"""

TRUTH = {
    "grower": (5000, 7000, "grew"),
    "shrinker": (450, 100, "shrank"),
    "steady": (1000, 1000, "same"),
    "fresh": (0, 999, "new"),
    "old": (176, 0, "gone"),
}


@pytest.fixture
def pair(run, tmp_path):
    """pair(INTERVAL): profiles of two builds, one with -O0, one with -O2 and its functions in
    another order."""

    def call(interval):
        source = tmp_path / "builds.c"
        source.write_text(SOURCE)
        files = []
        for order, optimise in ((0, "-O0"), (1, "-O2")):
            program = tmp_path / f"program-{order}"
            subprocess.run(
                ["gcc", "-g", optimise, f"-DORDER={order}", source, "-o", program], check=True
            )
            files.append(run([program], "-i", interval).file)
        return files

    return call


def difference(heapscope, *args):
    done = heapscope("diff", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_builds_to_the_byte(heapscope, pair):
    found = difference(heapscope, *pair(1))
    # The compiler may inline `keep` or not: callers are checked by the stacks that contain them.
    by_stack = {}
    for stack in found["stacks"]:
        for name in set(stack["frames"]) & set(TRUTH):
            before, after = by_stack.get(name, (0, 0))
            by_stack[name] = (before + stack["before"], after + stack["after"])
    for name, (before, after, _) in TRUTH.items():
        assert by_stack[name] == (before, after), name
    total = found["total"]
    assert (total["before"], total["after"]) == (6626, 9099)
    assert total["low"] == total["high"] == total["change"] == 2473
    assert sum(stack["change"] for stack in found["stacks"]) == 2473


def test_table_and_tree_say_it(heapscope, pair):
    files = pair(1)
    table = heapscope("diff", *files).stdout
    assert "change  +2.42 KiB" in table
    tree = heapscope("diff", "--tree", *files).stdout
    for name, (_, _, verdict) in TRUTH.items():
        lines = [line.split() for line in tree.splitlines() if f" {name} " in line]
        if verdict == "same":
            assert not lines
        else:
            assert [verdict in line for line in lines] == [True], tree


def test_folded_columns_sum_to_both_totals(heapscope, pair):
    done = heapscope("diff", "-f", "folded", *pair(1))
    assert done.returncode == 0
    values = [list(map(int, line.split(" ")[-2:])) for line in done.stdout.splitlines()]
    assert [sum(column) for column in zip(*values)] == [6626, 9099]


def test_pprof_has_negative_values(heapscope, pair, tmp_path):
    out = tmp_path / "change.pb.gz"
    assert heapscope("diff", *pair(1), "-o", out).returncode == 0
    plain = subprocess.run(["gzip", "-dc", out], check=True, capture_output=True).stdout
    text = subprocess.run(
        ["protoc", "--decode=hs.pprof.PprofProfile", f"-I{PROTO}", "pprof.proto"],
        input=plain, capture_output=True, check=True,
    ).stdout.decode()
    negative = positive = 0
    for part in text.split("\nsample {")[1:]:
        values = [int(line.split()[1]) for line in part.split("\n}")[0].splitlines() if " value:" in line]
        assert len(values) == 2
        assert (values[1] < 0) == ("label {" in part.split("\n}")[0])
        negative += min(values[1], 0)
        positive += max(values[1], 0)
    assert (negative, positive) == (-6626, 9099)
    assert '"pprof::base"' in text


def test_a_file_with_itself_is_the_same(heapscope, pair):
    file = pair(1)[0]
    found = difference(heapscope, file, file)
    assert {row["verdict"] for row in found["functions"]} == {"same"}


@pytest.mark.costly
def test_samples_without_a_difference_are_noise(heapscope, run, tmp_path):
    source = tmp_path / "noise.c"
    functions = "".join(
        f"__attribute__((noinline)) void f{i}(void) {{ for (int i = 0; i < 600; i++)"
        f" {{ sink = malloc({40 + i}); }} sink = 0; }}\n"
        for i in range(200)
    )
    calls = "".join(f"f{i}();" for i in range(200))
    source.write_text(
        "#include <stdlib.h>\n#include <unistd.h>\nstatic void *volatile sink;\n"
        f"{functions}int main(void) {{ {calls} _exit(0); }}\n"
    )
    program = tmp_path / "noise"
    subprocess.run(["gcc", "-g", "-O1", source, "-o", program], check=True)
    files = [run([program], "-i", 4096).file for _ in range(2)]
    rows = difference(heapscope, *files)["functions"]
    assert len(rows) > 150
    called = [row for row in rows if row["verdict"] not in ("noise", "same")]
    # 5 % of 200 are 10, with a standard deviation of 3.1: 22 are four deviations more.
    assert len(called) <= 22, called


def test_snapshots_of_one_file(heapscope, pair):
    file = pair(1)[0]
    done = heapscope("diff", file)
    assert done.returncode == 2 and "--snapshots" in done.stderr
    done = heapscope("diff", "--snapshots", "0,last", file)
    assert done.returncode == 0, done.stderr
    done = heapscope("diff", "--snapshots", "0,77", file)
    assert done.returncode == 1 and "no snapshot 77" in done.stderr
    for wrong in ("1", "1,", ",1", "1,2,3", "a,b", "-0,2", "--1,2"):
        done = heapscope("diff", f"--snapshots={wrong}", file)
        assert done.returncode == 2 and wrong in done.stderr, wrong


def test_bad_files(heapscope, pair, tmp_path):
    file = pair(1)[0]
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "foreign").write_text("#!/bin/sh\necho\n")
    for bad in ("empty", "foreign", "missing"):
        done = heapscope("diff", file, tmp_path / bad)
        assert done.returncode == 1 and bad in done.stderr
        assert done.stdout == ""


FAMILY = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile sink;
__attribute__((noinline)) void keep(int times) { for (int i = 0; i < times; i++) { sink = malloc(1000); } sink = 0; }
int main(int argc, char **argv)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        if (fork() == 0) { execl(argv[i], argv[i], argv[i + 1], (char *)0); _exit(9); }
        wait(0);
    }
    keep(atoi(argv[1]));
    _exit(0);
}
"""


@pytest.fixture
def families(run, tmp_path):
    """Profiles of a parent and its children, before and after; 23 and 24 blocks of 1000 bytes."""
    source = tmp_path / "family.c"
    source.write_text(FAMILY)
    programs = {name: tmp_path / name for name in ("boss", "worker", "helper")}
    for program in programs.values():
        subprocess.run(["gcc", "-g", "-O1", source, "-o", program], check=True, timeout=60)
    boss, worker, helper = programs.values()
    return [
        run([boss, "10", worker, "6", worker, "7"], "-i", 1).file,
        run([boss, "12", worker, "8", helper, "4"], "-i", 1).file,
    ]


def test_processes_by_name(heapscope, families):
    found = difference(heapscope, *families)
    rows = {row["name"]: row for row in found["processes"]}
    assert {name: (row["before"], row["after"]) for name, row in rows.items()} == {
        "boss": (10000, 12000), "worker": (13000, 8000), "helper": (0, 4000)}
    assert (rows["worker"]["count_before"], rows["worker"]["count_after"]) == (2, 1)
    assert [row["verdict"] for row in found["processes"]] == ["shrank", "new", "grew"]
    table = heapscope("diff", *families).stdout
    assert "Processes, by the name of the program file" in table and "2 processes before, 1 after" in table

    total = difference(heapscope, "--process", "worker", *families)["total"]
    assert (total["before"], total["after"]) == (13000, 8000)
    pid = next(p["pid"] for p in found["before"]["processes"] if p["name"] == "boss")
    done = heapscope("diff", "--process", pid, families[0], families[0])
    assert done.returncode == 0 and "snapshot 0" in done.stdout and "Processes" not in done.stdout
    done = heapscope("diff", "--process", "nobody", *families)
    assert done.returncode == 1 and "'nobody'" in done.stderr and "boss" in done.stderr


def test_normalized_shares_compare(heapscope, families):
    found = difference(heapscope, "--normalize", *families)
    assert found["scale"] == pytest.approx(24 / 23)
    assert found["total"]["verdict"] == "same" and found["total"]["change"] == 0
    rows = {row["name"]: row for row in found["processes"]}
    assert rows["worker"]["before"] == pytest.approx(13000 * 24 / 23)
    assert sum(stack["change"] for stack in found["stacks"]) == pytest.approx(0, abs=1e-6)
    assert "multiplied by 1.043" in heapscope("diff", "--normalize", *families).stdout


def test_base_of_report_and_export(heapscope, families, tmp_path):
    before, after = families
    done = heapscope("report", "--json", "--base", before, after)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"]["change"] == 1000
    assert "change  +1000 B" in heapscope("report", f"--base={before}@0", after).stdout
    assert heapscope("report", "--health", "--base", before, after).returncode == 2
    folded = heapscope("export", "-f", "folded", "--base", before, after)
    assert folded.stdout == heapscope("diff", "-f", "folded", before, after).stdout
    out = tmp_path / "less.pb.gz"
    done = heapscope("export", "-o", out, "--base", before, after)
    assert done.returncode == 0 and " subtracted" in done.stderr
    assert out.read_bytes()[:2] == b"\x1f\x8b"
    svg = heapscope("export", "-f", "svg", "--base", before, after)
    assert svg.stdout == heapscope("diff", "-f", "svg", before, after).stdout
    for other in ("speedscope", "massif", "json", "sqlite", "memory-infra"):
        done = heapscope("export", "-f", other, "-o", tmp_path / "never", "--base", before, after)
        assert done.returncode == 2 and other in done.stderr
        assert not (tmp_path / "never").exists()


def test_difference_flame_graph(heapscope, families, tmp_path):
    out = tmp_path / "change.svg"
    assert heapscope("diff", *families, "-o", out).returncode == 0
    boxes = {}
    for box in ElementTree.parse(out).iter(SVG + "g"):
        if "data-v" in box.attrib:
            width = int(box.attrib["data-v"].split()[1])
            lines = box.find(SVG + "title").text.split("\n")
            boxes[lines[0]] = (width, lines[1], lines[2], box.find(SVG + "rect").attrib["fill"])
    width, values, verdict, fill = boxes["keep  [worker]"]
    assert (width, verdict) == (13000, "shrank") and "before 12.7 KiB, after 7.81 KiB" in values
    assert int(fill[5:], 16) > int(fill[1:3], 16)  # blue
    width, _, verdict, fill = boxes["keep  [helper]"]
    assert (width, verdict, fill) == (4000, "new", "#e23d32")
    assert boxes["all"][0] == 13000 + 12000 + 4000


def test_snapshots_named_with_the_file(heapscope, families, tmp_path):
    before, after = families
    plain = heapscope("diff", "--json", before, after).stdout
    for start, end in (("0", "last"), ("-1", "0"), ("last", "-1")):
        named = heapscope("diff", "--json", f"{before}@{start}", f"{after}@{end}").stdout
        assert json.loads(named)["stacks"] == json.loads(plain)["stacks"]
    for wrong, words in (("@7", "no snapshot 7"), ("@-2", "no snapshot -2")):
        done = heapscope("diff", f"{before}{wrong}", after)
        assert done.returncode == 1 and words in done.stderr
    done = heapscope("diff", "--snapshots", "0,0", f"{before}@0", after)
    assert done.returncode == 2 and "cannot be combined" in done.stderr
    odd = tmp_path / "mail@7"
    odd.write_bytes(before.read_bytes())
    assert difference(heapscope, odd, f"{odd}@0")["total"]["verdict"] == "same"
    done = heapscope("check", "--against", f"{before}@0", "--max-growth", "1000", f"{after}@-1")
    assert done.returncode == 0, done.stdout
    done = heapscope("check", "--against", f"{before}@3", "--max-growth", "1000", after)
    assert done.returncode == 3


TREND = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile sink;
__attribute__((noinline)) void leak(void) { sink = malloc(100); sink = 0; }
__attribute__((noinline)) void cache(void) { sink = malloc(5000); sink = 0; }
int main(void)
{
    cache();
    for (int i = 0; i < 50; i++) { leak(); usleep(10000); }
    _exit(0);
}
"""


def test_trend_finds_the_leak(heapscope, run, families, tmp_path):
    source = tmp_path / "trend.c"
    source.write_text(TREND)
    program = tmp_path / "trend"
    subprocess.run(["gcc", "-g", "-O1", source, "-o", program], check=True, timeout=60)
    file = run([program], "-i", 1, "--dump-every", "50ms", timeout=120).file
    done = heapscope("diff", "--trend", "--json", file)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["snapshots"] >= 3 and found["name"] == "trend"
    rows = {row["function"]: row for row in found["functions"]}
    leak, cache = rows["leak"], rows["cache"]
    # However slow the machine is: the site never falls, and ends with all its blocks.
    assert leak["steps_down"] == 0 and leak["last"] == 5000 and leak["steps_up"] > cache["steps_up"]
    assert leak["low"] <= leak["per_second"] <= leak["high"] and leak["per_second"] > 0
    assert cache["last"] == 5000 and cache["steps_up"] <= 1 and cache["steps_down"] == 0
    stack = next(row for row in found["stacks"] if row["frames"][0] == "leak")
    assert stack["per_second"] == leak["per_second"]
    table = heapscope("diff", "--trend", file).stdout
    assert "Trend of live memory: trend (pid " in table
    # With fewer points, from a machine that hardly ran, Student's t proves little.
    if found["snapshots"] >= 8:
        assert leak["verdict"] == "grows"
        assert " leak\n" in table[table.index("Functions that grew and never fell"):]

    done = heapscope("diff", "--trend", families[0])
    assert done.returncode == 1 and "needs 3 snapshots" in done.stderr
    for wrong in (["--tree"], ["--snapshots", "0,1"], ["--normalize"], ["-f", "pprof", "-o", "x"], [file]):
        assert heapscope("diff", "--trend", *wrong, file).returncode == 2, wrong
    assert heapscope("diff", "--trend", f"{file}@1").returncode == 2
