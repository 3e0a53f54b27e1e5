"""Bytes of blocks that were never written: never-written.txt of `snapshot --output-contents-dir`, and `heapscope dupes`."""

import json
import shutil
import struct

import pytest
from test_contents import Recorded, contents
from test_dupes import dupes

MIB, PAGE = 1 << 20, 4096
FIRST = PAGE - 16  # of a block that is a mapping: so many bytes are in its first page, which has the allocator's words

# What test/target/never_written.c did not write: ranges of offsets in the block.
EXPECTED = {
    "untouched": [(FIRST, MIB)],
    "cleared": [(FIRST, MIB)],
    "half": [(MIB // 2 + FIRST, MIB)],
    "sparse": [],
    "zeros": [],
    "given_back": [(16 * PAGE - 16, 24 * PAGE - 16)],
    "large": [(FIRST, 100 * MIB - 16), (100 * MIB - 16 + PAGE, 300 * MIB)],
}


@pytest.fixture(scope="module")
def snapshot(heapscope, dist, target, tmp_path_factory):
    """The snapshot of test/target/never_written.c, two folders of contents, and its blocks by name."""
    folder = tmp_path_factory.mktemp("never written")
    blocks = {}
    with Recorded(dist, folder / "run.pftrace", [target("never_written")]) as program:
        for line in iter(program.process.stdout.readline, "ready\n"):
            name, address, size = line.split()
            blocks[name] = (address, int(size))
        for name in "x", "again":
            done = contents(heapscope, program, folder / name, folder / f"{name}.pftrace")
            assert done.returncode == 0, done.stderr
        blocks["pages of large"] = mapped_pages(program.pid, *blocks["large"])
    return folder, blocks


def mapped_pages(pid, address, size):
    """The number of pages that the kernel has mapped, the page of zeros included."""
    with open(f"/proc/{pid}/pagemap", "rb") as file:
        file.seek(int(address, 16) // PAGE * 8)
        data = file.read(size // PAGE * 8)
    return sum(word >> 63 for word, in struct.iter_unpack("Q", data))


def ranges(file):
    """{address of a block: [(offset, end)]}"""
    lines = file.read_text(encoding="ascii").splitlines()
    assert lines[0] == "heapscope never-written 1" and lines[-1] == f"end {len(lines) - 2}"
    found = {}
    for line in lines[1:-1]:
        address, at, size = line.split()
        found.setdefault(address, []).append((int(at), int(at) + int(size)))
    return found


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("name", list(EXPECTED))
def test_ranges(snapshot, name):
    """The ranges are exact, and the bytes in the file are those that the program sees."""
    folder, blocks = snapshot
    address, size = blocks[name]
    assert ranges(folder / "x" / "never-written.txt").get(address, []) == EXPECTED[name]
    data = (folder / "x" / address).read_bytes()
    assert len(data) == size
    for at, end in EXPECTED[name]:
        assert data.count(0, at, end) == end - at
    assert data.count(0) == {"half": MIB // 2, "sparse": MIB // 16 * 15, "given_back": 8 * PAGE, "large": 300 * MIB - 1}.get(name, MIB)


def test_reading_changes_nothing(snapshot):
    """Snapshots do not make the kernel map pages, and the second one finds the same. The holes take no space."""
    folder, blocks = snapshot
    first, second = (ranges(folder / name / "never-written.txt") for name in ("x", "again"))
    known = [blocks[name][0] for name in EXPECTED]
    assert blocks["pages of large"] == 2
    assert [first.get(address) for address in known] == [second.get(address) for address in known]
    assert (folder / "x" / blocks["large"][0]).stat().st_blocks * 512 < 8 * MIB


def sums_of(found, key, function):
    rows = [row for row in found[key] if row["source"]["function"].split("(")[0] == function]
    return [sum(row[name] for row in rows) for name in ("bytes", "never_written_bytes", "zero_filled_bytes", "zero_filled_never_written_bytes", "sparse_bytes")]


@pytest.mark.costly
def test_places(heapscope, snapshot):
    found = dupes(heapscope, snapshot[0] / "x.pftrace", snapshot[0] / "x", "--min-bytes", 0, "--top", 1000)
    assert sums_of(found, "zero_locations", "make_untouched") == [2 * MIB, 2 * (MIB - FIRST), 2 * MIB, 2 * (MIB - FIRST), 0]
    assert sums_of(found, "zero_locations", "make_half") == [MIB // 2, MIB // 2 - FIRST, 0, 0, FIRST]
    assert sums_of(found, "zero_locations", "make_sparse") == [MIB // 2, 0, 0, 0, MIB // 2]
    assert sums_of(found, "zero_locations", "make_zeros") == [MIB, 0, MIB, 0, 0]
    assert sums_of(found, "zero_locations", "make_given_back") == [8 * PAGE, 8 * PAGE, 0, 0, 0]
    assert sums_of(found, "zero_locations", "make_large") == [300 * MIB - 8, 300 * MIB - FIRST - PAGE, 0, 0, FIRST + PAGE - 8]
    sums = found["sums"]
    # "untouched", "cleared" and "zeros" are equal: a third of what was never written in them would stay.
    assert sums["extra_never_written_bytes"] == pytest.approx(2 * (MIB - FIRST) * 2 / 3)
    assert sums["never_written_bytes"] == sum(end - at for places in EXPECTED.values() for at, end in places)
    assert sums["never_written_count"] == 5
    for rows in "zero_locations", "zero_types":
        assert sum(row["bytes"] for row in found[rows]) == \
            sums["never_written_bytes"] + sums["zero_filled_bytes"] - sums["zero_filled_never_written_bytes"] + sums["sparse_bytes"]
    sizes = [row["bytes"] for row in found["zero_locations"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found["foreign_file_count"] == 0 and found["missing_count"] == 0


def test_text(heapscope, snapshot):
    done = heapscope("dupes", snapshot[0] / "x.pftrace", "--contents-dir", snapshot[0] / "x", env={"COLUMNS": "200"})
    assert done.returncode == 0 and "never written: 303 MiB in 5 blocks" in done.stdout, done.stdout
    table = done.stdout.split("Zero bytes by place\n")[1].split("\n\n")[0]
    (large,) = [line for line in table.splitlines() if "make_large" in line]
    assert large.split()[:7] == ["300", "MiB", "300", "MiB", "7.98", "KiB", "300"]


@pytest.mark.costly
def test_without_the_file(heapscope, snapshot, tmp_path):
    """A copy of only the blocks: what was never written is not known, and is not 0."""
    shutil.copytree(snapshot[0] / "x", tmp_path / "x", ignore=lambda *_: ["never-written.txt"])
    found = dupes(heapscope, snapshot[0] / "x.pftrace", tmp_path / "x", "--min-bytes", 0, "--top", 1000)
    assert found["sums"]["never_written_bytes"] is None and found["sums"]["extra_never_written_bytes"] is None
    (half,) = [row for row in found["zero_locations"] if row["source"]["function"] == "make_half"]
    assert half["bytes"] == half["sparse_bytes"] == MIB // 2 and half["never_written_bytes"] is None
    done = heapscope("dupes", snapshot[0] / "x.pftrace", "--contents-dir", tmp_path / "x")
    assert "never written: not known" in done.stdout


@pytest.mark.costly
@pytest.mark.parametrize("damage, words", [
    (lambda text, _: text.rsplit("end", 1)[0], "is damaged"),
    (lambda text, _: text.replace("written 1", "written 2"), "is damaged"),
    (lambda text, blocks: f"heapscope never-written 1\n{blocks['half'][0]} 0 {MIB + 1}\nend 1\n", "behind the end of a block"),
    (lambda text, blocks: f"heapscope never-written 1\n{blocks['given_back'][0]} 0 {MIB}\nend 1\n", "that are not zero"),
], ids=["cut", "version", "size", "others"])
def test_damaged(heapscope, snapshot, tmp_path, damage, words):
    shutil.copytree(snapshot[0] / "x", tmp_path / "x")
    file = tmp_path / "x" / "never-written.txt"
    file.write_text(damage(file.read_text(encoding="ascii"), snapshot[1]), encoding="ascii")
    done = heapscope("dupes", snapshot[0] / "x.pftrace", "--contents-dir", tmp_path / "x", "--json")
    assert done.returncode == 1 and words in done.stderr and str(file) in done.stderr, done.stderr
    assert done.stdout == "" or not json.loads(done.stdout)
