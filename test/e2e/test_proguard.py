"""A Java program obfuscated with Debian's proguard gets its original names back: the stack that the plain program prints of itself
is compared with that of the obfuscated one, recorded as a trace, with the names from proguard's map."""

import json
import shutil
import subprocess

import pytest
import trace_text
from test_sql_conformance import CLOCKS, profile, sample

SOURCE = r"""
package org.app;
public class Main {
    static final class Store {
        int size;
        int load(int n, Log log) { return log.put(n) + size; }
        int load(String s, Log log) { return load(s.length(), log) + 1; }
    }
    static final class Log {
        int put(int n) { return check(n); }
        private int check(int n) {
            for (StackTraceElement e : new Throwable().getStackTrace())
                System.out.println(e.getClassName() + "." + e.getMethodName() + ":" + e.getLineNumber());
            return n;
        }
    }
    public static void main(String[] args) { new Store().load(args.length + "text", new Log()); }
}
"""
RULES = """
-injars in.jar
-outjars out.jar
-printmapping map.txt
-keep class org.app.Main { public static void main(java.lang.String[]); }
-keepattributes SourceFile,LineNumberTable
-dontnote
-dontwarn
"""
pytestmark = pytest.mark.skipif(not (shutil.which("proguard") and shutil.which("javac")), reason="needs proguard and a JDK")


LIVE = r"""
package org.app;
import java.nio.ByteBuffer;
public class Main {
    static final class Store {
        final ByteBuffer[] kept = new ByteBuffer[64];
        int load(int n) { return keep(n, n + 100000); }
        int load(String s) { return load(s.length()) + 1; }
        private int keep(int n, int bytes) {
            kept[n % 64] = Buffers.make(bytes);
            return n;
        }
    }
    public static void main(String[] args) {
        Store store = new Store();
        int sum = 0;
        for (int i = 0; i < 300; i++) sum += i % 3 == 0 ? store.load(args[0]) : store.load(i);
        System.out.println(sum);
    }
}
class Buffers {
    static ByteBuffer make(int bytes) {
        return ByteBuffer.allocateDirect(bytes);
    }
}
"""


def trace_of(stack):
    """A trace with this stack, the innermost frame first, of (name, line)."""
    frames = list(enumerate(reversed(stack), 1))
    text = "packet { trusted_packet_sequence_id: 1 sequence_flags: 1 previous_packet_dropped: 1 interned_data {\n"
    text += 'mapping_paths { iid: 1 str: "base.jar" } mappings { iid: 1 path_string_ids: 1 }\n'
    for iid, (name, line) in frames:
        text += f'function_names {{ iid: {iid} str: "{name}" }}\n'
        text += f"frames {{ iid: {iid} function_name_id: {iid} mapping_id: 1 rel_pc: {iid * 16} line_number: {line} }}\n"
    text += "callstacks { iid: 1 " + " ".join(f"frame_ids: {iid}" for iid, _ in frames) + " } } }\n"
    return trace_text.protoc("encode", (CLOCKS + text + profile(0, sample(1, 1000, 1))).encode())


def stack_of(folder, jar):
    done = subprocess.run(["java", "-cp", jar, "org.app.Main"], cwd=folder, capture_output=True, text=True, check=True)
    return [(name, int(line)) for name, line in (row.split(":") for row in done.stdout.split())]


def obfuscate(folder, source):
    """Makes in.jar of the source, out.jar without its names, and map.txt with them."""
    (folder / "Main.java").write_text(source)
    (folder / "rules.pro").write_text(RULES)
    for command in (["javac", "--release", "8", "-g:source,lines", "-d", "classes", "Main.java"],
                    ["jar", "cf", "in.jar", "-C", "classes", "."], ["proguard", "@rules.pro"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("has_lines", [True, False], ids=["lines", "no lines"])
def test_original_names(heapscope, tmp_path, has_lines):
    obfuscate(tmp_path, SOURCE)
    plain, obfuscated = stack_of(tmp_path, "in.jar"), stack_of(tmp_path, "out.jar")
    assert len(plain) == 5 and len(obfuscated) < 5  # proguard inlined methods
    (tmp_path / "in.pftrace").write_bytes(trace_of([(name, line if has_lines else 0) for name, line in obfuscated]))
    done = heapscope("deobfuscate", "--proguard-map", tmp_path / "map.txt", tmp_path / "in.pftrace", "-o", tmp_path / "names")
    assert done.returncode == 0, done.stderr
    (tmp_path / "whole").write_bytes((tmp_path / "in.pftrace").read_bytes() + (tmp_path / "names").read_bytes())
    rows = map(json.loads, heapscope("export", "-f", "json", "-o", "-", tmp_path / "whole").stdout.splitlines())
    found = next(row["frames"] for row in rows if "frames" in row)
    if has_lines:
        assert [(frame["function"], frame["line"]) for frame in reversed(found)] == plain
    else:
        # Without a line, each frame has all methods that it can be.
        for name, _ in plain:
            assert any(name in frame.get("function", "").split(" | ") for frame in found), found


def java_stacks(heapscope, file, env=None):
    """The frames of org.app in the stacks of buffers: (function, file, line), the outermost first."""
    done = heapscope("export", "-q", "-f", "json", "-o", "-", "--view", "alloc_objects", file, env=env)
    assert done.returncode == 0, done.stderr
    stacks = set()
    for row in map(json.loads, done.stdout.splitlines()):
        frames = row.get("frames", [])
        if any(frame.get("function", "") == "java.nio.ByteBuffer.allocateDirect" for frame in frames):
            stacks.add(tuple((frame.get("function", ""), frame.get("file", ""), frame.get("line", 0))
                             for frame in frames if frame.get("function", "").startswith("org.app.")))
    return stacks


def record(heapscope, folder, jar, env=None):
    file = folder / f"{jar}.pftrace"
    done = heapscope("run", "-q", "-i", 1, "-o", file, "--", "java", "-cp", folder / jar, "org.app.Main", "text", env=env)
    assert done.returncode == 0, done.stderr
    return file


def original(file, stacks):
    """Frames as they are with the file that the JVM states, which it knows for the class of the code only."""
    return {tuple((name, file if name.startswith("org.app.Main") else "", line) for name, _, line in stack) for stack in stacks}


@pytest.mark.parametrize("way", ["appended", "reading", "recording"])
def test_a_live_program(heapscope, tmp_path, way):
    """Recorded on Debian's JVM without flags: names, files and lines are those of the program that was not obfuscated."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    obfuscate(folder, LIVE)
    maps = {"PERFETTO_PROGUARD_MAP": str(folder / "map.txt")}
    plain = java_stacks(heapscope, record(heapscope, folder, "in.jar"))
    assert {name for stack in plain for name, _, _ in stack} == {
        "org.app.Main.main", "org.app.Main$Store.load", "org.app.Main$Store.keep", "org.app.Buffers.make"}
    assert {file for stack in plain for _, file, _ in stack} == {"Main.java"}
    file = record(heapscope, folder, "out.jar", maps if way == "recording" else None)
    if way != "recording":
        hidden = java_stacks(heapscope, file)
        assert hidden and not any("Store" in name for stack in hidden for name, _, _ in stack)
    if way == "appended":
        done = heapscope("deobfuscate", "-o", folder / "mapping", file, env=maps)
        assert done.returncode == 0, done.stderr
        file.write_bytes(file.read_bytes() + (folder / "mapping").read_bytes())
    found = java_stacks(heapscope, file, maps if way == "reading" else None)
    assert found == original("Main.java", plain)
    done = heapscope("report", "--view", "alloc_objects", "--focus", "Store", file, env=maps if way == "reading" else None)
    assert "org.app.Main$Store.keep  Main.java:10" in done.stdout and "org.app.a" not in done.stdout, done.stdout
