"""--focus, --from and --hide of report and export. test/unit/test_stack_filters.c has the rules."""

import json

import pytest

STACKS = "main;load;parse 100\nmain;load 300\nmain;save;parse 600\nother 1000\n"


@pytest.fixture
def stacks(tmp_path):
    path = tmp_path / "a folder" / "in.folded"
    path.parent.mkdir()
    path.write_text(STACKS)
    return path


@pytest.mark.parametrize("options, left, share", [
    (["--focus", "load"], ["main;load;parse 100", "main;load 300"], "20.0 %"),
    (["--hide", "^parse$"], ["main;load 400", "main;save 600", "other 1000"], "100.0 %"),
    (["--from", "load|save"], ["load;parse 100", "load 300", "save;parse 600"], "50.0 %"),
    (["--from", "load", "--from", "save", "--hide", "parse"], ["load 400", "save 600"], "50.0 %"),
    (["--focus", "main", "--focus", "save"], ["main;save;parse 600"], "30.0 %")])
def test_export(heapscope, stacks, options, left, share):
    done = heapscope("export", "-f", "folded", *options, stacks)
    assert done.returncode == 0, done.stderr
    assert sorted(line.split(";", 1)[-1] if line.startswith("[") else line for line in done.stdout.splitlines()) == sorted(left)
    assert f"the filters leave {share} of the bytes" in done.stderr


def test_report(heapscope, stacks):
    done = heapscope("report", "--from", "load|save", "--hide", "parse", stacks)
    assert done.returncode == 0, done.stderr
    assert 'stacks from a function on that matches "load|save"; without functions that match "parse"' in done.stdout
    assert "1000 B, 50.0 % of the" in done.stdout
    data = json.loads(heapscope("report", "--json", "--from", "load|save", "--hide", "parse", stacks).stdout)
    assert data["focus"]["from"] == ["load|save"] and data["focus"]["hide"] == ["parse"]
    assert data["focus"]["amount"]["bytes"] == 1000


def test_wrong_usage(heapscope, stacks):
    for command in (["report"], ["export", "-f", "folded"]):
        for option in ("--focus", "--from", "--hide"):
            done = heapscope(*command, option, "ma(in", stacks)
            assert done.returncode == 2 and f"{option}: 'ma(in' is not a regular expression" in done.stderr
            assert "at character 3" in done.stderr
    for options in (["--from", "a", "--leaks"], ["--hide", "a", "--base", stacks], ["--hide", "a", "--rss"]):
        assert heapscope("report", *options, stacks).returncode == 2
    done = heapscope("export", "-f", "sqlite", "--hide", "a", stacks)
    assert done.returncode == 2 and "SQL does it" in done.stderr
