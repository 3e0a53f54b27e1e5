"""Files that are not traces, as tables: pprof, jemalloc, gperftools and collapsed stacks under
`heapscope query`.

The sums of the tables, Perfetto's and ours, must equal the figures of the report.
"""

import json
import re

import pytest
import test_files_of_others as others
from test_files_of_others import GO, pprof, stacks_of

# Fixtures of that module.
any_input, gperftools_file, jemalloc_file = others.any_input, others.gperftools_file, others.jemalloc_file

TOTALS = """SELECT sum(size) AS live_bytes, sum(count) AS live_count, sum(max(size, 0)) AS alloc_bytes,
  sum(max(count, 0)) AS alloc_count FROM heap_profile_allocation"""
LEAVES = """SELECT sum(a.size) AS size FROM heap_profile_allocation a
  JOIN stack_profile_callsite c ON c.id = a.callsite_id
  JOIN stack_profile_frame f ON f.id = c.frame_id
  JOIN stack_profile_mapping m ON m.id = f.mapping
  JOIN process p USING (upid)
  JOIN heap_profile h ON h.upid = a.upid AND h.ts_end = a.ts AND h.heap_name IS a.heap_name"""
AGGREGATES = """SELECT p.sample_type_type AS type, p.sample_type_unit AS unit, sum(s.value) AS value
  FROM __intrinsic_aggregate_profile p JOIN __intrinsic_aggregate_sample s ON s.aggregate_profile_id = p.id
  GROUP BY p.id ORDER BY p.id"""
TREE = """INCLUDE PERFETTO MODULE android.memory.heap_profile.summary_tree;
  SELECT sum(self_size) AS size FROM android_heap_profile_summary_tree"""
FLAMEGRAPH = """SELECT sum(size) AS size, sum(alloc_size) AS alloc_size FROM experimental_flamegraph('native',
  trace_end(), NULL, (SELECT max(upid) FROM heap_profile), NULL, NULL)"""
RINGS = "SELECT count(*) AS n FROM stack_profile_callsite WHERE parent_id >= id"


@pytest.fixture
def ask(heapscope):
    def call(file, sql):
        done = heapscope("query", "--format", "json", file, sql)
        assert done.returncode == 0, done.stderr
        return [json.loads(part) for part in re.split(r"(?<=\])\n(?=\[)", done.stdout.strip())]
    return call


def test_tables_add_up(ask, heapscope, report, any_input, tmp_path):
    """One query per file: all tables have the report's figures."""
    totals = report(any_input)["totals"]
    is_trace = any_input.suffix == ".pftrace"
    live, alloc = totals["live"], totals["alloc"]
    sql = ";".join((TOTALS, LEAVES, AGGREGATES, RINGS, TREE, FLAMEGRAPH))
    sums, leaves, aggregates, rings, tree, flamegraph = ask(any_input, sql)
    # Rows are whole numbers, so each may be half a byte off.
    rows = ask(any_input, "SELECT count(*) AS n FROM heap_profile_allocation")[0][0]["n"]
    near = {"abs": rows, "rel": 1e-9}
    assert sums[0]["live_bytes"] == pytest.approx(live["bytes"], **near)
    assert leaves[0]["size"] == tree[0]["size"] == sums[0]["live_bytes"]
    assert flamegraph[0]["size"] == sums[0]["live_bytes"] and rings == [{"n": 0}]
    own, = ask(any_input, "SELECT sum(live_bytes) AS live, sum(alloc_bytes) AS alloc FROM heapscope_samples WHERE dump_id IN "
                          "(SELECT last_dump_id FROM heapscope_processes)")
    assert own[0]["live"] == pytest.approx(live["bytes"])
    if alloc["bytes"] > 0:
        assert sums[0]["alloc_bytes"] == pytest.approx(alloc["bytes"], **near)
        assert own[0]["alloc"] == pytest.approx(alloc["bytes"])
    if not is_trace:
        assert [(r["type"], r["unit"]) for r in aggregates] == [
            ("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
        assert aggregates[3]["value"] == pytest.approx(live["bytes"])
    out = tmp_path / "out.sqlite"
    assert heapscope("export", "-q", any_input, "-o", out).returncode == 0
    assert ask(out, sql) == [sums, leaves, aggregates, rings, tree, flamegraph]


def test_collapsed_stacks(ask, tmp_path):
    """Every row is known."""
    file = tmp_path / "x.folded"
    file.write_text("main;load;parse 4096\nmain;load 12\nmain 1\n")
    names, rows, forest = ask(file, """SELECT f.name, c.depth, c.parent_id FROM stack_profile_callsite c
      JOIN stack_profile_frame f ON f.id = c.frame_id ORDER BY c.depth;
      SELECT c.depth, a.size FROM heap_profile_allocation a JOIN stack_profile_callsite c ON c.id = a.callsite_id
      ORDER BY c.depth;
      SELECT name, depth, size, cumulative_size FROM experimental_flamegraph('native', trace_end(), NULL, 1, NULL, NULL)""")
    assert [(r["name"], r["depth"]) for r in names] == [("main", 0), ("load", 1), ("parse", 2)]
    assert [r["size"] for r in rows] == [1, 12, 4096]
    assert [tuple(r.values()) for r in forest] == [("main", 0, 1, 4109), ("load", 1, 12, 4108), ("parse", 2, 4096, 4096)]


def test_pprof_with_inlined_calls(ask, report, tmp_path):
    """Symbols of a frame are its lines, the innermost call first; the outermost one is not inlined."""
    file = pprof(tmp_path / "go.pb", GO)
    frames, inlined, mappings = ask(file, """SELECT group_concat(s.name, ' < ') AS calls FROM stack_profile_frame f
      JOIN stack_profile_symbol s USING (symbol_set_id) GROUP BY f.id ORDER BY f.id;
      SELECT count(*) AS n FROM stack_profile_symbol s WHERE inlined = 0;
      SELECT name FROM stack_profile_mapping WHERE name <> ''""")
    said = report(file, "--top", "all")
    assert [r["name"] for r in mappings] == ["/opt/server"]
    calls = {r["calls"] for r in frames}
    assert inlined[0]["n"] == len(frames) == 2
    for stack in stacks_of(said):
        assert all(any(c in names for names in calls) for c in stack.split(";")), (stack, calls)


def test_what_is_no_profile(heapscope, tmp_path):
    (tmp_path / "x").write_bytes(b"hello\n")
    done = heapscope("query", tmp_path / "x", "SELECT 1")
    assert done.returncode == 1 and "not a heap profile" in done.stderr and done.stdout == ""


# No packet, an empty packet, two of them, and one with only a time.
@pytest.mark.parametrize("data", [b"", b"\n\0", b"\n\0\n\0", b"\n\2\x40\5"])
def test_a_trace_of_nothing(heapscope, tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    for table in ("heap_profile_allocation", "stack_profile_frame", "heapscope_dumps", "args"):
        done = heapscope("query", "--format", "csv", tmp_path / "x", f"SELECT count(*) AS n FROM {table}")
        assert done.returncode == 0 and done.stdout == '"n"\n0\n', (table, done)
    done = heapscope("export", "-f", "sqlite", "-o", tmp_path / "x.db", tmp_path / "x")
    assert done.returncode == 0 and (tmp_path / "x.db").exists(), done.stderr
