"""Types of blocks by the frames of their stacks: storage of containers and objects of smart pointers."""

import json
import shutil
import subprocess

import infra_checker
import pprof_file
import pytest
from compiling import ROOT
from conftest import clean_env
from test_report_types import Running, snapshot, types_of
from waiting import wait_until

COUNT = 100
NODES = {
    "goods::Widget[]": COUNT, "goods::Gadget[]": COUNT, "goods::Shape[]": COUNT, "short[]": COUNT, "char[]": COUNT, "std::_List_node<long>": COUNT,
    "std::_Rb_tree_node<std::pair<long const, goods::Widget> >": COUNT, "std::_Rb_tree_node<std::pair<long const, goods::Gadget> >": COUNT,
    "std::_Sp_counted_ptr_inplace<goods::Widget, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>": COUNT,
}
MADE = {"goods::Holder": COUNT, "std::vector<short, std::allocator<short> >": COUNT}


def compiled(compiler, program, flags, source="containers", standard="c++17"):
    flags = flags.split()
    is_stripped = "stripped" in flags
    subprocess.run([compiler, f"-std={standard}", "-I", ROOT / "include", *(f for f in flags if f != "stripped"),
                    ROOT / f"test/target/{source}.cc", "-o", program], check=True)
    if is_stripped:
        subprocess.run(["strip", program], check=True)
    return program


def populations(heapscope, file, *options):
    """What the program's own classes and the containers have; not the C++ library's own blocks, nor the list of what is kept."""
    types = types_of(heapscope, file, *options)
    return {name: amount["count"] for name, amount in types.items() if name not in ("(unknown)", "(not read)", "(others)", "void*[]")}


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("flags", ["-O0", "-O0 -g", "-O2 -g", "-O2", "-O2 -g stripped", "-O2 -g -flto"])
def test_containers(dist, heapscope, tmp_path, compiler, flags):
    """Where a function that allocates has a frame, its types have the right numbers; nothing is ever named wrong."""
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    program = compiled(compiler, tmp_path / "its containers", flags)
    it = Running(dist, tmp_path / "run.pftrace", [program, COUNT])
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    found = populations(heapscope, now)
    if "-flto" in flags:  # equal functions are made one: nothing may have the name of the other type
        assert all(count == COUNT for count in found.values())
        assert set(found) <= {"goods::Shape", *NODES, *MADE}
    elif "-g" in flags and "stripped" not in flags:
        assert found == NODES | MADE
    elif "-O0" in flags:
        assert found == NODES
    else:
        # The control block has a vtable. A vector of polymorphic objects looks like the first of them.
        known = {"goods::Shape": COUNT, "char[]": COUNT, **NODES}
        assert found["char[]"] == COUNT and found.items() <= known.items()


@pytest.mark.costly
def test_of_the_peak_and_in_sql(dist, heapscope, tmp_path):
    """A program that ends before its memory is read has these types, too."""
    program = compiled("g++", tmp_path / "containers", "-O2 -g")
    it = Running(dist, tmp_path / "run.pftrace", [program, COUNT])
    assert it.end() == 0
    types = populations(heapscope, tmp_path / "run.pftrace", "--view", "peak")
    assert types == NODES | MADE
    done = heapscope("query", "--format", "csv", tmp_path / "run.pftrace",
                     "SELECT sum(count) FROM heapscope_parts WHERE type_name = 'goods::Widget[]' AND view = 'peak'")
    assert float(done.stdout.splitlines()[1]) == COUNT
    # The user did not want types.
    it = Running(dist, tmp_path / "without.pftrace", [program, COUNT], "--no-types")
    assert it.end() == 0
    assert heapscope("report", "--by", "type", "--view", "peak", tmp_path / "without.pftrace").returncode == 1


@pytest.mark.costly
@pytest.mark.parametrize("compiler, flags, standard", [
    ("g++", "-O0 -Wall -Wextra -Werror", "c++11"), ("g++", "-O2", "c++17"), ("g++", "-O3 -flto", "c++20"), ("clang++", "-O2", "c++11"),
    ("clang++", "-O3", "c++20"), ("g++", "-O2 stripped", "c++17")])
def test_given_types(dist, heapscope, tmp_path, compiler, flags, standard):
    """The types of typed.hpp, without debug information. They have precedence over what the memory says."""
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    program = compiled(compiler, tmp_path / "given", flags, "given_types", standard)
    it = Running(dist, tmp_path / "run.pftrace", [program, COUNT])
    now = snapshot(heapscope, it.pid, tmp_path / "now.pftrace")
    assert it.end() == 0
    found = populations(heapscope, now)
    if "stripped" in flags:
        assert found == {"given::Shape": COUNT}  # which its memory says
        return
    vectors = [name for name in found if name.startswith("std::vector<") and name.endswith("[]")]
    assert len(vectors) == 2 and all(found.pop(name) == 1 for name in vectors)
    assert found == {"given::Point": COUNT, "given::Wide": COUNT, "short[]": COUNT, "given::Slot[]": COUNT,
                     "std::_List_node<float>": COUNT, "std::_Rb_tree_node<std::pair<long const, char> >": COUNT}


@pytest.mark.costly
def test_given_types_without_heapscope(tmp_path):
    program = compiled("g++", tmp_path / "given", "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover", "given_types")
    subprocess.run([program, "3"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=clean_env(ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1"))


@pytest.mark.costly
def test_every_view(dist, heapscope, root, tmp_path):
    """What reads a file finds the same types: exports, the comparison of files, equal blocks, and each block by itself."""
    program = compiled("g++", tmp_path / "containers", "-O2 -g")
    files = []
    for count in (COUNT, 3 * COUNT):
        it = Running(dist, tmp_path / "run.pftrace", [program, count])
        contents = tmp_path / f"contents of {count}"
        files.append(snapshot(heapscope, it.pid, tmp_path / f"{count}.pftrace", "--output-contents-dir", contents))
        tagged = tmp_path / f"tagged {count}.pb.gz"
        wait_until(lambda: heapscope("snapshot", "--with-tags", "-p", it.pid, "-o", tagged).returncode == 0)
        assert it.end() == 0
    known = {name: 3 * count for name, count in (NODES | MADE).items()}

    def done(*arguments):
        result = heapscope(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    done("export", "-q", "-o", tmp_path / "x.memory-infra.json", files[1])
    ((_, _, heaps),) = next(iter(infra_checker.read(tmp_path / "x.memory-infra.json").processes.values())).dumps
    rows = [(row["type"], row["count"]) for row in heaps["malloc"]]
    assert added(rows).items() >= known.items() and "(not read)" not in added(rows)
    done("export", "--labels", "type", "-o", tmp_path / "x.pb.gz", files[1])
    done("export", "--with-tags", "-o", tmp_path / "tags.pb.gz", files[1])
    for file in (tmp_path / "x.pb.gz", tmp_path / "tags.pb.gz", tagged):
        names, samples = pprof_file.read(root, file)
        column = names.index("inuse_objects")
        assert added((sample.labels.get("type"), sample.values[column]) for sample in samples).items() >= known.items()
    changes = json.loads(done("diff", "--by", "type", "--json", *files))
    assert {row["type"]: (row["objects_before"], row["objects_after"]) for row in changes["parts"]}.items() >= {
        name: (count // 3, count) for name, count in known.items()}.items()
    found = json.loads(done("dupes", files[1], "--contents-dir", contents, "--json", "--min-bytes", 0, "--top", 1000))
    widgets, = (row for row in found["dupe_types"] if row["type"] == "goods::Widget[]")
    assert widgets["copies"] == 3 * COUNT
    sql = done("query", "--format", "csv", files[1], "SELECT count(*) FROM heapscope_blocks WHERE type_name = 'goods::Widget[]'")
    assert int(sql.splitlines()[1]) == 3 * COUNT
    done("diff", "-f", "leaks-json", "--threshold", 1, "-o", tmp_path / "leaks", *files)
    leaks = [leak for file in (tmp_path / "leaks").iterdir() for leak in json.loads(file.read_text())]
    assert all(sum(leak["count_by_type"].values()) == leak["count"] for leak in leaks)
    assert added(pair for leak in leaks for pair in leak["count_by_type"].items()).items() >= {
        name: count - count // 3 for name, count in known.items()}.items()


def added(pairs):
    """The sum of each name's numbers."""
    sums = {}
    for name, number in pairs:
        sums[name] = sums.get(name, 0) + number
    return sums
