"""A page with many stacks, in the format of docs/PAGE.md: for tests of how fast the page is."""

import random

import page_sample

DEPTH_MAX = 50
FUNCTIONS = 5000


def tree(count):
    """Columns of a tree with `count` nodes, the same one each time: stacks are up to DEPTH_MAX deep."""
    rng = random.Random(1)
    up, depth = [0], [0]
    for i in range(1, count):
        back = rng.randrange(1, min(i, 30) + 1) if rng.random() < 0.7 else rng.randrange(1, i + 1)
        while depth[i - back] >= DEPTH_MAX:
            back = rng.randrange(1, i + 1)
        up.append(back)
        depth.append(depth[i - back] + 1)
    return {"count": count, "up": up, "frame": [rng.randrange(FUNCTIONS) for i in range(count)]}


def rows(count):
    """Each node holds something: `count` distinct stacks."""
    rng = random.Random(2)
    sizes = [round(64 / (rng.random() + 0.0005)) for i in range(count)]
    part = {"length": count, "row": [0] + [1] * (count - 1), "thread": 0, "type": None, "scope": None, "age": None, "bytes": 0, "count": 0}
    return {
        "count": count, "node": [0] + [1] * (count - 1), "heap": 0, "headline": 0, "live": page_sample.columns(sizes),
        "alloc": page_sample.columns([2 * size for size in sizes]), "peak": page_sample.columns(sizes), "bytes_var_unit": 4096,
        "inherited_bytes_var": None, "inherited_count_var": None, "parts": {"live": part, "alloc": None, "peak": None},
    }, sum(sizes)


def documents(count):
    """The sample's documents, with another tree."""
    made = page_sample.documents()
    own, total = rows(count)
    profile = made["profile"]
    first = len(profile["strings"])
    profile["strings"] = profile["strings"] + [f"space_{i % 97}::function_{i}(int, std::string const&)" for i in range(FUNCTIONS)]
    profile["functions"] |= {"count": FUNCTIONS, "name": list(range(first, first + FUNCTIONS)),
                             "short": list(range(first, first + FUNCTIONS)), "module": [i % 2 for i in range(FUNCTIONS)],
                             "same": list(range(FUNCTIONS))}
    profile["frames"] |= {"count": FUNCTIONS, "function": list(range(FUNCTIONS))}
    profile["tree"] = tree(count)
    for i, snapshot in enumerate(profile["snapshots"]):
        is_shown = i == len(profile["snapshots"]) - 1
        snapshot["rows"] = f"rows-{i}" if is_shown else None
        snapshot["live"] = page_sample.amount(total)
    return {"profile": profile, "report-0": made["report-0"], "ledger-2": made["ledger-2"], f"rows-{len(profile['snapshots']) - 1}": own}


def page(template, count):
    data = "\n".join(page_sample.element(name, document) for name, document in documents(count).items())
    return template.replace("<!--heapscope-data-->", data)
