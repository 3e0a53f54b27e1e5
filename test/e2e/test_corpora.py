"""Archives of fuzz inputs: what archive.py packs is what replay runs, byte by byte, and no damage is passed over."""

import pathlib
import random
import subprocess

import pytest

FUZZ = pathlib.Path(__file__).resolve().parents[2] / "fuzz"
PACK = FUZZ / "archive.py"

# A target that prints each input in hexadecimal digits, one a line.
TARGET = r"""
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    printf("input ");
    for (size_t i = 0; i < size; i++) {
        printf("%02x", data[i]);
    }
    return printf("\n") < 0;
}
"""


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    (folder / "target.c").write_text(TARGET, encoding="utf-8")
    subprocess.run(
        ["gcc", "-D_GNU_SOURCE", "-I", FUZZ, folder / "target.c", FUZZ / "replay.c", FUZZ / "archive.c", "-o", folder / "replay"],
        check=True,
    )

    def run(archive, kept):
        return subprocess.run([folder / "replay", archive, kept], capture_output=True, text=True)

    return run


def add(archive, folder, *kept):
    done = subprocess.run([PACK, "add", archive, folder, *kept], capture_output=True, text=True, check=True)
    return int(done.stdout.split(": ")[1].split()[0])


def save(folder, inputs):
    folder.mkdir(exist_ok=True)
    for i, data in enumerate(inputs):
        (folder / f"input{len(inputs)}-{i}").write_bytes(data)
    return folder


def replayed(done):
    assert done.returncode == 0, done.stderr
    return sorted(bytes.fromhex(line[6:]) for line in done.stdout.splitlines() if line.startswith("input "))


RANDOM = random.Random(7)
ODD = [bytes(range(256)), b"\\", b"\\n", b"\\\n", b"\\\\\n\0", b"\0", b"\n", b"\r\n", b"end", b"\nend\n", b"a b c", b" "]
INPUTS = ODD + [RANDOM.randbytes(n) for n in (1, 2, 3, 50, 1000, 70000)] + [bytes(RANDOM.choices(b"\\n0\n\0", k=30)) for _ in range(40)]


def test_every_input_is_replayed(replay, tmp_path):
    archive, kept = tmp_path / "x.archive", save(tmp_path / "kept", [b"by hand"])
    assert add(archive, save(tmp_path / "found", INPUTS), kept) == len(INPUTS)
    done = replay(archive, kept)
    assert replayed(done) == sorted([*INPUTS, b"by hand", b""])
    n = len(INPUTS)
    assert f"{n + 2} inputs replayed: {n} of the archive, 1 of the folder, and the empty one" in done.stdout


def test_unpacked_inputs_are_those_packed(tmp_path):
    archive, back = tmp_path / "x.archive", tmp_path / "back"
    add(archive, save(tmp_path / "found", INPUTS))
    subprocess.run([PACK, "unpack", archive, back], check=True)
    assert sorted(path.read_bytes() for path in back.iterdir()) == sorted(INPUTS)


def test_an_archive_depends_on_its_inputs_only(tmp_path):
    one, two = tmp_path / "one.archive", tmp_path / "two.archive"
    add(one, save(tmp_path / "all", INPUTS))
    add(two, save(tmp_path / "late", INPUTS[20:]))
    assert add(two, save(tmp_path / "early", INPUTS[:20])) == 20
    assert one.read_bytes() == two.read_bytes()


def test_adding_loses_nothing_and_takes_nothing_twice(replay, tmp_path):
    archive = tmp_path / "x.archive"
    add(archive, save(tmp_path / "found", INPUTS))
    kept = save(tmp_path / "kept", [b"by hand"])
    again = save(tmp_path / "again", [b"new", b"by hand", b"", INPUTS[0]])
    assert add(archive, again, kept) == 1
    assert replayed(replay(archive, tmp_path / "none")) == sorted([*INPUTS, b"new", b""])


def test_git_merges_what_two_branches_add(replay, tmp_path):
    """As .gitattributes has it: the lines of both sides."""
    parts = {"base": INPUTS[:20], "ours": INPUTS[:20] + INPUTS[20:30], "theirs": INPUTS[:20] + INPUTS[25:]}
    for name, inputs in parts.items():
        add(tmp_path / f"{name}.archive", save(tmp_path / name, inputs))
    merged = tmp_path / "merged.archive"
    with merged.open("wb") as out:
        names = [tmp_path / f"{name}.archive" for name in ("ours", "base", "theirs")]
        subprocess.run(["git", "merge-file", "-p", "--union", *names], stdout=out, check=True)
    assert set(replayed(replay(merged, tmp_path / "none"))) == {*INPUTS, b""}


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[1:],
        lambda lines: lines[:-2] + [b""],
        lambda lines: lines[:-1],
        lambda lines: lines + [b""],
        lambda lines: [lines[0], *lines[-2:]],
        lambda lines: [],
        lambda lines: [lines[0], lines[1] + b"x", *lines[2:]],
        lambda lines: [lines[0], lines[1][:-1], *lines[2:]],
        lambda lines: [lines[0], lines[1][:10], *lines[2:]],
        lambda lines: [lines[0], b"", *lines[1:]],
        lambda lines: [lines[0], lines[1][:17] + b"\\", *lines[2:]],
        lambda lines: [lines[0], lines[1][:17] + b"\\x", *lines[2:]],
        lambda lines: [lines[0], b"0" + lines[1], *lines[2:]],
    ],
)
def test_damage_fails(replay, tmp_path, damage):
    archive = tmp_path / "x.archive"
    add(archive, save(tmp_path / "found", [b"first", b"second"]))
    assert replay(archive, tmp_path / "none").returncode == 0
    archive.write_bytes(b"\n".join(damage(archive.read_bytes().split(b"\n"))))
    done = replay(archive, tmp_path / "none")
    assert done.returncode == 1
    assert "damaged or empty" in done.stderr
    packing = subprocess.run([PACK, "add", archive, tmp_path / "found"], capture_output=True, text=True)
    assert packing.returncode == 1
    assert "archive.py: " in packing.stderr


def test_a_missing_archive_fails(replay, tmp_path):
    done = replay(tmp_path / "none.archive", tmp_path / "none")
    assert done.returncode == 1
    assert "No such file" in done.stderr
