"""Draws the rows of bench/growth.tsv as PNG: docs/growth-*.png, shown in docs/PERFORMANCE.md."""

import os

import matplotlib

matplotlib.use("Agg")
# pylint: disable=wrong-import-position
from matplotlib import pyplot, ticker

COLOURS = {"nothing": "#7f7f7f", "heapscope": "#1f77b4", "heapscope -i 1": "#d62728",
           "region": "#2ca02c", "region and private": "#9467bd"}
LABELS = {"nothing": "program alone", "heapscope": "heapscope (default interval)"}

# chart, file, title, x axis, y axis, is x logarithmic, is y, goal as (value, text)
CHARTS = (
    ("threads", "Cost over threads: 20,000 live blocks each, depth 20, 2 CPUs", "threads",
     "thread CPU per operation [ns]", False, False, None),
    ("live", "Cost over live blocks: one replaced at random, depth 20", "live blocks",
     "thread CPU per operation [ns]", True, False, None),
    ("stacks", "Cost over distinct stacks of depth 20: malloc and free", "distinct stacks",
     "thread CPU per operation [ns]", True, True, None),
    ("memory", "Memory of the client, -i 1: each live block is a sample", "live samples",
     "bytes per live sample", True, True, (64, "goal: 64 B")),
    ("snapshot", "Time to take a snapshot: 4,000 stacks, two cuts", "live samples",
     "CPU time [ms]", True, True, (20, "goal: 20 ms for a million")),
)


def human(value, _):
    return "%g M" % (value / 1e6) if value >= 1e6 else "{:,.0f}".format(value) if value >= 1 else "%g" % value


def draw(rows, chart, title, x_label, y_label, is_x_log, is_y_log, goal, path):
    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), dpi=110)
    for variant in dict.fromkeys(row[1] for row in rows if row[0] == chart):
        points = sorted(row[2:] for row in rows if row[0] == chart and row[1] == variant)
        xs, lows, medians = zip(*points)
        colour = COLOURS[variant]
        label = LABELS.get(variant, variant) if chart != "snapshot" else "snapshot"
        axes.plot(xs, lows, "o-", color=colour, markersize=4, label=label)
        if medians != lows:
            axes.fill_between(xs, lows, medians, color=colour, alpha=0.15, linewidth=0)
    if any(row[3] != row[4] for row in rows if row[0] == chart):
        axes.plot([], [], color="black", alpha=0.15, linewidth=6, label="lowest to median round")
    if goal:
        axes.axhline(goal[0], color="black", linewidth=0.8, linestyle="--", label=goal[1])
    for axis, is_log in ((axes.xaxis, is_x_log), (axes.yaxis, is_y_log)):
        if is_log:
            getattr(axes, "set_%sscale" % axis.axis_name)("log")
            if axis is axes.yaxis:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ticker.FuncFormatter(human))
        axis.set_minor_formatter(ticker.NullFormatter())
    if not is_y_log:
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.25)  # room for the legend
    if not is_x_log:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def draw_all(rows, folder):
    for chart, *rest in CHARTS:
        draw(rows, chart, *rest, os.path.join(folder, "growth-%s.png" % chart))
