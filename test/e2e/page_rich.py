"""The profile of page_sample with all that a file can record: types, leaks, lifetimes, losses, pages, modules without names.

With `spoil`, every text in it goes through a function: page_hostile makes names of it that attack the page.
"""

import page_sample

MIB = page_sample.MIB
amount = page_sample.amount
TYPES = ["", "Entry", "Object", "(not read)"]
FRAMES = [{"function": "sdsnewlen", "module": "/usr/bin/redis-server"},
          {"function": "dbAdd", "module": "/usr/bin/redis-server", "file": "db.c", "line": 181},
          {"function": "setCommand", "module": "/usr/bin/redis-server"}, {"function": "main", "module": "/usr/bin/redis-server"}]


def leak(verdict, growth, confidence, live):
    return {"verdict": verdict, "confidence": confidence, "growth_bytes_per_hour": growth, "growth_low_bytes_per_hour": growth * 0.8,
            "growth_high_bytes_per_hour": growth * 1.2, "live": amount(live, 0.1), "alloc": amount(2 * live, 0.1), "oldest_seconds": 11.2,
            "live_bytes_by_eighth": [live / 8] * 8, "frames": FRAMES}


def leaks():
    return {"span_seconds": 12.3, "earlier_snapshot_count": 2, "is_too_short": False,
            "answer": "1 stack leaks, 3.53 KiB a second. It holds 3.10 MiB now.",
            "comparison": "The snapshot after 12.3 s was compared with 2 earlier ones. A cache that has not reached its limit grows like a leak.",
            "stacks": [leak("leaks", 12.4 * MIB, 0.9995, 3.1 * MIB), leak("unsure", 2.1 * MIB, 0.8, MIB),
                       *[leak("stopped", 0, 0.5, 1000 * i) for i in range(40, 0, -1)]]}


def lifetime(size):
    share = {"share": 0.25, "low": 0.2, "high": 0.3}
    return {"alloc": amount(size), "freed": amount(size * 0.7), "temporary": amount(size * 0.1), "unknown_lifetime": amount(0),
            "mean_lifetime_ms": 470.0, "mean_lifetime_low_ms": 380.0, "mean_lifetime_high_ms": 560.0, "survival": {"1s": share}}


def health():
    return {
        "losses": [{"name": "table_full", "count": 12, "is_serious": True, "text": "allocations not recorded (a table was full)"},
                   {"name": "stack_cut_no_info", "count": 3, "is_serious": False, "text": "stacks cut short (code without unwind information)"}],
        "cut_modules": [{"pid": 4711, "module": "/opt/lib/libcut.so", "reason": "absent", "text": "the file was not there", "remedy": "keep it",
                         "stacks": 7, "alloc_bytes": 70000, "allocations": 90, "live_bytes": 50000}],
        "missing_names": {"module_count": 5, "modules": [{"module": "/opt/lib/libfoo.so", "build_id": "abc123", "reason": "no_symbols",
                                                          "text": "no symbols for this code", "detail": "/opt/lib/libfoo.so",
                                                          "nameless_count": 31, "address_count": 64}]},
        "not_profiled": [{"pid": 99, "name": "secret", "reason": "refused_policy", "text": "the policy does not permit it",
                          "remedy": "ask the administrator"}],
        "pinned_pages": {"is_exact": False, "page_counts": [100, 20, 10, 5, 5, 5, 5, 10, 300], "stacks": [
            {"block_count": 103, "block_bytes": 4939, "sparse_page_bytes": 77278,
             "gain": {"bytes": 32768, "bytes_low": 30000, "bytes_high": 35000}, "frames": FRAMES},
            {"block_count": 3, "block_bytes": 99, "sparse_page_bytes": 8192, "gain": {"bytes": 0, "bytes_low": 0, "bytes_high": 9e6}}]},
    }


def typed_parts(rows):
    """Each row in two parts: half of the first type, and the rest of the second or third."""
    count = rows["count"]
    thread = rows["parts"]["live"]["thread"]
    size = rows["live"]["bytes"]
    return {"length": 2 * count, "row": [0, 0] + [1, 0] * (count - 1),
            "thread": [thread[i // 2] for i in range(2 * count)], "type": [1 if i % 2 == 0 else 2 + i // 2 % 2 for i in range(2 * count)],
            "scope": None, "age": None, "bytes": [size[i // 2] / 2 if i % 2 == 0 else 0 for i in range(2 * count)],
            "count": [size[i // 2] / 209 if i % 2 == 0 else 0 for i in range(2 * count)]}


def add_types(documents):
    strings = documents["profile"]["strings"]
    for name in TYPES:
        if name not in strings:
            strings.append(name)
    documents["profile"]["types"] = {"count": len(TYPES), "name": [strings.index(name) for name in TYPES], "is_given": 0}
    for snapshot in documents["profile"]["snapshots"]:
        snapshot["has_types"] = True
        rows = documents[snapshot["rows"]]
        rows["parts"]["live"] = typed_parts(rows)


def changed(value, change, key=None):
    """The document with its texts changed: not the keys, and not what the page compares."""
    if isinstance(value, str):
        fixed = key in FIXED or value == ""
        return value if fixed else change(value)
    if isinstance(value, list):
        return [changed(each, change, key) for each in value]
    if isinstance(value, dict):
        return {name: changed(each, change, name) for name, each in value.items()}
    return value


# Values that the page looks up: names of documents, words of a fixed list.
FIXED = {"report", "view", "views", "rows", "ledger", "trend", "unit", "verdict", "format", "base"}


def documents(spoil=None):
    """{name: document}, "profile" first."""
    made = page_sample.documents()
    add_types(made)
    lifetimes = {**lifetime(300 * MIB), "stacks": [{**lifetime(MIB * i), "frames": FRAMES} for i in range(30, 0, -1)]}
    made["report-0"] |= {"leaks": leaks(), "lifetimes": lifetimes, **health()}
    return {name: changed(document, spoil) for name, document in made.items()} if spoil else made


def page(template, made):
    """The page with these documents."""
    data = "\n".join(page_sample.element(name, document) for name, document in made.items())
    return template.replace("<!--heapscope-data-->", data)
