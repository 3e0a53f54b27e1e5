"""What a profile lacks is told in what the program allocated.

The program is test/target/unwindless.c: main, outer, middle, site_inner, and blocks of 100 bytes.
"""

import subprocess

NO_CFI = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-O1"]


def losses_of(found):
    return {loss["name"]: loss for loss in found["losses"]}


def test_stacks_cut_short(run, target, heapscope):
    """Counted are 200,000 allocations, not the samples whose stacks were walked."""
    done = run([target("unwindless", *NO_CFI, "-DMIDDLE_RBP"), 200000], env={"HEAPSCOPE_SEED": 1})
    found = done.report()
    loss = losses_of(found)["stack_cut_no_info"]
    total = found["totals"]["alloc"]
    assert total["count_low"] * 0.99 <= loss["allocations"] <= total["count"] * 1.001
    assert total["bytes_low"] * 0.99 <= loss["bytes"] <= total["bytes"]
    assert loss["count"] < loss["allocations"] / 20 and not loss["is_serious"] and not found["is_incomplete"]
    text = " ".join(heapscope("report", done.file).stdout.split())
    assert f"without unwind information: {loss['allocations']:,.0f} of " in text and "95 % confidence" in text


def names_of_stacks(found):
    return {tuple(f["function"] for f in stack["frames"]) for stack in found["stacks"]}


def test_frames_skipped_by_a_guess(run, target, heapscope, tmp_path):
    """middle has neither unwind information nor a frame pointer: what is in the register is that of main."""
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
    """With frame pointers the same code is followed whole; nobody can know, so the mark is there too."""
    found = run([target("unwindless", *NO_CFI, "-fno-omit-frame-pointer"), 20000], "-i", 1).report("--top", "all")
    assert any(s[:3] == ("site_inner", "middle", "outer") for s in names_of_stacks(found))
    assert losses_of(found)["stack_guessed"]["allocations"] == 20000


def test_no_guess_with_unwind_information(run, target):
    found = run([target("unwindless", "-fomit-frame-pointer"), 20000], "-i", 1).report()
    assert found["losses"] == []
