"""heapscope check: limits applied to programs whose heaps are known to the byte."""

import json
import os
import random
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile sink;
static __attribute__((noinline)) void cache(int times)
{
    for (int i = 0; i < times; i++) { sink = malloc(1000); }
    sink = 0;
}
static __attribute__((noinline)) void other(void) { sink = malloc(500); sink = 0; }
int main(int argc, char **argv)
{
    (void)argc;
    void *brief = malloc(100000);
    sink = brief;
    free(brief);
    cache(atoi(argv[1]));
    other();
    _exit(0);
}
"""


@pytest.fixture(scope="module")
def leaker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaker")
    (folder / "leaker.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", folder / "leaker.c", "-o", folder / "leaker"], check=True)
    return folder / "leaker"


@pytest.fixture
def recorded(run, leaker):
    """recorded(TIMES, INTERVAL): a profile with TIMES * 1000 + 500 bytes live, a peak of 100000 at least."""
    return lambda times, interval, **env: run([leaker, str(times)], "-i", interval, env=env).file


@pytest.fixture(scope="module")
def ten(heapscope, leaker, tmp_path_factory):
    """10500 bytes exactly: 10 blocks of 1000 from cache(), one of 500 from other()."""
    file = tmp_path_factory.mktemp("ten") / "ten.pftrace"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", leaker, 10).returncode == 0
    return file


def check_json(heapscope, *options, status=0):
    done = heapscope("check", "--json", *options)
    assert done.returncode == status, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["exit_status"] == status and document["is_kept"] == (status == 0)
    return document


def test_limits_to_the_byte(heapscope, ten):
    rows = (
        ("--max-live", 10500),
        ("--max-peak", 100000),
        ("--max-leak", 10500),
        ("--max-leak-stack", 10000),
        ("--max-allocs", 12),
        ("--stack", "^cache$=10000"),
        ("--stack", "^(other|nothing)$=500"),
    )
    for option, limit in rows:
        text = str(limit)
        name, _, value = text.rpartition("=")
        less = f"{name}={int(value) - 1}" if name else str(int(value) - 1)
        done = heapscope("check", "--strict", ten, option, text)
        assert (done.returncode, done.stdout[:6]) == (0, "passed"), done.stdout + done.stderr
        done = heapscope("check", ten, option, less)
        assert (done.returncode, done.stdout[:6]) == (1, "FAILED"), done.stdout + done.stderr
    # Equal after rounding, and yet different.
    done = heapscope("check", ten, "--max-live", 10499)
    assert done.stdout.endswith(": live: 10.3 KiB, limit 10.3 KiB, 1 B above it\n")


def test_growth(heapscope, ten, recorded):
    base, file = ten, recorded(12, 1)
    for limit, status in (("2000", 0), ("1999", 1), ("19.1%", 0), ("19%", 1)):
        done = heapscope("check", file, "--against", base, "--max-growth", limit)
        assert done.returncode == status, (limit, done.stdout)
    assert heapscope("check", base, "--against", file, "--max-growth", "0").returncode == 0
    row = check_json(heapscope, file, "--against", base, "--max-growth", "20%")["files"][0]["limits"][0]
    assert (row["value"], row["limit"], row["limit_share"]) == (2000, 2100, 0.2)


def test_an_estimate_fails_only_when_it_is_sure(heapscope, report, recorded):
    file = recorded(1000, 4096)
    live = report(file)["totals"]["live"]
    low, value, high = (round(live[key]) for key in ("bytes_low", "bytes", "bytes_high"))
    assert low < value < high
    for limit, status, strict, verdict in (
        (low - 9, 1, 1, "fail"),
        (low + 9, 0, 1, "uncertain"),
        (high - 9, 0, 1, "uncertain"),
        (high + 9, 0, 0, "pass"),
    ):
        done = heapscope("check", file, "--max-live", limit)
        assert done.returncode == status
        assert ("the limit is within the 95 % interval" in done.stdout) == (low < limit < high)
        document = check_json(heapscope, "--strict", file, "--max-live", limit, status=strict)
        row = document["files"][0]["limits"][0]
        assert row["verdict"] == verdict and row["is_kept"] == (not strict) and document["is_strict"]
        assert [round(row[key]) for key in ("low", "value", "high", "limit")] == [low, value, high, limit]


def test_what_no_sample_shows_may_be_there(heapscope, recorded):
    """At an interval of 1 MiB, 1500 bytes are sampled once in 700 runs: with this seed they are
    not."""
    file = recorded(1, 1 << 20, HEAPSCOPE_SEED=1)
    row = check_json(heapscope, file, "--stack", "^cache$=0")["files"][0]["limits"][0]
    assert (row["value"], row["low"], row["verdict"]) == (0, 0, "uncertain")
    assert 3 * 2**20 < row["high"] < 4 * 2**20
    done = heapscope("check", "--strict", file, "--stack", "^cache$=0")
    assert done.returncode == 1 and "sampling may have missed up to 3.84 MiB" in done.stdout, done.stdout
    assert heapscope("check", "--strict", file, "--stack", "^cache$=4M").returncode == 0


def test_what_is_missing_never_passes(heapscope, ten, tmp_path):
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(ten.read_bytes() + b"\x0a\xff\x7fabc")
    done = heapscope("check", cut, "--max-live", "1G")
    assert done.returncode == 1 and "cannot be judged" in done.stdout, done.stdout + done.stderr
    rows = check_json(heapscope, cut, "--max-live", "1G", status=1)["files"][0]["limits"]
    assert [(row["name"], row["verdict"]) for row in rows] == [("data", "unknown"), ("max-live", "pass")]
    (tmp_path / "empty").write_bytes(b"")
    for bad in ("empty", "missing"):
        done = heapscope("check", ten, tmp_path / bad, "--max-live", "1G")
        assert done.returncode == 3 and bad in done.stderr
        assert done.stdout.startswith("passed")
        # A broken limit has precedence over a missing file.
        assert heapscope("check", tmp_path / bad, ten, "--max-live", "1").returncode == 1
        document = check_json(heapscope, tmp_path / bad, "--max-live", "1G", status=3)
        assert not document["files"][0]["is_readable"]
    # Collapsed stacks do not say how the process ended.
    folded = tmp_path / "stacks.folded"
    folded.write_text("main;load 4096\n")
    done = heapscope("check", folded, "--max-leak", "1G", "--max-leak-stack", "1G")
    assert done.returncode == 1 and done.stdout.count("leak: cannot be judged") == 2, done.stdout


def test_leaks_are_listed(heapscope, ten):
    done = heapscope("check", ten, "--max-leak", "0", "--max-leak-stack", "500")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0].endswith("leak: 10.3 KiB, limit 0 B")
    second = next(i for i, line in enumerate(lines) if "leak of one stack: 9.77 KiB" in line)
    for part, stacks in ((lines[1:second], ("cache", "other")), (lines[second + 1 :], ("cache",))):
        assert [line.split()[0] for line in part if "leaker.c" in line and "main" not in line] == [*stacks]
        assert sum(line.startswith("main") for line in part) == len(stacks)
    assert "9.77 KiB in 10 blocks" in lines and "500 B in 1 block" in lines
    rows = check_json(heapscope, ten, "--max-leak", "0", "--max-leak-stack", "500", status=1)
    whole, worst = rows["files"][0]["limits"]
    assert [(s["bytes"], s["count"], s["frames"][0]["function"]) for s in whole["stacks"]] == [
        (10000, 10, "cache"), (500, 1, "other"),
    ]
    assert worst["value"] == 10000 and worst["stack_count"] == len(worst["stacks"]) == 1


def test_suppressions(heapscope, ten, leaker, tmp_path):
    file = tmp_path / "known.supp"
    rows = (
        ("leak:cache", 500),
        ("leak:^other$", 10000),
        ("leak:^ache", 10500),
        ("leak:ca*e$", 500),
        ("leak:leaker.c", 0),
        (f"leak:{leaker}", 0),
        ("leak:main", 0),
        ("leak:main\nleak:cache", 0),
        ("leak:nothing", 10500),
        ("race:cache", 10500),
    )
    for text, left in rows:
        file.write_text(f"# known\n\n{text}\n")
        row = check_json(heapscope, ten, "--max-leak", "1M", "--suppressions", file)["files"][0]["limits"][0]
        assert row["value"] == left, text
    # Only leaks are suppressed; the largest remaining stack is the worst.
    file.write_text("leak:^cache$\ninterceptor_name:x\nleak:nothing\n")
    options = (ten, "--suppressions", file, "--max-live", "10500", "--max-leak", "500", "--max-leak-stack", "499")
    done = heapscope("check", *options)
    verdicts = [line.split()[0] for line in done.stdout.splitlines() if "ten.pftrace" in line]
    assert done.returncode == 1 and verdicts == ["passed", "passed", "FAILED"], done.stdout
    assert "Suppressions used:\n  count      bytes template\n     10      10000 ^cache$\n" in done.stdout
    assert f"Suppression not used: {file}:3: nothing\n" in done.stdout
    assert "1 suppression of other sanitizers has no effect here\n" in done.stdout
    used = check_json(heapscope, *options, status=1)["suppressions"]
    assert [(s["pattern"], s["line"], s["count"], s["bytes"]) for s in used] == [
        ("^cache$", 1, 10, 10000), ("nothing", 3, 0, 0),
    ]


def test_suppressed_as_leaksanitizer_does(heapscope, ten, tmp_path):
    """The table of used suppressions equals LeakSanitizer's own, for the same leaks and the same
    file."""
    source, program = tmp_path / "leaker.c", tmp_path / "sanitized"
    # No pointer may be left on the stack: LeakSanitizer would consider the block to be in use.
    wipe = "static __attribute__((noinline)) void wipe(void) { volatile char a[8192]; for (int i = 0; i < 8192; i++) { a[i] = 0; } }\n"
    source.write_text(SOURCE.replace("int main", wipe + "int main").replace("_exit(0)", "wipe(); exit(0)"))
    known = tmp_path / "known.supp"
    known.write_text("# known\nleak:^cac*\nleak:oth*r$\n")
    built = subprocess.run(["gcc", "-g", "-O1", "-fsanitize=leak", source, "-o", program], check=False)
    if built.returncode != 0:
        pytest.skip("no LeakSanitizer here")
    env = {**os.environ, "LSAN_OPTIONS": f"suppressions={known}"}
    env.pop("LD_PRELOAD", None)
    done = subprocess.run([program, "10"], env=env, capture_output=True, text=True, check=False, timeout=60)
    table = [line.split() for line in done.stderr.splitlines() if line.split()[2:] and line.split()[0].isdigit()]
    if not table:
        pytest.skip("LeakSanitizer does not work here: " + done.stderr[:200])
    ours = heapscope("check", ten, "--max-leak", "0", "--suppressions", known)
    assert ours.returncode == 0, ours.stdout
    assert [line.split() for line in ours.stdout.splitlines() if line.split()[0].isdigit()] == table


@pytest.mark.costly
def test_libraries_that_keep_memory(heapscope, root, run, tmp_path):
    """docs/examples/runtime.supp names the blocks that libc and libstdc++ keep, and none of the
    program."""
    (tmp_path / "keeper.cc").write_text(
        "#include <cstdio>\n#include <iostream>\n#include <thread>\nint *volatile sink;\n"
        "int main() { puts(\"a\"); std::cout << 1.5 << std::endl; try { throw 1; } catch (int) {}\n"
        "    std::thread thread([] { std::cerr << \"b\"; }); thread.join(); sink = new int[25]; sink = new int; }\n"
    )
    program = tmp_path / "keeper"
    subprocess.run(["g++", "-g", "-O1", "-pthread", tmp_path / "keeper.cc", "-o", program], check=True)
    file = run([program], "-i", 1).file
    options = (file, "--max-leak", "104", "--suppressions", root / "docs/examples/runtime.supp")
    row = check_json(heapscope, *options)["files"][0]["limits"][0]
    assert row["value"] == 104, heapscope("report", file).stdout


def test_limits_from_files(heapscope, ten, tmp_path):
    folder = tmp_path / "ci"
    folder.mkdir()
    (folder / "known.supp").write_text("leak:cache\n")
    (folder / "base.pftrace").write_bytes(ten.read_bytes())
    limits = folder / "memory.limits"
    limits.write_text(
        "# what we promise\nmax-live 10K\nmax-leak 500   # but for the cache\nsuppressions known.supp\n"
        "against base.pftrace\nmax-growth 0%\nstack ^cache$=1\nstrict\n"
    )
    rows = check_json(heapscope, ten, "--limits", limits, status=1)["files"][0]["limits"]
    assert [(row["name"], row["verdict"]) for row in rows] == [
        ("max-live", "fail"), ("max-leak", "pass"), ("stack", "fail"), ("max-growth", "pass"),
    ]
    # The command line overrides the file.
    options = ("--limits", limits, "--max-live", "1M", "--stack", "^cache$=10000")
    assert heapscope("check", ten, *options).returncode == 0
    for text, words in (
        ("max-live 1\nmax-lvie 2\n", ":2: 'max-lvie' is not a limit; did you mean 'max-live'?"),
        ("max-live much\n", ":1: 'much' is not a size"),
        ("stack (=1\n", ":1: '(' is not a regular expression"),
    ):
        limits.write_text(text)
        done = heapscope("check", ten, "--limits", limits)
        assert done.returncode == 2 and f"{limits}{words}" in done.stderr, done.stderr
    (folder / "known.supp").write_text("leak:x\nleek:y\n")
    done = heapscope("check", ten, "--max-leak", 0, "--suppressions", folder / "known.supp")
    assert done.returncode == 2 and "known.supp:2: 'leek:y' is not a suppression" in done.stderr
    for options in (
        ("--limits", folder / "none"),
        ("--max-leak", "0", "--suppressions", folder / "none"),
        ("--max-growth", "0", "--against", folder / "none"),
    ):
        done = heapscope("check", ten, *options)
        assert done.returncode == 3 and "none: No such file" in done.stderr and not done.stdout


def test_junit(heapscope, ten, tmp_path):
    odd = tmp_path / os.fsdecode(b"a<b>&\"'\x01\xff]]>.pftrace")
    odd.write_bytes(ten.read_bytes())
    missing = tmp_path / "missing"
    out = tmp_path / "out.xml"
    done = heapscope(
        "check", odd, missing, "--max-live", "1M", "--max-leak", "0", "--stack", "<cache&>=1", "--junit", out
    )
    assert done.returncode == 1
    root = ElementTree.parse(out).getroot()
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert [{k: s.get(k) for k in ("tests", "failures", "errors", "skipped")} for s in [root, *suites]] == [
        {"tests": "4", "failures": "1", "errors": "1", "skipped": "0"},
        {"tests": "3", "failures": "1", "errors": "0", "skipped": "0"},
        {"tests": "1", "failures": "0", "errors": "1", "skipped": "0"},
    ]
    for suite in suites:
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.get("tests")) and suite.get("timestamp")
        assert abs(sum(float(c.get("time")) for c in cases) - float(suite.get("time"))) < 1e-4
        assert all(c.get("classname") == suite.get("name") for c in cases)
        properties = {p.get("name"): p.get("value") for p in suite.find("properties")}
        assert properties["strict"] == "false"
    assert suites[0].get("name").endswith("a<b>&\"'\ufffd\ufffd]]>.pftrace")
    names = [case.get("name") for case in suites[0].findall("testcase")]
    assert names == ["max-live", "max-leak", "stack <cache&>"]
    failure = suites[0].find("testcase/failure")
    assert failure.get("message") == "leak: 10.3 KiB, limit 0 B" and failure.get("type") == "max-leak"
    assert "9.77 KiB in 10 blocks\n      cache" in failure.text
    error = suites[1].find("testcase/error")
    assert "No such file" in error.get("message")
    done = heapscope("check", ten, "--max-leak", "0", "--junit", "-")
    assert done.returncode == 1 and ElementTree.fromstring(done.stdout).get("failures") == "1"
    # The file is written completely or not at all.
    done = heapscope("check", ten, "--max-live", "1M", "--junit", tmp_path / "no" / "folder.xml")
    assert done.returncode == 3 and "folder.xml" in done.stderr


@pytest.mark.costly
def test_intervals_of_verdicts(heapscope, leaker, tmp_path):
    """Of 40 runs with fixed seeds, which makes the test repeatable, as many intervals miss as 95 %
    allows."""
    rows = (("max-live", 300500), ("max-leak", 300500), ("max-leak-stack", 300000), ("stack", 300000))
    options = ("--max-live", 0, "--max-leak", 0, "--max-leak-stack", 0, "--stack", "^cache$=0")
    misses = dict.fromkeys([name for name, _ in rows], 0)
    for seed in random.Random(1).sample(range(1, 1 << 30), 40):
        file = tmp_path / "one.pftrace"
        heapscope("run", "-q", "--no-symbolize", "-o", file, "--", leaker, 300, env={"HEAPSCOPE_SEED": seed})
        found = check_json(heapscope, file, *options, status=1)["files"][0]["limits"]
        found = {row["name"]: row for row in found}
        for name, truth in rows:
            misses[name] += not found[name]["low"] <= truth <= found[name]["high"]
    assert max(misses.values()) <= 6, misses


def test_wrong_usage(heapscope, ten):
    for options in (
        (),
        ("--stack", "cache"),
        ("--stack", "(=10M"),
        ("--stack", "cache=x"),
        ("--max-growth", "5%"),
        ("--against", ten),
        ("--against", ten, "--max-growth", "5x%"),
        ("--against", ten, "--max-growth", "-5%"),
        ("--max-live", "many"),
        ("--max-live", "1", "--suppressions", ten),
        ("--max-live", "1", "--json", "--junit", "-"),
    ):
        done = heapscope("check", ten, *options)
        assert done.returncode == 2 and done.stderr.startswith("heapscope:"), options


@pytest.mark.parametrize("form", ["pprof", "folded"])
def test_files_without_a_number_of_samples(heapscope, ten, tmp_path, form):
    """The live blocks are judged, although the file does not say how many samples there were."""
    file = tmp_path / "x"
    assert heapscope("export", "-f", form, "--view", "space", "-o", file, ten).returncode == 0
    assert heapscope("check", "--max-live", "1GB", file).returncode == 0
    failed = heapscope("check", "--max-live", "1", file)
    assert failed.returncode == 1 and "nothing was recorded" not in failed.stdout
    empty = tmp_path / "empty"
    empty.write_text("main 0\n")
    nothing = heapscope("check", "--max-live", "1GB", empty)
    assert nothing.returncode == 1 and "nothing was recorded" in nothing.stdout


def test_figures_that_a_file_does_not_contain(heapscope, root, ten, tmp_path):
    """A limit on what the file does not say never passes, although the figure reads 0."""
    live, total, sizes = tmp_path / "live.folded", tmp_path / "total.pb", tmp_path / "objects.pb"
    live.write_text("main;load 4096\n")
    for file, name, unit in ((total, "alloc_space", "bytes"), (sizes, "inuse_objects", "count")):
        text = (f'string_table: "" string_table: "main" string_table: "{name}" string_table: "{unit}"'
                " sample_type { type: 2 unit: 3 } sample { location_id: 1 value: 7 }"
                " location { id: 1 line { function_id: 1 } } function { id: 1 name: 1 }")
        file.write_bytes(subprocess.run(
            ["protoc", "--encode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto", "pprof.proto"],
            input=text.encode(), capture_output=True, check=True).stdout)
    for file, option, words in (
        (live, ["--max-allocs", "1000000"], "allocations: cannot be judged: the file does not say what was allocated"),
        (total, ["--max-allocs", "1000000"], "allocations: cannot be judged: the file does not say how many"),
        (total, ["--max-live", "1G"], "live: cannot be judged: the file does not say what is live"),
        (sizes, ["--max-live", "1G"], "live: cannot be judged: the file does not say how large"),
        (total, ["--stack", "main=1G"], "live in stacks with main: cannot be judged"),
        (total, ["--max-growth", "1G", "--against", ten], "growth: cannot be judged: the file does not say what is live"),
        (ten, ["--max-growth", "1G", "--against", total], "growth: cannot be judged: the file does not say what is live"),
    ):
        done = heapscope("check", file, *option)
        assert done.returncode == 1 and done.stdout.startswith("FAILED") and words in done.stdout, (file, done.stdout)
    assert heapscope("check", live, "--max-live", "4K").returncode == 0
    done = heapscope("diff", live, total)
    assert done.returncode == 0 and f"{total}: the file does not say what is live" in done.stderr, done.stderr
    done = heapscope("diff", "--view", "alloc_space", live, total)
    assert f"{live}: the file does not say what was allocated since the start" in done.stderr, done.stderr
    assert "total.pb" not in done.stderr
