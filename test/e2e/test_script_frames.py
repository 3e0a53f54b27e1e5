"""Frames of Perl, PHP and Ruby: at each of a thousand moments they are those that the interpreter itself names."""

import csv
import io
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading

import pytest
from conftest import clean_env

HERE = pathlib.Path(__file__).parent
SIZE_MIN, SIZE_STEP = 20007, 64  # no block of an interpreter's own has such a size, plus at most 32

LANGUAGES = {
    "perl": {"program": "perl", "file": "script_moments.pl", "package": "perl"},
    "php": {"program": "php", "file": "script_moments.php", "package": "php-cli", "innermost": "str_repeat"},
    "ruby": {"program": "ruby", "file": "script_moments.rb", "package": "ruby", "innermost": "*"},
}


def steps_of(text, language):
    """The names of the steps in a script."""
    pattern = {"perl": r"^    (\w+) =>|, (\w+) =>", "php": r"^    '(\w+)' =>", "ruby": r'^  "(\w+)" =>'}[language]
    return sorted({name for names in re.findall(pattern, text, re.M) for name in ([names] if isinstance(names, str) else names) if name})


def needed(language):
    program = shutil.which(LANGUAGES[language]["program"], path="/usr/bin")
    if not program:
        pytest.skip(f"the package {LANGUAGES[language]['package']} is not installed")
    return program


def paths_of(language, script, count):
    chosen = random.Random(48)
    steps = steps_of(script.read_text(), language)
    assert len(steps) >= 15
    for i in range(count):
        yield " ".join([*chosen.choices(steps, k=chosen.randrange(7)), str(SIZE_MIN + i * SIZE_STEP)])


def command_of(language, folder, count):
    script = HERE / LANGUAGES[language]["file"]
    folder.mkdir(exist_ok=True)
    paths, included = folder / "paths", folder / "included.php"
    paths.write_text("\n".join(paths_of(language, script, count)) + "\n")
    included.write_text("<?php\n\n  go();\n")
    return [needed(language), script, paths, included]


def rows(heapscope, file, sql):
    done = heapscope("query", "--format", "csv", file, sql)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def number_of(text):
    return int(text) if text.isdigit() else 0


def stacks_of(heapscope, file):
    """What was recorded: size -> the stack of its block, innermost frame first, as rows of heapscope_nodes."""
    nodes = {row["id"]: row for row in rows(heapscope, file, "SELECT id, parent_id, name, source_file, line_number, module, kind FROM heapscope_nodes")}
    found = {}
    for row in rows(heapscope, file, f"SELECT size, node_id FROM heapscope_blocks WHERE size >= {SIZE_MIN}"):
        moment, more = divmod(int(row["size"]) - SIZE_MIN, SIZE_STEP)
        stack, node = [], nodes.get(row["node_id"])
        while node:
            stack.append(node)
            node = nodes.get(node["parent_id"])
        if more <= 40:
            found.setdefault(SIZE_MIN + moment * SIZE_STEP, []).append(stack)
    return found


def script_frames(stack, language):
    """(name, file, line) of the frames of a script; a function that is not written in it has none of both."""
    frames = [(node["name"], node["source_file"].replace("[NULL]", ""), number_of(node["line_number"])) for node in stack if node["module"] == f"[{language}]"]
    innermost = LANGUAGES[language].get("innermost")
    return frames[1:] if innermost and frames and frames[0][0] == innermost else frames


def told(line, language):
    size, *frames = line.split("\t")
    return int(size), [(name, file, int(number)) for name, file, number in (frame.rsplit("|", 2) for frame in frames)]


def are_same(found, expected, language):
    """Ruby says of a method in C where it was called; we say of its caller, which is the next frame."""
    if language == "ruby":
        return len(found) == len(expected) and all(f == e or f == (e[0], "", 0) for f, e in zip(found, expected))
    return found == expected


def record(dist, file, command, *options):
    """Records a program that kills itself at the end."""
    command = [dist / "bin" / "heapscope", "run", "-q", *(options or ["-i", 1, "--blocks"]), "-o", file, "--", *command]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=clean_env(USE_ZEND_ALLOC="0"), check=False)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    return done


def assert_told(heapscope, file, language, stdout, count):
    """What was recorded of all moments is what the interpreter said."""
    expected = dict(told(line, language) for line in stdout.splitlines())
    assert len(expected) == count
    found = stacks_of(heapscope, file)
    wrong = [(frames, [script_frames(stack, language) for stack in found.get(size, [])]) for size, frames in expected.items()
             if not any(are_same(script_frames(stack, language), frames, language) for stack in found.get(size, []))]
    assert not wrong, f"{len(wrong)} of {count} differ, as {wrong[0]}"


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_as_the_interpreter_says(dist, heapscope, tmp_path, language):
    """At 1,000 moments the frames of the script are those of caller(), debug_backtrace() and caller_locations()."""
    command = command_of(language, tmp_path / "a folder", 1000)
    file = tmp_path / "x.pftrace"
    done = record(dist, file, command)
    assert_told(heapscope, file, language, done.stdout, 1000)


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_attached(dist, heapscope, tmp_path, language):
    """The same in a program that has been running."""
    command, file = command_of(language, tmp_path / "a folder", 100), tmp_path / "x.pftrace"
    env = clean_env(USE_ZEND_ALLOC="0", MOMENTS_WAIT="1")
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=env) as program:
        assert program.stdout.readline() == "ready\n"
        attach = [dist / "bin" / "heapscope", "attach", "-q", "-i", 1, "--blocks", "-o", file, program.pid]
        with subprocess.Popen(list(map(str, attach)), env=clean_env()) as recorder:
            threading.Thread(target=lambda: recorder.wait() == 0 or program.kill()).start()
            stdout = program.stdout.read()
        assert recorder.returncode == 0
    assert_told(heapscope, file, language, stdout, 100)


@pytest.mark.costly
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_stacks_are_whole(dist, heapscope, tmp_path, language):
    """With frames of a script in them, 99 % of the stacks lead to the beginning of the program or of a thread."""
    file = tmp_path / "x.pftrace"
    record(dist, file, command_of(language, tmp_path, 300), "-i", 1)
    nodes = {row["id"]: row for row in rows(heapscope, file, "SELECT id, parent_id, name, module, kind FROM heapscope_nodes")}
    counts = {True: 0.0, False: 0.0}
    for row in rows(heapscope, file, "SELECT node_id, sum(alloc_count) AS count FROM heapscope_samples GROUP BY 1"):
        node, is_whole = nodes[row["node_id"]], True
        while node:
            is_whole = is_whole and not (node["kind"] == "marker" and node["module"] == "/ERROR")
            node = nodes.get(node["parent_id"])
        counts[is_whole] += float(row["count"])
    assert counts[True] > 1000
    assert counts[True] >= 0.99 * sum(counts.values()), counts


def test_left_out(dist, heapscope, tmp_path):
    """--native-only is for all interpreters: the run loop of Perl is in the stacks then, and its functions are not."""
    names = {}
    for options in [], ["--native-only"]:
        file = tmp_path / "x.pftrace"
        record(dist, file, command_of("perl", tmp_path, 20), "-i", 1, *options)
        found = rows(heapscope, file, "SELECT DISTINCT name FROM heapscope_nodes WHERE module = '[perl]' OR name = 'Perl_runops_standard'")
        names[bool(options)] = {row["name"] for row in found}
    assert names[True] == {"Perl_runops_standard"}
    assert names[False] > {"main::go", "(main program)"}
