"""StackSample packets as rows: contexts and counters inline or by number, defaults, stacks of both
kinds."""

import sqlite3
import struct

import pytest

import trace_text

CLOCKS = "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 4 timestamp: 0 } } }\n"


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(*fields):
    """Encodes fields (number, value): an int as a varint, a float as a double, text and bytes
    unchanged."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def packet(*fields):
    return message((1, message(*fields)))


def sample(time, *fields, sequence=1):
    return packet((8, time), (10, sequence), (135, message(*fields)))


def interned(*fields, sequence=1, defaults=None, flags=1):
    more = [(59, message((100, message(*defaults))))] if defaults is not None else []
    return packet((10, sequence), (13, flags), (12, message(*fields)), *more)


TASK = message((2, 70), (3, 71))
BYTES = message((2, "allocated"), (3, 4))
NAMES = ((5, message((1, 1), (2, "f"))), (6, message((1, 1), (2, 1))), (7, message((1, 1), (2, 1))))
SAMPLES = "SELECT ts, source, task_context_id, execution_context_id, callsite_id, unwind_error, session_id, counter_set_id FROM stack_sample ORDER BY id"
COUNTERS = "SELECT counter_set_id, is_primary, name, unit, unit_multiplier, weight FROM heapscope_stack_counters ORDER BY id"


@pytest.fixture
def database(heapscope, tmp_path):
    def make(*packets):
        path, out = tmp_path / "in.pftrace", tmp_path / "out.sqlite"
        path.write_bytes(trace_text.protoc("encode", CLOCKS.encode()) + b"".join(packets))
        done = heapscope("export", path, "-o", out)
        assert done.returncode == 0, done.stderr
        return lambda sql: sqlite3.connect(out).execute(sql).fetchall()
    return make


def test_all_in_place(database):
    frames = message((1, message((1, "main"), (2, "a.c"), (3, 5))), (1, message((1, "leaf"))))
    ask = database(sample(10, (1, TASK), (3, message((2, 3), (3, 1))), (5, frames), (9, BYTES), (11, 640)))
    assert ask(SAMPLES) == [(10, None, 0, 0, 1, None, None, 0)]
    assert ask("SELECT pid, tid, async_id FROM heapscope_stack_tasks") == [(70, 71, None)]
    assert ask("SELECT t.tid, p.pid FROM heapscope_stack_tasks s JOIN thread t USING (utid) "
               "JOIN process p ON p.upid = s.upid") == [(71, 70)]
    assert ask("SELECT cpu, mode FROM heapscope_stack_executions") == [(3, 1)]
    assert ask(COUNTERS) == [(0, 1, "allocated", "bytes", None, 640)]
    assert ask("SELECT f.name, s.source_file, s.line_number, c.depth FROM stack_profile_callsite c JOIN stack_profile_frame f "
               "ON f.id = c.frame_id JOIN stack_profile_symbol s USING (symbol_set_id) ORDER BY c.id") == [
                   ("main", "a.c", 5, 0), ("leaf", None, None, 1)]


def test_all_by_number(database):
    ask = database(
        interned(*NAMES, (48, message((1, 9), (2, 70), (3, 70))), (49, message((1, 4), (2, 0))),
                 (50, message((1, 2), (2, "hits"), (3, 9), (5, 1000)))),
        sample(10, (2, 9), (4, 4), (6, 1), (10, 2), (11, 3)),
        sample(20, (2, 9), (4, 4), (6, 1), (10, 2), (11, 2.5)))
    assert ask(SAMPLES) == [(10, None, 0, 0, 0, None, None, 0), (20, None, 0, 0, 0, None, None, 1)]
    assert ask(COUNTERS) == [(0, 1, "hits", "count", 1000, 3), (1, 1, "hits", "count", 1000, 2.5)]
    assert ask("SELECT tid, is_main_thread FROM thread WHERE tid = 70") == [(70, 1)]


def test_defaults_and_followers(database):
    ask = database(
        interned(*NAMES, (50, message((1, 2), (2, "frees"))), defaults=[(1, "heapscope"), (2, BYTES), (3, 2)]),
        sample(10, (6, 1), (11, 100), (14, varint(7))),
        sample(20, (6, 1), (9, message((2, "own"))), (11, 5), (12, message((2, "a"))), (12, message((2, "b"), (4, "mJ"))),
               (14, varint(1) + varint(300))))
    assert [row[1] for row in ask(SAMPLES)] == ["heapscope", "heapscope"]
    assert ask(COUNTERS) == [
        (0, 1, "allocated", "bytes", None, 100), (0, 0, "frees", None, None, 7),
        (1, 1, "own", None, None, 5), (1, 0, "a", None, None, 1), (1, 0, "b", "mJ", None, 300)]


def test_followers_as_numbers_in_a_row(database):
    ask = database(
        interned(*NAMES, (50, message((1, 200), (2, "x"))), (50, message((1, 201), (2, "y")))),
        sample(10, (6, 1), (13, varint(200) + varint(201)), (14, varint(1) + varint(2))))
    assert [row[2:] for row in ask(COUNTERS)] == [
        (None, None, None, 0), ("x", None, None, 1), ("y", None, None, 2)]


def test_defaults_are_those_of_when_it_was_written(database):
    ask = database(interned(*NAMES, defaults=[(1, "one")]), sample(30, (6, 1)),
                   interned(*NAMES, defaults=[(1, "two")], flags=0), sample(10, (6, 1)),
                   interned(*NAMES, flags=1), sample(20, (6, 1)))
    assert [row[:2] for row in ask(SAMPLES)] == [(10, "two"), (20, None), (30, "one")]


@pytest.mark.parametrize("fields, error", [([(7, 3)], "3"), ([(8, "no map")], "no map"), ([(7, 1), (8, "x")], "x"),
                                           ([(8, "x"), (7, 1)], "x")])
def test_unwind_errors(database, fields, error):
    assert database(sample(10, *fields))(SAMPLES) == [(10, None, None, None, None, error, None, None)]


def test_what_is_not_there(database):
    ask = database(sample(10, (2, 5), (4, 5), (6, 5), (10, 5), (11, 1)))
    assert ask(SAMPLES) == [(10, None, None, None, None, None, None, 0)]
    assert ask(COUNTERS) == [(0, 1, None, None, None, 1)]


def test_nonsense_harms_nobody(database):
    ask = database(sample(10, (1, "\x08"), (2, "text"), (3, 7), (5, b"\xff\xff"), (9, b"\x0a"), (11, "w"), (12, 4),
                          (14, b"\xff")), sample(20, *((13, 1),) * 200, *((14, 2),) * 200), sample(30, (6, 1)))
    assert [row[0] for row in ask(SAMPLES)] == [10, 20, 30]
    assert len(ask(COUNTERS)) == 66  # the first of each sample, and 64 more of one
