"""./dev and .ci/run: copies of them, with substitutes for the programs that they start."""

import os
import shutil
import subprocess

import pytest

LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)"


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def dev_setup(root, tmp_path, apt_get):
    """./dev setup where no package is installed, with this apt-get."""
    shutil.copy(root / "dev", tmp_path / "dev")
    tools = tmp_path / "tools"
    script(tools / "dpkg-query", "exit 1")
    script(tools / "sudo", 'exec "$@"')
    script(tools / "sleep", "exit 0")
    script(tools / "apt-get", f'echo "$*" >>"{tmp_path}/asked"\n{apt_get}')
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run([tmp_path / "dev", "setup"], env=env, capture_output=True, text=True, check=False, timeout=60)
    return done, (tmp_path / "asked").read_text().splitlines()


def test_another_apt_is_waited_for(root, tmp_path):
    busy = f'n=$(wc -l <"{tmp_path}/asked"); [ "$n" -gt 3 ] || {{ echo "{LOCKED}" >&2; exit 100; }}'
    done, asked = dev_setup(root, tmp_path, busy)
    assert done.returncode == 0, done.stderr
    assert ["update" in line for line in asked] == [True, True, True, True, False]
    assert "install" in asked[-1] and all("DPkg::Lock::Timeout=" in line for line in asked)
    waits = [line for line in done.stderr.splitlines() if "waiting for another apt" in line]
    assert len(waits) == 1 and " libelf-dev" in waits[0]


def test_an_apt_that_fails_is_not_asked_again(root, tmp_path):
    done, asked = dev_setup(root, tmp_path, 'echo "E: no such package" >&2; exit 100')
    assert done.returncode != 0 and "no such package" in done.stderr
    assert len(asked) == 1


def test_a_lock_that_stays_is_given_up(root, tmp_path):
    done, asked = dev_setup(root, tmp_path, f'echo "{LOCKED}" >&2; exit 100')
    assert done.returncode != 0 and "Could not get lock" in done.stderr
    assert 10 < len(asked) < 1000


# --- .ci/run -------------------------------------------------------------------------------------------


def ci(root, folder):
    """.ci/run of a small project in this folder: where its steps ran, and what files they found
    there."""
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(root / ".ci" / "run", folder / ".ci" / "run")
    (folder / "build").mkdir()
    (folder / "build" / "old").write_text("")
    (folder / "source.c").write_text("")
    note = 'echo "$1|$PWD|$(git ls-files --others | grep -c source.c)|$(ls build 2>/dev/null)" >>"$NOTES"'
    script(folder / "dev", f'{note}\necho "3 passed, 0 failed, 1 skipped"')
    env = {**os.environ, "NOTES": str(folder.parent / "notes")}
    done = subprocess.run([folder / ".ci" / "run"], env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed, 1 skipped"
    return [line.split("|") for line in (folder.parent / "notes").read_text().splitlines()]


def test_everything_runs_at_a_path_with_a_blank(root, tmp_path):
    steps = ci(root, tmp_path / "clone")
    assert steps == [[step, str(tmp_path / "clone" / "build" / "heapscope copy"), "1", ""] for step in ("lint", "test")]


def test_a_clone_at_such_a_path_is_not_copied(root, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path / "my heapscope"], check=True)
    steps = ci(root, tmp_path / "my heapscope")
    assert steps == [[step, str(tmp_path / "my heapscope"), "1", "old"] for step in ("lint", "test")]


@pytest.mark.costly
def test_a_program_runs_where_the_user_is(root, tmp_path):
    """Its arguments, and the file to write, may be paths."""
    shutil.copy(root / "dev", tmp_path / "dev")
    tools, folder = tmp_path / "tools", tmp_path / "a folder"
    folder.mkdir()
    for name in ("dpkg-query", "meson", "ninja"):
        script(tools / name, "exit 0")
    script(tmp_path / "build/dist/bin/heapscope", 'echo "$PWD: $*"')
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(["../dev", "run", "-o", "x", "--", "cat", "y"], cwd=folder, env=env, capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{folder}: run -o x -- cat y"
