"""Allocations that bypass the preloaded names: either they are recorded, or the report says that
they are not.

Programs and libraries whose heaps are known to the byte: test/target.
"""

import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace
from truth import behind, measure, new_truth, read_sites, read_truth

SHARED = ["-shared", "-fPIC"]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OTHERS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


@pytest.fixture
def library(target):
    return target("deep_library", *SHARED)


def allocator(name):
    path = LIBRARIES / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


def words_of(heapscope, file):
    """The report as text, in which a line may break anywhere."""
    return re.sub(r"\s+", " ", heapscope("report", file).stdout)


# --- RTLD_DEEPBIND ---------------------------------------------------------------------------------


def test_a_library_that_binds_to_the_c_library(exact, heapscope, library):
    measured = exact(["deep_bound", library, "crossing"])
    for site in ("site_deep_constructor", "site_deep_destructor", "site_deep_posix_memalign", "site_deep_realloc"):
        assert measured.truth[site].alloc_count > 0 and site in measured.sites
    assert "exact: all " in words_of(heapscope, measured.run.file)


@pytest.mark.parametrize("name", OTHERS)
def test_where_another_allocator_serves(exact, target, name):
    """The library's blocks come from the C library all the same, and are freed there."""
    measured = exact(["deep_bound", target("deep_library", *SHARED, "-DOTHER_ALLOCATOR")], library=allocator(name))
    assert measured.sites["site_deep_malloc"].alloc_count == 60


def test_a_cxx_library_that_binds_to_its_own_runtime(exact, target):
    measured = exact(["plugins", "3", target("plugin_cxx", *SHARED)], flags=["-ldl", "-DOPENED=RTLD_DEEPBIND"])
    assert "site_plugin_new" in measured.sites and "site_plugin_aligned" in measured.sites


def test_a_library_that_opens_under_attach(target, library, attach, report, heapscope, tmp_path):
    """Also the blocks that its constructor allocates; and the library works afterwards."""
    need_ptrace()
    truth = new_truth(tmp_path)
    with subprocess.Popen([target("deep_bound", "-pthread"), library, "crossing", "wait", "open"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=clean_env(TRUTH_FILE=truth)) as program:
        assert program.stdout.readline() == "ready\n"
        session = attach(program.pid)
        assert session.is_recording, session.said
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "done\n"
        session.stop()
        told = read_truth(truth)
        program.communicate("\n", timeout=20)
        assert program.returncode == 0
    found = report(session.file, "--top", "all", "--view", "alloc_objects")
    assert read_sites(found) == told
    assert "site_deep_constructor" in read_sites(found)
    words = words_of(heapscope, session.file)
    assert "exact: all" not in words and "pointers to malloc that the program had stored before the recording began are missing" in words


def test_a_session_of_a_daemon(daemon, target, library, tmp_path):
    """The program is preloaded, and dormant until the session begins."""
    truth = new_truth(tmp_path)
    command = [target("deep_bound", "-pthread"), library, "crossing", "wait", "open"]
    program = daemon.launch(command, env={"TRUTH_FILE": truth})
    assert program.process.stdout.readline() == "ready\n"
    name = daemon.begin("-p", program.pid, "-i", 1)
    assert program.step() == "done\n"
    daemon.measured(daemon.stop(name), truth).assert_exact()
    assert program.end() == 1  # it waits for one more line


# --- other names -----------------------------------------------------------------------------------


@pytest.mark.costly(cases=8)
@pytest.mark.parametrize("way", ["handle", "next", "default", "libc", "mixed"])
@pytest.mark.parametrize("name", [None, *OTHERS])
def test_other_ways_to_the_c_library(exact, way, name):
    if way == "mixed" and name:
        pytest.skip("blocks of one allocator are not another's to free")
    measured = exact(["other_names", way], flags=["-ldl"], library=name and allocator(name))
    assert len(measured.truth) == 7


def test_pointers_are_those_of_the_names(run, target, tmp_path):
    """As without the client, a pointer from dlsym equals the function's address."""
    program = target("same_pointers", "-ldl")
    alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True, env=clean_env()).stdout
    done = run([program], "-i", 1)
    assert done.status == 0 and done.stdout == alone and "0" not in alone


# --- a malloc around the C library's ---------------------------------------------------------------


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("by", [[], ["-DBY_NEXT"]], ids=["second-name", "next"])
@pytest.mark.parametrize("interval", [1, 256, 4096])
@pytest.mark.parametrize("where", ["program", "library"])
def test_a_wrapper_is_counted_once(run, target, tmp_path, by, interval, where):
    if where == "program":
        program = [target("wrapping", "-fno-builtin", "-ldl", *by), 20000]
    else:
        wrapper = target("wrapping", *SHARED, "-fno-builtin", "-DLIBRARY", *by)
        program = behind(wrapper, [target("other_names", "-ldl"), "default"])
    measured = measure(run, tmp_path, [str(word) for word in program], "-i", interval)
    assert measured.run.status == 0, measured.run.stderr
    if interval == 1:
        measured.assert_exact()
        return
    truth = sum(amounts.alloc_bytes for amounts in measured.truth.values())
    found = sum(amounts.alloc_bytes for amounts in measured.sites.values())
    assert found == pytest.approx(truth, rel=0.25 if interval == 256 else 0.6)


# --- what is not recorded --------------------------------------------------------------------------


def test_a_namespace_is_said(run, target, heapscope, report, tmp_path):
    done = run([target("namespaces", "-ldl"), target("plugin", *SHARED)], "-i", 1, env={"TRUTH_FILE": new_truth(tmp_path)})
    assert done.status == 0, done.stderr
    found = done.report()
    losses = {loss["name"]: loss for loss in found["losses"]}
    assert losses["unseen_namespaces"]["count"] == 1 and losses["unseen_namespaces"]["is_serious"]
    words = words_of(heapscope, done.file)
    assert "exact: all" not in words and "! allocations are missing (libraries opened with dlmopen have an allocator of their own): 1 process" in words
    assert "At least " in words and " were live at the end" in words
    rows = heapscope("query", done.file, "SELECT count FROM heapscope_losses WHERE name = 'unseen_namespaces'").stdout
    assert re.search(r"^\s*1\s*$", rows, re.M), rows


def test_no_margin_holds_where_data_is_missing(run, target, heapscope, tmp_path):
    program = [target("namespaces", "-ldl"), target("plugin", *SHARED)]
    done = run(program, "-i", 64, env={"TRUTH_FILE": new_truth(tmp_path)})
    text = heapscope("report", "--top", "all", done.file).stdout
    assert "At least " in text and "Functions by their own" in text
    assert not re.search(r"±|B \+|−\d", text), text


def test_a_library_that_brings_an_allocator_is_said(run, target, heapscope, tmp_path):
    """It is bound to the malloc of its own dependency."""
    toy = target("toy_bump", *SHARED, "-fno-builtin")
    library = target("deep_library", *SHARED, "-DOTHER_ALLOCATOR", toy)
    done = run([target("deep_bound", "-pthread"), library], "-i", 1, env={"TRUTH_FILE": new_truth(tmp_path)})
    assert done.status == 0, done.stderr
    assert "unseen_allocators" in {loss["name"] for loss in done.report()["losses"]}
    assert "exact: all" not in words_of(heapscope, done.file)


PHP_SCRIPT = """
$libc = FFI::cdef('void *malloc(size_t n); void free(void *p);');
for ($i = 0; $i < 100; $i++) { $kept = $libc->malloc(1 << 20); }
for ($i = 0; $i < 50; $i++) { $p = $libc->malloc(3000); $libc->free($p); }
"""


def test_an_extension_of_php(run):
    """PHP opens all of them with RTLD_DEEPBIND: functions that FFI looks up by name are the C
    library's."""
    command = ["php", "-d", "ffi.enable=1", "-r", PHP_SCRIPT]
    if not shutil.which("php") or subprocess.run([*command[:-1], "FFI::cdef('');"], check=False).returncode != 0:
        pytest.skip("PHP, or its extension FFI, is not installed")
    done = run(command, "-i", 1)
    assert done.status == 0, done.stderr
    found = done.report("--top", "all", "--view", "alloc_objects")
    assert not [loss for loss in found["losses"] if loss["is_serious"]]
    called = [s for s in found["stacks"] if any(f["function"] == "ffi_call" for f in s["frames"])]
    assert sum(s["live"]["bytes"] for s in called) == 100 << 20
    assert sum(s["alloc"]["bytes"] for s in called) == (100 << 20) + 50 * 3000
    assert sum(s["alloc"]["count"] for s in called) == 150
