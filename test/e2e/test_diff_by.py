"""diff --by: what changed, by type, thread, scope, stack and age, in any order."""

import json

import pytest
from running_types import style_sheets

KIB = 1024


@pytest.fixture(scope="module")
def sides(dist, heapscope, target, tmp_path_factory):
    """Two runs of test/target/style_sheets.cc. The second one runs its script twice: 512 Nodes more, of 1 KiB each."""
    folders = [tmp_path_factory.mktemp(name) for name in ("a", "b")]
    return style_sheets(dist, heapscope, target, folders[0]), style_sheets(dist, heapscope, target, folders[1], "twice")


@pytest.fixture
def compare(heapscope):
    def call(sides, by, *options):
        done = heapscope("diff", "--json", "--by", by, *options, *sides)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["parts"]

    return call


def changes(parts, key):
    return {part[key]: part["change"] for part in parts if part["change"]}


def test_types(compare, sides):
    parts = compare(sides, "type,scope")
    assert changes(parts, "type") == {"blink::Node": 512 * KIB}
    (nodes,) = [part for part in parts if part["type"] == "blink::Node"]
    assert parts[0] is nodes and nodes["verdict"] == "grew"
    assert (nodes["before"], nodes["after"], nodes["objects_before"], nodes["objects_after"]) == (1024 * KIB, 1536 * KIB, 1024, 1536)
    assert changes(nodes["parts"], "scope") == {"RunScript": 512 * KIB}
    (same,) = [part for part in nodes["parts"] if part["scope"] == "HTMLDocumentParser"]
    assert (same["before"], same["verdict"]) == (512 * KIB, "same")


@pytest.mark.parametrize("by,key,name", [("thread", "thread", "style_sheets"), ("scope", "scope", "RunScript"),
                                         ("age", "age", "under 1 s"), ("heap", "heap", "libc.malloc")])
def test_other_dimensions(compare, sides, by, key, name):
    """Threads have other ids in each run: their names count."""
    if by == "age":
        parts = compare(sides, by)
        assert sum(part["change"] for part in parts) == 512 * KIB
        return
    found = changes(compare(sides, by), key)
    assert list(found.values()) == [512 * KIB] and next(iter(found)).startswith(name)


def test_stacks(compare, sides):
    parts = compare(sides, "stack,type")
    (grown,) = [part for part in parts if part["change"]]
    assert grown["frames"][:2] == ["void blink::make<blink::Node>(unsigned long)", "blink::run_script()"] or \
        grown["frames"][1:3] == ["void blink::make<blink::Node>(unsigned long)", "blink::run_script()"]
    assert changes(grown["parts"], "type") == {"blink::Node": 512 * KIB}


@pytest.mark.parametrize("by", ["type", "type,scope", "stack,thread,type", "process,heap,scope,type"])
def test_groups_add_up(compare, sides, by):
    def check(parts, before, after):
        assert sum(part["before"] for part in parts) == pytest.approx(before)
        assert sum(part["after"] for part in parts) == pytest.approx(after)
        sizes = [abs(part["change"]) for part in parts]
        assert sizes == sorted(sizes, reverse=True)
        for part in parts:
            assert part["change"] == part["after"] - part["before"]
            if "parts" in part:
                check(part["parts"], part["before"], part["after"])

    parts = compare(sides, by)
    check(parts, sum(part["before"] for part in parts), sum(part["after"] for part in parts))
    assert sum(part["before"] for part in parts) > 24e6


def test_the_other_way_round(compare, sides):
    parts = compare(sides[::-1], "type")
    assert changes(parts, "type") == {"blink::Node": -512 * KIB} and parts[0]["verdict"] == "shrank"


def test_in_words(heapscope, sides):
    text = heapscope("diff", "--by", "type,scope", "--top", 1, *sides).stdout
    assert "\nBy type, then by scope\n" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "+512 KiB 1.00 MiB 1.50 MiB +50 % grew +512 blink::Node" in lines
    assert "+512 KiB 512 KiB 1.00 MiB +100 % grew +512 RunScript" in lines
    assert any(line.endswith("… 3 more") for line in lines)
    assert heapscope("report", "--by", "type,scope", "--top", 1, "--base", *sides).stdout.splitlines()[-5:] == text.splitlines()[-5:]


def test_sampled(heapscope, run, target, flags):
    """Of sampled profiles, the interval of a change contains the truth, and 0 where nothing changed."""
    program = target("style_sheets", "-pthread", *flags[0], *flags[1])
    files = [run([program, *more], "-i", 4096).file for more in ((), ("twice",))]
    parts = json.loads(heapscope("diff", "--json", "--by", "scope", *files).stdout)["parts"]
    script = next(part for part in parts if part["scope"] == "RunScript")
    assert script["low"] < script["change"] < script["high"] and script["verdict"] == "grew"
    layout = next(part for part in parts if part["scope"] == "Layout")
    assert layout["low"] < layout["high"]


def test_what_is_refused(heapscope, sides, tmp_path):
    for options, why in ((["--tree"], "tree"), (["--normalize"], "--normalize"), (["--rss"], "--rss"),
                         (["-f", "folded"], "folded"), (["--view", "alloc_space"], "not recorded")):
        done = heapscope("diff", "--by", "type", *options, *sides)
        assert done.returncode == 2 and why in done.stderr, done.stderr
    assert heapscope("diff", "--by", "colour", *sides).returncode == 2
    folded = tmp_path / "x.folded"
    folded.write_text("main;f 10\n")
    done = heapscope("diff", "--by", "type", sides[0], folded)
    assert done.returncode == 1 and "--by needs a trace" in done.stderr
