"""--short-names, --annotations, and why functions have no name."""

import csv
import io
import json
import re
import subprocess

import pytest
import trace_text
from test_sql_conformance import CLOCKS, INTERNED, profile, sample

LONG = "std::vector<int, std::allocator<int> >::push_back(int&&)"
STACKS = f"main;{LONG} 100\nmain;a::load(char*) 300\nmain;a::load(int) 500\n"


@pytest.fixture
def stacks(tmp_path):
    path = tmp_path / "in.folded"
    path.write_text(STACKS)
    return path


def test_short_names(heapscope, stacks):
    """Overloads are added up; filters match the full name; JSON has it."""
    done = heapscope("export", "-f", "folded", "--short-names", stacks)
    assert sorted(done.stdout.splitlines()) == ["main;a::load 800", "main;std::vector<…>::push_back 100"]
    done = heapscope("export", "-f", "folded", "--short-names", "--hide", "load\\(char", stacks)
    assert sorted(done.stdout.splitlines()) == ["main 300", "main;a::load 500", "main;std::vector<…>::push_back 100"]
    text = heapscope("report", "--short-names", stacks).stdout
    assert "std::vector<…>::push_back" in text and "allocator<int>" not in text
    assert LONG in heapscope("report", stacks, "--width", 0).stdout
    for command in (["report", "--json"], ["export", "-f", "json", "-o", "-"]):
        assert LONG in heapscope(*command, "--short-names", stacks).stdout
    assert heapscope("report", "--short-names", "--base", stacks, stacks).returncode == 0


def test_annotations(heapscope, tmp_path):
    path = tmp_path / "in.pftrace"
    text = CLOCKS + INTERNED.replace("mapping_id: 1 rel_pc: 100", "mapping_id: 1 rel_pc: 100 kind: 4") + profile(0, sample(1, 1000, 1))
    text += """packet { module_symbols { path: "/lib/liba.so" build_id: "\\x01\\xab" address_symbols { address: 200
      lines { function_name: "inner" } lines { function_name: "outer" } } } }"""
    path.write_bytes(trace_text.protoc("encode", text.encode()))
    done = heapscope("export", "-f", "folded", "--annotations", path)
    assert "[jit];outer;inner [inlined] " in done.stdout, done.stdout
    assert "[jit]" not in heapscope("export", "-f", "folded", path).stdout


def test_why_there_is_no_name(heapscope, tmp_path):
    source, program, trace = tmp_path / "a.c", tmp_path / "a program", tmp_path / "out.pftrace"
    source.write_text("#include <stdlib.h>\nvoid *p[100];\nint main(void) { for (int i = 0; i < 100; i++) p[i] = malloc(100000); return 0; }\n")
    subprocess.run(["gcc", "-O1", "-s", source, "-o", program], check=True)
    assert heapscope("run", "-q", "-o", trace, "--", program).returncode == 0
    text = heapscope("report", trace).stdout
    assert "No names" in text and text.count("a program: no symbol") == 1, text
    assert "No names" not in heapscope("report", "--json", trace).stdout
    assert json.loads(heapscope("report", "--json", trace).stdout)
    subprocess.run(["gcc", "-O1", source, "-o", program], check=True)
    assert heapscope("run", "-q", "-o", trace, "--", program).returncode == 0
    assert "a program: no symbol" not in heapscope("report", trace).stdout


STRIPPED = "#include <stdlib.h>\nvoid *p[100];\nint main(void) { for (int i = 0; i < 100; i++) p[i] = malloc(100000); return 0; }\n"


def test_the_recording_says_why(heapscope, tmp_path):
    """The program is gone when the file is read: what counts is what was found while it was there."""
    source, program, trace = tmp_path / "a.c", tmp_path / "a program", tmp_path / "out.pftrace"
    source.write_text(STRIPPED)
    subprocess.run(["gcc", "-O1", "-s", "-Wl,--build-id=0x0123456789abcdef", source, "-o", program], check=True)
    assert heapscope("run", "-q", "--no-compress", "-o", trace, "--", program).returncode == 0
    program.rename(tmp_path / "another name")
    done = heapscope("report", trace, env={"HOME": str(tmp_path / "elsewhere")})
    said = " ".join(done.stdout.split())
    assert said.count(" a program: no symbol that was found when they were recorded covers them") == 1, done.stdout
    assert "'heapscope symbolize' adds" in said and "(Build ID: 0123456789abcdef)" in said, done.stdout
    packets = trace_text.protoc("decode", trace.read_bytes()).decode()
    names = re.findall(r"\n    names \{(.*?)\n    \}", packets, re.S)
    assert "module_count" in names[0] and any("a program" in one and "reason: 3" in one for one in names), names


def test_a_reason_is_written_once(heapscope, tmp_path):
    """Of two modules with the same reason, the second one has its build id only."""
    body = "#include <stdlib.h>\nvoid *p[100];\nstatic __attribute__((noinline)) void f(void) { for (int i = 0; i < 100; i++) p[i] = malloc(100000); }\n"
    (tmp_path / "l.c").write_text(body + "void g(void) { f(); f(); }\n")
    (tmp_path / "a.c").write_text(body + "void g(void);\nint main(void) { f(); f(); g(); return 0; }\n")
    library, program = tmp_path / "libother.so", tmp_path / "one"
    flags = ["gcc", "-O1", "-s", "-fno-optimize-sibling-calls"]
    subprocess.run([*flags, "-shared", "-fPIC", "-Wl,--build-id=0x0123456789abcd0b", tmp_path / "l.c", "-o", library], check=True)
    subprocess.run([*flags, "-Wl,--build-id=0x0123456789abcd0a", tmp_path / "a.c", library, "-Wl,-rpath,$ORIGIN", "-o", program], check=True)
    assert heapscope("run", "-q", "-o", tmp_path / "out.pftrace", "--", program).returncode == 0
    said = " ".join(heapscope("report", tmp_path / "out.pftrace").stdout.split())
    assert said.count("no symbol that was found when they were recorded covers them") == 1, said
    assert " libother.so: the same (Build ID: 0123456789abcd0b)." in said, said


NAMES = [
    'module_count: 7',
    'path: "/lib/liba.so" build_id: "\\x01\\xab" reason: 2 detail: "/x/liba.so" address_count: 9 nameless_count: 4',
    'path: "/lib/libb.so" reason: 1 address_count: 3 nameless_count: 3',
    'path: "/[anon]" reason: 5 address_count: 5 nameless_count: 1',
    'path: "/[anon]" reason: 5 address_count: 6 nameless_count: 2',
    'path: "/lib/libc.so" reason: 99 address_count: 1 nameless_count: 1',  # of a later version
]


def test_reasons_for_programs(heapscope, tmp_path):
    """In JSON, in JSON lines and in SQL, also of modules that no stack has."""
    path = tmp_path / "in.pftrace"
    text = CLOCKS + INTERNED + profile(0, sample(1, 1000, 1))
    path.write_bytes(trace_text.protoc("encode", text.encode()))
    assert json.loads(heapscope("report", "--json", path).stdout)["missing_names"] is None
    text += "".join("packet { trusted_packet_sequence_id: 77 heapscope { names { %s } } }" % one for one in NAMES)
    path.write_bytes(trace_text.protoc("encode", text.encode()))
    found = json.loads(heapscope("report", "--json", path).stdout)["missing_names"]
    first = {"module": "/lib/liba.so", "build_id": "01ab", "reason": "other_build", "text": "the file is another build",
             "detail": "/x/liba.so", "nameless_count": 4, "address_count": 9}
    assert found["module_count"] == 7 and found["modules"][0] == first
    assert [(one["module"], one["reason"], one["nameless_count"]) for one in found["modules"][1:]] == [
        ("/lib/libb.so", "absent", 3), ("[anon]", "no_perf_map", 1), ("[anon]", "no_perf_map", 2)]
    lines = [json.loads(line) for line in heapscope("export", "-f", "json", "-o", "-", path).stdout.splitlines()]
    lines = [line for line in lines if line["type"] == "missing_names"]
    assert lines[0] == {"type": "missing_names"} | {key: value for key, value in first.items() if key != "text"}
    assert len(lines) == 4 and "build_id" not in lines[1] and "detail" not in lines[1]
    done = heapscope("query", "--format", "csv", path, "SELECT * FROM heapscope_missing_names")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["module"] for row in rows] == [one["module"] for one in found["modules"]], done
    assert rows[0] == {"id": "0", "module": "/lib/liba.so", "build_id": "01ab", "reason": "other_build", "detail": "/x/liba.so",
                       "description": "the file is another build", "nameless_count": "4", "address_count": "9"}


def test_recorded_without_names(heapscope, tmp_path):
    """Nothing was looked up, so the file gives no reason."""
    source, program, trace = tmp_path / "a.c", tmp_path / "program", tmp_path / "out.pftrace"
    source.write_text(STRIPPED)
    subprocess.run(["gcc", "-O1", "-s", source, "-o", program], check=True)
    assert heapscope("run", "-q", "--no-symbolize", "-o", trace, "--", program).returncode == 0
    text = " ".join(heapscope("report", trace).stdout.split())
    assert " program: no symbol" in text and "when they were recorded" not in text, text


def test_reasons_of_the_recording(heapscope, tmp_path):
    """Also reasons that this heapscope does not know, and modules that no stack has."""
    path = tmp_path / "in.pftrace"
    for reason, said in ((1, "not there any more"), (2, "another build was there (/x/liba.so)"), (8, "took too long"), (99, "no symbol that was found covers them, because")):
        names = f'names {{ path: "/lib/liba.so" build_id: "\\x01\\xab" reason: {reason} detail: "/x/liba.so" address_count: 1 nameless_count: 1 }}'
        text = CLOCKS + INTERNED.replace('function_name_id: 1', '') + profile(0, sample(1, 1000, 1))
        text += "packet { trusted_packet_sequence_id: 77 heapscope { " + names + " } }"
        path.write_bytes(trace_text.protoc("encode", text.encode()))
        out = " ".join(heapscope("report", path).stdout.split())
        assert said in out, out
