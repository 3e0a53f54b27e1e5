"""Measured figures: ratios, tables, and the files that keep them.

A figure is a list of rounds. It has two ratios to "nothing": that of the fastest rounds (the
cost when nothing else disturbs), and the median of the rounds' own ratios. On a shared machine
the second is more reliable: a disturbance lasts longer than a round, so it affects both sides of
a round's ratio. From six rounds on, the median has a 95 % interval, whatever the distribution of
the noise.
"""

import dataclasses
import datetime
import math
import os
import platform
import re
import statistics
import subprocess
from typing import List, Optional, Tuple

MARK_BEGIN = "<!-- figures: written by bench/run -->"
MARK_END = "<!-- end of figures -->"


def median_interval(values):
    """Returns two of the values, between which the true median lies with 95 % confidence; None for
    fewer than six values. A value lies below the median with probability 1/2, so the number of
    those values is binomial."""
    count, below, rank = len(values), 0.0, 0
    while 2 * (below + math.comb(count, rank) / 2**count) <= 0.05:
        below += math.comb(count, rank) / 2**count
        rank += 1
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[count - rank]) if rank else None


@dataclasses.dataclass
class Ratio:
    low: float      # of the fastest rounds
    median: float   # of the rounds' own ratios
    interval: Optional[Tuple[float, float]] = None  # of the median

    def __str__(self):
        text = "%.2f / %.2f" % (self.low, self.median)
        return text + " (%.2f–%.2f)" % self.interval if self.interval else text


@dataclasses.dataclass
class Figure:
    group: str    # program, storm, startup
    name: str
    variant: str
    unit: str     # s, ns, ms
    lows: List[float]      # one value per round
    medians: List[float]   # the same, for variants that take many measurements in a round
    walls: List[float] = dataclasses.field(default_factory=list)
    file_bytes: Optional[int] = None

    @property
    def low(self):
        return min(self.lows)

    @property
    def median(self):
        return statistics.median(self.medians)


class Figures:
    def __init__(self):
        self.all = []

    def add(self, figure):
        if figure.lows:
            self.all.append(figure)

    def groups(self, group):
        """Returns {name: {variant: figure}} in the order of measuring."""
        rows = {}
        for figure in self.all:
            if figure.group == group:
                rows.setdefault(figure.name, {})[figure.variant] = figure
        return rows

    def ratio(self, group, name, variant):
        """None if one of the figures is missing."""
        row = self.groups(group).get(name, {})
        if variant not in row or "nothing" not in row:
            return None
        figure, base = row[variant], row["nothing"]
        ratios = [a / b for a, b in zip(figure.medians, base.medians)]
        return Ratio(figure.low / base.low, statistics.median(ratios), median_interval(ratios))


def machine():
    model = "unknown CPU"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.M)
        model = found.group(1) if found else model
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    return "%d x %s, %s, kernel %s" % (os.cpu_count(), model, release,
                                       platform.release().split("-")[0])


def commit(root):
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.strip() or "unknown"


# --- Markdown --------------------------------------------------------------------------------------

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def times(ratio):
    return "–" if ratio is None else str(ratio)


def mean(ratios):
    """The geometric mean, because the values are ratios."""
    ratios = [ratio for ratio in ratios if ratio]
    if not ratios:
        return None
    return Ratio(statistics.geometric_mean([r.low for r in ratios]),
                 statistics.geometric_mean([r.median for r in ratios]))


def program_table(figures, variants):
    rows = figures.groups("program")
    names = [v for v in variants if v != "nothing"]
    body = [[name, "%.2f s" % row["nothing"].low] +
            [times(figures.ratio("program", name, v)) for v in names] for name, row in rows.items()]
    body.append(["**mean**", ""] +
                [times(mean([figures.ratio("program", name, v) for name in rows])) for v in names])
    return table(["program", "CPU"] + names, body)


def wall_table(figures, variants):
    names = [v for v in variants if v != "nothing"]
    body = []
    for name, row in figures.groups("program").items():
        base = min(row["nothing"].walls)
        body.append([name, "%.2f s" % base] +
                    ["%.2f" % (min(row[v].walls) / base) if v in row else "–" for v in names])
    return table(["program", "wall"] + names, body)


def human(count):
    if count is None:
        return "–"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000 or unit == "GiB":
            return "%.3g %s" % (count, unit)
        count /= 1024


def file_table(figures, variants):
    names = [v for v in variants if v != "nothing"]
    return table(["program"] + names,
                 [[name] + [human(row[v].file_bytes) if v in row else "–" for v in names]
                  for name, row in figures.groups("program").items()])


def storm_table(figures, variants):
    names = [v for v in variants if v != "nothing"]
    body = []
    for name, row in figures.groups("storm").items():
        base = row["nothing"].low
        body.append([name, "%.1f" % base] +
                    ["%+.1f (%.2f)" % (row[v].low - base, row[v].low / base) if v in row else "–"
                     for v in names])
    return table(["storm", "ns"] + names, body)


def startup_table(figures):
    body = [["`%s`" % name, "%.2f ms" % row["nothing"].low, "%.2f ms" % row["nothing"].median]
            for name, row in figures.groups("startup").items()]
    return table(["command", "lowest", "median"], body)


def misses(figures):
    """Returns sentences about the promises of docs/PERFORMANCE.md that these figures break."""
    said = []
    for name in figures.groups("program"):
        default = figures.ratio("program", name, "heapscope")
        every = figures.ratio("program", name, "heapscope -i 1")
        other = figures.ratio("program", name, "heaptrack")
        if default and default.median >= 1.15:
            said.append("%s at the default interval: %s, must be below 1.15" % (name, default))
        if every and other and every.median >= other.median:
            said.append("%s with -i 1: %s, heaptrack %s" % (name, every, other))
    return said


def markdown(figures, root, rounds):
    programs = [v for row in figures.groups("program").values() for v in row]
    storms = [v for row in figures.groups("storm").values() for v in row]
    parts = ["Measured on %s at commit %s: %s. Up to %d rounds." %
             (datetime.date.today().isoformat(), commit(root), machine(), rounds)]
    if programs:
        programs = list(dict.fromkeys(programs))
        parts += ["### Programs: CPU, against no profiler\n\nRatio of the lowest rounds / median of the "
                  "rounds' own ratios (its 95 % interval).",
                  program_table(figures, programs),
                  "### Programs: wall time, against no profiler\n\nRatio of the lowest rounds.",
                  wall_table(figures, programs),
                  "### Programs: the file a run leaves", file_table(figures, programs)]
    if storms:
        parts += ["### Storms: what an operation costs more\n\nNanoseconds of thread CPU time, lowest "
                  "rounds; in brackets the ratio.",
                  storm_table(figures, list(dict.fromkeys(storms)))]
    if figures.groups("startup"):
        parts += ["### Start-up\n\nWall time from start to end of a command.", startup_table(figures)]
    return "\n\n".join(parts)


# --- files -----------------------------------------------------------------------------------------

def put_between_marks(path, text):
    """Replaces the text between the marks of a document."""
    with open(path, encoding="utf-8") as file:
        old = file.read()
    begin, end = old.index(MARK_BEGIN) + len(MARK_BEGIN), old.index(MARK_END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(old[:begin] + "\n\n" + text + "\n\n" + old[end:])


def write_tsv(path, figures, root, rounds):
    lines = ["# %s\t%s\t%s\t%d rounds" % (datetime.date.today().isoformat(), commit(root), machine(),
                                          rounds),
             "\t".join(("group", "name", "variant", "unit", "low", "median", "wall_low_s",
                        "file_bytes"))]
    for f in figures.all:
        lines.append("\t".join((f.group, f.name, f.variant, f.unit, "%.4g" % f.low, "%.4g" % f.median,
                                "%.4g" % min(f.walls) if f.walls else "",
                                "" if f.file_bytes is None else str(f.file_bytes))))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
