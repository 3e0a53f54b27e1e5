"""Where stacks begin: with a function of the program or its libraries, never with one of a
recorder."""

import json
import pathlib
import re

import pytest
from test_trace_heapprofd import HEAPPROFD, SYMBOLS, encode
from truth import measure

OURS = re.compile(r"hs_(slow|entry|hook|real)_|libheapscope")
VIEWS = ["alloc_space", "alloc_objects", "space"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_aligned_forms(run, target, tmp_path, level):
    """Each block with the size that was requested."""
    measured = measure(run, tmp_path, [target("aligned", level, "-fno-builtin")], "-i", 1)
    measured.assert_exact()
    assert len(measured.truth) == 14


@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])  # mimalloc aborts where others throw
def test_aligned_forms_of_an_allocator(exact, name):
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu") / name
    if not library.exists():
        pytest.skip(f"{name} is not installed")
    exact(["aligned"], library=str(library))


def without_ledgers(text):
    """Their lines are modules of the process, and the client's library is one."""
    return json.dumps({key: value for key, value in json.loads(text).items() if not key.endswith("ledger")})


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("interval", [1, 512])
def test_no_frame_of_ours_in_any_view(run, heapscope, target, tmp_path, level, interval):
    count = "5" if interval == 1 else "2000"
    done = run([target("aligned", level, "-fno-builtin"), count], "-i", interval)
    assert done.status == 0, done.stderr
    for view in VIEWS:
        texts = [
            heapscope("report", "--view", view, "--top", "all", done.file).stdout,
            heapscope("report", "--view", view, "--tree", done.file).stdout,
            without_ledgers(heapscope("report", "--view", view, "--json", "--top", "all", done.file).stdout),
        ]
        for form in ("folded", "svg", "speedscope"):
            out = tmp_path / f"{view}.{form}"
            made = heapscope("export", "--format", form, "--view", view, done.file, "-o", out)
            if made.returncode == 2:  # the form has all views at once
                made = heapscope("export", "--format", form, done.file, "-o", out)
            assert made.returncode == 0, made.stderr
            texts.append(out.read_text())
        for text in texts:
            assert not OURS.search(text), OURS.search(text)
        assert all("site_aligned" in text for text in (texts[0], *texts[2:]))
    made = heapscope("export", "--format", "pprof", done.file, "-o", tmp_path / "out.pb")
    assert made.returncode == 0 and not re.search(rb"hs_(slow|entry)_", (tmp_path / "out.pb").read_bytes())
    modules = heapscope("query", done.file, """
        SELECT DISTINCT m.name FROM stack_profile_callsite c JOIN stack_profile_frame f ON f.id = c.frame_id
        JOIN stack_profile_mapping m ON m.id = f.mapping""").stdout
    assert "/aligned-" in modules and "libheapscope" not in modules


def test_what_an_exception_allocates(run, target):
    """The thrown object belongs to the C++ runtime, below the function that called new."""
    found = run([target("aligned", "-O2", "-fno-builtin")], "-i", 1).report("--top", "all", "--view", "alloc_objects")
    thrown = [s for s in found["stacks"] if s["frames"][0]["function"] == "__cxa_allocate_exception"]
    assert thrown and not OURS.search(json.dumps(thrown))
    assert sum(s["alloc"]["count"] for s in thrown) >= 6 * 5


@pytest.mark.parametrize("stack, left", [
    (["main", "load", "malloc", "heapprofd_malloc", "AHeapProfile_reportAllocation",
      "perfetto::profiling::Client::RecordMalloc(unsigned int, unsigned long, unsigned long, unsigned long)"],
     ["main", "load", "malloc"]),
    (["main", "load", "je_malloc", "je_prof_alloc_prep", "prof_backtrace_impl"], ["main", "load", "je_malloc"]),
    (["main", "load", "operator new", "tcmalloc::DoSampledAllocation"], ["main", "load", "operator new"]),
    (["main", "load", "MallocHook::InvokeNewHookSlow", "MallocHook_GetCallerStackTrace"], ["main", "load"]),
    (["heapprofd_malloc", "AHeapProfile_reportAllocation"], ["heapprofd_malloc", "AHeapProfile_reportAllocation"]),
    (["main", "heaptrack_malloc", "parse"], ["main", "heaptrack_malloc", "parse"]),
], ids=["heapprofd", "jemalloc", "tcmalloc", "gperftools", "nothing-else", "further-out"])
def test_frames_of_other_recorders(heapscope, tmp_path, stack, left):
    """Removed at the inner end only; two stacks that become equal are added up."""
    file = tmp_path / "other.folded"
    file.write_text(f"{';'.join(stack)} 100\n{';'.join(left)} 20\nmain;other 3\n")
    out = tmp_path / "out.folded"
    made = heapscope("export", "--format", "folded", file, "-o", out)
    assert made.returncode == 0, made.stderr
    lines = dict(line.rsplit(" ", 1) for line in out.read_text().splitlines())
    assert lines == {";".join(left): "120", "main;other": "3"}


@pytest.mark.parametrize("is_symbolized", [False, True])
def test_a_trace_of_heapprofd(heapscope, tmp_path, is_symbolized):
    """Names as they are in symbol tables; or added afterwards, with inlined functions."""
    texts = [HEAPPROFD.replace("_ZN3foo3barEv", "_ZN8perfetto9profiling6Client12RecordMallocEjmmPv")]
    if is_symbolized:
        texts.append(SYMBOLS.replace("foo::inlined()", "perfetto::profiling::Client::RecordMalloc(unsigned int)")
                     .replace("foo::bar()", "AHeapProfile_reportAllocation"))
    file = encode(tmp_path / "heapprofd.pftrace", *texts)
    made = heapscope("export", "--format", "folded", "--view", "alloc_space", file, "-o", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    assert "main 8192\n" in (tmp_path / "out").read_text()
    report = heapscope("report", "--view", "alloc_space", file).stdout
    assert "RecordMalloc" not in report and "AHeapProfile" not in report


def test_a_stripped_allocator_that_records(heapscope, tmp_path):
    """Only the function that was called remains: the outermost frame. Two stacks that become equal
    are added up."""
    file, out = tmp_path / "je.heap", tmp_path / "out"
    file.write_text("heap_v2/1\n  t*: 2: 300 [0: 0]\n"
                    "@ 0x70001000 0x70002000 0x70003000 0x10001000\n  t*: 1: 100 [0: 0]\n"
                    "@ 0x70001500 0x70003000 0x10001000\n  t*: 1: 200 [0: 0]\n"
                    "\nMAPPED_LIBRARIES:\n"
                    "10000000-10010000 r-xp 00000000 fe:00 1 /gone/program\n"
                    "70000000-70010000 r-xp 00000000 fe:00 2 /gone/libjemalloc.so.2\n")
    made = heapscope("export", "--format", "folded", file, "-o", out)
    assert made.returncode == 0, made.stderr
    assert out.read_text() == "program+0xfff;libjemalloc.so.2+0x2fff 300\n"
