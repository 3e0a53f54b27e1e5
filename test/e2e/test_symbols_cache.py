"""The cache never changes what is found: with it, without it, just after it was made, and when it
is damaged."""

import os
import pathlib
import shutil
import subprocess

import pytest
from waiting import let_time_pass
import symbols_reference as reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBC = pathlib.Path("/lib/x86_64-linux-gnu")
SETTLED_S = 2.1  # a file that changed just now is not cached


def settle():
    let_time_pass(SETTLED_S, "the age of a file")


@pytest.fixture(scope="session")
def symbols(built_once):
    return reference.tool_in(built_once("symbols", lambda folder: reference.build_tool(ROOT, folder)))


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


def build(folder, *flags):
    """A C++ program with many inlined calls; stripped, and its debug file."""
    full, debug = folder / "full", folder / "program.debug"
    source = ROOT / "test" / "target" / "symbols.cc"
    subprocess.run(["g++", "-O2", "-g", *flags, str(source), "-o", str(full)], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", str(full), str(debug)], check=True)
    return full, debug


def entries(cache):
    names = os.listdir(cache)
    assert all(name.endswith(".sections") for name in names), names
    return names


def assert_same(symbols, module, addresses, cache, *options, entry_count=1):
    """Without a cache; while it is filled; from it. In this process, and in a worker."""
    cold = symbols(module, addresses, *options)
    assert sum(len(chain) for chain in cold.chains.values()) > len(addresses) / 2
    for more in ([], [], ["-w"]):
        found = symbols(module, addresses, "-c", cache, *options, *more)
        assert found.chains == cold.chains
        assert (found.source, found.file, found.counts) == (cold.source, cold.file, cold.counts)
        assert len(entries(cache)) == entry_count
    return cold


@pytest.mark.costly
@pytest.mark.parametrize("name", ["libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6"])
def test_system_libraries(symbols, cache, name):
    path = LIBC / name
    id_ = reference.build_id(path)
    debug = pathlib.Path(f"/usr/lib/debug/.build-id/{id_[:2]}/{id_[2:]}.debug")
    if not debug.exists():
        pytest.skip("libc6-dbg is not installed")
    found = assert_same(symbols, path, reference.call_sites(path, 5000), cache)
    assert found.source == "dwarf"


@pytest.mark.costly
@pytest.mark.parametrize("flags", [["-gz=zlib"], ["-gz=zlib", "-gdwarf-4"], ["-gz=zlib", "-fdebug-types-section"]])
def test_inlined_calls(symbols, tmp_path, cache, flags):
    full, _ = build(tmp_path, *flags)
    settle()
    found = assert_same(symbols, full, reference.call_sites(full), cache)
    assert any(len(chain) > 2 for chain in found.chains.values())


@pytest.mark.costly
@pytest.mark.parametrize("compiler", ["g++ -gdwarf-5", "g++ -gdwarf-4", "g++ -gsplit-dwarf", "clang++ -gdwarf-5"])
def test_zstd(symbols, tmp_path, cache, compiler):
    """Debian's elfutils cannot unpack it; names, lines and inlined calls are those of the
    uncompressed file."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    source = ROOT / "test" / "target" / "symbols.cc"
    # Compiled in its folder, because split units are found from there.
    subprocess.run([*compiler.split(), "-O2", "-g", str(source), "-o", plain], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--compress-debug-sections=zstd", plain, packed], check=True)
    settle()
    addresses = reference.call_sites(plain)
    found = assert_same(symbols, packed, addresses, cache)
    assert found.source == "dwarf"
    assert found.chains == symbols(plain, addresses).chains
    assert any(len(chain) > 2 for chain in found.chains.values())


@pytest.mark.costly
def test_unpacked_or_unusual_is_not_kept(symbols, tmp_path, cache):
    programs = []
    for kind in (["-gz=none"], ["-gz=zlib-gnu"], ["-gz=zlib", "-gsplit-dwarf"], ["-gz=zlib", "-Wl,--build-id=none"]):
        folder = tmp_path / "".join(kind)
        folder.mkdir()
        programs.append(build(folder, *kind)[0])
    settle()
    for full in programs:
        assert_same(symbols, full, reference.call_sites(full), cache, entry_count=0)


@pytest.mark.costly
def test_dwz(symbols, tmp_path, cache):
    """Compressed debug files with common parts in a third file: both are cached, and names come
    from both."""
    debugs = []
    for i in (1, 2):
        (tmp_path / f"module{i}").mkdir()
        full, debug = build(tmp_path / f"module{i}", "-gz=none", f"-DVARIANT={i}")
        debugs.append(debug)
    common = tmp_path / "common.debug"
    subprocess.run(["dwz", "-m", str(common), "-M", "../common.debug", *map(str, debugs)], check=True)
    for file in (debugs[1], common):
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", str(file)], check=True)
    program = tmp_path / "module2" / "program"
    subprocess.run(["strip", "-s", "-o", str(program), str(full)], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debugs[1]}", str(program)], check=True)
    settle()
    assert_same(symbols, program, reference.call_sites(full), cache, entry_count=2)


@pytest.mark.costly
def test_debug_file_that_comes_later(symbols, tmp_path, cache):
    full, debug = build(tmp_path, "-gz=zlib")
    program, away = tmp_path / "program", tmp_path / "away.debug"
    subprocess.run(["strip", "-s", "-o", str(program), str(full)], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", str(program)], check=True)
    addresses = reference.call_sites(full)
    debug.rename(away)
    settle()
    assert symbols(program, addresses, "-c", cache).source in ("none", "dynsym")
    away.rename(debug)
    settle()
    assert_same(symbols, program, addresses, cache)
    debug.unlink()
    assert symbols(program, addresses, "-c", cache).source in ("none", "dynsym")


@pytest.mark.costly
def test_debug_file_that_is_replaced(symbols, tmp_path, cache):
    """Another file with the same build id, size and modification time: other names."""
    full, debug = build(tmp_path, "-gz=none")
    addresses = reference.call_sites(full)
    other = tmp_path / "other"
    data = full.read_bytes()
    assert b"symbols.cc" in data
    other.write_bytes(data.replace(b"symbols.cc", b"SYMBOLS.CC"))
    for file in (full, other):
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", str(file)], check=True)
    settle()
    assert_same(symbols, full, addresses, cache)
    before = full.stat()
    shutil.copyfile(other, full)
    os.utime(full, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert full.stat().st_ino == before.st_ino
    found = symbols(full, addresses, "-c", cache)
    files = {frame[2] for chain in found.chains.values() for frame in chain}
    assert any("SYMBOLS.CC" in file for file in files)
    assert not any("symbols.cc" in file for file in files)
    settle()
    assert_same(symbols, full, addresses, cache, entry_count=2)


@pytest.mark.costly
def test_broken_entry_is_replaced(symbols, tmp_path, cache):
    full, _ = build(tmp_path, "-gz=zlib")
    addresses = reference.call_sites(full)
    settle()
    assert_same(symbols, full, addresses, cache)
    entry = cache / entries(cache)[0]
    whole = entry.read_bytes()
    for broken in (b"", whole[:-1], whole[:1000] + bytes(1000) + whole[2000:], bytes(len(whole))):
        entry.write_bytes(broken)
        assert_same(symbols, full, addresses, cache)
        assert entry.read_bytes() == whole


@pytest.mark.costly
def test_a_whole_disk_is_no_error(symbols, tmp_path, cache):
    """RLIMIT_FSIZE simulates a full disk: nothing is cached, and names are found."""
    full, _ = build(tmp_path, "-gz=zlib")
    addresses = reference.call_sites(full)
    settle()
    done = subprocess.run(
        ["prlimit", "--fsize=1000", symbols.path, "-w", "-c", str(cache), str(full)],
        input="".join(f"{a:#x}\n" for a in addresses), stdout=subprocess.PIPE, text=True, check=True,
    )
    assert "# found; dwarf;" in done.stdout
    assert entries(cache) == []


# --- the command line ------------------------------------------------------------------------------


PROGRAM = ["/bin/ls", "/"]


@pytest.fixture
def libc_debug():
    if not pathlib.Path("/usr/lib/debug/.build-id").exists():
        pytest.skip("libc6-dbg is not installed")


@pytest.mark.usefixtures("libc_debug")
def test_run_keeps_below_the_cache_folder(run, tmp_path):
    home, xdg = tmp_path / "home", tmp_path / "xdg"
    home.mkdir()
    run(PROGRAM, "-i", 1, env={"HOME": home, "HEAPSCOPE_CACHE": ""})
    folder = home / ".cache" / "heapscope" / "symbols"
    assert any(name.endswith(".sections") for name in os.listdir(folder))
    for made in (folder, folder.parent, folder.parent.parent):
        assert made.stat().st_mode & 0o7777 == 0o700
    run(PROGRAM, "-i", 1, env={"HOME": home, "XDG_CACHE_HOME": xdg, "HEAPSCOPE_CACHE": ""})
    assert os.listdir(xdg / "heapscope" / "symbols")


@pytest.mark.usefixtures("libc_debug")
def test_run_without_a_place(run, tmp_path):
    """Cache off, and where nothing can be stored: no message, and the same names."""
    home = tmp_path / "home"
    home.mkdir()
    file = tmp_path / "file"
    file.write_text("")
    for env in ({"HOME": home, "HEAPSCOPE_CACHE": "off"}, {"HOME": "/nonexistent", "HEAPSCOPE_CACHE": ""},
                {"HOME": file, "HEAPSCOPE_CACHE": ""}, {"HEAPSCOPE_CACHE": file}, {"HEAPSCOPE_CACHE": "/proc/x"}):
        done = run(PROGRAM, "-i", 1, env=env)
        assert (done.status, done.stderr) == (0, "")
    assert os.listdir(home) == []


@pytest.mark.usefixtures("libc_debug")
@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away takes root")
def test_run_leaves_other_peoples_homes_alone(run, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    assert run(PROGRAM, "-i", 1, env={"HOME": home, "HEAPSCOPE_CACHE": ""}).status == 0
    assert os.listdir(home) == []


@pytest.mark.costly
@pytest.mark.usefixtures("libc_debug")
def test_many_runs_at_once(dist, tmp_path, cache):
    env = {**os.environ, "HEAPSCOPE_CACHE": str(cache)}
    runs = []
    for i in range(8):
        command = [str(dist / "bin" / "heapscope"), "run", "-o", str(tmp_path / f"{i}.pftrace"), "--", *PROGRAM]
        runs.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for each in runs:
        _, said = each.communicate(timeout=60)
        assert each.returncode == 0 and "cannot" not in said
    assert entries(cache)
