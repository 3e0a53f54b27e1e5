"""The allocation storms: bench/storm.c in the patterns that cost most, and the overhead of each
profiler.

The storm measures itself, in thread CPU time, and prints the fastest and the median round. This
module compiles it and runs it under one variant after the other.
"""

import os
import subprocess

# name, arguments of storm, is it in the short set
STORMS = [
    ("tight pairs", "pair", True),
    ("tight pairs, depth 10", "pair -d 10", False),
    ("tight pairs, depth 20", "pair -d 20", True),
    ("tight pairs, depth 30", "pair -d 30", True),
    ("tight pairs, depth 100", "pair -d 100", False),
    ("100,000 live, random", "live -l 100000", True),
    ("50,000 live, depth 20", "live -l 50000 -d 20", True),
    ("1,000,000 live, depth 20", "live -l 1000000 -d 20", False),
    ("4,096 stacks of depth 20", "pair -d 20 -p 4096", True),
    ("1,048,576 stacks of depth 30", "pair -d 30 -p 1048576", False),
    ("2 threads, depth 20", "pair -d 20 -t 2", True),
    ("4 threads, depth 20", "pair -d 20 -t 4", False),
    ("8 threads, depth 20", "pair -d 20 -t 8", False),
    ("2 threads, 50,000 live each", "live -l 50000 -d 20 -t 2", False),
    ("8 threads, 20,000 live each", "live -l 20000 -d 20 -t 8", False),
    ("freed by another thread", "cross -d 20 -t 2", True),
    ("freed by another of 8 threads", "cross -d 20 -t 8", False),
    ("64..192 KiB blocks, depth 20", "large -d 20", True),
    ("realloc from 16 B to 64 KiB", "grow -d 20", True),
]


def compile_program(source, folder, *options):
    """Without frame pointers, as distributions compile programs."""
    program = os.path.join(folder, os.path.basename(source)[:-2])
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        subprocess.run([os.environ.get("CC", "gcc"), "-std=c17", "-D_GNU_SOURCE", "-O2", "-g",
                        "-fomit-frame-pointer", str(source), "-o", program, *options], check=True)
    return program


def run_once(storm, words, variant, out, rounds):
    """Returns (lowest, median) nanoseconds per operation; None if it did not run."""
    argv, env = variant.command([storm, *words.split(), "-r", str(rounds)], out)
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    for line in reversed(done.stdout.splitlines()):
        try:
            low, median = map(float, line.split())
            return low, median
        except ValueError:
            continue  # a message of the profiler
    return None
