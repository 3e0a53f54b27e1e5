"""Every row of call frame information in large real binaries, read by us and by readelf.

readelf decodes the same bytes with code that shares nothing with ours. What it prints for each
row (CFA, where each register is) must equal what we find at the row's address, and so must the
packed rule that we make of it.
"""

import pathlib
import re
import shutil
import subprocess

import pytest

from compiling import INCLUDES, ROOT

REGS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split()
LIB = "/lib/x86_64-linux-gnu/"
FDE = re.compile(r"^[0-9a-f]+ .* FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
CIE = re.compile(r'^([0-9a-f]+) .* CIE "([^"]*)"')


@pytest.fixture(scope="session")
def cfi_tool(tmp_path_factory):
    tool = tmp_path_factory.mktemp("cfi") / "cfi_tool"
    sources = [ROOT / "test/e2e/cfi_tool.c"]
    sources += [ROOT / "src/unwind" / f for f in ("cfi.c", "eh_find.c", "rule_make.c")]
    subprocess.run(["cc", "-std=c17", "-O2", "-D_GNU_SOURCE", *INCLUDES, *sources, "-o", tool],
                   check=True)
    return tool


def expected_rule(cfa, regs, is_signal, is_exact):
    """The packed rule for a row, computed from readelf's output; None: it depends on an expression."""
    if regs["ra"] == "u":
        return "end"
    bp = regs.get("rbp", "u")
    if is_signal or regs["ra"] != "c-8" or regs.get("rsp", "u") != "u":
        return "general"
    if cfa == "exp":
        return None
    base, off = re.match(r"(\w+)([+-]\d+)$", cfa).groups()
    off = int(off)
    bp_off = -int(bp[1:]) if bp.startswith("c") else 0
    fits = 0 <= off <= 0x7FFF8 and off % 8 == 0 and bp_off % 8 == 0
    if bp.startswith("c"):
        fits = fits and 16 <= bp_off <= 0x7F8
    elif bp not in ("u", "s"):
        fits = False
    if base == "rsp" and fits and off < bp_off and not is_exact:
        bp_off = 0  # a slot below the stack pointer, and a call has been made: rbp was restored before
    if base not in ("rsp", "rbp") or not fits or (base == "rsp" and off < max(bp_off, 8)):
        return "general"
    return f"{base[1:]} {off}" + (f" {bp_off}" if bp_off else "")


def readelf_rows(path, section):
    """Yields (address, CFA, {register: rule}, is_signal) of each row that covers at least a byte."""
    out = subprocess.Popen(["readelf", "--debug-dump=frames-interp,no-follow-links", path],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    signal_cies, names, in_section, rows, end, is_signal = {}, [], False, {}, 0, False
    for line in out.stdout:
        if line.startswith("Contents of the"):
            in_section = f" {section} " in line
            continue
        if not in_section:
            continue
        if match := CIE.match(line):
            signal_cies[match[1]] = "S" in match[2]
            end = 0
        elif match := FDE.match(line):
            yield from rows.values()
            rows = {}
            is_signal = signal_cies.get(match[1], False)
            start, end = int(match[2], 16), int(match[3], 16)
        elif line.startswith("   LOC"):
            names = line.split()[2:]
        elif end and (words := line.split()) and len(words) == len(names) + 2:
            addr = int(words[0], 16)
            if start <= addr < end:
                rows[addr] = (addr, words[1], dict(zip(names, words[2:])), is_signal)
    yield from rows.values()
    assert out.wait() == 0


def check(tool, path, how, section=".eh_frame", every=1):
    rows = list(readelf_rows(path, section))[::every]
    addresses = "".join(f"{row[0]:x}\n" for row in rows)
    out = subprocess.run([tool, path, how], input=addresses, capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == len(rows) > 0
    differences, counts = [], {}
    for (addr, cfa, regs, is_signal), line in zip(rows, lines):
        ours, *rules = line.split(" | ")
        theirs = " ".join([f"{addr:x}", cfa] + [regs.get(reg, "u") for reg in REGS])
        wanted = [expected_rule(cfa, regs, is_signal, is_exact) for is_exact in (True, False)]
        if wanted[0] is None:
            # The only packed expression based on rsp is the PLT's; the other is that of realigned
            # stacks.
            is_plt = rules[0].startswith("sp")
            wanted = [f"sp {16 if pc % 16 >= 11 else 8}" for pc in (addr, addr + 1)] if is_plt else rules
        if ours != theirs or wanted != rules:
            differences.append(f"{theirs} | {wanted}\n{line}")
        for rule in rules[1:]:
            counts[rule.split()[0]] = counts.get(rule.split()[0], 0) + 1
    print(f"{path}: {len(rows)} rows, {counts}")
    assert not differences, "\n".join([f"{len(differences)} differences in {path}"] + differences[:10])
    return counts


def real(path):
    if not path or not pathlib.Path(path).exists():
        pytest.skip(f"{path} is not installed")
    return str(pathlib.Path(path).resolve())


SMALL = ["/lib64/ld-linux-x86-64.so.2", LIB + "libc.so.6", LIB + "libstdc++.so.6", LIB + "libgcc_s.so.1",
         LIB + "libcrypto.so.3", LIB + "libm.so.6", "/usr/bin/redis-server", "/usr/bin/python3",
         LIB + "libpython3.11.so.1.0", "/usr/bin/perl", "/usr/bin/gdb"]
BIG = ["/usr/bin/node", LIB + "libLLVM-14.so.1", LIB + "libclang-cpp.so.14", LIB + "libLLVM-15.so.1",
       "/usr/lib/chromium/chromium"]


@pytest.mark.costly
@pytest.mark.parametrize("path", SMALL)
def test_rows_by_search_table(cfi_tool, path):
    counts = check(cfi_tool, real(path), "hdr")
    assert counts.get("bad", 0) == 0
    assert counts.get("general", 0) < 0.02 * sum(counts.values())


@pytest.mark.slow
@pytest.mark.parametrize("path", BIG)
def test_rows_of_big_binaries(cfi_tool, path):
    counts = check(cfi_tool, real(path), "hdr")
    assert counts.get("bad", 0) == 0
    assert counts.get("general", 0) < 0.02 * sum(counts.values())


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("path", ["/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3"])
def test_rows_without_search_table(cfi_tool, path):
    check(cfi_tool, real(path), "scan", every=37)


@pytest.mark.parametrize("dwarf", ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf64"])
def test_rows_of_debug_frame(cfi_tool, tmp_path, dwarf):
    """A program compiled to have .debug_frame instead of .eh_frame, including expressions."""
    source = tmp_path / "prog.c"
    source.write_text("""
        #include <alloca.h>
        int sink(void *);
        int a(int n) { char b[300]; return sink(b) + n; }
        int b(int n) { char *p = alloca((unsigned)n); return sink(p) + a(n); }
        int c(int n) { _Alignas(64) char p[64]; sink(p); char *q = alloca((unsigned)n); return sink(q) + b(n); }
        int main(int n, char **v) { return sink(v) + c(n); }
        __attribute__((noinline)) int sink(void *p) { return *(volatile char *)p; }
    """)
    prog = tmp_path / "prog"
    flags = ["-g", dwarf] if dwarf != "-gdwarf64" else ["-g", "-gdwarf-5", "-gdwarf64"]
    subprocess.run(["cc", "-O2", "-w", *flags, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                    "-fno-exceptions", source, "-o", prog], check=True)
    counts = check(cfi_tool, str(prog), "debug", section=".debug_frame")
    assert counts.get("sp", 0) > 5 and counts.get("bp", 0) > 0 and counts.get("drap", 0) > 0


def test_readelf_is_there():
    assert shutil.which("readelf"), "binutils is needed"
