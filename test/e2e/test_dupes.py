"""`heapscope dupes`: blocks with equal contents, by place and by type."""

import json
import shutil

import pytest
from test_contents import Recorded

CONFIGS, SHARED = 50, 30  # equal blocks of 1000 bytes, of two places
EXTRA = 1000 * (CONFIGS + SHARED - 1)


@pytest.fixture(scope="module")
def snapshot(heapscope, dist, target, tmp_path_factory):
    """test/target/duplicates.cc: its snapshot as a trace and as pprof, and the folder of contents."""
    folder = tmp_path_factory.mktemp("equal blocks")
    with Recorded(dist, folder / "run.pftrace", [target("duplicates")]) as program:
        program.wait_for("ready")
        done = heapscope("snapshot", "-p", program.pid, "--output-contents-dir", folder / "contents", "-o", folder / "x.pftrace")
        assert done.returncode == 0, done.stderr
    assert heapscope("export", "--with-tags", "-o", folder / "x.pb.gz", folder / "x.pftrace").returncode == 0
    return folder


def dupes(heapscope, file, folder, *options):
    done = heapscope("dupes", file, "--contents-dir", folder, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_function(found):
    """The rows of each function, one for each line, added up."""
    functions = {}
    for row in found["dupe_locations"]:
        sums = functions.setdefault(row["source"]["function"].split("(")[0], {"source": row["source"]})
        for key, value in row.items():
            sums[key] = sums.get(key, 0) + value if key != "source" else value
    return functions


@pytest.mark.parametrize("name", ["x.pftrace", "x.pb.gz"])
def test_places(heapscope, snapshot, name):
    found = dupes(heapscope, snapshot / name, snapshot / "contents", "--min-bytes", 0, "--top", 1000)
    places = by_function(found)
    configs, buffers, shapes = places["read_configs"], places["make_buffers"], places["make_shapes"]
    assert (configs["copies"], configs["bytes"], configs["block_count"]) == (CONFIGS, CONFIGS * 1000, 60)
    assert configs["extra_bytes"] == pytest.approx(EXTRA * CONFIGS / (CONFIGS + SHARED))
    assert buffers["extra_bytes"] == pytest.approx(EXTRA * SHARED / (CONFIGS + SHARED) + 19 * 8192)
    assert (buffers["zero_filled_count"], buffers["zero_filled_bytes"], buffers["zero_page_bytes"]) == (20, 20 * 8192, 20 * 8192)
    assert (shapes["copies"], shapes["block_count"]) == (5, 7)
    assert configs["source"]["filename"].endswith("duplicates.cc") and configs["source"]["line"] > 0


def test_sums(heapscope, snapshot):
    """Places, types and groups add up to the totals, and these are as dupefinder counts them."""
    found = dupes(heapscope, snapshot / "x.pftrace", snapshot / "contents", "--min-bytes", 0, "--top", 100000)
    sums = found["sums"]
    assert found["num_total"] == sums["block_count"] == found["num_uniques"] + found["num_dupes"]
    assert found["total_bytes"] == found["unique_bytes"] + found["duped_bytes"]
    assert found["duped_bytes"] == pytest.approx(sums["extra_bytes"])
    for rows in "dupe_locations", "dupe_types", "groups":
        assert sum(row["extra_bytes"] for row in found[rows]) == pytest.approx(sums["extra_bytes"])
    assert found["missing_count"] == 0 and found["foreign_file_count"] == 0 and found["timestamp"] > 1.6e9
    largest = found["groups"][:2]
    assert [(group["copies"], group["size_bytes"]) for group in largest] == [(20, 8192), (CONFIGS + SHARED, 1000)]


def test_types(heapscope, snapshot):
    found = dupes(heapscope, snapshot / "x.pftrace", snapshot / "contents", "--min-bytes", 0)
    (shape,) = [row for row in found["dupe_types"] if row["type"] == "Shape"]
    assert (shape["copies"], shape["block_count"], shape["extra_bytes"]) == (5, 7, pytest.approx(4 * 248))


def test_text(heapscope, snapshot):
    done = heapscope("dupes", snapshot / "x.pftrace", "--contents-dir", snapshot / "contents", env={"COLUMNS": "120"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for words in "were compared", "zero-filled: ", "160 KiB", "Duplicates by place", "make_buffers", "Equal blocks", "duplicates.cc:":
        assert words in done.stdout, done.stdout
    few = heapscope("dupes", snapshot / "x.pftrace", "--contents-dir", snapshot / "contents", "--min-bytes", "100K").stdout
    assert "make_buffers" in few and "read_configs" not in few


def test_missing_and_foreign_files(heapscope, snapshot, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(snapshot / "contents", folder)
    gone = sorted(folder.glob("0x*"))[:3]
    for file in gone:
        file.unlink()
    (folder / "notes.txt").write_text("x")
    (folder / "0x1").mkdir()
    found = dupes(heapscope, snapshot / "x.pftrace", folder)
    assert (found["missing_count"], found["foreign_file_count"]) == (3, 2)
    words = heapscope("dupes", snapshot / "x.pftrace", "--contents-dir", folder).stdout
    assert "3 have no file" in words and "2 entries of the folder" in " ".join(words.split())


@pytest.mark.parametrize("damage, words", [
    (lambda file: file.write_bytes(file.read_bytes() + b"x"), "bytes, but the block has"),
    (lambda file: (file.unlink(), file.mkdir()), "is not a regular file"),
    (lambda file: (file.unlink(), file.symlink_to("/etc/passwd")), "is a symbolic link"),
], ids=["size", "folder", "link"])
def test_damaged_files(heapscope, snapshot, tmp_path, damage, words):
    folder = tmp_path / "copy"
    shutil.copytree(snapshot / "contents", folder)
    file = sorted(folder.glob("0x*"))[5]
    damage(file)
    done = heapscope("dupes", snapshot / "x.pftrace", "--contents-dir", folder)
    assert done.returncode == 1 and f"{file}: " in done.stderr and words in done.stderr, done.stderr


def test_wrong_use(heapscope, snapshot, run, tmp_path):
    done = heapscope("dupes", snapshot / "x.pftrace")
    assert done.returncode == 2 and "--contents-dir" in done.stderr
    done = heapscope("dupes", snapshot / "x.pftrace", "--contents-dir", tmp_path / "none")
    assert done.returncode == 1 and "No such file" in done.stderr
    plain = run(["/usr/bin/python3", "-c", "pass"]).file
    done = heapscope("dupes", plain, "--contents-dir", tmp_path)
    assert done.returncode == 1 and "does not list blocks" in done.stderr


@pytest.mark.costly
def test_python(heapscope, dist, tmp_path):
    """Equal strings of Python: a list of many, each an object of its own."""
    script = "a = [('%d' % (i % 2)) * 100 for i in range(3000)]; print('ready', flush=True); input()"
    with Recorded(dist, tmp_path / "run.pftrace", ["/usr/bin/python3", "-c", script]) as program:
        program.wait_for("ready")
        done = heapscope("snapshot", "-p", program.pid, "--output-contents-dir", tmp_path / "c", "-o", tmp_path / "x.pb.gz")
        assert done.returncode == 0, done.stderr
    found = dupes(heapscope, tmp_path / "x.pb.gz", tmp_path / "c", "--min-bytes", 0, "--top", 50)
    sizes = [(group["copies"], group["size_bytes"]) for group in found["groups"]]
    assert len([copies for copies, size in sizes if copies > 1400 and size == 149]) == 2, sizes
    assert any(row["type"] == "str" and row["copies"] > 2800 for row in found["dupe_types"])
