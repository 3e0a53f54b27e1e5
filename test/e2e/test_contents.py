"""`snapshot --output-contents-dir`: what each recorded live block contains, in a file of its own."""

import os
import pathlib
import stat
import struct
import subprocess

import pprof_file
import pytest
from conftest import clean_env
from test_blocks import child_of, known_blocks, number, rows


def block_files(folder):
    """The files of blocks; the folder also has never-written.txt."""
    assert (folder / "never-written.txt").is_file()
    return [file for file in folder.iterdir() if file.name.startswith("0x")]


class Recorded:
    """A program that `run` records, up to the end of its standard input."""

    def __init__(self, dist, file, program, *options):
        command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, *options, "-o", file, "--", *program]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    @property
    def pid(self):
        return child_of(self.process.pid)

    def wait_for(self, line):
        while self.process.stdout.readline() != line + "\n":
            assert self.process.poll() is None


def contents(heapscope, program, folder, out, *options):
    return heapscope("snapshot", "-p", program.pid, "--output-contents-dir", folder, "-o", out, *options)


def test_known_blocks(heapscope, root, dist, target, tmp_path):
    """Each block of the program has a file with its bytes, which pprof's samples name."""
    folder, out = tmp_path / "a folder", tmp_path / "x.pb.gz"
    with Recorded(dist, tmp_path / "x.pftrace", [target("block_list", "-pthread")]) as program:
        known = known_blocks(program.process)
        done = contents(heapscope, program, f"{folder}/", out)
    assert done.returncode == 0, done.stderr
    assert "all secrets in it" in done.stderr and "wrote the contents of" in done.stderr
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for address, (size, _) in known.items():
        file = folder / f"0x{int(address):x}"
        assert file.read_bytes() == bytes([int(size)]) * int(size)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    _, samples = pprof_file.read(root, out)
    sizes = {s.labels["address"]: s.labels["bytes"] for s in samples if s.labels["heap"] == "libc.malloc"} if samples[0].labels.get("heap") else \
        {s.labels["address"]: s.labels["bytes"] for s in samples}
    assert {file.name: file.stat().st_size for file in block_files(folder)} == sizes


def test_blocks_that_are_replaced(heapscope, dist, target, tmp_path):
    """No file is of a block that was allocated after the snapshot, or was freed before the memory was read."""
    folder, out = tmp_path / "contents", tmp_path / "x.pftrace"
    with Recorded(dist, tmp_path / "run.pftrace", [target("block_churn")]) as program:
        program.wait_for("ready")
        done = contents(heapscope, program, folder, out)
    assert done.returncode == 0, done.stderr
    assert "blocks that changed (freed or replaced meanwhile)" in done.stderr
    cut_ns = number(heapscope, out, "SELECT time_ns FROM heapscope_dumps")
    sizes = {f"0x{int(row['address']):x}": int(row["size"]) for row in rows(heapscope, out, "SELECT address, size FROM heapscope_blocks WHERE address")}
    files = [file for file in block_files(folder) if file.stat().st_size <= 8 * 72]
    assert len(files) >= 2000
    torn = 0
    for file in block_files(folder):
        assert file.stat().st_size == sizes[file.name]
    for file in files:
        data = file.read_bytes()
        times = struct.unpack(f"{len(data) // 8}Q", data[:len(data) // 8 * 8])
        assert all(time <= cut_ns for time in times) or time_is_text(data), file
        torn += len(set(times)) > 1 and not time_is_text(data)
    assert torn <= 1, "more than the one that was being filled"


def time_is_text(data):
    """Not a block of the program's loop: the buffer of its standard output, for example."""
    return b"ready" in data


@pytest.mark.costly
def test_large_blocks_and_python(heapscope, dist, tmp_path):
    """Blocks larger than a batch, and objects of Python."""
    script = "a = [b'%08d' % i * 10 for i in range(2000)]; b = b'x' * (150 << 20); print('ready', flush=True); input()"
    folder = tmp_path / "contents"
    with Recorded(dist, tmp_path / "run.pftrace", ["/usr/bin/python3", "-c", script]) as program:
        program.wait_for("ready")
        done = contents(heapscope, program, folder, tmp_path / "x.pftrace")
    assert done.returncode == 0, done.stderr
    large = [file for file in block_files(folder) if file.stat().st_size > 150 << 20]
    assert len(large) == 1 and large[0].read_bytes().count(b"x") >= 150 << 20
    objects = [file.read_bytes() for file in block_files(folder) if 100 < file.stat().st_size < 140]
    assert all(any(b"%08d" % i * 10 in data for data in objects) for i in (0, 999, 1999))
    assert "of other heaps than" in done.stderr  # those of the heap mmap


def test_folders_that_are_refused(heapscope, dist, target, tmp_path):
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    (full / "x").mkdir(parents=True)
    file.touch()
    empty = tmp_path / "empty"
    empty.mkdir()
    link.symlink_to(empty)
    with Recorded(dist, tmp_path / "run.pftrace", [target("block_list", "-pthread")]) as program:
        known_blocks(program.process)
        for folder, words in (full, "is not empty"), (file, "cannot use the folder"), (link, "symbolic link"), (f"{link}/", "symbolic link"), \
                (tmp_path / "none" / "x", "No such file"), ("/proc/1/x", "cannot use the folder"):
            out = tmp_path / "x.pb.gz"
            done = contents(heapscope, program, folder, out)
            assert done.returncode == 1 and words in done.stderr, (folder, done.stderr)
            assert "secrets" not in done.stderr and not out.exists()
        assert os.listdir(full) == ["x"] and os.listdir(empty) == []
        empty.chmod(0o755)
        assert contents(heapscope, program, empty, tmp_path / "x.pb.gz").returncode == 0
        assert stat.S_IMODE(empty.stat().st_mode) == 0o700


def test_nobody_to_read(heapscope, tmp_path):
    """The new folder does not stay when there is no such process."""
    done = heapscope("snapshot", "-p", os.getpid(), "--output-contents-dir", tmp_path / "new", "-o", tmp_path / "x.pb.gz")
    assert done.returncode == 1 and not (tmp_path / "new").exists()


def test_a_full_file_system(dist, target, tmp_path):
    """What was written is whole, and the command says how much that was."""
    folder, out = tmp_path / "small", tmp_path / "x.pb.gz"
    folder.mkdir()
    with Recorded(dist, tmp_path / "run.pftrace", [target("block_list", "-pthread")]) as program:
        known = known_blocks(program.process)
        script = 'mount -t tmpfs -o size=512k,mode=700 tmpfs "$1" || exit 77\n"$2" snapshot -p "$3" --output-contents-dir "$1" -o "$4"\n' \
                 'status=$?; ls -l "$1" | sed 1d | tr -s " " | cut -d" " -f5,9; exit $status'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", folder, dist / "bin" / "heapscope", program.pid, out],
                              capture_output=True, text=True, env=clean_env(), timeout=60, check=False)
    if done.returncode in (77, 1) and ("mount" in done.stderr or "unshare" in done.stderr):
        pytest.skip("file systems cannot be mounted here")
    assert done.returncode == 1 and "No space left on device" in done.stderr, done.stderr
    files = dict(reversed(line.split()) for line in done.stdout.splitlines())
    assert ".part" not in files and files and not out.exists()
    assert f"; {len(files):,} of them were written" in done.stderr
    sizes = {f"0x{int(address):x}": size for address, (size, _) in known.items()}
    assert all(files[name] == sizes[name] for name in files if name in sizes)


def test_another_user(dist, target, tmp_path):
    """A user may not read the memory of a process that a daemon or root records for another user."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    tmp = pathlib.Path("/tmp")
    with Recorded(dist, tmp_path / "run.pftrace", [target("block_list", "-pthread")]) as program:
        known_blocks(program.process)
        folder = tmp / f"hs-contents-{os.getpid()}"
        done = subprocess.run([dist / "bin" / "heapscope", "snapshot", "-p", program.pid, "--output-contents-dir", folder, "-o", folder / "x.pb.gz"],
                              capture_output=True, text=True, env=clean_env(), timeout=60, check=False, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1, done.stderr
    assert not folder.exists()
