"""A profiled program behaves as without the profiler: output, exit status, errno, files.

Each program runs plainly and under heapscope, and the two runs are compared. The real programs
are typical targets; programs that are not installed are skipped.
"""

import pathlib
import re
import subprocess

import pytest
from comparing import INTERVALS, allocations, need, wait_for_socket
from conftest import clean_env
from truth import behind

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")


# --- results and errno ----------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [*INTERVALS, 64])
@pytest.mark.parametrize("name", [None, "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_results_and_errno(same, target, name, interval):
    """Every function, with sizes and alignments that succeed and that fail."""
    program = [target("errnos")]
    if name:
        if not (LIBRARIES / name).exists():
            pytest.skip(f"{name} is not installed")
        program = behind(name, program)

    def edit(text):
        # How much room a large or unusually aligned block has beyond its size depends on its
        # address.
        return re.sub(r"(align 1048576 .*|size 70000.*|size 4194304.*)usable \d+", r"\1", text)

    same(program, interval, edit=edit)


@pytest.mark.costly(cases=8)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(
    "limit",
    ["-n 4", "-n 5", "-f 0", "-v 262144", "-v 65536", "-s 64", "-s unlimited", "-c 0", "-d 8192", "-u 300"],
)
def test_limits_from_outside(same, target, limit, interval):
    """The client does without what the limits forbid. (With fewer than 4 descriptors no library can
    be loaded.)"""
    program = ["sh", "-c", f'ulimit {limit}; exec "$0"', target("family")]
    same(program, interval)


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("ending", ["fork", "tree", "daemon", "vfork"])
def test_processes(same, target, ending, interval):
    same([target("processes", "-pthread"), ending], interval)


@pytest.mark.parametrize("interval", INTERVALS)
def test_strict_seccomp_and_mlock(same, target, interval):
    same([target("limits", "-pthread"), "seccomp_strict"], interval)
    same([target("limits", "-pthread"), "mlock"], interval)


# --- real programs ---------------------------------------------------------------------------------


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_python(same, interval):
    (python,) = need("/usr/bin/python3")
    code = (
        "import json, re, subprocess, threading, zlib, ctypes, multiprocessing as m\n"
        "d = {str(i): [i] * (i % 50) for i in range(20000)}\n"
        "print(len(json.dumps(d)), zlib.crc32(json.dumps(d).encode()))\n"
        "t = [threading.Thread(target=lambda: [bytearray(n) for n in range(2000)]) for _ in range(8)]\n"
        "[x.start() for x in t], [x.join() for x in t]\n"
        "print(subprocess.run(['echo', 'child'], capture_output=True).stdout)\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('fork').Pool(4) as p: print(sum(p.map(abs, range(-1000, 1000))))\n"
    )
    allocations(same([python, "-c", code], interval), 1000)


@pytest.mark.parametrize("interval", INTERVALS)
def test_perl(same, interval):
    (perl,) = need("perl")
    code = (
        "my %h; for my $i (1..60000) { push @{$h{$i % 777}}, \"value $i\" x ($i % 7); }"
        "my $s = join ',', map { scalar @{$h{$_}} } sort { $a <=> $b } keys %h;"
        "$s =~ s/(\\d+),(\\d+)/$2;$1/g; print length $s, ' ', substr($s, 0, 60), \"\\n\";"
        "local $@; eval { die { code => 42 } }; print $@->{code}, \"\\n\"; exit 3"
    )
    allocations(same([perl, "-e", code], interval, status=3), 1000)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_jq(same, interval):
    (jq,) = need("jq")
    text = '[range(20000) | {id: ., name: "n\\(.)", tags: [., . * 2]}] | group_by(.id % 10) | map(length), (map(.[0].name) | sort)'
    allocations(same([jq, "-nc", text], interval), 10000)


@pytest.mark.parametrize("interval", INTERVALS)
def test_sqlite(same, interval):
    (sqlite,) = need("sqlite3")
    script = (
        "create table t(a integer primary key, b text, c blob);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
        " insert into t select i, 'row ' || i, zeroblob(i % 300) from n;"
        "create index i on t(b);"
        "select count(*), sum(length(c)), max(b) from t;"
        "select b, length(c) from t order by c desc, b limit 5;"
        "pragma integrity_check;"
    )
    allocations(same([sqlite, ":memory:"], interval, input=script), 1000)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_git(same, tmp_path, interval):
    need("git")
    script = (
        "set -e; export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'"
        " GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null;"
        "rm -rf r; git init -q -b main r; cd r; git config user.email a@b; git config user.name n;"
        "for i in 1 2 3 4 5 6; do seq $((i * 3000)) >f$i; git add .; git commit -qm c$i; done;"
        "git gc -q; git fsck --full; git log --stat --format='%H %s'; git blame -s f3 | tail -2"
    )
    allocations(same(["sh", "-c", script], interval), 1000)


@pytest.mark.costly
@pytest.mark.parametrize("interval", INTERVALS)
def test_ghostscript(same, tmp_path, interval):
    (gs,) = need("gs")
    page = tmp_path / "page.ps"
    page.write_text(
        "%!PS\n/Helvetica findfont 20 scalefont setfont\n"
        "0 10 360 { gsave 300 400 translate rotate 50 0 moveto (heapscope) show grestore } for\n"
        "0 1 200 { dup 255 div setgray dup dup 300 exch 2 mul 0 360 arc stroke pop } for showpage\n"
    )
    command = [gs, "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r100", "-o", "-", str(page)]
    allocations(same(command, interval), 1000)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_node(same, interval):
    (node,) = need("node")
    code = (
        "const m = new Map(); for (let i = 0; i < 50000; i++) m.set('k' + i, {i, b: Buffer.alloc(i % 64)});"
        "console.log(m.size, JSON.stringify([...m.values()].slice(0, 3)));"
        "require('zlib').gzip('x'.repeat(1e5), (e, z) => console.log(z.length));"
        "new (require('worker_threads').Worker)('console.log(1 + 1)', {eval: true});"
        "console.log(require('crypto').createHash('sha256').update('a').digest('hex'));"
    )
    allocations(same([node, "-e", code], interval), 1000)


@pytest.mark.costly
@pytest.mark.parametrize("interval", INTERVALS)
def test_java(same, tmp_path, interval):
    java, javac = need("java", "javac")
    (tmp_path / "Hello.java").write_text(
        "public class Hello { public static void main(String[] a) throws Exception {"
        " java.util.List<String> l = new java.util.ArrayList<>();"
        " for (int i = 0; i < 100000; i++) l.add(\"s\" + i);"
        " java.nio.ByteBuffer b = java.nio.ByteBuffer.allocateDirect(1 << 20);"
        " System.gc(); System.out.println(\"hello \" + l.size() + \" \" + b.capacity()); System.exit(7); } }"
    )
    subprocess.run([javac, "Hello.java"], cwd=tmp_path, check=True)
    allocations(same([java, "-cp", str(tmp_path), "Hello"], interval, status=7), 1000)


SOURCE = """
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct fib { static constexpr long value = fib<N - 1>::value + fib<N - 2>::value; };
template <> struct fib<1> { static constexpr long value = 1; };
template <> struct fib<0> { static constexpr long value = 0; };
int main()
{
    std::map<std::string, std::vector<long>> m;
    std::unordered_map<long, std::regex> r;
    for (long i = 0; i < fib<40>::value % 100; i++) {
        m[std::to_string(i)].push_back(i);
        r.emplace(i, std::regex("a+b|c" + std::to_string(i)));
    }
    std::vector<std::string> v;
    for (auto &p : m)
        v.push_back(p.first);
    std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a > b; });
    std::cout << v.front() << std::regex_match("aab", r[3]) << '\\n';
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("compiler", ["clang++", "g++"])
def test_compiler(same, tmp_path, compiler, interval):
    """The object file is the same, byte for byte."""
    (path,) = need(compiler)
    (tmp_path / "large.cc").write_text(SOURCE)
    out = tmp_path / "large.o"
    command = [path, "-O2", "-g", "-c", "large.cc", "-o", str(out)]
    script = ["sh", "-c", '"$@" && sha256sum large.o', "sh", *command]
    allocations(same(script, interval), 100000)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval", INTERVALS)
def test_redis(dist, report, tmp_path, interval):
    """A server with an embedded allocator, under load, until it is stopped."""
    server, cli, bench = need("redis-server", "redis-cli", "redis-benchmark")
    path = str(tmp_path / "redis.sock")
    file = tmp_path / "redis.pftrace"
    config = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", str(tmp_path)]
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", interval, "-o", file, "--"]
    with subprocess.Popen(
        [*map(str, command), server, *config],
        env=clean_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        wait_for_socket(path)
        load = [bench, "-s", path, "-n", "20000", "-c", "20", "-q", "-r", "5000"]
        load += ["-t", "set,get,lpush,lrange_100,hset,zadd"]
        done = subprocess.run(load, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and "rror" not in done.stdout + done.stderr
        keys = subprocess.run([cli, "-s", path, "dbsize"], capture_output=True, text=True, check=True)
        assert int(keys.stdout) > 1000
        subprocess.run([cli, "-s", path, "bgrewriteaof"], capture_output=True, check=True)
        subprocess.run([cli, "-s", path, "shutdown", "nosave"], capture_output=True, check=False)
        text = process.communicate(timeout=60)[0]
        assert process.returncode == 0, text
        assert "crashed" not in text
    data = report(file, "--top", "1")
    assert "jemalloc" in data["processes"][0]["malloc"]
    assert data["totals"]["live"]["bytes"] > 100000
