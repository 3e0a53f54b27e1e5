"""heapscope report and export, on a program whose heap is known (test/target/views.c).

The formats are read by independent readers: pprof by the twenty lines of protobuf below (and by
the pprof-format package where npm can fetch it), svg by an XML parser and by a browser.
"""

import collections
import gzip
import json
import os
import pty
import re
import resource
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import browser
import pytest

LIVE = {"bytes": 600 * 100 + 3 * 64, "count": 603}
ALLOC = {"bytes": 1000 * 100 + 3 * 64 + 10 * 100000, "count": 1013}
PEAK = {"bytes": LIVE["bytes"] + 10 * 100000, "count": 613}
VIEWS = {
    "space": LIVE["bytes"],
    "objects": LIVE["count"],
    "alloc_space": ALLOC["bytes"],
    "alloc_objects": ALLOC["count"],
    "peak": PEAK["bytes"],
}


@pytest.fixture(scope="module")
def trace(heapscope, target, tmp_path_factory):
    """The program with every allocation recorded."""
    file = tmp_path_factory.mktemp("views") / "views.pftrace"
    done = heapscope("run", "-q", "-i", 1, "-o", file, "--", target("views"))
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def sampled(heapscope, target, tmp_path_factory):
    """The same with one sample per 16 KiB: figures with margins."""
    file = tmp_path_factory.mktemp("sampled") / "views.pftrace"
    done = heapscope("run", "-q", "-i", "16K", "-o", file, "--", target("views"), env={"HEAPSCOPE_SEED": 7})
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture
def export(heapscope, trace, tmp_path):
    """export("out.svg", "--view", "peak"): the path of the written file."""

    def call(name, *options, file=trace):
        out = tmp_path / name
        done = heapscope("export", *options, "-o", out, file)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        return out

    return call


# --- report ------------------------------------------------------------------------------------------


def test_json_is_exact(report, trace):
    data = report(trace, "--top", "all")
    assert data["totals"] == {"live": LIVE, "alloc": ALLOC, "peak": PEAK}
    assert not data["is_sampled"]
    own = {f["function"]: f for f in data["functions_by_self"]}
    assert own["burst"]["self"] == {"bytes": 1000000, "count": 10}
    assert own["parse"]["self"] == own["load"]["total"] == {"bytes": 60000, "count": 600}
    # Three levels of recursion, each stack counted once.
    assert own["fib"]["self"] == own["fib"]["total"] == {"bytes": 192, "count": 3}
    assert own["main"]["self"] == {"bytes": 0, "count": 0}
    assert own["main"]["total"] == PEAK
    stacks = {tuple(f["function"] for f in s["frames"])[:4]: s for s in data["stacks"]}
    parse = next(s for names, s in stacks.items() if names[:3] == ("parse", "load", "main"))
    assert (parse["live"], parse["alloc"]) == ({"bytes": 60000, "count": 600}, {"bytes": 100000, "count": 1000})
    assert ("fib", "fib", "fib", "main") in stacks
    assert all(f["file"].endswith("views.c") and f["line"] > 0 for f in parse["frames"][:3])
    (process,) = data["processes"]
    assert process["exit_status"] == 0
    assert process["live"] == LIVE


def children(node, *names):
    """The node that is reached from this one through functions of these names."""
    for name in names:
        node = next(child for child in node["children"] if child["function"] == name)
    return node


def check_sums(node):
    """Every node's total is the sum of itself, its children and the summed-up rest."""
    parts = [child["total"] for child in node["children"]]
    parts += [part for part in (node.get("self"), node.get("others", {}).get("total")) if part]
    assert node["total"]["bytes"] == pytest.approx(sum(part["bytes"] for part in parts))
    sizes = [child["total"]["bytes"] for child in node["children"]]
    assert sizes == sorted(sizes, reverse=True)
    return 1 + sum(map(check_sums, node["children"]))


def test_tree_in_json(report, trace):
    data = report(trace, "--tree", "--top", "all", "--view", "peak")
    assert data["totals"]["peak"] == data["tree"]["total"] == PEAK
    assert "stacks" not in data and "functions_by_self" not in data
    assert check_sums(data["tree"]) > 8
    (start,) = data["tree"]["children"]
    while start["function"] != "main":
        assert start["self"] == {"bytes": 0, "count": 0}
        (start,) = start["children"]
    parse = children(start, "load", "parse")
    assert parse["self"] == parse["total"] == {"bytes": 60000, "count": 600}
    assert parse["module"].startswith("/") and parse["children"] == [] and "others" not in parse
    assert children(start, "fib", "fib", "fib")["self"]["count"] == 1
    # Without --top all, functions below 1 % are summed up.
    main = report(trace, "--tree", "--view", "peak")["tree"]
    assert check_sums(main) > 3
    while main.get("function") != "main":
        main = main["children"][0]
    assert main["others"]["functions"] >= 1
    assert all(child["function"] != "fib" for child in main["children"])


def test_tree_of_samples_in_json(report, sampled):
    tree = report(sampled, "--tree", "--view", "peak")["tree"]
    assert check_sums(tree) > 3
    assert tree["total"]["bytes_low"] < tree["total"]["bytes"] < tree["total"]["bytes_high"]


def test_each_view_in_json(report, trace):
    for view, total in VIEWS.items():
        data = report(trace, "--view", view, "--top", "all")
        unit = "count" if view.endswith("objects") else "bytes"
        assert data["view"] == view
        assert sum(f["self"][unit] for f in data["functions_by_self"]) == total
        selves = [f["self"][unit] for f in data["functions_by_self"]]
        assert selves == sorted(selves, reverse=True)


def test_sampled_figures_carry_margins(report, sampled, heapscope):
    data = report(sampled, "--top", "all")
    assert data["is_sampled"]
    peak = data["totals"]["peak"]
    assert abs(peak["bytes"] - PEAK["bytes"]) <= 3 * peak["bytes_margin"]
    burst = next(f for f in data["functions_by_self"] if f["function"] == "burst")
    # Larger than the interval: exact, but small blocks beside them may have gone unseen.
    assert burst["self"]["bytes"] == burst["self"]["bytes_low"] == 1000000
    assert burst["self"]["count"] == burst["self"]["count_low"] == 10
    unseen = 1.96**2 * data["processes"][0]["interval_bytes"]
    assert burst["self"]["bytes_high"] == pytest.approx(1000000 + unseen)
    assert burst["self"]["count_high"] > 10 + unseen
    assert peak["bytes_low"] <= PEAK["bytes"] <= peak["bytes_high"]
    assert peak["bytes_high"] == pytest.approx(peak["bytes"] + peak["bytes_margin"])
    # Few samples: the sides differ, and the upper one is larger.
    text = heapscope("report", sampled).stdout
    below, above = re.search(r"peak .* −([0-9.]+) \+([0-9.]+) KiB .* −[0-9,]+ \+[0-9,]+ objects", text).groups()
    assert 0 < float(below) < float(above)


def test_answer_is_in_the_first_lines(heapscope, trace):
    lines = heapscope("report", trace).stdout.splitlines()
    head = " ".join(lines[:20])
    assert "1.01 MiB were live at the peak. 94.3 % of it was allocated by burst and 5.7 % by parse." in head
    assert "view: peak, because less than a fifth of it is live" in head
    assert re.search(r"977 KiB +94\.3 % +977 KiB +94\.3 % +burst", head)


def test_text_of_each_view(heapscope, trace):
    words = {
        "space": "58.8 KiB were live at the end. 99.7 % of it was allocated by parse.",
        "objects": "603 objects were live at the end. 99.5 % of them were allocated by parse.",
        "alloc_space": "1.05 MiB were allocated in total.",
        "alloc_objects": "% of them were made by parse",
        "peak": "1.01 MiB were live at the peak.",
    }
    for view, text in words.items():
        out = heapscope("report", "--view", view, trace, env={"COLUMNS": 200}).stdout
        assert text in out
        assert "Stacks" in out


def test_tree(heapscope, trace):
    out = heapscope("report", "--tree", trace).stdout.partition("Call tree")[2]
    assert re.search(r"1\.01 MiB +100\.0 %   _start\n", out)
    assert re.search(r"977 KiB +94\.3 %   ├ burst\n", out)
    assert re.search(r"58\.6 KiB +5\.7 %   ├ load\n +│ parse\n", out)
    assert re.search(r"192 B +<0\.1 %   └ 1 other\n", out)
    everything = heapscope("report", "--tree", "--top", "all", trace).stdout
    assert re.search(r"128 B +<0\.1 %   +└ fib\n +64 B +<0\.1 % +└ fib\n", everything)


def test_top_and_frames(heapscope, trace):
    out = heapscope("report", "--top", 1, "--frames", 3, trace).stdout
    assert "the largest 1 of 3" in out
    assert len(re.findall(r"^ +> ", out, re.M)) == 1
    # _start and similar frames are shown when all frames are requested.
    assert "_start" not in out
    assert "_start" in heapscope("report", "--frames", "all", trace).stdout


def test_health_lists_zeros(heapscope, trace):
    out = heapscope("report", "--health", trace).stdout
    assert re.search(r"^ +0   no_memory ", out, re.M)
    assert re.search(r"^ +0   stack_cut_no_info ", out, re.M)
    assert re.search(r"^ +1,013   allocations recorded$", out, re.M)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_lines_fit_the_terminal(heapscope, trace, columns):
    for options in ([], ["--tree"], ["--health"], ["--view", "alloc_objects"]):
        out = heapscope("report", *options, trace, env={"COLUMNS": columns}).stdout
        longest = max(out.splitlines(), key=len)
        assert len(longest) <= columns, longest


def on_terminal(dist, *args, **env):
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [dist / "bin" / "heapscope", *args], stdin=subprocess.DEVNULL, stdout=theirs, env={**kept, **env}
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        out += piece
    os.close(ours)
    assert process.wait() == 0
    return out.decode()


def test_colour_is_for_terminals(dist, heapscope, trace):
    assert "\x1b" not in heapscope("report", trace, env={"TERM": "xterm"}).stdout
    assert "\x1b[1m" in on_terminal(dist, "report", trace, TERM="xterm")
    assert "\x1b" not in on_terminal(dist, "report", trace, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_terminal(dist, "report", trace, TERM="dumb")


def test_standard_input(heapscope, trace):
    with open(trace, "rb") as file:
        done = heapscope("report", "-", stdin=file)
    assert done.returncode == 0
    assert done.stdout == heapscope("report", trace).stdout


# --- exports -----------------------------------------------------------------------------------------


def test_folded_adds_up(export):
    for view, total in VIEWS.items():
        lines = export("x.folded", "--view", view).read_text().splitlines()
        stacks = dict((line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in lines)
        assert len(stacks) == len(lines)
        assert sum(stacks.values()) == total
        tails = {name.split(";main;")[1]: value for name, value in stacks.items()}
        if view == "alloc_objects":
            assert tails == {"load;parse": 1000, "fib": 1, "fib;fib": 1, "fib;fib;fib": 1, "burst": 10}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a protobuf message, {number: [values]}: numbers, and bytes for fields with a
    length."""
    out = collections.defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size
        out[tag >> 3].append(value)
    return out


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def test_pprof(export):
    """Field numbers from the format's description, not from our .proto."""
    profile = fields(gzip.decompress(export("x.pb.gz").read_bytes()))
    strings = [s.decode() for s in profile[6]]
    assert strings[0] == ""
    types = [tuple(strings[fields(t)[n][0]] for n in (1, 2)) for t in profile[1]]
    assert types == [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
        ("peak_objects", "count"),
        ("peak_space", "bytes"),
    ]
    assert strings[profile[14][0]] == "inuse_space"
    assert [strings[fields(profile[11][0])[n][0]] for n in (1, 2)] == ["space", "bytes"]
    assert profile[12] == [1]
    assert profile[9][0] > 1_500_000_000 * 10**9
    assert profile[10][0] > 0

    functions = {f[1][0]: strings[f[2][0]] for f in map(fields, profile[5])}
    files = {f[1][0]: strings[f[4][0]] for f in map(fields, profile[5]) if f[4]}
    locations = {l[1][0]: l for l in map(fields, profile[4])}
    mappings = {m[1][0]: m for m in map(fields, profile[3])}
    first = fields(profile[3][0])
    assert "views" in strings[first[5][0]]
    sums = [0] * 6
    stacks = {}
    for sample in map(fields, profile[2]):
        values = packed(sample[2][0])
        sums = [a + b for a, b in zip(sums, values)]
        names = []
        for location in packed(sample[1][0]):
            location = locations[location]
            mapping = mappings[location[2][0]]
            assert mapping[2][0] <= location[3][0] < mapping[3][0]
            assert re.fullmatch(r"[0-9a-f]{40}", strings[mapping[6][0]])
            names += [functions[fields(line)[1][0]] for line in location[4]]
        stacks[tuple(names[: names.index("main")])] = values
    assert sums == [ALLOC["count"], ALLOC["bytes"], LIVE["count"], LIVE["bytes"], PEAK["count"], PEAK["bytes"]]
    assert stacks["parse", "load"] == [1000, 100000, 600, 60000, 600, 60000]
    assert stacks["fib", "fib"] == [1, 64, 1, 64, 1, 64]
    assert any(name.endswith("views.c") for name in files.values())
    comments = [strings[c] for c in packed(b"".join(profile[13]))] if isinstance(profile[13][0], bytes) else [
        strings[c] for c in profile[13]
    ]
    assert "inuse: 58.8 KiB in 603 objects" in comments


def test_pprof_keeps_sums_of_estimates(export, report, sampled):
    profile = fields(gzip.decompress(export("x.pb.gz", file=sampled).read_bytes()))
    sums = [sum(column) for column in zip(*(packed(fields(s)[2][0]) for s in profile[2]))]
    totals = report(sampled)["totals"]
    for i, key in enumerate(("alloc", "live", "peak")):
        assert abs(sums[2 * i] - totals[key]["count"]) <= 1
        assert abs(sums[2 * i + 1] - totals[key]["bytes"]) <= 1


def test_speedscope(export):
    data = json.loads(export("x.speedscope.json").read_text())
    names = [f["name"] for f in data["shared"]["frames"]]
    assert [p["name"].partition(":")[0] for p in data["profiles"]] == list(VIEWS)
    assert data["profiles"][data["activeProfileIndex"]]["name"].startswith("peak: ")
    for profile, total in zip(data["profiles"], VIEWS.values()):
        assert profile["type"] == "sampled"
        assert profile["unit"] == ("none" if "objects" in profile["name"] else "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] == total
    first = data["profiles"][0]
    stacks = {tuple(names[i] for i in s)[-2:]: w for s, w in zip(first["samples"], first["weights"])}
    assert stacks["load", "parse"] == 60000


READ_BACK = """
const fs = require("fs"), zlib = require("zlib");
const [pprofFile, speedscopeFile] = process.argv.slice(1);
const schema = JSON.parse(fs.readFileSync("node_modules/speedscope/dist/release/file-format-schema.json"));
const validate = new (require("ajv"))({ strict: false }).compile(schema);
const isValid = validate(JSON.parse(fs.readFileSync(speedscopeFile)));
const p = require("pprof-format").Profile.decode(zlib.gunzipSync(fs.readFileSync(pprofFile)));
const sums = p.sample.reduce((a, s) => a.map((v, i) => v + Number(s.value[i])), p.sampleType.map(() => 0));
console.log(JSON.stringify({ isValid, errors: validate.errors, sums }));
"""


def test_other_readers_agree(export, node_modules):
    files = [export("x.pb.gz"), export("x.speedscope.json")]
    done = subprocess.run(
        ["node", "-e", READ_BACK, *files], cwd=node_modules, capture_output=True, text=True, check=True
    )
    data = json.loads(done.stdout)
    assert data["isValid"], data["errors"]
    assert data["sums"] == [ALLOC["count"], ALLOC["bytes"], LIVE["count"], LIVE["bytes"], PEAK["count"], PEAK["bytes"]]


SVG = "{http://www.w3.org/2000/svg}"


def read_boxes(path):
    """(name, start, value, depth, x, width) of each box of a flame graph."""
    root = ElementTree.parse(path).getroot()
    group = next(g for g in root.iter(f"{SVG}g") if g.get("id") == "boxes")
    boxes = []
    for g in group:
        start, value, depth = map(int, g.get("data-v").split())
        rect = g.find(f"{SVG}rect")
        name = g.find(f"{SVG}title").text.partition("\n")[0].partition("  [")[0]
        boxes.append((name, start, value, depth, float(rect.get("x")), float(rect.get("width"))))
        text = g.find(f"{SVG}text")
        if text is not None:  # not wider than its box
            assert len(text.text) * 6.6 <= float(rect.get("width"))
    return root, boxes


def test_svg(export):
    root, boxes = read_boxes(export("x.svg", "--view", "space"))
    assert re.fullmatch(r"views-?\w* \(pid \d+\): live memory at the end, 58.8 KiB", root.find(f"{SVG}title").text)
    by_name = {name: box for name, *box in boxes}
    assert boxes[0][:4] == ("all", 0, VIEWS["space"], 0)
    assert by_name["main"][1] == VIEWS["space"]
    assert by_name["parse"][1] == by_name["load"][1] == 60000
    parents = []
    for name, start, value, depth, x, width in boxes:
        del parents[depth:]
        if parents:  # within the box above
            assert parents[-1][1] <= start
            assert start + value <= parents[-1][1] + parents[-1][2]
        parents.append((name, start, value))
    text = ElementTree.tostring(root, encoding="unicode")
    # Only the names of XML's own vocabularies look like addresses.
    assert set(re.findall(r"https?://[\w./]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    assert not list(root.iter(f"{SVG}image"))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    if not browser.find():
        pytest.skip("no chromium: the flame graph is not tried in a browser")
    it = browser.Browser(tmp_path_factory.mktemp("chromium"))
    yield it
    it.close()


def test_svg_in_a_browser(export, chromium):
    page = chromium
    page.open(export("x.svg", "--view", "alloc_objects"))

    def box(name):
        """Where the box of this name is in the window; None when it is not shown."""
        return page.js(
            f"""(() => {{
            for (const g of document.querySelectorAll("#boxes > g")) {{
                if (g.querySelector("title").textContent.startsWith({json.dumps(name)}) &&
                    !g.classList.contains("hidden")) {{
                    const r = g.querySelector("rect").getBoundingClientRect();
                    return [r.x, r.y, r.width, r.height];
                }}
            }}
            return null; }})()"""
        )

    # It fills the window, and shows the box under the mouse below the title.
    x, y, width, height = box("main")
    assert 1100 < width < 1200
    x, y, load_width, height = box("load")
    assert load_width == pytest.approx(width * 1000 / 1013, abs=1.5)
    page.move(x + 5, y + 5)
    page.wait('document.getElementById("details").textContent.startsWith("1,000 objects, 98.7 % · load")')

    # A click zooms; Back and Escape return.
    burst = box("burst")
    page.click(burst[0] + 2, burst[1] + 5)
    # Redrawn when the browser has reported that the address changed.
    page.wait('!document.getElementById("reset").classList.contains("hidden")')
    assert page.js("location.hash") != ""
    assert box("burst")[2] == pytest.approx(width, abs=1)
    assert box("parse") is None
    page.js("history.back()")
    page.wait("location.hash === ''")
    page.wait('document.getElementById("reset").classList.contains("hidden")')
    assert box("parse")[2] == pytest.approx(load_width, abs=1)

    # Ctrl+F searches: three nested fib are counted once.
    page.key("f", 70, ctrl=True)
    page.type("fib")
    page.wait('document.getElementById("found").textContent === "0.3 % matches"')
    assert page.js('document.querySelectorAll("#boxes > g.found").length') == 3
    page.key("Escape", 27)
    page.wait('document.getElementById("found").textContent === ""')
    # Plain text, not a regular expression: C++ names are full of brackets.
    page.key("f", 70, ctrl=True)
    page.type("fib(")
    page.wait('document.getElementById("found").textContent === "nothing found"')


# --- what can go wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["report", "export"])
def test_bad_files(heapscope, trace, tmp_path, command):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "foreign").write_bytes(b"#!/bin/sh\necho hello\n" * 100)
    args = ["-f", "folded"] if command == "export" else []
    for file, words in {
        "missing": "No such file or directory",
        "empty": "the file is empty",
        "foreign": "not a heap profile",
        ".": "Is a directory",
    }.items():
        done = heapscope(command, *args, tmp_path / file)
        assert done.returncode == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("heapscope: ") and str(tmp_path) in line and words in line


def test_truncated_file_is_said(heapscope, trace, tmp_path):
    """Anywhere except between two packets, where a cut is invisible: so one of two neighbouring
    cuts shows."""
    data = trace.read_bytes()
    said = []
    for end in (len(data) * 2 // 3, len(data) * 2 // 3 + 1):
        (tmp_path / "cut").write_bytes(data[:end])
        done = heapscope("report", tmp_path / "cut")
        if done.returncode == 0:
            said.append("file is truncated" in done.stdout)
        else:
            (line,) = done.stderr.splitlines()
            assert line.startswith("heapscope: ")
            said.append(True)
    assert any(said)


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["report", "--pid", "1"], 1, "there is no profile of process 1; there are profiles of"),
        (["report", "--snapshot", "9"], 1, "there is no snapshot 9; the last one is 0"),
        (["report", "--top", "x"], 2, "--top: 'x' is neither a number above 0 nor 'all'"),
        (["report", "--health", "--json"], 2, "--health cannot be shown together with --tree or --json"),
        (["report", "--view", "sapce"], 2, "--view: 'sapce' is not one of: space, objects"),
        (["export"], 2, "no format was given"),
        (["export", "-f", "svg", "-o", "/nowhere/x.svg"], 1, "cannot write /nowhere/x.svg: No such file"),
        (["export", "-f", "svg", "-o", "/dev/full"], 1, "cannot write /dev/full: No space left on device"),
    ],
)
def test_wrong_wishes(heapscope, trace, args, status, words):
    done = heapscope(*args, trace)
    assert done.returncode == status
    assert done.stdout == ""
    assert words in done.stderr.splitlines()[0]


def test_output_is_whole_or_absent(heapscope, trace, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    out = tmp_path / "x.svg"
    for old in (None, "the old one"):
        if old:
            out.write_text(old)
        done = heapscope("export", "-o", out, trace, preexec_fn=limit)
        assert done.returncode == 1
        assert f"cannot write {out}: File too large" in done.stderr
        assert [p.name for p in tmp_path.iterdir()] == ([out.name] if old else [])
        assert not old or out.read_text() == old


def test_full_standard_output(dist, trace):
    with open("/dev/full", "wb") as full:
        for args in (["report"], ["report", "--json"], ["export", "-f", "pprof"]):
            done = subprocess.run(
                [dist / "bin" / "heapscope", *args, trace], stdout=full, stderr=subprocess.PIPE, check=False
            )
            assert done.returncode == 1
            assert b"standard output: No space left on device" in done.stderr


@pytest.mark.costly
def test_binary_stays_off_the_terminal(dist, trace):
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [dist / "bin" / "heapscope", "export", "-f", "pprof", trace],
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert b"would garble the terminal" in done.stderr
