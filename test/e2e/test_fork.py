"""A forked child's profile is its own, and begins with the blocks that it inherited.

Each process of test/target/forked.c states its own truth, which is compared with its own report.
"""

import subprocess

import pytest
from truth import Amounts, Measured, measure, read_truth, truths_of_children

FLAGS = ["-pthread"]


@pytest.fixture
def each(run, target, tmp_path):
    """each(["late"]): profiles every allocation; returns {pid: Measured} of the children."""

    def call(arguments, *options, losses=(), count=1):
        measured = measure(run, tmp_path, [target("forked", *FLAGS), *arguments], *(options or ("-i", 1)))
        assert measured.run.status == 0, measured.run.stderr
        children = truths_of_children(measured.truth_path)
        found = {}
        for pid in {p["pid"] for p in measured.report["processes"]}:
            report = measured.run.report("--top", "all", "--view", "alloc_objects", "--pid", pid)
            truth = read_truth(children.get(pid, measured.truth_path))
            found[pid] = Measured(measured.run, report, truth)
            found[pid].assert_exact(losses)
        parents = found.keys() - children.keys()
        assert len(parents) == 1 and len(found) == 1 + count
        return {pid: found[pid] for pid in found.keys() & children.keys()}

    return call


@pytest.mark.parametrize("what", ["late", "realloc", "thread", "double", "handler", "forget"])
def test_child_begins_with_what_it_inherited(each, what):
    (child,) = each([what]).values()
    assert child.sites["site_early"].live_count == 4800 - (what == "realloc")
    assert "site_late" not in child.sites
    assert child.sites["site_child"] == Amounts(100000, 400, 149700, 600)


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 5000])
def test_child_that_frees_first(each, count):
    """As long as the child only frees, it has no region; its frees are not forgotten all the same."""
    (child,) = each(["frees", count]).values()
    assert child.sites["site_early"].live_count == len([i for i in range(count, 6000) if i % 5 != 3])


def test_crowd(each):
    """Each child has its own moment of the fork, however late it begins."""
    assert len({c.truth["site_early"] for c in each(["crowd"], count=40).values()}) > 20


def test_child_that_does_nothing_is_not_shown(each):
    assert not each(["never"], count=0)


@pytest.mark.costly
def test_more_deaths_than_are_kept_for_a_child(run, target, tmp_path):
    """200,000 blocks die before the child begins. The report says what it can no longer know."""
    measured = measure(run, tmp_path, [target("forked", *FLAGS), "flood"])
    lost = measured.losses["inherited_blocks"]
    assert 0 < lost < 100000
    assert measured.differences["site_early"].alloc_count == -lost
    assert set(measured.differences) == {"site_early"}


def test_sampled_child(run, target, tmp_path):
    """Estimates: 95 % within their margins, and all within three times the margin."""
    good = 0
    for _ in range(6):
        measured = measure(run, tmp_path, [target("forked", *FLAGS), "late"], "-i", 512)
        ((pid, path),) = truths_of_children(measured.truth_path).items()
        assert not measured.losses
        live = measured.run.report("--pid", pid)["totals"]["live"]
        truth = sum(site.live_bytes for site in read_truth(path).values())
        assert abs(live["bytes"] - truth) < 3 * live["bytes_margin"]
        good += live["bytes_low"] <= truth <= live["bytes_high"]
    assert good >= 3


SHELL = "for i in 1 2 3 4 5; do /bin/true; done; (x=1); (x=2; y=$x$x); exit 0"


def test_shell_forks_to_execute(run):
    """Children of the shell that execute a program at once are processes of that program only."""
    done = run(["bash", "-c", SHELL], "-i", 1)
    names = sorted((p["name"], "forked_from_pid" in p) for p in done.report()["processes"])
    assert names == [("bash", False), ("bash", True), ("bash", True), *[("true", False)] * 5]


@pytest.mark.costly
def test_child_that_executes_late(run):
    """It was a process of its own for more than a second."""
    code = "import os, time\nif os.fork() == 0:\n time.sleep(1.2)\n os.execv('/bin/true', ['true'])\nos.wait()"
    done = run(["/usr/bin/python3", "-c", code], "-i", 1)
    assert sorted(p["name"] for p in done.report()["processes"]) == ["python3", "python3", "true"]


def test_no_follow(run, target):
    done = run([target("forked", *FLAGS), "late"], "-i", 1, "--no-follow")
    assert len(done.report()["processes"]) == 1


def test_forks_in_the_middle_of_our_code(run, target, tmp_path):
    """The child continues where the handler interrupted, perhaps inside the client: it must not use
    its parent's tables."""
    measured = measure(run, tmp_path, [target("forked", *FLAGS), "torn"])
    assert measured.run.status == 0
    (parent,) = [p["pid"] for p in measured.report["processes"] if "forked_from_pid" not in p]
    report = measured.run.report("--top", "all", "--view", "alloc_objects", "--pid", parent)
    Measured(measured.run, report, measured.truth).assert_exact(["reentrant"])
    assert len(measured.report["processes"]) > 10


def test_report_says_who_was_forked(run, target, heapscope):
    done = run([target("forked", *FLAGS), "late"], "-i", 1)
    parent, child = sorted(done.report()["processes"], key=lambda p: "forked_from_pid" in p)
    assert child["forked_from_pid"] == child["ppid"] == parent["pid"]
    text = heapscope("report", done.file).stdout
    assert "1 of the processes was forked" in text and f"forked from {parent['pid']}\n" in text
    alone = heapscope("report", "--pid", child["pid"], done.file).stdout
    assert f", forked from {parent['pid']}\n" in alone.splitlines(keepends=True)[0]


RENAMES = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile block;
int main(int argc, char **argv)
{
    if (argc > 1) {
        block = malloc(100000);
    }
    if (fork() == 0) {
        char *start = argv[0], *end = argv[argc - 1] + strlen(argv[argc - 1]);
        if (argc > 2) {
            block = malloc(200000);
            usleep(400000);
        }
        prctl(PR_SET_NAME, "second");
        memset(start, 0, end - start);
        strncpy(start, "w: job", end - start);
        block = malloc(500000);
        usleep(400000);
        if (argc > 3) {
            strncpy(start, "w: end", end - start);
            usleep(400000);
        }
        _exit(0);
    }
    wait(NULL);
    block = malloc(1000);
    return 0;
}
"""


@pytest.fixture(scope="module")
def renames(tmp_path_factory):
    program = tmp_path_factory.mktemp("renames") / "first-name-of-all"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=RENAMES, text=True, check=True)
    return program


@pytest.mark.parametrize("name", ["second", "w: job"])
def test_only_a_child_by_its_new_name(run, renames, name):
    found = run([renames], "-i", 1, "--only", name).report()
    assert [p["name"] for p in found["processes"]] == ["second"]
    assert found["totals"]["alloc"]["bytes"] == 500000


def test_a_child_is_shown_by_its_new_title(run, renames, heapscope):
    done = run([renames, "before"], "-i", 1)
    text = heapscope("report", done.file).stdout
    assert "w: job  forked from" in text and f"{renames} before" in text
    assert "1 of the processes was forked and inherited the blocks of the parent" in " ".join(text.split())


def test_children_that_began_with_nothing(run, renames, heapscope):
    done = run([renames], "-i", 1)
    assert "inherited the blocks" not in " ".join(heapscope("report", done.file).stdout.split())


def test_a_title_of_later(dist, heapscope, report, renames, tmp_path):
    """One dump is taken before the child sets its title, and another one after."""
    done = heapscope("record", "-c", "-", "--txt", "-o", tmp_path / "x", "--", renames, "before", env={"HEAPSCOPE_SOCKET": tmp_path / "no"},
                     input='data_sources { config { name: "android.heapprofd" heapprofd_config { sampling_interval_bytes: 1 '
                           "continuous_dump_config { dump_interval_ms: 100 } } } }")
    assert done.returncode == 0, done.stderr
    assert "w: job" in [p.get("cmdline") for p in report(tmp_path / "x")["processes"]]


def test_record_has_what_its_program_forks(heapscope, report, renames, tmp_path):
    """Without names, the program is selected, and its forked children are the same program,
    whatever they call themselves."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = heapscope("record", "-i", 1, "-o", folder, "--", renames, "before")
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("heap_dump.*.pb.gz"))) == 2
    found = report(folder / "raw-trace")
    assert [p["name"] for p in found["processes"]] == [renames.name[:15], "second"]
    assert found["totals"]["alloc"]["bytes"] == 100000 + 1000 + 100000 + 500000


def test_record_has_not_what_another_program_forks(heapscope, report, renames, tmp_path):
    """The program executes another one under the same pid."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = heapscope("record", "-i", 1, "-o", folder, "--", "sh", "-c", f"exec {renames}")
    assert done.returncode == 0, done.stderr
    assert [p["name"] for p in report(folder / "raw-trace")["processes"]] == ["sh"]


def test_a_name_that_was_left_counts(run, renames):
    """Dumps of the child are taken while it has the name; later dumps belong to them."""
    found = run([renames, "before", "late"], "-i", 1, "--dump-every", "50ms", "--only", renames.name).report()
    assert [p["name"] for p in found["processes"]] == [renames.name[:15], "second"]
    assert found["totals"]["alloc"]["bytes"] == 100000 + 1000 + 100000 + 200000 + 500000


@pytest.mark.parametrize("name", ["w: job", "w: end"])
def test_each_title_is_a_name(run, renames, name):
    """A worker with another title at its end is still found by its earlier title, but not by its
    parent's."""
    found = run([renames, "before", "late", "other"], "-i", 1, "--only", name).report()
    assert [p["cmdline"] for p in found["processes"]] == ["w: end"]
    found = run([renames, "before", "late", "other"], "-i", 1, "--only", renames.name).report()
    assert [p["name"] for p in found["processes"]] == [renames.name[:15]]
