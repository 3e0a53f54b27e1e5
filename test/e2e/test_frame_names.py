"""Names are in the frames of a trace, where every reader of Perfetto's traces finds them: as in
symbol tables, each stored once; none where no name is known, or where none were requested."""

import csv
import io
import pathlib
import subprocess

import pytest
from test_sources import expand
from waiting import wait_for_dumps, wait_until

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
namespace deep {
__attribute__((noinline)) static void *local(size_t n) { void *p = malloc(n); asm volatile("" : : "r"(p)); return p; }
__attribute__((noinline)) void *shown(size_t n) { void *p = local(n); asm volatile("" : : "r"(p)); return p; }
}
extern "C" __attribute__((noinline)) void *later(size_t n) { void *p = deep::shown(n); asm volatile("" : : "r"(p)); return p; }
int main(int argc, char **argv)
{
    for (int i = 0; i < 1000; i++) deep::shown(5000);
    if (argc > 1) {
        puts("ready"); fflush(stdout);
        while (getchar() != EOF) {
            for (int i = 0; i < 1000; i++) later(5000);
            puts("done"); fflush(stdout);
        }
    }
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """One source: without debug information, with it, and without any names."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "source.cc").write_text(SOURCE)
    for name, flags in (("plain", []), ("debug", ["-g"]), ("stripped", ["-s"])):
        subprocess.run(["g++", "-O1", *flags, "-o", folder / name, folder / "source.cc"], check=True)
    return folder


def frames_of(file):
    """[(module, name or None)] of every written frame, as in InternedData; each name is stored
    once."""
    names, modules, paths, out = {}, {}, {}, []
    for packet in expand(pathlib.Path(file).read_bytes()):
        for data in packet.get("interned_data", []):
            for table, texts in (("function_names", names), ("mapping_paths", paths)):
                for entry in data.get(table, []):
                    assert entry["iid"][0] not in texts
                    texts[entry["iid"][0]] = entry["str"][0].decode()
            for mapping in data.get("mappings", []):
                modules[mapping["iid"][0]] = "/".join(paths[i] for i in mapping.get("path_string_ids", []))
            for frame in data.get("frames", []):
                iid = frame.get("function_name_id", [0])[0]
                out.append((modules[frame["mapping_id"][0]], names[iid] if iid else None))
    assert len(set(names.values())) == len(names)
    return out


def names_in(file, module):
    return {name for path, name in frames_of(file) if path.endswith("/" + module)}


def sql(heapscope, file, query):
    done = heapscope("query", "--format", "csv", file, query)
    assert done.returncode == 0, done
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def test_from_symbol_tables(run, programs):
    """As in the symbol table: mangled. Functions of libc, too."""
    for name in ("plain", "debug"):
        done = run([programs / name], "-i", "1")
        assert {"_ZN4deep5shownEm", "main", "_start"} <= names_in(done.file, name), name
        assert any("local" in str(one) for one in names_in(done.file, name))
        assert any(path.startswith("lib") or "/libc.so" in path and one for path, one in frames_of(done.file))


def test_the_first_query(heapscope, run, programs):
    """In SQL, a missing name is NULL and never an empty text; known names are not blank."""
    done = run([programs / "stripped"], "-i", "1")
    rows = sql(heapscope, done.file, "SELECT f.name IS NULL, f.name = '', m.name LIKE '%/stripped' FROM "
                                     "stack_profile_frame f JOIN stack_profile_mapping m ON m.id = f.mapping")
    assert ["1", "[NULL]", "1"] in rows and ["0", "0", "0"] in rows, rows
    assert all(row[1] != "1" for row in rows)
    assert names_in(done.file, "stripped") == {None}


def test_left_out(heapscope, run, programs):
    """With --no-symbolize the file has markers only; report looks up the others, as always."""
    done = run([programs / "plain"], "-i", "1", "--no-symbolize")
    assert names_in(done.file, "plain") == {None}
    assert all(name is None or path in ("ERROR", "[heapscope]") for path, name in frames_of(done.file))
    assert "deep::shown" in heapscope("report", done.file).stdout


def test_dumps_of_a_run(dist, heapscope, programs, tmp_path):
    """Code that only a later dump contains is named there; names of earlier dumps are not written
    again."""
    file = tmp_path / "a.pftrace"
    with subprocess.Popen([dist / "bin" / "heapscope", "run", "-q", "-i", "1", "--dump-every", "100ms", "-o", file,
                           "--", programs / "plain", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        wait_for_dumps(heapscope, f"run.{process.pid}", 2)
        process.communicate(b"\n", timeout=60)
        assert process.returncode == 0
    frames = [frame for frame in frames_of(file) if frame[0].endswith("/plain")]
    assert "later" in {name for _, name in frames}
    assert int(sql(heapscope, file, "SELECT count(DISTINCT ts) FROM heap_profile_allocation")[0][0]) > 1
    live = sql(heapscope, file, "SELECT sum(size) FROM heap_profile_allocation WHERE heap_name = 'libc.malloc'")
    assert int(live[0][0]) >= 2000 * 5000


def test_of_a_daemon(daemon, programs, tmp_path):
    """A session's file, and a snapshot of a process that it records."""
    program = daemon.launch([programs / "plain", "wait"])
    daemon.begin("-p", str(program.pid), "-i", "1", "-o", tmp_path / "session.pftrace")
    program.process.stdout.readline()
    assert program.step() == "done\n"
    for options, expected in ((["-o", tmp_path / "now.pftrace"], True),
                              (["--no-symbolize", "-o", tmp_path / "bare.pftrace"], False)):
        done = daemon.ask("snapshot", "-p", str(program.pid), *options)
        assert done.returncode == 0, done
        assert ("main" in names_in(options[-1], "plain")) == expected
    assert program.end() == 0
    wait_until((tmp_path / "session.pftrace").exists)
    assert {"main", "later"} <= names_in(tmp_path / "session.pftrace", "plain")
