"""Sampling across processes: forked children are sampled as well as others, and each process draws numbers of its own.

The programs are test/target/prefork.c: PARENT_BYTES, WORKERS, WORKER_BYTES in blocks of 100 bytes.
"""

import math

from truth import read_sites

INTERVAL = 4096


def alloc_of_processes(done):
    """What each process allocated, in the order of their pids."""
    processes = sorted(done.report()["processes"], key=lambda p: p["pid"])
    return [p["alloc"]["bytes"] for p in processes]


def test_first_samples_of_children(run, target):
    """1200 children of 20,000 bytes each: the first hit after a child has begun counts, as all others do."""
    total = 0
    for seed in range(4):
        done = run([target("prefork"), 0, 300, 20000], env={"HEAPSCOPE_SEED": seed})
        total += read_sites(done.report("--top", "all", "--view", "alloc_objects"))["site_worker"].alloc_bytes
    truth = 4 * 300 * 20000
    assert abs(total - truth) < 3 * math.sqrt(INTERVAL * truth)


def test_processes_with_a_seed(run, target):
    """They do not draw alike: neither 25 that one program starts nor 25 that it forks."""
    program = target("prefork")
    script = f"for i in $(seq 25); do {program} 200000; done"
    started = alloc_of_processes(run(["bash", "-c", script], env={"HEAPSCOPE_SEED": 3}))
    forked = alloc_of_processes(run([program, 0, 25, 200000], env={"HEAPSCOPE_SEED": 3}))
    for found in (started, forked):
        assert len([n for n in found if n > 100000]) == 25
        assert len(set(found)) > 8, "25 draws of 50 samples or so"


def test_a_seed_repeats(run, target):
    """The program that is started, and its forked children by their order, draw the same in each run."""
    runs = [alloc_of_processes(run([target("prefork"), 200000, 5, 200000], env={"HEAPSCOPE_SEED": seed}))
            for seed in (8, 8, 9)]
    assert runs[0] == runs[1] != runs[2]
    assert len(runs[0]) == 6
