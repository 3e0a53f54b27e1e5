"""heapscope diff --format leaks-json: what Chrome's diff_heap_profiler writes, with the right figures of each stack."""

import json

import pytest

NAMES = ["main", "fill", "parse", "other"]
STACKS = {"main": 11, "fill": 12, "parse": 13, "other": 14}  # ids; fill is below main, parse below fill


def dump(pid, us, rows, heap="malloc", types=None):
    """rows: (function, objects, bytes); types: the name of each row's type."""
    types = types or ["[unknown]"] * len(rows)
    kinds = ["[unknown]", "Node", "Text"]
    strings = [{"id": i + 1, "string": name} for i, name in enumerate(NAMES + kinds)]
    nodes = [{"id": 11, "name_sid": 1}, {"id": 12, "name_sid": 2, "parent": 11}, {"id": 13, "name_sid": 3, "parent": 12},
             {"id": 14, "name_sid": 4}]
    columns = {"counts": [count for _, count, _ in rows], "sizes": [size for _, _, size in rows], "types": [kinds.index(name) for name in types],
               "nodes": [STACKS[name] for name, _, _ in rows]}
    heaps = {"version": 1, "maps": {"strings": strings, "nodes": nodes, "types": [{"id": i, "name_sid": len(NAMES) + i + 1} for i in range(len(kinds))]},
             "allocators": {heap: columns}}
    return {"ph": "v", "pid": pid, "tid": pid, "ts": us, "name": "periodic_interval", "id": hex(us),
            "args": {"dumps": {"level_of_detail": "detailed", "heaps_v2": heaps}}}


def named(pid, name):
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


@pytest.fixture
def trace(tmp_path):
    def write(name, *events):
        (tmp_path / name).write_text(json.dumps({"traceEvents": events}))
        return tmp_path / name

    return write


@pytest.fixture
def leaks(heapscope, tmp_path):
    def call(*args):
        folder = tmp_path / "my leaks"
        done = heapscope("diff", "-f", "leaks-json", "-o", folder, *args)
        assert done.returncode == 0, done.stderr
        return {file.name: json.loads(file.read_text()) for file in folder.iterdir()}

    return call


BEFORE = [("main", 10, 1000), ("fill", 10, 500), ("parse", 5000, 100000), ("other", 4000, 9000)]
AFTER = [("main", 2010, 5000), ("fill", 1200, 50500), ("parse", 7000, 140000), ("other", 4001, 90000)]


def test_values_of_each_stack(trace, leaks):
    before, after = (trace(name, named(7, "prog"), dump(7, 5, rows)) for name, rows in (("a.json", BEFORE), ("b.json", AFTER)))
    files = leaks(before, after)
    # fill allocates itself and calls parse: a script that subtracts callees would lose it.
    assert files == {"process_7_malloc-leaks.json": [
        {"count": 1190, "size": 50000, "count_by_type": {"[unknown]": 1190}, "stackframes": ["fill", "main"]},
        {"count": 2000, "size": 40000, "count_by_type": {"[unknown]": 2000}, "stackframes": ["parse", "fill", "main"]},
        {"count": 2000, "size": 4000, "count_by_type": {"[unknown]": 2000}, "stackframes": ["main"]},
    ]}


def test_types(trace, leaks):
    """The types of which there is more; a row for each type of a stack is one stack."""
    before = trace("a.json", dump(7, 5, [("main", 10, 100), ("main", 50, 500), ("fill", 9, 9)], types=["Node", "Text", "[unknown]"]))
    after = trace("b.json", dump(7, 5, [("main", 3010, 3100), ("main", 40, 400), ("main", 77, 7), ("fill", 2000, 2000), ("fill", 3000, 3000)],
                                 types=["Node", "Text", "[unknown]", "Text", "Node"]))
    assert leaks(before, after) == {"process_7_malloc-leaks.json": [
        {"count": 4991, "size": 4991, "count_by_type": {"Node": 3000, "Text": 2000}, "stackframes": ["fill", "main"]},
        {"count": 3067, "size": 2907, "count_by_type": {"[unknown]": 77, "Node": 3000}, "stackframes": ["main"]},
    ]}


def test_limits(trace, leaks):
    before, after = (trace(name, dump(7, 5, rows)) for name, rows in (("a.json", BEFORE), ("b.json", AFTER)))
    def stacks(*options):
        (rows,) = leaks(*options, before, after).values()
        return [row["stackframes"][0] for row in rows]
    assert stacks("--size-threshold", 0, "--threshold", 0) == ["fill", "parse", "main"]
    assert stacks("--size-threshold", 1) == ["other", "fill", "parse", "main"]
    assert stacks("--size-threshold", 4000) == ["other", "fill", "parse"]
    assert stacks("--size-threshold", 3999, "--threshold", 1189) == ["fill", "parse", "main"]
    assert stacks("--threshold", 1190) == ["parse", "main"]
    assert stacks("--threshold", 2000) == []


def test_snapshots_of_one_file(trace, leaks):
    file = trace("a.json", named(7, "prog"), dump(7, 5, BEFORE), dump(7, 2000000, AFTER))
    (rows,) = leaks(f"{file}@0", f"{file}@1").values()
    assert [row["size"] for row in rows] == [50000, 40000, 4000]


def test_processes_and_heaps(trace, leaks):
    """The same pid and name first, then the name; a process of another name is new."""
    before = trace("a.json", named(7, "prog"), dump(7, 5, [("main", 5000, 50)]),
                   named(8, "prog"), dump(8, 5, [("main", 100, 10)]))
    after = trace("b.json", named(8, "prog"), dump(8, 5, [("main", 2000, 20)]),
                  named(9, "prog"), dump(9, 5, [("main", 9000, 90)]),
                  named(7, "next"), dump(7, 5, [("main", 3000, 30)], heap="po/ol"))
    files = leaks("--heap", "*", before, after)
    assert {name: [(row["count"], row["size"]) for row in rows] for name, rows in files.items()} == {
        "process_8_malloc-leaks.json": [(1900, 10)],
        "process_9_malloc-leaks.json": [(4000, 40)],
        "process_7_po:ol-leaks.json": [(3000, 30)],
    }


def test_wrong_usage(heapscope, trace, tmp_path):
    file = trace("a.json", dump(7, 5, BEFORE))
    for options, words in ((["-f", "leaks-json"], "-o FOLDER"), (["-f", "leaks-json", "-o", tmp_path / "x", "--normalize"], "--normalize"),
                           (["--threshold", "5"], "leaks-json only"), (["-f", "leaks-json", "-o", tmp_path / "x", "--rss"], "--rss")):
        done = heapscope("diff", *options, file, file)
        assert done.returncode == 2 and words in done.stderr
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("")
    done = heapscope("diff", "-f", "leaks-json", "-o", tmp_path / "file", file, file)
    assert done.returncode == 1 and str(tmp_path / "file") in done.stderr
