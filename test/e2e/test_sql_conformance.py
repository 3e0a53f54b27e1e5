"""The tables of a trace, rule by rule: hand-written traces, and the rows that they must produce.

Traces are text that protoc encodes; the rows are read from the exported database with Python's
own SQLite. The rules are those of docs/SQL.md.
"""

import gzip
import os
import resource
import sqlite3
import zlib

import pytest

import trace_text

CLOCKS = "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 4 timestamp: 10 } } }\n"
INTERNED = """
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 previous_packet_dropped: 1 interned_data {
  build_ids { iid: 1 str: "\\x01\\xab" }
  mapping_paths { iid: 1 str: "lib" } mapping_paths { iid: 2 str: "liba.so" }
  function_names { iid: 1 str: "_Z1fv" } function_names { iid: 2 str: "g" }
  mappings { iid: 1 build_id: 1 exact_offset: 4096 start_offset: 64 start: 4096 end: 8192 load_bias: 7
             path_string_ids: 1 path_string_ids: 2 }
  frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 100 }
  frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 200 }
  callstacks { iid: 1 frame_ids: 1 frame_ids: 2 }
  callstacks { iid: 2 frame_ids: 1 }
} }
"""


def sample(iid, alloc, count, freed=0, free_count=0):
    return (f"samples {{ callstack_id: {iid} self_allocated: {alloc} alloc_count: {count} self_freed: {freed} "
            f"free_count: {free_count} }}")


def profile(index, *samples, pid=1, time=20, heap='heap_name: "libc.malloc"', more="", packet="", continued=""):
    return (f"packet {{ trusted_packet_sequence_id: 1 {packet} profile_packet {{ index: {index} {continued} "
            f"process_dumps {{ pid: {pid} timestamp: {time} {heap} {more} {' '.join(samples)} }} }} }}\n")


@pytest.fixture
def database(heapscope, tmp_path):
    """A function: trace (text or bytes) -> connection."""
    def make(trace, message=""):
        data = trace if isinstance(trace, bytes) else trace_text.protoc("encode", trace.encode())
        path, out = tmp_path / "in.pftrace", tmp_path / "out.sqlite"
        path.write_bytes(data)
        done = heapscope("export", path, "-o", out)
        assert done.returncode == 0, done.stderr
        assert message in done.stderr
        return sqlite3.connect(out)
    return make


def rows(db, sql):
    return db.execute(sql).fetchall()


def stat(db, name):
    return rows(db, f"SELECT idx, value FROM stats WHERE name = '{name}'")


ALLOCATIONS = "SELECT ts, upid, heap_name, callsite_id, count, size FROM heap_profile_allocation ORDER BY id"


def test_stacks(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2, 30, 1)))
    assert rows(db, "SELECT * FROM stack_profile_mapping") == [
        (0, "01ab", 4096, 64, 4096, 8192, 7, "/lib/liba.so")]
    assert rows(db, "SELECT * FROM stack_profile_frame") == [
        (0, "_Z1fv", 0, 100, None, None, None), (1, "g", 0, 200, None, None, None)]
    assert rows(db, "SELECT * FROM stack_profile_callsite") == [(0, 0, None, 0), (1, 1, 0, 1)]
    assert rows(db, ALLOCATIONS) == [(10, 1, "libc.malloc", 1, 2, 100), (10, 1, "libc.malloc", 1, -1, -30)]
    assert rows(db, "SELECT * FROM heap_profile") == [(0, 10, 10, 0, 1, "libc.malloc")]
    assert rows(db, "SELECT upid, pid FROM process ORDER BY upid") == [(0, 0), (1, 1)]
    assert rows(db, "SELECT utid, tid, name, upid, is_main_thread, is_idle FROM thread ORDER BY utid") == [
        (0, 0, "swapper", 0, 1, 1), (1, 1, None, 1, 1, 0)]


def test_names_of_tables(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2)))
    for name in ("stack_profile_mapping", "stack_profile_frame", "stack_profile_callsite", "stack_profile_symbol",
                 "heap_profile_allocation", "heap_profile", "profiler_smaps", "process", "thread", "counter",
                 "counter_track", "process_counter_track", "clock_snapshot", "stats"):
        assert rows(db, f"SELECT * FROM {name}") == rows(db, f"SELECT * FROM __intrinsic_{name}")
    assert rows(db, "SELECT count(*) FROM process_memory_mappings") == [(0,)]
    assert rows(db, "SELECT count(*) FROM __intrinsic_aggregate_sample") == [(0,)]


def test_dumps_are_differences(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2), sample(2, 8, 1))
                  + profile(1, sample(1, 150, 3, 100, 2), sample(2, 8, 1), time=30, more="start_timestamp: 20"))
    assert rows(db, ALLOCATIONS) == [
        (10, 1, "libc.malloc", 1, 2, 100), (10, 1, "libc.malloc", 0, 1, 8),
        (20, 1, "libc.malloc", 1, 1, 50), (20, 1, "libc.malloc", 1, -2, -100)]
    assert rows(db, "SELECT ts, ts_end, dur FROM heap_profile ORDER BY id") == [(10, 10, 0), (10, 20, 10)]
    assert stat(db, "heapprofd_missing_packet") == [(None, 0)]


def test_new_number_for_a_known_stack(database):
    again = "packet { trusted_packet_sequence_id: 1 interned_data { callstacks { iid: 9 frame_ids: 1 frame_ids: 2 } } }"
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2, 100, 2)) + again
                  + profile(1, sample(9, 7, 1), time=30) + profile(2, sample(9, 9, 2, 9, 2), time=40))
    assert [r[3:] for r in rows(db, ALLOCATIONS)] == [(1, 2, 100), (1, -2, -100), (1, 1, 7), (1, 1, 2), (1, -2, -9)]


def test_two_heaps_share_a_call_site(database):
    """trace_processor mixes up their totals from the second dump on."""
    text = CLOCKS + INTERNED
    for index in range(4):
        heap = 'heap_name: "custom"' if index % 2 else 'heap_name: "libc.malloc"'
        size = (1000 if index % 2 else 100) * (1 + index // 2)
        text += profile(index, sample(1, size, 1 + index // 2), time=20 + index, heap=heap)
    db = database(text)
    assert rows(db, "SELECT heap_name, sum(size), sum(count) FROM heap_profile_allocation GROUP BY 1 ORDER BY 1") == [
        ("custom", 2000, 2), ("libc.malloc", 200, 2)]
    assert stat(db, "heapprofd_malformed_packet") == []


def test_totals_that_fall(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2)) + profile(1, sample(1, 50, 1), time=30))
    assert len(rows(db, ALLOCATIONS)) == 1
    assert stat(db, "heapprofd_malformed_packet") == [(1, 1)]


def test_art_tells_no_frees(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2, 50, 1), heap='heap_name: "com.android.art"'))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100)]


def test_heap_without_a_name(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2), heap=""))
    assert rows(db, "SELECT heap_name FROM heap_profile_allocation") == [("unknown",)]
    assert rows(db, "SELECT heap_name FROM heap_profile") == [("unknown",)]


@pytest.mark.parametrize("interval, count", [("", 0), ("orig_sampling_interval_bytes: 1", 3)])
def test_dump_at_max(database, interval, count):
    peak = "samples { callstack_id: 1 self_max: 500 self_max_count: 3 self_allocated: 900 self_freed: 900 }"
    db = database(CLOCKS + INTERNED + profile(0, peak, more=interval))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(count, 500)]


def test_continued(database):
    """Samples wait for the last packet, so packets that they refer to may come after them."""
    first = profile(0, sample(1, 100, 2), continued="continued: true")
    last = "packet { trusted_packet_sequence_id: 1 profile_packet { index: 1 } }\n"
    cleared = "packet { trusted_packet_sequence_id: 1 incremental_state_cleared: true }\n"
    interned = INTERNED.replace("sequence_flags: 1 previous_packet_dropped: 1", "")
    db = database(CLOCKS + cleared + first + interned + last)
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100)]
    assert stat(db, "heapprofd_non_finalized_profile") == [(None, 0)]
    db = database(CLOCKS + INTERNED + first)
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, "heapprofd_non_finalized_profile") == [(None, 1)]
    assert rows(db, "SELECT live_bytes, live_count FROM heapscope_samples") == [(100, 2)]


def test_legacy_tables_in_the_packet(database):
    packet = """packet { trusted_packet_sequence_id: 1 profile_packet { %s index: %d
      strings { iid: 1 str: "f" } strings { iid: 2 str: "lib.so" } strings { iid: 3 str: "\\x0f" }
      mappings { iid: 1 build_id: 3 path_string_ids: 2 }
      frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 5 }
      callstacks { iid: 1 frame_ids: 1 }
      process_dumps { pid: 5 timestamp: %d heap_name: "libc.malloc" %s } } }
    """
    db = database(CLOCKS + packet % ("", 0, 20, sample(1, 10, 1)) + packet % ("", 1, 30, sample(1, 25, 3)))
    assert rows(db, "SELECT name, build_id FROM stack_profile_mapping") == [("/lib.so", "0f")]
    assert rows(db, "SELECT name, rel_pc FROM stack_profile_frame") == [("f", 5)]
    assert [r[3:] for r in rows(db, ALLOCATIONS)] == [(0, 1, 10), (0, 2, 15)]


def test_a_mapping_of_each_process(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1)) + profile(1, sample(1, 2, 1), pid=2))
    assert rows(db, "SELECT count(*) FROM stack_profile_mapping") == [(2,)]
    assert rows(db, "SELECT upid, callsite_id FROM heap_profile_allocation") == [(1, 1), (2, 3)]


def test_mappings_without_addresses_are_one(database):
    interned = INTERNED.replace("start: 4096 end: 8192", "")
    db = database(CLOCKS + interned + profile(0, sample(1, 1, 1)) + profile(1, sample(1, 2, 1), pid=2))
    assert rows(db, "SELECT count(*) FROM stack_profile_mapping") == [(1,)]
    assert rows(db, "SELECT upid, callsite_id FROM heap_profile_allocation") == [(1, 1), (2, 1)]


def test_names_of_mappings(database):
    text = CLOCKS + """packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
      mapping_paths { iid: 1 str: "/whole/path.so" } mapping_paths { iid: 2 str: "[jit]" }
      mappings { iid: 1 path_string_ids: 1 start: 1 end: 2 } mappings { iid: 2 start: 3 end: 4 }
      mappings { iid: 3 path_string_ids: 2 start: 5 end: 6 }
      frames { iid: 1 mapping_id: 1 } frames { iid: 2 mapping_id: 2 } frames { iid: 3 mapping_id: 3 kind: 4 }
      callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 } } }
    """ + profile(0, sample(1, 1, 1))
    db = database(text)
    assert rows(db, "SELECT name, build_id FROM stack_profile_mapping") == [
        ("/whole/path.so", ""), ("", ""), ("/[jit]", "")]
    assert rows(db, "SELECT name, type FROM stack_profile_frame") == [(None, None), (None, None), (None, "jit")]


def test_frames_without_a_mapping(database):
    text = CLOCKS + """packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
      function_names { iid: 1 str: "f" } source_paths { iid: 1 str: "f.c" }
      frames { iid: 1 function_name_id: 1 source_path_iid: 1 line_number: 3 }
      frames { iid: 2 function_name_id: 1 source_path_iid: 1 line_number: 4 }
      frames { iid: 3 function_name_id: 1 source_path_iid: 1 line_number: 3 }
      callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 } } }
    """ + profile(0, sample(1, 1, 1))
    db = database(text)
    assert rows(db, "SELECT name, mapping, symbol_set_id FROM stack_profile_frame") == [("f", 0, 0), ("f", 0, 1)]
    assert rows(db, "SELECT name, source_file, line_number FROM stack_profile_symbol") == [
        ("f", "f.c", 3), ("f", "f.c", 4)]
    assert rows(db, "SELECT frame_id FROM stack_profile_callsite ORDER BY id") == [(0,), (1,), (0,)]
    assert rows(db, "SELECT name, start, end FROM stack_profile_mapping") == [("", 0, 0)]


@pytest.mark.parametrize("remove, name", [
    ('function_names { iid: 2 str: "g" }', "stackprofile_invalid_string_id"),
    ('mapping_paths { iid: 2 str: "liba.so" }', "stackprofile_invalid_string_id"),
    ("frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 200 }", "stackprofile_invalid_frame_id"),
    ("callstacks { iid: 1 frame_ids: 1 frame_ids: 2 }", "stackprofile_invalid_callstack_id"),
])
def test_what_is_not_there(database, remove, name):
    assert remove in INTERNED
    db = database(CLOCKS + INTERNED.replace(remove, "") + profile(0, sample(1, 100, 2)))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, name) == [(None, 1)]
    assert rows(db, "SELECT count(*) FROM heap_profile") == [(1,)]


def test_mapping_that_is_not_there(database):
    db = database(CLOCKS + INTERNED.replace("mapping_id: 1 rel_pc: 200", "mapping_id: 5 rel_pc: 200")
                  + profile(0, sample(1, 100, 2), sample(2, 3, 1)))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(1, 3)]
    assert stat(db, "stackprofile_invalid_mapping_id") == [(None, 1)]


def test_empty_callstack(database):
    db = database(CLOCKS + INTERNED.replace("callstacks { iid: 2 frame_ids: 1 }", "callstacks { iid: 2 }")
                  + profile(0, sample(2, 100, 2)))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, "stackprofile_empty_callstack") == [(None, 1)]


def test_the_first_of_a_number_wins(database):
    again = 'packet { trusted_packet_sequence_id: 1 interned_data { function_names { iid: 2 str: "other" } } }\n'
    db = database(CLOCKS + INTERNED + again + profile(0, sample(1, 100, 2)))
    assert rows(db, "SELECT name FROM stack_profile_frame WHERE id = 1") == [("g",)]


def test_state_must_have_been_cleared(database):
    db = database(CLOCKS + INTERNED.replace("sequence_flags: 1 previous_packet_dropped: 1", "")
                  + profile(0, sample(1, 100, 2)))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, "interned_data_skipped_incremental_state_invalid") == [(None, 1)]


def test_lost_packets(database):
    """Packets after a lost one cannot be trusted; a cleared state can, even in the same packet."""
    lost = "packet { trusted_packet_sequence_id: 1 previous_packet_dropped: 1 }\n"
    later = 'packet { trusted_packet_sequence_id: 1 interned_data { callstacks { iid: 3 frame_ids: 2 } } }\n'
    db = database(CLOCKS + INTERNED + lost + later + profile(0, sample(3, 1, 1), sample(1, 2, 1)))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(1, 2)]
    assert stat(db, "interned_data_skipped_incremental_state_invalid") == [(None, 1)]
    db = database(CLOCKS + INTERNED + lost + profile(0, sample(1, 2, 1), packet="sequence_flags: 2"))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, "packet_skipped_seq_needs_incremental_state_invalid") == [(None, 1)]


def test_interned_data_of_no_sequence(database):
    db = database(CLOCKS + INTERNED.replace("trusted_packet_sequence_id: 1 ", "") + profile(0, sample(1, 1, 1)))
    assert stat(db, "interned_data_tokenizer_errors") == [(None, 1)]
    assert rows(db, ALLOCATIONS) == []


def test_two_sessions_in_one_file(database):
    one = trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 100, 2))).encode())
    two = trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 70, 1), time=90)).encode())
    db = database(one + two)
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100), (1, 70)]
    assert stat(db, "heapprofd_missing_packet") == [(None, 0)]


def test_gaps_in_the_numbers(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1)) + profile(2, sample(1, 2, 1), time=30))
    assert stat(db, "heapprofd_missing_packet") == [(None, 1)]
    assert len(rows(db, ALLOCATIONS)) == 2
    assert stat(database(CLOCKS + INTERNED + profile(3, sample(1, 1, 1))), "heapprofd_missing_packet") == [(None, 1)]


def test_compressed(database):
    plain = trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 100, 2))).encode())
    packed = zlib.compress(plain)
    escaped = "".join(f"\\x{b:02x}" for b in packed)
    inside = trace_text.protoc("encode", f'packet {{ compressed_packets: "{escaped}" }}'.encode())
    want = rows(database(plain), ALLOCATIONS)
    assert want
    assert rows(database(gzip.compress(plain)), ALLOCATIONS) == want
    assert rows(database(inside), ALLOCATIONS) == want


# --- clocks ---

def test_time_before_the_first_snapshot(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1), time=0))
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(-10,)]


def test_the_nearest_earlier_snapshot(database):
    second = "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 4 timestamp: 500 } } }\n"
    db = database(CLOCKS + second + INTERNED + profile(0, sample(1, 1, 1), time=499)
                  + profile(1, sample(1, 2, 2), time=501))
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(489,), (1001,)]
    assert rows(db, "SELECT ts, clock_id, clock_name, clock_value, snapshot_id FROM clock_snapshot ORDER BY id") == [
        (0, 6, "BOOTTIME", 0, 0), (0, 4, "MONOTONIC_COARSE", 10, 0),
        (1000, 6, "BOOTTIME", 1000, 1), (1000, 4, "MONOTONIC_COARSE", 500, 1)]


def test_a_clock_by_way_of_another(database):
    clocks = """packet { clock_snapshot { clocks { clock_id: 4 timestamp: 10 } clocks { clock_id: 3 timestamp: 11 } } }
    packet { clock_snapshot { clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 6 timestamp: 200 } } }
    """
    db = database(clocks + INTERNED + profile(0, sample(1, 1, 1), time=20))
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(121,)]


def test_no_clocks(database):
    db = database(INTERNED + profile(0, sample(1, 1, 1)))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, "clock_sync_failure") == [(None, 1)]


def test_clocks_that_come_late(database):
    db = database(INTERNED + profile(0, sample(1, 1, 1)) + CLOCKS)
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(10,)]


def test_the_clock_of_the_trace(database):
    clocks = CLOCKS.replace("clock_snapshot {", "clock_snapshot { primary_trace_clock: 4", 1)
    db = database(clocks + INTERNED + profile(0, sample(1, 1, 1)))
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(20,)]


# --- names ---

SYMBOLS = """packet { module_symbols { path: "/lib/liba.so" build_id: "\\x01\\xab"
  address_symbols { address: 100 lines { function_name: "inner" source_file_name: "a.c" line_number: 3 }
                    lines { function_name: "outer" source_file_name: "a.c" line_number: 9 } }
  address_symbols { address: 200 lines { function_name: "g" line_number: 4 } }
  address_symbols { address: 300 lines { function_name: "nobody" } } } }
"""


@pytest.mark.parametrize("is_first", [False, True])
def test_symbols(database, is_first):
    dumps = CLOCKS + INTERNED + profile(0, sample(1, 1, 1))
    db = database(SYMBOLS + dumps if is_first else dumps + SYMBOLS)
    assert rows(db, "SELECT * FROM stack_profile_symbol") == [
        (0, 0, "inner", "a.c", 3, 1), (1, 0, "outer", "a.c", 9, 0), (2, 2, "g", None, None, 0)]
    assert rows(db, "SELECT symbol_set_id FROM stack_profile_frame ORDER BY id") == [(0,), (2,)]
    assert stat(db, "stackprofile_invalid_frame_id") == [(None, 1)]


def test_symbols_of_another_build(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1)) + SYMBOLS.replace("\\xab", "\\xac"))
    assert rows(db, "SELECT * FROM stack_profile_symbol") == []
    assert stat(db, "stackprofile_invalid_mapping_id") == [(None, 1)]


def test_symbols_of_every_process(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1)) + profile(1, sample(1, 2, 1), pid=2) + SYMBOLS)
    assert rows(db, "SELECT symbol_set_id FROM stack_profile_frame ORDER BY id") == [(0,), (2,), (0,), (2,)]
    assert rows(db, "SELECT count(*) FROM stack_profile_symbol") == [(3,)]


def test_breakpad_id_stays_text(database):
    text = "ABCDEF0123456789ABCDEF0123456789A"
    db = database(CLOCKS + INTERNED.replace("\\x01\\xab", text[:33]) + profile(0, sample(1, 1, 1)))
    assert rows(db, "SELECT build_id FROM stack_profile_mapping") == [(text[:33],)]


def obfuscated(package, *methods):
    return (f'packet {{ deobfuscation_mapping {{ package_name: "{package}" obfuscated_classes {{ obfuscated_name: "x.A" '
            f'deobfuscated_name: "org.Real" {" ".join(methods)} }} }} }}\n')


def method(name, lines=""):
    return f'obfuscated_methods {{ obfuscated_name: "b" deobfuscated_name: "{name}" {lines} }}'


def java(path, frame=""):
    return CLOCKS + (INTERNED.replace('str: "_Z1fv"', 'str: "x.A.b"').replace('"liba.so"', f'"{path}"')
                     .replace("mapping_id: 1 rel_pc: 100", f"mapping_id: 1 rel_pc: 100 {frame}")
                     + profile(0, sample(1, 1, 1)))


APP = "/data/app/org.pkg-1/base.odex"
NAMES = "SELECT name, deobfuscated_name FROM stack_profile_frame ORDER BY id"


@pytest.mark.parametrize("path, package", [
    (APP, "org.pkg"), ("/data/app/~~abc==/org.pkg-2==/oat/base.odex", "org.pkg"), (APP, ""), ("/memfd:jit", "memfd")])
def test_deobfuscation(database, path, package):
    text = java("X").replace("path_string_ids: 1 path_string_ids: 2", "path_string_ids: 2").replace('"X"', f'"{path}"')
    db = database(text + obfuscated(package, method("load")))
    assert rows(db, NAMES) == [("x.A.b", "org.Real.load"), ("g", None)]


def test_deobfuscation_of_another_package(database):
    text = java(APP).replace("path_string_ids: 1 path_string_ids: 2", "path_string_ids: 2")
    db = database(text + obfuscated("org.other", method("load")))
    assert rows(db, NAMES) == [("x.A.b", None), ("g", None)]


def test_deobfuscation_by_user(database):
    tree = "packet { process_tree { processes { pid: 1 uid: 10077 } } }\n"
    packages = 'packet { packages_list { packages { name: "org.pkg" uid: 10077 } packages { name: "b" uid: 9 } } }\n'
    db = database(java("jit") + tree + packages + obfuscated("org.pkg", method("load")))
    assert rows(db, NAMES) == [("x.A.b", "org.Real.load"), ("g", None)]


def test_deobfuscation_of_what_may_be_several(database):
    db = database(java("jit") + obfuscated("", method("load"), method("save"), method("load"), method("org.Other.f")))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.load | org.Real.save | org.Other.f")


def test_deobfuscation_with_lines(database):
    lines = "obfuscated_line_start: {} obfuscated_line_end: {} source_line_start: {} source_line_end: {}"
    db = database(java("jit", "line_number: 5") + obfuscated(
        "", method("inner", lines.format(1, 9, 100, 108)), method("outer", lines.format(1, 9, 50, 50)),
        method("elsewhere", lines.format(10, 20, 1, 11))))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.outer")
    assert rows(db, "SELECT name, line_number, inlined FROM stack_profile_symbol ORDER BY id") == [
        ("org.Real.inner", 104, 1), ("org.Real.outer", 54, 0)]


# --- processes and counters ---

def test_process_tree(database):
    db = database("""packet { timestamp: 5 process_tree {
      processes { pid: 20 ppid: 10 uid: 1010077 cmdline: "/bin/prog" cmdline: "-x" process_start_from_boot: 3 }
      threads { tid: 20 tgid: 20 name: "prog" } threads { tid: 21 tgid: 20 name: "worker" } } }""")
    assert rows(db, "SELECT upid, pid, name, cmdline, parent_upid, uid, android_appid, android_user_id, start_ts "
                    "FROM process ORDER BY upid") == [
        (0, 0, None, None, None, None, None, None, None), (1, 10, None, None, None, None, None, None, None),
        (2, 20, "/bin/prog", "/bin/prog -x", 1, 1010077, 10077, 10, 3)]
    assert rows(db, "SELECT tid, name, upid, is_main_thread FROM thread ORDER BY utid") == [
        (0, "swapper", 0, 1), (10, None, 1, 1), (20, "prog", 2, 1), (21, "worker", 2, 0)]


def test_counters_of_processes(database):
    fields = {"vm_size_kb": "mem.virt", "vm_rss_kb": "mem.rss", "rss_anon_kb": "mem.rss.anon",
              "rss_file_kb": "mem.rss.file", "rss_shmem_kb": "mem.rss.shmem", "vm_swap_kb": "mem.swap",
              "vm_locked_kb": "mem.locked", "vm_hwm_kb": "mem.rss.watermark", "smr_rss_kb": "mem.smaps.rss",
              "smr_pss_kb": "mem.smaps.pss", "smr_pss_anon_kb": "mem.smaps.pss.anon",
              "smr_pss_file_kb": "mem.smaps.pss.file", "smr_pss_shmem_kb": "mem.smaps.pss.smem",
              "smr_swap_pss_kb": "mem.smaps.swap.pss", "dmabuf_rss_kb": "mem.dmabuf_rss"}
    text = " ".join(f"{field}: {i + 1}" for i, field in enumerate(fields))
    other = "oom_score_adj: -5 runtime_user_mode: 7 runtime_kernel_mode: 8 heapscope_thread_count: 3"
    ours = "heapscope_counters { pid: 4 minor_fault_count: 10 major_fault_count: 11 live_bytes: 12 }"
    # One of our files from before heapscope_counters has the number of threads among Perfetto's
    # fields.
    db = database(f"packet {{ timestamp: 9 process_stats {{ processes {{ pid: 4 {text} {other} }} }} {ours} }}")
    got = dict(rows(db, "SELECT t.name, c.value FROM counter c JOIN process_counter_track t ON c.track_id = t.id "
                        "JOIN process p USING (upid) WHERE p.pid = 4 AND c.ts = 9"))
    want = {name: (i + 1) * 1024.0 for i, name in enumerate(fields.values())}
    assert got == {**want, "oom_score_adj": -5.0, "runtime.user_ns": 7.0, "runtime.kernel_ns": 8.0,
                   "heapscope.threads": 3.0, "heapscope.minor_faults": 10.0, "heapscope.major_faults": 11.0,
                   "heapscope.live_bytes": 12.0}


def test_counters_are_in_the_order_of_time(database):
    one = "packet {{ timestamp: {} process_stats {{ processes {{ pid: 4 vm_rss_kb: {} }} }} }}\n"
    db = database(one.format(30, 3) + one.format(10, 1) + "packet { process_stats { processes { pid: 4 vm_rss_kb: 9 } } }")
    assert rows(db, "SELECT ts, value FROM counter ORDER BY id") == [(10, 1024.0), (30, 3072.0), (30, 9216.0)]
    assert rows(db, "SELECT count(*) FROM counter_track") == [(1,)]


def test_counters_of_the_machine(database):
    db = database("packet { timestamp: 9 sys_stats { meminfo { key: 1 value: 100 } meminfo { key: 9 value: 2 } "
                  "psi { resource: 5 total_ns: 77 } } }")
    assert rows(db, "SELECT t.name, c.value FROM counter c JOIN counter_track t ON c.track_id = t.id ORDER BY c.id") == [
        ("MemTotal", 102400.0), ("Active(anon)", 2048.0), ("psi.mem.some", 77.0)]


def test_smaps(database):
    db = database("""packet { timestamp: 8 smaps_packet { pid: 3
      entries { path: "/lib/a.so" size_kb: 20 private_dirty_kb: 4 swap_kb: 1 proportional_resident_kb: 6 }
      entries { path: "/memfd:x (deleted)" size_kb: 1 } } }""")
    assert rows(db, "SELECT p.pid, ts, path, path_trimmed, is_deleted, aggregate_count, size_kb, private_dirty_kb, "
                    "swap_kb, proportional_resident_kb FROM profiler_smaps JOIN process p USING (upid)") == [
        (3, 8, "/lib/a.so", "/lib/a.so", 0, 1, 20, 4, 1, 6),
        (3, 8, "/memfd:x (deleted)", "/memfd:x", 1, 1, 1, 0, 0, 0)]


def test_packed_smaps(database):
    columns = "name_id: 1 name_id: 0 size: 8 size: 4 rss: 6 rss: 2 pss: 5 pss: 1 aggregate_count: 3 aggregate_count: 1"
    text = ('packet { timestamp: 8 smaps_packet { pid: 3 packed_entries { string_table: "" string_table: "/lib/a.so" %s '
            '} } }')
    db = database(text % columns)
    assert rows(db, "SELECT path, aggregate_count, size_kb, rss_kb, proportional_resident_kb, swap_kb "
                    "FROM process_memory_mappings") == [("/lib/a.so", 3, 8, 6, 5, None), ("", 1, 4, 2, 1, None)]
    db = database(text % (columns + " swap: 1"))
    assert stat(db, "smaps_parser_errors") == [(None, 1)]


# --- statistics ---

def test_statistics_are_counted_once(database):
    """Flags and totals are repeated with every dump."""
    more = ("buffer_overran: true disconnected: true rejected_concurrent: true hit_guardrail: true "
            "buffer_corrupted: true client_error: 2 sampling_interval_bytes: 8192 orig_sampling_interval_bytes: 4096 "
            "stats { heap_samples: %d total_unwinding_time_us: %d client_spinlock_blocked_us: %d }")
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1), pid=77, more=more % (5, 10, 1), packet="timestamp: 50")
                  + profile(1, sample(1, 2, 2), pid=77, time=30, more=more % (8, 12, 1), packet="timestamp: 60"))
    want = {"heapprofd_buffer_overran": 1, "heapprofd_client_disconnected": 1, "heapprofd_rejected_concurrent": 1,
            "heapprofd_hit_guardrail": 1, "heapprofd_buffer_corrupted": 1, "heapprofd_client_error": 2,
            "heapprofd_sampling_interval_adjusted": 4096, "heapprofd_unwind_samples": 8,
            "heapprofd_unwind_time_us": 12, "heapprofd_client_spinlock_blocked": 1,
            "heapprofd_last_profile_timestamp": 60}
    got = dict(rows(db, "SELECT name, value FROM stats WHERE idx = 77"))
    assert got == want


def test_client_error_of_a_full_buffer(database):
    db = database(CLOCKS + INTERNED + profile(0, more="client_error: 1"))
    assert stat(db, "heapprofd_buffer_overran") == [(1, 1)] and stat(db, "heapprofd_client_error") == [(1, 1)]


def test_severities(database):
    db = database(CLOCKS + INTERNED + profile(0, more="disconnected: true buffer_overran: true"))
    got = dict(rows(db, "SELECT name, severity || ' ' || source FROM stats"))
    assert got["heapprofd_buffer_overran"] == "data_loss trace"
    assert got["heapprofd_client_disconnected"] == "info trace"
    assert got["heapprofd_missing_packet"] == "error trace"


def test_temporary_files_have_no_build_id(database):
    text = INTERNED.replace('"lib"', '"data/local/tmp"').replace("build_id: 1", "")
    db = database(CLOCKS + text + profile(0, sample(1, 1, 1)))
    assert stat(db, "symbolization_tmp_build_id_not_found") == [(None, 1)]


# --- our own ---

def test_own_tables(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2, 30, 1), more="sampling_interval_bytes: 64"))
    assert rows(db, "SELECT pid FROM heapscope_processes") == [(1,)]
    assert rows(db, "SELECT live_bytes, alloc_bytes, interval_bytes FROM heapscope_dumps") == [(70, 100, 64)]
    low, live, high = rows(db, "SELECT live_bytes_low, live_bytes, live_bytes_high FROM heapscope_samples")[0]
    assert low < live == 70 < high
    assert rows(db, "SELECT n.name, p.name FROM heapscope_nodes n JOIN heapscope_nodes p ON n.parent_id = p.id") == [
        ("g", "_Z1fv")]


# --- the file ---

def test_damage_is_said(database):
    whole = trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 100, 2)) + SYMBOLS).encode())
    db = database(whole[:-20], message="is damaged")
    assert len(rows(db, ALLOCATIONS)) == 1
    assert rows(db, "SELECT count(*) > 0 FROM heapscope_losses") == [(1,)]


def test_what_is_no_trace(heapscope, tmp_path):
    path, out = tmp_path / "in", tmp_path / "out.db"
    path.write_bytes(b"\x7fELF\2\1\1")
    done = heapscope("export", path, "-o", out)
    assert done.returncode == 1 and "not a heap profile" in done.stderr and not out.exists()


def test_disk_full(heapscope, tmp_path):
    path = tmp_path / "in"
    path.write_bytes(trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 100, 2))).encode()))
    done = heapscope("export", "--format", "sqlite", path, "-o", "/dev/full")
    assert done.returncode == 1 and "No space left" in done.stderr


def test_a_file_that_may_not_grow(heapscope, tmp_path):
    path = tmp_path / "in"
    path.write_bytes(trace_text.protoc("encode", (CLOCKS + INTERNED + profile(0, sample(1, 100, 2))).encode()))
    # Python ignores SIGXFSZ, and so do its children unless they restore signals.
    done = heapscope("export", path, "-o", tmp_path / "out.sqlite", restore_signals=False,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    assert done.returncode == 1 and "out.sqlite: File too large" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_usage(heapscope, tmp_path):
    done = heapscope("export", "--pid", "3", "x", "-o", tmp_path / "o.sqlite")
    assert done.returncode == 2 and "--pid" in done.stderr
