"""Counts the client's instructions for single operations, with callgrind.

Times vary on a shared machine; instruction counts do not. Only instructions in the client's own
library count, so another libc changes nothing. The program runs in a session that no process
reads: a client only needs a listening socket.

bench/instructions.tsv keeps the counts; test/e2e/test_instructions.py compares. When a change is
meant to cost more, `bench/run --instructions` writes the file anew, and its diff shows the cost.
"""

import os
import re
import socket
import subprocess

import storms
import variants

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.tsv")
CLIENT = variants.DIST / "lib" / "libheapscope_preload.so"
LINKED = variants.DIST / "lib" / "libheapscope_malloc.so"
FEW, MANY = 500, 2500

# name: interval (None: it announced itself to a daemon, and no session profiles it), depth of the
# stack, counted function
OPERATIONS = {
    "malloc, dormant": (None, 10, "counted_malloc"),
    "free, dormant": (None, 10, "counted_free"),
    "malloc, not sampled": (1 << 40, 10, "counted_malloc"),
    "free, not sampled": (1 << 40, 10, "counted_free"),
    "malloc, sampled, depth 10": (1, 10, "counted_malloc"),
    "malloc, sampled, depth 30": (1, 30, "counted_malloc"),
    "free, sampled": (1, 10, "counted_free"),
}


def own_cost(path, library):
    """Counts the instructions in `library` itself, from a callgrind file."""
    total, is_ours, is_call = 0, False, False
    names = {}  # callgrind writes a name once, and then its number
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.match(r"(ob|calls)=(?:\((\d+)\) ?)?(.*)", line)
            if found and found.group(1) == "calls":
                is_call = True  # the next line is the callee's cost, not that of this function
            elif found:
                names.setdefault(found.group(2), found.group(3))
                is_ours = os.path.basename(names[found.group(2)]) == library
            elif line[:1] in "0123456789+-*":
                if is_ours and not is_call:
                    total += int(line.split()[1])
                is_call = False
            elif line.startswith("cob="):
                found = re.match(r"cob=\((\d+)\) ?(.*)", line)
                names.setdefault(found.group(1), found.group(2))
    return total


def run(program, work, interval, depth, function, count, client=CLIENT):
    """`client`: LINKED is preloaded here, too. It is then the same library as in a program that links it."""
    out = os.path.join(work, "callgrind.out")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        name = "heapscope-instructions-%d" % os.getpid()
        path = os.path.join(work, "sock")
        listener.bind("\0" + name if interval else path)
        listener.listen(8)
        # The loader takes a blank in the path as the end of a name.
        link = os.path.join(work, client.name)
        if not os.path.lexists(link):
            os.symlink(client, link)
        env = dict(os.environ, LD_PRELOAD=link, HEAPSCOPE_SEED="1")
        if interval:
            env.update(HEAPSCOPE_COLLECTOR=name, HEAPSCOPE_INTERVAL=str(interval), HEAPSCOPE_FOLLOW="1")
        else:
            env.update(HEAPSCOPE_SOCKET=path)
        # Without this, sampling would also depend on the pid.
        subprocess.run(["sh", "-c", "HEAPSCOPE_FOLLOW_PID=$$ exec \"$@\"", "sh", "valgrind", "--tool=callgrind", "--callgrind-out-file=" + out,
                        "--toggle-collect=" + function, program, str(depth), str(count)], env=env,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listener.setblocking(False)
        listener.accept()[0].close()  # raises an exception if the client never connected
    if not interval:
        os.unlink(path)
    return own_cost(out, client.name)


def count(work, client=CLIENT):
    """Returns {operation: instructions}."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.c")
    program = storms.compile_program(source, work)
    result = {}
    for name, (interval, depth, function) in OPERATIONS.items():
        if client == LINKED and not interval:
            continue  # it is never dormant
        cost = [run(program, work, interval, depth, function, n, client) for n in (FEW, MANY)]
        result[name] = (cost[1] - cost[0]) / (MANY - FEW)
    return result


def read():
    with open(KEPT, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {name: float(value) for name, value in rows}


def write(counts):
    with open(KEPT, "w", encoding="utf-8") as file:
        file.write("# operation\tinstructions of the client (gcc 12, release); see instructions.py\n")
        file.writelines("%s\t%.1f\n" % item for item in counts.items())
