"""Where another symbolizer says something else than ours: which class of difference it is, who is right, and why.

A class is a rule that readelf's list of symbols or another symbolizer proves for each single address: that our answer looks
plausible is not enough. What no class explains is left over, and fails the test.
"""

import bisect
import dataclasses
import re
import subprocess
from typing import Callable

import symbols_reference as reference

LLVM, ADDR2LINE = "llvm-symbolizer", "addr2line"


class SymbolList:
    """All functions of one symbol table, as readelf lists them, and which of them cover an address."""

    def __init__(self, module, *options):
        command = ["readelf", "-W", *options, str(module)]
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        form = r"^ *\d+: ([0-9a-f]+) +(\w+) (FUNC|IFUNC|NOTYPE|OBJECT) +\w+ +\w+ +\d+ (\S+)"
        self.rows, self.starts, self.labels, self.objects = [], {}, {}, {}
        for start, size, kind, name in re.findall(form, out.stdout, re.M):
            start, size, name = int(start, 16), int(size, 0), reference.bare(name)
            if kind == "OBJECT":
                self.objects.setdefault(name, []).append((start, start + size))
                continue
            self.rows.append((start, start + size, name))
            self.starts.setdefault(name, set()).add(start)
            if size == 0:
                self.labels.setdefault(name, set()).add(start)
        self.rows.sort()
        self.longest = max(end - start for start, end, _ in self.rows)

    def covering(self, address):
        """The functions that cover an address: [(start, name)]."""
        at, found = bisect.bisect_right(self.rows, (address, 1 << 64, "")), []
        while at > 0 and self.rows[at - 1][0] > address - self.longest:
            at -= 1
            if address < self.rows[at][1]:
                found.append((self.rows[at][0], self.rows[at][2]))
        return found

    def names(self, address):
        return {name for _, name in self.covering(address)}

    def begins_before(self, name, address):
        return any(start <= address for start in self.starts.get(name, ()))

    def share_a_start(self, name, other, address):
        """Do both names stand for the code that begins at one address, before this one?"""
        return any(start <= address for start in self.starts.get(name, set()) & self.starts.get(other, set()))

    def has_label_within(self, function, label, address):
        """Does the function cover the address, and is the label, which has no size, in it and before the address?"""
        return any(start < place <= address for start, name in self.covering(address) if name == function
                   for place in self.labels.get(label, ()))

    def is_in_object(self, name, address):
        return any(start <= address < end for start, end in self.objects.get(name, ()))

    def gap(self, address):
        """From the end of the functions before an address that none covers to the next function: (from, to)."""
        at = bisect.bisect_right(self.rows, (address, 1 << 64, ""))
        before = max(end for _, end, _ in self.rows[max(0, at - 1000):at])
        return before, self.rows[at][0] if at < len(self.rows) else address + 1


@dataclasses.dataclass
class Answer:
    """What is known of one address."""
    address: int
    ours: list
    theirs: list
    other: list     # of the other symbolizer
    module: str
    symbols: SymbolList
    proven: list    # in a program with split units: what both others say of the same program without; else None


@dataclasses.dataclass
class Class:
    name: str
    tools: tuple
    right: str
    why: str
    holds: Callable[[Answer], bool]
    is_of_places: bool = False  # they say another file or line


def functions(chain):
    return [function for function, _, _ in chain]


def places(chain):
    return [place for _, *place in chain]


def is_uncovered(answer):
    return (functions(answer.ours) == [""] and not answer.symbols.covering(answer.address) and len(answer.theirs) == 1
            and answer.theirs[0][2] == 0 and answer.symbols.begins_before(answer.theirs[0][0], answer.address))


def is_alias(answer):
    """Only the function that was not inlined may have another name, and readelf lists both names at one address."""
    ours, theirs = answer.ours, answer.theirs
    return (len(ours) == len(theirs) and ours[:-1] == theirs[:-1] and ours[-1][1:] == theirs[-1][1:]
            and answer.symbols.share_a_start(ours[-1][0], theirs[-1][0], answer.address))


def is_label(answer):
    ours, theirs = answer.ours, answer.theirs
    return (len(ours) == len(theirs) and ours[:-1] == theirs[:-1] and ours[-1][1:] == theirs[-1][1:]
            and answer.symbols.has_label_within(ours[-1][0], theirs[-1][0], answer.address))


def is_object(answer):
    return (functions(answer.ours) == [""] and not answer.symbols.covering(answer.address) and len(answer.theirs) == 1
            and answer.symbols.is_in_object(answer.theirs[0][0], answer.address))


def is_padding(answer):
    """They have a line, and no function covers the address: the disassembler shows nothing but nops there."""
    if answer.ours != [("", "", 0)] or answer.symbols.covering(answer.address) or len(answer.theirs) != 1 or not answer.theirs[0][2]:
        return False
    start, end = answer.symbols.gap(answer.address)
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={end}", answer.module],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout
    instructions = re.findall(r"^ *[0-9a-f]+:\t(.*?) *$", code, re.M)
    return bool(instructions) and all(re.match(r"(data16 |cs )*nop|xchg +%ax,%ax", each) for each in instructions)


def is_confirmed(answer):
    """The other symbolizer says what we say; only the function that was not inlined may have another of its names."""
    ours, other = answer.ours, answer.other
    return ours == other or is_alias(dataclasses.replace(answer, theirs=other))


def files_differ(answer, is_known):
    """Is nothing but files different, and these in a way that is known?"""
    return (places(answer.ours) != places(answer.theirs) and len(answer.ours) == len(answer.theirs)
            and all(a == b or (a[2] == b[2] and is_known(b[1])) for a, b in zip(answer.ours, answer.theirs)))


def is_artificial(answer):
    return is_confirmed(answer) and files_differ(answer, lambda file: file.endswith("/<artificial>"))


def is_other_file(answer):
    return is_confirmed(answer) and files_differ(answer, bool)


def is_without_line(answer):
    return is_confirmed(answer) and len(answer.theirs) == len(answer.ours) == 1 and answer.theirs == [(answer.ours[0][0], "", 0)]


def is_outer_name(answer):
    """Each name that differs is that of the function into which all others were inlined: its symbol, or the name in the source."""
    outer = answer.ours[-1][0]

    def is_in_source(name):
        plain = name.split("<")[0]
        return re.search(rf"^_Z.*{len(plain)}{re.escape(plain)}", outer)

    pairs = list(zip(functions(answer.ours), functions(answer.theirs)))
    return (is_confirmed(answer) and len(answer.ours) == len(answer.theirs)
            and [line for *_, line in answer.ours] == [line for *_, line in answer.theirs]
            and all(a == b or b == outer or is_in_source(b) for a, b in pairs))


def is_split_unread(answer):
    return (answer.ours == answer.proven and len(answer.theirs) == 1 and answer.theirs[0][1:] == ("", 0)
            and answer.theirs[0][0] == answer.ours[-1][0])


def is_split_misread(answer):
    return answer.ours == answer.proven and answer.ours[0][1:] == answer.theirs[0][1:]


CLASSES = [
    Class("no symbol covers the code", (LLVM, ADDR2LINE), "heapscope",
          "the module is stripped, or the code is the linker's: readelf lists no symbol that covers the address. They name a "
          "symbol before it, which ends before it", is_uncovered),
    Class("two names of one address", (LLVM, ADDR2LINE), "both",
          "readelf lists both names at the same address: constructors (C1, C2), aliases, and functions that were folded", is_alias),
    Class("a label in a function", (LLVM, ADDR2LINE), "heapscope",
          "readelf lists the name as a label without a size, whose value lies in the function that covers the address. In assembler code "
          "that is a label; link-time optimization of gcc leaves labels of .debug_info, whose values are no addresses", is_label),
    Class("data in the code", (LLVM,), "both",
          "readelf lists an object there, such as a table of constants; heapscope names only functions", is_object),
    Class("padding between functions", (LLVM, ADDR2LINE), "heapscope",
          "there are only nops behind the end of the function that they name, or whose line they give", is_padding),
    Class("split units are not read", (ADDR2LINE,), "heapscope",
          "binutils 2.40 opens no .dwo file: it has the symbol's name, and neither lines nor inlined calls", is_split_unread, is_of_places=True),
    Class("split units are read wrongly", (LLVM,), "heapscope",
          "the same code without -gsplit-dwarf has our answer, by all of them; LLVM 14 gives the innermost place, and other functions "
          "or lines for its callers", is_split_misread, is_of_places=True),
    Class("<artificial>", (ADDR2LINE,), "heapscope and llvm-symbolizer",
          "link-time optimization names its units so; the file of an inlined call is in the list of files of the unit", is_artificial, is_of_places=True),
    Class("another file of the unit", (ADDR2LINE,), "heapscope and llvm-symbolizer",
          "only the file is different: another one of those that the unit lists. readelf's line table and gdb have our file", is_other_file, is_of_places=True),
    Class("no line", (ADDR2LINE,), "heapscope and llvm-symbolizer", "readelf's line table and gdb have a line for the address", is_without_line, is_of_places=True),
    Class("the outer function's name", (ADDR2LINE,), "heapscope and llvm-symbolizer",
          "an inlined function without a linkage name has the name of the symbol into which it was inlined", is_outer_name),
]


def classify(tool, answer):
    """The class of a difference; None: there is none."""
    return next((one for one in CLASSES if tool in one.tools and one.holds(answer)), None)
