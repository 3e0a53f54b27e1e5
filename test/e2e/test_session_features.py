"""Every feature of a session, in each command that begins one: `run`, `attach`, `start` and `record` have the same
engine, so a feature that works in one of them works in all.

FEATURES is the table. A row says what options ask for the feature in each command, what the program does meanwhile,
and what the trace must contain. Where a command does not have a feature, the row says why (Without), and the command
must refuse the options in words.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from typing import Callable, NamedTuple

import pytest
from conftest import clean_env
from resident import need_ptrace
from waiting import PATIENCE_S, let_time_pass, wait_until

COMMANDS = ("run", "attach", "start", "record")
# Names of this process alone: a daemon finds every process of a name on the machine.
WORKER, HELPER = f"worker{os.getpid()}", f"helper{os.getpid()}"


# --- the commands ---------------------------------------------------------------------------------


class Setting(NamedTuple):
    """What a recording needs of its test."""
    dist: pathlib.Path
    folder: pathlib.Path
    env: dict  # with the socket of the test's daemon, where the command has one
    report: Callable
    heapscope: Callable
    daemon: Callable  # daemon(): the daemon, which is started when it is needed


class Recording:
    """A recording of test/target/features.c by one of the commands."""

    command = None

    def __init__(self, setting, options):
        self.setting = setting
        self.said = ""
        self.file = setting.folder / f"{self.command}.pftrace"
        self.program = self.recorder = None
        self.begin([*map(str, options)])

    def spawn(self, *words, **more):
        return subprocess.Popen([*map(str, words)], env=clean_env(**self.setting.env), text=True, **more)

    def heapscope(self, *words, **more):
        return self.spawn(self.setting.dist / "bin" / "heapscope", *words, stderr=subprocess.PIPE, **more)

    def program_words(self):
        return [self.setting.folder / WORKER, self.setting.folder / HELPER]

    def read_pid(self):
        self.pid = int(self.program.stdout.readline())

    def tell(self, *words):
        for word in words:
            self.program.stdin.write(word + "\n")
            self.program.stdin.flush()
            assert self.program.stdout.readline() == "done\n"

    def ask_dump(self):
        self.recorder.send_signal(signal.SIGUSR1)
        let_time_pass(0.3, "the dump is asked for by a signal, and nothing but the file tells that it was taken")

    def session_name(self):
        return f"{self.command}.{self.recorder.pid}"

    def end_program(self):
        if not self.program.stdin.closed:
            self.program.stdin.close()

    def end(self):
        """The program ends, and with it the recording."""
        self.end_program()
        self.said += self.recorder.stderr.read()
        status = self.recorder.wait(PATIENCE_S)
        assert status == 0, self.said
        self.program.wait(PATIENCE_S)
        return self

    def stop(self):
        for process in (self.program, self.recorder):
            if process:
                if process.poll() is None:
                    process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout, process.stderr):
                    if pipe and not pipe.closed:
                        pipe.close()

    def report(self, *options):
        return self.setting.report(self.file, "--top", "all", *options)

    def worker(self):
        return next(p for p in self.report()["processes"] if p["name"] == WORKER)

    def names(self):
        return {p["name"] for p in self.report()["processes"]}

    def count(self, what):
        """The number of rows."""
        done = self.setting.heapscope("query", self.file, f"SELECT count(*) FROM {what}")
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[-1])


class Run(Recording):
    command = "run"

    def begin(self, options):
        self.recorder = self.heapscope("run", "-q", "-o", self.file, *options, "--", *self.program_words(),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.program = self.recorder
        self.read_pid()


class Attach(Recording):
    command = "attach"

    def begin(self, options):
        self.program = self.spawn(*self.program_words(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read_pid()
        which = [] if "-n" in options else [self.pid]
        self.recorder = self.heapscope("attach", "-o", self.file, *options, *which, stdin=subprocess.DEVNULL)
        while f"attached to {self.pid} " not in self.said:
            line = self.recorder.stderr.readline()
            assert line, self.said
            self.said += line


class Start(Recording):
    command = "start"

    def begin(self, options):
        self.daemon = self.setting.daemon()
        self.setting.env.update(self.daemon.env)
        words = self.program_words()
        launched = self.daemon.launch([*map(str, words)])
        self.program = launched.process
        self.read_pid()
        which = [] if "-n" in options else ["-p", self.pid]
        self.name = self.daemon.begin(*which, *options, "-o", self.file)

    def ask_dump(self):
        count = self.daemon.session(self.name)["dump_count"]
        os.kill(self.daemon.pid, signal.SIGUSR1)
        wait_until(lambda: self.daemon.session(self.name)["dump_count"] > count)

    def session_name(self):
        return self.name

    def end(self):
        self.end_program()
        self.program.wait(PATIENCE_S)
        known = {s["session"]: s for s in self.daemon.list()["sessions"]}
        if self.name in known:
            done = self.daemon.ask("stop", self.name)
            assert done.returncode == 0 or self.file.exists(), done.stderr
        wait_until(self.file.exists, "there is no file")
        return self


class Record(Recording):
    """`record` with a program. Its options are few: the rest is in a config."""
    command = "record"

    def begin(self, options):
        folder = self.setting.folder / "recorded"
        folder.mkdir()
        self.file = folder / "raw-trace"
        self.recorder = self.heapscope("record", *options, "-o", folder, "--", *self.program_words(),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.program = self.recorder
        self.read_pid()

    def session_name(self):
        return f"run.{self.recorder.pid}"


KINDS = {kind.command: kind for kind in (Run, Attach, Start, Record)}


# --- the table ------------------------------------------------------------------------------------


class Without(NamedTuple):
    """The command does not have the feature: why, the options that it refuses, and with what words."""
    why: str
    options: list
    words: str


class Otherwise(NamedTuple):
    """The command takes the options, and they mean something else there: why, and what the trace says then."""
    why: str
    options: list
    check: Callable


class Config(NamedTuple):
    """What `record -c` gets: fields of the heap profiler's config, and further data sources."""
    heap: str = ""
    sources: str = ""
    duration_ms: int = 0

    def text(self):
        return ('data_sources { config { name: "android.heapprofd" heapprofd_config { '
                f"sampling_interval_bytes: 16 all: true {self.heap} }} }} }} {self.sources} "
                f"duration_ms: {self.duration_ms}\n")


class Feature(NamedTuple):
    name: str
    options: dict  # for each command: a list of options, a Config, Without or Otherwise
    drive: Callable  # drive(recording): what happens while it records
    check: Callable  # check(recording): what the trace says


def same(*options, **others):
    """The same options in run, attach and start; those that differ, and those of record, by name."""
    return {**{command: list(options) for command in COMMANDS}, **others}


NO_OPTION = "record has the options of heap_profile, and heap_profile does not have this one"


def not_in_record(*options):
    return Without(NO_OPTION, list(options), f"unknown option '{options[0]}'")


def grow(recording):
    recording.tell("grow")


def grow_for_a_while(recording):
    for _ in range(8):
        recording.tell("grow")
        let_time_pass(0.15, "dumps are due every 100 ms or so")


def use_children(recording):
    recording.tell("grow", "fork", "exec")


def use_up_time(recording):
    """The dumps of many blocks take more than half a second of CPU time in all."""
    for _ in range(3):
        recording.tell("many")
    let_time_pass(5, "dumps become rarer as the budget is used up")


def changed_because(reason):
    def check(recording):
        changes = recording.worker().get("interval_changes", [])
        assert reason in {c["reason"] for c in changes}, changes
    return check


def has_snapshots(least, most=10**6):
    def check(recording):
        assert least <= recording.worker()["snapshot_count"] <= most
    return check


def has_rows(what):
    def check(recording):
        assert recording.count(what) > 0
    return check


def ask_twice(recording):
    for _ in range(2):
        recording.tell("grow")
        recording.ask_dump()


def check_interval(recording):
    assert recording.worker()["interval_bytes"] == 16
    assert recording.worker()["sample_count"] >= 2000


def check_duration(recording):
    """What happened after the session's end is not in the trace; the program ran on."""
    assert recording.worker()["duration_seconds"] < 3
    assert abs(recording.report()["totals"]["alloc"]["bytes"] - 2_000_000) < 500_000


def outlive_duration(recording):
    recording.tell("grow")
    let_time_pass(2.5, "the session lasts 1.5 seconds")
    recording.tell("grow", "grow")


def check_only(recording):
    assert WORKER not in recording.names() and HELPER in recording.names()


def check_forks(recording):
    assert len([p for p in recording.report()["processes"] if p["name"] == WORKER and p["pid"] != recording.pid]) >= 1


def check_executed(recording):
    assert recording.names() == {WORKER, HELPER}


def check_no_follow(recording):
    assert recording.names() == {WORKER}


def has_no_names(recording):
    """Without the program, a report cannot look the names up itself."""
    (recording.setting.folder / WORKER).unlink()
    frames = [f for s in recording.report()["stacks"] for f in s["frames"]]
    assert frames and not [f for f in frames if f.get("function", "").startswith("site_")]


def is_uncompressed(recording):
    """The names of functions can be read in the file."""
    assert b"site_grow" in recording.file.read_bytes()


def ask_for_heap(recording):
    recording.tell("grow")
    made = recording.setting.folder / "snapshot.pftrace"
    done = recording.setting.heapscope("snapshot", "-p", recording.pid, "-o", made, env=recording.setting.env)
    assert done.returncode == 0, done.stderr
    assert recording.setting.report(made)["totals"]["live"]["bytes"] > 1_500_000


def list_it(recording):
    recording.tell("grow")
    done = recording.setting.heapscope("list", "--json", env=recording.setting.env)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    sessions = [s for each in (listed, *listed["recordings"]) for s in each["sessions"]]
    found = next(s for s in sessions if s["session"] == recording.session_name())
    assert found["running_count"] >= 1 and found["sample_count"] > 0 and found["interval_bytes"] == 16, found


def stop_it(recording):
    recording.tell("grow")
    done = recording.setting.heapscope("stop", recording.session_name(), env=recording.setting.env)
    if recording.command in ("run", "record"):
        assert done.returncode != 0 and "ends with its program" in done.stderr, done
    else:
        assert done.returncode == 0, done.stderr
        recording.tell("grow")


def attach_beside_it(recording):
    """A process belongs to one session at a time, whichever command began it: the second session gets the reason, in
    words and in its trace."""
    need_ptrace()
    recording.tell("grow")
    made = recording.setting.folder / "beside"
    made.mkdir()
    nobody = {"HEAPSCOPE_SOCKET": recording.setting.folder / "nobody"}
    done = recording.setting.heapscope("record", "-p", recording.pid, "-d", "300", "-o", made, env=nobody)
    assert done.returncode != 0 and "profiled already" in done.stderr, done
    losses = recording.setting.report(made / "raw-trace")["losses"]
    assert {loss["name"] for loss in losses} == {"rejected_concurrent"}, losses


def has_all_it_did(recording):
    assert abs(recording.report()["totals"]["alloc"]["bytes"] - 2_000_000) < 500_000


SMAPS = "profiler_smaps"
COUNTERS = "counter c JOIN process_counter_track t ON c.track_id = t.id WHERE t.name = 'mem.rss'"
SYSTEM = "counter c JOIN counter_track t ON c.track_id = t.id WHERE t.name = 'MemFree'"


def has_no_counters(recording):
    assert recording.count(COUNTERS) == 0


def has_no_types(recording):
    done = recording.setting.heapscope("report", "--by", "type", recording.file)
    assert done.returncode == 1 and "record without --no-types" in done.stderr


FEATURES = [
    Feature("interval", same("-i", 16), grow, check_interval),
    Feature("dump_every", same("--dump-every", "100ms", record=["-c", 100]), grow_for_a_while, has_snapshots(6)),
    Feature("dump_phase",
            same("--dump-every", "10h", "--dump-phase", "200ms",
                 record=Config("continuous_dump_config { dump_phase_ms: 200 dump_interval_ms: 36000000 }")),
            grow_for_a_while, has_snapshots(2, 2)),
    Feature("dump_at_max",
            same("--dump-at-max",
                 record=Otherwise("this option is heap_profile's: the samples of the one dump are those of the peak",
                                  ["--dump-at-max"], has_snapshots(1, 1))),
            grow_for_a_while, has_snapshots(2)),
    Feature("dump_above", same("--dump-above", "6M", record=not_in_record("--dump-above", "6M")),
            grow_for_a_while, has_snapshots(2, 2)),
    Feature("dump_on_demand", same(run=["--dump-on-usr1"]), ask_twice, has_snapshots(3, 3)),
    Feature("duration", same("-d", "1500ms", record=["-d", 1500]), outlive_duration, check_duration),
    Feature("max_memory", same("-i", 1, "--max-memory", "2M", record=Config("max_heapprofd_memory_kb: 2048")),
            lambda r: r.tell("many"), changed_because("memory")),
    Feature("max_overhead", same("-i", 1, "--max-overhead", "1%", record=not_in_record("--max-overhead", "1%")),
            lambda r: r.tell("churn", "churn", "churn"), changed_because("overhead")),
    Feature("max_cpu",
            same("-i", 1, "--dump-every", "10ms", "--max-cpu-secs", 1, "--no-symbolize",
                 record=Config("max_heapprofd_cpu_secs: 1 continuous_dump_config { dump_interval_ms: 10 }")),
            use_up_time, changed_because("collector_cpu")),
    Feature("counters",
            same("--counters", "100ms",
                 record=Config(sources="data_sources { config { name: \"linux.process_stats\" process_stats_config { "
                                       "proc_stats_poll_ms: 100 } } }")),
            grow_for_a_while, has_rows(COUNTERS)),
    Feature("no_counters", same("--counters", "off", record=not_in_record("--counters", "off")),
            grow, has_no_counters),
    Feature("smaps", same("--smaps", record=not_in_record("--smaps")), grow_for_a_while, has_rows(SMAPS)),
    Feature("system_stats",
            same("--system-stats", "100ms",
                 record=Config(sources="data_sources { config { name: \"linux.sys_stats\" sys_stats_config { "
                                       "meminfo_period_ms: 100 } } }")),
            grow_for_a_while, has_rows(SYSTEM)),
    Feature("only_by_name",
            same("-n", HELPER, run=["--only", HELPER], record=["-n", HELPER],
                 attach=Without("attach records processes that run, and the helper starts later: only record, with a "
                                "daemon or without, waits for programs to start", ["-n", "helper-that-starts"],
                                "no running process is called helper-that-starts")),
            use_children, check_only),
    Feature("forked_children", same(), use_children, check_forks),
    Feature("executed_programs",
            same(attach=Without("a program that a child of an attached process executes has no client", ["--follow"],
                                "unknown option '--follow'"),
                 start=["-n", WORKER, "-n", HELPER], record=["-n", f"{WORKER},{HELPER}"]),
            use_children, check_executed),
    Feature("no_follow",
            same("--no-follow",
                 start=Without("programs announce themselves to the daemon whether their parent is recorded or not",
                               ["--no-follow"], "unknown option '--no-follow'"),
                 record=not_in_record("--no-follow")),
            use_children, check_no_follow),
    Feature("children_that_exist",
            same("--children",
                 run=Without("a program that run starts has no children yet", ["--children"],
                             "unknown option '--children'"),
                 record=not_in_record("--children")),
            grow, has_all_it_did),
    Feature("heaps",
            same("--heaps", "libc.malloc,arena", "--exclude-heaps", "are*"),
            grow, has_all_it_did),
    Feature("no_symbolize", same("--no-symbolize", record=not_in_record("--no-symbolize")), grow, has_no_names),
    Feature("lifetimes", same("--lifetimes"), lambda r: r.tell("churn"), has_rows("heapscope_lifetimes")),
    Feature("native_only", same("--native-only"), grow, has_all_it_did),
    Feature("blocks", same("--blocks"), grow, has_rows("heapscope_blocks")),
    Feature("no_types", same("--no-types"), grow, has_no_types),
    Feature("no_compress",
            same("--no-compress", record=[],
                 start=Without("the daemon's files stay for long, and are compressed", ["--no-compress"],
                               "unknown option '--no-compress'")),
            grow, is_uncompressed),
    Feature("snapshot", same(), ask_for_heap, has_all_it_did),
    Feature("list", same("-i", 16), list_it, has_all_it_did),
    Feature("stop", same(), stop_it, has_all_it_did),
    Feature("concurrent_sessions", same(), attach_beside_it, has_all_it_did),
]


# Options that are about the file, the messages or which processes are meant, and those without an effect.
NO_FEATURES = {"--symbols", "--html", "--output", "--quiet", "--top", "--session", "--help", "--pid", "--all", "--min-memory", "--no-running",
               "--no-startup", "--allocator", "--shmem-size", "--block-client", "--no-block-client",
               "--block-client-timeout", "--all-heaps", "--disable-fork-teardown", "--no-annotations",
               "--print-config", "--config", "--dump-on-usr1", "--name"}

# --- the tests ------------------------------------------------------------------------------------


@pytest.fixture
def setting(dist, target, heapscope, report, tmp_path, request):
    for name in (WORKER, HELPER):
        shutil.copy(target("features"), tmp_path / name)

    def daemon():
        return request.getfixturevalue("daemon")

    return Setting(dist, tmp_path, {}, report, heapscope, daemon)


def options_of(wanted, folder):
    if isinstance(wanted, Config):
        (folder / "config").write_text(wanted.text())
        return ["-c", folder / "config"]
    return wanted


def refuse(setting, command, without):
    """The command says so, exits with an error, and nothing ran."""
    proof = setting.folder / "ran"
    operands = {"run": ["--", "touch", proof], "record": ["--", "touch", proof], "start": ["-p", os.getpid()],
                "attach": [] if "-n" in without.options else [os.getpid()]}
    done = setting.heapscope(command, *without.options, *operands[command], env=setting.env)
    assert done.returncode in (1, 2) and without.words in done.stderr, done
    assert without.why and not proof.exists()


def words_of(wanted):
    words = getattr(wanted, "options", wanted)
    return set() if isinstance(wanted, Config) else {str(word) for word in words}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_has_each_option(heapscope, command):
    """Each option of each command stands in a row, or among those that are no feature of a session."""
    for feature in FEATURES:
        assert set(feature.options) == set(COMMANDS), feature.name
    known = set().union(*(words_of(feature.options[command]) for feature in FEATURES)) | NO_FEATURES
    asked = re.findall(r"^ +(?:(-\w), )?(--[a-z0-9-]+)", heapscope(command, "--help").stdout, re.M)
    assert asked
    assert [names for names in asked if not known & set(names)] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_feature(setting, feature, command):
    wanted = feature.options[command]
    if isinstance(wanted, Without):
        refuse(setting, command, wanted)
        return
    if command == "attach":
        need_ptrace()
    check = feature.check
    if isinstance(wanted, Otherwise):
        wanted, check = wanted.options, wanted.check
    recording = KINDS[command](setting, options_of(wanted, setting.folder))
    try:
        feature.drive(recording)
        recording.end()
        check(recording)
    finally:
        recording.stop()
