"""libheapscope.so as a program meets it: linked, loaded late, not loaded at all, in C and C++, and with a profiler that
does what the real one does (test/target/api_client.c)."""

import shutil
import subprocess

import pytest
from conftest import TARGETS, clean_env
from preload import preloadable

# heapprofd's example: its one cast that no compiler accepts is a reinterpret_cast here.
SEED = """
#include <heapscope/heap_profile.h>
#include <cstdlib>

static uint32_t g_heap_id = AHeapProfile_registerHeap(
  AHeapInfo_create("invalid.example"));
void* my_malloc(size_t size) {
  void* ptr = malloc(size);
  AHeapProfile_reportAllocation(g_heap_id, reinterpret_cast<uintptr_t>(ptr), size);
  return ptr;
}

void my_free(void* ptr) {
  AHeapProfile_reportFree(g_heap_id, reinterpret_cast<uintptr_t>(ptr));
  free(ptr);
}

int main() {
  my_free(my_malloc(1234));
  return g_heap_id == 1 ? 0 : 1;
}
"""
QUIET = """heap: 1
recorded: 0
second: 2
sample: 0
interval: 0
poll: -107
stats: -107
snapshot: -107
pool: 1, block: 1, free: 0
"""
ABSENT = """heap: 0
recorded: 0
second: 0
sample: 0
interval: 0
poll: -107
stats: -107
snapshot: -107
pool: 0, block: 0, free: -107
"""


@pytest.fixture(scope="module")
def flags(dist):
    """What pkg-config says, for this copy of build/dist, and where the library is at run time."""
    said = subprocess.run(["pkg-config", "--cflags", "--libs", "heapscope"], stdout=subprocess.PIPE, text=True, check=True,
                          env=clean_env(PKG_CONFIG_PATH=dist / "lib" / "pkgconfig"))
    compile_flags, link_flags = [], []
    for word in said.stdout.replace("\\ ", "\0").split():
        (link_flags if word.startswith(("-l", "-L")) else compile_flags).append(word.replace("\0", " "))
    assert "-lheapscope" in link_flags
    return compile_flags, [*link_flags, f"-Wl,-rpath,{dist / 'lib'}"]


@pytest.fixture(scope="module")
def client(target):
    return target("api_client", "-shared", "-fPIC", "-I", str(TARGETS.parents[1] / "src"))


def call(command, preload=None, status=0, **env):
    if preload:
        env["LD_PRELOAD"] = " ".join(str(preloadable(one)) for one in preload)
    done = subprocess.run(command, capture_output=True, text=True, env=clean_env(**env), timeout=60, check=False)
    assert done.returncode == status, done.stderr
    return done


def test_without_a_client(target, flags):
    program = target("api_program", "-O2", *flags[0], *flags[1])
    assert call([program]).stdout == QUIET


def test_with_a_client(target, flags, client):
    """All that is reported arrives, and the innermost frame below the client's function is the program's."""
    program = target("api_program", "-O2", *flags[0], *flags[1])
    done = call([program], [client])
    name = program.rsplit("/", 1)[1]
    lines = [line.split() for line in done.stderr.splitlines()]
    block = lines[2][2]
    assert lines == [line.split() for line in f"""found HSAPI001 of version 1
        heap 1 arena flags 1 parent 0
        alloc arena {block} 100 from {name}
        free arena {block} from {name}
        heap 2 second flags 1 parent 0
        sample second 0x8000000000000000 1000 from {name}
        free second 0x8000000000000000 from {name}
        snapshot off
        heap 3 pool flags 1 parent 0""".splitlines()]
    assert done.stdout == """heap: 1
recorded: 1
second enabled, 512
second: 2
sample: 1
interval: 512
poll: 0
stats: -5
snapshot: 0
second disabled
pool: 1, block: 1, free: 0
"""


def test_library_that_is_loaded_late(target, dist, client, tmp_path):
    """A program that loads a library which is linked with libheapscope.so."""
    source = tmp_path / "late.c"
    source.write_text("""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    unsigned (*registers)(void *) = (unsigned (*)(void *))dlsym(library, "heapscope_heap_register");
    void *(*creates)(const char *) = (void *(*)(const char *))dlsym(library, "heapscope_heap_create");
    printf("%u\\n", registers(creates("late")));
    dlclose(library);
    printf("%d\\n", dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL); /* the client has pointers into it */
    return argc != 2;
}
""")
    program = tmp_path / "late"
    subprocess.run(["gcc", "-o", program, source], check=True)
    done = call([program, dist / "lib" / "libheapscope.so"], [client])
    assert done.stdout == "1\n1\n"
    assert done.stderr.splitlines() == ["found HSAPI001 of version 1", "heap 1 late flags 1 parent 0"]


def test_callbacks_of_an_unloaded_library(target, flags, client):
    program = target("api_program", "-O2", *flags[0], *flags[1])
    plugin = target("api_plugin_heap", "-shared", "-fPIC", *flags[0], *flags[1])
    done = call([program, "plugin", plugin], [client], API_CLIENT="dormant")
    assert done.stdout.splitlines()[-8:] == [
        "plugin's heap: 4", "second enabled, 512", "plugin enabled, 512", "second disabled", "plugin disabled",
        "unloaded: 1", "second enabled, 512", "still here"]


def test_example_of_heapprofd(flags, client, tmp_path):
    source = tmp_path / "example.cc"
    source.write_text(SEED)
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            continue
        program = tmp_path / compiler
        subprocess.run([compiler, "-O1", *flags[0], source, "-o", program, *flags[1]], check=True)
        call([program])
        said = call([program], [client]).stderr.splitlines()
        assert said[:2] == ["found HSAPI001 of version 1", "heap 1 invalid.example flags 1 parent 0"]
        assert said[2].split()[:2] == ["alloc", "invalid.example"] and "1234" in said[2].split()
        assert said[3].split()[:2] == ["free", "invalid.example"] and len(said) == 4


# --- without linking ---

KINDS = {
    "pie": ["-pie", "-fPIE"],
    "pie-at-O0": ["-pie", "-fPIE", "-O0"],
    "no-pie": ["-no-pie", "-fno-pie"],
    "no-pie-at-O0": ["-no-pie", "-fno-pie", "-O0"],
    "static": ["-static", "-fno-pie"],
    "static-pie": ["-static-pie", "-fPIE"],
}


def linkers():
    found = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld"}
    return [name for name, file in found.items() if shutil.which(file)]


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_weak_form(kind, compiler, flags, dist, client, tmp_path):
    """A program that does not link the library does nothing without it, and everything when another object or the user
    loads it: no static program, but also one that is not position-independent."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    for linker in linkers():
        if (linker, kind) == ("gold", "static-pie"):
            continue  # it links no such program with glibc
        program = tmp_path / f"weak-{linker}"
        subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-DHEAPSCOPE_WEAK", f"-fuse-ld={linker}", *flags[0],
                        *KINDS[kind], TARGETS / "api_program.c", "-o", program], check=True)
        assert call([program]).stdout == ABSENT
        library = dist / "lib" / "libheapscope.so"
        assert call([program], [library]).stdout == (ABSENT if "static" in kind else QUIET)
        if "static" not in kind:
            assert "alloc arena" in call([program], [client, library]).stderr


# --- C++ ---

@pytest.mark.costly
@pytest.mark.parametrize("options", [["-fno-rtti"], ["-fno-exceptions"], ["-fno-rtti", "-fno-exceptions", "-DHEAPSCOPE_WEAK"]])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_header_without_parts_of_the_language(compiler, options, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "plain.cc"
    source.write_text("""
        #include <heapscope/heapscope.hpp>
        int main()
        {
            heapscope::pool_resource resource("resource");
            heapscope::reporting_resource reporting(heapscope::heap("heap"), &resource);
            std::pmr::polymorphic_allocator<int> numbers(&reporting);
            numbers.deallocate(numbers.allocate(1), 1);
            return reporting.is_equal(reporting) && !reporting.is_equal(resource) ? 0 : 1;
        }
        void use(heapscope::pool &pool)
        {
            pool.destroy(pool.create<int>(1));
        }
    """)
    libraries = [] if "-DHEAPSCOPE_WEAK" in options else flags[1]
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", *options, *flags[0], source, "-o", tmp_path / "plain",
                    *libraries], check=True)
    subprocess.run([tmp_path / "plain"], check=True, env=clean_env())


@pytest.mark.costly
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_resources(compiler, flags, dist, client, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    build = [compiler, "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
             *flags[0], TARGETS / "api_resources.cc", "-pthread"]
    linked, weak, checked = tmp_path / "linked", tmp_path / "weak", tmp_path / "checked"
    subprocess.run([*build, "-o", linked, *flags[1]], check=True)
    subprocess.run([*build, "-o", weak, "-DHEAPSCOPE_WEAK"], check=True)
    subprocess.run([*build, "-o", checked, "-fsanitize=address,undefined", "-fno-sanitize-recover", *flags[1]], check=True)
    assert call([linked]).stdout == "with the library\n"
    assert call([checked], ASAN_OPTIONS="detect_leaks=1").stdout == "with the library\n"
    assert call([weak]).stdout == "without the library\n"
    assert call([weak], [dist / "lib" / "libheapscope.so"]).stdout == "with the library\n"
    live = {}
    for word, name, place, *_ in map(str.split, call([linked], [client]).stderr.splitlines()[1:]):
        if word == "alloc":
            assert (name, place) not in live
            live[name, place] = True
        elif word == "free":
            del live[name, place]
    assert not live


# --- any language ---

@pytest.mark.costly
def test_header_alone(flags, tmp_path):
    """Each header compiles by itself, in the oldest language that it is for, without a warning."""
    for compiler, standard, headers in (
            ("gcc", "c11", ("heapscope.h", "heap_profile.h")), ("clang-14", "c11", ("heapscope.h", "heap_profile.h")),
            ("g++", "c++11", ("heapscope.h", "heap_profile.h")), ("g++", "c++17", ("heapscope.hpp",)),
            ("clang++", "c++20", ("heapscope.hpp", "typed.hpp")), ("g++", "c++11", ("typed.hpp",))):
        if not shutil.which(compiler):
            continue
        for header in headers:
            for weak in ([], ["-DHEAPSCOPE_WEAK"]):
                source = tmp_path / ("a.cc" if "++" in compiler else "a.c")
                source.write_text(f"#include <heapscope/{header}>\n")
                subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                                *weak, *flags[0], "-c", source, "-o", tmp_path / "a.o"], check=True)


# --- the worked example ---

@pytest.mark.costly
def test_example(dist, client, tmp_path):
    """The installed example builds by its makefile, and reports what its comments say."""
    folder = tmp_path / "heaps"
    shutil.copytree(dist / "share" / "examples" / "heapscope", folder)
    options = [f"PKG_CONFIG_PATH={dist / 'lib' / 'pkgconfig'}", "CFLAGS=-O2 -Wall -Wextra -Werror", "CXXFLAGS=-O2 -Wall -Wextra -Werror"]
    subprocess.run(["make", *options], cwd=folder, check=True, env=clean_env())
    assert call([folder / "arena"]).stdout == "heap 1, snapshot: Transport endpoint is not connected\n"
    arena = call([folder / "arena"], [client])
    assert arena.stdout == "heap 1, snapshot: taken\n"
    said = arena.stderr.splitlines()
    assert said[1] == "heap 1 arena flags 3 parent 0"
    assert sum(line.startswith("alloc arena ") for line in said) == 1000
    assert said.index("snapshot names are loaded") == 1002
    assert call([folder / "objects"]).stdout == "1000 particles, 100 words, heaps 2, 1 and 3\n"
    objects = call([folder / "objects"], [client]).stderr.splitlines()
    for heap, most in (("particles", 1000), ("index", 1020), ("request", 120)):
        allocs = [line.split()[2] for line in objects if line.startswith(f"alloc {heap} ")]
        frees = [line.split()[2] for line in objects if line.startswith(f"free {heap} ")]
        assert sorted(allocs) == sorted(frees) and 100 <= len(allocs) <= most
