"""The page in a real browser: what holds for every view, the page around the views, and that it computes what C does.

Pictures of every view go to build/page-shots.
"""

import os
import subprocess

import page_browser
import page_hostile
import page_large
import page_rich
import page_sample
import pytest

SHOTS = page_browser.ROOT / "build" / "page-shots"
# Threads, and objects of Python, which are sampled more coarsely than what malloc gives.
PYTHON = """
import threading, time
kept = []
def work():
    for i in range(20):
        kept.append([{"a": j, "b": str(j) * 20} for j in range(2000)])
        time.sleep(0.02)
thread = threading.Thread(target=work, name="worker")
thread.start()
for i in range(20):
    kept.append(bytes(200000))
    time.sleep(0.02)
thread.join()
"""
# Children that inherit samples.
FORKS = """
import os, time
kept = [bytes(5000) for i in range(4000)]
for k in range(3):
    if os.fork() == 0:
        more = [str(i) * 50 for i in range(20000 * (k + 1))]
        os._exit(0)
    os.wait()
"""
SOURCE = "#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; return m.size(); }\n"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A page with a profile that the tests know."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_sample.page(page_browser.template()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def recorded(heapscope, tmp_path_factory):
    """{name: page of a real program}"""
    page_browser.template()
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "main.cc").write_text(SOURCE)
    programs = {
        "python": (["--dump-every", "200ms"], ["/usr/bin/python3", "-c", PYTHON]),
        "forks": ([], ["/usr/bin/python3", "-c", FORKS]),
        "compiler": (["-i", "1"], ["g++", "-c", folder / "main.cc", "-o", folder / "main.o"]),
    }
    pages = {}
    for name, (options, command) in programs.items():
        trace, pages[name] = folder / f"{name}.pftrace", folder / f"{name}.html"
        done = heapscope("run", "-q", "-o", trace, *options, "--", *command)
        assert done.returncode == 0, done.stderr
        done = heapscope("report", "--html", trace, "-o", pages[name])
        assert done.returncode == 0, done.stderr
    return pages


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("name", ["every_view", "shell", "timeline", "diff"])
def test_in_chromium(sample, name, pytestconfig):
    """Without --full each device and each theme once, otherwise all combinations."""
    looks = {"HEAPSCOPE_LOOKS": "2"} if pytestconfig.getoption("cases") == "few" else {}
    page_browser.try_page(name, sample, SHOTS / "sample", **looks)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """The same with all that a file can record."""
    path = tmp_path_factory.mktemp("page") / "rich.html"
    path.write_text(page_rich.page(page_browser.template(), page_rich.documents()), encoding="utf-8")
    return path


@pytest.mark.costly
@pytest.mark.parametrize("name", ["every_view", "tables"])
def test_with_all_that_a_file_can_record(rich, name):
    page_browser.try_page(name, rich, SHOTS / "rich")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["spelling", "hostile"])
def test_hostile_names_are_text(tmp_path, name):
    path = tmp_path / "hostile.html"
    path.write_text(page_hostile.page(page_browser.template()), encoding="utf-8")
    page_browser.try_page(name, path, SHOTS / "hostile")


@pytest.mark.costly
def test_hostile_names_of_a_program_are_text(heapscope, tmp_path):
    """Functions, a thread, and the program's own file, recorded and written as any others."""
    page_browser.template()
    program, trace, path = tmp_path / "<svg onload=x>&.out", tmp_path / "x.pftrace", tmp_path / "x.html"
    source = page_browser.ROOT / "test" / "e2e" / "hostile_names.c"
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", program, source, "-lpthread"], check=True)
    done = heapscope("run", "-q", "-o", trace, "--", program)
    assert done.returncode == 0, done.stderr
    done = heapscope("report", "--html", trace, "-o", path)
    assert done.returncode == 0, done.stderr
    page_browser.try_page("hostile", path, SHOTS / "hostile-program")


@pytest.mark.costly
def test_100_000_stacks_are_fluid(tmp_path):
    path = tmp_path / "large.html"
    path.write_text(page_large.page(page_browser.template(), 100_000), encoding="utf-8")
    page_browser.try_page("tables_speed", path, SHOTS / "large")


@pytest.mark.slow
def test_1_000_000_stacks_take_bounded_memory(tmp_path):
    path = tmp_path / "million.html"
    path.write_text(page_large.page(page_browser.template(), 1_000_000), encoding="utf-8")
    page_browser.try_page("million", path, SHOTS / "million")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["python", "forks", "compiler"])
def test_every_view_of_a_recorded_program(recorded, name):
    page_browser.try_page("every_view", recorded[name], SHOTS / name)


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("name", ["python", "forks", "compiler"])
def test_the_page_computes_what_the_report_says(recorded, name):
    """Sums and margins, by the page's own code (web/test/real)."""
    env = {**os.environ, "HEAPSCOPE_PAGE": str(recorded[name])}
    command = [page_browser.ROOT / "tools" / "build-page", "test", "real/report", "real/table"]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=200)
    assert done.returncode == 0 and "8 passed" in done.stdout, done.stdout
