"""Programs that record without a session, where no daemon runs."""

import errno
import subprocess

import pytest
from conftest import clean_env
from binding import own_figures


@pytest.mark.parametrize("order", ["first", "behind libc", "behind jemalloc"])
def test_no_daemon(link, start_bound, order):
    program = start_bound(link("bound", order))
    before = int(program.tell("stats").split()[0])
    program.tell("keep 300")
    program.tell("drop 100")
    allocated, freed, exact = map(int, program.tell("stats").split())
    assert allocated - before == 30000 and freed >= 10000 and exact == 1
    assert program.end() == 3


def test_loaded_later(link, start_bound, dist, tmp_path):
    """A library that a program opens with dlopen() records nothing, and says so."""
    source = tmp_path / "opens.c"
    source.write_text("""#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL);
    int (*bind)(const void *) = library ? (int (*)(const void *))dlsym(library, "heapscope_bind") : NULL;
    free(malloc(100));
    printf("%d\\n", bind ? bind(NULL) : 1);
    return 0;
}
""")
    subprocess.run(["gcc", source, "-o", tmp_path / "opens", "-ldl"], check=True)
    done = subprocess.run([tmp_path / "opens", dist / "lib" / "libheapscope_malloc.so"], env=clean_env(HEAPSCOPE_INTERVAL="1"),
                          stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == f"{-errno.ENOTSUP}\n"


def test_pkg_config(dist, tmp_path):
    source = tmp_path / "linked.c"
    source.write_text("#include <heapscope/heapscope.h>\nint main(void) { return heapscope_bind(0); }\n")
    said = subprocess.run(["pkg-config", "--cflags", "--libs", "heapscope_malloc"], stdout=subprocess.PIPE, text=True, check=True,
                          env=clean_env(PKG_CONFIG_PATH=dist / "lib" / "pkgconfig")).stdout
    said = [word.replace("\0", " ") for word in said.replace("\\ ", "\0").split()]
    subprocess.run(["gcc", source, "-o", tmp_path / "linked", *said, f"-Wl,-rpath,{dist / 'lib'}"], check=True)
    assert subprocess.run([tmp_path / "linked"], env=clean_env(HEAPSCOPE_SOCKET=tmp_path / "none"), check=False).returncode == 0


def test_no_client(api_only, start_bound):
    assert start_bound(api_only).tell("bind 1 -") == str(-errno.ENOTCONN)


@pytest.mark.parametrize("order", ["first", "behind jemalloc"])
def test_under_run(run, link, report, order):
    done = run([link("bound", order)], "-i", 1, input="keep 300\nbind 1 -\njoin\n")
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == ["0", str(-errno.EBUSY)]
    assert own_figures(report, done.file) == (31000, 301, 31000, 301)
