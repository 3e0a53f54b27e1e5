"""heapscope symbolize for Perfetto traces, and the sources of names that every reading command uses."""

import gzip
import io
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tarfile
import time
import zipfile

import pytest
import symbols_reference as reference
from test_symbolize import symbols_of, write_breakpad
from waiting import wait_until

PROGRAM = """
    #include <stdlib.h>
    __attribute__((noinline)) void *kept(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
    __attribute__((noinline)) void *outer(size_t n) { void *p = kept(n); __asm__ volatile("" : : "r"(p)); return p; }
    int main(void) { outer(SIZE); return 0; }"""
FRAMES = {"kept", "outer", "main"}


class Recorded:
    """A trace of a stripped program that is gone, as on another machine; its debug file is `debug`."""

    def __init__(self, heapscope, folder, build_id=True, size=5000):
        folder.mkdir(parents=True)
        (folder / "p.c").write_text(PROGRAM.replace("SIZE", str(size)))
        self.program, self.debug, self.trace = folder / "my prog", folder / "full", folder / "x.pftrace"
        flag = "-Wl,--build-id=" + ("sha1" if build_id else "none")
        subprocess.run(["gcc", "-g", "-O1", "-pie", "-fPIE", flag, "-o", self.debug, folder / "p.c"], check=True)
        shutil.copy(self.debug, self.program)
        subprocess.run(["strip", self.program], check=True)
        self.id = reference.build_id(self.program)
        assert heapscope("run", "-q", "-i", 1, "-o", self.trace, "--", self.program).returncode == 0
        self.program.unlink()

    def place(self, root, place):
        """Puts the debug file at a place below a folder."""
        path = pathlib.Path(f"{root}/{place}")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.debug, path)
        return path


@pytest.fixture
def recorded(heapscope, tmp_path):
    return Recorded(heapscope, tmp_path / "a folder")


def whole(recorded, symbols):
    file = recorded.trace.with_name("whole.pftrace")
    file.write_bytes(recorded.trace.read_bytes() + symbols.read_bytes())
    return file


def functions(heapscope, trace, env=None, options=()):
    """The names of frames that a command shows: folded stacks have all of them."""
    done = heapscope("export", "-q", "-f", "folded", *options, trace, env=env)
    assert done.returncode == 0, done.stderr
    return {name for name in re.split(r"[;\s]", done.stdout) if name in FRAMES}


def test_appended_names(heapscope, dist, recorded, tmp_path):
    recorded.place(tmp_path / "root", f".build-id/{recorded.id[:2]}/{recorded.id[2:]}.debug")
    symbols = tmp_path / "symbols"
    with open(symbols, "wb") as out:
        done = subprocess.run([dist / "bin" / "heapscope", "symbolize", recorded.trace], stdout=out, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "PERFETTO_BINARY_PATH": str(tmp_path / "root")})
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) of (\d+) frames have names, (\d+) of them from this call", done.stderr)
    assert found and found[1] == found[2] and int(found[3]) >= 3, done.stderr
    assert functions(heapscope, recorded.trace) == set()
    file = whole(recorded, symbols)
    assert functions(heapscope, file) == FRAMES
    rows = heapscope("query", "--format", "csv", file, "select name, source_file, line_number from stack_profile_symbol").stdout
    assert re.search(r'"kept",.*p\.c",3', rows), rows
    # Names that the trace has are not looked up again, and nothing is written twice.
    again = heapscope("symbolize", "-o", tmp_path / "more", file)
    assert again.returncode == 0 and (tmp_path / "more").read_bytes() == b"" and " 0 of them from this call" in again.stderr


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("place", [
    "{path}", "{folder}/my prog.debug", "my prog", ".build-id/{id2}/{rest}.debug", "{id2}/{rest}.debug",
    "{id}/any name", "{path}/{id}", "{folder}/.debug/my prog.debug", "usr/lib/debug{path}.debug", "any/where/any name",
])
def test_places(heapscope, recorded, tmp_path, place):
    """Each place of Perfetto's and of pprof's folders; the last one needs the index."""
    named = place.format(path=recorded.program, folder=recorded.program.parent, id=recorded.id, id2=recorded.id[:2], rest=recorded.id[2:])
    recorded.place(tmp_path / "root", named)
    is_indexed = place == "any/where/any name"
    root = str(tmp_path / "root")
    assert functions(heapscope, recorded.trace, {"PERFETTO_BINARY_PATH": f"/nowhere:{root}"}) == FRAMES
    assert functions(heapscope, recorded.trace, {"PERFETTO_BINARY_PATH": root, "PERFETTO_SYMBOLIZER_MODE": "index"}) == FRAMES
    found = functions(heapscope, recorded.trace, {"PERFETTO_BINARY_PATH": root, "PERFETTO_SYMBOLIZER_MODE": "find"})
    assert found == (set() if is_indexed else FRAMES)
    found = functions(heapscope, recorded.trace, {"PPROF_BINARY_PATH": f"/nowhere:{root}"})
    assert found == (set() if is_indexed else FRAMES)
    assert functions(heapscope, recorded.trace, options=["--symbols", root]) == FRAMES


@pytest.fixture
def in_archive(heapscope, tmp_path):
    """A trace of a program whose name is that of a library in an .apk."""
    made = Recorded(heapscope, tmp_path / "data")
    source = made.program.parent / "base.apk!lib.so"
    shutil.copy(made.debug, source)
    subprocess.run(["strip", source], check=True)
    assert heapscope("run", "-q", "-i", 1, "--no-compress", "-o", made.trace, "--", source).returncode == 0
    source.unlink()
    made.program = source
    return made


@pytest.mark.parametrize("place", ["{path}", "{folder}/lib.so", "base.apk!lib.so", "lib.so", ".build-id/{id2}/{rest}.debug"])
def test_places_of_a_library_in_an_archive(heapscope, in_archive, tmp_path, place):
    """The five steps of Perfetto."""
    named = place.format(path=in_archive.program, folder=in_archive.program.parent, id2=in_archive.id[:2], rest=in_archive.id[2:])
    in_archive.place(tmp_path / "root", named)
    env = {"PERFETTO_BINARY_PATH": str(tmp_path / "root"), "PERFETTO_SYMBOLIZER_MODE": "find"}
    assert functions(heapscope, in_archive.trace, env) == FRAMES


def pack(path, members, compression=zipfile.ZIP_STORED, alignment=4096):
    """An archive; what the members are is aligned, as zipalign does it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, file in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            at = archive.fp.tell() + 30 + len(name)
            info.extra = b"\0" * (-at % alignment)
            archive.writestr(info, file.read_bytes() if isinstance(file, pathlib.Path) else file)
    return path


ARCHIVES = ["{folder}/base.apk", "base.apk"]


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("alignment", [4096, 1])
@pytest.mark.parametrize("place", [*ARCHIVES, "its own path"])
def test_library_in_an_archive(heapscope, in_archive, tmp_path, place, alignment):
    """It is read where it lies in the archive. The library of another processor, of the same name, is not."""
    root = tmp_path / "root"
    env = {"PERFETTO_SYMBOLIZER_MODE": "find", "PERFETTO_BINARY_PATH": str(root)}
    path = in_archive.program.parent / "base.apk"
    if place != "its own path":
        path = pathlib.Path(f"{root}/{place.format(folder=in_archive.program.parent)}")
    members = {"AndroidManifest.xml": b"x" * 1000, "lib/arm64-v8a/lib.so": b"no ELF file", "lib/x86_64/lib.so": in_archive.debug, "z": b""}
    pack(path, members, alignment=alignment)
    assert functions(heapscope, in_archive.trace, env) == FRAMES
    done = heapscope("symbolize", "-o", tmp_path / "symbols", in_archive.trace, env=env)
    assert done.returncode == 0 and FRAMES == functions(heapscope, whole(in_archive, tmp_path / "symbols"))


def test_archives_that_do_not_count(heapscope, in_archive, tmp_path):
    root = tmp_path / "root"
    env = {"PERFETTO_BINARY_PATH": str(root), "PERFETTO_SYMBOLIZER_MODE": "find"}
    other = Recorded(heapscope, tmp_path / "other", size=5001)
    pack(root / "base.apk", {"lib/x86_64/lib.so": other.debug})
    assert functions(heapscope, in_archive.trace, env) == set()
    done = heapscope("symbolize", "-o", tmp_path / "symbols", in_archive.trace, env=env)
    assert f"{root}/base.apk!/lib/x86_64/lib.so (Build ID: {other.id}) is of another build" in done.stderr, done.stderr
    pack(root / "base.apk", {"lib/x86_64/notlib.so": in_archive.debug, "lib.so/x": in_archive.debug})
    assert functions(heapscope, in_archive.trace, env) == set()
    pack(root / "base.apk", {"lib/x86_64/lib.so": in_archive.debug}, zipfile.ZIP_DEFLATED)
    assert functions(heapscope, in_archive.trace, env) == set()
    data = pack(root / "base.apk", {"lib/x86_64/lib.so": in_archive.debug}).read_bytes()
    for cut in (data[:-1], data[:100], data[4096:], data.replace(b"\x7fELF", b"\x7fELG"), b""):
        (root / "base.apk").write_bytes(cut)
        assert functions(heapscope, in_archive.trace, env) == set()
    (root / "base.apk").write_bytes(data)
    assert functions(heapscope, in_archive.trace, env) == FRAMES


def test_archive_that_is_mapped_by_its_own_name(heapscope, tmp_path):
    """The mapping's name is the archive: the build id says which library."""
    made = Recorded(heapscope, tmp_path / "data")
    source = made.program.parent / "base.apk"
    shutil.copy(made.debug, source)
    subprocess.run(["strip", source], check=True)
    assert heapscope("run", "-q", "-i", 1, "-o", made.trace, "--", source).returncode == 0
    source.unlink()
    env = {"PERFETTO_BINARY_PATH": "/nowhere"}  # names are looked up again
    assert functions(heapscope, made.trace, env) == set()
    other = Recorded(heapscope, tmp_path / "other", size=5001)
    pack(source, {"lib/x86_64/a.so": other.debug, "lib/x86_64/b.so": made.debug})
    assert functions(heapscope, made.trace, env) == FRAMES
    pack(source, {"lib/x86_64/a.so": other.debug})
    assert functions(heapscope, made.trace, env) == set()


@pytest.mark.parametrize("count, wanted", [(1, FRAMES), (2, set())])
def test_archive_without_build_ids(heapscope, tmp_path, count, wanted):
    """A library counts if it is the only one of its name."""
    made = Recorded(heapscope, tmp_path / "data", build_id=False)
    source = made.program.parent / "base.apk!lib.so"
    shutil.copy(made.debug, source)
    subprocess.run(["strip", source], check=True)
    assert heapscope("run", "-q", "-i", 1, "-o", made.trace, "--", source).returncode == 0
    source.unlink()
    pack(tmp_path / "root" / "base.apk", {f"lib/{i}/lib.so": made.debug for i in range(count)})
    assert functions(heapscope, made.trace, {"PERFETTO_BINARY_PATH": str(tmp_path / "root")}) == wanted


def test_order_without_build_ids(heapscope, tmp_path):
    """Where no build id is recorded, the first place counts, and the user's folders come before the module's path."""
    recorded = Recorded(heapscope, tmp_path / "a", build_id=False)
    root = tmp_path / "root"
    for name, place in (("by_path", str(recorded.program)), ("by_name", "my prog")):
        path = recorded.place(root, place)
        source = path.with_suffix(".c")
        source.write_text(PROGRAM.replace("SIZE", "5000").replace("kept", name))
        subprocess.run(["gcc", "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id=none", "-o", path, source], check=True)
    shutil.copy(recorded.debug, recorded.program)
    out = heapscope("export", "-q", "-f", "folded", recorded.trace, env={"PERFETTO_BINARY_PATH": str(root)}).stdout
    assert "by_path" in out and "by_name" not in out and "kept" not in out, out
    pathlib.Path(f"{root}{recorded.program}").unlink()
    out = heapscope("export", "-q", "-f", "folded", recorded.trace, env={"PERFETTO_BINARY_PATH": str(root)}).stdout
    assert "by_name" in out and "kept" not in out, out


def test_what_was_not_found(heapscope, recorded, tmp_path):
    """Each reason is said, with the build id and what to do."""
    start = f"heapscope: Could not find {recorded.program} (Build ID: {recorded.id}): "

    def said(root, status=1):
        done = heapscope("symbolize", "-o", tmp_path / "out", recorded.trace, env={"PERFETTO_BINARY_PATH": str(root)})
        assert done.returncode == status and not (tmp_path / "out").exists(), done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith(start)]
        assert "--symbols" in line
        return line[len(start):], done.stderr

    absent = tmp_path / "absent"
    line, err = said(absent)
    assert line.startswith("file not found") and err.count(f"PERFETTO_BINARY_PATH: no names come from the folder {absent}") == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    line, err = said(empty)
    assert line.startswith("file not found") and f"{empty}: it is empty" in err
    other = Recorded(heapscope, tmp_path / "other", size=5001)
    placed = other.place(tmp_path / "root", "my prog")
    line, err = said(tmp_path / "root")
    assert line.startswith(f"{placed} (Build ID: {other.id}) is of another build")
    placed.unlink()
    shutil.copy(recorded.debug, placed)
    subprocess.run(["strip", placed], check=True)
    line, err = said(tmp_path / "root")
    assert line.startswith("no symbols for this code")
    recorded.program.write_text("no ELF file")
    line, err = said(empty)
    assert line.startswith("not readable as an ELF file")
    # The other commands say it, too, but only if the user named a source.
    done = heapscope("report", recorded.trace, env={"PERFETTO_BINARY_PATH": str(empty)})
    assert start in done.stderr and done.returncode == 0 and done.stderr.count("it is empty") == 1
    assert heapscope("report", recorded.trace).stderr == ""


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize("variable", ["PERFETTO_BINARY_PATH", "PPROF_BINARY_PATH", "BREAKPAD_SYMBOL_DIR", "--symbols"])
def test_every_reading_command(heapscope, recorded, tmp_path, variable):
    """report, export, query, diff, check, dupes, profile, symbolize: the same names from each source."""
    root = tmp_path / "the root"
    if variable == "BREAKPAD_SYMBOL_DIR":
        (recorded.program.parent / "debug").mkdir()
        shutil.copy(recorded.debug, recorded.program.parent / "debug" / "my prog.debug")
        symbols = symbols_of(recorded.program)
        write_breakpad(root / "any" / "x.sym", "My Prog", recorded.id.upper(), symbols)
        wanted = "breakpad::kept(int)"
    else:
        recorded.place(root, "my prog")
        wanted = "kept"
    env = {} if variable == "--symbols" else {variable: str(root)}
    options = ["--symbols", root] if variable == "--symbols" else []

    def text(*command, status=0):
        done = heapscope(command[0], *options, *command[1:], env=env)
        assert done.returncode == status, done.stderr
        return done.stdout

    trace = recorded.trace
    assert wanted in text("report", "--tree", trace)
    assert wanted in text("export", "-f", "folded", trace)
    assert wanted in text("query", trace, "select name from stack_profile_symbol")
    assert wanted in text("diff", "-f", "folded", trace, trace)
    text("check", "--stack", "kept=1", trace, status=1)  # a stack without names is not found, and is below its limit
    text("export", "-f", "sqlite", "-o", tmp_path / "db.sqlite", trace)
    assert wanted.encode() in (tmp_path / "db.sqlite").read_bytes()
    text("symbolize", "-o", tmp_path / "symbols", trace)
    assert wanted.encode() in (tmp_path / "symbols").read_bytes()
    text("profile", "--output-dir", tmp_path / "pprof", trace)
    assert any(wanted in heapscope("report", "--tree", file).stdout for file in (tmp_path / "pprof").iterdir())


def test_lines_are_completed(heapscope, recorded, tmp_path):
    """A frame that has a name and no line is looked up, and keeps its name if nothing better is found."""
    shutil.copy(recorded.debug, recorded.program)
    subprocess.run(["strip", "-g", recorded.program], check=True)
    assert heapscope("run", "-q", "-i", 1, "-o", recorded.trace, "--", recorded.program).returncode == 0
    recorded.program.unlink()
    sql = "select name, line_number from stack_profile_symbol where name = 'kept'"
    assert "[NULL]" in heapscope("query", recorded.trace, sql).stdout or ",3" not in heapscope("query", "--format", "csv", recorded.trace, sql).stdout
    root = tmp_path / "root"
    recorded.place(root, "my prog")
    done = heapscope("symbolize", "-o", tmp_path / "symbols", "--symbols", root, recorded.trace)
    assert done.returncode == 0 and " 0 of them from this call" in done.stderr
    file = whole(recorded, tmp_path / "symbols")
    assert '"kept",3' in heapscope("query", "--format", "csv", file, sql).stdout.replace("kept,", '"kept",')
    assert functions(heapscope, file) == FRAMES


def test_terminal(dist, recorded):
    binary = dist / "bin" / "heapscope"
    done = subprocess.run(["script", "-qec", f"'{binary}' symbolize '{recorded.trace}'", "/dev/null"],
                          stdout=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "garble the terminal" in done.stdout and "-o OUT" in done.stdout


def test_several_processes_and_two_versions(heapscope, tmp_path):
    """Two builds of one library at one path: each frame gets the names of its own."""
    one, two = Recorded(heapscope, tmp_path / "one"), Recorded(heapscope, tmp_path / "two", size=5001)
    root = tmp_path / "root"
    both = tmp_path / "both.pftrace"
    both.write_bytes(one.trace.read_bytes() + two.trace.read_bytes())
    for made in (one, two):
        made.place(root, f".build-id/{made.id[:2]}/{made.id[2:]}.debug")
    done = heapscope("symbolize", "-o", tmp_path / "symbols", "--symbols", root, both)
    assert done.returncode == 0, done.stderr
    assert tmp_path.joinpath("symbols").read_bytes().count(b"kept") == 2
    two.place(root, "my prog")
    (root / f".build-id/{one.id[:2]}/{one.id[2:]}.debug").unlink()
    done = heapscope("symbolize", "-o", tmp_path / "symbols", "--symbols", root, both)
    assert done.returncode == 0 and f"Could not find {one.program}" in done.stderr and f"Could not find {two.program}" not in done.stderr


# --- debuginfod ---


@pytest.fixture
def server(recorded, tmp_path):
    """Debian's debuginfod on loopback, serving a folder with the debug file."""
    if not shutil.which("debuginfod"):
        pytest.skip("debuginfod is not installed")
    recorded.place(tmp_path / "served", "some name.debug")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(tmp_path / "log", "wb")
    process = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", str(tmp_path / "index.sqlite"), str(tmp_path / "served")],
                               stdout=log, stderr=log, cwd=tmp_path)

    def is_ready():
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) != 0:
                return False
            client.sendall(f"GET /buildid/{recorded.id}/debuginfo HTTP/1.0\r\n\r\n".encode())
            return b" 200 " in client.recv(64)

    try:
        wait_until(is_ready, "debuginfod does not serve the file")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        log.close()


def test_debuginfod(heapscope, recorded, server, tmp_path):
    env = {"DEBUGINFOD_URLS": server, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache of debuginfod")}
    assert functions(heapscope, recorded.trace) == set()
    assert functions(heapscope, recorded.trace, env) == FRAMES
    assert list((tmp_path / "cache of debuginfod").glob(f"{recorded.id}/debuginfo")), "its own cache is not used"
    done = heapscope("symbolize", "-o", tmp_path / "symbols", recorded.trace, env=env)
    assert done.returncode == 0 and functions(heapscope, whole(recorded, tmp_path / "symbols")) == FRAMES


def test_debuginfod_without_a_server(heapscope, recorded, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{port}", "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    done = heapscope("symbolize", "-o", tmp_path / "symbols", recorded.trace, env=env)
    assert done.returncode == 1 and "no debuginfod server could be reached" in done.stderr, done.stderr


# --- bundles ---


@pytest.fixture
def bundle(heapscope, recorded, tmp_path):
    recorded.place(tmp_path / "root", "my prog")
    out = tmp_path / "a bundle.tar"
    done = heapscope("bundle", "--symbol-paths", f"{tmp_path / 'nothing'},{tmp_path / 'root'}", "-o", out, recorded.trace)
    assert done.returncode == 0 and "--symbols: no names come from the folder" in done.stderr, done.stderr
    return out


def members(path):
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def test_bundle(heapscope, recorded, bundle, tmp_path):
    """The members are those of Perfetto, and the trace is byte for byte the recorded one."""
    inside = members(bundle)
    assert list(inside) == ["trace.perfetto", "symbols.pb"] and inside["trace.perfetto"] == recorded.trace.read_bytes()
    assert subprocess.run(["tar", "-tf", bundle], capture_output=True, text=True, check=True).stdout.split() == list(inside)
    heapscope("symbolize", "-q", "--symbols", tmp_path / "root", "-o", tmp_path / "symbols", recorded.trace)
    assert inside["symbols.pb"] == (tmp_path / "symbols").read_bytes()
    # Bundled again, with nothing to add: the names are in the trace now.
    again = heapscope("bundle", "-q", bundle, tmp_path / "again.tar")
    assert again.returncode == 0 and list(members(tmp_path / "again.tar")) == ["trace.perfetto"]
    assert functions(heapscope, tmp_path / "again.tar") == FRAMES


def test_every_command_opens_a_bundle(heapscope, recorded, bundle, tmp_path):
    def text(*command, status=0, **options):
        done = heapscope(*command, **options)
        assert done.returncode == status and "damaged" not in done.stderr, done.stderr
        return done.stdout

    assert "kept" in text("report", "--tree", bundle)
    assert "Damage" not in text("report", bundle)
    assert "kept" in text("export", "-f", "folded", bundle)
    assert "kept" in text("query", bundle, "select name from stack_profile_symbol")
    assert "kept" in text("query", bundle, "select name from stack_profile_symbol", env={"BREAKPAD_SYMBOL_DIR": str(tmp_path)})
    assert "kept" in text("diff", "-f", "folded", recorded.trace, bundle)
    text("check", "--stack", "kept=1", bundle, status=1)
    text("profile", "--output-dir", tmp_path / "pprof", bundle)
    text("symbolize", "-o", tmp_path / "more", bundle)
    assert (tmp_path / "more").read_bytes() == b""
    with open(bundle, "rb") as pipe:
        assert "kept" in text("export", "-f", "folded", "-", stdin=pipe)
    with subprocess.Popen(["cat", bundle], stdout=subprocess.PIPE) as cat:
        assert "kept" in text("export", "-f", "folded", "-", stdin=cat.stdout)


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("compress", [None, gzip.compress])
def test_bundles_of_others(heapscope, bundle, tmp_path, form, compress):
    """Members of other names, in folders, in any order; a compressed trace."""
    inside = members(bundle)
    trace = compress(inside["trace.perfetto"]) if compress else inside["trace.perfetto"]
    with tarfile.open(tmp_path / "x.tar", "w", format=form) as tar:
        for name, data in (("README", b"x" * 1000), ("a/" + "long" * 15 + "/symbols.pb", inside["symbols.pb"]), ("b.txt", b"y" * 70000),
                           ("./trace.perfetto", trace), ("z", b"")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.pax_headers = {"comment": "é" * 300} if form == tarfile.PAX_FORMAT else {}
            tar.addfile(member, io.BytesIO(data))
    done = heapscope("report", "--json", tmp_path / "x.tar")
    assert done.returncode == 0 and '"kept"' in done.stdout and "skipped" not in done.stdout


def test_bundle_refuses(heapscope, recorded, tmp_path):
    assert heapscope("bundle", recorded.trace).returncode == 2
    assert heapscope("bundle", "-o", tmp_path / "a", recorded.trace, tmp_path / "b").returncode == 2
    assert heapscope("bundle", "-o", tmp_path / "a", tmp_path / "absent").returncode == 1
    (tmp_path / "x.folded").write_text("main;f 10\n")
    done = heapscope("bundle", "-o", tmp_path / "a", tmp_path / "x.folded")
    assert done.returncode == 1 and "Perfetto trace" in done.stderr and not (tmp_path / "a").exists()
    # Missing names are no failure, but are said; without the modules' own paths all are missing.
    shutil.copy(recorded.debug, recorded.program)
    done = heapscope("bundle", "-v", "--no-auto-symbol-paths", "-o", tmp_path / "a.tar", recorded.trace)
    assert done.returncode == 0 and f"Could not find {recorded.program} (Build ID: {recorded.id})" in done.stderr
    assert list(members(tmp_path / "a.tar")) == ["trace.perfetto"]
    done = heapscope("bundle", "-v", "-o", tmp_path / "a.tar", recorded.trace)
    assert done.returncode == 0 and f"from {recorded.program}" in done.stderr and "symbols.pb" in members(tmp_path / "a.tar")


@pytest.mark.parametrize("variable, folder", [("HOME", ".debug"), ("ANDROID_PRODUCT_OUT", "symbols")])
def test_bundle_looks_by_itself(heapscope, recorded, tmp_path, variable, folder):
    """Where other tools keep symbols; not with --no-auto-symbol-paths."""
    recorded.place(tmp_path / "out" / folder, "my prog")
    for options, wanted in ((["--no-auto-symbol-paths"], False), ([], True)):
        done = heapscope("bundle", *options, "-o", tmp_path / "x.tar", recorded.trace, env={variable: str(tmp_path / "out")})
        assert done.returncode == 0 and ("Could not find" not in done.stderr) == wanted, done.stderr
        assert (b"kept" in members(tmp_path / "x.tar").get("symbols.pb", b"")) == wanted


def test_bundle_cut_off(heapscope, bundle, tmp_path):
    """A bundle that ends within its trace says what the trace itself says when it ends there."""
    data, plain = bundle.read_bytes(), members(bundle)["trace.perfetto"]
    cut, cut_plain = tmp_path / "cut.tar", tmp_path / "cut.pftrace"
    for end in (1, 100, len(plain) // 2, len(plain) - 1, len(plain)):
        cut.write_bytes(data[: 512 + end])
        cut_plain.write_bytes(plain[:end])
        done, wanted = heapscope("report", "--json", cut), heapscope("report", "--json", cut_plain)
        assert done.returncode == wanted.returncode
        assert done.stdout.replace("cut.tar", "cut.pftrace") == wanted.stdout
    # Within the names: those that are whole count.
    cut.write_bytes(data[: len(data) - 1024 - 400])
    assert heapscope("report", cut).returncode == 0


# --- many modules ---


def field(number, value):
    """A field of a protobuf message: a number, or bytes."""

    def varint(n):
        out = bytearray()
        while n > 0x7F:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        return bytes([*out, n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def interned(number, iid, *fields):
    return field(number, field(1, iid) + b"".join(fields))


def trace_of(modules):
    """A trace as heapprofd writes it, with a frame for each address of [(path, build id, addresses)]."""
    packets = field(1, field(10, 7) + field(13, 1) + field(12, interned(16, 0, field(2, "")) + interned(17, 0, field(2, ""))))
    frame = 0
    for number, (path, build_id, addresses) in enumerate(modules, 1):
        data = interned(16, number, field(2, bytes.fromhex(build_id))) + interned(17, number, field(2, path[1:]))
        data += interned(19, number, field(2, number), field(7, number))
        for address in addresses:
            frame += 1
            data += interned(6, frame, field(3, number), field(4, address))
        packets += field(1, field(10, 7) + field(12, data))
    return packets


def many_modules(folder, count):
    """Copies of a library with debug information, each with a build id of its own: [(path, build id, addresses)]."""
    functions_ = "".join(f"void *f{i}(unsigned n) {{ void *p = malloc(n + {i}); if (n) return step(p);\n return p; }}\n" for i in range(150))
    source, library = folder / "many.c", folder / "many.so"
    source.write_text("#include <stdlib.h>\nstatic inline void *step(void *p) { return realloc(p, 9); }\n" + functions_)
    subprocess.run(["gcc", "-g", "-gz", "-O1", "-fPIC", "-shared", "-Wl,--build-id=sha1", "-o", library, source], check=True)
    build_id, data = reference.build_id(library), library.read_bytes()
    addresses = reference.call_sites(library)
    assert data.count(bytes.fromhex(build_id)) == 1 and len(addresses) >= 250
    made = []
    for number in range(count):
        other = f"{number:08x}" + build_id[8:]
        path = folder / f"lib{number}.so"
        path.write_bytes(data.replace(bytes.fromhex(build_id), bytes.fromhex(other)))
        made.append((str(path), other, addresses[:250]))
    return made


@pytest.mark.slow
def test_many_modules(heapscope, tmp_path):
    """50,000 frames in 200 modules: at most 10 s, and the second time 1 s; all of them have a name and a line."""
    modules = many_modules(tmp_path, 200)
    trace, env = tmp_path / "x.pftrace", {"HEAPSCOPE_CACHE": str(tmp_path / "cache")}
    trace.write_bytes(trace_of(modules))
    times = []
    for _ in range(2):
        start = time.monotonic()
        done = heapscope("symbolize", "-o", tmp_path / "symbols", trace, env=env)
        times.append(time.monotonic() - start)
        assert done.returncode == 0 and "50,000 of 50,000 frames have names, 50,000 of them" in done.stderr, done.stderr
    assert (tmp_path / "symbols").read_bytes().count(b"many.c") >= 50000
    print(times)
    assert times[0] <= 10 and times[1] <= 1, times


@pytest.mark.slow
def test_memory_of_a_large_file(heapscope, tmp_path):
    """A trace of 300 MB, made by repetition, is completed within 48 MiB of memory, as a single one is."""
    modules = many_modules(tmp_path, 20)
    one = trace_of(modules)
    # Something of each repetition that a profile would keep.
    one += b"".join(field(1, field(10, 7) + field(8, n) + field(37, field(5, field(1, 5) + field(2, field(1, 1) + field(2, n)))))
                    for n in range(1, 20000))
    trace = tmp_path / "x.pftrace"
    with open(trace, "wb") as out:
        while out.tell() < 300 << 20:
            out.write(one)

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (48 << 20, 48 << 20))

    done = heapscope("symbolize", "-o", tmp_path / "symbols", trace, preexec_fn=limit)
    assert done.returncode == 0 and "5,000 of 5,000 frames have names, 5,000 of them" in done.stderr, done.stderr
