"""Flame graphs in SQL, rule by rule: experimental_flamegraph, the operator, the modules; on trees
and traces made by hand."""

import json
import subprocess

import pytest
import trace_text
from conftest import DIST
from test_sql_conformance import CLOCKS, INTERNED, SYMBOLS, profile, sample

HEAPSCOPE = DIST / "bin" / "heapscope"
MANY = "INSERT INTO t VALUES"
TABLE = "CREATE TABLE t(id, parent_id, name, value, other, place);"
OPERATOR = "CREATE VIRTUAL TABLE fg USING __intrinsic_flamegraph((SELECT id, parent_id, name, value, other, place FROM t));"
TWO_WAYS = MANY + "(1, NULL, 'main', 1, 10, 'p'), (2, 1, 'a', 2, 20, 'q'), (3, 1, 'a', 3, 30, 'q'), (4, 2, 'b', 4, 40, NULL);"
CHAIN = MANY + "(1, NULL, 'main', 1, 0, 'p'), (2, 1, 'a', 2, 0, 'q'), (3, 2, 'b', 4, 0, 'r'), (4, 3, 'c', 8, 0, 's');"
COLUMNS = "name, depth, self_value, cumulative_value, x_start, x_end"


@pytest.fixture
def ask(tmp_path):
    """ask(SQL, TRACE): rows of the last statement, as tuples. The trace is text."""
    def call(sql, trace=CLOCKS + INTERNED + profile(0, sample(1, 1, 1)), fails=None):
        file = tmp_path / "x.pftrace"
        file.write_bytes(trace_text.protoc("encode", trace.encode()))
        done = subprocess.run([HEAPSCOPE, "query", "--format", "json", file, sql], capture_output=True, text=True, timeout=60)
        if fails:
            assert done.returncode == 1 and fails in done.stderr, done.stderr
            return None
        assert done.returncode == 0, done.stderr
        return [tuple(row.values()) for row in json.loads(done.stdout)]
    return call


def operator(ask, tree, columns, *config, where=""):
    arguments = ", ".join("NULL" if c is None else f"'{c}'" for c in config)
    return ask(f"{TABLE}{tree}{OPERATOR}SELECT {columns} FROM fg(__intrinsic_flamegraph_config({arguments})) {where}")


# --- the operator: views ---

MAIN_A_B = [("main", 1, 1, 10, 0, 10), ("a", 2, 5, 9, 0, 9), ("b", 3, 4, 4, 0, 4)]


@pytest.mark.parametrize("tree, config, want", [
    (TWO_WAYS, ("view", "TOP_DOWN"), MAIN_A_B),
    (TWO_WAYS, (), MAIN_A_B),
    (CHAIN, ("view", "PIVOT", "view_pattern", "^b$", ""), [
        ("b", 1, 4, 12, 0, 12), ("b", -1, 12, 12, 0, 12), ("c", 2, 8, 8, 0, 8), ("a", -2, 0, 12, 0, 12),
        ("main", -3, 0, 12, 0, 12)]),
    (CHAIN, ("view", "FROM_FRAME", "view_pattern", "^b$", ""), [("b", 1, 4, 12, 0, 12), ("c", 2, 8, 8, 0, 8)]),
    (MANY + "(1, NULL, 'main', 1, 0, ''), (2, 1, 'a', 2, 0, ''), (3, 2, 'b', 4, 0, '');", ("view", "BOTTOM_UP"), [
        ("b", -1, 4, 4, 0, 4), ("a", -1, 2, 2, 4, 6), ("main", -1, 1, 1, 6, 7),
        ("a", -2, 0, 4, 0, 4), ("main", -2, 0, 2, 4, 6), ("main", -3, 0, 4, 0, 4)]),
], ids=["top down", "default", "pivot", "from frame", "bottom up"])
def test_views(ask, tree, config, want):
    assert operator(ask, tree, COLUMNS, *config) == want


def test_rows_point_to_their_parents(ask):
    """Children come after their parents; with the id of the parent, and its value."""
    got = operator(ask, TWO_WAYS, "_tree_id, _tree_parent_id, name, parent_cumulative_value")
    assert [r[2] for r in got] == ["main", "a", "b"]
    ids = {r[2]: r[0] for r in got}
    assert [r[1] for r in got][1:] == [ids["main"], ids["a"]]
    assert [r[3] for r in got][1:] == [10, 9]


def test_the_root_of_all(ask):
    got = operator(ask, TWO_WAYS, "cumulative_value", "view", "BOTTOM_UP",
                   where="WHERE __intrinsic_flamegraph_find(_tree_id, 'SUPER_ROOT')")
    assert got == [(10,)] and isinstance(got[0][0], float)
    # Shares of the whole, whatever the filters leave; the rest is unknown.
    got = operator(ask, TWO_WAYS, "_tree_id, _tree_parent_id, depth, name, self_value, cumulative_value, x_end", "filter", "HIDE_STACK",
                   "a", "", where="WHERE __intrinsic_flamegraph_find(_tree_id, 'SUPER_ROOT')")
    assert got == [(0, None, 0, None, None, 10, None)]


# --- filters ---


@pytest.mark.parametrize("config, want", [
    (("SHOW_STACK", "^b$", ""), [("main", 0, 4), ("a", 0, 4), ("b", 4, 4)]),
    (("SHOW_STACK", "B", "i"), [("main", 0, 4), ("a", 0, 4), ("b", 4, 4)]),
    (("SHOW_STACK", "B", ""), []),
    (("HIDE_STACK", "^b$", ""), [("main", 1, 6), ("a", 5, 5)]),
    (("HIDE_STACK", "main", ""), []),
    (("HIDE_FRAME", "^a$", ""), [("main", 6, 10), ("b", 4, 4)]),
    (("HIDE_FRAME", "^main$", ""), [("a", 5, 9), ("b", 4, 4)]),
])
def test_one_filter(ask, config, want):
    assert operator(ask, TWO_WAYS, "name, self_value, cumulative_value", "filter", *config) == want


def test_filters_together(ask):
    """Every SHOW_STACK must match somewhere; what one of them hides is hidden."""
    columns = "name, self_value, cumulative_value"
    both = ("filter", "SHOW_STACK", "main", "", "filter", "SHOW_STACK", "b", "")
    assert operator(ask, TWO_WAYS, columns, *both) == [("main", 0, 4), ("a", 0, 4), ("b", 4, 4)]
    assert operator(ask, TWO_WAYS, columns, "filter", "SHOW_STACK", "b", "", "filter", "SHOW_STACK", "x", "") == []
    assert operator(ask, TWO_WAYS, columns, *both, "filter", "HIDE_FRAME", "^a$", "") == [("main", 0, 4), ("b", 4, 4)]
    # With a view that needs a pattern of its own.
    assert operator(ask, CHAIN, columns, "view", "PIVOT", "view_pattern", "^c$", "", "filter", "HIDE_FRAME", "^b$", "") == [
        ("c", 8, 8), ("c", 8, 8), ("a", 0, 8), ("main", 0, 8)]


SKIPPED = MANY + ("(1, NULL, 'root', 1, 2, 'r'), (2, 1, 'skip', 3, 5, 's'), (3, 2, 'leaf', 7, 11, 'l'), (4, 1, 'blocked', 13, 17, 'b'),"
                  "(5, 3, 'skip', 19, 23, NULL), (6, 5, 'skip', 29, 31, 'l');")


def test_a_hidden_frame_gives_all_to_its_caller(ask):
    """Its value and its aggregated columns; in the middle of a stack, at its end, two in a row, and
    at the root, where no frame gets them."""
    columns = "name, self_value, cumulative_value, other, place"
    aggregates = ("aggregate", "SUM", "other", "other", "aggregate", "CONCAT_WITH_COMMA", "place", "place")
    assert operator(ask, SKIPPED, columns, "filter", "HIDE_FRAME", "^skip$", "", *aggregates) == [
        ("root", 4, 72, 7, "r,s"), ("leaf", 55, 55, 65, "l,l"), ("blocked", 13, 13, 17, "b")]
    assert operator(ask, SKIPPED, columns, "filter", "HIDE_FRAME", "root|blocked", "", *aggregates) == [
        ("skip", 3, 58, 5, "s"), ("leaf", 7, 55, 11, "l"), ("skip", 19, 48, 23, None), ("skip", 29, 29, 31, "l")]
    up = ("view", "BOTTOM_UP", "filter", "HIDE_FRAME", "^skip$", "", "filter", "HIDE_STACK", "blocked", "", *aggregates)
    assert operator(ask, SKIPPED, columns, *up) == [
        ("leaf", 55, 55, 65, "l,l"), ("root", 4, 4, 7, "r,s"), ("root", 0, 55, 7, "r,s")]


def test_filters_run_in_their_order(ask):
    """A filter does not see what an earlier one removed."""
    columns = "name, self_value, cumulative_value, other"
    hide, block = ("filter", "HIDE_FRAME", "^skip$", ""), ("filter", "HIDE_STACK", "^(skip|blocked)$", "")
    aggregate = ("aggregate", "SUM", "other", "other")
    assert operator(ask, SKIPPED, columns, *hide, *block, *aggregate) == [("root", 4, 59, 7), ("leaf", 55, 55, 65)]
    # A hidden stack gives its figures to no other frame.
    assert operator(ask, SKIPPED, columns, *block, *hide, *aggregate) == [("root", 1, 1, 2)]
    show = ("filter", "SHOW_STACK", "^skip$", "")
    assert operator(ask, SKIPPED, columns, *hide, *show, *aggregate) == []
    assert [r[:3] for r in operator(ask, SKIPPED, columns, *show, *hide, *aggregate)] == [("root", 3, 58), ("leaf", 55, 55)]
    assert operator(ask, SKIPPED, columns, *hide, "view", "FROM_FRAME", "view_pattern", "^skip$", "") == []


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("group, pattern, is_found", [
    ("'needle'", "^needle$", True), ("'x'", "^needle$", False), ("-9223372036854775807 - 1", "^-9223372036854775808$", True),
    ("7", "^7$", True), ("2.5", "^2[.]5$", True), ("3.0", "^3$", True), ("NULL", "^$", False), ("''", "^$", True)])
def test_filters_match_the_columns_of_the_grouping(ask, group, pattern, is_found):
    tree = MANY + f"(1, NULL, 'root', 1, 0, 'other'), (2, 1, 'child', 4, 0, {group});"
    columns = "name, self_value, cumulative_value"
    shown = [("root", 0, 4), ("child", 4, 4)] if is_found else []
    assert operator(ask, tree, columns, "grouping", "place", "filter", "SHOW_STACK", pattern, "") == shown
    assert operator(ask, tree, columns, "grouping", "place", "filter", "HIDE_STACK", pattern, "") == (
        [("root", 1, 1)] if is_found else [("root", 1, 5), ("child", 4, 4)])
    assert operator(ask, tree, columns, "grouping", "place", "view", "FROM_FRAME", "view_pattern", pattern, "") == shown[1:]
    # A column that is not a group is not matched.
    assert operator(ask, tree, columns, "filter", "SHOW_STACK", pattern, "") == []


def test_many_filters(ask):
    """As many as SQLite allows arguments of a function."""
    assert len(operator(ask, TWO_WAYS, "name", *["filter", "SHOW_STACK", "main", ""] * 31)) == 3
    assert operator(ask, TWO_WAYS, "name", *["filter", "SHOW_STACK", "main", ""] * 30, "filter", "SHOW_STACK", "x", "") == []


# --- values, groups, aggregates ---


def test_several_values(ask):
    got = operator(ask, TWO_WAYS, "name, self_value, cumulative_value, self_other, cumulative_other", "value", "value",
                   "value", "other")
    assert got == [("main", 1, 10, 10, 100), ("a", 5, 9, 50, 90), ("b", 4, 4, 40, 40)]


def test_a_group_keeps_frames_of_a_name_apart(ask):
    tree = MANY + ("(1, NULL, 'm', 0, 0, 'x'), (2, 1, 'a', 1, 0, 'p'), (3, 1, 'a', 2, 0, 'q'), (4, 1, 'a', 4, 0, NULL),"
                   "(5, 1, 'a', 8, 0, ''), (6, 1, 'a', 16, 0, 'p'), (7, 1, 'a', 32, 0, NULL);")
    got = operator(ask, tree, "name, self_value, place", "grouping", "place")
    assert got[0][:2] == ("m", 0)
    # NULL differs from ''.
    assert sorted(got[1:], key=lambda r: r[1]) == [("a", 2, "q"), ("a", 8, ""), ("a", 17, "p"), ("a", 36, None)]
    assert operator(ask, tree, "name, self_value") == [("m", 0), ("a", 63)]


@pytest.mark.parametrize("kind, column, shown, want", [
    ("SUM", "other", "other", 60), ("SUM", "other", "place", 60), ("ONE_OR_SUMMARY", "place", "place", "p and 2 others"),
    ("CONCAT_WITH_COMMA", "place", "place", "p,q,p")])
def test_aggregates(ask, kind, column, shown, want):
    tree = MANY + "(1, NULL, 'a', 1, 10, 'p'), (2, NULL, 'a', 2, 20, 'q'), (3, NULL, 'a', 3, 30, 'p');"
    assert operator(ask, tree, shown, "aggregate", kind, column, shown) == [(want,)]


@pytest.mark.parametrize("places, summary, concat", [
    ((None, "'p'", None), "p", "p"), ((None, "'q'", "'p'"), "q and 2 others", "q,p"), ((None, None, None), None, None),
    ((1, "'1'", 2.0), "1 and 3 others", "1,1,2.0"), ((0.0, -0.0, 0.0), "0.0", "0.0,-0.0,0.0"),
    ((1.5, 2.5, 1.5), "1.5 and 2 others", "1.5,2.5,1.5"), (("''", "''", "''"), "", ",,")])
def test_aggregates_of_any_values(ask, places, summary, concat):
    values = ["NULL" if p is None else p for p in places]
    tree = MANY + ", ".join(f"({i}, NULL, 'a', 1, 0, {v})" for i, v in enumerate(values)) + ";"
    for kind, want in (("ONE_OR_SUMMARY", summary), ("CONCAT_WITH_COMMA", concat)):
        got = operator(ask, tree, "place", "aggregate", kind, "place", "place")
        assert [("" if g is None else str(g)) for (g,) in got] == ["" if want is None else want]


@pytest.mark.parametrize("tree, words", [
    (MANY + "(1, NULL, 'a', -1, 0, '');", "negative"),
    (MANY + "(1, NULL, 'a', 9223372036854775807, 0, ''), (2, 1, 'b', 1, 0, '');", "64 bits"),
])
def test_values_that_cannot_be_drawn(ask, tree, words):
    sql = f"{TABLE}{tree}{OPERATOR}SELECT * FROM fg(__intrinsic_flamegraph_config())"
    ask(sql, fails=words)


# --- experimental_flamegraph ---

HEAPS = (CLOCKS + INTERNED + profile(0, sample(1, 100, 2, 30, 1), sample(2, 8, 1))
         + profile(1, sample(1, 50, 5), time=30, heap='heap_name: "custom"'))
GRAPH = "SELECT %s FROM experimental_flamegraph('native', %d, NULL, 1, NULL, %s)"


def test_all_heaps_up_to_a_time(ask):
    columns = "name, depth, count, cumulative_count, size, cumulative_size, alloc_count, alloc_size, cumulative_alloc_size"
    assert ask(GRAPH % (columns, 10, "NULL"), HEAPS) == [
        ("_Z1fv", 0, 1, 2, 8, 78, 1, 8, 108), ("g", 1, 1, 1, 70, 70, 2, 100, 100)]
    assert ask(GRAPH % (columns, 20, "NULL"), HEAPS) == [
        ("_Z1fv", 0, 1, 7, 8, 128, 1, 8, 158), ("g", 1, 6, 6, 120, 120, 7, 150, 150)]
    ask(GRAPH % (columns, 9, "NULL"), HEAPS, fails="Failed to build flamegraph")


def test_inlined_calls_are_frames(ask):
    """From the outermost frame inwards; files only for frames that have one; names unchanged."""
    got = ask(GRAPH % ("name, map_name, depth, parent_id, size, cumulative_size, source_file, line_number", 10, "NULL"),
              CLOCKS + INTERNED + profile(0, sample(1, 100, 2)) + SYMBOLS)
    assert got == [("outer", "/lib/liba.so", 0, None, 0, 100, "a.c", 9), ("inner", "/lib/liba.so", 1, 0, 0, 100, "a.c", 3),
                   ("g", "/lib/liba.so", 2, 1, 100, 100, None, None)]


def test_focus(ask):
    """Stacks with a name that contains the text; upper and lower case are equal."""
    assert ask(GRAPH % ("name, size, cumulative_size", 10, "'G'"), HEAPS) == [("_Z1fv", 0, 70), ("g", 70, 70)]
    assert ask(GRAPH % ("name, cumulative_size", 10, "'1F'"), HEAPS) == [("_Z1fv", 78), ("g", 70)]


def test_call_sites_of_others_have_no_figures(ask):
    trace = CLOCKS + INTERNED.replace("start: 4096 end: 8192", "") + profile(0, sample(2, 8, 1)) + profile(
        1, sample(1, 5, 1), pid=2, time=25)
    assert ask(GRAPH % ("name, cumulative_size", 10, "NULL"), trace) == [("_Z1fv", 8), ("g", 0)]


# --- modules ---


def test_intervals(ask):
    """Windows: a dump without a start begins at the end of the one before; heaps that end together
    are not multiplied."""
    trace = HEAPS + profile(2, sample(1, 150, 3, 30, 1), time=40) + profile(
        3, sample(1, 70, 6), time=40, heap='heap_name: "custom"', more="start_timestamp: 35")
    got = ask("INCLUDE PERFETTO MODULE android.memory.heap_profile.intervals; SELECT heap_name, ts, dur, retained, allocated, "
              "delta FROM _android_heap_profile_intervals ORDER BY ts + dur, heap_name DESC", trace)
    assert got == [("libc.malloc", 10, 0, 78, 108, 78), ("custom", 20, 0, 50, 50, 50),
                   ("libc.malloc", 11, 19, 128, 50, 50), ("custom", 25, 5, 70, 20, 20)]


def test_summary_tree(ask):
    got = ask("INCLUDE PERFETTO MODULE android.memory.heap_profile.summary_tree; SELECT name, mapping_name, self_size, "
              "cumulative_size, self_alloc_size, cumulative_alloc_size FROM android_heap_profile_summary_tree ORDER BY id", HEAPS)
    assert got == [("f()", "/lib/liba.so", 8, 128, 8, 158), ("g", "/lib/liba.so", 120, 120, 150, 150)]


def test_samples_of_stacks(ask):
    got = ask("INCLUDE PERFETTO MODULE callstacks.stack_profile; SELECT name, self_count, parent_id IS NULL AS is_root FROM "
              "_callstacks_for_stack_profile_samples!((SELECT callsite_id FROM heap_profile_allocation WHERE size > 0)) "
              "ORDER BY id", HEAPS)
    assert got == [("f()", 1, 1), ("g", 2, 0)]


def test_nameless_frames_of_stacks(ask):
    """A frame without a name, one with an empty name, and one that has a symbol: the first two are
    unknown."""
    trace = CLOCKS + """packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
      build_ids { iid: 1 str: "\\001" } mapping_paths { iid: 1 str: "lib.so" } function_names { iid: 9 str: "" }
      mappings { iid: 1 build_id: 1 path_string_ids: 1 start: 1 end: 100 }
      frames { iid: 1 mapping_id: 1 rel_pc: 10 } frames { iid: 2 mapping_id: 1 rel_pc: 20 function_name_id: 9 }
      frames { iid: 3 mapping_id: 1 rel_pc: 30 }
      callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 } } }
      packet { trusted_packet_sequence_id: 1 module_symbols { path: "/lib.so" build_id: "\\001"
        address_symbols { address: 30 lines { function_name: "known" } } } }
    """ + profile(0, sample(1, 1, 1))
    got = ask("INCLUDE PERFETTO MODULE callstacks.stack_profile; SELECT name FROM "
              "_callstacks_for_stack_profile_samples!((SELECT callsite_id FROM heap_profile_allocation)) ORDER BY id", trace)
    assert got == [("unknown",), ("unknown",), ("known",)]


def test_ancestors_and_annotations(ask):
    trace = HEAPS.replace('"liba.so"', '"base.odex"')
    assert ask("SELECT id, depth, parent_id, frame_id FROM experimental_ancestor_stack_profile_callsite(1)", trace) == [
        (0, 0, None, 0)]
    assert ask("SELECT id, annotation FROM experimental_annotated_callstack(1)", trace) == [(0, "aot"), (1, "aot")]
