"""Traces of another writer: what heapprofd writes, encoded from text, read by our loader."""

import gzip
import json
import re

import pytest
from trace_text import load, protoc

HEAPPROFD = r"""
packet { clock_snapshot {
    clocks { clock_id: 6 timestamp: 500 } clocks { clock_id: 3 timestamp: 400 }
    clocks { clock_id: 4 timestamp: 400 } clocks { clock_id: 1 timestamp: 1700000000000000000 } } }
packet { process_tree { processes { pid: 17 ppid: 1 cmdline: "/bin/daemon" cmdline: "-d" } } }
packet {
  trusted_packet_sequence_id: 999  sequence_flags: 1  previous_packet_dropped: 1
  interned_data {
    function_names { iid: 0 str: "" } mapping_paths { iid: 0 str: "" } build_ids { iid: 0 str: "" }
  } }
packet {
  trusted_packet_sequence_id: 999  timestamp: 700
  profile_packet {
    index: 0  continued: true
    process_dumps { pid: 17 heap_name: "libc.malloc" timestamp: 600 start_timestamp: 410
      from_startup: true sampling_interval_bytes: 4096 orig_sampling_interval_bytes: 4096
      stats { unwinding_errors: 2 heap_samples: 9 }
      samples { callstack_id: 2 self_allocated: 8192 self_freed: 4096 alloc_count: 2 free_count: 1 }
      samples { callstack_id: 3 self_allocated: 4096 alloc_count: 1 }
    } } }
packet {
  trusted_packet_sequence_id: 999
  interned_data {
    function_names { iid: 1 str: "main" } function_names { iid: 2 str: "_ZN3foo3barEv" }
    function_names { iid: 3 str: "ERROR MEMORY_INVALID" }
    mapping_paths { iid: 1 str: "usr" } mapping_paths { iid: 2 str: "libfoo.so" }
    mapping_paths { iid: 3 str: "ERROR" }
    build_ids { iid: 1 str: "\001\253\000\377" }
    mappings { iid: 1 build_id: 1 start: 65536 end: 131072 load_bias: 4096 exact_offset: 8192
      path_string_ids: 1 path_string_ids: 2 }
    mappings { iid: 2 path_string_ids: 3 }
    frames { iid: 10 function_name_id: 1 mapping_id: 1 rel_pc: 100 }
    frames { iid: 11 function_name_id: 2 mapping_id: 1 rel_pc: 200 }
    frames { iid: 12 function_name_id: 3 mapping_id: 2 }
    callstacks { iid: 2 frame_ids: 10 frame_ids: 11 }
    callstacks { iid: 3 frame_ids: 12 frame_ids: 10 }
  } }
packet { trusted_packet_sequence_id: 999 profile_packet { index: 1 } }
"""

SYMBOLS = r"""
packet { module_symbols { path: "/usr/libfoo.so" build_id: "\001\253\000\377"
  address_symbols { address: 200
    lines { function_name: "foo::inlined()" source_file_name: "foo.h" line_number: 7 }
    lines { function_name: "foo::bar()" source_file_name: "foo.cc" line_number: 70 } } } }
"""

SECOND_STACK = r"""
packet { trusted_packet_sequence_id: 999 interned_data {
    callstacks { iid: 4 frame_ids: 12 frame_ids: 10 } } }
"""

SECOND_DUMP = r"""
packet { trusted_packet_sequence_id: 999 profile_packet { index: 2
  process_dumps { pid: 17 heap_name: "libc.malloc" timestamp: 900
    sampling_interval_bytes: 4096
    samples { callstack_id: 2 self_allocated: 12288 self_freed: 12288 alloc_count: 3 free_count: 3 }
    samples { callstack_id: 4 self_allocated: 4096 alloc_count: 1 } } } }
packet { trusted_packet_sequence_id: 999 profile_packet { index: 3
  process_dumps { pid: 17 heap_name: "art" timestamp: 901 sampling_interval_bytes: 4096
    disconnected: true
    samples { callstack_id: 2 self_allocated: 10 alloc_count: 1 } } } }
"""


def encode(path, *texts):
    path.write_bytes(b"".join(protoc("encode", t.encode()) for t in texts))
    return path


def by_leaf(dump, heap="libc.malloc"):
    return {(s["stack"][0]["name"], len(s["stack"])): s for s in dump["samples"]
            if s["heap"] == heap}


def test_heapprofd_trace(tmp_path):
    loaded = load(encode(tmp_path / "raw-trace", HEAPPROFD))
    (dump,) = loaded["dumps"]
    assert (dump["pid"], dump["name"], dump["cmdline"]) == (17, "daemon", "/bin/daemon -d")
    assert (dump["start_ns"], dump["time_ns"], dump["interval"]) == (410, 600, 4096)
    assert dump["sample_count"] == 9
    assert dump["live"][:2] == [8192, 2] and dump["alloc"][:2] == [12288, 3]
    stacks = by_leaf(dump)
    sample = stacks[("_ZN3foo3barEv", 2)]
    assert sample["live"][:2] == [4096, 1] and sample["alloc"][:2] == [8192, 2]
    assert sample["alloc"][2] == 8192 * 4096  # what is known about its error
    frame = sample["stack"][0]
    assert (frame["module"], frame["build_id"], frame["rel_pc"]) == ("/usr/libfoo.so", "01ab00ff", 200)
    cut = stacks[("main", 2)]["stack"][1]
    assert (cut["module"], cut["name"], cut["kind"]) == ("/ERROR", "ERROR MEMORY_INVALID", 3)
    assert loaded["losses"] == {"unwinding_errors": 2}
    assert loaded["real_minus_mono_ns"] == 1700000000000000000 - 400


def test_heapprofd_symbolized(tmp_path):
    """heap_profile appends symbols with cat."""
    for texts in ((HEAPPROFD, SYMBOLS), (SYMBOLS, HEAPPROFD)):
        loaded = load(encode(tmp_path / "symbolized-trace", *texts))
        lines = by_leaf(loaded["dumps"][0])[("_ZN3foo3barEv", 2)]["stack"][0]["lines"]
        assert [(line["function"], line["file"], line["line"]) for line in lines] == \
            [("foo::inlined()", "foo.h", 7), ("foo::bar()", "foo.cc", 70)]


def test_heapprofd_continuous(tmp_path):
    """A second dump; a stack with a new number continues its counts; a second heap joins the dump."""
    loaded = load(encode(tmp_path / "raw", HEAPPROFD, SECOND_STACK, SECOND_DUMP))
    assert "unresolved_stacks" not in loaded["losses"]
    first, second = loaded["dumps"]
    assert first["live"][0] == 8192 and second["live"][0] == 4096 + 4096 + 10
    assert (first["time_ns"], second["start_ns"], second["time_ns"]) == (600, 600, 901)
    assert not first["is_final"] and second["is_final"]
    assert second["sample_count"] == 9  # of the last header that states it
    stacks = by_leaf(second)
    assert stacks[("_ZN3foo3barEv", 2)]["live"][:2] == [0, 0]
    # Ids 3 and 4 are one stack: the values of id 3 are added to those of id 4.
    assert stacks[("main", 2)]["alloc"][:2] == [8192, 2]
    assert by_leaf(second, "art")[("_ZN3foo3barEv", 2)]["alloc"][:2] == [10, 1]


def test_heapprofd_lost_stack(tmp_path):
    """A sample whose stack is not in the file keeps its bytes."""
    loaded = load(encode(tmp_path / "raw", HEAPPROFD, SECOND_DUMP))
    assert loaded["losses"]["unresolved_stacks"] == 1
    lost = by_leaf(loaded["dumps"][1])[("[stack not in the file]", 1)]
    assert lost["alloc"][:2] == [4096, 1] and lost["stack"][0]["kind"] == 3


def test_heapprofd_faults(tmp_path):
    """Flags of the recorder become losses with a description."""
    text = HEAPPROFD.replace("from_startup: true", "buffer_overran: true hit_guardrail: true "
                             "buffer_corrupted: true rejected_concurrent: true client_error: 2")
    losses = load(encode(tmp_path / "raw", text))["losses"]
    assert losses == {"buffer_overran": 1, "hit_guardrail": 1, "buffer_corrupted": 1,
                      "rejected_concurrent": 1, "client_error": 1, "unwinding_errors": 2}
    # Packets lost, and totals that decrease.
    gap = r"""packet { trusted_packet_sequence_id: 999 profile_packet { index: 5 process_dumps {
        pid: 17 heap_name: "libc.malloc" timestamp: 950
        samples { callstack_id: 2 self_allocated: 5 alloc_count: 1 } } } }"""
    loaded = load(encode(tmp_path / "raw", HEAPPROFD, gap))
    assert loaded["losses"]["packets_missing"] == 3 and loaded["losses"]["falling_totals"] == 1
    assert by_leaf(loaded["dumps"][1])[("_ZN3foo3barEv", 2)]["alloc"][0] == 8192
    # The file ends before the last dump does.
    cut = HEAPPROFD[:HEAPPROFD.rindex("\npacket")]
    loaded = load(encode(tmp_path / "raw", cut))
    assert loaded["losses"]["dumps_incomplete"] == 1 and loaded["dumps"][0]["live"][0] == 8192


def test_dump_at_max(tmp_path):
    text = re.sub(r"self_allocated: (\d+)( self_freed: \d+)? alloc_count: (\d+)( free_count: \d+)?",
                  r"self_max: \1 self_max_count: \3", HEAPPROFD)
    (dump,) = load(encode(tmp_path / "raw", text))["dumps"]
    assert dump["has_peak"] == 1 and dump["peak"][:2] == [12288, 3]


def test_other_files(tmp_path):
    trace = encode(tmp_path / "raw", HEAPPROFD).read_bytes()
    packed = tmp_path / "raw.gz"
    packed.write_bytes(gzip.compress(trace))
    assert len(load(packed)["dumps"]) == 1
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    load(empty, status=3)
    load("/bin/sh", status=4)
    load(tmp_path / "none", status=1)
    # A trace without heap profiles is a valid trace.
    assert load(encode(tmp_path / "x", "packet { timestamp: 1 }"))["dumps"] == []


LEGACY = r"""packet { trusted_packet_sequence_id: 7 sequence_flags: 1 profile_packet { index: %(index)d
  strings { iid: 1 str: "%(name)s" } strings { iid: 2 str: "usr" } strings { iid: 3 str: "libq.so" }
  mappings { iid: 1 start: 4096 end: 8192 path_string_ids: 2 path_string_ids: 3 }
  frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: %(pc)d }
  callstacks { iid: %(iid)d frame_ids: 1 }
  process_dumps { pid: 17 timestamp: %(time)d sampling_interval_bytes: 4096
    samples { callstack_id: %(iid)d self_allocated: %(bytes)d alloc_count: 1 } } } }
"""


def test_legacy_tables_end_with_their_dump(tmp_path):
    """The oldest recorders put the tables into the dump's packets, and number anew in each."""
    first = LEGACY % {"index": 0, "name": "early", "pc": 1, "iid": 1, "time": 100, "bytes": 4096}
    second = LEGACY % {"index": 1, "name": "late", "pc": 2, "iid": 2, "time": 200, "bytes": 8192}
    loaded = load(encode(tmp_path / "raw", first, second.replace("sequence_flags: 1", "")))
    assert loaded["losses"] == {}
    one, two = loaded["dumps"]
    assert {s["stack"][0]["name"]: s["alloc"][0] for s in one["samples"]} == {"early": 4096}
    assert {s["stack"][0]["name"]: s["alloc"][0] for s in two["samples"]} == {"early": 4096, "late": 8192}
    assert two["samples"][0]["stack"][0]["module"] == "/usr/libq.so"


def test_id_zero_is_no_id(tmp_path):
    text = r"""packet { trusted_packet_sequence_id: 7 sequence_flags: 1
      interned_data { function_names { iid: 0 str: "trap" } function_names { iid: 1 str: "f" }
        mappings { iid: 0 start: 1 end: 2 } frames { iid: 1 function_name_id: 1 mapping_id: 0 }
        frames { iid: 2 function_name_id: 0 mapping_id: 0 rel_pc: 9 } callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } }
      profile_packet { index: 0 process_dumps { pid: 17 samples { callstack_id: 1 self_allocated: 5 alloc_count: 1 } } } }"""
    loaded = load(encode(tmp_path / "raw", text))
    assert [f["name"] for f in loaded["dumps"][0]["samples"][0]["stack"]] == ["", "f"]
    assert loaded["losses"] == {}


def test_count_of_a_peak(tmp_path):
    """Without the requested interval, the recorder is one that does not count at the peak."""
    text = re.sub(r"self_allocated: (\d+)( self_freed: \d+)? alloc_count: (\d+)( free_count: \d+)?",
                  r"self_max: \1 self_max_count: \3", HEAPPROFD)
    text = text.replace("orig_sampling_interval_bytes: 4096", "")
    (dump,) = load(encode(tmp_path / "raw", text))["dumps"]
    assert dump["has_peak"] == 1 and dump["peak"][:2] == [12288, 0]


PROCESS = """
packet { trusted_packet_sequence_id: 999 profile_packet { index: %d
  process_dumps { pid: %d heap_name: "libc.malloc" timestamp: %d %s samples { callstack_id: 2 self_allocated: 8192 alloc_count: 2 } } } }
"""


@pytest.mark.parametrize("intervals, words", [
    ((0,), "the sampling interval is not known"),
    ((0, 1), "the sampling interval is not known"),
    ((0, 4096), "the sampling interval of some figures is not known, so there are no margins"),
    ((1, 1), None),
])
def test_no_interval_is_stated(heapscope, tmp_path, intervals, words):
    """A file that does not say how it was sampled is not exact and has no valid margins."""
    head = HEAPPROFD[:HEAPPROFD.index("packet {\n  trusted_packet_sequence_id: 999  timestamp: 700")]
    tables = HEAPPROFD[HEAPPROFD.index("packet {\n  trusted_packet_sequence_id: 999\n  interned_data"):]
    dumps = [PROCESS % (i, 40 + i, 600 + i, f"sampling_interval_bytes: {interval}" if interval else "")
             for i, interval in enumerate(intervals)]
    file = encode(tmp_path / "trace", head, tables, *dumps)
    said = " ".join(heapscope("report", file).stdout.split("Where did")[0].split())
    is_exact = json.loads(heapscope("report", "--json", file).stdout)["is_exact"]
    if words:
        assert words in said and "exact" not in said and "confidence" not in said and not is_exact
        assert "interval not known" in heapscope("diff", file, file).stdout
    else:
        assert "not known" not in said
