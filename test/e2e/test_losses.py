"""What a profile lacks is told in what the program allocated.

The program is test/target/unwindless.c: main, outer, middle, site_inner, and blocks of 100 bytes.
"""

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
