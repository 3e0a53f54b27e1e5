"""Original names of Java code that an obfuscator renamed: `heapscope deobfuscate`, its packets appended to a trace, maps in the
environment, and what the commands that read a profile show.

Traces are text that protoc encodes. Frame x.A.b is in line 5 of a file: `second`, into which `put` of another class was inlined.
"""

import gzip
import tarfile

import pytest
import trace_text
from test_sql_conformance import CLOCKS, INTERNED, profile, sample

MAP = """# compiler: R8
# {"id":"com.android.tools.r8.mapping","version":"2.2"}
org.app.Cache -> x.A:
# {"id":"sourceFile","fileName":"Cache.kt"}
    int size -> b
    1:4:void first(int):20:23 -> b
    5:5:void org.app.Log.put(java.lang.String):7:7 -> b
    5:5:void second(int):24 -> b
org.app.Unused -> x.C:
    void never() -> b
"""
OBFUSCATED = "x.A.b"
CHAIN = ["org.app.Cache.second", "org.app.Log.put"]  # the outermost first
UNKNOWN_LINE = "org.app.Cache.first | org.app.Log.put | org.app.Cache.second"


def trace(frame="line_number: 5", path="jit", name=OBFUSCATED, size=1000, stack=1):
    text = CLOCKS + (INTERNED.replace('str: "_Z1fv"', f'str: "{name}"').replace('str: "liba.so"', f'str: "{path}"')
                     .replace("path_string_ids: 1 path_string_ids: 2", "path_string_ids: 2")
                     .replace("mapping_id: 1 rel_pc: 100", f"mapping_id: 1 rel_pc: 100 {frame}")
                     + profile(0, sample(stack, size, 1)))
    return trace_text.protoc("encode", text.encode())


@pytest.fixture
def files(tmp_path):
    """A trace and a map, in a folder with a blank in its name."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "in.pftrace").write_bytes(trace())
    (folder / "map.txt").write_text(MAP)
    return folder


def deobfuscate(heapscope, files, *options):
    done = heapscope("deobfuscate", "--proguard-map", files / "map.txt", *options, files / "in.pftrace", "-o", files / "names")
    assert done.returncode == 0, done.stderr
    (files / "whole.pftrace").write_bytes((files / "in.pftrace").read_bytes() + (files / "names").read_bytes())
    return files / "whole.pftrace"


def test_packets_that_are_appended(heapscope, files):
    """A chain of inlined methods in every output; the obfuscated name stays in the data."""
    whole = deobfuscate(heapscope, files)
    done = heapscope("export", "-f", "folded", "--view", "space", whole)
    assert f"{CHAIN[0]};{CHAIN[1]};g " in done.stdout, done.stdout
    for options in (["report"], ["report", "--tree"], ["report", "--json"], ["export", "-f", "speedscope", "-o", "-"],
                    ["export", "-f", "svg", "-o", "-"], ["export", "-f", "json", "-o", "-"]):
        done = heapscope(*options, whole)
        assert done.returncode == 0, done.stderr
        for name in CHAIN:
            assert name in done.stdout, (options, done.stdout)
    for name, size in (("small", 1000), ("large", 5_000_000)):
        (files / name).write_bytes(trace(size=size, stack=2) + (files / "names").read_bytes())
    done = heapscope("diff", files / "small", files / "large")
    assert CHAIN[1] in done.stdout and OBFUSCATED not in done.stdout


def test_names_in_pprof(heapscope, files):
    whole = deobfuscate(heapscope, files)
    assert heapscope("export", "-f", "pprof", whole, "-o", files / "out.pb").returncode == 0
    text = gzip.decompress((files / "out.pb").read_bytes())
    assert all(name.encode() in text for name in [*CHAIN, OBFUSCATED])


@pytest.mark.parametrize("how", ["packets", "environment"])
def test_names_in_tables(heapscope, files, how):
    """SQL has both names, whichever way the map comes."""
    path, env = files / "in.pftrace", {}
    if how == "packets":
        path = deobfuscate(heapscope, files)
    else:
        env = {"PERFETTO_PROGUARD_MAP": str(files / "map.txt")}
    done = heapscope("query", "--format", "csv", path, "SELECT name, deobfuscated_name FROM stack_profile_frame ORDER BY id", env=env)
    assert f"{OBFUSCATED},{CHAIN[0]}" in done.stdout.replace('"', ""), done.stdout + done.stderr
    done = heapscope("query", "--format", "csv", path, "SELECT name, line_number, inlined FROM stack_profile_symbol ORDER BY id", env=env)
    assert done.stdout.replace('"', "").splitlines()[1:] == ["org.app.Log.put,7,1", "org.app.Cache.second,24,0"]


def test_maps_in_the_environment(heapscope, files):
    """Every command that reads a profile uses them; a map of another package is not used."""
    env = {"PERFETTO_PROGUARD_MAP": f"org.other={files / 'map.txt'}"}
    (files / "in.pftrace").write_bytes(trace(path="/data/app/org.pkg-1/base.apk"))
    assert OBFUSCATED in heapscope("report", files / "in.pftrace", env=env).stdout
    env = {"PERFETTO_PROGUARD_MAP": f"org.other=/dev/null:{files / 'map.txt'}"}
    for options in (["report"], ["export", "-f", "folded", "-o", "-"]):
        done = heapscope(*options, files / "in.pftrace", env=env)
        assert CHAIN[0] in done.stdout and OBFUSCATED not in done.stdout, done.stderr


@pytest.mark.parametrize("package, is_used", [("org.pkg", True), ("", True), ("org.other", False)])
def test_packages_of_paths(heapscope, files, package, is_used):
    (files / "in.pftrace").write_bytes(trace(path="/data/app/~~x==/org.pkg-y==/base.apk"))
    option = f"{package}={files / 'map.txt'}" if package else files / "map.txt"
    done = heapscope("deobfuscate", "--proguard-map", option, files / "in.pftrace", "-o", files / "names")
    assert done.returncode == 0, done.stderr
    (files / "whole").write_bytes((files / "in.pftrace").read_bytes() + (files / "names").read_bytes())
    assert (CHAIN[0] in heapscope("report", files / "whole").stdout) == is_used


def test_the_package_of_a_user(heapscope, files):
    """A package that the user of the process can run, as in Android's list of packages."""
    more = trace_text.protoc("encode", b"packet { process_tree { processes { pid: 1 uid: 10077 } } }"
                             b' packet { packages_list { packages { name: "org.pkg" uid: 10077 } } }')
    (files / "in.pftrace").write_bytes(trace() + more)
    heapscope("deobfuscate", "--proguard-map", f"org.pkg={files / 'map.txt'}", files / "in.pftrace", "-o", files / "names")
    (files / "whole").write_bytes((files / "in.pftrace").read_bytes() + (files / "names").read_bytes())
    assert CHAIN[0] in heapscope("report", files / "whole").stdout


@pytest.mark.parametrize("frame, name", [("", OBFUSCATED), ("line_number: 9", OBFUSCATED), ("", "int x.A.b(byte[])")])
def test_frames_without_a_known_line(heapscope, files, frame, name):
    (files / "in.pftrace").write_bytes(trace(frame, name=name))
    whole = deobfuscate(heapscope, files)
    assert UNKNOWN_LINE in heapscope("report", "--json", whole).stdout


def test_only_what_the_file_names(heapscope, files):
    deobfuscate(heapscope, files)
    text = trace_text.protoc("decode", (files / "names").read_bytes()).decode()
    assert "org.app.Cache" in text and "Unused" not in text and '"size"' not in text
    deobfuscate(heapscope, files, "--all")
    text = trace_text.protoc("decode", (files / "names").read_bytes()).decode()
    assert "org.app.Unused" in text and '"size"' in text


def test_errors(heapscope, files):
    path = files / "in.pftrace"
    done = heapscope("deobfuscate", path)
    assert done.returncode == 2 and "no PERFETTO_PROGUARD_MAP specified" in done.stderr
    done = heapscope("deobfuscate", path, env={"PERFETTO_PROGUARD_MAP": "org.app="})
    assert done.returncode == 2 and "Invalid PERFETTO_PROGUARD_MAP" in done.stderr
    (files / "bad.txt").write_text(MAP + "no class\n")
    done = heapscope("deobfuscate", "--proguard-map", files / "bad.txt", path, "-o", files / "out")
    assert done.returncode == 1 and "line 11: a class without ' -> '" in done.stderr and not (files / "out").exists()
    done = heapscope("deobfuscate", "--proguard-map", files / "none.txt", path, "-o", files / "out")
    assert done.returncode == 1 and "none.txt: cannot read the map: No such file" in done.stderr
    (files / "other.txt").write_text("org.B -> b:\n    void f() -> a\n")
    done = heapscope("deobfuscate", "--proguard-map", files / "other.txt", path, "-o", files / "out")
    assert done.returncode == 1 and "is it the map of the build" in done.stderr
    heapscope("export", "-f", "pprof", path, "-o", files / "out.pb")
    done = heapscope("deobfuscate", "--proguard-map", files / "map.txt", files / "out.pb", "-o", files / "out")
    assert done.returncode == 1 and "no packets can be appended" in done.stderr


def test_a_map_that_cannot_be_read(heapscope, files):
    """A report without the names is better than none."""
    done = heapscope("report", files / "in.pftrace", env={"PERFETTO_PROGUARD_MAP": str(files / "none.txt")})
    assert done.returncode == 0 and OBFUSCATED in done.stdout and "none.txt: cannot read the map" in done.stderr


def test_in_a_bundle(heapscope, files):
    """The third member of a bundle; a map that cannot be read leaves none."""
    bundle = files / "whole.tar"
    environment = {"PERFETTO_PROGUARD_MAP": str(files / "map.txt")}
    for options, env in (["--proguard-map", files / "map.txt"], {}), ([], environment):
        done = heapscope("bundle", *options, files / "in.pftrace", bundle, env=env)
        assert done.returncode == 0, done.stderr
        assert CHAIN[0] in heapscope("report", bundle).stdout
        with tarfile.open(bundle) as tar:
            assert tar.getnames() == ["trace.perfetto", "deobfuscation.pb"]
        bundle.unlink()
    done = heapscope("bundle", "--no-auto-proguard-maps", files / "in.pftrace", bundle, env=environment)
    assert done.returncode == 0 and OBFUSCATED in heapscope("report", bundle).stdout
    bundle.unlink()
    done = heapscope("bundle", "--proguard-map", files / "none.txt", files / "in.pftrace", bundle)
    assert done.returncode == 1 and "none.txt" in done.stderr and not bundle.exists()
    assert heapscope("bundle", "--proguard-map", "", files / "in.pftrace", bundle).returncode == 2
