#!/usr/bin/env python3
"""Records a program with very many distinct stacks, to measure how large its page is and how long writing it takes.

    bench/page_stacks.py OUT.pftrace [STACKS] [OPTIONS OF heapscope run...]
    time heapscope report --html OUT.pftrace -o OUT.html

The stacks are a random tree: each has three frames of its own on top of a stack that there was before, and at most 64
frames. Each stack allocates twice, and every third block is freed.
"""

import pathlib
import subprocess
import sys
import tempfile

FUNCTIONS = 512
HEAD = """#include <stdlib.h>
typedef void fn(const unsigned short *path, int at, int end, size_t bytes);
static void **kept;
static size_t kept_count;
"""
FUNCTION = """__attribute__((noinline)) static void module_%d_function_%d(const unsigned short *path, int at, int end, size_t bytes)
{
    if (at == end) {
        kept[kept_count++] = malloc(bytes);
    } else {
        table[path[at]](path, at + 1, end, bytes);
    }
    __asm__ volatile("" ::: "memory");
}
"""
MAIN = """static unsigned long long state = 88172645463325252ull;
static unsigned below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % n);
}
int main(int argc, char **argv)
{
    size_t stacks = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, nodes = stacks * 3 + 20, count = 0;
    unsigned *parent = malloc(nodes * sizeof(*parent)), *depth = malloc(nodes * sizeof(*depth));
    unsigned *leaf = malloc(stacks * sizeof(*leaf));
    unsigned short *function = malloc(nodes * sizeof(*function)), path[128];
    kept = malloc(stacks * 2 * sizeof(*kept));
    for (; count < 20; count++) {
        parent[count] = count ? (unsigned)count - 1 : 0;
        depth[count] = (unsigned)count + 1;
        function[count] = (unsigned short)count;
    }
    for (size_t i = 0; i < stacks; i++) {
        unsigned at;
        do {
            at = below((unsigned)count);
        } while (depth[at] > 60);
        for (int k = 0; k < 3; k++, count++) {
            parent[count] = at;
            depth[count] = depth[at] + 1;
            function[count] = (unsigned short)below(sizeof(table) / sizeof(table[0]));
            at = (unsigned)count;
        }
        leaf[i] = at;
    }
    for (size_t i = 0; i < 2 * stacks; i++) {
        unsigned at = leaf[i % stacks], frames = depth[at];
        for (unsigned k = frames; k-- > 0; at = parent[at]) {
            path[k] = function[at];
        }
        table[path[0]](path, 1, (int)frames, 16 + below(2000));
        if (below(3) == 0) {
            free(kept[--kept_count]);
        }
    }
    return 0;
}
"""


def program():
    names = [f"module_{i % 37}_function_{i}" for i in range(FUNCTIONS)]
    lines = [HEAD, *(f"static fn {name};" for name in names), f"static fn *const table[] = {{ {', '.join(names)} }};"]
    return "\n".join([*lines, *(FUNCTION % (i % 37, i) for i in range(FUNCTIONS)), MAIN])


def main():
    out, *rest = sys.argv[1:] or sys.exit(__doc__)
    stacks = rest.pop(0) if rest and rest[0].isdigit() else "100000"
    heapscope = pathlib.Path(__file__).resolve().parents[1] / "build" / "dist" / "bin" / "heapscope"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "stacks.c"), pathlib.Path(folder, "stacks")
        source.write_text(program())
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", binary, source], check=True)
        subprocess.run([heapscope, "run", "-q", "-o", out, *rest, "--", binary, stacks], check=True)


main()
