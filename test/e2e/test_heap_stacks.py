"""Two heaps of one process with a common call stack: they are two stacks, one of them below `[heap
NAME]`."""

import json
import subprocess

import pytest

TRACE = """
packet { trusted_packet_sequence_id: 9 sequence_flags: 1 interned_data {
  mapping_paths { iid: 1 str: "usr" } mapping_paths { iid: 2 str: "prog" }
  mappings { iid: 1 start: 4096 end: 8192 path_string_ids: 1 path_string_ids: 2 }
  function_names { iid: 1 str: "main" } function_names { iid: 2 str: "load" }
  frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 16 }
  frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 32 }
  callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } } }
"""

DUMP = """
packet { trusted_packet_sequence_id: 9 profile_packet { index: %d
  process_dumps { pid: 17 heap_name: "%s" timestamp: %d sampling_interval_bytes: %d
    samples { callstack_id: 1 self_allocated: %d self_freed: %d alloc_count: %d } } } }
"""

SAID = "2 heaps are added up: libc.malloc (3.91 KiB allocated), pool (1.95 KiB)"


def write(root, path, *heaps, interval=1, freed=0):
    """A trace whose process has allocated these bytes, a thousand each time, at the same place from
    each heap."""
    text = TRACE + "".join(DUMP % (i, name, 600 + i, interval, size, freed, size // 1000) for i, (name, size) in enumerate(heaps))
    path.write_bytes(subprocess.run(
        ["protoc", "--encode=hs.pb.Trace", f"-I{root}/src/trace/proto", "perfetto.proto"],
        input=text.encode(), capture_output=True, check=True).stdout)
    return path


@pytest.fixture
def two(root, tmp_path):
    return write(root, tmp_path / "two", ("libc.malloc", 4000), ("pool", 2000))


def output(heapscope, *args):
    done = heapscope(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_folded(heapscope, root, two, tmp_path):
    assert output(heapscope, "export", "-f", "folded", two).splitlines() == \
        ["main;load 4000", "[heap pool];main;load 2000"]
    one = write(root, tmp_path / "one", ("pool", 2000))
    assert output(heapscope, "export", "-f", "folded", one) == "main;load 2000\n"


def test_report(heapscope, report, two):
    assert "[heap pool]" in output(heapscope, "report", "--tree", two)
    assert [(s["live"]["bytes"], [f["function"] for f in s["frames"]]) for s in report(two)["stacks"]] == \
        [(4000, ["load", "main"]), (2000, ["load", "main", "[heap pool]"])]


def test_figures_of_each_heap_have_their_ends(root, report, tmp_path):
    """0 bytes live in a sampled heap: some may live that no sample hit."""
    file = write(root, tmp_path / "x", ("libc.malloc", 4000), ("pool", 4000), interval=4096, freed=4000)
    for heap in report(file)["heaps"]:
        assert heap["live"]["bytes"] == 0 and heap["live"]["bytes_high"] > 3 * 4096


@pytest.mark.parametrize("form", ["svg", "speedscope", "massif"])
def test_exports_say_it_in_what_they_write(heapscope, two, form):
    assert SAID in output(heapscope, "export", "-q", "-f", form, two)


def test_limit_on_one_heap(heapscope, two):
    done = heapscope("check", "--stack", r"^\[heap pool\]$=1000", two)
    assert done.returncode == 1 and r"live in stacks with ^\[heap pool\]$: 1.95 KiB, limit" in done.stdout
    assert heapscope("check", "--stack", r"^\[heap pool\]$=2K", two).returncode == 0


def test_diff(heapscope, root, two, tmp_path):
    """A heap that only one of the files has: its allocations are new, and those of the other heap
    are the same."""
    one = write(root, tmp_path / "one", ("libc.malloc", 4000))
    said = json.loads(output(heapscope, "diff", "--json", one, two))
    assert [[h["name"] for h in said[side]["heaps"]] for side in ("before", "after")] == [["libc.malloc"], ["libc.malloc", "pool"]]
    assert sorted((s["frames"][-1], s["before"], s["after"]) for s in said["stacks"]) == \
        [("[heap pool]", 0, 2000), ("main", 4000, 4000)]
    # A heap that is alone in its file has no frame for the heap; next to another file's heap, it
    # has one.
    pool = write(root, tmp_path / "pool", ("pool", 2000))
    said = json.loads(output(heapscope, "diff", "--json", pool, two))
    assert sorted((s["frames"][-1], s["before"], s["after"]) for s in said["stacks"]) == \
        [("[heap pool]", 2000, 2000), ("main", 0, 4000)]
    assert SAID in output(heapscope, "diff", "-f", "svg", one, two)


def test_names_cannot_steer_a_terminal(heapscope, root, tmp_path):
    file = write(root, tmp_path / "x", ("libc.malloc", 4000), (r"po\033[2Jol", 2000))
    for command in (["report"], ["report", "--tree"], ["diff", file], ["check", "--max-live", "1M"],
                    ["export", "-f", "folded"], ["export", "-f", "massif"]):
        done = heapscope(*command, file)
        assert "[2Jol" in done.stdout + done.stderr and "\033" not in done.stdout + done.stderr, command
