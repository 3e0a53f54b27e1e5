"""Where stacks begin: with a function of the program or its libraries, never with one of a recorder's."""

import pytest


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
    """At the inner end only; and two stacks that are one without them are added up."""
    file = tmp_path / "other.folded"
    file.write_text(f"{';'.join(stack)} 100\n{';'.join(left)} 20\nmain;other 3\n")
    out = tmp_path / "out.folded"
    made = heapscope("export", "--format", "folded", file, "-o", out)
    assert made.returncode == 0, made.stderr
    lines = dict(line.rsplit(" ", 1) for line in out.read_text().splitlines())
    assert lines == {";".join(left): "120", "main;other": "3"}
