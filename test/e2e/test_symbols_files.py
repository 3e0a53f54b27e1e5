"""Where names are searched: build ids decide, and a wrong file never names anything."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import symbols_reference as reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static char *hidden(int n) { return malloc((size_t)n + VARIANT); }
__attribute__((noinline)) char *exported(int n) { char *p = hidden(n + 1); if (p) p[0] = 1; return p; }
int main(int argc, char **argv) { (void)argv; puts(exported(argc) ? "yes" : "no"); return 0; }
"""


@pytest.fixture(scope="session")
def symbols(built_once):
    return reference.tool_in(built_once("symbols", lambda folder: reference.build_tool(ROOT, folder)))


class Module:
    """A program with its debug information split off, and the truth about it."""

    def __init__(self, folder, variant=1, build_id=True):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "source.c"
        source.write_text(SOURCE)
        self.full = folder / "full"
        command = ["gcc", "-O1", "-g", "-rdynamic", f"-DVARIANT={variant}", "-o", str(self.full), str(source)]
        subprocess.run([*command, f"-Wl,--build-id={'sha1' if build_id else 'none'}"], check=True)
        self.id = reference.build_id(self.full)
        rows = subprocess.run(["nm", str(self.full)], stdout=subprocess.PIPE, text=True, check=True).stdout
        at = {name: int(address, 16) for address, name in re.findall(r"^(\w+) [tT] (\w+)$", rows, re.M)}
        self.hidden, self.exported = at["hidden"] + 1, at["exported"] + 1
        self.addresses = [self.hidden, self.exported]

    def run(self, *command):
        subprocess.run([str(c) for c in command], check=True, cwd=self.folder)

    def strip(self, link=True):
        """program and program.debug; with a .gnu_debuglink from one to the other."""
        self.program, self.debug = self.folder / "program", self.folder / "program.debug"
        self.run("objcopy", "--only-keep-debug", self.full, self.debug)
        self.run("strip", "-s", "-o", self.program, self.full)
        if link:
            self.run("objcopy", f"--add-gnu-debuglink={self.debug}", self.program)
        return self

    def is_whole(self, found):
        lines = [found.chains[a][-1][3] for a in self.addresses]
        return found.source == "dwarf" and self.names(found) == ["hidden", "exported"] and lines == [4, 5]

    def names(self, found):
        return [(found.functions(a) or [""])[-1] for a in self.addresses]


@pytest.fixture
def module(tmp_path):
    return Module(tmp_path / "module").strip(link=False)


def move(source, *target):
    target = pathlib.Path(*target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)
    return target


def test_module_itself(symbols, module):
    assert module.is_whole(symbols(module.full, module.addresses, "-b", module.id))


def test_stripped_alone_knows_what_it_exports(symbols, module):
    module.debug.unlink()
    found = symbols(module.program, module.addresses)
    assert found.source == "dynsym" and module.names(found) == ["", "exported"]


@pytest.mark.parametrize("place", [".build-id/{id2}/{rest}.debug", "{id2}/{rest}.debug", "{name}.debug", "{name}"])
def test_given_folder(symbols, module, tmp_path, place):
    name = str(module.program)[1:] if "{name}" in place else ""
    place = place.format(id2=module.id[:2], rest=module.id[2:], name=name)
    debug = move(module.debug, tmp_path, "given", place)
    found = symbols(module.program, module.addresses, "-d", tmp_path / "nothing", "-d", tmp_path / "given")
    assert module.is_whole(found) and found.file == str(debug)


@pytest.mark.parametrize("suffix", ["", ".debug"])
def test_given_folder_by_file_name(symbols, module, tmp_path, suffix):
    move(module.debug, tmp_path, "given", "program" + suffix)
    assert module.is_whole(symbols(module.program, module.addresses, "-d", tmp_path / "given"))


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("place", ["{folder}/{name}", "{folder}/.debug/{name}", "{given}{folder}/{name}"])
@pytest.mark.parametrize("build_id", [True, False])
def test_debuglink(symbols, tmp_path, place, build_id):
    module = Module(tmp_path / "module", build_id=build_id).strip()
    given = tmp_path / "given"
    # The file is not called program.debug: only the link says where it is.
    module.run("objcopy", "--remove-section=.gnu_debuglink", module.program)
    debug = module.debug.rename(module.folder / "other-name.dbg")
    module.run("objcopy", f"--add-gnu-debuglink={debug}", module.program)
    move(debug, place.format(folder=module.folder, given=given, name=debug.name))
    assert module.is_whole(symbols(module.program, module.addresses, "-d", given))


def test_debuglink_of_another_build(symbols, tmp_path):
    module = Module(tmp_path / "module").strip()
    other = Module(tmp_path / "other", variant=70000).strip()
    shutil.copy(other.debug, module.debug)
    assert module.names(symbols(module.program, module.addresses)) == ["", "exported"]


def test_debuglink_with_a_wrong_checksum(symbols, tmp_path):
    module = Module(tmp_path / "module", build_id=False).strip()
    with open(module.debug, "ab") as file:
        file.write(b"x")
    assert module.names(symbols(module.program, module.addresses)) == ["", "exported"]


def test_debuglink_stays_in_its_folder(symbols, tmp_path):
    module = Module(tmp_path / "module").strip()
    secret = move(module.debug, tmp_path, "secret")
    link = tmp_path / "link"
    # A name with a slash, 4-aligned, and the right checksum of the file that it points to.
    import zlib  # pylint: disable=import-outside-toplevel

    name = b"../secret\0\0\0"
    link.write_bytes(name + zlib.crc32(secret.read_bytes()).to_bytes(4, "little"))
    module.run("objcopy", "--remove-section=.gnu_debuglink", module.program)
    module.run("objcopy", f"--add-section=.gnu_debuglink={link}", module.program)
    assert module.names(symbols(module.program, module.addresses)) == ["", "exported"]


def test_replaced_module(symbols, module, tmp_path):
    """The path holds another build now: nothing of it is used, but the old build's debug file is."""
    other = Module(tmp_path / "other", variant=70000)
    shutil.copy(other.full, module.program)
    debug = move(module.debug, tmp_path, "elsewhere.debug")
    found = symbols(module.program, module.addresses, "-b", module.id)
    assert found.reason == "the file is another build" and module.names(found) == ["", ""]
    move(debug, tmp_path, "given", ".build-id", module.id[:2], module.id[2:] + ".debug")
    found = symbols(module.program, module.addresses, "-b", module.id, "-d", tmp_path / "given")
    assert module.is_whole(found)


def test_deleted_module(symbols, module):
    """The file at the path of a deleted file is only used if its build id is right."""
    gone = f"{module.full} (deleted)"
    assert symbols(gone, module.addresses).reason == "the file is another build"
    assert module.is_whole(symbols(gone, module.addresses, "-b", module.id))
    module.full.unlink()
    module.debug.unlink()
    assert symbols(gone, module.addresses, "-b", module.id).reason == "no such file"


def test_missing_module_is_found_by_its_build_id(symbols, module, tmp_path):
    move(module.program, tmp_path, "given", "program")
    module.debug.unlink()
    found = symbols(module.program, module.addresses, "-b", module.id, "-d", tmp_path / "given")
    assert found.source == "dynsym" and module.names(found) == ["", "exported"]


def test_mini_debug_info(symbols, module, tmp_path):
    mini = tmp_path / "mini"
    module.run("objcopy", "-S", "--remove-section=.gnu_debuglink", "--keep-symbol=hidden", module.full, mini)
    module.run("xz", "-f", mini)
    module.run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", module.program)
    module.debug.unlink()
    found = symbols(module.program, module.addresses)
    assert found.source == "minidebug" and module.names(found) == ["hidden", "exported"]


@pytest.mark.costly
def test_mini_debug_info_that_is_too_large(symbols, module, tmp_path):
    """200 KB of xz that expand to 1 GiB of zeros."""
    bomb = tmp_path / "bomb"
    with open(bomb, "wb") as file:
        file.truncate(1 << 30)
    module.run("xz", "-0", "-T1", bomb)
    module.run("objcopy", f"--add-section=.gnu_debugdata={bomb}.xz", module.program)
    module.debug.unlink()
    assert module.names(symbols(module.program, module.addresses, "-w")) == ["", "exported"]


def test_dwz(symbols, tmp_path):
    """Two debug files whose common parts were moved to a third one."""
    if not shutil.which("dwz"):
        pytest.skip("dwz is not installed")
    modules = [Module(tmp_path / f"module{i}", variant=i).strip() for i in (1, 2)]
    common = tmp_path / "module1" / "common.debug"
    done = subprocess.run(
        ["dwz", "-m", str(common), "-M", "common.debug", *(str(m.debug) for m in modules)],
        check=False, stderr=subprocess.PIPE, text=True,
    )
    assert done.returncode == 0 and common.exists(), done.stderr
    for module in modules:
        module.run("objcopy", "--remove-section=.gnu_debuglink", module.program)
        module.run("objcopy", f"--add-gnu-debuglink={module.debug}", module.program)
    # The third file is beside the first one. Without it, the second one's functions still have
    # their symbols.
    assert modules[0].is_whole(symbols(modules[0].program, modules[0].addresses))
    assert modules[1].names(symbols(modules[1].program, modules[1].addresses)) == ["hidden", "exported"]
    name = reference.build_id(common)
    move(common, tmp_path, "given", ".build-id", name[:2], name[2:] + ".debug")
    for module in modules:
        assert module.is_whole(symbols(module.program, module.addresses, "-d", tmp_path / "given"))


def test_vdso(symbols, tmp_path):
    maps = pathlib.Path("/proc/self/maps").read_text()
    found = re.search(r"^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$", maps, re.M)
    if not found:
        pytest.skip("no vDSO")
    start, end = (int(x, 16) for x in found.groups())
    image = tmp_path / "vdso.so"
    image.write_bytes(ctypes.string_at(start, end - start))
    rows = subprocess.run(["nm", "-D", str(image)], stdout=subprocess.PIPE, text=True, check=True).stdout
    address = int(re.search(r"^(\w+) [TW] __vdso_clock_gettime", rows, re.M).group(1), 16) + 2
    found = symbols("[vdso]", [address], "-b", reference.build_id(image))
    assert found.functions(address)[0] in ("clock_gettime", "__vdso_clock_gettime")
    assert symbols("[vdso]", [address], "-b", "00" * 20).reason == "the file is another build"


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("kind", ["empty", "text", "folder", "pipe", "truncated", "device", "noise"])
def test_what_is_no_module(symbols, module, tmp_path, kind):
    path = tmp_path / kind
    data = bytearray(module.full.read_bytes())
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("#!/bin/sh\n")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = pathlib.Path("/dev/zero")
    elif kind == "truncated":
        path.write_bytes(data[: len(data) // 3])
    else:
        for i in range(64, len(data), 7):
            data[i] = (data[i] * 31 + i) & 255
        path.write_bytes(data)
    found = symbols(path, module.addresses, "-w")
    assert found.reason != "found" and module.names(found) == ["", ""]


def test_no_path(symbols):
    assert symbols("", [1, 2]).reason == "no such file"
    assert symbols("relative/path", [1, 2]).reason == "no such file"
    assert symbols("[heap]", [1, 2]).reason == "no such file"


def test_perf_map(symbols, tmp_path):
    text = "1000 100 old name\n1000 80 LazyCompile:~fib /x y.js:3:4\nnonsense\n2000 10 py::f:/a.py\n"
    (tmp_path / "perf-77.map").write_text(text)
    found = symbols("[anon]", [0x1000, 0x107F, 0x1080, 0x2010], "-p", 77, "-m", tmp_path)
    assert found.source == "perf_map"
    names = ["LazyCompile:~fib /x y.js:3:4", "LazyCompile:~fib /x y.js:3:4", "old name", None]
    assert [(found.functions(a) or [None])[0] for a in (0x1000, 0x107F, 0x1080, 0x2010)] == names


def test_perf_map_that_is_not_to_be_believed(symbols, tmp_path):
    path = tmp_path / "perf-77.map"
    real = tmp_path / "real"
    real.write_text("1000 100 name\n")
    path.symlink_to(real)
    options = ("-p", 77, "-m", tmp_path)
    assert symbols("[anon]", [0x1000], *options).reason == "the perf map belongs to another user"
    path.unlink()
    os.mkfifo(path)
    assert symbols("[anon]", [0x1000], *options).reason == "the perf map belongs to another user"
    path.unlink()
    assert symbols("[anon]", [0x1000], *options).reason == "code made at run time, without a perf map"
    if os.geteuid() == 0:
        real.rename(path)
        os.chown(path, 12345, 12345)
        assert symbols("[anon]", [0x1000], *options).reason == "the perf map belongs to another user"


def test_names_cannot_steer_a_terminal(symbols, tmp_path):
    (tmp_path / "perf-77.map").write_text("1000 100 a\x1b[2Jb\x07\n")
    found = symbols("[anon]", [0x1000], "-p", 77, "-m", tmp_path)
    assert found.functions(0x1000) == ["a?[2Jb?"]


@pytest.mark.parametrize("how", ["zstd", "zlib"])
def test_packed_debug_sections(heapscope, report, tmp_path, how):
    """libdw of Debian 12 cannot unpack zstd: lines had no file, and no message said why."""
    program = tmp_path / "program"
    source = tmp_path / "program.c"
    source.write_text("#include <stdlib.h>\nvoid *volatile block;\n__attribute__((noinline)) static void inner(void)\n"
                      "{ block = malloc(100000); }\nint main(void) { inner(); return 0; }\n")
    subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True)
    packed = subprocess.run(["objcopy", f"--compress-debug-sections={how}", program], capture_output=True, text=True, check=False)
    if packed.returncode != 0:
        pytest.skip(f"objcopy cannot pack with {how}: {packed.stderr}")
    headers = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
    assert any(".debug_info" in line and " C " in line for line in headers.splitlines()), "not packed"
    done = heapscope("run", "-q", "-i", 1, "-o", tmp_path / "x", "--", program)
    assert done.returncode == 0, done.stderr
    (stack,) = [s for s in report(tmp_path / "x", "--top", "all")["stacks"] if s["alloc"]["bytes"] == 100000]
    assert [(f["function"], f.get("line")) for f in stack["frames"] if f["function"] in ("inner", "main")] == [("inner", 4), ("main", 5)]
