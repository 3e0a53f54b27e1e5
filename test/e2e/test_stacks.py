"""Stacks of real programs, compared frame by frame with libunwind's at the same moment.

stack_witness.c is preloaded and walks the stack at allocations: plainly, through the replay
table, and by libunwind. Of 1000 stacks, 999 must be equal at once. Each other one must have a
reason that stack_differences.py knows and verifies on the record of it.
"""

import json
import os
import shutil
import subprocess

import pytest

import stack_differences
import stack_programs
from compiling import INCLUDES, ROOT, sources_of
from waiting import wait_until

UNWIND = sources_of("unwind")


@pytest.fixture(scope="session")
def witness(tmp_path_factory):
    if subprocess.run(["pkg-config", "--exists", "libunwind"], check=False).returncode != 0:
        pytest.skip("libunwind is not installed: nothing to compare with")
    library = tmp_path_factory.mktemp("witness") / "witness.so"
    subprocess.run(["cc", "-std=gnu17", "-O2", "-g", "-shared", "-fPIC", "-D_GNU_SOURCE",
                    "-ftls-model=initial-exec", *INCLUDES, "-I", ROOT / "test" / "unit",
                    ROOT / "test/e2e/stack_witness.c", *UNWIND, "-lunwind", "-o", library], check=True)
    return library


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


def environment(witness, out, every):
    return dict(os.environ, LD_PRELOAD=str(witness), WITNESS_OUT=str(out), WITNESS_EVERY=str(every))


def run(witness, tmp_path, command, every=1, cwd=None, **extra):
    out = tmp_path / "out.json"
    env = environment(witness, out, every)
    env.update(extra)
    subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.DEVNULL, timeout=240, check=True)
    return verdict(out)


def verdict(out):
    """The sum over the processes; prints it, for -rA."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    total = {key: sum(line[key] for line in lines) for key in lines[0] if key != "ends"}
    total["ends"] = [sum(ends) for ends in zip(*(line["ends"] for line in lines))]
    total["reasons"], total["unexplained"] = stack_differences.read(f"{out}.differences")
    print(total)
    return total


def check(total, compared_min, jit_min=0, same_min=0.999):
    assert total["compared"] >= compared_min
    assert total["jit"] >= jit_min, "hardly a stack through the code of a JIT compiler"
    assert not total["unexplained"], "\n".join(total["unexplained"][:5])
    assert sum(total["reasons"].values()) == total["compared"] - total["same"], "not all differences are on record"
    assert total["same"] >= same_min * total["compared"], total["reasons"]
    assert total["jit_same"] >= same_min * total["jit"], total["reasons"]
    assert total["found_same"] == total["found"], "a replayed stack is another than the walked one"
    assert total["found"] > 0


def test_python(witness, tmp_path):
    code = """import json, re, decimal, xml.dom.minidom, sqlite3
s = json.dumps([{"a": i, "b": [str(i)] * 3} for i in range(3000)]); json.loads(s)
db = sqlite3.connect(":memory:"); db.execute("create table t(a, b)")
db.executemany("insert into t values(?, ?)", ((i, str(i)) for i in range(2000)))
db.execute("select count(*), max(b) from t group by a % 10 order by 2").fetchall()
xml.dom.minidom.parseString("<a>" + "<b c='d'/>" * 300 + "</a>").toprettyxml()
"""
    total = run(witness, tmp_path, ["/usr/bin/python3", "-c", code], every=5, PYTHONMALLOC="malloc")
    check(total, 10000)


def test_perl(witness, tmp_path):
    need("perl")
    code = 'my %h; for (1..20000) { $h{"k$_"} = [1, $_, "x$_"] } my @s = sort { $a cmp $b } keys %h; ' \
           'for (1..300) { eval "sub f$_ { return \\$_[0] + $_ } f$_(1)" }'
    check(run(witness, tmp_path, ["perl", "-e", code], every=5), 10000)


def test_clang(witness, tmp_path):
    need("clang-14")
    source = tmp_path / "prog.cc"
    source.write_text("#include <map>\n#include <string>\n#include <vector>\n"
                      "int main() { std::map<std::string, std::vector<int>> m; m[\"a\"].push_back(1); }\n")
    command = ["clang-14", "-O1", "-c", str(source), "-o", str(tmp_path / "prog.o")]
    check(run(witness, tmp_path, command, every=10), 10000)


def test_gdb(witness, tmp_path):
    need("gdb")
    total = run(witness, tmp_path, ["gdb", "-nx", "-batch", "-ex", "info functions printf", "/usr/bin/gdb"])
    check(total, 10000)


def test_git(witness, tmp_path):
    need("git")
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    for i in range(300):
        (tmp_path / "repo" / f"file{i}").write_text("line\n" * i)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    check(run(witness, tmp_path, [*git, "add", "."], cwd=tmp_path / "repo"), 300)
    run(witness, tmp_path, [*git, "commit", "-qm", "all"], cwd=tmp_path / "repo")
    check(run(witness, tmp_path, [*git, "log", "--stat"], cwd=tmp_path / "repo"), 1000)


def run_node(witness, tmp_path, program, every):
    need("node")
    script = tmp_path / f"{program}.js"
    script.write_text(stack_programs.NODE[program])
    return run(witness, tmp_path, ["node", str(script)], every=every)


SLOW_NODE = ("async", "churn", "eval", "gc", "json", "osr", "regex", "wasm", "workers")


@pytest.mark.costly
@pytest.mark.parametrize("program", ["hot", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_NODE)])
def test_node(witness, tmp_path, program):
    """V8's code has frame pointers and no unwind information; its built-in code is mapped twice,
    the second time at addresses that belong to no module of the loader."""
    total = run_node(witness, tmp_path, program, every=5)
    check(total, 80000, jit_min=400)
    if program == "workers":
        assert total["threads"] >= 100


@pytest.mark.costly
def test_node_deep(witness, tmp_path):
    """libunwind gives up in most of these stacks; its frames after it is resumed are compared."""
    total = run_node(witness, tmp_path, "recurse", every=10)
    check(total, 40000, jit_min=300, same_min=0)
    assert total["reasons"].get("reach", 0) >= 50


@pytest.fixture(scope="session")
def java_classes(tmp_path_factory):
    need("java", "javac")
    folder = tmp_path_factory.mktemp("java")
    (folder / "Jit.java").write_text(stack_programs.JAVA)
    subprocess.run(["javac", "-d", folder, folder / "Jit.java"], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("options", [["-Xint"], ["-XX:+PreserveFramePointer"], []], ids=["interpreted", "bp", "default"])
def test_java(witness, tmp_path, java_classes, options):
    """Interpreted frames have frame pointers, compiled ones only on request: without them no
    unwinder gets through."""
    total = run(witness, tmp_path, ["java", *options, "-cp", str(java_classes), "Jit"])
    check(total, 20000, jit_min=15000)
    if options:
        assert total["ends"][0] == total["compared"], "a stack ended early"
    else:
        assert total["ends"][1] > 0, "compiled code has frame pointers after all: say so in docs/UNWINDING.md"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["0", "3"])
def test_rust(witness, tmp_path, level):
    need("rustc")
    source = tmp_path / "prog.rs"
    source.write_text(stack_programs.RUST)
    subprocess.run(["rustc", f"-Copt-level={level}", "-o", tmp_path / "prog", source], check=True)
    check(run(witness, tmp_path, [str(tmp_path / "prog")]), 4000)


def test_sqlite(witness, tmp_path):
    need("sqlite3")
    script = tmp_path / "script.sql"
    script.write_text(stack_programs.SQL)
    check(run(witness, tmp_path, ["sqlite3", "-batch", ":memory:", f".read {script}"]), 10000)


@pytest.mark.costly
def test_redis(witness, tmp_path):
    need("redis-server", "redis-cli")
    socket, out = tmp_path / "socket", tmp_path / "out.json"
    env = environment(witness, out, 1)
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    try:
        wait_until(socket.exists, "redis does not listen")
        commands = "".join(f"set k{i} {'x' * (i % 90)}\nlpush l v{i}\nhset h f{i} {i}\nzadd z {i} m{i}\n"
                           for i in range(2000))
        subprocess.run(["redis-cli", "-s", socket], input=commands + "debug reload\n", text=True,
                       stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False)
        server.wait(timeout=20)
    finally:
        server.kill()
        server.wait()
    check(verdict(out), 5000)


def difference(ours, theirs, resumed=0, cut_idx=0, skipped=0):
    maps = ["1000-2000 r-xp 0 00:00 0 prog", "2000-3000 rw-p 0 00:00 0", "3000-4000 rwxp 0 00:00 0"]
    return {"ours": ours, "theirs": [], "theirs_resumed": theirs, "resumed": resumed, "cut_idx": cut_idx,
            "skipped": skipped, "end": 0, "maps": maps}


@pytest.mark.parametrize("ours, theirs, more, reason", [
    ([0x1100, 0x3100], [0x1100, 0x3100], {"resumed": 1}, "reach"),
    ([0x1100, 0x3100], [0x1100, 0x3100], {}, None),
    ([0x1100, 0x3100], [0x1100, 0x3104], {"resumed": 1}, None),
    ([0x1100, 0x3100], [0x1100, 0x2100, 0x3100], {}, "no_code"),
    ([0x1100, 0x3100], [0x1100, 0x9999, 0x3100], {"resumed": 2}, "reach no_code"),
    ([0x1100, 0x3100], [0x1100, 0x1104, 0x3100], {}, None),
    ([0x1100, 0x2100], [0x1100, 0x3100], {}, None),
    ([0x1100, 0x2100], [0x1100, 0x2100, 0x2104], {}, None),
    ([0x1100], [0x1100, 0x3100], {"resumed": 1}, None),
    ([0x1100, 0x1300], [0x1100, 0x1200, 0x1300], {"resumed": 1, "cut_idx": 1, "skipped": 1}, "reach"),
    ([0x1100, 0x1300], [0x1100, 0x1200, 0x1200, 0x1300], {"resumed": 1, "cut_idx": 1, "skipped": 1}, None),
])
def test_reasons(ours, theirs, more, reason):
    """A wrong frame of ours has no such explanation."""
    assert stack_differences.explain(difference(ours, theirs, **more)) == reason
