"""JavaScript functions in the stacks of node, without flags: what V8 itself says of the same moments.

js_stacks.js allocates a buffer of another size at each moment, and says what the JavaScript stack was, by
Error.captureStackTrace.
"""

import collections
import json
import re
import shutil
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace

NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(not NODE, reason="there is no node")

FRAMES = """SELECT f.id, m.name AS mapping, f.name AS name, s.source_file AS file, s.line_number AS line
    FROM stack_profile_frame f JOIN stack_profile_mapping m ON m.id = f.mapping
    LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id"""
CALLSITES = "SELECT id, parent_id, frame_id FROM stack_profile_callsite"
ALLOCATED = """SELECT callsite_id, sum(count) AS count, sum(size) AS size FROM heap_profile_allocation
    WHERE count > 0 AND heap_name = 'libc.malloc' GROUP BY 1"""

# Functions of V8 itself have no file; of ours, only these have none.
EVALUATED = ("eval", "evaluated")
# A method of node's whose name is computed when the program runs. Such a name is not read.
COMPUTED = "[nodejs.internal.kHybridDispatch]"
# How V8 calls the function that gives the fields of a class their values. From V8 12 on, its name in the heap is that
# of the class, as that of the constructor that calls it.
FIELDS = "<instance_members_initializer>"


# Waits for a line, then allocates 100 buffers.
ATTACHED = """
const kept = [];
function inner() { kept.push(Buffer.allocUnsafeSlow(54321)); }
const outer = () => inner();
for (let i = 0; i < 100; i++) outer();
process.stdin.on('data', function work() { for (let i = 0; i < 100; i++) outer(); console.log('done'); });
console.log('ready');
"""

# The function objects of one round are garbage in the next, and the collector puts others at their addresses. Each of
# the 7 functions allocates blocks of a size of its own.
REUSED = """
const makers = [%s];
const call = (f) => f();
for (let i = 0; i < 1400; i++) {
  gc({ type: 'minor' });
  call(makers[i %% 7]());
}
""" % ", ".join(f"() => function f{i}() {{ return Buffer.allocUnsafeSlow({20000 + i}); }}" for i in range(7))


@pytest.fixture
def stacks(heapscope):
    """stacks(FILE): [(frames from the innermost one, bytes, count)], a frame is (mapping, name, file, line)."""

    def rows(file, sql):
        done = heapscope("query", "--format", "json", file, sql)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def call(file):
        frames = {row["id"]: (row["mapping"], row["name"], row["file"], row["line"]) for row in rows(file, FRAMES)}
        sites = {row["id"]: row for row in rows(file, CALLSITES)}
        found = []
        for row in rows(file, ALLOCATED):
            site, stack = row["callsite_id"], []
            while site is not None:
                stack.append(frames[sites[site]["frame_id"]])
                site = sites[site]["parent_id"]
            found.append((stack, row["size"], row["count"]))
        return found

    return call


def is_ours(name, file):
    """Whether both sides show this function: V8 names its own functions where they have frames of other kinds, too."""
    return bool(file) and not file.startswith("wasm:") or name in EVALUATED


def without_fields(names):
    """Functions that give fields their values by the name of their caller, the constructor."""
    return tuple(names[i + 1] if each[0] == FIELDS else each for i, each in enumerate(names))


def of_moment(stack):
    """The JavaScript functions from `moment` outwards, if it allocates a buffer there; None otherwise. V8 may have put
    `moment` into its caller."""
    names = [(name, file or None) for mapping, name, file, _ in stack if mapping == "/[javascript]"]
    while names[:1] == [("Uint8Array", None)] or names and names[0][1] in ("node:buffer", "node:internal/buffer"):
        names.pop(0)
    is_buffer = any("NodeArrayBufferAllocator" in (name or "") for _, name, _, _ in stack[:3])
    is_ours_first = names and (names[0][1] or "").endswith("js_stacks.js") or names[:1] == [("eval", None)]
    return without_fields([each for each in names if is_ours(*each)]) if is_buffer and is_ours_first else None


def said(moments):
    """The same from what the program says: {stack: bytes}."""
    bytes_of = collections.Counter()
    for moment in moments:
        named = [(name if name and name != COMPUTED else "(anonymous)", file) for name, file in moment["stack"]]
        named = [(name, file) for name, file in named if is_ours(name, file)]
        bytes_of[without_fields(named)] += moment["bytes"]
    return bytes_of


def record(run, root, tmp_path, *flags, interval=1, moments=1200, repeats=1):
    """Runs js_stacks.js; returns the recording and what it says."""
    result = tmp_path / "result.json"
    program = root / "test" / "target" / "js_stacks.js"
    done = run([NODE, "--expose-gc", *flags, program, result, moments, 11, repeats], "-i", interval)
    assert done.status == 0, done.stderr
    return done, json.loads(result.read_text())


def found_moments(recorded):
    """{stack: bytes} of the moments in a recording."""
    bytes_of = collections.Counter()
    for stack, size, count in recorded:
        names = of_moment(stack)
        if names and size >= 4096 * count:  # the program has a smaller buffer, too
            bytes_of[names] += size
    return bytes_of


def differences(found, wanted):
    """The stacks of which one side has other bytes than the other side."""
    return [(stack, found[stack], wanted[stack]) for stack in {**found, **wanted} if found[stack] != wanted[stack]]


OTHERS = [["--no-opt"], ["--always-sparkplug", "--no-opt"], ["--no-turbo-inlining", "--stress-compaction"],
          ["--no-turbo-inlining", "--gc-interval=200"]]


@pytest.mark.costly
@pytest.mark.parametrize("flags", [["--no-turbo-inlining"], *(pytest.param(f, marks=pytest.mark.slow) for f in OTHERS)],
                         ids=" ".join)
def test_same_as_v8(run, root, stacks, tmp_path, flags):
    done, moments = record(run, root, tmp_path, *flags)
    assert len(moments) == len({moment["bytes"] for moment in moments}) == 1500
    assert not differences(found_moments(stacks(done.file)), said(moments))


REPEATED = [["--no-opt"], ["--no-turbo-inlining", "--stress-compaction"], ["--no-turbo-inlining", "--gc-interval=200"]]


@pytest.mark.costly
@pytest.mark.parametrize("flags", [REPEATED[0], *(pytest.param(f, marks=pytest.mark.slow) for f in REPEATED[1:])],
                         ids=" ".join)
def test_same_as_v8_when_stacks_come_again(run, root, heapscope, stacks, tmp_path, flags):
    """Most stacks are found without a walk, by what earlier walks have found, while collections go on."""
    done, moments = record(run, root, tmp_path, *flags, moments=2400, repeats=24)
    assert len(moments) == len({moment["bytes"] for moment in moments}) == 3000
    assert not differences(found_moments(stacks(done.file)), said(moments))
    health = heapscope("report", "--health", done.file).stdout
    count = {what: int(re.search(f"([0-9,]+)  +stacks {what}", health)[1].replace(",", ""))
             for what in ("walked frame by frame", "recognized without a walk")}
    assert count["recognized without a walk"] > 0.6 * sum(count.values()), count


@pytest.mark.costly
def test_other_functions_at_the_same_addresses(run, stacks, tmp_path):
    script = tmp_path / "reused.js"
    script.write_text(REUSED)
    done = run([NODE, "--expose-gc", "--no-opt", script], "-i", 1)
    assert done.status == 0, done.stderr
    counts = collections.Counter()
    for stack, size, count in stacks(done.file):
        if 20000 * count <= size < 20007 * count:
            own = [name for mapping, name, file, _ in stack if file == str(script)]
            counts[(size // count - 20000, *own[:2])] += count
    assert counts == {(i, f"f{i}", "call"): 200 for i in range(7)}


def is_part(part, whole):
    """Whether `whole` contains the elements of `part` in the same order."""
    rest = iter(whole)
    return all(element in rest for element in part)


@pytest.mark.costly
def test_functions_that_v8_inlines(run, root, stacks, tmp_path):
    """By default V8 puts functions into others: those are not seen, all others are, in the right order."""
    done, moments = record(run, root, tmp_path, moments=4000)
    found, wanted = found_moments(stacks(done.file)), said(moments)
    assert sum(found.values()) == sum(wanted.values())
    for stack in found:
        assert stack in wanted or any(is_part(stack, whole) for whole in wanted), stack


def test_whole_stacks(run, root, stacks, tmp_path):
    done, _ = record(run, root, tmp_path)
    counts = collections.Counter()
    for stack, _, count in stacks(done.file):
        is_whole = stack[-1][1] in ("_start", "_dl_start_user", "clone3", "__clone3", "_dl_start")
        counts[is_whole] += count
    assert counts[True] >= 0.99 * (counts[True] + counts[False])


@pytest.mark.costly
def test_lines_where_functions_begin(run, root, stacks, tmp_path):
    done, _ = record(run, root, tmp_path, "--no-opt", moments=300)
    source = (root / "test" / "target" / "js_stacks.js").read_text().split("\n")
    lines = {}
    for stack, _, _ in stacks(done.file):
        lines.update({name: line for mapping, name, file, line in stack
                      if mapping == "/[javascript]" and file and file.endswith("js_stacks.js")})
    begins = {"moment": "function moment(", "next": "function next(", "many": "function many(", "open": "  open(walk)",
              "mapped": "function mapped(", "replacer": "function replacer(", "asynchronous": "function asynchronous(",
              "main": "function main("}
    for name, text in begins.items():
        assert text in source[lines[name] - 1], name


def test_other_programs_have_none(run, stacks):
    done = run(["perl", "-e", "print join ',', map { $_ x 100 } 1..1000"], "-i", 1)
    assert not any(frame[0] == "/[javascript]" for stack, _, _ in stacks(done.file) for frame in stack)


def test_attached(attach, stacks, tmp_path):
    """A process that runs already, and has run the functions before."""
    need_ptrace()
    script = tmp_path / "a b.js"
    script.write_text(ATTACHED)
    command = [NODE, "--no-turbo-inlining", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as program:
        assert program.stdout.readline() == "ready\n"
        attached = attach(program.pid)
        program.stdin.write("go\n")
        program.stdin.flush()
        assert program.stdout.readline() == "done\n"
        attached.stop()
        program.stdin.close()
    found = [(stack, count) for stack, size, count in stacks(attached.file) if size == 54321 * count]
    assert sum(count for _, count in found) == 100
    for stack, _ in found:
        own = [name for mapping, name, file, _ in stack if mapping == "/[javascript]" and file == str(script)]
        assert own == ["inner", "outer", "work"]


@pytest.mark.costly
def test_a_v8_without_symbols(run, report, stacks, tmp_path):
    """The report names it once, with the flag that helps."""
    other = tmp_path / "node"
    with open(NODE, "rb") as file:
        other.write_bytes(file.read().replace(b"v8dbg_off_fp_function", b"v8dbg_off_fp_functiom"))
    other.chmod(0o755)
    script = tmp_path / "known.js"
    script.write_text(ATTACHED + "process.exit(0);")
    done = run([other, script], "-i", 4096)
    assert done.status == 0
    assert not any(frame[0] == "/[javascript]" for frames, _, _ in stacks(done.file) for frame in frames)
    assert "unread_javascript" in json.dumps(report(done.file))
