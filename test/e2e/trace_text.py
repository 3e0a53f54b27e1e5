"""Traces as text and as Python data, and a model of Perfetto's reader for them.

protoc knows protobuf and nothing about heapscope: what it decodes was really written, and what
it encodes from text is a trace that our code had no part in.
"""

import functools
import hashlib
import json
import os
import re
import subprocess

from compiling import INCLUDES, ROOT, sources_of
from conftest import lock

PROTO = ROOT / "src" / "trace" / "proto"
PPROF = ROOT / "src" / "profile" / "proto"
COARSE, MONOTONIC, BOOTTIME, REALTIME = 4, 3, 6, 1


@functools.lru_cache
def trace_tool():
    """Path of trace_tool.c, built with the sources that it needs: once for each state of them."""
    protos = sorted(p.stem for p in PROTO.glob("*.proto"))
    sources = [ROOT / "test/e2e/trace_tool.c", *sources_of("trace")]
    for names in ("builder*.c", "cut_stacks.c", "dump_heaps.c", "dump_parts.c", "frame_class.c", "frame_pids.c", "heap_text*.c", "infra*.c", "load*.c", "loss.c", "margin.c",
                  "original_names.c", "peak_margin.c", "pprof*.c", "profile.c", "profile_strings.c", "profiler_frames.c", "unbias.c"):
        sources += sorted((ROOT / "src/profile").rglob(names))
    sources += [ROOT / "src/symbol" / f"{name}.c" for name in ("cxx_function", "demangle", "elf_file", "elf_shift")]
    sources += sources_of("deobfuscate") + sources_of("util", "selfpath")
    watched = [*sources, *(PROTO / f"{n}.proto" for n in protos), PPROF / "pprof.proto", *sorted((ROOT / "test/unit").glob("*_fixture.h"))]
    for layer in ("deobfuscate", "fmt", "rt", "trace", "profile", "util"):
        watched += sorted((ROOT / "src" / layer).rglob("*.h"))
    key = hashlib.sha256(b"".join(p.read_bytes() for p in watched)).hexdigest()[:12]
    folder = ROOT / "build" / "target" / f"trace_tool-{key}"
    with lock(folder.with_suffix(".lock")):
        if not (folder / "tool").exists():
            build_trace_tool(folder, protos, sources)
    return folder / "tool"


def build_trace_tool(folder, protos, sources):
    made = folder / "trace" / "proto"
    made.mkdir(parents=True, exist_ok=True)
    subprocess.run(["protoc-c", f"--proto_path={PROTO}", f"--c_out={made}",
                    *(f"{n}.proto" for n in protos)], check=True)
    sources += [made / f"{n}.pb-c.c" for n in protos]
    made_pprof = folder / "profile" / "proto"
    made_pprof.mkdir(parents=True, exist_ok=True)
    subprocess.run(["protoc-c", f"--proto_path={PPROF}", f"--c_out={made_pprof}", "pprof.proto"], check=True)
    sources.append(made_pprof / "pprof.pb-c.c")
    unfinished = folder / f"tool.{os.getpid()}"
    subprocess.run(["cc", "-std=gnu17", "-O1", "-D_GNU_SOURCE", '-DHS_VERSION="0"', "-w",
                    *INCLUDES, "-I", folder, "-I", made, *sources, "-o", unfinished,
                    "-lprotobuf-c", "-lz", "-lzstd", "-ldeflate", "-lelf", "-ldw", "-liberty", "-lyajl", "-lm"], check=True)
    unfinished.rename(folder / "tool")


def protoc(mode, data):
    return subprocess.run(["protoc", f"-I{PROTO}", f"--{mode}=hs.pb.Trace", "perfetto.proto"],
                          input=data, stdout=subprocess.PIPE, check=True).stdout


TOKEN = re.compile(rb'\s*(?:(\w+) \{|(\})|(\w+): ("(?:[^"\\]|\\.)*"|\S+))\n')
ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)")
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def unescape(text):
    def one(match):
        code = match.group(1)
        return bytes([int(code, 8)]) if code[:1].isdigit() else ESCAPES.get(code, code)
    return ESCAPE.sub(one, text)


def parse(text):
    """protoc's text form: each message is a dict of lists; unknown fields (numbers) stay visible."""
    root = {}
    stack = [root]
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, text[at:at + 80]
        at = match.end()
        opened, closed, key, value = match.groups()
        if opened:
            child = {}
            stack[-1].setdefault(opened.decode(), []).append(child)
            stack.append(child)
        elif closed:
            stack.pop()
        else:
            if value.startswith(b'"'):
                value = unescape(value[1:-1])
            elif value in (b"true", b"false"):
                value = value == b"true"
            elif value[:1].isupper():
                value = value.decode()  # a constant of an enum
            else:
                value = float(value) if b"." in value or b"e" in value else int(value)
            stack[-1].setdefault(key.decode(), []).append(value)
    assert len(stack) == 1
    return root


def get(message, *path, default=0):
    for key in path:
        if key not in message:
            return default
        message = message[key][0]
    return message


def write(scenario, path):
    subprocess.run([trace_tool(), "write", scenario, path], check=True)
    return path


def load(path, status=0):
    """Our loader's result for a file."""
    done = subprocess.run([trace_tool(), "read", path], stdout=subprocess.PIPE, check=False)
    assert done.returncode == status
    if status != 0:
        return None
    loaded = json.loads(done.stdout)
    losses = {}
    for name, count in loaded["losses"]:  # of all processes
        losses[name] = losses.get(name, 0) + count
    return {**loaded, "losses": losses}


class Reader:
    """What trace_processor does with heap profiles, rule by rule; every complaint is collected."""

    def __init__(self, trace):
        self.stats = []
        self.tables = {}
        self.is_cleared = False
        self.next_index = 0
        self.offsets = None  # clock id -> BOOTTIME minus it
        self.pending = []
        self.totals = {}  # (pid, callsite) -> [bytes, count, freed bytes, freed count]
        self.corrections = {}
        self.rows = []  # (ts, pid, heap, callsite, count, size)
        self.dumps = set()
        self.symbols = {}
        for packet in trace:
            self.packet(packet)
        if self.pending:
            self.stats.append("heapprofd_non_finalized_profile")

    def packet(self, packet):
        if "clock_snapshot" in packet:
            clocks = {get(c, "clock_id"): get(c, "timestamp")
                      for c in packet["clock_snapshot"][0]["clocks"]}
            self.offsets = {i: clocks[BOOTTIME] - t for i, t in clocks.items()}
        if get(packet, "sequence_flags") & 1:
            self.stats += ["cleared again"] if self.is_cleared else []
            self.is_cleared = True
        for table, entries in get(packet, "interned_data", default={}).items():
            if not self.is_cleared:
                self.stats.append("interned_data_skipped_incremental_state_invalid")
            for entry in entries:
                self.tables.setdefault(table, {}).setdefault(get(entry, "iid"), entry)
        if "profile_packet" in packet:
            self.profile(packet["profile_packet"][0])
        for module in packet.get("module_symbols", []):
            key = get(module, "path").decode(), get(module, "build_id")
            for address in module["address_symbols"]:
                self.symbols[(*key, get(address, "address"))] = address["lines"]

    def profile(self, profile):
        if get(profile, "index") != self.next_index:
            self.stats.append("heapprofd_missing_packet")
        self.next_index = get(profile, "index") + 1
        self.pending += profile.get("process_dumps", [])
        if get(profile, "continued", default=False):
            return
        before = set(self.dumps)
        for dump in self.pending:
            self.dump(dump, before)
        self.pending = []

    def string(self, table, iid):
        entry = self.tables.get(table, {}).get(iid)
        if entry is None and iid != 0:
            self.stats.append("stackprofile_invalid_string_id")
        return get(entry or {}, "str", default=b"")

    def frame(self, iid):
        frame = self.tables["frames"].get(iid)
        mapping = self.tables["mappings"].get(get(frame or {}, "mapping_id"))
        if frame is None or mapping is None:
            self.stats.append("stackprofile_invalid_frame_id")
            return ("?", b"", 0, "?")
        name = "".join("/" + self.string("mapping_paths", i).decode()
                       for i in mapping.get("path_string_ids", []))
        name = name[1:] if name.startswith("//") else name
        build_id = self.string("build_ids", get(mapping, "build_id"))
        function = self.string("function_names", get(frame, "function_name_id")).decode()
        return (name, build_id, get(frame, "rel_pc"), function)

    def callsite(self, iid):
        callstack = self.tables["callstacks"].get(iid)
        if callstack is None:
            self.stats.append("stackprofile_invalid_callstack_id")
            return ()
        if not callstack.get("frame_ids"):
            self.stats.append("stackprofile_empty_callstack")
        return tuple(self.frame(i) for i in callstack.get("frame_ids", []))

    def dump(self, dump, before):
        pid, heap = get(dump, "pid"), get(dump, "heap_name").decode()
        ts = get(dump, "timestamp") + self.offsets[COARSE]
        assert (pid, ts, heap) not in before, "two dumps at one instant"
        # The stdlib's intervals join by (pid, time) alone.
        assert not any(d[:2] == (pid, ts) and d[2] != heap for d in self.dumps)
        self.dumps.add((pid, ts, heap))
        for sample in dump.get("samples", []):
            assert "self_max" not in sample and "self_max_count" not in sample
            site = self.callsite(get(sample, "callstack_id"))
            was = self.totals.setdefault((pid, site), [0, 0, 0, 0])
            fix = self.corrections.setdefault((pid, get(sample, "callstack_id"), heap), list(was))
            now = [a + get(sample, f) for a, f in zip(fix, (
                "self_allocated", "alloc_count", "self_freed", "free_count"))]
            if any(n < w for n, w in zip(now, was)):
                self.stats.append("heapprofd_malformed_packet")
                continue
            delta = [n - w for n, w in zip(now, was)]
            self.totals[(pid, site)] = now
            if delta[0] or delta[1]:
                self.rows.append((ts, pid, heap, site, delta[1], delta[0]))
            if delta[2] or delta[3]:
                self.rows.append((ts, pid, heap, site, -delta[3], -delta[2]))

    def live(self, pid, ts=float("inf")):
        sizes = {}
        for row in self.rows:
            if row[1] == pid and row[0] <= ts:
                key = row[2], row[3]
                size, count = sizes.get(key, (0, 0))
                sizes[key] = size + row[5], count + row[4]
                # A net size without a net count, or the reverse, makes trace_processor exit.
                assert sizes[key][0] >= 0 and sizes[key][1] >= 0
        return sizes
