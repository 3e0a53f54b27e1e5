"""heapscope symbolize: names in MemoryInfra traces, ours and those that are built here as Chrome writes them."""

import gzip
import json
import os
import signal
import subprocess

import infra_checker
import pytest

# Three processes: each executes the program again. `kept` is called in two places, which are two addresses of one function.
PROGRAM = """
    #include <stdlib.h>
    #include <unistd.h>
    #include <sys/wait.h>
    __attribute__((noinline)) void *kept(size_t n) { void *p = malloc(n); __asm__ volatile("" : : "r"(p)); return p; }
    __attribute__((noinline)) void *outer(size_t n) { void *p = kept(n); __asm__ volatile("" : : "r"(p)); return p; }
    int main(int argc, char **argv) {
        outer(5000);
        kept(700);
        if (argc > 1) {
            argv[1][0]--;
            if (fork() == 0)
                execl("/proc/self/exe", argv[0], argv[1][0] > '0' ? argv[1] : NULL, NULL);
            wait(NULL);
        }
        return 0;
    }"""


@pytest.fixture
def program(tmp_path):
    """Builds the program; its debug file lies in the folder `debug`, and the program itself is stripped."""
    folder = tmp_path / "a folder"
    (folder / "debug").mkdir(parents=True)
    (folder / "p.c").write_text(PROGRAM)
    path = folder / "my prog"
    subprocess.run(["gcc", "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o", path, folder / "p.c"], check=True)
    subprocess.run(["cp", path, folder / "debug" / "my prog.debug"], check=True)
    subprocess.run(["strip", path], check=True)
    return path


@pytest.fixture
def trace(heapscope, program, tmp_path):
    """An export of three processes, in which frames of the program are addresses."""
    file, out = tmp_path / "x.pftrace", tmp_path / "x y.memory-infra.json"
    assert heapscope("run", "-q", "-i", 1, "-o", file, "--", program, "2").returncode == 0
    done = heapscope("export", "-q", "-o", out, file)
    assert done.returncode == 0, done.stderr
    return out


def own_stacks(path, size=5000):
    """For each process, the frames from main on of the stack that holds `size` bytes."""
    found = []
    for process in infra_checker.read(path, is_symbolized=True).processes.values():
        (row,) = [row for _, _, heaps in process.dumps for row in heaps["malloc"] if row["size"] == size]
        found.append(row["stack"])
    return found


def is_named(stack):
    return stack[-2:] == ("outer", "kept") and stack[-3] == "main"


def without_names(data):
    """Everything but the names of frames."""
    data = json.loads(json.dumps(data))
    for event in data["traceEvents"]:
        for string in event["args"].get("dumps", {}).get("heaps_v2", {}).get("maps", {}).get("strings", []):
            string["string"] = ""
    return data


def test_three_processes(heapscope, program, trace):
    """Each has the program elsewhere; the names are the same."""
    before = own_stacks(trace)
    assert len(before) == 3 and len({stack[-1] for stack in before}) == 3, "one address for all: nothing was tested"
    assert all(stack[-1].startswith("pc:") for stack in before)
    trace.chmod(0o640)
    old = trace.read_bytes()
    done = heapscope("symbolize", "--output-directory", program.parent / "debug", trace)
    assert done.returncode == 0, done.stderr
    assert "addresses have names now" in done.stderr
    after = own_stacks(trace)
    assert all(is_named(stack) for stack in after) and len(after) == 3, after
    assert without_names(infra_checker.load(trace)) == without_names(json.loads(old))
    assert trace.stat().st_mode & 0o7777 == 0o640
    backup = trace.with_name(trace.name + ".BACKUP")
    assert backup.read_bytes() == old
    assert [path.name for path in trace.parent.iterdir() if path.name.startswith(".")] == []


def test_no_names_change_nothing(heapscope, trace, program):
    """No file has the names: the message says which, and the trace is as it was."""
    program.unlink()
    data = json.loads(trace.read_text())
    for event in data["traceEvents"]:
        for region in event["args"].get("dumps", {}).get("process_mmaps", {}).get("vm_regions", []):
            if not region["mf"].endswith("/my prog"):
                region["mf"] = "/nowhere/" + region["mf"]
    trace.write_text(json.dumps(data))
    old = trace.read_bytes()
    done = heapscope("symbolize", trace)
    assert done.returncode == 1 and trace.read_bytes() == old
    assert f"Could not find {program} (Build ID: " in done.stderr and "--output-directory" in done.stderr
    assert not trace.with_name(trace.name + ".BACKUP").exists()


def test_another_build(heapscope, trace, program):
    """The program was built again at its path, and the folder has that build's debug file: neither is used."""
    (program.parent / "p.c").write_text(PROGRAM.replace("outer(5000)", "outer(5001)"))
    subprocess.run(["gcc", "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o", program, program.parent / "p.c"], check=True)
    subprocess.run(["cp", program, program.parent / "debug" / "my prog.debug"], check=True)
    done = heapscope("symbolize", "--output-directory", program.parent / "debug", trace)
    assert f"Could not find {program} (Build ID: " in done.stderr and "is of another build" in done.stderr
    assert all(stack[-1].startswith("pc:") for stack in own_stacks(trace))
    # The report of the trace refuses the file, too.
    assert "kept" not in heapscope("report", "--tree", trace).stdout


def test_backup(heapscope, program, trace):
    debug = program.parent / "debug"
    backup = trace.with_name(trace.name + ".BACKUP")
    backup.write_text("mine")
    old = trace.read_bytes()
    done = heapscope("symbolize", "--output-directory", debug, trace)
    assert done.returncode == 1 and "exists already" in done.stderr and "--no-backup" in done.stderr
    assert backup.read_text() == "mine" and trace.read_bytes() == old
    # A link: the file that it points to is rewritten, and it stays a link.
    link = trace.with_name("link.json")
    link.symlink_to(trace.name)
    done = heapscope("symbolize", "-q", "--no-backup", "--output-directory", debug, link)
    assert done.returncode == 0, done.stderr
    assert backup.read_text() == "mine" and link.is_symlink() and all(is_named(stack) for stack in own_stacks(trace))
    # Killed between the backup and the new name: the backup is the file itself.
    backup.unlink()
    trace.write_bytes(old)
    os.link(trace, backup)
    assert heapscope("symbolize", "-q", "--output-directory", debug, trace).returncode == 0
    assert backup.read_bytes() == old and trace.read_bytes() != old


def test_compressed(heapscope, program, trace):
    packed = trace.with_name("x.json.gz")
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    debug = program.parent / "debug"
    assert heapscope("symbolize", "-q", "--output-directory", debug, packed).returncode == 0
    assert heapscope("symbolize", "-q", "--output-directory", debug, trace).returncode == 0
    assert packed.read_bytes()[:2] == b"\x1f\x8b" and gzip.decompress(packed.read_bytes()) == trace.read_bytes()
    # Cut off: it stays as it is.
    cut = packed.read_bytes()[:-100]
    packed.write_bytes(cut)
    done = heapscope("symbolize", "--no-backup", packed)
    assert done.returncode == 1 and "cut off" in done.stderr and packed.read_bytes() == cut


def test_killed(dist, program, trace):
    """Killed at any moment, it leaves the old file or the new one, whole, and no other files but the backup."""
    old = trace.read_bytes()
    command = [dist / "bin" / "heapscope", "symbolize", "-q", "--output-directory", program.parent / "debug", trace]
    backup = trace.with_name(trace.name + ".BACKUP")
    assert subprocess.run(command).returncode == 0
    new = trace.read_bytes()
    seen = set()
    for step in range(40):
        backup.unlink(missing_ok=True)
        trace.unlink()
        trace.write_bytes(old)
        with subprocess.Popen(command) as process:
            try:
                process.wait(timeout=step * 0.004)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        now = trace.read_bytes()
        assert now in (old, new)
        assert not backup.exists() or backup.read_bytes() == old
        seen.add(now == new)
    assert False in seen, "it was never killed early enough"
    assert not [path for path in trace.parent.iterdir() if path.name.endswith(".tmp")]


# --- as Chrome writes it ------------------------------------------------------------------------------


def symbols_of(program):
    done = subprocess.run(["nm", program.parent / "debug" / "my prog.debug"], capture_output=True, text=True, check=True)
    return {line.split()[2]: int(line.split()[0], 16) for line in done.stdout.splitlines() if len(line.split()) == 3}


def segments_of(path):
    """Offset, address and size of each loaded segment."""
    done = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("LOAD")]
    return [(int(row[2], 16), int(row[5], 16)) for row in rows]


def region(start, size, path):
    return {"sa": f"{start:x}", "sz": f"{size:x}", "pf": 5, "mf": str(path), "bs": {"pss": "1000"}}


def chrome_trace(program):
    """Two processes with the traps of Chrome's format: no `fo`, maps spread over dumps, an older map, other events."""
    path = program.parent / "debug" / "my prog.debug"
    symbols, segments = symbols_of(program), segments_of(path)

    def regions(base):
        return [region(base + va, (size + 4095) & ~4095, path) for va, size in segments]

    def dump(pid, ts, strings, nodes, base=None):
        dumps = {"level_of_detail": "detailed", "heaps_v2": {"version": 1, "maps": {"strings": strings, "nodes": nodes, "types": [
            {"id": 0, "name_sid": strings[0]["id"]}] if ts == 10 else []}, "allocators": {"malloc": {
                "counts": [1.5], "sizes": [100], "types": [0], "nodes": [nodes[-1]["id"]]}}}, "unknown key": {"pc:1": "pc:1"}}
        if base is not None:
            dumps["process_mmaps"] = {"vm_regions": regions(base)}
        return {"ph": "v", "pid": pid, "tid": pid, "ts": ts, "cat": "disabled-by-default-memory-infra",
                "name": "periodic_interval", "id": f"0x{ts}", "args": {"dumps": dumps}}

    one, two = 0x55550000_0000, 0x56660000_0000
    kept, main = symbols["kept"] + 2, symbols["main"] + 1
    return {"traceEvents": [
        # The map of the first dump is not the last one, and the dump of the last one comes first in the file.
        dump(7, 20, [{"id": 5, "string": f"pc:{one + kept:x}"}], [{"id": 6, "name_sid": 5, "parent": 4}], one),
        dump(7, 10, [{"id": 1, "string": "[unknown]"}, {"id": 2, "string": f"pc:{one + main:x}"}, {"id": 3, "string": "pc:12"},
                     {"id": 9, "string": "ThreadPool \"1\" \u00e4"}],
             [{"id": 10, "name_sid": 9}, {"id": 4, "name_sid": 2, "parent": 10}, {"id": 8, "name_sid": 3, "parent": 4}], 0x10_0000),
        dump(8, 10, [{"id": 21, "string": "[unknown]"}, {"id": 22, "string": f"pc:{two + kept:x}"}], [{"id": 23, "name_sid": 22}], two),
        {"ph": "X", "pid": 7, "tid": 1, "ts": 1, "dur": 2, "name": f"pc:{one + main:x}", "args": {"string": f"pc:{one + main:x}"}},
        {"ph": "M", "pid": 9, "name": "stackFrames", "args": {"stackFrames": {"1": {"name": f"pc:{two + main:x}"}}}},
        dump(9, 10, [{"id": 31, "string": "[unknown]"}], [{"id": 33, "name_sid": 31}], two),
    ], "metadata": {"product-version": "Chrome/60.0.3103.0", "number": 1.0000000000000002, "pc": f"pc:{one + main:x}"}}


def strings_of(data):
    return {string["id"]: string["string"] for event in data["traceEvents"]
            for string in event["args"].get("dumps", {}).get("heaps_v2", {}).get("maps", {}).get("strings", [])}


def test_as_chrome_writes_it(heapscope, program, tmp_path):
    data = chrome_trace(program)
    file = tmp_path / "trace.json"
    # Blanks, escapes and forms of numbers that no writer of ours makes.
    text = json.dumps(data, indent=3, ensure_ascii=True).replace("1.5", "15e-1")
    file.write_text(text)
    done = heapscope("symbolize", "--no-backup", file)
    assert done.returncode == 0, done.stderr
    after = json.loads(file.read_text())
    assert strings_of(after) == {**strings_of(data), 5: "kept", 2: "main", 22: "kept"}
    assert after["traceEvents"][4]["args"]["stackFrames"]["1"] == {"name": "main"}
    # Byte for byte: the new text is the old one with four strings replaced.
    for number in (5, 22):
        text = text.replace(f'"string": "{strings_of(data)[number]}"\n', '"string": "kept"\n', 1)
    main = strings_of(data)[2]
    at = text.index('"id": 2,')
    text = text[:at] + text[at:].replace(f'"{main}"', '"main"', 1)
    at = text.index('"stackFrames": {')
    text = text[:at] + text[at:].replace(f'"{data["traceEvents"][4]["args"]["stackFrames"]["1"]["name"]}"', '"main"', 1)
    assert file.read_text() == text
    # Once more: the address that is in no region is left.
    done = heapscope("symbolize", "--no-backup", file)
    assert done.returncode == 1 and "stays as it is" in done.stderr and file.read_text() == text


def write_breakpad(path, name, code_id, symbols):
    lines = [f"MODULE Linux x86_64 0123456789ABCDEF0 {name}", f"INFO CODE_ID {code_id}", "FILE 0 /src/p.c"]
    for key, end in (("kept", "outer"), ("outer", "main")):
        size = symbols[end] - symbols[key]
        lines += [f"FUNC {symbols[key]:x} {size:x} 0 breakpad::{key}(int)", f"{symbols[key]:x} {size:x} 12 0"]
    lines += [f"PUBLIC {symbols['main']:x} 0 breakpad_main"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_breakpad(heapscope, program, trace, tmp_path):
    """Symbol files of Breakpad name a stripped program; one of another build does not."""
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = notes.split("Build ID: ")[1].split()[0]
    symbols = symbols_of(program)
    folder = tmp_path / "sym bols"
    write_breakpad(folder / "any" / "x.sym", "My Prog", "0011", symbols)
    old = trace.read_bytes()
    done = heapscope("symbolize", "--no-backup", "--breakpad-symbols-directory", folder, trace)
    assert "x.sym is of another build" in done.stderr
    assert not any("breakpad" in name for stack in own_stacks(trace) for name in stack)
    trace.write_bytes(old)
    write_breakpad(folder / "y.sym", "MY PROG", build_id.upper(), symbols)
    done = heapscope("symbolize", "--use-breakpad-symbols", "--breakpad-symbols-directory", folder, trace)
    assert done.returncode == 0, done.stderr
    for stack in own_stacks(trace):
        assert stack[-3:] == ("breakpad_main", "breakpad::outer(int)", "breakpad::kept(int)")


def test_refusals(heapscope, trace, tmp_path):
    for options in (["--is-cast"], ["--only-symbolize-chrome-symbols"], ["--frame-as-object-type"], ["--cloud-storage-bucket", "x"],
                    ["--addr2line-executable", "x"], ["--symbol-base-directory", "x"], ["--use-breakpad-symbols"]):
        done = heapscope("symbolize", *options, trace)
        assert done.returncode == 2 and options[0] in done.stderr and ("leave" in done.stderr or "give" in done.stderr)
    done = heapscope("symbolize", "--breakpad-symbols-directory", tmp_path / "none", trace)
    assert done.returncode == 1 and "No such file" in done.stderr
    done = heapscope("symbolize", "-o", tmp_path / "out", trace)
    assert done.returncode == 2 and "in place" in done.stderr
    folded = tmp_path / "x.folded"
    folded.write_text("main;f 10\n")
    done = heapscope("symbolize", folded)
    assert done.returncode == 1 and "Perfetto" in done.stderr and "heapscope report" in done.stderr
    assert heapscope("symbolize", tmp_path / "absent.json").returncode == 1
    done = heapscope("symbolize", "-", input=trace.read_text())
    assert done.returncode == 1 and "in place" in done.stderr
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"traceEvents":[{"ph":"v",}]}')
    done = heapscope("symbolize", damaged)
    assert done.returncode == 1 and "damaged" in done.stderr
    plain = tmp_path / "plain.json"
    plain.write_text('{"traceEvents":[{"ph":"X","pid":1,"ts":1}]}')
    done = heapscope("symbolize", plain)
    assert done.returncode == 0 and "nothing to symbolize" in done.stderr
