"""--other-below: the long tail as <other>, in every format that can carry it, with totals that stay the same."""

import json
import re

import pytest

LIMITS = "100,2"
TAIL = ["<other>", "[3 small stacks]"]


@pytest.fixture(scope="module")
def views(heapscope, target, tmp_path_factory):
    """fib() holds three blocks of 64 bytes, by three stacks; all others are larger."""
    file = tmp_path_factory.mktemp("other below") / "views.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", target("views")).returncode == 0
    return file


@pytest.fixture
def both(heapscope, views, tmp_path):
    """Exports without the option and with it."""

    def call(form, *options, limits=LIMITS):
        texts = []
        for name, more in (("whole", []), ("short", ["--other-below", limits])):
            out = tmp_path / name
            done = heapscope("export", "-q", "-f", form, *options, *more, "-o", out, views)
            assert done.returncode == 0, done.stderr
            texts.append(out.read_text() if form != "pprof" else out)
        assert texts[0] != texts[1]
        return texts

    return call


def folded(text):
    return {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in text.splitlines()}


@pytest.mark.parametrize("view,total,tail", [("space", 60192, 192), ("objects", 603, 3), ("alloc_space", 1100192, 192)])
def test_folded(both, view, total, tail):
    whole, short = map(folded, both("folded", "--view", view))
    assert sum(whole.values()) == sum(short.values()) == total
    assert short[tuple(TAIL)] == tail and len(short) == len(whole) - 2
    assert {stack: value for stack, value in short.items() if stack[0] != "<other>"}.items() <= whole.items()


def test_speedscope(both):
    whole, short = map(json.loads, both("speedscope"))
    names = [frame["name"] for frame in short["shared"]["frames"]]
    for before, after in zip(whole["profiles"], short["profiles"], strict=True):
        assert sum(before["weights"]) == sum(after["weights"]) == before["endValue"] == after["endValue"]
        assert TAIL in [[names[i] for i in stack] for stack in after["samples"]]


def test_json(both):
    whole, short = ([json.loads(line) for line in text.splitlines()] for text in both("json"))

    def rows(lines, kind):
        return [line for line in lines if line["type"] == kind]

    assert rows(whole, "dump") == rows(short, "dump")
    sums = [{key: sum(row.get(key, 0) for row in rows(lines, "stack")) for key in (
        "live_bytes", "live_count", "alloc_bytes", "alloc_count", "peak_bytes", "peak_count")} for lines in (whole, short)]
    assert sums[0] == sums[1] and sums[0]["live_bytes"] == 60192
    assert "<other>" in json.dumps(rows(short, "stack") + rows(short, "frame") + rows(short, "function"))


def test_pprof(both, heapscope):
    """Read by heapscope's own reader of pprof: all figures are the same, and the tail is one stack."""
    reports = [json.loads(heapscope("report", "--json", file).stdout) for file in both("pprof")]
    assert reports[0]["totals"] == reports[1]["totals"]
    own = {f["function"]: f["self"] for f in reports[1]["functions_by_self"]}
    # What "[3 small stacks]" tells is no function: the figures count for the one that calls it.
    assert own[TAIL[0]]["bytes"] == 192 and "fib" not in own


def test_svg(both):
    whole, short = both("svg", "--view", "space")
    # Each box has where it begins, its size, and its depth. Outermost boxes add up to the total.
    boxes = [[int(size) for size in re.findall(r'data-v="\d+ (\d+) 1"', text)] for text in (whole, short)]
    assert sum(boxes[0]) == sum(boxes[1]) == 60192 and 192 in boxes[1] and 192 not in boxes[0]
    assert "&lt;other&gt;" in short and TAIL[1] in short and "&lt;other&gt;" not in whole


def test_massif(both):
    """massif has a threshold of its own, 1 %, so that the limits are higher here."""
    whole, short = both("massif", limits="500K,5000")
    totals = [re.findall(r"^mem_heap_B=(\d+)$", text, re.M) for text in (whole, short)]
    assert totals[0] == totals[1] and "60192" in totals[0]
    assert "<other>" in short and "small stacks]" in short and "parse" in whole and "parse" not in short


def test_report_tree(heapscope, views):
    trees = [json.loads(heapscope("report", "--tree", "--json", "--view", "space", *more, views).stdout)
             for more in ([], ["--other-below", LIMITS])]
    assert trees[0]["totals"] == trees[1]["totals"]
    text = heapscope("report", "--tree", "--top", "all", "--view", "space", "--other-below", LIMITS, views).stdout
    assert "<other>" in text and TAIL[1] in text and "fib" not in text
    everything = heapscope("report", "--tree", "--view", "space", "--other-below", "1M,1000000", views).stdout
    assert "58.8 KiB  100.0 %   <other>" in everything


def test_what_cannot_carry_it(heapscope, views, tmp_path):
    for options in (["-f", "sqlite", "-o", tmp_path / "x.db"], ["-f", "folded", "--base", views]):
        done = heapscope("export", "--other-below", LIMITS, *options, views)
        assert done.returncode == 2 and "--other-below" in done.stderr
    for options in ([], ["--json"], ["--tree", "--base", views]):
        done = heapscope("report", "--other-below", LIMITS, *options, views)
        assert done.returncode == 2 and "--tree" in done.stderr
    for wrong in ("100", "100,", "x,2", "0,2", "100,0", "100,2,3"):
        for command in (["export", "-f", "folded"], ["report", "--tree"]):
            done = heapscope(*command, "--other-below", wrong, views)
            assert done.returncode == 2 and "SIZE,COUNT" in done.stderr
