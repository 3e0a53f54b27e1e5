"""Inlined calls have rows and lines of their own in all formats, and a file claims them only where
they were looked up."""

import csv
import re
import subprocess

import pytest

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) void *innermost(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
static inline __attribute__((always_inline)) void *between(size_t n) { return innermost(n); }
__attribute__((noinline)) void keeper(void) { between(5000); }
int main(void) { keeper(); return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inlined")
    (folder / "code.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-o", folder / "whole", folder / "code.c"], check=True)
    subprocess.run(["strip", "--strip-all", "-o", folder / "stripped", folder / "whole"], check=True)
    return folder / "whole"


def test_nodes(heapscope, run, program):
    done = run([program], "-i", 1)
    ask = """WITH RECURSIVE up(id, parent_id, name, is_inlined, depth) AS (
        SELECT n.id, n.parent_id, n.name, n.is_inlined, n.depth FROM heapscope_samples s JOIN heapscope_nodes n ON n.id = s.node_id
          WHERE s.alloc_bytes = 5000
        UNION ALL SELECT n.id, n.parent_id, n.name, n.is_inlined, n.depth FROM up JOIN heapscope_nodes n ON n.id = up.parent_id)
        SELECT name, is_inlined, depth, (SELECT line_number FROM heapscope_nodes n WHERE n.id = up.id) AS line FROM up"""
    rows = list(csv.DictReader(heapscope("query", "--format", "csv", done.file, ask).stdout.splitlines()))
    assert [(row["name"], row["is_inlined"], row["line"]) for row in rows[:4]] == \
        [("innermost", "1", "3"), ("between", "1", "4"), ("keeper", "0", "5"), ("main", "0", "6")]
    depths = [int(row["depth"]) for row in rows]
    assert depths == list(range(len(rows) - 1, -1, -1))


@pytest.mark.parametrize("options", [[], ["--no-symbolize"]])
@pytest.mark.parametrize("name", ["whole", "stripped"])
def test_pprof_mappings(heapscope, run, program, root, tmp_path, name, options):
    """pprof looks up names itself where a mapping does not claim to have them."""
    done = run([program.with_name(name)], "-i", 1, *options)
    out = tmp_path / "x.pb.gz"
    assert heapscope("export", "-f", "pprof", "-o", out, done.file).returncode == 0
    plain = subprocess.run(["gzip", "-dc", out], capture_output=True, check=True).stdout
    text = subprocess.run(["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto", "pprof.proto"],
                          input=plain, capture_output=True, check=True).stdout.decode()
    strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
    claims = {}
    for mapping in re.findall(r"^mapping \{\n(.*?)^\}", text, re.M | re.S):
        file = strings[int(re.search(r"filename: (\d+)", mapping)[1])]
        claims[file.rsplit("/", 1)[-1]] = set(re.findall(r"has_\w+: true", mapping))
    everything = {f"has_{what}: true" for what in ("functions", "filenames", "line_numbers", "inline_frames")}
    assert claims[name] == (everything if name == "whole" else set())
