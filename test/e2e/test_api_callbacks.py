"""Callbacks, limits and snapshots of programs with heaps of their own: test/target/api_callbacks.c."""

import pytest


@pytest.fixture(scope="module")
def program(target, dist):
    return target("api_callbacks", "-I", str(dist / "include"), "-L", str(dist / "lib"), "-lheapscope",
                  f"-Wl,-rpath,{dist / 'lib'}")


def heaps_of(report, file, *options):
    """{name: (live bytes, live objects, allocated bytes)} of the only process."""
    found = {}
    for heap in report(file, *options)["heaps"]:
        sums = found.setdefault(heap["name"], [0, 0, 0])
        for k, (figure, unit) in enumerate((("live", "bytes"), ("live", "count"), ("alloc", "bytes"))):
            sums[k] += heap[figure][unit]
    return found


def test_callbacks_may_do_anything(run, report, program):
    done = run([program, "callbacks"], "-i", 1)
    assert done.status == 0 and done.stdout.split("\n")[:2] == ["snapshot 0", "calls 2"]
    found = heaps_of(report, done.file)
    assert found["outer"] == [33, 1, 33] and found["inner"] == [77, 1, 77]


def test_as_many_heaps_as_there_may_be(run, report, program):
    done = run([program, "many"], "-i", 1)
    assert "heaps 255" in done.stdout
    found = heaps_of(report, done.file)
    assert len(found) == 256  # with malloc's
    for i in range(255):
        assert found[f"heap {i}"] == [10 + i, 1, 1010 + i]


def test_two_heaps_of_one_name(run, report, program):
    """Their blocks are told apart, and unknown ones are ignored."""
    done = run([program, "twice"], "-i", 1)
    assert heaps_of(report, done.file)["same"] == [1000, 1, 1100]


def test_snapshots_are_exact_at_the_call(run, report, program):
    done = run([program, "snapshots"], "-i", 1)
    assert done.stdout.split("\n")[:3] == ["snapshot 0"] * 3
    for name, live in (("ten", [1000, 10]), ("five", [500, 5]), ("none", [0, 0])):
        assert heaps_of(report, done.file, "--snapshot", name)["arena"][:2] == live, name


def test_sizes_beyond_all_memory(run, report, program):
    """A block counts as 2^48 - 1 bytes at most, wherever it is added up."""
    done = run([program, "sizes"], "-i", 1)
    assert done.stdout == "allocated 256\n"
    heap = next(heap for heap in report(done.file)["heaps"] if heap["name"] == "large")
    most, other = 2**48 - 1, 2**40
    assert heap["live"] == {"bytes": other, "count": 1} and heap["alloc"] == {"bytes": most + other, "count": 2}
    assert heap["peak"] == {"bytes": most, "count": 1}
