"""What the flame graph operator of `heapscope query` says of a trace, for the page's own call tree to be compared with."""

import json
import subprocess

OWN = """
CREATE TABLE own AS SELECT node_id, {columns} FROM heapscope_samples
 WHERE is_counted AND dump_id IN (SELECT last_dump_id FROM heapscope_processes WHERE dump_count > 0) GROUP BY node_id;
CREATE TABLE tree AS SELECT n.id AS id, n.parent_id AS parent_id,
  COALESCE(n.name, replace(n.module, rtrim(n.module, replace(n.module, '/', '')), '') || printf('+0x%x', n.rel_pc)) AS name,
  {values} FROM heapscope_nodes n LEFT JOIN own o ON o.node_id = n.id;
CREATE VIRTUAL TABLE fg USING __intrinsic_flamegraph((SELECT id, parent_id, name, {names} FROM tree));
"""
MEASURES = {"space": "live_bytes", "objects": "live_count", "alloc_space": "alloc_bytes", "alloc_objects": "alloc_count",
            "peak": "peak_bytes"}
KINDS = {"show-stack": "SHOW_STACK", "hide-stack": "HIDE_STACK", "hide-frame": "HIDE_FRAME"}
VIEWS = {"from-frame": "FROM_FRAME", "pivot": "PIVOT"}


def pattern(text):
    """A pattern of the page as the operator's arguments."""
    if text.startswith("/"):
        body, _, flags = text[1:].rpartition("/")
        return [body, flags]
    return ["".join("\\" + c if c in r"\^$.|?*+()[]{}" else c for c in text), "i"]


def arguments(filters, direction, measure):
    words = ["value", measure]
    view = ["view", "BOTTOM_UP" if direction == "up" else "TOP_DOWN"]
    for each in filters:
        kind, _, text = each.partition(":")
        if kind in VIEWS:
            view = ["view", VIEWS[kind], "view_pattern", *pattern(text)]
        else:
            words += ["filter", KINDS[kind], *pattern(text)]
    return ", ".join("'" + word.replace("'", "''") + "'" for word in view + words)


def ask(heapscope, trace, cases):
    """The cases (filters, direction, measure) with the operator's rows."""
    own = OWN.format(columns=", ".join(f"SUM({column}) AS {name}" for name, column in MEASURES.items()),
                     values=", ".join(f"CAST(ROUND(COALESCE(o.{name}, 0)) AS INTEGER) AS {name}" for name in MEASURES),
                     names=", ".join(MEASURES))
    columns = "_tree_id AS id, _tree_parent_id AS parent, name, depth, self_{0} AS self, cumulative_{0} AS total"
    selects = [f"SELECT {i} AS case_idx, {columns.format(measure)} FROM fg(__intrinsic_flamegraph_config({arguments(filters, direction, measure)}))"
               for i, (filters, direction, measure) in enumerate(cases)]
    done = subprocess.run([heapscope, "query", "--format", "json", trace, own + " UNION ALL ".join(selects)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    answers = [{"filters": filters, "direction": direction, "measure": measure, "rows": []} for filters, direction, measure in cases]
    for row in json.loads(done.stdout):
        answers[row["case_idx"]]["rows"].append([row[key] for key in ("id", "parent", "name", "depth", "self", "total")])
    return answers
