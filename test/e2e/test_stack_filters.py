"""--focus, --from and --hide of report and export. test/unit/test_stack_filters.c has the rules."""

import json
import subprocess

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


@pytest.fixture
def changed(stacks):
    path = stacks.with_name("after.folded")
    path.write_text("main;load;parse 150\nmain;load 300\nmain;save;parse 700\nother 5000\n")
    return path


@pytest.mark.parametrize("command", ["diff", "report", "export"])
def test_two_files(heapscope, stacks, changed, command):
    """diff, and --base of report and export: both sides are filtered."""

    def out(*options):
        form = [] if command == "report" else ["-f", "folded"]
        files = [stacks, changed] if command == "diff" else ["--base", stacks, changed]
        done = heapscope(command, *form, *options, *files)
        assert done.returncode == 0, done.stderr
        return done

    def rows(*options):
        return sorted(line.split(";", 1)[-1] if line.startswith("[") else line for line in out(*options).stdout.splitlines())

    if command == "report":
        text = out("--focus", "load", "--hide", "^parse$").stdout
        assert '  below   stacks with a function that matches "load"; without functions that match "^parse$"' in text
        assert "+50 B" in text and "400 B" in text and "other" not in text, text
        return
    assert rows("--focus", "load") == ["main;load 300 300", "main;load;parse 100 150"]
    assert rows("--hide", "^parse$") == ["main;load 400 450", "main;save 600 700", "other 1000 5000"]
    assert rows("--from", "load|save") == ["load 300 300", "load;parse 100 150", "save;parse 600 700"]
    said = out("--focus", "load").stderr
    assert "in.folded: the filters leave 20.0 % of the bytes" in said and "after.folded: the filters leave 7.3 % of the bytes" in said


def test_diff_says_what_it_compares(heapscope, stacks, changed):
    for options in ([], ["--tree"]):
        done = heapscope("diff", *options, "--from", "load", stacks, changed)
        assert done.returncode == 0 and '  below   stacks from a function on that matches "load"; the totals above are of all stacks\n' in done.stdout, done.stdout + done.stderr
    data = json.loads(heapscope("diff", "--json", "--focus", "load", "--hide", "main", stacks, changed).stdout)
    assert data["focus"] == {"patterns": ["load"], "hide": ["main"]}
    assert "focus" not in json.loads(heapscope("diff", "--json", stacks, changed).stdout)


def test_names_in_diff(heapscope, tmp_path):
    name = "app::List<int, app::Allocator<int> >::add(int const&)"
    for file, size in (("a", 1000), ("b", 5000)):
        (tmp_path / f"{file}.folded").write_text(f"main;{name} {size}\n")
    files = [tmp_path / "a.folded", tmp_path / "b.folded"]
    assert name in heapscope("diff", *files).stdout
    short = heapscope("diff", "--short-names", *files).stdout
    assert "app::List<…>::add" in short and "Allocator" not in short, short
    assert name in heapscope("diff", "--json", "--short-names", *files).stdout


GROWS = """
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static void *grow(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
int main(void) { for (int i = 0; i < 40; i++) { grow(10000); nanosleep(&(struct timespec){ 0, 5000000 }, 0); } return 0; }
"""


def test_filters_of_a_trend(heapscope, run, tmp_path):
    program = tmp_path / "grows"
    subprocess.run(["gcc", "-x", "c", "-", "-O1", "-o", program], input=GROWS, text=True, check=True)
    done = run([program], "-i", 1, "--dump-every", "20ms")
    assert done.status == 0, done.stderr
    for pattern, wanted in (("grow", ["grow"]), ("no such function", [])):
        text = heapscope("diff", "--trend", "--focus", pattern, done.file).stdout
        assert f'  below   stacks with a function that matches "{pattern}"' in text, text
        data = json.loads(heapscope("diff", "--trend", "--json", "--focus", pattern, done.file).stdout)
        assert data["focus"] == {"patterns": [pattern]} and [row["function"] for row in data["functions"]] == wanted


def test_wrong_usage(heapscope, stacks):
    for command in (["report"], ["export", "-f", "folded"]):
        for option in ("--focus", "--from", "--hide"):
            done = heapscope(*command, option, "ma(in", stacks)
            assert done.returncode == 2 and f"{option}: 'ma(in' is not a regular expression" in done.stderr
            assert "at character 3" in done.stderr
    for options in (["--from", "a", "--leaks"], ["--hide", "a", "--rss"]):
        assert heapscope("report", *options, stacks).returncode == 2
    assert heapscope("diff", "--rss", "--hide", "a", stacks, stacks).returncode == 2
    assert "--hide: 'a(' is not a regular expression" in heapscope("diff", "--hide", "a(", stacks, stacks).stderr
    done = heapscope("export", "-f", "sqlite", "--hide", "a", stacks)
    assert done.returncode == 2 and "SQL does it" in done.stderr
