"""Code that the linker folded: several functions share it, and a stack does not tell which one was called."""

import json
import subprocess

import pytest

SOURCE = r"""
#include <cstdlib>
void *kept[2000];
int kept_count;
namespace shapes {
struct Circle { void *grow(int n); };
struct Square { void *grow(int n); };
__attribute__((noinline)) void *Circle::grow(int n) { void *p = malloc(5000 + n); kept[kept_count++] = p; return p; }
__attribute__((noinline)) void *Square::grow(int n) { void *p = malloc(5000 + n); kept[kept_count++] = p; return p; }
}
/* C has no types in its names: these may be aliases as well. */
extern "C" __attribute__((noinline)) void *plain(int n) { return shapes::Circle().grow(n); }
extern "C" void *other_name(int n) __attribute__((alias("plain")));
int main()
{
    for (int i = 0; i < 1000; i++) {
        shapes::Square().grow(1);
        other_name(2);
    }
}
"""
MARK = " [DEDUPED]"
BOTH = {"shapes::Circle::grow(int)", "shapes::Square::grow(int)"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("folded") / "source.cc"
    path.write_text(SOURCE)
    return path


def record(heapscope, source, name, *flags):
    program, trace = source.with_name(name), source.with_name(f"{name}.pftrace")
    subprocess.run(["g++", "-O1", "-fno-inline", "-fno-ipa-icf", "-ffunction-sections", source, "-o", program, *flags], check=True)
    done = heapscope("run", "-q", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    return trace


def functions(heapscope, trace):
    data = json.loads(heapscope("report", "--json", "--top", "all", trace).stdout)
    return {row["function"]: row for row in data["functions_by_total"]}


@pytest.mark.parametrize("linker", ["gold", "lld"])
@pytest.mark.parametrize("debug", [[], ["-g"]], ids=["symbols", "dwarf"])
def test_folded_by_the_linker(heapscope, source, linker, debug):
    trace = record(heapscope, source, f"{linker}{len(debug)}", f"-fuse-ld={linker}", "-Wl,--icf=all", *debug)
    rows = functions(heapscope, trace)
    marked = [name for name in rows if name.endswith(MARK)]
    assert len(marked) == 1 and marked[0].removesuffix(MARK) in BOTH, rows.keys()
    assert set(rows[marked[0]]["folded_functions"].split(" | ")) == BOTH
    text = heapscope("report", trace).stdout
    assert "Folded code" in text and f"{marked[0]} is one of: " in text and text.count("--icf=none") == 1
    lines = heapscope("export", "-f", "json", "-o", "-", trace).stdout
    assert '"folded_functions"' in lines
    # SQL has the symbol's own name as the name of the frame.
    done = heapscope("query", "--format", "csv", trace, "SELECT DISTINCT name FROM stack_profile_symbol WHERE name LIKE '%[DEDUPED]'")
    assert marked[0] in done.stdout


def test_read_later(heapscope, source):
    """The same without names in the file."""
    trace = record(heapscope, source, "later", "-fuse-ld=gold", "-Wl,--icf=all")
    program, bare = source.with_name("later"), source.with_name("bare.pftrace")
    assert heapscope("run", "-q", "--no-symbolize", "-o", bare, "--", program).returncode == 0
    assert {name for name in functions(heapscope, bare) if MARK in name} == {name for name in functions(heapscope, trace) if MARK in name}


def test_aliases_are_not_folded_code(heapscope, source):
    rows = functions(heapscope, record(heapscope, source, "plain"))
    assert not any(MARK in name for name in rows), rows.keys()
    assert BOTH <= set(rows)


C_SOURCE = r"""
#include <stdlib.h>
void *kept[10000];
int kept_count;
#define BODY(bytes) { void *p = malloc(bytes + n); kept[kept_count++] = p; return p; }
static __attribute__((noinline)) void *grow_list(int n) BODY(5000)
static __attribute__((noinline)) void *grow_table(int n) BODY(5000)
__attribute__((noinline)) void *read_all(int n) BODY(6000)
__attribute__((noinline)) void *write_all(int n) BODY(6000)
/* One function with many names. */
static __attribute__((noinline)) void *only(int n) BODY(7000)
static void *only_static(int n) __attribute__((alias("only"), used));
void *only_public(int n) __attribute__((alias("only")));
__attribute__((noinline)) void *strong(int n) BODY(8000)
void *weak(int n) __attribute__((weak, alias("strong")));
extern __typeof(strong) other_strong __attribute__((alias("strong")));
void *first_label(int n);
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 1000; i++) {
        grow_list(argc);
        grow_table(argc);
        read_all(argc);
        write_all(argc);
        only_static(argc);
        only_public(argc);
        weak(argc);
        other_strong(argc);
        first_label(argc);
    }
}
"""
# For DWARF, each label of assembler code is a function.
ASSEMBLER = """
    .text
    .globl first_label, second_label
    .type first_label, @function
    .type second_label, @function
first_label:
second_label:
    sub $8, %rsp
    call same_elsewhere
    add $8, %rsp
    ret
    .size first_label, .-first_label
    .size second_label, .-second_label
"""
# Another unit has a static function with the name of an alias here.
OTHER_SOURCE = r"""
#include <stdlib.h>
extern void *kept[];
extern int kept_count;
static __attribute__((noinline)) void *only_static(int n) { void *p = malloc(9000 + n); kept[kept_count++] = p; return p; }
void *same_elsewhere(int n) { return n ? only_static(n) : NULL; }
"""
C_BUILDS = {
    "gcc-ipa": ["gcc", "-O2", "-fno-inline", "-fno-ipa-sra", "-fno-ipa-cp"],
    "gcc-gold": ["gcc", "-O1", "-fuse-ld=gold", "-Wl,--icf=all"],
    "gcc-lld": ["gcc", "-O1", "-fuse-ld=lld", "-Wl,--icf=all"],
    "clang-gold": ["clang", "-O1", "-fuse-ld=gold", "-Wl,--icf=all"],
    "clang-lld": ["clang", "-O1", "-fuse-ld=lld", "-Wl,--icf=all"],
}


def c_functions(heapscope, folder, build, *flags):
    (folder / "one.c").write_text(C_SOURCE)
    (folder / "other.c").write_text(OTHER_SOURCE)
    (folder / "labels.s").write_text(ASSEMBLER)
    ipa = ["-fno-ipa-icf"] if build in ("gcc-gold", "gcc-lld") else []
    subprocess.run([*C_BUILDS[build], *ipa, *flags, "-fno-optimize-sibling-calls", "-ffunction-sections", "one.c", "other.c", "labels.s", "-o",
                    "program"], cwd=folder, check=True)
    done = heapscope("run", "-q", "-o", folder / "x.pftrace", "--", folder / "program")
    assert done.returncode == 0, done.stderr
    return functions(heapscope, folder / "x.pftrace")


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("build", C_BUILDS)
def test_functions_of_c(heapscope, tmp_path, build):
    """DWARF says which names are functions of their own; aliases of all kinds get no mark."""
    rows = c_functions(heapscope, tmp_path, build, "-g")
    folded = {row["folded_functions"] for name, row in rows.items() if name.endswith(MARK)}
    assert all(("folded_functions" in row) == name.endswith(MARK) for name, row in rows.items()), rows
    # gcc's own folding keeps functions apart that others may call, as their addresses may be compared.
    assert folded == {"grow_list | grow_table"} | ({"read_all | write_all"} if "ipa" not in build else set()), rows.keys()
    assert any(name in rows for name in ("first_label", "second_label"))
    assert any(name in rows for name in ("only", "only_static", "only_public")) and any(name in rows for name in ("strong", "weak", "other_strong"))


def test_functions_of_c_without_dwarf(heapscope, tmp_path):
    """Nothing tells folded functions from aliases then."""
    rows = c_functions(heapscope, tmp_path, "gcc-gold")
    assert {"main"} <= set(rows) and not any(MARK in name for name in rows), rows.keys()
