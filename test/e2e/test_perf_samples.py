"""PerfSample packets as rows: CPU samples, their contents, and the modules that use them."""

import json

import pytest
import test_stack_samples
import trace_text
from test_sql_conformance import method, obfuscated
from test_stack_samples import CLOCKS, message, packet

database = test_stack_samples.database

CPU, PID, TID, CALLSTACK, MODE, COUNT, UNWIND_ERROR, LOST, SKIPPED, EVENT = 1, 2, 3, 4, 5, 6, 16, 17, 18, 19
SAMPLES = "SELECT ts, utid, cpu, cpu_mode, callsite_id, unwind_error, perf_session_id FROM perf_sample ORDER BY id"
STATE = """packet { trusted_packet_sequence_id: %d sequence_flags: 1 interned_data {
  build_ids { iid: 1 str: "\\001\\002\\003\\004\\005\\006\\007\\010\\011\\012\\013\\014\\015\\016\\017\\020" }
  mapping_paths { iid: 1 str: "%s" } function_names { iid: 1 str: "main" } function_names { iid: 2 str: "x.A.b" }
  mappings { iid: 1 build_id: 1 path_string_ids: 1 start: 4096 end: 8192 }
  frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 16 } frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 32 }
  frames { iid: 3 mapping_id: 1 rel_pc: 48 } frames { iid: 4 function_name_id: 1 }
  callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } callstacks { iid: 2 frame_ids: 1 frame_ids: 3 }
  callstacks { iid: 3 frame_ids: 4 } } }
"""


def encode(text):
    return trace_text.protoc("encode", text.encode())


def sample(time, *fields, sequence=1):
    return packet((8, time), (10, sequence), (66, message(*fields)))


def state(sequence=1, path="lib.so"):
    return encode(STATE % (sequence, path))


def test_a_sample_and_its_stack(database):
    ask = database(state(), sample(10, (CPU, 3), (PID, 70), (TID, 71), (CALLSTACK, 1), (MODE, 2), (COUNT, 42)))
    assert [r[:1] + r[2:] for r in ask(SAMPLES)] == [(10, 3, "user", 1, None, 0)]
    assert ask("SELECT f.name, f.rel_pc, m.name, m.start, c.depth FROM stack_profile_callsite c JOIN stack_profile_frame f ON "
               "f.id = c.frame_id JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY c.id") == [
        ("main", 16, "/lib.so", 4096, 0), ("x.A.b", 32, "/lib.so", 4096, 1)]
    assert ask("SELECT t.tid, p.pid FROM perf_sample JOIN thread t USING (utid) JOIN process p USING (upid)") == [(71, 70)]
    assert ask("SELECT source, callsite_id FROM stack_sample") == [("linux.perf", 1)]
    assert ask("SELECT start_ts, end_ts FROM trace_bounds") == [(10, 10)]


def test_what_a_sample_may_leave_out(database):
    """No stack, no CPU, an unknown mode; a stack that is not in the file; a frame without a
    mapping."""
    ask = database(state(), sample(10, (PID, 70), (TID, 70)), sample(11, (CPU, 0), (PID, 70), (TID, 70), (MODE, 1), (UNWIND_ERROR, 5)),
                   sample(12, (CPU, 1), (PID, 70), (TID, 70), (MODE, 9), (CALLSTACK, 77), (UNWIND_ERROR, 99)),
                   sample(13, (CPU, 1), (PID, 70), (TID, 70), (CALLSTACK, 3), (UNWIND_ERROR, 0)), sample(14))
    assert ask(SAMPLES) == [
        (10, 1, None, "unknown", None, None, 0), (11, 1, 0, "kernel", None, "invalid_map", 0),
        (12, 1, 1, "unknown", None, "unknown", 0), (13, 1, 1, "unknown", 0, "unknown", 0), (14, 0, None, "unknown", None, None, 0)]
    assert ask("SELECT m.name FROM stack_profile_frame f JOIN stack_profile_mapping m ON m.id = f.mapping") == [("",)]
    assert ask("SELECT value FROM stats WHERE name = 'stackprofile_invalid_callstack_id'") == [(1,)]


def test_samples_are_of_the_session_of_their_sequence(database):
    ask = database(sample(30, (PID, 5), (TID, 5), sequence=9), state(4), sample(10, (PID, 5), (TID, 5), (CALLSTACK, 1), sequence=4),
                   state(9), sample(20, (PID, 6), (TID, 6), (CALLSTACK, 1), sequence=9))
    assert [(r[0], r[4], r[6]) for r in ask(SAMPLES)] == [(10, 1, 0), (20, 3, 1), (30, None, 1)]
    assert ask("SELECT id, cmdline FROM perf_session") == [(0, None), (1, None)]
    # A mapping with addresses is one row per process.
    assert ask("SELECT count(*) FROM stack_profile_mapping") == [(2,)]


def test_what_is_missing_is_counted(database):
    ask = database(sample(10, (CPU, 2), (LOST, 5)), sample(11, (CPU, 2), (LOST, 2)), sample(12, (EVENT, message((1, 1)))),
                   sample(13, (PID, 5), (TID, 5), (SKIPPED, 1)), sample(14, (PID, 5), (TID, 5), (SKIPPED, 2)),
                   sample(15, (PID, 5), (TID, 5), (SKIPPED, 3)), sample(16, (PID, 5), (TID, 5), (SKIPPED, 4)))
    assert [r[0] for r in ask(SAMPLES)] == [13, 14, 15, 16]
    assert ask("SELECT name, idx, value FROM stats WHERE name LIKE 'perf%' ORDER BY name") == [
        ("perf_cpu_lost_records", 2, 7), ("perf_samples_skipped", None, 2), ("perf_samples_skipped_dataloss", None, 1)]


@pytest.mark.parametrize("payload", [b"", b"\xff", b"\x08", message((CALLSTACK, "text"), (PID, "x"), (CPU, 1.5)), b"\x08\x01" * 200])
def test_payloads_that_make_no_sense(database, payload):
    ask = database(state(), packet((8, 10), (10, 1), (66, payload)), sample(11, (PID, 1), (TID, 1), (CALLSTACK, 1)))
    assert ask(SAMPLES)[-1][4] == 1


def test_modules_over_samples(heapscope, tmp_path):
    """Frames that a symbolizer could name, by process, also those of CPU samples; and their call
    tree."""
    file = tmp_path / "x.pftrace"
    file.write_bytes(encode(CLOCKS) + state() + sample(10, (PID, 70), (TID, 71), (CALLSTACK, 2)) + sample(11, (PID, 70), (TID, 71), (CALLSTACK, 2)))

    def ask(sql):
        done = heapscope("query", "--format", "json", file, sql)
        assert done.returncode == 0, done.stderr
        return [tuple(r.values()) for r in json.loads(done.stdout)]
    assert ask("INCLUDE PERFETTO MODULE stacks.symbolization_candidates; SELECT upid, module, build_id, rel_pc, breakpad_module_id "
               "FROM _stacks_symbolization_candidates ORDER BY rel_pc") == [
        (1, "/lib.so", "0102030405060708090a0b0c0d0e0f10", pc, "0403020106050807090a0b0c0d0e0f100") for pc in (16, 48)]
    assert ask("INCLUDE PERFETTO MODULE callstacks.stack_profile; SELECT name, self_count FROM _callstacks_for_stack_profile_samples!(("
               "SELECT callsite_id FROM perf_sample)) ORDER BY id") == [("main", 0), ("unknown", 2)]


def test_one_obfuscated_name_in_two_processes(database):
    """The package is that of the process's user, also for CPU samples; each process has its own
    name for the frame."""
    tree = """packet { process_tree { processes { pid: 5 uid: 10037 } processes { pid: 6 uid: 10038 } processes { pid: 7 uid: 0 } } }
      packet { packages_list { packages { name: "org.one" uid: 10037 } packages { name: "org.two" uid: 10038 } } }"""
    names = obfuscated("org.one", method("one")) + obfuscated("org.two", method("two"))
    heap = """packet { trusted_packet_sequence_id: 1 profile_packet { index: 0 process_dumps { pid: 5 timestamp: 20 heap_name: "libc.malloc"
      samples { callstack_id: 1 self_allocated: 10 alloc_count: 1 } } } }"""
    ask = database(encode(tree + names), state(), encode(heap), sample(10, (PID, 6), (TID, 6), (CALLSTACK, 1)),
                   sample(11, (PID, 7), (TID, 7), (CALLSTACK, 1)))
    wanted = "SELECT p.pid, f.deobfuscated_name FROM (SELECT upid, callsite_id FROM heap_profile_allocation UNION SELECT upid, callsite_id " \
             "FROM perf_sample JOIN thread USING (utid)) a JOIN process p USING (upid) JOIN stack_profile_callsite c ON c.id = a.callsite_id " \
             "JOIN stack_profile_frame f ON f.id = c.frame_id ORDER BY p.pid"
    assert ask(wanted) == [(5, "org.Real.one"), (6, "org.Real.two"), (7, None)]
    without = encode(obfuscated("", method("any")).replace('package_name: "" ', ""))
    ask = database(encode(tree + names), without, state(), encode(heap), sample(10, (PID, 6), (TID, 6), (CALLSTACK, 1)),
                   sample(11, (PID, 7), (TID, 7), (CALLSTACK, 1)))
    assert ask(wanted) == [(5, "org.Real.one"), (6, "org.Real.two"), (7, "org.Real.any")]
