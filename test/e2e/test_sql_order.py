"""Packets in a file are not in the order of their times; the tables are those of a sorted file."""

import gzip
import sqlite3
import zlib

import pytest

import trace_text

CLOCKS = "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 4 timestamp: 0 } } }\n"
DUMPS = "SELECT ts, count, size FROM heap_profile_allocation ORDER BY id"


def counter(time, rss_kb, pid=7):
    return (f"packet {{ timestamp: {time} trusted_packet_sequence_id: 9 process_stats {{ "
            f"processes {{ pid: {pid} vm_rss_kb: {rss_kb} }} }} }}\n")


def interned(name, sequence=1, flags=1):
    return (f"packet {{ trusted_packet_sequence_id: {sequence} sequence_flags: {flags} interned_data {{ "
            f'mapping_paths {{ iid: 1 str: "a.so" }} function_names {{ iid: 1 str: "{name}" }} '
            "mappings { iid: 1 path_string_ids: 1 } frames { iid: 1 function_name_id: 1 mapping_id: 1 } "
            "callstacks { iid: 1 frame_ids: 1 } } }\n")


def dump(time, bytes_live, count, index=0, sequence=1, pid=7):
    return (f"packet {{ timestamp: {time} trusted_packet_sequence_id: {sequence} profile_packet {{ index: {index} "
            f'process_dumps {{ pid: {pid} timestamp: {time} heap_name: "libc.malloc" '
            f"samples {{ callstack_id: 1 self_allocated: {bytes_live} alloc_count: {count} }} }} }} }}\n")


def named(time, name, pid=7):
    return (f"packet {{ timestamp: {time} trusted_packet_sequence_id: 9 process_tree {{ "
            f'processes {{ pid: {pid} ppid: 1 cmdline: "{name}" }} }} }}\n')


@pytest.fixture
def table(heapscope, tmp_path):
    """A function: (trace, SQL, message) -> rows; the message must be part of heapscope's output."""
    def ask(trace, sql, message=""):
        data = trace if isinstance(trace, bytes) else trace_text.protoc("encode", trace.encode())
        path, out = tmp_path / "in.pftrace", tmp_path / "out.sqlite"
        path.write_bytes(data)
        done = heapscope("export", path, "-o", out)
        assert done.returncode == 0, done.stderr
        assert message in done.stderr if message else "damage" not in done.stderr
        return sqlite3.connect(out).execute(sql).fetchall()
    return ask


COUNTERS = "SELECT ts, CAST(value AS INT) FROM counter ORDER BY id"


def test_counters(table):
    assert table(CLOCKS + counter(30, 3) + counter(10, 1) + counter(20, 2), COUNTERS) == [
        (10, 1024), (20, 2048), (30, 3072)]


def test_those_of_one_time_stay_as_they_stood(table):
    trace = CLOCKS + counter(30, 9) + "".join(counter(20, kb) for kb in (5, 4, 6, 1))
    assert table(trace, COUNTERS) == [(20, 5120), (20, 4096), (20, 6144), (20, 1024), (30, 9216)]


def test_one_without_a_time_has_the_latest_before_it(table):
    bare = counter(0, 8).replace("timestamp: 0 ", "")
    assert table(CLOCKS + counter(30, 3) + bare + counter(10, 1), COUNTERS) == [
        (10, 1024), (30, 3072), (30, 8192)]


def test_totals_rise_with_time(table):
    trace = CLOCKS + interned("f") + dump(20, 300, 3, 1) + dump(10, 100, 1, 0)
    in_order = CLOCKS + interned("f") + dump(10, 100, 1, 0) + dump(20, 300, 3, 1)
    assert table(trace, DUMPS) == table(in_order, DUMPS) == [(10, 1, 100), (20, 2, 200)]


def test_what_waits_keeps_the_names_it_was_said_with(table):
    # Number 1 is f, then g, and the second dump was taken before the first one.
    trace = CLOCKS + interned("f") + dump(20, 100, 1) + interned("g") + dump(10, 50, 1)
    sql = ("SELECT a.ts, f.name, a.size FROM heap_profile_allocation a JOIN stack_profile_callsite c ON c.id = callsite_id "
           "JOIN stack_profile_frame f ON f.id = frame_id ORDER BY a.id")
    assert table(trace, sql) == [(10, "g", 50), (20, "f", 100)]


def test_many_times_cleared(table):
    trace = CLOCKS + "".join(interned(f"f{i}") + dump(1000 - i, i + 1, 1) for i in range(50))
    sql = ("SELECT a.ts, f.name, a.size FROM heap_profile_allocation a JOIN stack_profile_callsite c ON c.id = callsite_id "
           "JOIN stack_profile_frame f ON f.id = frame_id ORDER BY a.id")
    assert table(trace, sql) == [(1000 - i, f"f{i}", i + 1) for i in reversed(range(50))]


def test_names_that_come_after_their_dump(table):
    trace = (CLOCKS + "packet { trusted_packet_sequence_id: 1 sequence_flags: 1 }\n" + dump(10, 100, 1) +
             interned("late", flags=0))
    assert table(trace, "SELECT name FROM stack_profile_frame") == [("late",)]


def test_a_process_has_the_name_it_had(table):
    trace = CLOCKS + named(30, "new") + counter(30, 3) + counter(10, 1) + named(5, "old")
    assert table(trace, "SELECT ts, p.name FROM counter c JOIN process_counter_track t ON t.id = c.track_id "
                        "JOIN process p USING (upid) ORDER BY c.id") == [(10, "new"), (30, "new")]
    assert table(CLOCKS + named(30, "old") + named(10, "older"), "SELECT name FROM process WHERE pid = 7") == [
        ("old",)]


@pytest.mark.parametrize("pack", ["plain", "gzip", "packets", "twice"])
def test_however_it_is_packed(table, pack):
    trace = trace_text.protoc("encode", (CLOCKS + interned("f") + dump(20, 300, 3, 1) + dump(10, 100, 1, 0) +
                                         counter(15, 4) + counter(5, 2)).encode())
    if pack == "gzip":
        trace = gzip.compress(trace)
    elif pack == "packets":
        text = "".join(f"\\{byte:03o}" for byte in zlib.compress(trace))
        trace = trace_text.protoc("encode", f'packet {{ compressed_packets: "{text}" }}'.encode())
    elif pack == "twice":
        trace = gzip.compress(trace[:40]) + gzip.compress(trace[40:])
    assert table(trace, DUMPS) == [(10, 1, 100), (20, 2, 200)]
    assert table(trace, COUNTERS) == [(5, 2048), (15, 4096)]


def test_sequences_are_one_anothers_neighbours(table):
    trace = (CLOCKS + interned("f", 1) + interned("f", 2) + dump(30, 30, 3, sequence=2, pid=8) +
             dump(10, 10, 1, sequence=1) + dump(20, 20, 2, sequence=2, pid=8))
    rows = table(trace, "SELECT ts, pid, size FROM heap_profile_allocation JOIN process USING (upid) ORDER BY "
                        "heap_profile_allocation.id")
    assert rows == [(10, 7, 10), (20, 8, 20), (30, 8, 10)]


def test_a_part_that_cannot_be_read(table):
    whole = trace_text.protoc("encode", (CLOCKS + counter(30, 3) + counter(10, 1)).encode())
    bad = bytes([0x0A, 6, 0x40, 1, 0x4A, 2, 0x0A, 0x7F])  # process_stats with a field that is longer than it
    assert table(whole + bad, COUNTERS, "is damaged") == [(10, 1024), (30, 3072)]


def test_a_packet_of_many_parts(table):
    one = counter(10, 1)
    inner = one[one.index("process_stats"):one.rindex("}")]
    trace = trace_text.protoc("encode", (CLOCKS + counter(20, 2)).encode())
    raw = trace_text.protoc("encode", f"packet {{ timestamp: 10 {inner} }}".encode())
    body = raw[2:]
    stats = body[2:]
    assert raw[1] == len(body) and body[0] == 0x40 and stats[0] == 0x4A
    many = body[:2] + stats * 9
    rows = table(trace + bytes([0x0A, len(many)]) + many, COUNTERS, "is damaged")
    assert rows == [(10, 1024)] * 8 + [(20, 2048)]
