"""Functions of Python in stacks: they are those that the interpreter's own frames name, with the same files and lines."""

import json
import subprocess

import pytest
from conftest import clean_env
from test_python_objects import INTERPRETERS

SUPPORTED = [python for python in INTERPRETERS
             if python == "/usr/bin/python3" or any(f"/3.{minor}." in python for minor in range(8, 14))]

# Each moment is a block of a size of its own: note() is called in the line of malloc, so that both see the same frames.
MOMENTS = r'''
import ctypes, json, functools, sys, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
moments = []
sizes = iter(range(1 << 20, 1 << 24, 16))
lock = threading.Lock()
def note(size, frame):
    stack = []
    while frame is not None:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    moments.append([size, stack])
    return size
def moment():
    with lock:
        return libc.malloc(note(next(sizes), sys._getframe()))
def generated(count):
    for i in range(count):
        yield moment()
        if i % 2:
            moment(
            )
class Shop:
    def __init__(self):
        moment()
    def __lt__(self, other):
        return bool(moment())
    def __del__(self):
        moment()
    @property
    def price(self):
        return [moment() for unused in range(2)]
    async def buy(self):
        async def inner():
            return moment()
        return await inner()
def recursive(depth):
    return moment() if depth == 0 else recursive(depth - 1)
def by_c(depth):
    return list(map(lambda each: by_c(depth - 1) if depth else moment(), [0]))
def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass
def a_turn(i):
    for unused in generated(4):
        pass
    shop = Shop()
    shop.price
    sorted([Shop(), Shop(), Shop()])
    run(shop.buy())
    recursive(i % 30)
    by_c(i % 7)
    namespace = {"moment": moment}
    source = "\n" * (i % 11) + "def made_%d():\n    x = 1\n    return moment()\nmade_%d()" % (i % 5, i % 5)
    exec(compile(source, "<made %d \u00e9\u4e2d>" % (i % 3), "exec"), namespace)
    functools.reduce(lambda a, b: moment(), [1, 2])
    json.loads('{"a": 1}', object_hook=lambda pairs: moment())
    try:
        moment()
        raise KeyError(i)
    except KeyError:
        moment()
    finally:
        moment()
    try:
        int("x" if i % 2 else [moment()][0] * 0 or "y")
    except ValueError:
        moment()
for i in range(int(sys.argv[2])):
    a_turn(i)
threads = [threading.Thread(target=a_turn, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w") as file:
    json.dump(moments, file)
os._exit(0)
'''


def frames_of_blocks(heapscope, trace):
    """By the size of a block: the functions of Python in its stack, innermost first, and whether the stack is whole."""
    rows = heapscope("query", "--format", "json", trace,
                     "SELECT id, parent_id, name, source_file, line_number, kind FROM heapscope_nodes")
    nodes = {row["id"]: row for row in json.loads(rows.stdout)}
    blocks = json.loads(heapscope("query", "--format", "json", trace, "SELECT size, node_id FROM heapscope_blocks "
                                  "WHERE heap_name = 'libc.malloc' AND size >= 1 << 20").stdout)
    found = {}
    for block in blocks:
        stack, node, root = [], nodes[block["node_id"]], None
        while node:
            if node["kind"] == "interpreted":
                stack.append([node["name"], node["source_file"], node["line_number"]])
            root, node = node, nodes.get(node["parent_id"])
        found[block["size"]] = (stack, root["kind"] != "marker")
    return found


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("python", SUPPORTED)
def test_frames_are_those_of_the_interpreter(run, heapscope, tmp_path, python):
    """At 1,000 moments and more: in functions, methods, generators, coroutines, destructors, callbacks from C, code that was
    made by exec() and freed again, and several threads."""
    (tmp_path / "moments.py").write_text(MOMENTS)
    done = run([python, tmp_path / "moments.py", tmp_path / "moments.json", "40"], "-i", 1, "--blocks")
    moments = json.loads((tmp_path / "moments.json").read_text())
    assert len(moments) >= 1000
    found = frames_of_blocks(heapscope, done.file)
    wrong = [(size, stack, found.get(size)) for size, stack in moments if found.get(size, ([], 0))[0] != stack]
    assert not wrong, f"{len(wrong)} of {len(moments)}, such as {wrong[0]}"
    assert sum(is_whole for _, is_whole in found.values()) >= 0.99 * len(found)


EDGES = [python for python in SUPPORTED if python == "/usr/bin/python3" or any(f"/3.{minor}." in python for minor in (8, 13))]

HOLD = r"""
import os, sys, time
def taken_in_the_child():
    return bytearray(3 << 20)
def taken():
    return bytearray(2 << 20)
def is_attached():
    with open("/proc/self/maps") as maps:
        return "heapscope" in maps.read()
if sys.argv[1] == "wait":
    print("ready", flush=True)
    while not is_attached():
        time.sleep(0.02)
    time.sleep(0.5)
kept = taken()
pid = os.fork()
if pid == 0:
    also_kept = taken_in_the_child()
    os._exit(0)
os.waitpid(pid, 0)
if sys.argv[1] == "wait":
    time.sleep(60)
os._exit(0)
"""


def functions(heapscope, trace, where="kind = 'interpreted'"):
    rows = heapscope("query", "--format", "json", trace, f"SELECT DISTINCT name FROM heapscope_nodes WHERE {where}")
    return {row["name"] for row in json.loads(rows.stdout)}


@pytest.mark.parametrize("python", EDGES)
def test_fork(run, heapscope, tmp_path, python):
    (tmp_path / "hold.py").write_text(HOLD)
    done = run([python, tmp_path / "hold.py", "run"])
    assert {"taken", "taken_in_the_child"} <= functions(heapscope, done.file)


@pytest.mark.parametrize("python", EDGES)
def test_attach(heapscope, tmp_path, python):
    (tmp_path / "hold.py").write_text(HOLD)
    with subprocess.Popen([python, tmp_path / "hold.py", "wait"], stdout=subprocess.PIPE, env=clean_env()) as program:
        try:
            assert program.stdout.readline() == b"ready\n"
            done = heapscope("attach", "-q", program.pid, "-d", "2s", "-o", tmp_path / "a.pftrace")
            assert done.returncode == 0, done.stderr
            assert "taken" in functions(heapscope, tmp_path / "a.pftrace")
        finally:
            program.kill()


@pytest.mark.parametrize("python", EDGES)
def test_switched_off(run, heapscope, tmp_path, python):
    (tmp_path / "hold.py").write_text(HOLD)
    done = run([python, tmp_path / "hold.py", "run"], "--native-only")
    assert functions(heapscope, done.file) == set()
    assert "_PyEval_EvalFrameDefault" in functions(heapscope, done.file, "kind = 'native'")


@pytest.mark.parametrize("python", [python for python in INTERPRETERS if "/3.7." in python])
def test_unknown_versions_are_named(run, heapscope, python):
    done = run([python, "-c", "x = [[i] for i in range(100000)]"])
    assert functions(heapscope, done.file) == set()
    losses = {loss["name"]: loss for loss in done.report()["losses"]}
    assert losses["python_unknown"]["count"] == 1 and not losses["python_unknown"]["is_serious"]


EMBEDDED = """
#include <Python.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        Py_Initialize();
        PyRun_SimpleString("def embedded(n):\\n    return [bytearray(100000) for i in range(n)]\\nkept = embedded(20)\\n");
        PyThreadState *first = PyThreadState_Get(), *sub = Py_NewInterpreter();
        PyRun_SimpleString("def in_the_sub(n):\\n    return [bytearray(100000) for i in range(n)]\\nkept = in_the_sub(20)\\n");
        Py_EndInterpreter(sub);
        PyThreadState_Swap(first);
        Py_Finalize();
    }
    return 0;
}
"""


def test_embedded(run, heapscope, tmp_path):
    """In a C program, with a sub-interpreter, and when the interpreter begins anew."""
    version = next(python for python in SUPPORTED if "/3.12." in python).split("/")
    prefix = "/".join(version[:-2])
    (tmp_path / "embed.c").write_text(EMBEDDED)
    subprocess.run(["gcc", "-o", tmp_path / "embed", tmp_path / "embed.c", f"-I{prefix}/include/python3.12", f"-L{prefix}/lib",
                    f"-Wl,-rpath,{prefix}/lib", "-lpython3.12"], check=True)
    done = run([tmp_path / "embed"], env={"PYTHONHOME": prefix})
    assert {"embedded", "in_the_sub"} <= functions(heapscope, done.file)


EXTENSIONS = """
import json, sqlite3, sys
import lxml.etree, numpy
data = json.loads(json.dumps([{"id": i, "tags": ["x%d" % i]} for i in range(20000)]))
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values (?, ?)", [(i, "text %d" % i) for i in range(20000)])
rows = base.execute("select * from t order by b").fetchall()
tree = lxml.etree.fromstring("<r>" + "".join("<a b='%d'>t</a>" % i for i in range(20000)) + "</r>")
found = tree.xpath("//a[@b > 100]")
array = numpy.arange(100000).reshape(100, 1000)
parts = [array[i] * 2.0 for i in range(100)]
"""


@pytest.mark.costly
def test_stacks_through_extensions_are_whole(run, heapscope, tmp_path):
    """From main to malloc, 99 of 100, with json, sqlite3, lxml and numpy."""
    if subprocess.run(["/usr/bin/python3", "-c", "import lxml, numpy"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("python3-lxml and python3-numpy are not installed")
    (tmp_path / "extensions.py").write_text(EXTENSIONS)
    done = run(["/usr/bin/python3", tmp_path / "extensions.py"])
    assert done.status == 0, done.stderr
    rows = heapscope("query", "--format", "json", done.file,
                     "SELECT n.id, n.parent_id, n.kind, n.name, s.count FROM heapscope_nodes n LEFT JOIN (SELECT node_id, "
                     "SUM(alloc_count) AS count FROM heapscope_samples GROUP BY node_id) s ON s.node_id = n.id")
    nodes = {row["id"]: row for row in json.loads(rows.stdout)}
    whole = cut = 0
    for node in list(nodes.values()):
        count, root = node["count"] or 0, node
        while root["parent_id"] is not None:
            root = nodes[root["parent_id"]]
        whole, cut = (whole, cut + count) if root["kind"] == "marker" else (whole + count, cut)
    assert cut <= 0.01 * (whole + cut), (whole, cut)
    assert "<module>" in {node["name"] for node in nodes.values()}


def test_functions_of_one_name_in_two_files(run, tmp_path):
    """They are two functions, each with its file. (A bytearray takes a byte more.)"""
    for name, size in [("one", 3), ("two", 5)]:
        (tmp_path / f"{name}.py").write_text(f"def taken():\n    return bytearray(({size} << 20) - 1)\nkept = taken()\n")
    (tmp_path / "both.py").write_text("import os, one, two\nos._exit(0)\n")
    done = run(["/usr/bin/python3", tmp_path / "both.py"])
    found = {f.get("file"): f["total"]["bytes"] for f in done.report("--top", "all")["functions_by_total"] if f.get("function") == "taken"}
    assert found == {str(tmp_path / "one.py"): 3 << 20, str(tmp_path / "two.py"): 5 << 20}
