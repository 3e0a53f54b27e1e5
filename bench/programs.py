"""The real programs that are measured, and their work.

Each does a typical job for about a second or more of CPU time, on input that is generated here
(the same each time), so that nothing has to be downloaded. A program is a command line. A server
also has a `drive` function, which sends it work from outside while it is measured.

    Program.prepare(folder)   makes its input files in an empty folder, once
    Program.argv              runs in that folder
    Program.drive(folder)     for servers: returns when it has told the server to stop
"""

import dataclasses
import json
import os
import random
import subprocess
import time
from typing import Callable, List, Optional


@dataclasses.dataclass
class Program:
    name: str
    what: str
    argv: List[str]
    prepare: Callable[[str], None] = lambda folder: None
    drive: Optional[Callable[[str], None]] = None


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


# --- python3 ---------------------------------------------------------------------------------------

PYTHON_JSON = """
import json, random
random.seed(1)
data = [{"id": i, "name": "user%d" % i, "tags": ["t%d" % (i * k % 977) for k in range(6)],
         "score": random.random(), "nested": {"a": i, "b": [i, i + 1], "c": None}}
        for i in range(12000)]
for _ in range(12):
    text = json.dumps(data)
    data = json.loads(text)
print(len(text))
"""

PYTHON_OBJECTS = """
import collections, heapq, re
class Node:
    def __init__(self, key, parent):
        self.key, self.parent, self.children, self.label = key, parent, [], "node-%d" % key
    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()
def build(count):
    nodes = [Node(0, None)]
    for key in range(1, count):
        parent = nodes[key * 7 // 11]
        node = Node(key, parent)
        parent.children.append(node)
        nodes.append(node)
    return nodes
total = 0
for turn in range(7):
    nodes = build(40000)
    by_word = collections.defaultdict(list)
    for node in nodes[0].walk():
        by_word[re.sub(r"[0-4]", "x", node.label)].append((node.key, node))
    heap = [(-len(found), word) for word, found in by_word.items()]
    heapq.heapify(heap)
    total += sum(heapq.heappop(heap)[0] for _ in range(100))
    text = "".join("%s:%s;" % (word, len(found)) for word, found in sorted(by_word.items()))
print(total, len(text))
"""

PYTHON_NUMBERS = """
for i in range(36000000):
    x = i * 3 + 1000
"""

PYTHON_KEPT = """
for _ in range(9):
    kept = [[{i: 0} for i in range(333333)], ["string %d" % i for i in range(333333)], [[i, 0] for i in range(333333)]]
    del kept
"""

PYTHON_TEXT = """
import json, re
for _ in range(200):
    rows = [{"id": i, "name": "user %d" % i, "tags": ["a", "b%d" % (i % 7)], "x": i * 1.5} for i in range(2500)]
    text = json.dumps(rows)
    back = json.loads(text)
    found = re.findall(r'"name": "(user \\d+)"', text)
    out = [name.upper().replace("USER", "u") + str(k) for k, name in enumerate(found)]
"""


# --- C++ -------------------------------------------------------------------------------------------

def cxx_source(class_count):
    """A translation unit that resembles application code: containers, templates, lambdas."""
    parts = ["#include <algorithm>\n#include <functional>\n#include <map>\n#include <memory>\n"
             "#include <numeric>\n#include <sstream>\n#include <string>\n#include <unordered_map>\n"
             "#include <vector>\n"]
    for i in range(class_count):
        parts.append("""
struct Item%(i)d { std::string name; int weight = %(i)d; std::vector<double> values; };
class Store%(i)d {
  public:
    void add(const std::string &key, Item%(i)d item) {
        by_weight_[item.weight].push_back(key);
        items_.emplace(key, std::make_shared<Item%(i)d>(std::move(item)));
    }
    std::string describe(std::function<bool(const Item%(i)d &)> wanted) const {
        std::ostringstream out;
        for (const auto &[key, item] : items_) {
            if (wanted(*item)) {
                out << key << '=' << std::accumulate(item->values.begin(), item->values.end(), 0.0);
            }
        }
        return out.str();
    }
    std::vector<std::string> heaviest(std::size_t count) const {
        std::vector<std::string> result;
        for (auto it = by_weight_.rbegin(); it != by_weight_.rend() && result.size() < count; ++it) {
            std::copy(it->second.begin(), it->second.end(), std::back_inserter(result));
        }
        std::sort(result.begin(), result.end(), [](const auto &a, const auto &b) {
            return a.size() != b.size() ? a.size() < b.size() : a < b;
        });
        return result;
    }
  private:
    std::unordered_map<std::string, std::shared_ptr<Item%(i)d>> items_;
    std::map<int, std::vector<std::string>> by_weight_;
};
std::string use%(i)d(int n) {
    Store%(i)d store;
    for (int i = 0; i < n; i++) {
        store.add("key" + std::to_string(i * %(i)d), { "item", i %% 7, { 1.0 * i, 2.0 } });
    }
    auto names = store.heaviest(3);
    return store.describe([&](const Item%(i)d &item) { return item.weight > n / 2; }) + names[0];
}
""" % {"i": i})
    parts.append("int main(int argc, char **) {\n    std::size_t n = 0;\n")
    parts += ["    n += use%d(argc).size();\n" % i for i in range(class_count)]
    parts.append("    return n == 0;\n}\n")
    return "".join(parts)


def prepare_cxx(folder):
    write(folder, "large.cpp", cxx_source(4))


def prepare_gdb(folder):
    write(folder, "symbols.cpp", cxx_source(60))
    subprocess.run(["clang++-14", "-g", "-O0", "-std=c++17", "symbols.cpp", "-o", "symbols"],
                   cwd=folder, check=True)


# --- redis -----------------------------------------------------------------------------------------

REDIS_SOCKET = "redis.sock"


def drive_redis(folder):
    socket_path = os.path.join(folder, REDIS_SOCKET)
    deadline = time.monotonic() + 60
    while subprocess.run(["redis-cli", "-s", socket_path, "ping"], capture_output=True,
                         check=False).stdout != b"PONG\n":
        if time.monotonic() > deadline:
            raise RuntimeError("redis-server does not answer")
        time.sleep(0.02)
    subprocess.run(["redis-benchmark", "-s", socket_path, "-q", "-n", "60000", "-r", "20000",
                    "-P", "16", "-d", "100", "-t",
                    "set,get,incr,lpush,rpush,lpop,sadd,hset,spop,zadd,lrange_100,mset"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-s", socket_path, "shutdown", "nosave"], capture_output=True,
                   check=False)


# --- databases, text, documents ----------------------------------------------------------------------

def prepare_sqlite(folder):
    draw = random.Random(2)
    lines = ["create table person(id integer primary key, name text, town text, age int);",
             "create table bill(id integer primary key, person int, cents int, note text);",
             "begin;"]
    for i in range(15000):
        lines.append("insert into person values(%d,'name %d','town %d',%d);"
                     % (i, draw.randrange(10 ** 6), draw.randrange(200), draw.randrange(100)))
    for i in range(45000):
        lines.append("insert into bill values(%d,%d,%d,'note %d');"
                     % (i, draw.randrange(15000), draw.randrange(10 ** 5), i))
    lines += ["commit;", "create index bill_person on bill(person);",
              "create index person_town on person(town, age);"]
    for i in range(4000):
        lines.append("select p.name, sum(b.cents), group_concat(b.note) from person p join bill b on "
                     "b.person = p.id where p.town = 'town %d' and p.age > %d group by p.id "
                     "order by 2 desc limit 5;" % (i % 200, i % 90))
    write(folder, "work.sql", "\n".join(lines) + "\n")


PERL_CHURN = r"""
use strict;
my (%count, @lines);
for my $turn (1 .. 12) {
    my %index;
    for my $i (1 .. 16000) {
        my $word = join "-", map { chr(97 + ($i * $_) % 26) x (1 + $i % 5) } 1 .. 4;
        push @{ $index{ substr $word, 0, 3 } }, { word => $word, at => $i, list => [ $i, $turn ] };
        $count{$word}++;
    }
    @lines = map { my $key = $_; join ",", map { $_->{word} . $_->{at} } @{ $index{$key} } }
        sort keys %index;
    s/([a-m]+)/uc $1/ge for @lines;
}
print scalar(keys %count), " ", length(join "", @lines), "\n";
"""


def prepare_jq(folder):
    draw = random.Random(3)
    rows = [{"id": i, "user": {"name": "user %d" % draw.randrange(5000), "langs": ["c", "go", "js"]},
             "events": [{"at": draw.randrange(10 ** 9), "kind": draw.choice("abcdef")}
                        for _ in range(4)], "text": "x" * draw.randrange(80)} for i in range(30000)]
    write(folder, "large.json", json.dumps(rows))


JQ_FILTER = ("group_by(.user.name) | map({name: .[0].user.name, kinds: ([.[].events[].kind] | "
             "group_by(.) | map({key: .[0], value: length}) | from_entries), "
             "text: (map(.text | length) | add)}) | sort_by(-.text) | .[:100]")


def prepare_gs(folder):
    page = ["%!PS-Adobe-3.0\n/Times-Roman findfont 9 scalefont setfont\n"]
    for number in range(25):
        page.append("/Helvetica findfont %d scalefont setfont\n" % (6 + number % 9))
        for row in range(70):
            page.append("%d %d moveto (line %d of page %d: the quick brown fox, %d) show\n"
                        % (40 + row % 5, 780 - row * 11, row, number, row * number))
            page.append("newpath %d %d %d 0 360 arc %.2f %.2f 0.5 setrgbcolor fill 0 setgray\n"
                        % (100 + row * 6, 780 - row * 10, 3 + row % 20, row / 70, number / 25))
        page.append("showpage\n")
    write(folder, "document.ps", "".join(page))


NODE_WORK = """
const words = [];
for (let i = 0; i < 60000; i++) words.push('w' + (i * 7919 % 10007));
let text = '';
for (let turn = 0; turn < 8; turn++) {
  const index = new Map();
  words.forEach((word, at) => {
    if (!index.has(word)) index.set(word, []);
    index.get(word).push({ at, turn, word });
  });
  const rows = [...index].map(([word, list]) => ({ word, list, size: list.length }));
  text = JSON.stringify(rows);
  JSON.parse(text);
  const buffers = [];
  for (let i = 0; i < 4000; i++) buffers.push(Buffer.alloc(1000 + i % 9000, i));
  text = require('zlib').deflateSync(Buffer.concat(buffers)).toString('base64').slice(0, 100);
}
console.log(text.length);
"""


# --- git -------------------------------------------------------------------------------------------

def prepare_git(folder):
    """A repository of 3000 commits over 400 files, as one loose pack."""
    draw = random.Random(4)
    files = [["int line_%d_%d(void);\n" % (f, n) for n in range(60)] for f in range(400)]
    stream = ["reset refs/heads/main\n"]
    for commit in range(3000):
        stream.append("commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 9\nc %06d\n"
                      % (1700000000 + commit * 60, commit))
        for f in range(400) if commit == 0 else draw.sample(range(400), 6):
            files[f][draw.randrange(60)] = "int change_%d_%d(int);\n" % (commit, f)
            body = "".join(files[f])
            stream.append("M 100644 inline src/d%d/file%d.h\ndata %d\n%s\n"
                          % (f % 20, f, len(body), body))
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", HOME=folder)
    subprocess.run(["git", "init", "-q", "repo"], cwd=folder, check=True, env=env)
    repo = os.path.join(folder, "repo")
    subprocess.run(["git", "fast-import", "--quiet"], input="".join(stream), text=True, cwd=repo,
                   check=True, env=env)


JAVA_HELLO = """
import java.util.*;
public class Hello {
    public static void main(String[] args) {
        Map<String, Integer> counts = new TreeMap<>();
        for (int i = 0; i < 200000; i++) counts.merge("k" + i % 1000, 1, Integer::sum);
        System.out.println("hello " + counts.size());
    }
}
"""


def file_writer(name, text):
    return lambda folder: write(folder, name, text)


# What the heap python.obj costs: measured only if --only names them.
PYTHON_PROGRAMS = [
    Program("python3 numbers", "108 million integers, made and dropped",
            ["/usr/bin/python3", "work.py"], file_writer("work.py", PYTHON_NUMBERS)),
    Program("python3 kept", "a million dicts, strings and lists, made nine times",
            ["/usr/bin/python3", "work.py"], file_writer("work.py", PYTHON_KEPT)),
    Program("python3 text", "json, regular expressions, strings",
            ["/usr/bin/python3", "work.py"], file_writer("work.py", PYTHON_TEXT)),
]

PROGRAMS = [
    Program("python3 json", "json.dumps and json.loads of 12,000 records",
            ["/usr/bin/python3", "work.py"], file_writer("work.py", PYTHON_JSON)),
    Program("python3 objects", "trees, dicts, regular expressions",
            ["/usr/bin/python3", "work.py"], file_writer("work.py", PYTHON_OBJECTS)),
    Program("clang++", "-O2 of a C++17 file of 4 classes with containers",
            ["clang++-14", "-std=c++17", "-O2", "-c", "large.cpp", "-o", "large.o"], prepare_cxx),
    Program("redis-server", "jemalloc; twelve commands of redis-benchmark",
            ["redis-server", "--port", "0", "--unixsocket", REDIS_SOCKET, "--save", "",
             "--daemonize", "no"], drive=drive_redis),
    Program("sqlite3", "60,000 inserts, two indexes, 4,000 joins",
            ["sqlite3", "-init", "work.sql", ":memory:", ".quit"], prepare_sqlite),
    Program("perl", "hashes, lists and strings",
            ["perl", "work.pl"], file_writer("work.pl", PERL_CHURN)),
    Program("jq", "grouping and sorting 30,000 records",
            ["jq", "-c", JQ_FILTER, "large.json"], prepare_jq),
    Program("gs", "25 pages of text and circles to pixels",
            ["gs", "-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=png16m", "-r100", "-sOutputFile=page%d.png",
             "document.ps"], prepare_gs),
    Program("node", "maps, JSON, buffers, deflate",
            ["node", "work.js"], file_writer("work.js", NODE_WORK)),
    Program("gdb", "-readnow of a C++ program with debug information",
            ["gdb", "-nx", "-batch", "-readnow", "-ex", "info line use1", "symbols"], prepare_gdb),
    Program("git", "log -p of 3,000 commits",
            ["git", "-C", "repo", "log", "-p", "--stat", "-M", "main"], prepare_git),
    Program("java", "a source file compiled and run",
            ["java", "Hello.java"], file_writer("Hello.java", JAVA_HELLO)),
]
