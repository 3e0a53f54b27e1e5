"""Packets and columns, rule by rule: additions to test_sql_conformance.py.

Hand-written traces again: every column of every table, how packets may be packed and joined,
sequences and clocks, statistics, and names that an obfuscator replaced.
"""

import gzip
import shutil
import subprocess
import zlib

import pytest
import test_sql_conformance as conformance
import trace_text
from test_sql_conformance import (ALLOCATIONS, CLOCKS, INTERNED, NAMES, java, method, obfuscated, profile, rows, sample, stat)

database = conformance.database

COLUMNS = {
    "stack_profile_mapping": "id build_id exact_offset start_offset start end load_bias name",
    "stack_profile_frame": "id name mapping rel_pc symbol_set_id deobfuscated_name type",
    "stack_profile_callsite": "id depth parent_id frame_id",
    "stack_profile_symbol": "id symbol_set_id name source_file line_number inlined",
    "heap_profile_allocation": "id ts upid heap_name callsite_id count size",
    "heap_profile": "id ts ts_end dur upid heap_name",
    "profiler_smaps": "id upid ts path path_trimmed aggregate_count is_deleted size_kb private_dirty_kb swap_kb file_name "
                      "start_address module_timestamp module_debugid module_debug_path protection_flags "
                      "private_clean_resident_kb shared_dirty_resident_kb shared_clean_resident_kb locked_kb "
                      "proportional_resident_kb rss_kb anonymous_kb pss_dirty_kb swap_pss_kb",
    "__intrinsic_aggregate_profile": "id scope name sample_type_type sample_type_unit",
    "__intrinsic_aggregate_sample": "id aggregate_profile_id callsite_id value",
    "process": "id upid pid name start_ts end_ts parent_upid uid android_appid android_user_id cmdline arg_set_id machine_id",
    "thread": "id utid tid name start_ts end_ts upid is_main_thread is_idle machine_id arg_set_id",
    "counter": "id ts track_id value arg_set_id",
    "counter_track": "id name parent_id type dimension_arg_set_id source_arg_set_id machine_id unit description",
    "process_counter_track": "id name parent_id type dimension_arg_set_id source_arg_set_id machine_id unit description upid",
    "clock_snapshot": "id ts clock_id clock_name clock_value snapshot_id machine_id",
    "stats": "name key idx severity source value description machine_id trace_id",
    "args": "id arg_set_id flat_key key int_value string_value real_value value_type",
    "trace_bounds": "start_ts end_ts",
}


def encode(text):
    return trace_text.protoc("encode", text.encode())


def escaped(data):
    return "".join(f"\\x{b:02x}" for b in data)


def test_columns(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1)))
    for table, columns in COLUMNS.items():
        got = [r[1] for r in rows(db, f"PRAGMA table_info({table})")]
        assert got == columns.split(), table


# --- how packets are put together ---

WHOLE = CLOCKS + INTERNED + profile(0, sample(1, 100, 2))


@pytest.fixture(scope="module")
def zstd():
    """zstd(DATA): a frame, made by zstd's own tool."""
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")

    def call(data):
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    return call


def test_zstd(database, zstd):
    want = rows(database(WHOLE), ALLOCATIONS)
    assert [r[4:] for r in want] == [(2, 100)]
    assert rows(database(zstd(encode(WHOLE))), ALLOCATIONS) == want
    packed = f'packet {{ zstd_compressed_packets: "{escaped(zstd(encode(WHOLE)))}" }}'
    assert rows(database(packed), ALLOCATIONS) == want


def test_files_put_together(database):
    """Parts of one recording and symbols behind it, each compressed differently, are one trace."""
    parts = [encode(CLOCKS + INTERNED), encode(profile(0, sample(1, 100, 2))), encode(conformance.SYMBOLS)]
    want = rows(database(b"".join(parts)), ALLOCATIONS)
    symbols = rows(database(b"".join(parts)), "SELECT name FROM stack_profile_symbol")
    assert want and symbols == [("inner",), ("outer",), ("g",)]
    packed = b"".join(encode(f'packet {{ compressed_packets: "{escaped(zlib.compress(p))}" }}') for p in parts)
    mixed = encode(f'packet {{ compressed_packets: "{escaped(zlib.compress(parts[0]))}" }}') + parts[1] + parts[2]
    members = b"".join(gzip.compress(p) for p in parts)
    for data in (packed, mixed, members, gzip.compress(packed)):
        db = database(data)
        assert rows(db, ALLOCATIONS) == want
        assert rows(db, "SELECT name FROM stack_profile_symbol") == symbols


def test_unknown_packets_are_passed_over(database):
    text = "packet { timestamp: 1 }\n"
    unknown = b"\x0a\x04" + b"\xa2\x06\x01x"  # packet { 100: "x" }
    db = database(encode(text) + unknown + encode(WHOLE) + unknown)
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100)]


# --- sequences ---


def test_a_state_that_is_cleared_again(database):
    """Totals begin anew, so a repeated value counts again."""
    again = INTERNED.replace("previous_packet_dropped: 1", "")
    db = database(WHOLE + again + profile(0, sample(1, 150, 3), time=30))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100), (3, 150)]


def test_sequences_have_their_own_numbers(database):
    other = (INTERNED + profile(0, sample(1, 7, 1), time=40)).replace(
        "trusted_packet_sequence_id: 1", "trusted_packet_sequence_id: 2").replace('str: "g"', 'str: "h"')
    db = database(WHOLE + other)
    assert rows(db, "SELECT f.name, a.size FROM heap_profile_allocation a JOIN stack_profile_callsite c ON c.id = "
                    "a.callsite_id JOIN stack_profile_frame f ON f.id = c.frame_id ORDER BY a.id") == [("g", 100), ("h", 7)]
    assert stat(db, "heapprofd_missing_packet") == [(None, 0)]


def test_number_0_is_none(database):
    text = CLOCKS + """packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
      mapping_paths { iid: 1 str: "a.so" } mappings { iid: 1 build_id: 0 path_string_ids: 1 start: 1 end: 2 }
      frames { iid: 1 function_name_id: 0 mapping_id: 1 rel_pc: 9 } callstacks { iid: 1 frame_ids: 1 } } }
    """ + profile(0, sample(1, 5, 1))
    db = database(text)
    assert rows(db, "SELECT name, rel_pc FROM stack_profile_frame") == [(None, 9)]
    assert rows(db, "SELECT name, build_id FROM stack_profile_mapping") == [("/a.so", "")]
    assert stat(db, "stackprofile_invalid_string_id") == [(None, 0)]


@pytest.mark.parametrize("kind, text", [
    ("kind: 0", "unknown"), ("kind: 1", "native"), ("kind: 2", "kernel"), ("kind: 3", "interpreted"), ("kind: 4", "jit"),
    ("kind: 5", "gc"), ("kind: 6", "runtime"), ('kind_str: "wasm"', "wasm"), ("", None)])
def test_kinds_of_frames(database, kind, text):
    db = database(CLOCKS + INTERNED.replace("mapping_id: 1 rel_pc: 100", f"mapping_id: 1 rel_pc: 100 {kind}")
                  + profile(0, sample(2, 1, 1)))
    assert rows(db, "SELECT type FROM stack_profile_frame") == [(text,)]


def test_tables_in_the_packet_are_of_that_dump(database):
    """Very old recorders: a number may mean something else in the next dump."""
    packet = """packet { trusted_packet_sequence_id: 1 profile_packet { index: %d
      strings { iid: 1 str: "%s" } strings { iid: 2 str: "lib.so" }
      mappings { iid: 1 path_string_ids: 2 } frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: %d }
      callstacks { iid: 1 frame_ids: 1 }
      process_dumps { pid: 5 timestamp: %d heap_name: "libc.malloc" %s } } }
    """
    db = database(CLOCKS + packet % (0, "f", 5, 20, sample(1, 10, 1)) + packet % (1, "g", 6, 30, sample(1, 25, 3)))
    assert rows(db, "SELECT name, rel_pc FROM stack_profile_frame ORDER BY id") == [("f", 5), ("g", 6)]
    assert [r[3:] for r in rows(db, ALLOCATIONS)] == [(0, 1, 10), (1, 3, 25)]


def test_pid_0_is_the_first_process(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 1, 1), pid=0))
    assert rows(db, "SELECT upid FROM heap_profile_allocation") == [(0,)]
    assert rows(db, "SELECT count(*) FROM process") == [(1,)]


def test_two_dumps_that_end_together_are_one(database):
    db = database(WHOLE + profile(1, sample(1, 100, 2, 60, 1)))
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100), (-1, -60)]
    assert rows(db, "SELECT ts, ts_end, heap_name FROM heap_profile") == [(10, 10, "libc.malloc")]


# --- times ---

RSS = "process_stats { processes { pid: 4 vm_rss_kb: %d } }"
CLOCK_3 = """packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 4 timestamp: 900 }
  clocks { clock_id: 3 timestamp: 700 } clocks { clock_id: 64 timestamp: 5 unit_multiplier_ns: 10 }
  clocks { clock_id: 65 timestamp: 2 unit_multiplier_ns: 100 is_incremental: true } } trusted_packet_sequence_id: 1 }
"""


@pytest.mark.parametrize("packet, ts", [
    ("timestamp: 1200", 1200), ("timestamp: 710 timestamp_clock_id: 3", 1010),
    ("trusted_packet_sequence_id: 1 timestamp: 7 timestamp_clock_id: 64", 1020)])
def test_clocks_of_packets(database, packet, ts):
    db = database(CLOCK_3 + f"packet {{ {packet} {RSS % 1} }}\n")
    assert rows(db, "SELECT ts, value FROM counter") == [(ts, 1024.0)]


SAME_TICK = "".join(f"""packet {{ clock_snapshot {{ clocks {{ clock_id: 6 timestamp: {boot} }} clocks {{ clock_id: 4 timestamp: {coarse} }}
  clocks {{ clock_id: 3 timestamp: {boot - 500} }} }} }}
""" for boot, coarse in ((1000, 900), (1002, 900), (1005, 900), (5000, 4900), (5007, 4900)))


@pytest.mark.parametrize("coarse, ts", [(899, 999), (900, 1005), (950, 1055), (4899, 5004), (4900, 5007), (6000, 6107)])
def test_a_coarse_clock_stands_still(database, coarse, ts):
    """Of several snapshots with the same value of this clock, the last one counts; for times before
    all of them, the first."""
    db = database(SAME_TICK + INTERNED + profile(0, sample(1, 1, 1), time=coarse))
    assert rows(db, "SELECT ts FROM heap_profile_allocation") == [(ts,)]
    assert rows(db, "SELECT ts FROM clock_snapshot WHERE clock_id = 4") == [(1000,), (1002,), (1005,), (5000,), (5007,)]
    assert stat(db, "clock_sync_failure") == [(None, 0)]


def test_incremental_clock(database):
    packet = "packet { trusted_packet_sequence_id: 1 timestamp: %d timestamp_clock_id: 65 " + RSS + " }\n"
    db = database(CLOCK_3 + packet % (1, 1) + packet % (3, 2))
    assert rows(db, "SELECT ts FROM counter ORDER BY id") == [(1100,), (1400,)]


def test_the_clock_of_a_sequence(database):
    defaults = "packet { trusted_packet_sequence_id: 1 sequence_flags: 1 trace_packet_defaults { timestamp_clock_id: 3 } }\n"
    packet = "packet { trusted_packet_sequence_id: %d timestamp: 710 " + RSS + " }\n"
    db = database(CLOCK_3 + defaults + packet % (1, 1) + packet % (2, 2))
    assert rows(db, "SELECT ts, value FROM counter ORDER BY value") == [(1010, 1024.0), (710, 2048.0)]


def test_a_packet_on_a_clock_that_nobody_knows(database):
    db = database(CLOCK_3 + f"packet {{ timestamp: 1 timestamp_clock_id: 5 {RSS % 1} }}\npacket {{ timestamp: 2 {RSS % 2} }}\n")
    assert rows(db, "SELECT ts, value FROM counter") == [(2, 2048.0)]
    assert stat(db, "clock_sync_failure_no_path") == [(None, 1)]


# --- mappings, column by column ---

FIGURES = ("size_kb private_dirty_kb swap_kb start_address module_timestamp protection_flags private_clean_resident_kb "
           "shared_dirty_resident_kb shared_clean_resident_kb locked_kb proportional_resident_kb").split()


def test_every_column_of_smaps(database):
    text = " ".join(f"{name}: {i + 2}" for i, name in enumerate(FIGURES))
    db = database(f"""packet {{ timestamp: 8 smaps_packet {{ pid: 3 entries {{ path: "/a (deleted)" {text}
      file_name: "a" module_debugid: "id" module_debug_path: "/dbg" }} }} }}""")
    assert rows(db, f"SELECT {', '.join(FIGURES)} FROM profiler_smaps") == [tuple(range(2, 2 + len(FIGURES)))]
    assert rows(db, "SELECT path, path_trimmed, is_deleted, aggregate_count, file_name, module_debugid, module_debug_path, "
                    "rss_kb, anonymous_kb, pss_dirty_kb, swap_pss_kb FROM profiler_smaps") == [
        ("/a (deleted)", "/a", 1, 1, "a", "id", "/dbg", None, None, None, None)]


def test_every_column_of_packed_smaps(database):
    columns = {"size": "size_kb", "rss": "rss_kb", "anonymous": "anonymous_kb", "swap": "swap_kb",
               "shared_clean": "shared_clean_resident_kb", "shared_dirty": "shared_dirty_resident_kb",
               "private_clean": "private_clean_resident_kb", "private_dirty": "private_dirty_kb", "locked": "locked_kb",
               "pss": "proportional_resident_kb", "pss_dirty": "pss_dirty_kb", "swap_pss": "swap_pss_kb"}
    text = " ".join(f"{name}: {i + 1} {name}: {i + 101}" for i, name in enumerate(columns))
    db = database(f"""packet {{ timestamp: 8 smaps_packet {{ pid: 3 packed_entries {{ string_table: "" string_table: "/a"
      name_id: 1 name_id: 1 {text} }} }} }}""")
    assert rows(db, f"SELECT path, {', '.join(columns.values())} FROM profiler_smaps ORDER BY id") == [
        ("/a", *range(1, 1 + len(columns))), ("/a", *range(101, 101 + len(columns)))]


def test_a_name_that_packed_smaps_do_not_have(database):
    db = database('packet { timestamp: 1 smaps_packet { pid: 3 packed_entries { string_table: "" name_id: 0 name_id: 7 size: 4 size: 5 } } }')
    assert rows(db, "SELECT path, size_kb FROM profiler_smaps") == [("", 4)]
    assert stat(db, "smaps_parser_errors") == [(None, 1)]


# --- the tree of processes ---


def test_a_process_without_a_command_line(database):
    db = database("""packet { timestamp: 1 process_tree { processes { pid: 2 ppid: 0 cmdline: "kthreadd" is_kthread: true cmdline_is_comm: true }
      processes { pid: 9 ppid: 2 uid: 0 } threads { tid: 10 tgid: 9 } threads { tid: 9 tgid: 9 name: "main" } } }""")
    assert rows(db, "SELECT upid, pid, name, parent_upid, uid, android_appid FROM process ORDER BY upid") == [
        (0, 0, None, None, None, None), (1, 2, "kthreadd", 0, None, None), (2, 9, None, 1, 0, 0)]
    assert rows(db, "SELECT tid, name, upid, is_main_thread, is_idle FROM thread ORDER BY utid") == [
        (0, "swapper", 0, 1, 1), (2, None, 1, 1, 0), (9, "main", 2, 1, 0), (10, None, 2, 0, 0)]


def test_the_last_word_on_a_process(database):
    """A second tree adds entries and removes none."""
    tree = "packet { timestamp: 1 process_tree { processes { pid: 9 ppid: 2 %s } } }\n"
    db = database(tree % 'cmdline: "old"' + tree % 'cmdline: "new" cmdline: "arg"' + tree % "uid: 5")
    assert rows(db, "SELECT name, cmdline, uid FROM process WHERE pid = 9") == [("new", "new arg", 5)]


# --- statistics ---


def test_statistics_are_in_the_order_of_pids(database):
    text = CLOCKS + INTERNED
    for index, pid in enumerate((30, 10, 20)):
        text += profile(index, sample(1, 1, 1), pid=pid, more="buffer_overran: true", time=20 + index)
    db = database(text)
    assert stat(db, "heapprofd_buffer_overran") == [(10, 1), (20, 1), (30, 1)]
    names = [r[0] for r in rows(db, "SELECT name FROM stats WHERE idx IS NULL")]
    assert len(names) == len(set(names)) > 10


def test_what_did_not_happen_is_0(database):
    db = database(WHOLE)
    assert rows(db, "SELECT name FROM stats WHERE value <> 0 AND severity IN ('error', 'data_loss')") == []
    for name in ("heapprofd_missing_packet", "heapprofd_non_finalized_profile", "stackprofile_empty_callstack",
                 "stackprofile_invalid_string_id", "stackprofile_invalid_mapping_id", "stackprofile_invalid_frame_id",
                 "stackprofile_invalid_callstack_id", "stackprofile_parser_error", "symbolization_tmp_build_id_not_found",
                 "deobfuscate_location_parse_error", "smaps_parser_errors", "interned_data_tokenizer_errors",
                 "clock_sync_failure", "interned_data_skipped_incremental_state_invalid",
                 "packet_skipped_seq_needs_incremental_state_invalid"):
        assert stat(db, name) == [(None, 0)], name


# --- names that an obfuscator took ---


def at(path):
    return java("X").replace("path_string_ids: 1 path_string_ids: 2", "path_string_ids: 2").replace('"X"', f'"{path}"')


@pytest.mark.parametrize("path, package", [
    ("[anon:dalvik-classes.dex extracted in memory from /data/app/~~x==/org.pkg-y==/base.apk]", "org.pkg"),
    ("/dev/ashmem/dalvik-classes2.dex extracted in memory from /data/app/org.pkg-1/base.apk!classes2.dex (deleted)", "org.pkg"),
    ("/system_ext/priv-app/SystemUIGoogle/SystemUIGoogle.apk", "com.android.systemui"),
    ("/product/priv-app/Phonesky/Phonesky.apk", "com.android.vending"),
    ("/product/app/Maps/oat/arm64/Maps.odex", "com.google.android.apps.maps"),
    ("/product/priv-app/DevicePersonalizationPrebuiltPixel2020/x.apk", "com.google.android.as")])
def test_package_of_a_path(database, path, package):
    db = database(at(path) + obfuscated(package, method("load")))
    assert rows(db, NAMES) == [("x.A.b", "org.Real.load"), ("g", None)]
    db = database(at(path) + obfuscated("org.other", method("load")))
    assert rows(db, NAMES) == [("x.A.b", None), ("g", None)]


def test_memory_of_any_package(database):
    """Code in a memfd may belong to any package: the last mapping that has the name counts, even
    one without a package."""
    frame = at("/memfd:jit-cache (deleted)")
    for package in ("org.any", ""):
        db = database(frame + obfuscated(package, method("load")))
        assert rows(db, NAMES) == [("x.A.b", "org.Real.load"), ("g", None)]
    db = database(frame + obfuscated("org.first", method("wrong")) + obfuscated("org.last", method("right")))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.right")


@pytest.mark.parametrize("path", ["/product/app/MapsNot/x.apk", "/apps/Maps/x", "/data/local/Maps/x"])
def test_paths_of_no_package(database, path):
    db = database(at(path) + obfuscated("com.google.android.apps.maps", method("load")))
    assert rows(db, NAMES) == [("x.A.b", None), ("g", None)]
    assert stat(db, "deobfuscate_location_parse_error") == [(None, 0)]


def test_a_path_that_should_have_a_package(database):
    db = database(at("/data/app/nothing/x") + obfuscated("", method("load")))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.load")
    assert stat(db, "deobfuscate_location_parse_error") == [(None, 1)]


def test_the_package_before_the_one_for_all(database):
    db = database(at("/data/app/org.pkg-1/x") + obfuscated("", method("wrong")) + obfuscated("org.pkg", method("right")))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.right")


def test_a_mapping_for_all_beside_one_with_a_package(database):
    """It names what the other one does not: frames of unknown packages, and for a known package
    those that its own mapping omits."""
    other = obfuscated("org.pkg", method("right")).replace('"x.A"', '"x.B"')
    for frame in (java("jit"), at("/data/app/org.pkg-1/x")):
        db = database(frame + other + obfuscated("", method("load")).replace('package_name: "" ', ""))
        assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.load")
    db = database(java("jit") + obfuscated("org.pkg", method("wrong")))
    assert rows(db, NAMES)[0] == ("x.A.b", None)


def test_fields_are_no_functions(database):
    field = 'obfuscated_members { obfuscated_name: "b" deobfuscated_name: "field" }'
    db = database(java("jit") + obfuscated("", field))
    assert rows(db, NAMES)[0] == ("x.A.b", None)
    db = database(java("jit") + obfuscated("", field, method("load")))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.load")


def test_a_line_that_no_method_covers(database):
    """Then all candidates are given, as without a line."""
    lines = "obfuscated_line_start: 1 obfuscated_line_end: 4"
    db = database(java("jit", "line_number: 5") + obfuscated("", method("load", lines), method("save", lines)))
    assert rows(db, NAMES)[0] == ("x.A.b", "org.Real.load | org.Real.save")


# --- dumps in several packets ---


def test_dumps_in_several_packets(database):
    """Processes and heaps of one dump in three packets, with another sequence between them."""
    text = CLOCKS + INTERNED + profile(0, sample(1, 100, 2), continued="continued: true")
    other = INTERNED + profile(0, sample(1, 7, 1), pid=9)
    text += other.replace("trusted_packet_sequence_id: 1", "trusted_packet_sequence_id: 2")
    text += profile(1, sample(2, 8, 1), continued="continued: true") + profile(2, sample(1, 5, 1), pid=2, time=21)
    db = database(text)
    assert rows(db, "SELECT p.pid, a.ts, a.size FROM heap_profile_allocation a JOIN process p USING (upid) ORDER BY 1, 3") == [
        (1, 10, 8), (1, 10, 100), (2, 11, 5), (9, 10, 7)]
    assert rows(db, "SELECT count(*) FROM heap_profile") == [(3,)]
    assert stat(db, "heapprofd_missing_packet") == [(None, 0)]
    assert stat(db, "heapprofd_non_finalized_profile") == [(None, 0)]


def test_a_gap_within_a_dump(database):
    db = database(CLOCKS + INTERNED + profile(0, sample(1, 100, 2), continued="continued: true") + profile(2, sample(2, 8, 1)))
    assert stat(db, "heapprofd_missing_packet") == [(None, 1)]
    assert [r[4:] for r in rows(db, ALLOCATIONS)] == [(2, 100), (1, 8)]


# --- very old recorders, when something is missing ---

OLD = """packet { trusted_packet_sequence_id: 1 profile_packet { index: 0
  strings { iid: 1 str: "f" } mappings { iid: 1 } frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 5 }
  callstacks { iid: 1 frame_ids: 1 }
  process_dumps { pid: 5 timestamp: 20 heap_name: "libc.malloc" samples { callstack_id: 1 self_allocated: 10 alloc_count: 1 } } } }
"""


@pytest.mark.parametrize("old, new, name", [
    ("frame_ids: 1", "frame_ids: 7", "stackprofile_invalid_frame_id"),
    ("frame_ids: 1", "", "stackprofile_empty_callstack"),
    ("callstack_id: 1", "callstack_id: 7", "stackprofile_invalid_callstack_id"),
    ("function_name_id: 1", "function_name_id: 7", "stackprofile_invalid_string_id"),
    ("mapping_id: 1", "mapping_id: 7", "stackprofile_invalid_mapping_id"),
])
def test_what_is_not_in_the_packet(database, old, new, name):
    assert [r[4:] for r in rows(database(CLOCKS + OLD), ALLOCATIONS)] == [(1, 10)]
    db = database(CLOCKS + OLD.replace(old, new))
    assert rows(db, ALLOCATIONS) == []
    assert stat(db, name) == [(None, 1)]


def test_a_clock_that_goes_back(database):
    back = "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 50 } clocks { clock_id: 4 timestamp: 5 } } }\n"
    db = database(CLOCKS + back + INTERNED + profile(0, sample(1, 1, 1)))
    assert stat(db, "clock_sync_failure") == [(None, 1)]
    assert len(rows(db, ALLOCATIONS)) == 1
