"""libheapscope.so as a program meets it: linked, loaded late, not loaded at all, and with a profiler that
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


# --- any language ---

def test_header_alone(flags, tmp_path):
    """Each header compiles by itself, in the oldest language that it is for, without a warning."""
    for compiler, standard, headers in (
            ("gcc", "c11", ("heapscope.h", "heap_profile.h")), ("clang-14", "c11", ("heapscope.h", "heap_profile.h")),
            ("g++", "c++11", ("heapscope.h", "heap_profile.h")), ("clang++", "c++20", ("heapscope.h", "heap_profile.h"))):
        if not shutil.which(compiler):
            continue
        for header in headers:
            for weak in ([], ["-DHEAPSCOPE_WEAK"]):
                source = tmp_path / ("a.cc" if "++" in compiler else "a.c")
                source.write_text(f"#include <heapscope/{header}>\n")
                subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                                *weak, *flags[0], "-c", source, "-o", tmp_path / "a.o"], check=True)
