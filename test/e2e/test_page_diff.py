"""The page's differences are those of `heapscope diff`: web/test/real/diff.test.ts compares them."""

import json
import os
import subprocess

import page_browser
import page_large
import page_rows
import page_sample
import pytest
import test_trace_heapprofd

VIEWS = ["space", "objects", "alloc_space", "alloc_objects", "peak"]
# Grows in one function, shrinks in another, and has a third that comes and goes.
PROGRAM = """
import os, sys, time
kept, cache = [], [bytes(700) for i in range(6000)]
def handle(i):
    kept.append({"id": i, "body": "x" * 300})
def parse():
    return [str(i) * 30 for i in range(4000)]
if len(sys.argv) > 2 and os.fork() == 0:
    more = [bytes(900) for i in range(5000)]
    time.sleep(0.5)
    os._exit(0)
for step in range(8):
    for i in range(int(sys.argv[1])):
        handle(i)
    parsed = parse()
    if step == 4:
        cache.clear()
    time.sleep(0.1)
"""
# The same program twice: the later one has its functions in another order, one more, and its library in another folder.
LIBRARY = """
#include <stdlib.h>
#define KEEP(bytes, count) for (int i = 0; i < (count); i++) { void **block = malloc(bytes); *block = last; last = block; }
void *last;
#ifdef LATER
void *cache(int count) { KEEP(3000, count / 4) return last; }
void *parse(int count) { KEEP(300, 3 * count) return last; }
void *load(int count) { KEEP(1200, count) cache(count); return parse(count); }
#else
void *load(int count);
void *parse(int count) { KEEP(300, count) return last; }
void *load(int count) { KEEP(1200, count) return parse(count); }
#endif
"""
MAIN = "void *load(int count); int main(void) { return load(8000) == 0; }\n"


@pytest.fixture(scope="module")
def builds(heapscope, tmp_path_factory):
    """Traces of both builds."""
    folder = tmp_path_factory.mktemp("builds")
    (folder / "lib.c").write_text(LIBRARY)
    (folder / "main.c").write_text(MAIN)
    files = []
    for place, flags in (("old", []), ("new/deeper", ["-DLATER"])):
        (folder / place).mkdir(parents=True)
        library, program = folder / place / "libstore.so", folder / place / "app"
        common = ["gcc", "-O0", *flags]
        subprocess.run([*common, "-shared", "-fPIC", "-o", library, folder / "lib.c"], check=True)
        subprocess.run([*common, "-o", program, folder / "main.c", library, f"-Wl,-rpath,{folder / place}"], check=True)
        files.append(folder / f"{place.replace('/', '-')}.pftrace")
        done = heapscope("run", "-q", "-o", files[-1], "--", program)
        assert done.returncode == 0, done.stderr
    return files


@pytest.fixture(scope="module")
def traces(heapscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    commands = {
        "small": (["--dump-every", "200ms"], ["400"]),
        "large": (["--dump-every", "200ms", "-i", "2048"], ["1500"]),
        "exact": (["--dump-every", "300ms", "-i", "1"], ["100"]),
        "forks": (["--dump-every", "200ms"], ["400", "fork"]),
    }
    files = {}
    for name, (options, args) in commands.items():
        files[name] = folder / f"{name}.pftrace"
        done = heapscope("run", "-q", "-o", files[name], *options, "--", "/usr/bin/python3", "-c", PROGRAM, *args)
        assert done.returncode == 0, done.stderr
    return files


def compared(heapscope, view, *args):
    done = heapscope("diff", "--json", "--view", view, *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expect_same(heapscope, folder, files, cases):
    """Each case is (name, files of both sides, heap, filters of the page, options of diff, view)."""
    page = folder / "page.html"
    page_rows.write_page(heapscope, page, *files)
    listed = [{"name": f"{name}, {view}", "files": sides, "heap": heap, "filters": filters,
               "expected": compared(heapscope, view, *options)}
              for name, sides, heap, filters, options, view in cases]
    assert all(case["expected"]["functions"] for case in listed), "there is nothing to compare"
    (folder / "cases.json").write_text(json.dumps(listed), encoding="utf-8")
    env = {**os.environ, "HEAPSCOPE_PAGE": str(page), "HEAPSCOPE_DIFF": str(folder / "cases.json")}
    page_browser.template()
    done = subprocess.run([page_browser.ROOT / "tools" / "build-page", "test", "real/diff"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=200)
    assert done.returncode == 0 and f"{4 * len(cases)} passed" in done.stdout, done.stdout


@pytest.mark.costly
@pytest.mark.parametrize("name", ["small", "exact"])
def test_two_snapshots_of_a_process(heapscope, traces, tmp_path, name):
    file = traces[name]
    cases = [(f"{first} and {last}", [0, 0], None, [], ["--snapshots", f"{first},{last}", file], view)
             for view in VIEWS for first, last in ([(0, 2), (2, "last"), (2, 0)] if view == "space" else [(1, 3)])]
    expect_same(heapscope, tmp_path, [file], cases)


@pytest.mark.costly
def test_one_heap(heapscope, traces, tmp_path):
    cases = [(heap, [0, 0], heap, [], ["--snapshots", "0,2", "--heap", heap, traces["small"]], view)
             for heap in ("libc.malloc", "python.obj") for view in ("space", "objects")]
    expect_same(heapscope, tmp_path, [traces["small"]], cases)


@pytest.mark.costly
def test_filtered_stacks(heapscope, traces, tmp_path):
    filters = {"show-stack handle": ["--focus", "handle"], "from-frame handle": ["--from", "handle"],
               "hide-frame handle": ["--hide", "handle"]}
    cases = [(text, [0, 0], None, [text.replace(" ", ":", 1)], ["--snapshots", "0,2", *options, traces["small"]], "space")
             for text, options in filters.items()]
    expect_same(heapscope, tmp_path, [traces["small"]], cases)


@pytest.mark.costly
def test_two_files(heapscope, traces, tmp_path):
    before, after = traces["small"], traces["large"]
    cases = [("last", [0, 1], None, [], [before, after], view) for view in VIEWS]
    cases.append(("third", [0, 1], None, [], [f"{before}@2", f"{after}@2"], "space"))
    expect_same(heapscope, tmp_path, [before, after], cases)


@pytest.mark.costly
def test_two_builds_with_other_folders_and_another_order(heapscope, builds, tmp_path):
    cases = [("builds", [0, 1], None, [], builds, view) for view in VIEWS]
    cases += [(text, [0, 1], None, [text.replace(" ", ":", 1)], [*options, *builds], "space")
              for text, options in {"show-stack parse": ["--focus", "parse"], "hide-frame load": ["--hide", "load"]}.items()]
    names = {each["function"]: each["verdict"] for each in compared(heapscope, "space", *builds)["functions"]}
    assert (names["parse"], names["cache"], names["load"]) == ("grew", "new", "noise"), names
    expect_same(heapscope, tmp_path, builds, cases)


@pytest.mark.costly
def test_counts_that_are_numbers_of_samples(heapscope, tmp_path):
    """A trace of heapprofd: a count is a number of samples, whose error is its own root."""
    samples = "samples { callstack_id: 2 self_allocated: 819200 self_freed: 4096 alloc_count: 200 free_count: 1 }"
    later = test_trace_heapprofd.SECOND_DUMP.split("packet { trusted_packet_sequence_id: 999 profile_packet { index: 3")[0]
    later = later.replace("samples { callstack_id: 2 self_allocated: 12288 self_freed: 12288 alloc_count: 3 free_count: 3 }", samples)
    assert samples in later
    file = test_trace_heapprofd.encode(tmp_path / "x.pftrace", test_trace_heapprofd.HEAPPROFD, test_trace_heapprofd.SECOND_STACK, later)
    views = ["space", "objects", "alloc_space", "alloc_objects"]
    cases = [("heapprofd", [0, 0], None, [], ["--snapshots", "0,1", file], view) for view in views]
    expect_same(heapscope, tmp_path, [file], cases)


@pytest.mark.costly
def test_processes_that_share_samples(heapscope, traces, tmp_path):
    before, after = traces["small"], traces["forks"]
    cases = [("forks", [0, 1], None, [], [before, after], view) for view in VIEWS]
    expect_same(heapscope, tmp_path, [before, after], cases)


def large_page(path, count):
    """A page with so many stacks in two snapshots of a process."""
    made = page_large.documents(count)
    after = made["rows-2"]
    before = {**after, "live": page_sample.columns([size * (0.5 if i % 3 else 1.2) for i, size in enumerate(after["live"]["bytes"])])}
    made["rows-0"] = before
    made["profile"]["snapshots"][0]["rows"] = "rows-0"
    data = "\n".join(page_sample.element(name, document) for name, document in made.items())
    path.write_text(page_browser.template().replace("<!--heapscope-data-->", data), encoding="utf-8")
    return path


@pytest.mark.costly
def test_speed_with_many_stacks(tmp_path):
    page = large_page(tmp_path / "page.html", 100_000)
    print(page_browser.try_page("diff_speed", page, page_browser.ROOT / "build" / "page-shots" / "large"))


@pytest.mark.costly
def test_on_paper(tmp_path):
    page = large_page(tmp_path / "page.html", 3000)
    print(page_browser.try_page("print", page, page_browser.ROOT / "build" / "page-shots" / "large"))
