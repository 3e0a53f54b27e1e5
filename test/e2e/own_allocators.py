"""Programs with an embedded allocator."""

import pathlib

import pytest
from conftest import TARGETS

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
ARCHIVES = {"jemalloc": "libjemalloc.a", "tcmalloc": "libtcmalloc_minimal.a"}
LINKED = ("-pthread", "-ldl", "-lm", "-lstdc++")
ALL = ["toy", *ARCHIVES]
POSITIONS = pytest.mark.parametrize("position", [(), ("-no-pie",)], ids=["pie", "no-pie"])


def flags_of(allocator, position=()):
    """Returns the linker flags of an allocator; "toy" is that of the tests."""
    if allocator == "toy":
        return ("-xc", str(TARGETS / "toy_linked.c"), "-xnone", *LINKED, *position)
    archive = LIBRARIES / ARCHIVES[allocator]
    if not archive.exists():
        pytest.skip(f"{archive} is not there")
    return ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *LINKED, *position)
