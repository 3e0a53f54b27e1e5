"""Java frames: whole stacks through HotSpot's code, with the names, files and lines that Java itself sees, without flags
of the JVM."""

import csv
import io
import os
import re
import shutil
import subprocess

import pytest
from conftest import TARGETS, clean_env
from resident import need_ptrace

MOMENTS = 1000
# How often code runs before it allocates: each moment comes after so many calls. -Xint would take minutes for more.
OPTIONS = [
    ([], 97),
    (["-Xint"], 7),
    (["-Xcomp"], 7),
    (["-XX:TieredStopAtLevel=1"], 97),
    (["-XX:-TieredCompilation"], 97),
    (["-XX:-SegmentedCodeCache"], 97),
    (["-XX:+UseSerialGC"], 97),
    (["-XX:+UseParallelGC"], 97),
    (["-XX:+UseZGC"], 97),
    (["-XX:+UseShenandoahGC"], 97),
    (["-XX:+PreserveFramePointer"], 97),
]
# Frames that Java leaves out of its traces.
HIDDEN = re.compile(r"java\.lang\.invoke\.(LambdaForm|Invokers\$Holder|DirectMethodHandle\$Holder|"
                    r"DelegatingMethodHandle\$Holder)|\$\$Lambda\$")

BLOCKS = """
WITH RECURSIVE up(block, size, id, parent_id, depth) AS (
  SELECT b.id, b.size, n.id, n.parent_id, 0 FROM heapscope_blocks b JOIN heapscope_nodes n ON n.id = b.node_id
  WHERE n.name = 'Java_JavaFrames_alloc'
  UNION ALL
  SELECT up.block, up.size, n.id, n.parent_id, up.depth + 1 FROM up JOIN heapscope_nodes n ON n.id = up.parent_id)
SELECT up.block, up.size, up.depth, n.name, n.source_file, n.line_number, n.module
FROM up JOIN heapscope_nodes n USING (id) ORDER BY up.block, up.depth
"""

# Allocations by whether the outermost entry of the stack says why the stack ends there.
ENDS = """
WITH RECURSIVE up(node_id, id, parent_id) AS (
  SELECT id, id, parent_id FROM heapscope_nodes WHERE id IN (SELECT node_id FROM heapscope_samples)
  UNION ALL
  SELECT up.node_id, n.id, n.parent_id FROM up JOIN heapscope_nodes n ON n.id = up.parent_id)
SELECT n.kind = 'marker' AS is_cut, CAST(sum(s.alloc_count) AS INTEGER) AS blocks
FROM heapscope_samples s JOIN up USING (node_id) JOIN heapscope_nodes n ON n.id = up.id
WHERE up.parent_id IS NULL GROUP BY 1
"""


def rows(heapscope, file, sql):
    done = heapscope("query", "--format", "csv", file, sql)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.fixture(scope="session")
def java_program(tmp_path_factory, target):
    """The command of the Java program, without its last two arguments; its folder has a blank in its name."""
    if not shutil.which("javac"):
        pytest.skip("no javac")
    folder = tmp_path_factory.mktemp("java frames")
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("javac"))))
    library = target("java_frames_jni", "-shared", "-fPIC", f"-I{home}/include", f"-I{home}/include/linux")
    subprocess.run(["javac", "-d", folder, TARGETS / "java" / "JavaFrames.java"], check=True)
    return lambda options: ["java", *options, "-cp", str(folder), "JavaFrames", library]


def seen_stacks(heapscope, file):
    """size -> frames ("class.method:line", innermost first) from the native method outward, and the outermost name."""
    stacks = {}
    for row in rows(heapscope, file, BLOCKS):
        stacks.setdefault((row["block"], int(row["size"])), []).append(row)
    return {size: frames for (_, size), frames in stacks.items()}


def java_part(frames):
    return [f"{frame['name']}:{frame['line_number'].replace('[NULL]', '0')}" for frame in frames if frame["module"] == "[java]"]


def expected_stacks(text):
    """size -> frames, as the program has printed them."""
    return {int(size): frames for size, *frames in (line.split() for line in text.splitlines())}


def check_stacks(heapscope, file, expected):
    """The Java frames are those that Java saw, with their lines, and each stack begins where its thread began."""
    seen = {size: frames for size, frames in seen_stacks(heapscope, file).items() if size in expected}
    assert len(expected) == MOMENTS and seen.keys() == expected.keys()
    different = []
    for size, frames in expected.items():
        shown = [frame for frame in java_part(seen[size]) if not HIDDEN.search(frame) and not frame.startswith("[")]
        if shown != frames:
            different.append((frames, shown))
    assert not different, f"{len(different)} of {MOMENTS}: {different[0]}"
    assert all(frames[-1]["name"] in ("__clone3", "clone3", "start_thread") for frames in seen.values())


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("options, every", OPTIONS, ids=[" ".join(options) or "default" for options, _ in OPTIONS])
def test_as_java_sees_them(dist, heapscope, tmp_path, java_program, options, every):
    """At 1,000 moments; and of all stacks of the program, at least 99 % are whole."""
    file = tmp_path / "a file.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "--blocks", "-o", file, "--", *java_program(options), MOMENTS, every]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=clean_env(), check=True, timeout=180)
    check_stacks(heapscope, file, expected_stacks(done.stdout))
    ends = rows(heapscope, file, ENDS)
    assert sum(int(row["blocks"]) for row in ends if row["is_cut"] == "1") <= 0.01 * sum(int(row["blocks"]) for row in ends)


def test_attached(heapscope, attach, java_program):
    """The same of a program whose code was compiled before heapscope came, from its first sample on."""
    need_ptrace()
    command = list(map(str, [*java_program([]), MOMENTS, 97, "wait"]))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as program:
        assert program.stdout.readline() == "ready\n"
        session = attach(program.pid, options=("-i", 1, "--blocks"))
        said, _ = program.communicate("\n", timeout=180)
        session.wait()
    check_stacks(heapscope, session.file, expected_stacks(said))


ALLOCATED_BY_METHODS = """
WITH RECURSIVE up(block, size, id, parent_id) AS (
  SELECT b.id, b.size, n.id, n.parent_id FROM heapscope_blocks b JOIN heapscope_nodes n ON n.id = b.node_id
  WHERE b.size >= 100000 AND b.size < 104000
  UNION ALL
  SELECT up.block, up.size, n.id, n.parent_id FROM up JOIN heapscope_nodes n ON n.id = up.parent_id)
SELECT up.size, n.name FROM up JOIN heapscope_nodes n USING (id) WHERE n.name GLOB '*.method*'
"""


@pytest.mark.costly
@pytest.mark.parametrize("mode", [["-Xint"], ["-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=8m"]], ids=" ".join)
def test_other_methods_at_the_same_addresses(dist, heapscope, tmp_path, mode):
    """Classes are unloaded all the time, and their methods called in the same way: each block has its own method."""
    if not shutil.which("javac"):
        pytest.skip("no javac")
    subprocess.run(["javac", "-nowarn", "-d", tmp_path, TARGETS / "java" / "JavaReused.java"], check=True, stderr=subprocess.DEVNULL)
    file = tmp_path / "x.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "--blocks", "-o", file, "--",
               "java", *mode, "-XX:+UseSerialGC", "-Xmx32m", "-cp", tmp_path, "JavaReused", 500]
    subprocess.run(list(map(str, command)), env=clean_env(), check=True, timeout=180)
    found = sorted((int(row["size"]), row["name"]) for row in rows(heapscope, file, ALLOCATED_BY_METHODS))
    assert [(size, name.split(".")[-1]) for size, name in found] == [(100000 + 8 * i, f"method{i:03}") for i in range(500)]
    # Otherwise this tests nothing.
    assert len({name.split(".")[0] for _, name in found}) < 50


def test_without_java_frames(dist, heapscope, tmp_path, java_program):
    """--native-only: the JVM's structures are not read, and no frame is Java's."""
    file = tmp_path / "x.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "--native-only", "-o", file, "--", *java_program([]), 20, 97]
    subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, env=clean_env(), check=True, timeout=180)
    modules = {row["module"] for row in rows(heapscope, file, "SELECT DISTINCT module FROM heapscope_nodes")}
    assert "[java]" not in modules and any(module.endswith("libjvm.so") for module in modules)


def test_refused(dist, heapscope, tmp_path, target):
    """A library of this name that does not export what a JVM exports: the report says so, and which flags help."""
    library, file = tmp_path / "libjvm.so", tmp_path / "x.pftrace"
    shutil.copy(target("not_a_jvm", "-shared", "-fPIC"), library)
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "-o", file, "--", target("not_a_jvm"), library]
    subprocess.run(list(map(str, command)), env=clean_env(), check=True, timeout=60)
    health = heapscope("report", "--health", file).stdout
    assert re.search(r"^ +1 +java_refused .*-XX:\+PreserveFramePointer", health, re.M), health
