"""Reads the data of a page (docs/PAGE.md), and adds rows up as the page does."""

import base64
import gzip
import json
import math
import re

import pytest

ELEMENT = re.compile(r'<script type="application/octet-stream" id="heapscope-([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>')
Z = 1.96
QUANTITIES = ("live", "alloc", "peak")


def write_page(heapscope, out, *args):
    """`heapscope report --html`; skips the test where heapscope was built without the page."""
    done = heapscope("report", "--html", "-o", out, *args)
    if "was built without the page" in done.stderr:
        pytest.skip("heapscope was built without the page, because npm is missing")
    assert done.returncode == 0, done.stderr
    return Page(out.read_text(encoding="utf-8"))


def values(column, count):
    return column if isinstance(column, list) else [column] * count


def added(steps):
    sums, total = [], 0
    for step in steps:
        total += step
        sums.append(total)
    return sums


class Rows:
    """The rows of a snapshot, decoded."""

    def __init__(self, raw):
        self.count = raw["count"]
        self.raw = raw
        self.node = added(raw["node"])
        self.heap, self.headline = (values(raw[key], self.count) for key in ("heap", "headline"))
        self.of = {}
        for quantity in QUANTITIES:
            self.of[quantity] = raw[quantity] and self.amount(raw[quantity])

    def amount(self, raw):
        of = {key: values(raw[key], self.count) for key in raw if key != "base"}
        if "base" in raw:
            live = self.of[raw["base"]]
            of.update({key: [a + b for a, b in zip(of[key], live[key])] for key in ("bytes", "count", "bytes_var", "count_var")})
        for part, whole in (("exact_bytes", "bytes"), ("exact_count", "count")):
            of[part] = [all_ if part_ < 0 else part_ for part_, all_ in zip(of[part], of[whole])]
        return of

    def parts(self, quantity):
        """Of each part: row, thread, type, scope, age, bytes, count."""
        raw = self.raw["parts"][quantity]
        count = raw["length"]
        rows = added(raw["row"])
        keys = [values(raw[key], count) for key in ("thread", "type", "scope", "age")]
        amounts = []
        for key in ("bytes", "count"):
            given, rest = values(raw[key], count), 0
            for i, row in enumerate(rows):
                is_last = i + 1 == count or rows[i + 1] != row
                rest = self.of[quantity][key][row] if i == 0 or rows[i - 1] != row else rest
                amounts.append(rest if is_last else given[i])
                rest -= given[i]
        return list(zip(rows, *keys, amounts[:count], amounts[count:]))


class Figure:
    """An estimate with its errors: sums of rows."""

    def __init__(self):
        self.sums = dict.fromkeys(("bytes", "count", "exact_bytes", "exact_count", "bytes_var", "count_var"), 0.0)
        self.peak = [0.0, 0.0, 0.0]

    def add(self, rows, row, quantity, heap=None, inherited=0):
        """`heap`: the heap of the snapshot, of a peak; `inherited`: relatives that were added before."""
        of = rows.of[quantity]
        for key in self.sums:
            unit = rows.raw["bytes_var_unit"] if key == "bytes_var" else 1
            self.sums[key] += of[key][row] * unit
            if inherited and key.endswith("_var"):
                self.sums[key] += 2 * inherited * values(rows.raw[f"inherited_{key}"], rows.count)[row]
        if heap:
            sampled = of["bytes"][row] - of["exact_bytes"][row]
            for i, key in enumerate(("peak_excess", "peak_lean", "peak_common")):
                self.peak[i] += heap[key] * sampled

    def margins(self, weight, is_count=False, is_peak=False):
        """Below and above. `weight`: the most bytes that one sample stands for."""
        weight = 0 if weight <= 1 else weight
        name = "count" if is_count else "bytes"
        value, var = self.sums[name], self.sums[f"{name}_var"]
        sampled = value - self.sums[f"exact_{name}"]
        if is_count and weight:
            weight = weight + 0.5 + 1 / (12 * weight)
        half = Z * Z * weight / 2
        above = half + math.hypot(Z * math.sqrt(var), half) if var > 0 or weight > 0 else 0
        below = 0
        if var > 0:
            k = (sampled or value) ** 2 / var
            below = (sampled or value) * (1 - max(0, 1 - 1 / (9 * k) - Z / (3 * math.sqrt(k))) ** 3)
        excess, lean, common = self.peak
        if is_peak and excess > 0:
            wide = lean + math.sqrt(max(0, below**2 - (Z * common) ** 2) + (excess - lean) ** 2)
            below = max(below, min(wide, max(sampled, below)))
        return below, above


class Page:
    def __init__(self, html):
        self.html = html
        self.documents = {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in ELEMENT.findall(html)}
        self.profile = self.documents["profile"]
        self.snapshots = self.profile["snapshots"]
        tree, frames = self.profile["tree"], self.profile["frames"]
        self.parent = [i - up if up else -1 for i, up in enumerate(values(tree["up"], tree["count"]))]
        of = values(frames["function"], frames["count"])
        self.function = [of[frame] for frame in values(tree["frame"], tree["count"])]

    def column(self, table, name):
        return values(self.profile[table][name], self.profile[table]["count"])

    def names(self, table="functions", name="name"):
        return [self.profile["strings"][i] for i in self.column(table, name)]

    def rows(self, snapshot):
        return Rows(self.documents[self.snapshots[snapshot]["rows"]])

    def counted(self, snapshot):
        """The heaps that the totals of a snapshot contain, by index."""
        return {heap["heap"]: heap for heap in self.snapshots[snapshot]["heaps"] if heap["is_counted"]}

    def sum(self, snapshot, quantity, key):
        rows, heaps = self.rows(snapshot), self.counted(snapshot)
        return sum(value for value, heap in zip(rows.of[quantity][key], rows.heap) if heap in heaps)

    def headline(self, rows, row):
        """The function to which a row is accounted."""
        node = rows.node[row]
        for _ in range(rows.headline[row]):
            node = self.parent[node]
        return self.function[node]
