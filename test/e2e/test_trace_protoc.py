"""Our traces in other readers: protoc, and a model of trace_processor's rules (docs/FORMAT.md,
1.2)."""

import re
import struct
import subprocess
import zlib

import pytest

from trace_text import (BOOTTIME, COARSE, MONOTONIC, REALTIME, Reader, get, load, parse, protoc,
                        write)


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    return write("session", tmp_path_factory.mktemp("session") / "session.pftrace")


@pytest.fixture(scope="session")
def packets(session):
    return parse(protoc("decode", session.read_bytes()))["packet"]


def test_first_byte(session):
    assert session.read_bytes()[:1] == b"\x0a"


def test_nothing_unknown(packets):
    """protoc prints a field that it does not know by its number."""
    def walk(message):
        for key, values in message.items():
            assert not key.isdigit()
            for value in values:
                if isinstance(value, dict):
                    walk(value)
    for packet in packets:
        walk(packet)


def test_one_sequence_cleared_once(packets):
    ids = {get(p, "trusted_packet_sequence_id") for p in packets
           if "interned_data" in p or "profile_packet" in p or "heapscope" in p}
    assert len(ids) == 1 and 0 not in ids
    cleared = [i for i, p in enumerate(packets) if get(p, "sequence_flags") & 1]
    first = min(i for i, p in enumerate(packets) if "interned_data" in p)
    assert cleared == [first]
    assert get(packets[first], "previous_packet_dropped") == 1
    assert not any("incremental_state_cleared" in p for p in packets)
    data = packets[first]["interned_data"][0]
    for table in ("function_names", "build_ids", "mapping_paths"):
        assert data[table] == [{"iid": [0], "str": [b""]}]


def test_clocks_come_first(packets):
    clocks = {get(c, "clock_id"): get(c, "timestamp")
              for c in packets[0]["clock_snapshot"][0]["clocks"]}
    assert set(clocks) == {BOOTTIME, COARSE, MONOTONIC, REALTIME}
    assert clocks[COARSE] == clocks[MONOTONIC] <= clocks[BOOTTIME] < clocks[REALTIME]


def test_repeated_scalars_are_not_packed(session):
    """Perfetto's reader requires the tag for each path component and frame id."""
    subprocess.run(["sh", "-c", f"protoc --decode_raw < {session} > /dev/null"], check=True)
    raw = subprocess.run(["protoc", "--decode_raw"], input=session.read_bytes(),
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    callstacks = re.findall(r"\n    7 \{\n((?:      .*\n)+?)    \}", raw)
    assert callstacks and all(re.fullmatch(r"      1: \d+\n(      2: \d+\n)+", c)
                              for c in callstacks)


def test_reader_has_no_complaints(packets):
    reader = Reader(packets)
    assert reader.stats == []
    assert reader.next_index > 5


def sums(live):
    out = {}
    for (heap, _), (size, _) in live.items():
        out[heap] = out.get(heap, 0) + size
    return out


def test_figures(packets):
    reader = Reader(packets)
    at = sorted({d[1] for d in reader.dumps if d[0] == 100 and d[2] == "libc.malloc"})
    assert len(at) == 5  # three dumps, one that frees what exec left, one of the new program
    near = 1000  # ns: they separate the heaps of a dump
    assert sums(reader.live(100, at[0] + near)) == {"libc.malloc": 6000, "mmap": 1 << 20}
    assert sums(reader.live(100, at[1] + near)) == {"libc.malloc": 90000, "mmap": 1 << 20}
    assert sums(reader.live(100, at[2] + near)) == {"libc.malloc": 2000, "mmap": 0}
    assert sums(reader.live(100, at[3] + near)) == {"libc.malloc": 0, "mmap": 0}
    assert sums(reader.live(100, at[4] + near)) == {"libc.malloc": 300, "mmap": 0}
    assert sums(reader.live(101)) == {"libc.malloc": 500, "mmap": 0}
    allocated = sum(r[5] for r in reader.rows if r[1] == 101 and r[5] > 0)
    assert allocated == 100000 + (1 << 20) + 777
    counts = {s[-1][2]: c for (h, s), (_, c) in reader.live(101).items() if h == "libc.malloc"}
    assert counts[0x2200] == 5
    # Windows follow each other, and each starts where the one before ended.
    dumps = [d for p in packets for d in get(p, "profile_packet", default={}).get(
        "process_dumps", []) if get(d, "pid") == 100 and get(d, "heap_name") == b"libc.malloc"]
    for before, after in zip(dumps, dumps[1:]):
        assert get(before, "timestamp") <= get(after, "start_timestamp") < get(after, "timestamp")
        assert get(after, "start_timestamp") - get(before, "timestamp") < near or \
            get(after, "start_timestamp") == 15 * 10**9
    assert [get(d, "from_startup") for d in dumps] == [True] * 3 + [0] + [True]
    assert [get(d, "disconnected", default=False) for d in dumps] == \
        [False, False, True, False, True]
    assert all(get(d, "sampling_interval_bytes") == 4096 for d in dumps if "samples" in d and
               "from_startup" in d)


def test_only_what_changed(packets):
    per_dump = [len(d.get("samples", [])) for p in packets
                for d in get(p, "profile_packet", default={}).get("process_dumps", [])
                if get(d, "pid") == 100 and get(d, "heap_name") == b"libc.malloc"]
    assert per_dump == [2, 1, 1, 1, 2]


def test_stacks_and_mappings(packets):
    reader = Reader(packets)
    sites = {(h, tuple(f[0] + "!" + (f[3] or hex(f[2])) for f in s))
             for (h, s) in reader.live(101)}
    assert sites == {
        ("libc.malloc", ("/usr/bin/prog!0x2100", "/usr/lib/libx.so!0x2200")),
        ("mmap", ("/[heapscope]![heap mmap]", "/usr/bin/prog!0x2100", "/usr/lib/libx.so!0x2200")),
        ("libc.malloc", ("/ERROR!ERROR NO_INFO", "/usr/bin/prog!0x2100", "/ERROR![stack cut]",
                         "/usr/lib/libx.so!0x2200", "/[anon]!0x7e0000001234")),
    }
    mappings = {reader.string("build_ids", get(m, "build_id")): m
                for m in reader.tables["mappings"].values() if get(m, "end")}
    lib = mappings[b"\0" + b"\2" * 19]
    assert (get(lib, "start"), get(lib, "end")) == (0x7F0000002000, 0x7F0000008000)
    assert (get(lib, "exact_offset"), get(lib, "load_bias")) == (0x1000, 0x1000)
    assert get(lib, "start_offset") == 0


def test_symbols_find_their_frames(packets):
    reader = Reader(packets)
    lines = reader.symbols[("/usr/lib/libx.so", b"\0" + b"\2" * 19, 0x2200)]
    assert [get(line, "function_name") for line in lines] == [b"inner(int)", b"outer"]
    frames = {f[:3] for _, s in reader.totals for f in s}
    assert set(reader.symbols) <= {(n, b, pc) for n, b, pc in frames}


def test_process_tree(packets):
    trees = [p["process_tree"][0]["processes"][0] for p in packets if "process_tree" in p]
    assert [get(t, "pid") for t in trees] == [100, 101, 100]
    assert all(t["cmdline"] == [b"prog", b"-x", b"a b"] and get(t, "ppid") == get(t, "pid") - 1
               for t in trees)
    before = [i for i, p in enumerate(packets) if "process_tree" in p][0]
    assert before < min(i for i, p in enumerate(packets) if "profile_packet" in p)


def varint(data, at):
    """-> value, and where the next one begins"""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """[(number, bytes)]: of a message that has only fields with a length, such as a trace."""
    found = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2
        size, at = varint(data, at)
        assert at + size <= len(data)
        found.append((tag >> 3, data[at:at + size]))
        at += size
    return found


@pytest.mark.costly
def test_large_dump_is_split(tmp_path):
    path = write("large", tmp_path / "large")
    packets = parse(protoc("decode", path.read_bytes()))["packet"]
    reader = Reader(packets)
    assert reader.stats == []
    profiles = [p["profile_packet"][0] for p in packets if "profile_packet" in p]
    assert len(profiles) > 1
    assert [get(p, "continued", default=False) for p in profiles] == \
        [True] * (len(profiles) - 1) + [False]
    ours = load(path)["dumps"][0]
    assert sums(reader.live(100)) == {"libc.malloc": ours["live"][0]}
    assert len(reader.live(100)) == len(ours["samples"]) > 19000
    assert max(len(packet) for _, packet in fields(path.read_bytes())) < 600_000


def test_our_loader_agrees(session, packets):
    """Two readers of one file: one for our packets and one for Perfetto's."""
    reader = Reader(packets)
    loaded = load(session)
    assert [(d["pid"], d["process"], d["index"]) for d in loaded["dumps"]] == \
        [(100, 0, 0), (101, 1, 0), (100, 0, 1), (100, 0, 2), (100, 2, 0)]
    last = loaded["dumps"][1]
    theirs = {(h, tuple(f[2] for f in s if not f[3].startswith("[heap"))): v
              for (h, s), v in reader.live(101).items()}
    ours = {(s["heap"], tuple(f["rel_pc"] for f in reversed(s["stack"]))):
            (round(s["live"][0]), round(s["live"][1])) for s in last["samples"]}
    assert ours == theirs
    assert last["cmdline"] == "prog -x a b" and last["name"] == "prog101"
    assert loaded["losses"] == {"stack_cut_no_info": 6, "stack_cut_middle": 3}


def amount(rows, column, i):
    """bytes, count, and their variances, of one row: docs/FORMAT.md, 1.7."""
    def cell(name):
        return rows[name][i] if name in rows else 0

    def var(name):
        return struct.unpack("<f", struct.pack("<I", cell(name) << 12))[0]
    return [cell(f"{column}_bytes"), cell(f"{column}_count_fx") / 1024,
            var(f"{column}_bytes_var"), var(f"{column}_count_var")]


def test_our_packets_by_the_text(session, packets):
    """A second reader of our own packets, written from docs/FORMAT.md alone."""
    states, heads, dumps = {}, {}, []
    for packet in packets:
        ours = get(packet, "heapscope", default={})
        if "file" in ours:
            assert get(ours, "file", "format_version") == 1
        if "dump" in ours:
            head = ours["dump"][0]
            heads[get(head, "process_idx")] = [head, 0]
        if "rows" in ours:
            rows = ours["rows"][0]
            process = get(rows, "process_idx")
            iid = 0
            for i, delta in enumerate(rows["callstack_iid_delta"]):
                iid += delta
                heap = rows["heap"][i] if "heap" in rows else 0
                states.setdefault(process, {})[iid] = (heap, *(
                    amount(rows, c, i) for c in ("alloc", "live", "peak")))
                heads[process][1] += 1
        if "dump_end" in ours:
            end = ours["dump_end"][0]
            head, count = heads[get(end, "process_idx")]
            assert count == get(end, "row_count") and get(end, "dump_idx") == get(head, "dump_idx")
            dumps.append((head, dict(states[get(end, "process_idx")])))
    loaded = load(session)["dumps"]
    assert len(dumps) == len(loaded)
    for (head, rows), dump in zip(dumps, loaded):
        assert (get(head, "pid"), get(head, "time_ns")) == (dump["pid"], dump["time_ns"])
        assert [get(head, "live", f, default=0) for f in (
            "bytes", "count", "bytes_var", "count_var")] == dump["live"]
        heaps = [name.decode() for name in head["heap_names"]]
        mine = sorted((heaps[r[0]], *r[1:]) for r in rows.values() if any(r[1]))
        theirs = sorted((s["heap"], s["alloc"], s["live"], s["peak"]) for s in dump["samples"])
        assert mine == theirs


def test_modules_are_where_they_were(packets):
    """Each process's own addresses, although the mapping is shared."""
    biases = {get(p, "heapscope", "dump", "process_idx"):
              p["heapscope"][0]["dump"][0]["modules"][0]["bias_va"]
              for p in packets if get(p, "heapscope", "dump", "modules", default=None)}
    assert biases == {i: [0x550000000000 + pid * 4096, 0x7F0000000000, 0]
                      for i, pid in ((0, 100), (1, 101), (2, 100))}


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("scenario", ["session", "large"])
def test_compressed_packets_hold_the_same(tmp_path, scenario):
    plain = write(scenario, tmp_path / "plain").read_bytes()
    pressed = write(f"{scenario}-compressed", tmp_path / "pressed")
    packets = [fields(packet) for number, packet in fields(pressed.read_bytes()) if number == 1]
    assert all([number for number, _ in packet] == [50] for packet in packets)  # compressed_packets
    raw = [zlib.decompress(packet[0][1]) for packet in packets]
    assert b"".join(raw) == plain
    assert len(pressed.read_bytes()) < len(plain) / 2
    assert load(pressed) == load(tmp_path / "plain")
    # Each holds whole packets, and not much more than a compressed packet needs to be worthwhile.
    assert all(b"packet {" in protoc("decode", data) for data in raw)
    assert max(map(len, raw)) < 900_000
