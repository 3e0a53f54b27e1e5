"""What a trace contains besides heaps: counters of processes, threads, mappings, and the machine's
memory.

Figures are compared with what the program says about itself, and with /proc while it stands
still.
"""

import os
import pathlib
import re
import signal
import subprocess
import time
import zlib

import pytest
from conftest import clean_env
from resident import need_ptrace
from trace_text import get, parse, protoc
from waiting import let_time_pass, stop_process, wait_for_dumps, wait_until

MIB = 1 << 20
STEP_BYTES = 24 * MIB
# Grows by steps, one for each line on its standard input, and answers after each.
STEPS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *idle(void *unused)
{
    pthread_mutex_lock(&lock);
    return NULL;
}
int main(void)
{
    char line[64];
    pthread_t thread;
    pthread_mutex_lock(&lock);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d\n", (int)getpid());
    while (fgets(line, sizeof(line), stdin)) {
        if (line[0] == 'g') {
            memset(malloc(24 << 20), 1, 24 << 20);
        } else if (line[0] == 't') {
            /* It inherits the name: a process that looks at it at once must not see another. */
            pthread_setname_np(pthread_self(), "worker-of-it");
            pthread_create(&thread, NULL, idle, NULL);
            pthread_setname_np(pthread_self(), "steps");
        } else if (line[0] == 'f') {
            if (fork() == 0) {
                memset(malloc(24 << 20), 1, 24 << 20);
                sleep(1);
                _exit(0);
            }
            wait(NULL);
        } else if (line[0] == 'm') {
            for (int i = 0; i < 20000; i++) {
                mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            }
        } else if (line[0] == 'k') {
            memset(malloc(100 << 20), 1, 100 << 20);
            kill(getpid(), SIGKILL);
        }
        printf("done\n");
    }
    return 0;
}
"""


@pytest.fixture(scope="session")
def steps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    (folder / "steps.c").write_text(STEPS)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-g", "-o", folder / "steps", folder / "steps.c", "-pthread"], check=True)
    return folder / "steps"


class Grown:
    """A running steps.c, alone or under a command that records it."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen([*map(str, command)], env=env or clean_env(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid = int(self.process.stdout.readline())

    def do(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status


def expand(data):
    """Packets of a trace, including nested ones."""
    for packet in parse(protoc("decode", data)).get("packet", []):
        if "compressed_packets" in packet:
            yield from expand(zlib.decompress(packet["compressed_packets"][0]))
        else:
            yield packet


class Beside:
    """The contents of a trace besides heaps."""

    def __init__(self, file):
        self.order = []  # pids in the order of their descriptions and counters
        self.series = {}  # (pid, field) -> [(ns, value)]
        self.processes, self.threads, self.smaps, self.system, self.unread, self.dumps = [], {}, [], [], [], []
        for packet in expand(pathlib.Path(file).read_bytes()):
            self.take(packet)

    def take(self, packet):
        ns = get(packet, "timestamp")
        for tree in packet.get("process_tree", []):
            self.processes += tree.get("processes", [])
            self.order += [("tree", get(process, "pid")) for process in tree.get("processes", [])]
            for thread in tree.get("threads", []):
                self.threads[get(thread, "tid")] = (get(thread, "tgid"), get(thread, "name", default=b"").decode())
        for stats in packet.get("process_stats", []):
            for process in stats["processes"]:
                pid = get(process, "pid")
                self.order.append(("stats", pid))
                for field, values in process.items():
                    if field != "pid":
                        self.series.setdefault((pid, field), []).append((ns, values[-1]))
        for ours in packet.get("heapscope_counters", []):
            pid = get(ours, "pid")
            self.order.append(("stats", pid))
            for field, values in ours.items():
                if field != "pid":
                    self.series.setdefault((pid, field), []).append((ns, values[-1]))
        self.smaps += [(ns, smaps) for smaps in packet.get("smaps_packet", [])]
        self.system += [(ns, stats) for stats in packet.get("sys_stats", [])]
        for ours in packet.get("heapscope", []):
            self.unread += ours.get("unread", [])
            self.dumps += [get(dump, "pid") for dump in ours.get("dump", [])]

    def values(self, pid, field):
        return [value for _, value in self.series.get((pid, field), [])]

    def assert_introduced(self):
        """Perfetto's reader shows counters only of processes that it knows."""
        known = set()
        for kind, pid in self.order:
            assert kind == "tree" or pid in known
            known.add(pid)


def smaps_of(packet):
    """{name: {column: kB}}"""
    packed = packet["packed_entries"][0]
    names = [name.decode() for name in packed["string_table"]]
    assert names[0] == "" and packed["name_id"] == list(range(len(names)))
    columns = {key: values for key, values in packed.items() if key not in ("string_table", "name_id")}
    assert all(len(values) == len(names) for values in columns.values())
    return {name: {key: values[i] for key, values in columns.items()} for i, name in enumerate(names)}


def smaps_now(pid):
    """The same from /proc."""
    sums, row = {}, None
    keys = {"Size": "size", "Rss": "rss", "Pss": "pss", "Private_Dirty": "private_dirty", "Anonymous": "anonymous",
            "Shared_Clean": "shared_clean", "Swap": "swap", "Locked": "locked"}
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        mapping = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$", line)
        if mapping:
            row = sums.setdefault(mapping.group(1), dict.fromkeys([*keys.values(), "aggregate_count"], 0))
            row["aggregate_count"] += 1
        else:
            key, _, value = line.partition(":")
            if key in keys:
                row[keys[key]] += int(value.split()[0])
    return sums


def read_calls(pid):
    """How many times a process has read from files; a reading of the counters of one process is about twelve."""
    return int(re.search(r"syscr: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text())[1])


def record(dist, file, program, *options):
    return Grown([dist / "bin/heapscope", "run", "-q", "-o", file, *options, "--", program])


# --- counters -----------------------------------------------------------------------------------


def test_run(dist, report, steps, tmp_path):
    """Steps of a known size are in the counters; only changes are written."""
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "--counters", "100ms")
    rss = []
    for _ in range(3):
        program.do("g")
        rss.append(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{program.pid}/status").read_text())[1]))
        let_time_pass(0.5, "several readings of the counters")
    assert program.end() == 0
    beside = Beside(file)
    beside.assert_introduced()
    seen = beside.values(program.pid, "vm_rss_kb")
    for kb in rss:
        assert any(abs(kb - other) < 256 for other in seen), (rss, seen)
    assert max(beside.values(program.pid, "vm_hwm_kb")) >= max(rss)
    assert len(beside.values(program.pid, "oom_score_adj")) == 1
    assert len(seen) <= 12  # of about 20 readings
    for field in ("rss_anon_kb", "rss_file_kb", "vm_swap_kb", "vm_locked_kb", "vm_size_kb",
                  "minor_fault_count", "thread_count"):
        assert beside.values(program.pid, field), field
    faults = beside.values(program.pid, "minor_fault_count")
    assert faults == sorted(faults) and faults[-1] >= 3 * STEP_BYTES // 4096 - 100 or faults[-1] > 100
    times = [ns for ns, _ in beside.series[program.pid, "vm_rss_kb"]]
    assert times == sorted(times)
    now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert now_ns - 60e9 < times[0] < times[-1] < now_ns
    series = {track["name"]: track["points"] for track in report(file)["processes"][0]["counters"]}
    assert [value for _, value in series["mem.rss"]] == [kb * 1024 for kb in seen]
    assert all(-1 < seconds < 60 for seconds, _ in series["mem.rss"])


def test_live_memory_between_snapshots(dist, report, steps, tmp_path):
    """What the blocks hold is a counter: each step is in it, and its last value is that of the
    snapshot at the end."""
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "-i", "1", "--counters", "100ms")
    for _ in range(3):
        program.do("g")
        let_time_pass(0.5, "several readings of the counters")
    assert program.end() == 0
    process = report(file)["processes"][0]
    series = next(track for track in process["counters"] if track["name"] == "heap.live")
    values = [value for _, value in series["points"]]
    rests = process["live"]["bytes"] - 3 * STEP_BYTES
    assert series["unit"] == "bytes" and 0 <= rests < 1 << 16
    assert values[-1] == process["live"]["bytes"]
    for step in range(1, 4):
        assert any(step * STEP_BYTES <= value <= step * STEP_BYTES + rests for value in values), (step, values)
    assert all(value < 3 * STEP_BYTES + rests + 1 for value in values)


@pytest.mark.parametrize("heap", ["libc.malloc", "mmap"])
def test_live_memory_of_chosen_heaps(dist, report, steps, tmp_path, heap):
    """Blocks of other heaps are not in the counter either."""
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "-i", "1", "--counters", "100ms", "--heaps", heap)
    program.do("g")
    program.do("m")
    let_time_pass(0.3, "a reading of the counters")
    assert program.end() == 0
    process = report(file)["processes"][0]
    series = next(track for track in process["counters"] if track["name"] == "heap.live")
    assert [each["name"] for each in report(file)["heaps"]] == [heap]
    assert series["points"][-1][1] == process["live"]["bytes"] > 0


# The fields of ProcessStats.Process that trace_processor knows, besides the pid. It reports a file
# with any other field as an error.
KNOWN_FIELDS = {"vm_size_kb", "vm_rss_kb", "rss_anon_kb", "rss_file_kb", "rss_shmem_kb", "vm_swap_kb", "vm_locked_kb",
                "vm_hwm_kb", "oom_score_adj", "smr_rss_kb", "smr_pss_kb", "smr_pss_anon_kb", "smr_pss_file_kb",
                "smr_pss_shmem_kb", "smr_swap_pss_kb", "runtime_user_mode", "runtime_kernel_mode", "dmabuf_rss_kb"}


def test_perfetto_knows_all_counters(dist, heapscope, steps, tmp_path):
    """Our fields are in a field that trace_processor skips, not in a message whose unknown fields
    it counts."""
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "--counters", "100ms")
    program.do("g")
    let_time_pass(0.3, "several readings of the counters")
    program.end()
    seen, ours = set(), 0
    for packet in expand(file.read_bytes()):
        for stats in packet.get("process_stats", []):
            for process in stats["processes"]:
                seen |= set(process) - {"pid"}
        ours += len(packet.get("heapscope_counters", []))
    assert {"vm_rss_kb", "runtime_user_mode"} <= seen <= KNOWN_FIELDS and ours > 0
    names = heapscope("query", "--format", "csv", file, "SELECT name FROM process_counter_track").stdout.replace(chr(34), "").split()
    assert {"heapscope.minor_faults", "heapscope.major_faults", "heapscope.threads", "mem.rss"} <= set(names)
    assert len(names) == len(set(names))


def test_report_tells_how_it_moved(dist, heapscope, report, steps, tmp_path):
    program = record(dist, tmp_path / "a.pftrace", steps, "--counters", "100ms")
    let_time_pass(0.3, "a reading of the counters before it grows")
    for _ in range(3):
        program.do("g")
        let_time_pass(0.3, "several readings of the counters")
    program.end()
    text = heapscope("report", tmp_path / "a.pftrace").stdout
    line = re.search(r"resident memory, read from time to time in the whole recording: first (\S+) MiB, highest (\S+) MiB", text)
    assert line and float(line[1]) < 10 and 72 <= float(line[2]) < 90, text
    # And the figure for the whole process is at least as large, whichever of both was read last.
    process = report(tmp_path / "a.pftrace")["processes"][0]
    series = {track["name"]: [value for _, value in track["points"]] for track in process["counters"]}
    assert process["rss_peak_bytes"] == max(series["mem.rss.watermark"]) >= max(series["mem.rss"]), process


def test_off(dist, steps, tmp_path):
    program = record(dist, tmp_path / "a.pftrace", steps, "--counters", "off")
    program.do("g")
    program.end()
    beside = Beside(tmp_path / "a.pftrace")
    assert not beside.series and not beside.threads and not beside.system and not beside.smaps


def test_threads_and_their_names(dist, steps, tmp_path):
    program = record(dist, tmp_path / "a.pftrace", steps, "--counters", "100ms")
    collector = program.process.pid
    # The first thread has the name of the new one while it makes it, which heapscope must not read.
    stop_process(collector)
    program.do("t")
    program.do("t")
    os.kill(collector, signal.SIGCONT)
    # A ledger may be read first, with many calls.
    for _ in range(4):
        before = read_calls(collector)
        wait_until(lambda: read_calls(collector) > before + 60, "the counters are not read")
        let_time_pass(0.15, "the next calls are those of another time")
    program.end()
    beside = Beside(tmp_path / "a.pftrace")
    names = sorted(name for tgid, name in beside.threads.values() if tgid == program.pid)
    assert names == ["steps", "worker-of-it", "worker-of-it"]
    assert beside.values(program.pid, "thread_count")[-1] == 3


def test_children(dist, steps, tmp_path):
    """Each with its own counters, and its parent."""
    program = record(dist, tmp_path / "a.pftrace", steps, "--counters", "100ms")
    program.do("f")
    program.end()
    beside = Beside(tmp_path / "a.pftrace")
    beside.assert_introduced()
    children = {get(p, "pid") for p in beside.processes if get(p, "ppid") == program.pid}
    assert len(children) == 1
    child = children.pop()
    assert max(beside.values(child, "vm_hwm_kb")) * 1024 >= STEP_BYTES
    # Nothing of a child that was waited for counts as its parent's.
    assert max(beside.values(program.pid, "vm_hwm_kb")) * 1024 < STEP_BYTES


def test_peak_of_one_that_is_killed(dist, steps, tmp_path):
    """It grows faster than heapscope reads, and is killed as the kernel kills when memory runs out;
    the process that executes heapscope is larger than it."""
    file = tmp_path / "a.pftrace"
    larger = bytearray(150 * MIB)
    larger[::4096] = b"1" * len(larger[::4096])
    program = record(dist, file, steps)
    program.do("k")
    assert program.end() == 128 + signal.SIGKILL
    beside = Beside(file)
    assert beside.values(program.pid, "vm_hwm_kb")[-1] * 1024 >= 100 * MIB


# --- mappings -----------------------------------------------------------------------------------


def test_smaps_of_one_that_stands_still(dist, heapscope, steps, tmp_path):
    need_ptrace()
    program = Grown([steps])
    program.do("g")
    file = tmp_path / "a.pftrace"
    attached = subprocess.Popen([dist / "bin/heapscope", "attach", "-q", "-o", file, "--smaps", str(program.pid)],
                                env=clean_env(), stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: b"heapscope-client" in pathlib.Path(f"/proc/{program.pid}/maps").read_bytes())
        program.do("g")
        os.kill(program.pid, signal.SIGSTOP)
        wait_until(lambda: "T (stopped)" in pathlib.Path(f"/proc/{program.pid}/status").read_text())
        before = smaps_now(program.pid)
        attached.send_signal(signal.SIGUSR1)
        wait_for_dumps(heapscope, f"attach.{attached.pid}", 1)
        after = smaps_now(program.pid)
    finally:
        os.kill(program.pid, signal.SIGCONT)
        attached.send_signal(signal.SIGINT)
        attached.wait(60)
        program.end()
    for rows in (before, after):  # shared pages may be shared by more or fewer processes at another moment
        for row in rows.values():
            del row["pss"], row["shared_clean"]
        for name, row in rows.items():
            if "memfd:heapscope" in name:  # the collector's pages, too: dirty pages of it are private or shared
                del row["private_dirty"]
    assert after == before
    beside = Beside(file)
    assert len(beside.smaps) >= 2
    packet = smaps_of(beside.smaps[0][1])
    assert packet.keys() == before.keys()
    for name, row in before.items():
        assert row == {key: packet[name][key] for key in row}, name
    rollup = beside.values(program.pid, "smr_rss_kb")
    assert sum(row["rss"] for row in packet.values()) in rollup
    assert beside.values(program.pid, "smr_pss_kb")


@pytest.mark.costly
def test_many_mappings_do_not_hold_up_dumps(dist, heapscope, steps, tmp_path):
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "--smaps", "--dump-every", "200ms")
    program.do("m")
    wait_for_dumps(heapscope, f"run.{program.process.pid}", 10)
    begin = time.monotonic()
    program.do("g")
    assert time.monotonic() - begin < 2
    program.end()
    beside = Beside(file)
    counts = [sum(row["aggregate_count"] for row in smaps_of(packet).values()) for _, packet in beside.smaps]
    assert max(counts) >= 20000
    assert len(beside.dumps) >= 10


def test_smaps_without_dumps(dist, steps, tmp_path):
    """The only dump is taken after the end; the mappings in the file are from shortly before."""
    for counters in ([], ["--counters", "off"]):
        file = tmp_path / f"a{len(counters)}.pftrace"
        program = record(dist, file, steps, "--smaps", *counters)
        program.do("g")
        let_time_pass(1.5, "the longer the program has run, the more rarely they are read; a busy machine is late")
        program.end()
        beside = Beside(file)
        assert len(beside.smaps) == 1
        rows = smaps_of(beside.smaps[0][1])
        assert max(row["rss"] for row in rows.values()) * 1024 >= STEP_BYTES


@pytest.mark.costly
def test_smaps_of_one_that_is_gone_too_soon(dist, tmp_path):
    for _ in range(20):
        done = subprocess.run([dist / "bin/heapscope", "run", "--smaps", "-o", tmp_path / "a.pftrace", "--", "true"],
                              capture_output=True, text=True, timeout=60, env=clean_env())
        assert bool(Beside(tmp_path / "a.pftrace").smaps) != ("the file contains no mappings" in done.stderr)


# --- the machine --------------------------------------------------------------------------------


def test_system(dist, report, steps, tmp_path):
    file = tmp_path / "a.pftrace"
    program = record(dist, file, steps, "--system-stats", "100ms")
    for _ in range(4):  # on an otherwise idle machine nothing changes by itself
        program.do("g")
        let_time_pass(0.25, "several readings of the machine's memory")
    program.end()
    beside = Beside(file)
    first = {get(v, "key"): get(v, "value") for v in beside.system[0][1]["meminfo"]}
    total = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    assert total in first.values() and len(first) > 20
    assert len(beside.system) > 2
    names = {track["name"] for track in report(file)["counters"]}
    assert {"MemTotal", "MemAvailable", "Active(anon)"} <= names
    if pathlib.Path("/proc/pressure/memory").exists():
        assert "psi.mem.some" in names
    else:
        assert any(get(u, "file") == b"pressure" for u in beside.unread)


# --- attach, the daemon, snapshots --------------------------------------------------------------


def test_daemon(daemon, steps, tmp_path):
    one = Grown([steps], env=daemon.preloaded())
    other = Grown([steps], env=daemon.preloaded())
    for program in (one, other):
        program.do("g")
        wait_until(lambda: daemon.client(program.pid))
    daemon.begin("-p", one.pid, "-p", other.pid, "--counters", "100ms", "--system-stats", "200ms", "--smaps")
    one.do("g")
    let_time_pass(0.5, "several readings of the counters")
    done = daemon.stop()
    beside = Beside(done.file)
    beside.assert_introduced()
    most = {program: max(beside.values(program.pid, "vm_rss_kb")) * 1024 for program in (one, other)}
    assert 2 * STEP_BYTES <= most[one] < 2.5 * STEP_BYTES
    assert STEP_BYTES <= most[other] < 1.5 * STEP_BYTES
    assert beside.system
    assert {get(packet, "pid") for _, packet in beside.smaps} == {one.pid, other.pid}
    for program in (one, other):
        assert program.end() == 0


def test_snapshot_has_one_of_each(daemon, steps, tmp_path):
    program = Grown([steps], env=daemon.preloaded())
    program.do("g")
    wait_until(lambda: daemon.client(program.pid))
    daemon.begin("-p", program.pid)
    done = daemon.ask("snapshot", "-q", "-p", program.pid, "-o", tmp_path / "a.pftrace")
    assert done.returncode == 0, done.stderr
    beside = Beside(tmp_path / "a.pftrace")
    beside.assert_introduced()
    assert len(beside.values(program.pid, "vm_rss_kb")) == 1
    assert len(beside.values(program.pid, "smr_pss_kb")) == 1
    daemon.stop()
    program.end()


# --- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["run"], ["attach"], ["start", "-n", "x"]])
@pytest.mark.parametrize("option, words", [("--counters=often", "'often' is not a duration"),
                                           ("--counters=10ms", "not between 100ms and 24h"),
                                           ("--system-stats=1ms", "--system-stats")])
def test_wrong_usage(heapscope, command, option, words):
    done = heapscope(*command, option, *(["--", "true"] if command == ["run"] else []))
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert done.stderr.startswith("heapscope:")
