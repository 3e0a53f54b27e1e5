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
