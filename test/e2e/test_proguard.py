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


@pytest.mark.parametrize("has_lines", [True, False], ids=["lines", "no lines"])
def test_original_names(heapscope, tmp_path, has_lines):
    (tmp_path / "Main.java").write_text(SOURCE)
    (tmp_path / "rules.pro").write_text(RULES)
    for command in (["javac", "--release", "8", "-g:source,lines", "-d", "classes", "Main.java"],
                    ["jar", "cf", "in.jar", "-C", "classes", "."], ["proguard", "@rules.pro"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
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
            assert any(name in frame["function"].split(" | ") for frame in found), found
