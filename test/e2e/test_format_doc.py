"""docs/FORMAT.md is normative: its byte tables equal those that the compiler makes of src/fmt."""

import re
import subprocess

import pytest

from compiling import INCLUDES, ROOT

DOC = (ROOT / "docs" / "FORMAT.md").read_text()
ROW = re.compile(r"^\| (\d+) \| (\d+) \| (`(\w+)`|\(.*\)) \|", re.M)


def tables():
    """{struct: [(offset, bytes, field or None)]}"""
    found = {}
    for section in re.split(r"^#+ ", DOC, flags=re.M):
        struct = re.search(r"^`struct (hs_\w+_v\d)`", section, re.M)
        if struct:
            found[struct.group(1)] = [(int(r[0]), int(r[1]), r[3] or None)
                                      for r in ROW.findall(section)]
    return found


def headers():
    return [p for p in (ROOT / "src" / "fmt").glob("*.h")]


def test_every_struct_has_a_table():
    defined = set()
    for header in headers():
        defined |= set(re.findall(r"^struct (hs_\w+_v\d) \{", header.read_text(), re.M))
    assert defined == set(tables())


@pytest.mark.costly(cases=16)
@pytest.mark.parametrize("struct", sorted(tables()))
def test_table(struct, tmp_path):
    rows = tables()[struct]
    header_text = "".join(h.read_text() for h in headers())
    body = re.search(r"^struct %s \{\n(.*?)^\};" % struct, header_text, re.M | re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    # Bit-fields have no address; their word is in the table without a name.
    fields = re.findall(r"(\w+)(?:\[[^;]*\])?;", body)
    bits = re.findall(r"(\w+) : \d+;", body)
    names = {r[2] for r in rows if r[2]}
    assert names == {f for f in fields if f not in bits and not f.isdigit()}
    source = tmp_path / "offsets.c"
    source.write_text(
        "#include <stddef.h>\n"
        + "".join(f'#include "{h.relative_to(ROOT / "src")}"\n' for h in headers())
        + "".join(f"_Static_assert(offsetof(struct {struct}, {name}) == {offset} &&"
                  f" sizeof(((struct {struct} *)0)->{name}) == {size}, \"{name}\");\n"
                  for offset, size, name in rows if name)
        + f"_Static_assert(sizeof(struct {struct}) == {rows[-1][0] + rows[-1][1]}, \"size\");\n")
    subprocess.run(["cc", "-std=c17", "-fsyntax-only", *INCLUDES, source], check=True)
    # No holes: the fields of the table cover every byte.
    at = 0
    for offset, size, _ in rows:
        assert offset == at
        at += size


def test_enums():
    """Losses and stack ends are stored as numbers."""
    text = (ROOT / "src" / "fmt" / "region_layout.h").read_text()
    rows = re.findall(r"^\|\s*(\d*)\s*\| ([^|]*)\| *(\d*) *\| ([^|]*)\|$", DOC, re.M)
    for enum, column in (("hs_loss", 0), ("hs_stack_end", 2)):
        body = re.search(r"^enum %s \{\n(.*?)^\};" % enum, text, re.M | re.S).group(1)
        count = len(re.findall(r"^\s+HS_\w+,", body, re.M)) - 1  # the last is the count
        assert [int(r[column]) for r in rows if r[column]] == list(range(count))
