"""A strict reader of MemoryInfra traces: it fails where Chrome's importer, symbolizer or diff script would throw, warn,
or show something else than what was written.

Each process has what it needs to resolve its own ids, and one reader chain is shared by all: both are followed here.
"""

import gzip
import json
import re

HEX = re.compile(r"[0-9a-f]+\Z")
EVENTS = {"periodic_interval", "explicitly_triggered"}
COLUMNS = ["counts", "sizes", "types", "nodes"]
UNITS = {"bytes", "objects"}
SAME_DUMP_US = 1e6


def unique_keys(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key occurs twice: {keys}"
    return dict(pairs)


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def load(path):
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return json.loads(text, object_pairs_hook=unique_keys, parse_constant=no_constant)


def number(text):
    assert isinstance(text, str) and HEX.match(text), f"not a hexadecimal number: {text!r}"
    return int(text, 16)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Process:
    def __init__(self):
        self.strings, self.nodes, self.types, self.regions = {}, {}, {}, []
        self.dumps = []  # (time in us, id, {allocator: [row]})

    def name(self, sid):
        assert sid in self.strings, f"no string {sid}"
        return self.strings[sid]

    def stack(self, node):
        """Names from the outermost frame on."""
        names = []
        while node is not None:
            assert node in self.nodes, f"no node {node}"
            sid, node = self.nodes[node]
            names.append(self.name(sid))
        return tuple(reversed(names))

    def module(self, name):
        """The module and the link-time address of a frame that has only an address, as the symbolizer finds them."""
        pc = int(name[len("pc:"):], 16)
        found = [region for region in self.regions if region[0] <= pc < region[1]]
        assert len(found) == 1, f"{name} is in {len(found)} regions"
        start, _, path, offset = found[0]
        return path, pc - start + offset


class Trace:
    def __init__(self, data, is_symbolized=False):
        self.is_symbolized = is_symbolized  # different addresses may have one name then
        assert isinstance(data, dict) and isinstance(data["traceEvents"], list)
        for key in ("product-version", "os-name", "os-arch", "user-agent"):
            assert data["metadata"][key], key
        assert "/" in data["metadata"]["product-version"]
        self.metadata = data["metadata"]
        self.processes, self.names, self.labels = {}, {}, {}
        self.owners = {}  # id of a string, node or type: pid
        self.guids = set()
        self.groups = {}  # id: [(pid, us)]
        for event in data["traceEvents"]:
            assert isinstance(event["pid"], int) and is_number(event["ts"])
            if event["ph"] == "M":
                self.read_metadata(event)
            else:
                self.read_dump(event)
        for pid in self.processes:
            assert self.names.get(pid) != "", f"process {pid} has an empty name"
        self.check_groups()

    def read_metadata(self, event):
        into, key = {"process_name": (self.names, "name"), "process_labels": (self.labels, "labels")}[event["name"]]
        assert event["cat"] == "__metadata" and event["pid"] not in into
        into[event["pid"]] = event["args"][key]

    def check_groups(self):
        """Dumps are joined within a second; groups are in the order in which readers process them."""
        firsts = []
        for group in self.groups.values():
            pids, times = [pid for pid, _ in group], [us for _, us in group]
            assert len(pids) == len(set(pids)), "heaps, mmaps and totals may come once for each process and dump"
            assert max(times) - min(times) <= SAME_DUMP_US
            firsts.append(min(times))
        assert firsts == sorted(set(firsts)), "two dumps cannot be put in order"

    def read_dump(self, event):
        assert event["ph"] == "v" and event["cat"] == "disabled-by-default-memory-infra" and event["name"] in EVENTS
        assert re.match(r"0x[0-9a-f]+\Z", event["id"]) and event["tid"] == event["pid"]
        dumps = event["args"]["dumps"]
        assert set(dumps) <= {"level_of_detail", "process_totals", "process_mmaps", "allocators", "heaps_v2"}
        assert dumps["level_of_detail"] == "detailed"
        process = self.processes.setdefault(event["pid"], Process())
        self.groups.setdefault(event["id"], []).append((event["pid"], event["ts"]))
        for key, value in dumps.get("process_totals", {}).items():
            assert value is False if key == "is_peak_rss_resetable" else number(value) > 0
        if "process_mmaps" in dumps:
            process.regions = self.read_regions(dumps["process_mmaps"]["vm_regions"])
        heaps = dumps["heaps_v2"]
        assert heaps["version"] == 1 and set(heaps) == {"version", "maps", "allocators"}
        self.read_maps(event["pid"], process, heaps["maps"])
        rows = {name: self.read_rows(process, columns) for name, columns in heaps["allocators"].items()}
        self.read_allocators(dumps["allocators"], rows)
        process.dumps.append((event["ts"], event["id"], rows))

    @staticmethod
    def read_regions(raw):
        regions = []
        for region in raw:
            assert isinstance(region["pf"], int) and isinstance(region["bs"], dict) and region["mf"]
            start = number(region["sa"])
            regions.append((start, start + number(region["sz"]), region["mf"], number(region["fo"])))
        assert regions == sorted(regions)
        assert all(a[1] <= b[0] for a, b in zip(regions, regions[1:])), "regions overlap"
        return regions

    def take_id(self, pid, number_):
        assert isinstance(number_, int) and 0 < number_ < 2**52
        assert number_ not in self.owners, f"id {number_} occurs twice"
        self.owners[number_] = pid

    def read_maps(self, pid, process, maps):
        assert list(maps) == ["strings", "nodes", "types"]
        for string in maps["strings"]:
            self.take_id(pid, string["id"])
            assert set(string) == {"id", "string"} and isinstance(string["string"], str)
            process.strings[string["id"]] = string["string"]
        for node in maps["nodes"]:
            self.take_id(pid, node["id"])
            assert set(node) <= {"id", "name_sid", "parent"}
            parent = node.get("parent")
            assert parent is None or parent in process.nodes, "a parent comes before its children, and is not 0"
            assert (node["name_sid"], parent) not in process.nodes.values(), "two nodes are the same stack"
            process.name(node["name_sid"])
            process.nodes[node["id"]] = (node["name_sid"], parent)
        for kind in maps["types"]:
            # Types are looked up in the tables of all processes, too. The unknown one is 0 in each.
            assert set(kind) == {"id", "name_sid"} and kind["id"] not in process.types
            if kind["id"] != 0:
                self.take_id(pid, kind["id"])
            assert process.name(kind["name_sid"]) and process.name(kind["name_sid"]) not in process.types.values()
            process.types[kind["id"]] = process.name(kind["name_sid"])
        assert process.types[0] == "[unknown]"

    def read_rows(self, process, columns):
        assert list(columns) == COLUMNS and len({len(column) for column in columns.values()}) == 1
        rows = []
        for count, size, kind, node in zip(*columns.values()):
            assert is_number(count) and is_number(size) and kind in process.types
            rows.append({"count": count, "size": size, "type": process.types[kind], "stack": process.stack(node)})
        keys = [(row["stack"], row["type"]) for row in rows]
        assert self.is_symbolized or len(keys) == len(set(keys)), "a row occurs twice"
        return rows

    def read_allocators(self, allocators, rows):
        assert not [name for name in rows if "/" in name or name in ("global", "tracing", "")]
        parts = {f"{name}{part}" for name in rows for part in ("", "/allocated_objects")}
        assert set(allocators) == parts, "a heap without a cell in the table cannot be opened"
        for name, allocator in allocators.items():
            assert allocator["guid"] not in self.guids and number(allocator["guid"]) >= 0
            self.guids.add(allocator["guid"])
            for attribute in allocator["attrs"].values():
                assert attribute["type"] == "scalar" and attribute["units"] in UNITS
                number(attribute["value"])
        for name, heap in rows.items():
            size, count = sum(row["size"] for row in heap), sum(row["count"] for row in heap)
            objects = allocators[name + "/allocated_objects"]["attrs"]
            assert abs(number(allocators[name]["attrs"]["size"]["value"]) - size) <= 0.51 + size * 1e-12
            assert abs(number(objects["shim_allocated_objects_size"]["value"]) - size) <= 0.51 + size * 1e-12
            assert abs(number(objects["shim_allocated_objects_count"]["value"]) - count) <= 0.51 + count * 1e-12


def read(path, is_symbolized=False):
    return Trace(load(path), is_symbolized)
