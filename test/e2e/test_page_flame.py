"""The flame graph of the page: in a real browser, and its sums against those of `heapscope query`."""

import json
import os
import subprocess

import page_browser
import page_flamegraphs
import page_large
import page_sample
import pytest
from conftest import DIST

SHOTS = page_browser.ROOT / "build" / "page-shots"
SOURCE = "int main(void) { return 0; }\n"
PYTHON = """
import json, threading
kept = []
def parse(n):
    for i in range(n):
        kept.append(json.loads('{"tags": ["' + "a" * 60 + '", "b"], "nested": {"k": [1, 2, 3]}}'))
def tree(depth):
    return [tree(depth - 1) for i in range(5)] if depth else ["leaf" * 10]
thread = threading.Thread(target=parse, args=(6000,), name="parser")
thread.start()
kept.append(tree(6))
thread.join()
"""
PROGRAMS = {
    # every allocation recorded: equal to the byte
    "compiler": (["-i", "1"], lambda folder: ["gcc", "-c", folder / "main.c", "-o", folder / "main.o"], 0),
    # estimates: the operator adds up whole numbers, one for each stack
    "python": ([], lambda folder: ["/usr/bin/python3", "-c", PYTHON], 0.5),
}
# Filters, which the page's address has in the key `filter`; the order of a graph; a measure.
CASES = [
    ([], "down", "space"),
    ([], "up", "space"),
    ([], "down", "objects"),
    ([], "down", "alloc_space"),
    ([], "up", "alloc_objects"),
    ([], "down", "peak"),
    (["show-stack:alloc"], "down", "space"),
    (["show-stack:/alloc/", "show-stack:/parse|init/i"], "up", "alloc_space"),
    (["show-stack:nobody"], "down", "space"),
    (["hide-stack:/^main$/"], "down", "space"),
    (["hide-stack:alloc"], "up", "alloc_objects"),
    (["hide-frame:alloc"], "down", "space"),
    (["hide-frame:/^[_a-m]/"], "up", "alloc_space"),
    (["hide-frame:/alloc/", "hide-stack:/alloc/", "show-stack:main"], "down", "alloc_space"),
    (["hide-stack:/xmalloc|PyList/", "hide-frame:/^main$/"], "down", "alloc_objects"),
    (["from-frame:/^main$|^parse$/"], "down", "alloc_space"),
    (["hide-frame:/^main$/", "from-frame:/main|parse|init/"], "down", "alloc_space"),
    (["pivot:/alloc/"], "down", "space"),
    (["pivot:/parse|init/i", "hide-frame:/alloc/"], "down", "alloc_space"),
    (["pivot:main", "show-stack:alloc", "hide-stack:/PyDict|hash/"], "down", "peak"),
]


@pytest.fixture(scope="module", params=list(PROGRAMS))
def recorded(request, heapscope, tmp_path_factory):
    """(name, trace, page, what a stack may be rounded by)"""
    page_browser.template()
    folder = tmp_path_factory.mktemp("flame")
    (folder / "main.c").write_text(SOURCE)
    options, command, rounding = PROGRAMS[request.param]
    trace, page = folder / "trace.pftrace", folder / "page.html"
    for arguments in (["run", "-q", "-o", trace, *options, "--", *command(folder)], ["report", "--html", trace, "-o", page]):
        done = heapscope(*arguments)
        assert done.returncode == 0, done.stderr
    return request.param, trace, page, rounding


@pytest.mark.costly
def test_the_call_tree_is_that_of_the_query(recorded, tmp_path):
    """The same boxes with the same sums for each filter, by the page's own code (web/test/real)."""
    _, trace, page, rounding = recorded
    answers = page_flamegraphs.ask(DIST / "bin" / "heapscope", trace, CASES)
    stacks = max(len(answer["rows"]) for answer in answers)
    for answer in answers:
        answer["rounding"] = rounding * stacks
    assert sum(1 for answer in answers if answer["rows"]) >= len(CASES) - 2, [len(answer["rows"]) for answer in answers]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    env = {**os.environ, "HEAPSCOPE_PAGE": str(page), "HEAPSCOPE_FLAMEGRAPHS": str(tmp_path / "answers.json")}
    done = subprocess.run([page_browser.ROOT / "tools" / "build-page", "test", "real/flamegraph"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=200)
    assert done.returncode == 0 and f"{len(CASES)} passed" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A page with a profile that the tests know."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_sample.page(page_browser.template()), encoding="utf-8")
    return path


def test_the_view_in_chromium(sample):
    page_browser.try_page("flame", sample, SHOTS / "flame")


@pytest.mark.costly
def test_the_speed_with_100_000_stacks(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(page_large.page(page_browser.template(), 100000), encoding="utf-8")
    assert page.stat().st_size < 5 << 20
    page_browser.try_page("flame_speed", page, SHOTS / "flame")
