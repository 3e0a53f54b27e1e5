"""The modules of stacks, which are native code, compared with equivalent plain SQL; and queries of
a trace, whose tables are ours, compared with the same queries of its export, whose tables are
SQLite's."""

import json
import os
import random
import sqlite3
import subprocess
import sys

import pytest
from query_database import SCHEMA

DIST = os.environ.get("HEAPSCOPE_DIST", os.path.join(os.path.dirname(__file__), "../../build/dist"))
HEAPSCOPE = os.path.join(DIST, "bin/heapscope")
MAKE_TRACE = os.path.join(os.path.dirname(__file__), "../../bench/sql_trace.py")

INCLUDE = ("INCLUDE PERFETTO MODULE android.memory.heap_profile.*; INCLUDE PERFETTO MODULE callstacks.stack_profile;"
           "INCLUDE PERFETTO MODULE stacks.symbolization_candidates;\n")

# One row for each function of each call site, innermost last.
STEPS = """
WITH RECURSIVE steps AS MATERIALIZED (
  SELECT ROW_NUMBER() OVER (ORDER BY c.id, s.id DESC) - 1 AS id, c.id AS callsite_id, c.parent_id AS parent,
    ROW_NUMBER() OVER (PARTITION BY c.id ORDER BY s.id DESC) AS step, COUNT(*) OVER (PARTITION BY c.id) AS steps,
    COALESCE(NULLIF(COALESCE(s.name, f.deobfuscated_name, f.name), ''), 'unknown') AS name,
    m.name AS mapping_name, s.source_file, s.line_number, COALESCE(s.inlined, 0) AS inlined
  FROM stack_profile_callsite c JOIN stack_profile_frame f ON f.id = c.frame_id
  LEFT JOIN stack_profile_mapping m ON m.id = f.mapping
  LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id
),
forest AS MATERIALIZED (
  SELECT t.id, CASE WHEN t.step > 1 THEN t.id - 1 ELSE p.id END AS parent_id, t.callsite_id, t.name, t.mapping_name,
    t.source_file, t.line_number, t.inlined, t.step = t.steps AS is_leaf
  FROM steps t LEFT JOIN steps p ON p.callsite_id = t.parent AND p.step = p.steps
),
sums AS MATERIALIZED (
  SELECT l.id, SUM(a.size) AS size, SUM(a.count) AS count, SUM(MAX(a.size, 0)) AS alloc_size, COUNT(*) AS rows
  FROM heap_profile_allocation a JOIN forest l ON l.callsite_id = a.callsite_id AND l.is_leaf GROUP BY l.id
),
up(leaf, id) AS (
  SELECT id, id FROM sums
  UNION SELECT up.leaf, f.parent_id FROM up JOIN forest f ON f.id = up.id WHERE f.parent_id IS NOT NULL
),
below AS MATERIALIZED (
  SELECT up.id, SUM(s.size) AS size, SUM(s.alloc_size) AS alloc_size FROM up JOIN sums s ON s.id = up.leaf GROUP BY up.id
)
"""

MODULES = {
    "forest": ("SELECT * FROM _callstack_spc_forest", STEPS + "SELECT * FROM forest"),
    "summary": (
        "SELECT * FROM android_heap_profile_summary_tree",
        STEPS + "SELECT f.id, f.parent_id, f.name, f.mapping_name, f.source_file, f.line_number, COALESCE(s.size, 0), "
                "b.size, COALESCE(s.alloc_size, 0), b.alloc_size FROM below b JOIN forest f ON f.id = b.id "
                "LEFT JOIN sums s ON s.id = b.id"),
    "callstacks": (
        "SELECT * FROM _android_heap_profile_callstacks_for_allocations!((SELECT callsite_id, size * 0.5 AS size, "
        "count, NULL AS alloc_size, 1 AS alloc_count FROM heap_profile_allocation))",
        STEPS + "SELECT f.id, f.parent_id, f.name, f.mapping_name, f.source_file, f.line_number, COALESCE(s.size * 0.5, "
                "0), COALESCE(s.count, 0), 0, COALESCE(s.rows, 0) FROM below b JOIN forest f ON f.id = b.id "
                "LEFT JOIN sums s ON s.id = b.id"),
    "samples": (
        "SELECT * FROM _callstacks_for_stack_profile_samples!((SELECT callsite_id FROM heap_profile_allocation))",
        STEPS + "SELECT f.*, COALESCE(s.rows, 0) FROM below b JOIN forest f ON f.id = b.id LEFT JOIN sums s ON s.id = b.id"),
    "candidates": (
        "SELECT upid, module, build_id, rel_pc FROM _stacks_symbolization_candidates",
        """WITH RECURSIVE used(upid, site) AS (SELECT upid, callsite_id FROM heap_profile_allocation
           UNION SELECT u.upid, c.parent_id FROM used u JOIN stack_profile_callsite c ON c.id = u.site)
           SELECT DISTINCT u.upid, m.name, m.build_id, f.rel_pc FROM used u
           JOIN stack_profile_callsite c ON c.id = u.site JOIN stack_profile_frame f ON f.id = c.frame_id
           JOIN stack_profile_mapping m ON m.id = f.mapping WHERE f.symbol_set_id IS NULL AND m.build_id != ''"""),
    "intervals": (
        "SELECT id, upid, heap_name, retained, allocated, delta FROM _android_heap_profile_intervals",
        """WITH held AS (
             SELECT d.id, a.callsite_id, CASE WHEN SUM(a.count) > 0 THEN SUM(a.size) ELSE 0 END AS size
             FROM heap_profile d JOIN heap_profile_allocation a
             ON a.upid = d.upid AND a.heap_name = d.heap_name AND a.ts <= d.ts_end GROUP BY d.id, a.callsite_id),
           now AS (
             SELECT d.id, SUM(MAX(a.size, 0)) AS allocated, SUM(a.size) AS delta FROM heap_profile d
             JOIN heap_profile_allocation a ON a.upid = d.upid AND a.heap_name = d.heap_name AND a.ts = d.ts_end GROUP BY 1)
           SELECT d.id, d.upid, d.heap_name, COALESCE((SELECT SUM(size) FROM held h WHERE h.id = d.id), 0),
             COALESCE(n.allocated, 0), COALESCE(n.delta, 0) FROM heap_profile d LEFT JOIN now n ON n.id = d.id"""),
}


def ask(path, sql):
    done = subprocess.run([HEAPSCOPE, "query", "--format", "json", path, sql], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [tuple(row.values()) for row in json.loads(done.stdout)]


def in_order(rows):
    return sorted(rows, key=repr)


def random_tables(rand, has_gaps):
    """Ids with gaps, callers behind their callees, missing frames: databases of other programs."""
    step = 3 if has_gaps else 1
    sites = [i * step for i in range(300)]
    deep = sites[:]
    rand.shuffle(deep) if has_gaps else None
    callsites = []
    for i, site in enumerate(deep):
        parent = rand.choice(deep[max(0, i - 40):i]) if i > 5 else None
        frame = rand.randrange(50) * step if not has_gaps or rand.random() > 0.02 else 99999
        callsites.append((site, 0, parent, frame))
    frames = [(i * step, rand.choice(["main", "f", "g", "", None, f"f{i}"]), rand.choice([0, 1, None]), i * 16,
               rand.choice([None, None, 0, 2, 3]), rand.choice([None, None, "deobfuscated"]), None) for i in range(50)]
    symbols = [(0, 0, "inner", "a.c", 1, 1), (1, 0, "outer", "b.c", 2, 0), (2, 2, None, None, None, 0),
               (3, 3, "x", "a.c", None, 1), (4, 3, "y", None, 7, 1), (5, 3, "z", "c.c", 7, 0)]
    dumps = [(upid, heap, ts) for upid in (1, 2) for heap in ("libc.malloc", "other") for ts in range(10, 60, 10)]
    allocations = []
    for upid, heap, ts in dumps:
        for site in rand.choices(sites, k=rand.choice([0, 20, 60])):
            for sign in (1, -1)[:rand.choice([1, 1, 2])]:
                count = rand.randrange(1, 4) * sign
                allocations.append((len(allocations), ts, upid, heap, site, count, count * rand.randrange(1, 100)))
    allocations.append((len(allocations), 60, 2, "other", None, 1, 5))
    rand.shuffle(allocations)
    return {
        "stack_profile_mapping": [(0, "00112233445566778899aabbccddeeff", 0, 0, 0, 9, 0, "/bin/app"),
                                  (1, "", 0, 0, 0, 9, 0, "")],
        "stack_profile_frame": frames, "stack_profile_callsite": callsites, "stack_profile_symbol": symbols,
        "heap_profile_allocation": allocations,
        "heap_profile": [(i, ts, ts, 0, upid, heap) for i, (upid, heap, ts) in enumerate(dumps)],
    }


@pytest.fixture(scope="module", name="databases")
def fixture_databases(tmp_path_factory):
    paths = []
    for seed, has_gaps in ((1, False), (2, True), (3, True)):
        path = str(tmp_path_factory.mktemp("stacks") / f"{seed}.db")
        with sqlite3.connect(path) as db:
            db.executescript(SCHEMA)
            for table, rows in random_tables(random.Random(seed), has_gaps).items():
                db.executemany(f"INSERT INTO {table} VALUES({','.join('?' * len(rows[0]))})", rows)
        db.close()
        paths.append(path)
    return paths


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_plain_sql_says(databases, name):
    sql, plain = MODULES[name]
    for path in databases:
        with sqlite3.connect(path) as db:
            wanted = db.execute(plain).fetchall()
        db.close()
        got = ask(path, INCLUDE + sql)
        assert len(wanted) > 3 and in_order(got) == in_order(wanted)


def test_a_node_is_found_by_its_id(databases):
    tree = {row[0]: row for row in ask(databases[1], INCLUDE + "SELECT * FROM android_heap_profile_summary_tree")}
    chosen = [1, 7, 1.5, 1e30, -1] + random.Random(1).sample(sorted(tree), 20)
    text = ",".join(f"({number})" for number in chosen)
    for table in ("android_heap_profile_summary_tree", "_callstack_spc_forest"):
        found = ask(databases[1], INCLUDE + f"WITH c(n) AS (VALUES {text}) SELECT id FROM c JOIN {table} t ON t.id = c.n")
        assert {row[0] for row in found} >= {number for number in chosen if number in tree}
        assert all(float(row[0]).is_integer() for row in found)


@pytest.mark.parametrize("change, sql, words", [
    ("UPDATE stack_profile_callsite SET parent_id = id WHERE id = 30", "android_heap_profile_summary_tree", "cycle"),
    ("UPDATE heap_profile_allocation SET size = 9223372036854775807", "android_heap_profile_summary_tree", "overflow"),
    ("UPDATE heap_profile_allocation SET size = 9223372036854775807",
     "_android_heap_profile_callstacks_for_allocations!((SELECT callsite_id, size, count, 0 AS alloc_size, "
     "0 AS alloc_count FROM heap_profile_allocation))", "overflow"),
    ("UPDATE stack_profile_callsite SET parent_id = 77777 WHERE id = 30",
     "experimental_flamegraph('native', 100, NULL, 1, NULL, NULL)", "has no parent"),
])
def test_what_cannot_be_summed_up_is_said(databases, tmp_path, change, sql, words):
    path = str(tmp_path / "bad.db")
    with sqlite3.connect(databases[0]) as good, sqlite3.connect(path) as bad:
        good.backup(bad)
        bad.execute(change)
    bad.close()
    done = subprocess.run([HEAPSCOPE, "query", path, f"{INCLUDE} SELECT COUNT(*) FROM {sql}"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and words in done.stderr


@pytest.mark.parametrize("text", [
    "INCLUDE PERFETTO MODULE callstacks.stack_profile;"
    "CREATE TEMP VIEW stack_profile_callsite AS SELECT id, 0 AS depth, parent_id, 0 AS frame_id FROM _callstack_spc_forest;"
    "SELECT * FROM _callstack_spc_forest",
    "INCLUDE PERFETTO MODULE android.memory.heap_profile.summary_tree;"
    "CREATE TEMP VIEW heap_profile_allocation AS SELECT id, 1 AS ts, 1 AS upid, 'h' AS heap_name, 0 AS callsite_id, "
    "1 AS count, self_size AS size FROM android_heap_profile_summary_tree; SELECT * FROM android_heap_profile_summary_tree",
    "CREATE TEMP VIEW heap_profile_allocation AS SELECT id, 1 AS ts, 1 AS upid, 0 AS callsite_id, 1 AS count, size "
    "FROM experimental_flamegraph('native', 1, NULL, 1, NULL, NULL);"
    "SELECT * FROM experimental_flamegraph('native', 1, NULL, 1, NULL, NULL)",
])
def test_tables_that_are_made_of_themselves(databases, text):
    done = subprocess.run([HEAPSCOPE, "query", databases[0], text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "depend" in done.stderr


@pytest.fixture(scope="module", name="trace")
def fixture_trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    path, exported = str(folder / "t.pftrace"), str(folder / "t.sqlite")
    subprocess.run([sys.executable, MAKE_TRACE, path, "3000", "5"], check=True, timeout=60)
    subprocess.run([HEAPSCOPE, "export", "-q", path, "-o", exported], check=True, timeout=60)
    return path, exported


JOIN = """ FROM heap_profile_allocation a JOIN stack_profile_callsite c ON a.callsite_id = c.id
JOIN stack_profile_frame f ON c.frame_id = f.id JOIN stack_profile_mapping m ON f.mapping = m.id """


@pytest.mark.parametrize("is_ordered, sql", [
    (True, "SELECT id, callsite_id FROM heap_profile_allocation ORDER BY id"),
    (True, "SELECT callsite_id, SUM(size) FROM heap_profile_allocation GROUP BY callsite_id ORDER BY callsite_id"),
    (True, "SELECT callsite_id, ts, id FROM heap_profile_allocation ORDER BY callsite_id, ts, id"),
    (True, "SELECT id, parent_id FROM stack_profile_callsite ORDER BY parent_id, id DESC LIMIT 500"),
    (True, "SELECT name FROM stack_profile_frame ORDER BY name LIMIT 50"),
    (False, "SELECT heap_name, ts, SUM(size), COUNT(*) FROM heap_profile_allocation GROUP BY heap_name, ts"),
    (False, "SELECT DISTINCT upid, callsite_id FROM heap_profile_allocation"),
    (False, "SELECT upid, COUNT(DISTINCT callsite_id) FROM heap_profile_allocation GROUP BY upid"),
    (False, "SELECT a.callsite_id, a.ts, f.name, m.name AS n, SUM(a.size)" + JOIN + "GROUP BY 1, 2, 3, 4"),
    (True, "SELECT a.callsite_id, a.ts, a.upid, f.name, f.rel_pc, m.build_id, m.name AS n, SUM(a.size), SUM(a.count)" + JOIN +
     "GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY SUM(a.size) DESC, 1, 2"),
    (True, "SELECT a.callsite_id, c.depth, f.name, m.name AS n, a.ts, SUM(a.size)" + JOIN +
     "WHERE f.name < 'function_5' GROUP BY a.callsite_id, c.depth, f.name, m.name, a.ts HAVING SUM(a.size) <> 0"),
    (False, "SELECT f.name, c.id, m.name AS n, MAX(a.size), a.ts" + JOIN + "GROUP BY 1, 2, 3"),
    (False, "SELECT f.name, MAX(c.depth), SUM(a.count)" + JOIN + "WHERE a.size > 0 AND c.depth = '19' GROUP BY f.id"),
    (False, "SELECT * FROM stack_profile_callsite WHERE parent_id = 3.0 OR id = 7"),
    (False, "SELECT a.id, b.id AS n FROM stack_profile_callsite a LEFT JOIN stack_profile_callsite b ON b.id = a.parent_id"),
    (False, "SELECT * FROM heapscope_samples WHERE dump_id = 2"),
    (False, "SELECT n.name, SUM(s.live_bytes) AS live FROM heapscope_samples s JOIN heapscope_nodes n ON n.id = s.node_id "
            "GROUP BY 1"),
    (False, "SELECT * FROM heapscope_nodes"),
    (False, "SELECT * FROM experimental_flamegraph('native', 3000000000, NULL, 1, NULL, NULL)"),
])
def test_a_trace_and_its_export_answer_alike(trace, is_ordered, sql):
    ours, real = (ask(path, sql) for path in trace)
    assert len(real) > 0
    assert ours == real if is_ordered else in_order(ours) == in_order(real)
