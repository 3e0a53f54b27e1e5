"""heapscope query over databases made by hand: results, formats, messages, exit statuses, the shell."""

import csv
import io
import json
import os
import pty
import subprocess

import pytest
from query_database import write_database

DIST = os.environ.get("HEAPSCOPE_DIST", os.path.join(os.path.dirname(__file__), "../../build/dist"))
HEAPSCOPE = os.path.join(DIST, "bin/heapscope")


@pytest.fixture(name="database")
def fixture_database(tmp_path):
    return write_database(str(tmp_path / "profile.db"))


def query(*args, stdin=""):
    return subprocess.run([HEAPSCOPE, "query", *args], input=stdin, capture_output=True, text=True, timeout=60)


def rows(database, sql):
    done = query("--format", "json", database, sql)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_seeds_queries_run_verbatim(database):
    sql = """select a.callsite_id, a.ts, a.upid, f.name, f.rel_pc, m.build_id, m.name as mapping_name,
sum(a.size) as space_size, sum(a.count) as space_count
from heap_profile_allocation a join
stack_profile_callsite c ON (a.callsite_id = c.id) join
stack_profile_frame f ON (c.frame_id = f.id) join
stack_profile_mapping m ON (f.mapping = m.id)
group by 1, 2, 3, 4, 5, 6, 7 order by space_size desc;"""
    assert [(r["name"], r["space_size"]) for r in rows(database, sql)] == [
        ("malloc", 300), ("malloc", 100), ("_ZN1a1bEv", 50), ("_ZN1a1bEv", 7)]
    sql = """select name, map_name, cumulative_size
from experimental_flamegraph(20,1,'native')
order by abs(cumulative_size) desc;"""
    assert [(r["name"], r["cumulative_size"]) for r in rows(database, sql)] == [
        ("main", 457), ("work", 400), ("helper", 400), ("malloc", 400), ("_ZN1a1bEv", 57)]


def test_flags_of_trace_processor_shell(database, tmp_path):
    (tmp_path / "q.sql").write_text("SELECT 'a' AS x, NULL AS y;")
    for args in (["-q", tmp_path / "q.sql", database], [database, "-Q", "SELECT 'a' AS x, NULL AS y"]):
        assert query(*args).stdout == '"x","y"\n"a","[NULL]"\n'
    assert query("-Q", "SELECT 1 AS x", "--format", "json", database).stdout == query("--format", "json", database,
                                                                                     "SELECT 1 AS x").stdout
    done = query("-Q", "SELECT 1", database, "SELECT 1")
    assert done.returncode == 2 and "SQL was given twice" in done.stderr


def test_the_flamegraph_table_in_todays_order(database):
    sql = """SELECT name, depth, size, alloc_size, alloc_count, parent_id, source_file, line_number
             FROM experimental_flamegraph('native', 10, NULL, 1, NULL, 'HELP')"""
    assert [tuple(r.values()) for r in rows(database, sql)] == [
        ("main", 0, 0, 0, 0, None, None, None), ("work", 1, 0, 0, 0, 0, "w.c", 7),
        ("helper", 2, 0, 0, 0, 1, "h.c", 3), ("malloc", 3, 300, 400, 4, 2, None, None)]
    done = query(database, "SELECT * FROM experimental_flamegraph('native', 9, NULL, 1, NULL, NULL)")
    assert done.returncode == 1 and "Failed to build flamegraph" in done.stderr


def test_the_modules(database):
    sql = "INCLUDE PERFETTO MODULE android.memory.heap_profile.*; SELECT "
    tree = rows(database, sql + "name, self_size, cumulative_size, self_alloc_size, cumulative_alloc_size "
                                "FROM android_heap_profile_summary_tree ORDER BY name")
    assert [tuple(r.values()) for r in tree] == [
        ("a::b()", 57, 57, 57, 57), ("helper", 0, 400, 0, 500), ("main", 0, 457, 0, 557),
        ("malloc", 400, 400, 500, 500), ("work", 0, 400, 0, 500)]
    intervals = rows(database, sql + "* FROM _android_heap_profile_intervals ORDER BY id")
    assert [tuple(r.values()) for r in intervals] == [
        (0, 1, "libc.malloc", 10, 0, 350, 450, 350), (1, 1, "libc.malloc", 11, 9, 450, 100, 100),
        (2, 1, "other", 20, 0, 7, 7, 7)]
    candidates = rows(database, "INCLUDE PERFETTO MODULE stacks.symbolization_candidates;"
                                "SELECT * FROM _stacks_symbolization_candidates ORDER BY rel_pc")
    assert [(r["rel_pc"], r["breakpad_module_id"]) for r in candidates] == [
        (16, "33221100554477668899aabbccddeeff0"), (64, "33221100554477668899aabbccddeeff0")]


FLAMEGRAPH = """CREATE TABLE t(id, parent_id, name, value, place);
INSERT INTO t VALUES(1, NULL, 'main', 1, 'p'), (2, 1, 'a', 2, 'q'), (3, 1, 'a', 3, 'r'), (4, 2, 'b', 4, NULL);
CREATE VIRTUAL TABLE fg USING __intrinsic_flamegraph((SELECT id, parent_id, name, value, place FROM t));
"""


def test_the_flamegraph_operator(database):
    columns = "SELECT name, depth, self_value, cumulative_value, x_start, x_end, place FROM "
    got = rows(database, FLAMEGRAPH + columns + "fg(__intrinsic_flamegraph_config('view', 'TOP_DOWN',"
                                                "'aggregate', 'ONE_OR_SUMMARY', 'place', 'place'))")
    assert [tuple(r.values()) for r in got] == [
        ("main", 1, 1, 10, 0, 10, "p"), ("a", 2, 5, 9, 0, 9, "q and 2 others"), ("b", 3, 4, 4, 0, 4, None)]
    got = rows(database, FLAMEGRAPH + columns + "fg(__intrinsic_flamegraph_config('grouping', 'place',"
                                                "'filter', 'HIDE_STACK', 'B', 'i'))")
    assert [tuple(r.values())[:4] for r in got] == [
        ("main", 1, 1, 6), ("a", 2, 3, 3), ("a", 2, 2, 2)]
    got = rows(database, FLAMEGRAPH + "SELECT cumulative_value FROM fg(__intrinsic_flamegraph_config('view',"
                                      "'BOTTOM_UP')) WHERE __intrinsic_flamegraph_find(_tree_id, 'SUPER_ROOT')")
    assert got == [{"cumulative_value": 10}]


@pytest.mark.parametrize("text, words", [
    ("SELECT * FROM fg(__intrinsic_flamegraph_config('view', 'SIDEWAYS'))", "TOP_DOWN"),
    ("SELECT * FROM fg(__intrinsic_flamegraph_config('view', 'PIVOT'))", "view_pattern"),
    ("SELECT * FROM fg(__intrinsic_flamegraph_config('filter', 'SHOW_STACK', '(', ''))", "regular expression"),
    ("SELECT * FROM fg(__intrinsic_flamegraph_config('value', 'nothing'))", "no column nothing"),
    ("SELECT * FROM fg(x'ff')", "the arguments end"),
    ("CREATE VIRTUAL TABLE x USING __intrinsic_flamegraph((SELECT 1 AS id, 1 AS parent_id, 'a' AS name, 1 AS value))",
     "cycle"),
])
def test_wrong_use_of_the_operator(database, text, words):
    done = query(database, FLAMEGRAPH + text)
    assert done.returncode == 1 and words in done.stderr


def test_doubles_in_csv(database):
    """Six decimals, as trace_processor prints them; values that are not numbers are NULL in SQLite."""
    done = query("--format", "csv", database, "SELECT 1.0, 1e15 / 3, -0.0, 9e999, -9e999, 9e999 - 9e999, 1e-7, -2.5")
    assert done.stdout.splitlines()[1] == '1.000000,333333333333333.312500,-0.000000,inf,-inf,"[NULL]",0.000000,-2.500000'


def test_formats(database):
    sql = "SELECT 1 AS a, 'x\"y' AS b, NULL AS c, 0.5 AS d; SELECT 2 AS e WHERE 0"
    done = query("--format", "csv", database, sql)
    assert done.stdout == '"a","b","c","d"\n1,"x""y","[NULL]",0.500000\n\n"e"\n'
    assert next(csv.DictReader(io.StringIO(done.stdout)))["b"] == 'x"y'
    done = query("--format", "json", database, sql)
    assert done.stdout == '[\n{"a": 1, "b": "x\\"y", "c": null, "d": 0.5}\n]\n[]\n'
    done = query(database, "SELECT 'wide 漢字' AS first, 1 AS n UNION ALL SELECT 'x', 100")
    assert done.stdout == "first        n\n---------  ---\nwide 漢字    1\nx          100\n"


def test_where_the_sql_comes_from(database, tmp_path):
    text = "SELECT COUNT(*) AS n FROM heap_profile"
    (tmp_path / "q.sql").write_text(text)
    wanted = query(database, text).stdout
    assert "3" in wanted
    assert query(database, stdin=text).stdout == wanted
    assert query("-f", str(tmp_path / "q.sql"), database).stdout == wanted
    (tmp_path / "q.sql").write_text("SELECT 1;\nSELECT nothing")
    done = query("-f", str(tmp_path / "q.sql"), database)
    assert done.returncode == 1 and f"{tmp_path}/q.sql, line 2, column 8:" in done.stderr


def test_commands_wherever_sql_is_read(database, tmp_path):
    """As in the shell: alone, between statements, in files. An error ends the text, and lines are
    counted through."""
    assert "heap_profile_allocation" in query(database, ".tables").stdout
    assert query("--format", "csv", database, ".schema heap_profile").stdout.splitlines()[1] == '"id","INTEGER"'
    assert ["heap_profile", "ts_end"] in [line.split()[:2] for line in query(database, ".schema").stdout.splitlines()]
    done = query(database, stdin="-- first\n.mode csv\nSELECT 1 AS a;\n  .format\nSELECT '\n.tables';\nSELECT 2,\n nope;\n.tables\n")
    assert done.stdout == '"a"\n1\ncsv\n"\'\n.tables\'"\n"\n.tables"\n', done
    assert done.returncode == 1 and "line 8, column 2:\nheapscope:    nope;" in done.stderr, done.stderr
    (tmp_path / "q.sql").write_text("SELECT 6 * 7 AS n;\n.quit\nSELECT nonsense;\n")
    done = query(database, stdin=f".read {tmp_path}/q.sql\nSELECT nonsense;")
    assert done.returncode == 0 and "42" in done.stdout and done.stderr == "", done
    (tmp_path / "self.sql").write_text(f"SELECT 1;\n.read {tmp_path}/self.sql\n")
    done = query("-f", str(tmp_path / "self.sql"), database)
    assert done.returncode == 1 and "too deeply" in done.stderr, done.stderr
    for text, words in ((".read", "needs a file"), (".read nowhere", "nowhere: No such file"), (".what", "no command .what"),
                        (".mode xml", "'xml' is not a format"), (".", "no command .")):
        done = query(database, text)
        assert done.returncode == 1 and words in done.stderr and done.stdout == "", done


@pytest.mark.parametrize("text, words", [
    (".schema heap_profle", "no such table: heap_profle; did you mean heap_profile?"),
    (".schema zork", "no such table: zork\nheapscope: .tables lists"),
    ("SELECT * FROM allocations", "did you mean heap_profile_allocation?"),
    ("SELECT * FROM HEAP_PROFIEL", "did you mean heap_profile?"),
    ("SELECT sise FROM heap_profile_allocation", "no such column: sise; did you mean size?"),
    ("SELECT size FROM heap_profile", "no such column: size; there is one in heap_profile_allocation"),
    ("SELECT * FROM _android_heap_profile_intervals", "INCLUDE PERFETTO MODULE android.memory.heap_profile.intervals defines it"),
    ("SELECT * FROM android_heap_profile_sumary_tree", "did you mean android_heap_profile_summary_tree, which INCLUDE PERFETTO"),
    ("SELECT * FROM _callstacks_for_stack_profile_samples!(x)", "INCLUDE PERFETTO MODULE callstacks.stack_profile defines it"),
    ("SELECT DEMANGEL('x')", "did you mean demangle?"),
])
def test_what_was_meant(database, text, words):
    done = query(database, text)
    assert done.returncode == 1 and words in done.stderr and done.stdout == "", done


def test_the_file_stays_as_it_was(database):
    with open(database, "rb") as file:
        before = file.read()
    assert query(database, "CREATE TABLE t AS SELECT 1; CREATE PERFETTO TABLE u AS SELECT 2").returncode == 0
    for text in ("DELETE FROM heap_profile", "DROP TABLE heap_profile", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'",
                 "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = ''"):
        done = query(database, text)
        assert done.returncode == 1 and done.stderr.startswith("heapscope: "), text
    with open(database, "rb") as file:
        assert file.read() == before


def test_wrong_usage_and_wrong_files(database, tmp_path):
    assert query().returncode == 2
    assert query("--format", "xml", database, "SELECT 1").returncode == 2
    assert query("-f", "x", database, "SELECT 1").returncode == 2
    for name, data in (("text", b"no database at all"), ("cut", b"SQLite format 3\0" + b"\1" * 90)):
        (tmp_path / name).write_bytes(data)
        done = query(str(tmp_path / name), "SELECT 1")
        assert done.returncode == 1 and name in done.stderr and done.stdout == ""
    assert "No such file" in query(str(tmp_path / "none"), "SELECT 1").stderr


def test_a_reader_that_goes_away(database):
    sql = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 3000000) SELECT x FROM r"
    with subprocess.Popen([HEAPSCOPE, "query", "--format", "csv", database, sql], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'"x"\n'
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(timeout=60)


def test_the_shell(database, tmp_path):
    main, side = pty.openpty()
    environment = dict(os.environ, XDG_STATE_HOME=str(tmp_path / "state"), TERM="dumb")
    with subprocess.Popen([HEAPSCOPE, "query", database], stdin=side, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, text=True) as process:
        os.write(main, b".tables\n.format csv\nSELECT 6 *\n  7 AS answer;\nSELECT nonsense;\n.modules\n.wrong\n.quit\n")
        out = process.communicate(timeout=60)[0]
    os.close(main)
    os.close(side)
    assert process.returncode == 0
    for words in ("heap_profile_allocation", '"answer"\n42\n', "no such column: nonsense", "callstacks.stack_profile\n",
                  "there is no command .wrong"):
        assert words in out, out
    assert "answer" in (tmp_path / "state/heapscope/query_history").read_text()
