"""Code made at run time: its names are those of the time at which it ran, from lists that may be gone at the end."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from waiting import let_time_pass, list_all, wait_for_dumps, wait_until

# A compiler of one function, which calls malloc. Commands: "code ADDRESS N" makes it there, with so many bytes before
# the call, and calls it 100 times; "map ADDRESS NAME" and "dump TIME ADDRESS NAME" list it, "lines ADDRESS LINE FILE"
# says of the next code in the dump which line its call is, "delete" removes the lists.
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char map_path[64], dump_path[4096];

static int dump_fd = -1;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void make_and_call(unsigned long at, unsigned nops)
{
    uint8_t bytes[64], code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
    void *(*target)(size_t) = malloc, *(*call)(size_t) = (void *(*)(size_t))at;
    memcpy(code + 6, &target, 8);
    mmap((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(bytes, code, 4);
    memset(bytes + 4, 0x90, nops);
    memcpy(bytes + 4 + nops, code + 4, sizeof(code) - 4);
    memcpy((void *)at, bytes, sizeof(code) + nops);
    for (int i = 0; i < 100; i++) {
        void *p = call(5000);
        __asm__ volatile("" : : "r"(p));
    }
}

static void list_in_map(unsigned long at, const char *name)
{
    FILE *file = fopen(map_path, "a");
    fprintf(file, "%lx 20 %s\n", at, name);
    fclose(file);
}

static void open_dump(void)
{
    uint32_t head[10] = { 0x4A695444, 1, 40, 62, 0, 1 };
    if (dump_fd < 0) {
        dump_fd = open(dump_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (write(dump_fd, head, sizeof(head)) != sizeof(head)) abort();
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump_fd, 0);
    }
}

static void list_lines(unsigned long at, int line, const char *file)
{
    uint32_t length = 16 + 16 + 2 * 16 + 3 + (uint32_t)strlen(file), record[4] = { 2, length };
    uint64_t body[2] = { at, 2 }, start = at, call = at + 8;
    int32_t first[2] = { line - 1, 0 }, second[2] = { line, 0 };
    open_dump();
    FILE *out = fdopen(dup(dump_fd), "a");
    fwrite(record, 16, 1, out);
    fwrite(body, 16, 1, out);
    fwrite(&start, 8, 1, out);
    fwrite(first, 8, 1, out);
    fwrite(file, strlen(file) + 1, 1, out);
    fwrite(&call, 8, 1, out);
    fwrite(second, 8, 1, out);
    fwrite("\xff", 2, 1, out);
    if (fclose(out) != 0) abort();
}

static void list_in_dump(long ns, unsigned long at, const char *name)
{
    open_dump();
    int fd = dump_fd;
    uint64_t time = now_ns() + (uint64_t)ns;
    uint32_t record[4] = { 0, 16 + 40 + (uint32_t)strlen(name) + 1 };
    uint64_t body[5] = { 1, at, at, 32, at };
    memcpy(record + 2, &time, 8);
    if (write(fd, record, 16) != 16 || write(fd, body, 40) != 40) abort();
    if (write(fd, name, strlen(name) + 1) < 0) abort();
}

int main(int argc, char **argv)
{
    char line[256], name[64];
    unsigned long at;
    unsigned nops;
    int number;
    long ns;
    (void)argc;
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
    snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", argv[1], getpid());
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) {
        nops = 0;
        if (sscanf(line, "code %lx %u", &at, &nops) >= 1) make_and_call(at, nops);
        if (sscanf(line, "lines %lx %d %s", &at, &number, name) == 3) list_lines(at, number, name);
        if (sscanf(line, "map %lx %s", &at, name) == 2) list_in_map(at, name);
        if (sscanf(line, "dump %ld %lx %s", &ns, &at, name) == 3) list_in_dump(ns, at, name);
        if (strcmp(line, "delete\n") == 0) unlink(map_path), unlink(dump_path);
        puts("done");
    }
    unlink(map_path);
}
"""
A, B, C = "10000000", "20000000", "30000000"
DAY_NS = 86400 * 10**9


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "compiler"
    subprocess.run(["gcc", "-x", "c", "-", "-O1", "-fno-omit-frame-pointer", "-o", path], input=SOURCE, text=True, check=True)
    return path


class Recording:
    def __init__(self, dist, heapscope, report, folder, program, *options, dump_every="50ms"):
        self.heapscope, self.report, self.file = heapscope, report, folder / "jit.pftrace"
        self.told = []
        self.start = time.monotonic()
        command = [dist / "bin" / "heapscope", "run", "-q", "-i", "1", "--dump-every", dump_every, "-o", self.file, *options, "--", *program, folder]
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def lists(self):
        """The lists of code that heapscope holds open."""
        found = set()
        for link in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.update(re.findall(r"/(?:perf|jit)-\d+\.(?:map|dump)(?= \(deleted\)$|$)", os.readlink(link)))
        return found

    def tell(self, *lines):
        """Before lists are deleted, it waits until heapscope holds them, as it looks for them only now and then."""
        for line in lines:
            if line == "delete":
                kinds = {"/perf" if given.startswith("map") else "/jit" for given in self.told if given.startswith(("map", "dump"))}
                wait_until(lambda: kinds == {name.partition("-")[0] for name in self.lists()}, "heapscope does not hold the lists")
            self.told.append(line)
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n"

    def wait_for_a_dump(self):
        """Two: one may have begun before."""
        session = f"run.{self.process.pid}"
        count = next(s["dump_count"] for s in list_all(self.heapscope, "sessions") if s["session"] == session)
        wait_for_dumps(self.heapscope, session, count + 2)

    def end(self):
        """Ends it. Returns all functions in the report."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()
        return set(re.findall(r'"function": ?"([^"]*)"', json.dumps(self.report(self.file, "--top", "all", "--view", "alloc_objects"))))


@pytest.fixture
def record(dist, heapscope, report, tmp_path):
    started = []

    def call(*program, options=(), **how):
        started.append(Recording(dist, heapscope, report, tmp_path, program, *options, **how))
        return started[-1]

    yield call
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_map_that_is_deleted_before_the_end(record, compiler):
    recording = record(compiler)
    recording.tell(f"map {A} first", f"code {A}")
    recording.wait_for_a_dump()
    recording.tell(f"map {B} second", f"code {B}", "delete")
    names = recording.end()
    assert "first" in names and "second" in names


def test_code_that_is_overwritten_keeps_its_name(record, compiler):
    """The stack was first seen while the address was `first`."""
    recording = record(compiler)
    recording.tell(f"map {A} first", f"code {A}")
    recording.wait_for_a_dump()
    recording.tell(f"map {A} second", f"code {A}", f"map {B} third", f"code {B}")
    names = recording.end()
    assert "first" in names and "third" in names and "second" not in names


def test_jitdump(record, compiler):
    """Of code that was made after the last dump, the dump says nothing: its time is in the file."""
    recording = record(compiler)
    recording.tell(f"dump 0 {A} first", f"code {A}")
    recording.wait_for_a_dump()
    recording.tell(f"dump 0 {A} second", f"dump 0 {B} third", f"dump {DAY_NS} {B} tomorrow", f"code {B}")
    recording.wait_for_a_dump()
    recording.tell("delete")
    names = recording.end()
    assert "first" in names and "third" in names and not {"second", "tomorrow"} & names


def test_code_of_the_time_of_its_blocks(record, compiler):
    """Two functions in one place, and no dump in between: each has the name of the time at which its blocks were made."""
    recording = record(compiler, dump_every="1h")
    recording.tell(f"dump 0 {A} first", f"code {A}")
    let_time_pass(4 * (time.monotonic() - recording.start) + 0.2, "times of blocks are known to a sixteenth of the recording")
    recording.tell(f"dump 0 {A} second", f"code {A} 8", "delete")
    names = recording.end()
    assert "first" in names and "second" in names


def test_lines_of_a_dump(record, compiler):
    """Names that are found at a dump have file and line, also when the list is gone at the end."""
    recording = record(compiler)
    recording.tell(f"lines {A} 17 a.src", f"dump 0 {A} first", f"code {A}")
    recording.wait_for_a_dump()
    recording.tell(f"lines {A} 99 b.src", f"dump 0 {A} second", "delete")
    recording.end()
    sql = """SELECT f.name, s.source_file, s.line_number FROM stack_profile_frame f
        JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id WHERE f.name IN ('first', 'second')"""
    done = recording.heapscope("query", "--format", "json", recording.file, sql)
    assert json.loads(done.stdout) == [{"name": "first", "source_file": "a.src", "line_number": 17}]


def test_two_processes_with_other_code_at_one_address(record, compiler, tmp_path):
    """Each has the name of its own code."""
    script = f'''
    exec 3<&0; echo ready
    ( printf 'map {A} {"one"}\\ncode {A}\\n'; read line <&3 ) | "$0" "$1" >/dev/null
    ( printf 'map {A} {"two"}\\ncode {A}\\n'; read line <&3 ) | "$0" "$1" >/dev/null'''
    recording = record("sh", "-c", script, compiler)
    for count in (1, 2):
        wait_until(lambda count=count: len(recording.lists()) == count, "heapscope does not hold the list")
        recording.process.stdin.write("\n")
        recording.process.stdin.flush()
    names = recording.end()
    assert "one" in names and "two" in names


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="makes namespaces")
def test_pid_namespace(record, compiler):
    """The map has the number that the process sees; the host's file of that number is another one's."""
    recording = record("unshare", "-p", "-f", "--kill-child", "--mount-proc", compiler)
    recording.tell(f"map {A} inside", f"code {A}")
    recording.wait_for_a_dump()
    recording.tell("delete")
    assert "inside" in recording.end()


# --- node --------------------------------------------------------------------------------------------

NODE = """
function keepOne(n) { return Buffer.allocUnsafeSlow(n); }
function keepAll(list) { list.push(keepOne(200000)); }
const list = [];
for (let i = 0; i < 3000; i++) { keepAll(list); if (list.length > 20) list.shift(); }
"""


@pytest.mark.costly
@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("flag", ["--perf-basic-prof", "--perf-prof"])
def test_node(run, report, tmp_path, flag):
    """JavaScript functions by the list that node writes."""
    script = tmp_path / "keep.js"
    script.write_text(NODE)
    done = run(["node", flag, "--interpreted-frames-native-stack", script], "--native-only", cwd=tmp_path)
    assert done.status == 0, done.stderr
    for path in pathlib.Path("/tmp").glob("perf-*.map"):
        if "keep.js" in path.read_text(errors="replace"):
            path.unlink()
    text = json.dumps(report(done.file, "--top", "all", "--view", "alloc_objects"))
    assert re.search(r"JS:\S*keepOne ", text) and re.search(r"JS:\S*keepAll ", text)


LINES = """function pad(n) { return n; }
function many(list) {
  let total = pad(1);
  list.push(Buffer.allocUnsafeSlow(100001));
  total += pad(2) + list.length;
  list.push(
    Buffer.allocUnsafeSlow(
      200002));
  for (let i = 0; i < 3; i++) total += pad(i);
  list.push(Buffer.allocUnsafeSlow(300003));
  return total;
}
for (let i = 0; i < 3000; i++) many([]);
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_lines_of_node(run, heapscope, tmp_path):
    """In code that V8 has optimized, the lines are those of the calls; other code has none, as V8 states none that are
    right. The dumps name the frames, and have their lines."""
    script = tmp_path / "lines.js"
    script.write_text(LINES)
    done = run(["node", "--perf-prof", "--no-turbo-inlining", script], "--native-only", "--dump-every", "100ms", cwd=tmp_path)
    assert done.status == 0, done.stderr
    sql = """SELECT f.name, s.source_file, s.line_number FROM stack_profile_frame f
        LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id WHERE f.name GLOB 'JS:?many *'"""
    lines = {}
    for row in json.loads(heapscope("query", "--format", "json", done.file, sql).stdout):
        lines.setdefault(row["name"][3], set()).add((row["source_file"], row["line_number"]))
    assert {(str(script), line) for line in (4, 7, 10)} <= lines.pop("*")
    assert all(places == {(None, None)} for places in lines.values()), lines


def said_of_code(heapscope, file):
    text = " ".join(heapscope("report", "--view", "alloc_objects", file).stdout.split())
    return re.findall(r"Code that .*? What helps: [^.]*\.", text)


def test_report_says_what_names_code(record, compiler, heapscope, tmp_path):
    """Once for the runtime, which is known by the name of the program."""
    program = tmp_path / "nodejs"
    shutil.copy(compiler, program)
    recording = record(program)
    recording.tell(f"code {A}", f"code {B}")
    recording.end()
    said = said_of_code(heapscope, recording.file)
    assert len(said) == 1 and re.match(r"Code that node made at run time: stacks with 9[0-9.]+ % have", said[0]), said
    assert said[0].endswith("start it with node --perf-basic-prof --interpreted-frames-native-stack.")
    assert "JavaScript functions of node 18 and later have names" in said[0]


def test_report_says_it_of_unknown_runtimes(record, compiler, heapscope):
    recording = record(compiler)
    recording.tell(f"map {A} named", f"code {A}")
    recording.wait_for_a_dump()
    recording.end()
    assert said_of_code(heapscope, recording.file) == []
    again = record(compiler)
    again.tell(f"code {A}")
    again.end()
    said = said_of_code(heapscope, again.file)
    assert len(said) == 1 and said[0].startswith("Code that the program made at run time") and "have its runtime write" in said[0], said
