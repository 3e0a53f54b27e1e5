"""The results of other symbolizers for addresses, in one form: {address: [(function, file, line),
...]}.

The innermost inlined function comes first. Names are compared as they are in the file, because
each tool demangles a little differently; "" and 0 mean unknown.
"""

import os.path
import re
import shutil
import subprocess

from compiling import INCLUDES, sources_of

ADDRESS = re.compile(r"^0x[0-9a-f]+$")


def call_sites(module, count=None):
    """Addresses inside call instructions of a file (return address - 1), evenly distributed."""
    out = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", module], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    addresses, is_after_call = [], False
    for line in out.splitlines():
        columns = line.split("\t")
        if len(columns) < 2:
            continue
        address = columns[0].strip().rstrip(":")
        if is_after_call and address:
            addresses.append(int(address, 16) - 1)
        is_after_call = columns[1].startswith("call")
    step = max(1, len(addresses) // count) if count else 1
    return addresses[::step]


def code_addresses(module, count):
    """Addresses all over the section .text; faster than searching calls in 100 MB."""
    command = ["readelf", "-SW", str(module)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    start, size = re.search(r" \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ", out).groups()
    return [int(start, 16) + i * (int(size, 16) // count) for i in range(count)]


def clean_path(path):
    """Normalizes equivalent paths; builds that hide their folder leave "./x/./x/y.c"."""
    if path in ("??", ""):
        return ""
    if not path.startswith("/") and "/./" in path:
        path = "./" + path.rsplit("/./", 1)[1]
    return re.sub(r"(/\.)?/+", "/", path.replace("/./", "/"))


def bare(name):
    """Removes what compilers and versions append: one function may be in several pieces."""
    return re.sub(r"(\.(cold|part|isra|constprop|lto_priv|llvm|\d+)\b|@.*)+$", "", name)


def clean_line(function, place):
    place = re.sub(r" \(discriminator \d+\)$", "", place)
    file, line = re.match(r"^(.*?):(\d+|\?)(?::\d+)?$", place).groups()
    number = int(line) if line.isdigit() else 0
    # addr2line and llvm-addr2line take a file without a line from STT_FILE symbols; we do not.
    file = clean_path(file) if number else ""
    return ("" if function == "??" else bare(function), file, number)


def parse_addr2line(text):
    """Parses the output of `-a -i -f` of any of the three; eu-addr2line adds " inlined at ..."."""
    found, lines = {}, text.splitlines()
    at = 0
    while at < len(lines):
        if ADDRESS.match(lines[at]):
            chain = found.setdefault(int(lines[at], 16), [])
            chain.clear()
            at += 1
        elif not lines[at]:
            at += 1
        else:
            function = re.sub(r" inlined at .* in .*$", "", lines[at])
            chain.append(clean_line(function, lines[at + 1]))
            at += 2
    return found


def ask(program, module, addresses):
    """None when the program is not installed."""
    if not shutil.which(program):
        return None
    text = subprocess.run(
        [program, "-a", "-i", "-f", "-e", module],
        input="".join(f"{a:#x}\n" for a in addresses),
        stdout=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
        check=False,  # eu-addr2line fails when a single address has no unit
    ).stdout
    return parse_addr2line(text)


class Symbols:
    """Parses the output of hs-symbols: chains with both names, and the line about the module."""

    def __init__(self, text):
        self.chains = {}
        self.reason, self.source, self.file, self.counts = "", "", "", ""
        chain = []
        # Not splitlines(): names may contain separators that only Unicode knows.
        for line in text.split("\n")[:-1]:
            if line.startswith("# "):
                self.reason, self.source, self.file, self.counts, _ = line[2:].split("; ")
            elif "\t" in line:
                function, system_name, place = line.split("\t")
                file, number = place.rsplit(":", 1)
                chain.append((function, system_name, file, int(number)))
            else:
                chain = self.chains[int(line, 16)] = []

    def functions(self, address):
        return [function for function, *_ in self.chains[address]]

    def comparable(self, address):
        """In the form of parse_addr2line(); one unknown function when there is none."""
        chain = [(bare(s), clean_path(f) if n else "", n) for _, s, f, n in self.chains[address]]
        return chain or [("", "", 0)]


def build_tool(root, folder, cc="cc"):
    """Compiles test/e2e/symbols_tool.c with the sources it needs, into this folder."""
    tool = folder / "hs-symbols"
    sources = [root / "test/e2e/symbols_tool.c", *sources_of("symbol")]
    sources += sources_of("util", "selfpath", "json_read")
    flags = ["-std=c17", "-g", "-O2", "-D_GNU_SOURCE", *INCLUDES]
    libs = ["-ldw", "-lelf", "-llzma", "-lz", "-lzstd", "-l:libdeflate.a", "-liberty", "-lm"]
    subprocess.run([cc, *map(str, [*flags, *sources]), *libs, "-o", str(tool)], check=True)


def tool_in(folder):
    """A function that calls the tool in this folder."""
    tool = folder / "hs-symbols"

    def call(module, addresses, *options):
        done = subprocess.run(
            [str(tool), *map(str, options), str(module)],
            input="".join(f"{a:#x}\n" for a in addresses),
            stdout=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            check=True,
            timeout=120,
        )
        return Symbols(done.stdout)

    call.path = str(tool)
    return call


def build_id(path):
    """The file's build id as hex; "" if it has none."""
    out = subprocess.run(["readelf", "-n", str(path)], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", out)
    return found.group(1) if found else ""


def debug_file(module):
    """Where a distribution puts the debug file of a module; None when it is not installed."""
    name = build_id(module)
    path = f"/usr/lib/debug/.build-id/{name[:2]}/{name[2:]}.debug"
    return path if name and os.path.exists(path) else None
