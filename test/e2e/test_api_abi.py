"""include/heapscope/heapscope.abi is what libheapscope.so and its headers have, and is enough to write bindings."""

import ctypes
import re
import subprocess

import pytest
from conftest import ROOT

PLAIN = {"none": "void", "bool": "_Bool", "i32": "int", "u32": "uint32_t", "u64": "uint64_t", "usize": "size_t",
         "text": "const char *"}
CTYPES = {"none": None, "bool": ctypes.c_bool, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
          "usize": ctypes.c_size_t, "text": ctypes.c_char_p, "ptr": ctypes.c_void_p}


@pytest.fixture(scope="module")
def abi(dist):
    """{kind: [words after it]}, in the order of the file."""
    found = {}
    for line in (dist / "include" / "heapscope" / "heapscope.abi").read_text(encoding="utf-8").splitlines():
        kind, *words = line.partition("#")[0].split() or [""]
        if kind:
            found.setdefault(kind, []).append(words)
    assert set(found) == {"library", "constant", "struct", "field", "callback", "function", "object"}
    return found


@pytest.fixture(scope="module")
def library(abi, dist):
    return dist / "lib" / abi["library"][0][0]


def said(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def exported(library):
    """{(version, name): bytes}, without the versions themselves."""
    found = {}
    for line in said("readelf", "--dyn-syms", "-W", library).splitlines():
        words = line.split()
        if len(words) == 8 and words[6] not in ("UND", "ABS", "Ndx"):
            name, _, node = words[7].partition("@@")
            found[node, name] = int(words[2], 0)
    return found


def test_symbols(abi, library):
    listed = {(node, name) for node, name, *_ in abi["function"] + abi["object"]}
    symbols = exported(library)
    assert set(symbols) == listed
    for node, name, size_bytes in abi["object"]:
        assert symbols[node, name] == int(size_bytes)


def test_no_allocator_function_is_exported(library):
    names = {name for _, name in exported(library)}
    assert not [name for name in names if not name.startswith(("heapscope_", "AHeap"))]


def test_what_the_library_needs(library):
    dynamic = said("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed == ["libc.so.6"]
    assert re.search(r"\(SONAME\).*\[libheapscope\.so\]", dynamic)
    assert "TEXTREL" not in dynamic and "NODELETE" in dynamic and re.search("BIND_NOW|NOW", dynamic)
    # A client fills the table in before any relocation is made.
    relocated = [int(line.split()[0], 16) for line in said("readelf", "-rW", library).splitlines()
                 if re.match("[0-9a-f]{16} ", line)]
    place, size_bytes = re.search(r"([0-9a-f]{16})\s+(\d+) OBJECT.*heapscope_api_v1", said(
        "readelf", "--dyn-syms", "-W", library)).groups()
    assert not [va for va in relocated if 0 <= va - int(place, 16) < int(size_bytes)]


def declared(dist, tmp_path):
    """{function: (result, parameters)}, as gcc reads the headers."""
    source, prototypes = tmp_path / "a.c", tmp_path / "prototypes"
    source.write_text("#include <heapscope/heapscope.h>\n#include <heapscope/heap_profile.h>\n")
    subprocess.run(["gcc", "-I", dist / "include", "-aux-info", prototypes, "-fsyntax-only", source], check=True)
    found = {}
    for line in prototypes.read_text().splitlines():
        match = re.match(r"/\* .*/heapscope/\w+\.h:\S+ \*/ extern (.*?)(\w+) \((.*)\);", line)
        if match:
            found[match[2]] = (match[1].strip(), match[3])
    return found


def c_type(abi, word):
    """The C type of a word of the list, as a regular expression."""
    if word == "ptr":
        return r"(?!const char)(const )?(struct )?\w+ \*"
    for name, result, *parameters in abi["callback"]:
        if name == word:
            return rf"{c_type(abi, result)} ?\(\*\) \({', '.join(c_type(abi, one) for one in parameters)}\)"
    return re.escape(PLAIN[word])


def test_headers(abi, dist, tmp_path):
    found = declared(dist, tmp_path)
    assert set(found) == {name for _, name, *_ in abi["function"]}
    for _, name, result, *parameters in abi["function"]:
        assert re.fullmatch(c_type(abi, result), found[name][0]), name
        assert re.fullmatch(", ".join(c_type(abi, one) for one in parameters), found[name][1]), name


def test_structures_and_constants(abi, dist, tmp_path):
    lines = ["#include <heapscope/heapscope.h>", "#define MEMBER(type, field) (((struct type *)0)->field)"]
    lines += [f'_Static_assert({name} == {value}, "{name}");' for name, value in abi["constant"]]
    lines += [f'_Static_assert(sizeof(struct {name}) == {size}, "{name}");' for name, size in abi["struct"]]
    ends = {}
    for struct, name, kind, offset in abi["field"]:
        base, _, count = kind.partition("*")
        size = ctypes.sizeof(CTYPES.get(base, ctypes.c_void_p)) * int(count or 1)
        lines.append(f'_Static_assert(offsetof(struct {struct}, {name}) == {offset}, "{name}");')
        lines.append(f'_Static_assert(sizeof(MEMBER({struct}, {name})) == {size}, "{name}");')
        assert ends.get(struct, 0) == int(offset), "fields follow each other without gaps"
        ends[struct] = int(offset) + size
    assert ends == {name: int(size) for name, size in abi["struct"]}
    source = tmp_path / "b.c"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-I", dist / "include", "-fsyntax-only", source], check=True)


def test_every_function_has_a_page(abi, dist):
    for _, name, *_ in abi["function"]:
        page = (dist / "share" / "man" / "man3" / f"{name}.3").read_text(encoding="utf-8")
        assert re.search(rf"^\.Nm {name}( ,)?$", page, re.M), name
        assert re.search(rf"^\.F[no] \"?{name}\b", page, re.M), name


def bind(abi, library):
    """Bindings made of nothing but the list."""
    loaded = ctypes.CDLL(str(library))
    types = dict(CTYPES)
    for name, result, *parameters in abi["callback"]:
        types[name] = ctypes.CFUNCTYPE(types[result], *(types[one] for one in parameters))
    bound = {}
    for _, name, result, *parameters in abi["function"]:
        function = getattr(loaded, name)
        function.restype = types[result]
        function.argtypes = [types[one] for one in parameters if one != "none"]
        bound[name] = function
    structs = {}
    for name, _ in abi["struct"]:
        fields = []
        for struct, field, kind, _ in abi["field"]:
            base, _, count = kind.partition("*")
            if struct == name:
                fields.append((field, types[base] * int(count) if count else types[base]))
        structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return bound, structs, types


def use_bindings(abi, library):
    call, structs, types = bind(abi, library)
    heap = call["heapscope_heap_create"](b"python")
    told = []
    kept = types["on_enabled"](lambda data, interval: told.append(interval))
    assert call["heapscope_heap_set_callbacks"](heap, kept, types["on_disabled"](), None) == 0
    heap_id = call["heapscope_heap_register"](heap)
    assert 1 <= heap_id <= 255
    assert call["heapscope_heap_set_primary"](heap, True) == -16  # EBUSY
    assert call["heapscope_report_alloc"](heap_id, 1 << 63, 100) is False
    call["heapscope_report_free"](heap_id, 1 << 63)
    assert call["heapscope_poll"]() == -107  # ENOTCONN
    stats = structs["heapscope_stats"](allocated_bytes=5)
    assert call["heapscope_get_stats"](ctypes.byref(stats), None) == -107
    options = structs["heapscope_pool_options"](heap=heap_id, chunk_bytes=8192)
    memory = []

    def alloc(_, size_bytes):
        memory.append(ctypes.create_string_buffer(size_bytes + 16))
        return ctypes.addressof(memory[-1]) + 15 & ~15

    freed = []
    options.alloc = types["pool_alloc"](alloc)
    options.free = types["pool_free"](lambda data, place, size_bytes: freed.append(size_bytes))
    pool = call["heapscope_pool_create"](None, ctypes.byref(options))
    assert call["heapscope_pool_heap"](pool) == heap_id
    block = call["heapscope_pool_alloc_aligned"](pool, 100, 256)
    assert block % 256 == 0
    assert call["heapscope_pool_free"](pool, block) == 0
    assert call["heapscope_pool_trim"](pool) == 8192
    call["heapscope_pool_destroy"](pool)
    assert len(memory) == len(freed) == 2 and not told


def test_bindings_made_from_the_list(abi, library):
    # In a process of its own, as the library cannot be unloaded.
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'test' / 'e2e')!r}); import test_api_abi as t, pathlib\n" \
           f"t.use_bindings({abi!r}, {str(library)!r})"
    subprocess.run(["/usr/bin/python3", "-c", code], check=True)
