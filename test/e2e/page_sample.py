"""A profile in the format of docs/PAGE.md, made by hand: the page with data that the tests know, hostile names among them.

One process of a made-up server, with three snapshots, two heaps and two threads. Its figures are estimates; some samples were
lost; a name is a script, one is right-to-left, one has 10,000 characters.
"""

import base64
import gzip
import json

MIB = 1 << 20
HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror='window.hostile=1'>", "\u202eevil\u202c \x1b[31m\x07", "x" * 10000,
           "</script><script>window.hostile=1</script>", "a&amp;b \"quoted\" 'too'"]
# Stacks, the outermost function first, and what of the live memory each holds in 1/1000.
STACKS = [
    (["main", "aeMain", "processCommand", "setCommand", "dictExpand"], 301),
    (["main", "aeMain", "processCommand", "setCommand", "dbAdd", "sdsnewlen"], 222),
    (["main", "aeMain", "processCommand", "lpushCommand", "createQuicklist", "createObject"], 121),
    (["main", "aeMain", "readQueryFromClient", "sdsMakeRoomFor"], 87),
    (["main", "aeMain", "processCommand", "zaddCommand", "zslInsert", "zslCreateNode"], 64),
    (["main", "initServer", "createSharedObjects", "createObject"], 55),
    (["start_thread", "bioProcessBackgroundJobs", "rdbSave", "std::vector<Entry, Arena<Entry> >::_M_realloc_insert"], 51),
    (["main", "moduleLoadFromQueue", HOSTILE[0], HOSTILE[1]], 33),
    (["main", "moduleLoadFromQueue", HOSTILE[2]], 26),
    (["main", "moduleLoadFromQueue", HOSTILE[3]], 17),
    (["main", "moduleLoadFromQueue", HOSTILE[4], HOSTILE[5]], 12),
    (["main", "loadServerConfig", "sdsnewlen"], 11),
]
LEDGER_WORDS = {
    "malloc_used": ("malloc: blocks that the program holds", "blocks from malloc"),
    "malloc_top": ("malloc: free, at the ends of arenas", "memory that malloc keeps free"),
    "malloc_binned": ("malloc: free, in the lists of arenas", "memory that malloc keeps free"),
    "code": ("code and constants of modules", "code and data of modules"), "anonymous": ("anonymous mappings", "other anonymous mappings"),
    "stack": ("stacks of threads", "stacks"), "recorder": ("heapscope itself", "heapscope's own memory"),
    "file": ("mapped files", "mapped files"),
}
SNAPSHOTS = [(1000, 0.4), (4000, 0.8), (12300, 1.0)]
TOTAL = 96.3 * MIB


def amount(size, margin=0.0):
    count = size / 104.5
    value = {"bytes": size, "count": count}
    if margin:
        value |= {"bytes_low": size * (1 - margin), "bytes_high": size * (1 + margin)}
        value |= {"count_low": count * (1 - margin), "count_high": count * (1 + margin)}
    return value


class Names:
    """Strings, functions, frames and the call tree, each entry once."""

    def __init__(self):
        self.strings = [""]
        self.functions = []
        self.nodes = []

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def function(self, name):
        if name not in self.functions:
            self.functions.append(name)
            self.string(name)
        return self.functions.index(name)

    def node(self, stack):
        parent = -1
        for name in stack:
            key = (parent, self.function(name))
            if key not in self.nodes:
                self.nodes.append(key)
            parent = self.nodes.index(key)
        return parent


def columns(amounts, interval=4096):
    return {
        "bytes": amounts, "count": [size / 104.5 for size in amounts], "exact_bytes": 0, "exact_count": 0,
        "bytes_var": amounts, "count_var": [size / 104.5 * interval / 104.5 for size in amounts],
    }


def rows(names, share):
    """The document of one snapshot: every stack in libc.malloc; the first one in the heap `zone`, too."""
    live = [TOTAL * share * part / 1000 for _, part in STACKS]
    stacks = sorted((names.node(stack), 0, size, stack) for (stack, _), size in zip(STACKS, live))
    stacks.insert(1, (stacks[0][0], 1, stacks[0][2] / 2, stacks[0][3]))
    nodes = [node for node, *_ in stacks]
    threads = [1 if stack[0] == "start_thread" else 0 for *_, stack in stacks]
    sizes = [size for _, _, size, _ in stacks]
    return {
        "count": len(stacks),
        "node": [nodes[0]] + [b - a for a, b in zip(nodes, nodes[1:])],
        "heap": [heap for _, heap, *_ in stacks],
        "headline": [1 if stack[-1] == "sdsnewlen" else 0 for *_, stack in stacks],
        "live": columns(sizes), "alloc": columns([3 * size for size in sizes]), "peak": columns([1.05 * size for size in sizes]),
        "bytes_var_unit": 4096, "inherited_bytes_var": None, "inherited_count_var": None,
        "parts": {"live": {"length": len(stacks), "row": [0] + [1] * (len(stacks) - 1), "thread": threads, "type": None, "scope": None,
                           "age": None, "bytes": 0, "count": 0}, "alloc": None, "peak": None},
    }


def heap(index, share, counted):
    size = TOTAL * share * (1 if counted else 0.15)
    return {
        "heap": index, "is_counted": counted, "is_carved": not counted, "parent": -1 if counted else 0, "is_left_out": False,
        "interval_bytes": 4096, "weight_bytes": 4096, "has_sample_counts": False, "live": amount(size), "alloc": amount(3 * size),
        "peak": amount(1.05 * size), "peak_time_ms": 9000, "peak_excess": 0, "peak_lean": 0, "peak_common": 0,
    }


def snapshot(number, time_ms, share):
    is_final = number == len(SNAPSHOTS)
    return {
        "process": 0, "number": number, "name": "loaded" if number == 2 else None, "is_final": is_final, "is_at_max": False,
        "time_ms": time_ms, "peak_time_ms": 9000, "interval_bytes": 4096, "asked_interval_bytes": None, "weight_bytes": 4096,
        "has_peak": True, "is_peak_of_all_heaps": False, "is_exact": False, "sample_count": 24000, "recorder_bytes": 3 * MIB, "recorder_cpu_ms": 96.4,
        "rss_bytes": int(130 * MIB * share), "rss_peak_bytes": 140 * MIB, "live": amount(TOTAL * share, 0.01236),
        "alloc": amount(3 * TOTAL * share, 0.007), "peak": amount(1.05 * TOTAL * share, 0.013),
        "heaps": [heap(0, share, True), heap(1, share, False)], "rows": f"rows-{number - 1}", "row_count": len(STACKS) + 1,
        "ledger": "ledger-2" if is_final else None, "has_threads": True, "has_types": False, "has_scopes": False, "types_time_ms": None,
    }


def ledger():
    lines = [("malloc_used", None, 93.1), ("malloc_top", None, 12.4), ("malloc_binned", None, 8.2), ("code", "redis-server", 6.1),
             ("code", "libc.so.6", 1.6), ("anonymous", None, 4.2), ("stack", None, 0.4), ("recorder", None, 3.0), ("file", None, 1.0)]
    return {
        "rss_bytes": int(130 * MIB), "pss_bytes": int(128 * MIB), "swap_bytes": 0, "unexplained_bytes": int(4.2 * MIB),
        "lines": [{"kind": kind, "words": LEDGER_WORDS[kind][0], "part": LEDGER_WORDS[kind][1], **({"name": name} if name else {}), "is_explained": kind != "anonymous", "rss_bytes": int(size * MIB),
                   "pss_bytes": int(size * MIB), "swap_bytes": 0, "size_bytes": int(size * MIB), "count": 1} for kind, name, size in lines],
    }


def report():
    functions = [{"function": "dictExpand", "module": "/usr/bin/redis-server", "self": amount(0.3 * TOTAL), "total": amount(0.3 * TOTAL)}]
    return {
        "format": 1, "generator": "heapscope test", "view": "space",
        "answer": "96.3 MiB were live at the end. 30.1 % of it was allocated by dictExpand, 22.2 % by dbAdd (through sdsnewlen) and "
                  "17.6 % by createObject. 80.8 % was allocated under processCommand.",
        "resident_answer": "71.6 % of the resident memory is blocks that the program holds; malloc keeps 15.8 % of it free.",
        "head": ["redis-server (pid 4711) exited with status 0 after 12.3 s", "One allocation in 4,096 bytes was sampled: 24,000 samples.",
                 "Every figure is an estimate; the truth is within the margin in 95 of 100 profiles."],
        "warnings": [
            {"text": "12 samples were lost, because a table was full. Figures are too low by at most 48.0 KiB.", "is_serious": True,
             "views": ["space", "objects", "alloc_space", "alloc_objects", "peak"]},
            {"text": "2.1 % of the stacks have functions without a name: libfoo.so has no symbols.", "is_serious": False,
             "views": ["names"]},
        ],
        "losses": [{"pid": 4711, "name": "samples_lost", "count": 12, "is_serious": True, "text": "samples lost: a table was full"}],
        "totals": {"live": amount(TOTAL, 0.01236), "alloc": amount(3 * TOTAL, 0.007), "peak": amount(1.05 * TOTAL, 0.013)},
        "is_sampled": True, "is_exact": False, "is_incomplete": False, "duration_seconds": 12.3, "ledger": ledger(), "processes": [],
        "functions_by_self": functions, "functions_by_total": functions,
    }


def line(share, **more):
    """The line through the three snapshots of what has this share of the memory."""
    first, last = 0.4 * share * TOTAL, share * TOTAL
    slope = 4.6 * MIB * share
    return {"first": first, "last": last, "per_second": slope, "low": 0.8 * slope, "high": 1.2 * slope, "steps_up": 2, "steps_down": 0,
            "verdict": "grows", **more}


def trend():
    functions = [line(0.3, function="dictExpand", leak_confidence=0.91), line(0.03, function=HOSTILE[1], leak_confidence=0)]
    stacks = [line(0.3, leak_confidence=0.91, frames=STACKS[0][0][::-1])]
    return {"format": 1, "view": "space", "unit": "bytes", "file": "a", "pid": 4711, "name": "redis-server", "snapshots": 3,
            "snapshots_left_out": 0, "seconds": 12.3, "total": line(1), "functions": functions, "stacks": stacks,
            "resident": {"verdict": "Resident memory grew by 5.20 MiB a second.", "cause": "held", "rss": line(1)}}


def profile(names):
    modules = ["/usr/bin/redis-server", "/lib/x86_64-linux-gnu/libc.so.6"]
    n = len(names.functions)
    strings = [names.string(text) for text in ("redis-server", "libc.so.6", "zone", "bio_aof")]
    return {
        "format": 1, "generator": "heapscope test", "title": "redis-server", "strings": names.strings,
        "files": [{"name": "heapscope.redis-server.4711.pftrace", "origin": None, "report": "report-0", "view": "space",
                   "view_reason": None, "selected": [2], "start_unix_ms": 1796000000000, "end_ms": 12300, "is_sampled": True,
                   "is_lossy": False, "has_filters": False}],
        "processes": [{"file": 0, "pid": 4711, "ppid": 1, "forked_from_pid": None, "name": "redis-server", "exe": modules[0],
                       "cmdline": "redis-server --port 6379 --save ''", "start_ms": 0, "end_ms": 12300, "end": "exited with status 0",
                       "refusal": None, "remedy": None, "sample_family": 0, "descent_family": 0, "trend": "trend-0"}],
        "snapshots": [snapshot(i + 1, time_ms, share) for i, (time_ms, share) in enumerate(SNAPSHOTS)],
        "modules": {"count": 2, "path": [names.string(path) for path in modules], "name": strings[:2], "build_id": 0,
                    "is_program": [1, 0]},
        "functions": {"count": n, "name": [names.string(name) for name in names.functions],
                      "short": [names.string(name.replace("<Entry, Arena<Entry> >", "<…>")) for name in names.functions],
                      "module": [1 if name == "start_thread" else 0 for name in names.functions], "file": 0, "class": 0, "kind": 0,
                      "is_nameless": 0, "is_wrapper": 0, "folded": 0, "same": list(range(n))},
        "frames": {"count": n, "function": list(range(n)), "file": 0, "line": 0, "is_inlined": 0},
        "tree": {"count": len(names.nodes), "up": [0 if parent < 0 else i - parent for i, (parent, _) in enumerate(names.nodes)],
                 "frame": [function for _, function in names.nodes]},
        "heaps": [{"name": "libc.malloc"}, {"name": "zone"}],
        "threads": {"count": 2, "process": 0, "tid": [4711, 4712], "name": [strings[0], strings[3]]},
        "types": {"count": 1, "name": [0], "is_given": 0}, "scopes": {"count": 0, "name": [], "parent": []}, "ages": [],
        "tracks": [{"file": 0, "process": 0, "pid": 4711, "name": "mem.rss", "unit": "bytes", "count": 13,
                    "time_ms": [0] + [1000] * 12, "value": [20 * MIB] + [9 * MIB] * 12}],
        "changes": [{"process": 0, "time_ms": 6000, "from_bytes": 4096, "to_bytes": 16384, "reason": "memory",
                     "text": "sampling interval raised from 4.00 KiB to 16.0 KiB"}],
        "loss_times": [{"process": 0, "name": "samples_lost", "from_ms": 2000, "to_ms": 3500, "count": 8, "is_serious": True,
                        "text": "samples lost: a table was full: 8 samples"}],
        "left_out": None,
    }


def documents():
    """{name: document}, "profile" first."""
    names = Names()
    parts = {f"rows-{i}": rows(names, share) for i, (_, share) in enumerate(SNAPSHOTS)}
    return {"profile": profile(names), "report-0": report(), "ledger-2": ledger(), "trend-0": trend(), **parts}


def element(name, document):
    text = base64.b64encode(gzip.compress(json.dumps(document).encode())).decode()
    return f'<script type="application/octet-stream" id="heapscope-{name}">{text}</script>'


def page(template):
    """The page with this profile in it."""
    data = "\n".join(element(name, document) for name, document in documents().items())
    assert template.count("<!--heapscope-data-->") == 1 and template.count("<title>heapscope</title>") == 1
    return template.replace("<!--heapscope-data-->", data)
