"""How cost grows: with threads, live blocks and distinct stacks; memory, snapshots, pauses.

Each measurement is a row of bench/growth.tsv; bench/charts.py draws the rows as PNG into docs/.
"""

import datetime
import os
import subprocess

import figures as fig
import storms
import variants

VARIANTS = (variants.NOTHING, variants.DEFAULT, variants.EVERY)
THREADS = (1, 2, 3, 4, 6, 8)
LIVE = (1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000, 10000000)
STACKS = (16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
PAUSE_THREADS = (1, 2, 4)
PAUSE_BLOCKS = 4000000  # all threads together
HEAD = ("chart", "variant", "x", "low", "median")


def say_rows(say, rows):
    for row in rows:
        say("%-10s %-16s %10d  %s" % (row[0], row[1], row[2], "  ".join("%.4g" % v for v in row[3:])))


def storm_rows(chart, storm, points, rounds, fresh_folder):
    """points: (x, arguments of storm). Returns the minimum of all rounds, and the median of the
    runs' medians."""
    rows = []
    for x, words in points:
        results = {v.name: [] for v in VARIANTS}
        for _ in range(rounds):
            for variant in VARIANTS:
                result = storms.run_once(storm, words, variant, fresh_folder("out"), 20)
                if not result:
                    raise SystemExit("bench: the storm '%s' failed under %s" % (words, variant.name))
                results[variant.name].append(result)
        for name, found in results.items():
            medians = sorted(median for _, median in found)
            rows.append((chart, name, x, min(low for low, _ in found), medians[len(medians) // 2]))
    return rows


def read_memory(storm, live, variant, out):
    """Returns (private, region) in bytes, with `live` blocks live."""
    words = [storm, "live", "-l", str(live), "-d", "20", "-r", "1", "-m", "1", "-s"]
    argv, env = variant.command(words, out)
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("memory "))
    return tuple(map(int, line.split()[1:]))


def memory_rows(storm, fresh_folder):
    """Bytes per live block: the whole difference to the process without a profiler, and the
    region's part of it."""
    rows = []
    for live in LIVE:
        alone, _ = read_memory(storm, live, variants.NOTHING, fresh_folder("out"))
        private, region = read_memory(storm, live, variants.EVERY, fresh_folder("out"))
        for name, value in (("region and private", region + private - alone), ("region", region)):
            rows.append(("memory", name, live, value / live, value / live))
    return rows


def snapshot_rows(root):
    build = root / "build" / "release"
    subprocess.run(["ninja", "-C", str(build), "bench/bench_capture"], check=True,
                   stdout=subprocess.DEVNULL)
    rows = []
    for live in LIVE:
        done = subprocess.run([str(build / "bench" / "bench_capture"), str(live)], check=True,
                              stdout=subprocess.PIPE, text=True)
        words = done.stdout.split()  # N blocks: L ms at least, M ms in the middle
        rows.append(("snapshot", "heapscope", live, float(words[2]), float(words[6])))
    return rows


def pause_rows(pauses, rounds, fresh_folder):
    """Returns each figure of bench/pauses.c as a chart: the best round and the median round."""
    names = ("ops", "wall > 1 ms", "CPU > 1 ms", "longest wall us", "longest CPU us",
             "all at once > 1 ms", "longest at once us")
    rows = []
    for threads in PAUSE_THREADS:
        found = {v.name: [] for v in VARIANTS}
        for _ in range(rounds):
            for variant in VARIANTS:
                argv, env = variant.command(
                    [pauses, str(threads), str(PAUSE_BLOCKS // threads)], fresh_folder("out"))
                done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, text=True, check=True,
                                      stderr=subprocess.DEVNULL)
                found[variant.name].append(list(map(float, done.stdout.splitlines()[-1].split())))
        for variant, results in found.items():
            for i, name in enumerate(names):
                values = sorted(result[i] for result in results)
                rows.append(("pauses: " + name, variant, threads, values[0], values[len(values) // 2]))
    return rows


def write_tsv(path, rows, root, rounds):
    lines = ["# %s\t%s\t%s\t%d rounds" % (datetime.date.today().isoformat(), fig.commit(root),
                                          fig.machine(), rounds), "\t".join(HEAD)]
    lines += ["\t".join((row[0], row[1], str(row[2]), "%.4g" % row[3], "%.4g" % row[4]))
              for row in rows]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def read_tsv(path):
    """[(chart, variant, x, low, median)]"""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [(r[0], r[1], int(r[2]), float(r[3]), float(r[4])) for r in lines[1:]]


def measure(here, work, rounds, say, fresh_folder):
    """Measures everything and returns the rows."""
    storm = storms.compile_program(os.path.join(here, "storm.c"), work, "-pthread")
    pauses = storms.compile_program(os.path.join(here, "pauses.c"), work, "-pthread")
    rows = []
    parts = (
        lambda: storm_rows("threads", storm, [(n, "live -l 20000 -d 20 -t %d" % n) for n in THREADS],
                           rounds, fresh_folder),
        lambda: storm_rows("live", storm, [(n, "live -l %d -d 20" % n) for n in LIVE], rounds,
                           fresh_folder),
        lambda: storm_rows("stacks", storm, [(n, "pair -d 20 -p %d" % n) for n in STACKS], rounds,
                           fresh_folder),
        lambda: memory_rows(storm, fresh_folder),
        lambda: snapshot_rows(variants.ROOT),
        lambda: pause_rows(pauses, rounds, fresh_folder),
    )
    for part in parts:
        found = part()
        say_rows(say, found)
        rows += found
    return rows
