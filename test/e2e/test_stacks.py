"""Stacks of real programs, compared frame by frame with libunwind's at the same moment.

stack_witness.c is preloaded and walks the stack at allocations of the main thread: plainly, through the
replay table, and by libunwind.
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNWIND = sorted((ROOT / "src" / "unwind").glob("*.c"))


@pytest.fixture(scope="session")
def witness(tmp_path_factory):
    if subprocess.run(["pkg-config", "--exists", "libunwind"], check=False).returncode != 0:
        pytest.skip("libunwind is not installed: nothing to compare with")
    library = tmp_path_factory.mktemp("witness") / "witness.so"
    subprocess.run(["cc", "-std=gnu17", "-O2", "-g", "-shared", "-fPIC", "-D_GNU_SOURCE",
                    "-ftls-model=initial-exec", "-I", ROOT / "src", "-I", ROOT / "test" / "unit",
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
    total = {key: sum(line[key] for line in lines) for key in ("events", "compared", "same", "found", "found_same")}
    total["ends"] = [sum(ends) for ends in zip(*(line["ends"] for line in lines))]
    total["differences"] = "".join(line["differences"] for line in lines)
    print(total)
    return total


def check(total, compared_min, same_min=0.999):
    assert total["compared"] >= compared_min
    assert total["same"] >= same_min * total["compared"], total["differences"]
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


def test_node(witness, tmp_path):
    """V8's compiled code has frame pointers and no call frame information; libunwind and we follow
    them alike, but for the moments when a stub has none of its own, and for code that V8 has mapped
    since the witness last looked at the process's map: one walk in a thousand."""
    need("node")
    code = 'let a = []; for (let i = 0; i < 20000; i++) a.push({x: i, s: "v" + i}); JSON.stringify(a).length'
    check(run(witness, tmp_path, ["node", "-e", code], every=3), 10000, same_min=0.998)


def test_redis(witness, tmp_path):
    need("redis-server", "redis-cli")
    socket, out = tmp_path / "socket", tmp_path / "out.json"
    env = environment(witness, out, 1)
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if socket.exists():
                break
            time.sleep(0.1)
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
