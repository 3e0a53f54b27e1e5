"""Compares heapscope symbolize with llvm-symbolizer and addr2line: the time that they take for the
same addresses of the same modules, in one run.

    bench/run --symbolizers [--rounds N]

Three states of the machine:

    cold    no page of the modules, of their debug files, of the symbolizer and of its libraries is
            in memory, except what running processes map (the C library, Python); no cache of ours
    warm    all of them are in memory; no cache of ours
    again   our cache holds what an earlier run unpacked (docs/SYMBOLS.md)

Pages are taken out of memory file by file (posix_fadvise), which leaves other programs of the machine
alone. What another process maps stays in memory, such as the libraries of a compiler that somebody runs:
so the modules of clang++ are copies, and llvm-symbolizer runs with the copy of libLLVM. mincore(2) tells
whether it worked; if not, nothing is measured. It tells only root the truth, so other users get no cold
figures.
"""

import ctypes
import dataclasses
import datetime
import mmap
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import time
from typing import List, Tuple

import figures as fig
import measure
import variants
from sql_trace import message, number, packet, string

LIBS = pathlib.Path("/usr/lib/x86_64-linux-gnu")
COLD, WARM, AGAIN = "cold", "warm", "again"
STATES = (COLD, WARM, AGAIN) if os.geteuid() == 0 else (WARM, AGAIN)
MODULE_COUNT = 200
# A symbolizer that takes longer for one run is run in the first round only.
SLOW_S = 5
# For so long a cold run waits until no other process maps its modules.
WAIT_S = 300


@dataclasses.dataclass
class Module:
    path: str
    build_id: str
    addresses: List[int]


@dataclasses.dataclass
class Job:
    """Addresses to look up."""
    name: str
    modules: List[Module]

    def count(self):
        return sum(len(module.addresses) for module in self.modules)


# --- what is looked up ------------------------------------------------------------------------------

def output_of(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True)
    return done.stdout


def text_addresses(path, count):
    """Addresses at equal distances all over the section .text."""
    found = re.search(r" \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ", output_of("readelf", "-SW", path))
    start, text_bytes = (int(word, 16) for word in found.groups())
    return [start + (2 * i + 1) * text_bytes // (2 * count) for i in range(count)]


def build_id_of(path):
    return re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-n", path)).group(1)


def module_of(path, count):
    path = str(pathlib.Path(path).resolve(strict=True))
    return Module(path, build_id_of(path), text_addresses(path, count))


def many_modules(folder):
    """Copies of a library with compressed DWARF, each with a build id of its own."""
    functions = "".join(f"void *f{i}(unsigned n) {{ void *p = malloc(n + {i}); if (n) return step(p);\n return p; }}\n"
                        for i in range(150))
    source, library = os.path.join(folder, "many.c"), os.path.join(folder, "many.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\nstatic inline void *step(void *p) { return realloc(p, 9); }\n" + functions)
    flags = ["-g", "-gz", "-O1", "-fPIC", "-shared", "-Wl,--build-id=sha1"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    first = module_of(library, 250)
    with open(library, "rb") as file:
        data = file.read()
    made = []
    for i in range(MODULE_COUNT):
        build_id, path = "%08x" % i + first.build_id[8:], os.path.join(folder, "lib%d.so" % i)
        with open(path, "wb") as file:
            file.write(data.replace(bytes.fromhex(first.build_id), bytes.fromhex(build_id)))
        made.append(Module(path, build_id, first.addresses))
    return made


def copies_of_clang(folder):
    """Copies of libLLVM and libclang-cpp."""
    copies = [os.path.join(folder, name) for name in ("libLLVM-14.so.1", "libclang-cpp.so.14")]
    for copy in copies:
        shutil.copyfile(LIBS / os.path.basename(copy), copy)
        fd = os.open(copy, os.O_RDONLY)
        os.fsync(fd)  # pages that are not on the disk yet stay in memory
        os.close(fd)
    return copies


def jobs(folder):
    clang = copies_of_clang(folder)
    programs = [shutil.which("clang++-14") or shutil.which("clang++"), *clang]
    yield Job("ten addresses of libLLVM", [module_of(clang[0], 10)])
    yield Job("clang++: 10,000 of libLLVM, 10,000 of libclang-cpp, 100 of the program",
              [module_of(path, count) for path, count in zip(programs, (100, 10000, 10000))])
    yield Job("python3.11, with its debug file: 10,000", [module_of("/usr/bin/python3.11", 10000)])
    yield Job("glibc, with its debug file: 10,000", [module_of(LIBS / "libc.so.6", 10000)])
    yield Job("50,000 of 200 modules with compressed DWARF", many_modules(folder))


def trace_of(modules):
    """A trace with a frame for each address, none of which has a name."""
    data = packet(number(13, 1), message(12, string(16, 0, b"") + string(17, 0, b"")))
    frame = 0
    for i, module in enumerate(modules, 1):
        interned = bytearray(string(16, i, bytes.fromhex(module.build_id)) + string(17, i, module.path[1:].encode())
                             + message(19, number(1, i) + number(2, i) + number(7, i)))
        for address in module.addresses:
            frame += 1
            interned += message(6, number(1, frame) + number(3, i) + number(4, address))
        data += packet(message(12, bytes(interned)))
    return data


# --- the symbolizers --------------------------------------------------------------------------------

@dataclasses.dataclass
class Symbolizer:
    name: str
    program: str
    states: Tuple[str, ...]
    prepare: object  # (job, folder): writes the input; returns the words of a command line


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return path


def prepare_heapscope(program):
    def prepare(job, folder):
        trace = write(os.path.join(folder, "x.pftrace"), trace_of(job.modules))
        return [program, "symbolize", "-q", "-o", os.path.join(folder, "names"), trace]
    return prepare


def by_shell(command):
    return ["/bin/sh", "-c", command]


def prepare_llvm(program):
    def prepare(job, folder):
        lines = "".join('"%s" %#x\n' % (m.path, address) for m in job.modules for address in m.addresses)
        return by_shell("exec %s < %s" % (program, shlex.quote(write(os.path.join(folder, "llvm"), lines))))
    return prepare


def prepare_addr2line(program):
    """It takes one module at a time."""
    def prepare(job, folder):
        words = []
        for i, module in enumerate(job.modules):
            lines = "".join("%#x\n" % address for address in module.addresses)
            path = write(os.path.join(folder, "addr2line.%d" % i), lines)
            words.append("%s -a -i -f -C -e %s < %s" % (program, shlex.quote(module.path), shlex.quote(path)))
        return by_shell(" && ".join(words))
    return prepare


def symbolizers():
    ours = str(variants.DIST / "bin" / "heapscope")
    found = [Symbolizer("heapscope", ours, STATES, prepare_heapscope(ours))]
    for name, prepare in (("llvm-symbolizer", prepare_llvm), ("addr2line", prepare_addr2line)):
        program = shutil.which(name) or shutil.which(name + "-14")
        if not program:
            raise SystemExit("bench: %s is not installed" % name)
        found.append(Symbolizer(name, program, tuple(s for s in STATES if s != AGAIN), prepare(program)))
    return found


def versions(tools):
    """The others and their versions."""
    said = [re.search(r"(\d+\.\d[\w.]*)", output_of(tool.program, "--version")) for tool in tools[1:]]
    return ", ".join("%s %s" % (tool.name, found.group(1)) for tool, found in zip(tools[1:], said))


# --- what is in memory ------------------------------------------------------------------------------

def files_of(program, env):
    """A program and its libraries."""
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, env=env, check=True)
    return [os.path.realpath(path) for path in [program] + re.findall(r"(/\S+) \(0x", done.stdout)]


def names_file(module):
    """The file that has the names: the debug file if there is one."""
    path = "/usr/lib/debug/.build-id/%s/%s.debug" % (module.build_id[:2], module.build_id[2:])
    return path if os.path.exists(path) else module.path


def pages_in_memory(path):
    """(pages in memory, all pages) of a file."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as file:
        file_bytes = os.fstat(file.fileno()).st_size
        if file_bytes == 0:
            return 0, 0
        # A private mapping that may be written to, because ctypes takes the address of no other.
        with mmap.mmap(file.fileno(), file_bytes, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
            count = (file_bytes + mmap.PAGESIZE - 1) // mmap.PAGESIZE
            found = (ctypes.c_ubyte * count)()
            start = ctypes.c_char.from_buffer(mapped)
            failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(file_bytes), found)
            del start
            if failed:
                raise OSError(ctypes.get_errno(), "mincore: %s" % path)
            return sum(one & 1 for one in found), count


def take_out_of_memory(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def is_in_memory(paths):
    found = [pages_in_memory(path) for path in paths]
    return sum(some for some, _ in found) > 0.02 * sum(count for _, count in found)


def make_cold(names, others):
    """Only what the files with the names hold is checked. Waits while another process maps one of them."""
    end = time.monotonic() + WAIT_S
    take_out_of_memory(names + others)
    while is_in_memory(names):
        if time.monotonic() > end:
            raise SystemExit("bench: the kernel keeps %s in memory; perhaps a running process maps it"
                             % " or ".join(names))
        time.sleep(0.2)
        take_out_of_memory(names + others)


# --- the rounds -------------------------------------------------------------------------------------

def environment(state, folder, libraries):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("HEAPSCOPE_", "LD_PRELOAD", "PERFETTO_", "PPROF_", "BREAKPAD_", "DEBUGINFOD_"))}
    env["LD_LIBRARY_PATH"] = libraries
    env["HEAPSCOPE_CACHE"] = os.path.join(folder, "cache") if state == AGAIN else "off"
    return env


def run_once(tool, state, words, job, folder):
    """Returns the cost of one run."""
    libraries = os.path.join(os.path.dirname(folder), "modules")
    env = environment(state, folder, libraries)
    if state == COLD:
        names = [names_file(module) for module in job.modules]
        make_cold(names, [module.path for module in job.modules] + files_of(tool.program, env))
    cost = measure.run(words, folder, env, os.path.join(folder, "log"))
    if not cost or cost.status != 0:
        raise SystemExit("bench: %s failed, see %s/log" % (tool.name, folder))
    return cost


def measure_job(job, tools, rounds, folder, say):
    """Returns {(symbolizer, state): [cost of each round]}."""
    words = {tool.name: tool.prepare(job, folder) for tool in tools}
    run_once(tools[0], AGAIN, words[tools[0].name], job, folder)  # fills the cache
    costs, slow = {}, set()
    for _ in range(rounds):
        for tool in (tool for tool in tools if tool.name not in slow):
            for state in tool.states:
                cost = run_once(tool, state, words[tool.name], job, folder)
                costs.setdefault((tool.name, state), []).append(cost)
                if cost.wall_s > SLOW_S:
                    slow.add(tool.name)
    say("%s: %s" % (job.name, "  ".join("%s %s %.3f s" % (*key, statistics.median(c.wall_s for c in found))
                                        for key, found in costs.items())))
    return costs


# --- tables -----------------------------------------------------------------------------------------

def seconds(costs, kind):
    return statistics.median(getattr(cost, kind) for cost in costs)


def times_ours(costs, ours, kind):
    """The median of the rounds' own ratios."""
    return statistics.median(getattr(a, kind) / getattr(b, kind) for a, b in zip(costs, ours))


def cell(costs, ours, kind):
    return "%.3f (%.1f ×)" % (seconds(costs, kind), times_ours(costs, ours, kind))


def rows(job, costs, tools, kind):
    for state in STATES:
        ours = costs[(tools[0].name, state)]
        others = [costs.get((tool.name, state)) or costs[(tool.name, WARM)] for tool in tools[1:]]
        yield [job.name if state == STATES[0] else "", state, "%.3f" % seconds(ours, kind)] + [
            cell(other, ours, kind) for other in others]


def markdown(results, tools, rounds):
    parts = ["Measured by `bench/run --symbolizers` on %s at commit %s: %s; %s. The load of the machine was "
             "%.1f at the end. Medians of %d rounds, in which all take turns; a symbolizer that takes more than "
             "%d s is run once. In brackets how many times longer than heapscope it takes: the median of the "
             "rounds' own ratios." % (datetime.date.today().isoformat(), fig.commit(variants.ROOT), fig.machine(), versions(tools),
              os.getloadavg()[0], rounds, SLOW_S)]
    head = ["addresses", "state"] + [tool.name for tool in tools]
    for title, kind in (("Wall time", "wall_s"), ("CPU time, of all processes", "cpu_s")):
        parts += ["%s, in s:" % title,
                  fig.table(head, [row for job, costs in results for row in rows(job, costs, tools, kind)])]
    return "\n\n".join(parts)


def measure_all(rounds, say, fresh_folder):
    tools = symbolizers()
    results = []
    for i, job in enumerate(jobs(fresh_folder("symbolizers", "modules"))):
        results.append((job, measure_job(job, tools, rounds, fresh_folder("symbolizers", str(i)), say)))
    return markdown(results, tools, rounds)
