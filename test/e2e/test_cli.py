"""The command line itself: help, version, wrong usage, and a tree that can be moved."""

import re
import shutil
import subprocess

import pytest


def commands(heapscope):
    """The commands that --help lists."""
    text = heapscope("--help").stdout.partition("\nOptions:\n")[0]
    return re.findall(r"^  ([a-z]+) +\S", text, re.M)


def test_help_lists_commands(heapscope):
    done = heapscope("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Usage: heapscope COMMAND" in done.stdout
    assert {"run", "report", "export"} <= set(commands(heapscope))


def test_each_command_has_help(heapscope):
    for name in commands(heapscope):
        done = heapscope(name, "--help")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"heapscope {name}: ")
        assert f"Usage: heapscope {name} [OPTIONS]" in done.stdout
        assert done.stderr == ""
        assert heapscope("help", name).stdout == done.stdout


def test_help_fits_the_terminal(heapscope):
    for name in commands(heapscope):
        lines = heapscope(name, "--help", env={"COLUMNS": 80}).stdout.splitlines()
        assert max(map(len, lines)) <= 80, max(lines, key=len)


def test_version(heapscope):
    done = heapscope("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"heapscope \d+\.\d+\.\d+\n", done.stdout)


def test_nothing_to_do_is_wrong_usage(heapscope):
    done = heapscope()
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: heapscope COMMAND" in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["rnu"], "'rnu' is not a command; did you mean 'run'?"),
        (["help", "rnu"], "'rnu' is not a command; did you mean 'run'?"),
        (["frobnicate"], "'frobnicate' is not a command"),
        (["--frobnicate"], "'--frobnicate' is not an option"),
        (["report"], "no file"),
        (["report", "--intervall", "x"], "unknown option '--intervall'"),
        (["run"], "no program"),
        (["run", "-i", "0", "--", "true"], "-i: '0' is too small: at least 1"),
        (["run", "--intervall=1", "--", "true"], "did you mean '--interval'?"),
    ],
)
def test_wrong_usage(heapscope, args, words):
    done = heapscope(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert words in lines[0]
    assert lines[-1].startswith("heapscope: Try 'heapscope ")
    assert all(line.startswith("heapscope: ") for line in lines)


def test_full_disk_is_a_failure(dist):
    for args in (["--help"], ["--version"], ["run", "--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [dist / "bin" / "heapscope", *args], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 1, args
        assert b"heapscope: standard output: No space left on device" in done.stderr


def test_tree_can_be_moved(heapscope, dist, tmp_path):
    """A copy of the tree under another name, started through a link as in PATH."""
    moved = tmp_path / "else where"
    shutil.copytree(dist, moved, symlinks=True)
    link = tmp_path / "hs"
    link.symlink_to(moved / "bin" / "heapscope")
    trace = tmp_path / "t.pftrace"
    done = heapscope("run", "-q", "-o", trace, "--", "/bin/true", binary=link)
    assert done.returncode == 0, done.stderr
    assert trace.exists()
