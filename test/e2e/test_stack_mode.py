"""--stack-mode: stacks of threads and scopes, whose totals are those of the functions, in every format."""

import json

import pytest

MODES = ["native-with-thread-names", "pseudo", "mixed"]
KIB = 1024
# test/target/style_sheets.cc: the stacks of scopes, and what each thread has below none
SCOPES = {
    ("HTMLParser", "HTMLDocumentParser"): 512 * KIB,
    ("HTMLParser", "HTMLDocumentParser", "ParseAuthorStyleSheet"): 408 * KIB,
    ("HTMLParser", "HTMLDocumentParser", "ParseAuthorStyleSheet", "CSSParserImpl::parseStyleSheet"): 1538 * KIB,
    ("main thread", "RunScript"): 512 * KIB,
    ("main thread", "Layout"): 21094 * KIB,
}


@pytest.fixture(scope="module", params=[1, 4096])
def recorded(request, dist, heapscope, target, tmp_path_factory):
    flags = ["-pthread", "-I", dist / "include", "-L", dist / "lib", "-lheapscope", f"-Wl,-rpath,{dist / 'lib'}"]
    file = tmp_path_factory.mktemp("stack modes") / f"x{request.param}.pftrace"
    done = heapscope("run", "-q", "-i", request.param, "-o", file, "--", target("style_sheets", *map(str, flags)))
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture
def export(heapscope, recorded, tmp_path):
    def call(form, mode, *options, file=recorded):
        out = tmp_path / f"x.{form}"
        done = heapscope("export", "-q", "-f", form, "--stack-mode", mode, *options, "-o", out, file)
        assert done.returncode == 0, done.stderr
        return out

    return call


def folded(file):
    lines = [line.rpartition(" ") for line in file.read_text().splitlines()]
    return {tuple(stack.split(";")): int(value) for stack, _, value in lines}


def named(stacks):
    """The main thread has the name of the program, which contains a hash."""
    return {("main thread" if stack[0].startswith("style_sheets") else stack[0], *stack[1:]): value
            for stack, value in stacks.items()}


def test_scopes(export, recorded):
    stacks = named(folded(export("folded", "pseudo", "--view", "space")))
    for stack, size in SCOPES.items():
        exact = recorded.stem == "x1"
        assert stacks[stack] == size if exact else stacks[stack] == pytest.approx(size, rel=0.3)
    assert set(stacks) - set(SCOPES) <= {("main thread",), ("HTMLParser",)}


def test_threads_and_functions(export):
    threads = named(folded(export("folded", "native-with-thread-names", "--view", "space")))
    native = folded(export("folded", "native", "--view", "space"))
    assert {stack[0] for stack in threads} == {"main thread", "HTMLParser"}
    without = {}
    for stack, size in threads.items():
        without[stack[1:]] = without.get(stack[1:], 0) + size
    assert without.keys() == native.keys()
    assert all(abs(without[stack] - native[stack]) <= 1 for stack in native)


def test_scopes_stand_outside_functions(export):
    mixed = folded(export("folded", "mixed", "--view", "space"))
    native = folded(export("folded", "native", "--view", "space"))
    by_scope = {}
    for stack, size in mixed.items():
        scopes = stack[:next((i for i, name in enumerate(stack) if name.startswith("_") or name == "main"), 0)]
        assert stack[len(scopes):] in native
        by_scope[scopes] = by_scope.get(scopes, 0) + size
    assert set(by_scope) == {(), *(stack[1:] for stack in SCOPES)}


def rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def flat(value, name=""):
    """All numbers in nested dictionaries and lists. Sums of the same numbers in another order differ in the last digit."""
    if isinstance(value, dict):
        return {key: number for k, inner in value.items() for key, number in flat(inner, f"{name}.{k}").items()}
    if isinstance(value, list):
        return {key: number for i, inner in enumerate(value) for key, number in flat(inner, f"{name}.{i}").items()}
    return {name: value} if isinstance(value, (int, float)) else {}


KEYS = [f"{view}_{unit}" for view in ("live", "alloc", "peak") for unit in ("bytes", "count")]


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("mode", MODES)
def test_totals(export, report, recorded, mode):
    """Every figure, in formats with all views and in those with one."""
    sums = [{key: sum(row.get(key, 0) for row in rows(export("json", m)) if row["type"] == "stack") for key in KEYS}
            for m in ("native", mode)]
    assert sums[0]["live_bytes"] > 24e6
    assert sums[1] == pytest.approx(sums[0], rel=1e-9)
    reports = [report(recorded, "--stack-mode", m) for m in ("native", mode)]
    assert flat(reports[1]["totals"]) == pytest.approx(flat(reports[0]["totals"]), rel=1e-6)
    assert flat(reports[1]["heaps"]) == pytest.approx(flat(reports[0]["heaps"]), rel=1e-6)
    read = [report(export("pprof", m), "--view", view)["totals"] for m in ("native", mode) for view in ("space",)]
    for view in read[0]:
        assert read[1][view]["bytes"] == pytest.approx(read[0][view]["bytes"], abs=50)
    for view in ("peak", "alloc_space", "alloc_objects"):
        values = [sum(folded(export("folded", m, "--view", view)).values()) for m in ("native", mode)]
        assert values[1] == pytest.approx(values[0], abs=50)


@pytest.mark.parametrize("mode", MODES)
def test_freed_memory(export, recorded, mode):
    """Of what was freed, the scope is known, and the thread is not."""
    stacks = folded(export("folded", mode, "--view", "alloc_objects"))
    freed = {stack: count for stack, count in stacks.items() if stack[0].startswith("[freed: ")}
    native = [sum(folded(export("folded", "native", "--view", view)).values()) for view in ("alloc_objects", "objects")]
    if mode == "mixed":
        layout = sum(count for stack, count in stacks.items() if stack[0] == "Layout")
        assert not freed and layout == pytest.approx(660 + 500, rel=0 if recorded.stem == "x1" else 0.3)
        return
    assert sum(freed.values()) == pytest.approx(native[0] - native[1], abs=20) and native[0] > native[1]
    if mode == "pseudo" and recorded.stem == "x1":
        assert freed == {("[freed: thread not recorded]", "Layout"): 500}


def test_allocated_by_scope(report, heapscope, recorded):
    """All that was allocated in a scope, freed or not; threads are not known of it."""
    data = report(recorded, "--by", "scope,stack", "--view", "alloc_space")
    scopes = {part["scope"]: part["amount"]["bytes"] for part in data["parts"]}
    exact = recorded.stem == "x1"
    assert scopes["Layout"] == pytest.approx((21094 + 500) * KIB, rel=0 if exact else 0.05)
    assert sum(scopes.values()) == pytest.approx(data["totals"]["alloc"]["bytes"], rel=1e-9)
    done = heapscope("report", "--by", "scope,thread", "--view", "alloc_space", recorded)
    assert done.returncode == 2 and "of what was freed, these are not recorded" in done.stderr
    text = heapscope("report", "--by", "scope", "--view", "alloc_objects", recorded).stdout
    assert "Allocations by scope" in text


def test_parts_have_the_stacks(report, recorded):
    parts = report(recorded, "--stack-mode", "pseudo", "--by", "stack,scope", "--view", "space")["parts"]
    for part in parts:
        scopes = [frame["function"] for frame in reversed(part["frames"])][1:]
        assert [inner["scope"] for inner in part["parts"]] == [" > ".join(scopes) or "(none)"]


def test_difference(heapscope, recorded):
    """Stacks of both sides are of scopes."""
    done = heapscope("diff", "--json", "--stack-mode", "pseudo", recorded, recorded)
    assert done.returncode == 0, done.stderr
    assert "parse_author_style_sheet" not in done.stdout
    based = heapscope("export", "-q", "-f", "folded", "--view", "space", "--stack-mode", "pseudo", "--base", recorded, recorded)
    assert "HTMLParser;HTMLDocumentParser;ParseAuthorStyleSheet " in based.stdout


def test_where_it_makes_no_sense(heapscope, export, recorded, tmp_path):
    for arguments in (["report", "--rss"], ["report", "--health"], ["export", "-f", "sqlite", "-o", tmp_path / "x.db"]):
        done = heapscope(arguments[0], "--stack-mode", "pseudo", *arguments[1:], recorded)
        assert done.returncode == 2 and "--stack-mode" in done.stderr
    file = export("pprof", "native")
    done = heapscope("report", "--stack-mode", "pseudo", file)
    assert done.returncode == 1 and "threads and scopes are not recorded" in done.stderr


def test_allocated_step_by_step(run, heapscope, target, flags):
    """Each snapshot has all that was allocated in a scope until then, though a file has only what changed."""
    done = run([target("scope_steps", *flags[0], *flags[1])], "-i", 1)
    assert done.status == 0, done.stderr
    want = {"even": 0, "odd": 0, "(none)": 0}
    for step in range(5):
        want["(none)" if step == 4 else "odd" if step % 2 else "even"] += (step + 1) * 1000
        data = done.report("--snapshot", f"step {step}", "--by", "stack,scope", "--view", "alloc_space")
        found = {}
        for stack in data["parts"]:
            if any(frame["function"] == "allocate" for frame in stack["frames"]):
                for part in stack["parts"]:
                    found[part["scope"]] = found.get(part["scope"], 0) + part["amount"]["bytes"]
        assert found == {scope: size for scope, size in want.items() if size}
        text = heapscope("export", "-q", "-f", "folded", "--view", "alloc_space", "--stack-mode", "mixed", "--snapshot",
                         f"step {step}", done.file).stdout
        stacks = {line.split(";")[0]: int(line.rpartition(" ")[2]) for line in text.splitlines() if "allocate" in line}
        assert stacks["even"] == want["even"] and stacks.get("odd", 0) == want["odd"]
