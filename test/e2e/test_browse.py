"""Two dimensions: memory by function or scope and then by type, and the other way round, in report, SQL and MemoryInfra.

test/target/style_sheets.cc has the numbers of the example in Chrome's documentation: of 1.9 MiB in ParseAuthorStyleSheet,
371 KiB are ImmutableStylePropertySet and 238 KiB StringImpl; of 1 MiB of Node, half is made by HTMLDocumentParser.
"""

import json

import infra_checker
import pytest
from running_types import style_sheets

KIB = 1024
INSIDE = {"blink::ImmutableStylePropertySet": 371 * KIB, "blink::StringImpl": 238 * KIB, "(unknown)": 1337 * KIB}


@pytest.fixture(scope="module")
def recorded(dist, heapscope, target, tmp_path_factory):
    return style_sheets(dist, heapscope, target, tmp_path_factory.mktemp("two dimensions"))


def by(parts, key):
    return {part[key]: part["amount"]["bytes"] for part in parts}


@pytest.mark.costly
@pytest.mark.parametrize("options", [("--focus", "parse_author_style_sheet"), ("--stack-mode", "pseudo", "--focus", "^ParseAuthorStyleSheet$")])
def test_function_then_type(report, recorded, options):
    data = report(recorded, *options, "--by", "type,stack")
    assert data["focus"]["amount"]["bytes"] == 1946 * KIB
    assert by(data["parts"], "type") == INSIDE
    # And further down: the functions of one type.
    (sets,) = [part for part in data["parts"] if part["type"] == "blink::ImmutableStylePropertySet"]
    assert [part["amount"]["bytes"] for part in sets["parts"]] == [300 * KIB, 71 * KIB]
    assert data["totals"]["live"]["bytes"] > 23.5 * 1024 * KIB


def test_type_then_function(report, recorded):
    data = report(recorded, "--by", "type,scope")
    (nodes,) = [part for part in data["parts"] if part["type"] == "blink::Node"]
    assert nodes["amount"]["bytes"] == 1024 * KIB
    assert by(nodes["parts"], "scope") == {"HTMLDocumentParser": 512 * KIB, "RunScript": 512 * KIB}


def test_in_words(heapscope, recorded):
    text = heapscope("report", "--focus", "parse_author_style_sheet", "--by", "type,stack", recorded).stdout
    assert 'stacks with a function that matches "parse_author_style_sheet"' in text
    assert "1.90 MiB, 8.1 % of the live memory" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["371", "KiB", "1.5", "%", "371", "blink::ImmutableStylePropertySet"] in lines
    assert ["238", "KiB", "1.0", "%", "476", "blink::StringImpl"] in lines


def find(node, name):
    """The outermost nodes of a tree with this function."""
    if node.get("function", "").startswith(name):
        return [node]
    return [found for child in node["children"] for found in find(child, name)]


def test_a_tree_for_each_type(heapscope, report, recorded):
    data = report(recorded, "--tree", "--by", "type")
    trees = {part["type"]: part for part in data["parts"]}
    assert trees["blink::Node"]["tree"]["total"]["bytes"] == 1024 * KIB == trees["blink::Node"]["amount"]["bytes"]
    for function in ("blink::parse_document", "blink::run_script"):
        (node,) = find(trees["blink::Node"]["tree"], function)
        assert node["total"]["bytes"] == 512 * KIB
    assert not find(trees["blink::StringImpl"]["tree"], "blink::run_script")
    text = heapscope("report", "--tree", "--by", "type", recorded).stdout
    nodes = text[text.index("type blink::Node   1.00 MiB, 4.2 % of all"):]
    nodes = nodes[:nodes.index("\ntype ")]
    assert nodes.count("512 KiB   50.0 %") == 2 and "blink::run_script()" in nodes
    short = heapscope("report", "--tree", "--by", "type", "--top", 1, recorded).stdout
    assert "3 more trees with 1.59 MiB are not shown" in short
    assert short.count("\ntype ") == 1


def test_trees_of_two_keys(report, recorded):
    data = report(recorded, "--tree", "--by", "thread,type", "--focus", "blink::Node")
    assert sum(part["amount"]["bytes"] for part in data["parts"]) == 1024 * KIB
    for thread in data["parts"]:
        (kind,) = thread["parts"]
        assert kind["type"] == "blink::Node" and kind["tree"]["total"]["bytes"] == 512 * KIB


SQL = """WITH RECURSIVE inside(id) AS (
  SELECT id FROM heapscope_nodes WHERE name LIKE '%parse_author_style_sheet%'
  UNION SELECT n.id FROM heapscope_nodes n JOIN inside ON n.parent_id = inside.id)
SELECT coalesce(type_name, '(unknown)') AS type, sum(bytes) AS bytes FROM heapscope_parts
WHERE view = 'live' AND node_id IN (SELECT id FROM inside) GROUP BY 1"""


def test_sql(heapscope, recorded):
    done = heapscope("query", "--format", "json", recorded, SQL)
    assert {row["type"]: row["bytes"] for row in json.loads(done.stdout)} == INSIDE
    done = heapscope("query", "--format", "json", recorded, "SELECT scope, sum(bytes) AS bytes FROM heapscope_parts "
                     "WHERE view = 'live' AND type_name = 'blink::Node' GROUP BY 1")
    assert {row["scope"]: row["bytes"] for row in json.loads(done.stdout)} == {"HTMLDocumentParser": 512 * KIB, "RunScript": 512 * KIB}


@pytest.mark.parametrize("mode,name", [("native", "blink::parse_author_style_sheet()"), ("pseudo", "ParseAuthorStyleSheet")])
def test_export(heapscope, recorded, tmp_path, mode, name):
    out = tmp_path / "x.memory-infra.json"
    assert heapscope("export", "-q", "--stack-mode", mode, "-o", out, recorded).returncode == 0
    (process,) = infra_checker.read(out).processes.values()
    found = {}
    for row in process.dumps[0][2]["malloc"]:
        if name in row["stack"]:
            kind = "(unknown)" if row["type"] == "[unknown]" else row["type"]
            found[kind] = found.get(kind, 0) + row["size"]
    assert found == INSIDE


def test_several_patterns(report, recorded):
    data = report(recorded, "--focus", "parse_author_style_sheet", "--focus", "parse_style_sheet\\(")
    assert data["focus"] == {"patterns": ["parse_author_style_sheet", "parse_style_sheet\\("],
                             "amount": {"bytes": 1538 * KIB, "count": 808}}
    own = [f["function"] for f in data["functions_by_total"]]
    assert "main" not in own and "blink::parse_style_sheet()" in own


def test_what_is_refused(heapscope, recorded):
    for options, why in ((["--focus", "a("], "not a regular expression"), (["--focus", "a", "--rss"], "--rss"),
                         (["--tree", "--by", "type,stack"], "leave out stack"),
                         (["--focus", "a", "--health"], "--health"), (33 * ["--focus", "a"], "32 times")):
        done = heapscope("report", *options, recorded)
        assert done.returncode == 2 and why in done.stderr, done.stderr
    done = heapscope("report", "--focus", "no such function", recorded)
    assert done.returncode == 0 and "No stack matches." in done.stdout and "Stacks" not in done.stdout
