"""A report expresses what is missing in units of the program's allocations.

The program is test/target/unwindless.c: main, outer, middle, site_inner, and blocks of 100
bytes.
"""

import json
import signal
import subprocess

import pytest
from waiting import wait_until

# Not even in .debug_frame, which heapscope would read.
NO_CFI = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-O1", "-g0"]


def losses_of(found):
    return {loss["name"]: loss for loss in found["losses"]}


def test_stacks_cut_short(run, target, heapscope):
    """The count is 200,000 allocations, not the samples whose stacks were walked."""
    done = run([target("unwindless", *NO_CFI, "-DMIDDLE_RBP"), 200000], env={"HEAPSCOPE_SEED": 1})
    found = done.report()
    loss = losses_of(found)["stack_cut_no_info"]
    total = found["totals"]["alloc"]
    assert total["count_low"] * 0.99 <= loss["allocations"] <= total["count"] * 1.001
    assert total["bytes_low"] * 0.99 <= loss["bytes"] <= total["bytes"]
    assert loss["count"] < loss["allocations"] / 20 and not loss["is_serious"] and not found["is_incomplete"]
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert f"without unwind information): {loss['allocations']:,.0f} of " in text and "95 % confidence" in text


def names_of_stacks(found):
    return {tuple(f["function"] for f in stack["frames"]) for stack in found["stacks"]}


def test_frames_skipped_by_a_guess(run, target, heapscope, tmp_path):
    """middle has neither unwind information nor a frame pointer: the register holds main's value."""
    middle = tmp_path / "libmiddle.so"
    source = tmp_path / "middle.c"
    source.write_text("void site_inner(void);\nvoid middle(volatile long *n) { site_inner(); *n += 1; }\n")
    build = ["gcc", "-shared", "-fPIC", "-O1", "-fomit-frame-pointer", *NO_CFI, source, "-o", middle]
    subprocess.run(list(map(str, build)), check=True)
    program = target("unwindless", "-DMIDDLE_ELSEWHERE", "-fno-omit-frame-pointer", "-rdynamic", str(middle),
                     f"-Wl,-rpath,{tmp_path}")
    done = run([program, 20000], "-i", 1)
    found = done.report("--top", "all")
    (stack,) = [s for s in names_of_stacks(found) if "site_inner" in s]
    assert "outer" not in stack and stack[-1] == "_start", "skipped, without a mark in the stack"
    loss = losses_of(found)["stack_guessed"]
    assert (loss["allocations"], loss["bytes"]) == (20000, 2000000)
    assert "through libmiddle.so, which has no unwind information" in loss["text"] and not loss["is_serious"]
    assert "frames may be missing" in heapscope("report", done.file).stdout


def test_frames_found_by_a_guess(run, target):
    """With frame pointers the same code is walked completely; the walk cannot verify this, so the
    mark is there too."""
    found = run([target("unwindless", *NO_CFI, "-fno-omit-frame-pointer"), 20000], "-i", 1).report("--top", "all")
    assert any(s[:3] == ("site_inner", "middle", "outer") for s in names_of_stacks(found))
    assert losses_of(found)["stack_guessed"]["allocations"] == 20000


def test_no_guess_with_unwind_information(run, target):
    found = run([target("unwindless", "-fomit-frame-pointer"), 20000], "-i", 1).report()
    assert found["losses"] == []


DEEP = """
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void descend(volatile int n) { if (n > 0) descend(n - 1); else kept = malloc(5000); n++; }
int main(void)
{
    for (int i = 0; i < 100; i++) {
        descend(i * 10);
    }
    return 0;
}
"""


def test_stacks_without_their_middle(run, heapscope, tmp_path):
    """Stacks of more than 255 frames are merged; the report says how many allocations that
    concerns."""
    program = tmp_path / "deep"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=DEEP, text=True, check=True)
    done = run([program], "-i", 1)
    found = done.report("--top", "all")
    cut = [s for s in found["stacks"] if any(f["function"] == "[stack cut]" for f in s["frames"])]
    loss = losses_of(found)["stack_cut_middle"]
    assert loss["count"] == len(cut) == 1 and not loss["is_serious"]
    assert loss["allocations"] == sum(s["alloc"]["count"] for s in cut) in range(70, 80)
    assert loss["bytes"] == sum(s["alloc"]["bytes"] for s in cut)
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert "stacks without their middle (of over 255 frames" in text
    assert f"{loss['allocations']:.0f} of 100 allocations" in text


POOL = """
#include <stdlib.h>
#include <unistd.h>
static char *slab;
static size_t used;
__attribute__((noipa)) void *my_malloc(size_t bytes)
{
    void *block = slab + used; /* the first one is where the slab is */
    used += (bytes + 15) / 16 * 16;
    return block;
}
/* Shorter ones cannot be changed. */
__attribute__((noipa)) void my_free(void *block) { ((volatile char *)block)[0] = 1; ((volatile char *)block)[1] = 2; }
__attribute__((noinline)) void site_slab(void) { slab = malloc(1000000); }
__attribute__((noinline)) void site_pool(void) { __asm__ volatile("" ::"r"(my_malloc(100)) : "memory"); }
int main(void)
{
    char c;
    write(1, "up", 2);
    read(0, &c, 1);
    site_slab();
    for (int i = 0; i < 50; i++) {
        site_pool();
    }
    write(1, "ok", 2);
    return read(0, &c, 1) < 0;
}
"""


@pytest.mark.parametrize("is_carved", [False, True], ids=["own", "carved"])
def test_a_pool_inside_of_a_block(heapscope, report, tmp_path, is_carved):
    """The pool's first block is where its slab is. Each is known by its heap, and keeps its
    record."""
    program = tmp_path / "pool"
    prefix = "my_,carved" if is_carved else "my_"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=POOL, text=True, check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process, \
         subprocess.Popen([heapscope("--version").args[0], "attach", str(process.pid), "--allocator", prefix, "-i", "1", "-q",
                           "-o", tmp_path / "x"], stderr=subprocess.PIPE, text=True) as attached:
        try:
            assert process.stdout.read(2) == b"up"
            wait_until(lambda: str(process.pid) in heapscope("list", "--json").stdout or attached.poll() is not None)
            assert attached.poll() is None, attached.stderr.read()
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.read(2) == b"ok"
            attached.send_signal(signal.SIGINT)
            assert attached.wait(30) == 0, attached.stderr.read()
        finally:
            process.kill()
            attached.kill()
    found = report(tmp_path / "x", "--top", "all")
    assert not found["losses"]
    live = {s["frames"][0]["function"]: s["live"]["bytes"] for s in found["stacks"] if s["frames"]}
    assert live["site_slab"] == 1000000
    if not is_carved:
        assert live["site_pool"] == 5000
    rows = heapscope("query", "--format", "csv", tmp_path / "x",
                     "SELECT heap_name, SUM(size) FROM heap_profile_allocation GROUP BY 1 ORDER BY 1").stdout
    assert '"libc.malloc",1000000' in rows and '"my",5000' in rows


MANY = """
#include <stdlib.h>
int main(void)
{
    static char *volatile blocks[1000000];
    for (int i = 0; i < 1000000; i++) {
        if (!(blocks[i] = malloc(16))) {
            return 1;
        }
    }
    return 0;
}
"""


@pytest.mark.costly
def test_no_address_space_for_the_tables(run, tmp_path):
    """The tables stop growing; what they hold remains readable, and the rest is counted."""
    program = tmp_path / "many"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=MANY, text=True, check=True)
    done = run(["sh", "-c", f"ulimit -v 120000; exec '{program}'"], "-i", 1)
    assert done.status == 0, done.stderr
    found = done.report("--top", "all")
    many = sum(s["alloc"]["count"] for s in found["stacks"] if s["frames"][0]["function"] == "main")
    missing = losses_of(found)["table_full"]["allocations"]
    assert 100000 < many < 1000000 and many + missing == 1000000, (many, found["losses"])


def test_losses_of_files_that_record_none(heapscope, tmp_path):
    """Of such a file, a counter of 0 would say that nothing was lost."""
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;f 10\n")
    health = heapscope("report", "--health", folded).stdout
    assert "What was lost while this file was made is not recorded in it." in health
    assert "table_full" not in health and "What the recording did" not in health and "alloc_unknown" in health
    found = json.loads(heapscope("report", "--json", folded).stdout)
    assert found["is_loss_known"] is False
    warning, = found["warnings"]
    assert "was allocated since the start" in warning["text"] and warning["views"] == ["alloc_space", "alloc_objects"]
