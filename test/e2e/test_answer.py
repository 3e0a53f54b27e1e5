"""The paragraph "Where did the memory go?": which functions it names, and what its first sentence
says."""

import json
import re
import subprocess

import pytest
from conftest import clean_env

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
void *volatile kept;
__attribute__((noinline)) void *game_malloc(size_t size) { void *p = malloc(size); kept = p; return p; }
__attribute__((noinline)) void *grant(size_t size) { void *p = malloc(size); kept = p; return p; }
#define CALLER(name, size, times) \
    __attribute__((noinline)) void name(void) { for (int i = 0; i < times; i++) kept = grant(size); kept = NULL; }
CALLER(textures, 65536, 10)
CALLER(sounds, 16384, 40)
CALLER(maps, 4096, 160)
CALLER(names, 512, 1280)
CALLER(points, 64, 10240)
CALLER(letters, 16, 40960)
__attribute__((noinline)) void level(void) { kept = game_malloc(60 << 20); kept = NULL; }
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        level();
    }
    textures(); sounds(); maps(); names(); points(); letters();
    return 0;
}
"""


def answer(dist, tmp_path, *command):
    file = tmp_path / "a.pftrace"
    subprocess.run([dist / "bin/heapscope", "run", "-q", "-i", "1", "-o", file, "--", *command], check=True,
                   stdout=subprocess.DEVNULL, env=clean_env())
    text = subprocess.run([dist / "bin/heapscope", "report", file], check=True, capture_output=True, text=True,
                          env=clean_env()).stdout
    said = re.search(r"Where did the memory go\?.*?\n(.*?)\n\n", text, re.S).group(1)
    return " ".join(said.split()), text


def compiled(tmp_path):
    source = tmp_path / "p.c"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-fno-ipa-icf", "-o", tmp_path / "p", source], check=True)
    return tmp_path / "p"


def test_a_wrapper_by_name(dist, tmp_path):
    said, text = answer(dist, tmp_path, compiled(tmp_path), "level")
    assert re.search(r"9\d\.\d % of it was allocated by level \(through game_malloc\)", said), said
    assert re.search(r"^ +game_malloc.*\n +> level", text, re.M), text  # it is still listed


def test_a_wrapper_by_its_shape(dist, tmp_path):
    said, _ = answer(dist, tmp_path, compiled(tmp_path))
    assert "16.7 % of it was allocated by" in said and "(through grant)" in said, said
    assert not re.search(r"by grant\b", said), said


def test_a_wrapper_without_a_name(dist, tmp_path):
    """An address would tell the reader nothing: the clause is left out."""
    program = compiled(tmp_path)
    subprocess.run(["strip", "--strip-debug", "-N", "grant", program], check=True)
    said, text = answer(dist, tmp_path, program)
    assert "16.7 % of it was allocated by" in said and "through" not in said, said
    assert re.search(r"^ +p\+0x[0-9a-f]+.*\n +> ", text, re.M), text  # it is still listed


@pytest.mark.costly
def test_little_of_it_is_in_blocks(dist, tmp_path):
    """The first sentence says that allocated blocks do not answer the question."""
    said, _ = answer(dist, tmp_path, "/usr/bin/python3", "-c",
                     "import mmap, tempfile; f = tempfile.TemporaryFile(); f.truncate(100 << 20); m = mmap.mmap(f.fileno(), 100 << 20); [m.write(b'x' * 4096) for i in range(100 << 8)]")
    assert re.match(r"Allocated blocks account for only [0-9.]+ % of the resident memory: 1?\d\d MiB were resident", said), said
    said, _ = answer(dist, tmp_path, compiled(tmp_path), "level")
    assert not said.startswith("Only"), said


@pytest.mark.costly
def test_little_of_several_processes_is_in_blocks(dist, tmp_path):
    """A script around the program does not suppress this sentence. Small processes, which are
    mostly code, do not count."""
    # It lives for as long as it may take until its size is looked at.
    code = "import mmap, tempfile, time; f = tempfile.TemporaryFile(); f.truncate(100 << 20); m = mmap.mmap(f.fileno(), 100 << 20); [m.write(b'x' * 4096) for i in range(100 << 8)]; time.sleep(1)"
    said, text = answer(dist, tmp_path, "/bin/sh", "-c", f"/usr/bin/python3 -c \"{code}\"; true")
    assert re.match(r"Allocated blocks account for only [0-9.]+ % of the resident memory: 1\d\d MiB were resident in the one large process", said), text
    two = f"/usr/bin/python3 -c \"{code}\"; /usr/bin/python3 -c \"{code}\""
    said, text = answer(dist, tmp_path, "/bin/sh", "-c", two)
    assert re.match(r"Allocated blocks account for only .* [12]\d\d MiB were resident in the 2 large processes together, and", said), text
    said, text = answer(dist, tmp_path, "/bin/sh", "-c", f"{compiled(tmp_path)} level; true")
    assert not said.startswith("Only"), text


TWO_PATHS = r"""
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void *leaf_a(size_t size) { return kept = malloc(size); }
__attribute__((noinline)) void *leaf_b(size_t size) { return kept = malloc(size); }
__attribute__((noinline)) void load(int n) { for (int i = 0; i < n; i++) { leaf_a(1000); leaf_b(1000); } kept = NULL; }
__attribute__((noinline)) void deeper(int n) { load(n); kept = NULL; }
int main(void) { deeper(900); load(100); return 0; }
"""


def test_the_share_of_a_function_is_that_of_the_table(dist, tmp_path):
    """Of all paths to the function, not of the longest one."""
    source = tmp_path / "q.c"
    source.write_text(TWO_PATHS)
    subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", tmp_path / "q", source], check=True)
    said, text = answer(dist, tmp_path, tmp_path / "q")
    share, name = re.search(r"(\S+) % was allocated by (\w+) or by functions that it called", said).groups()
    assert name == "load", said
    assert re.search(rf" {re.escape(share)} %   load\b", text), text


SORTED = r"""
#include <stdlib.h>
static long all[1000000];
static int compare(const void *a, const void *b) { return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b); }
__attribute__((noinline)) void sort_names(void) { qsort(all, 1000000, sizeof(all[0]), compare); all[0]++; }
int main(void) { void *volatile kept = malloc(5000); sort_names(); return kept == NULL; }
"""


def test_functions_of_libc_are_passed_over(dist, tmp_path):
    """qsort allocates 8 MB. The answer, the mark of the stack and the table of functions name its caller."""
    source = tmp_path / "s.c"
    source.write_text(SORTED)
    subprocess.run(["gcc", "-O1", "-g", "-o", tmp_path / "s", source], check=True)
    said, text = answer(dist, tmp_path, tmp_path / "s")
    assert re.search(r"9\d\.\d % of it was allocated by sort_names\b", said) and "qsort" not in said, said
    assert re.search(r"^ +__qsort_r.*\n +> sort_names", text, re.M), text
    done = subprocess.run([dist / "bin/heapscope", "report", "--json", tmp_path / "a.pftrace"], check=True, capture_output=True, env=clean_env())
    first = json.loads(done.stdout)["functions_by_self"][0]
    assert first["function"] == "sort_names" and first["self"]["bytes"] == 8000000, first
