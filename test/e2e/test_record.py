"""heapscope record: heap_profile's command line, and the folder of files that it writes."""

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess

from conftest import clean_env
from waiting import wait_for_samples, wait_until

ALLOCATES = "import sys; x = [bytes(1000 + i) for i in range(2000)]; sys.exit(%d)"
PYTHON = "/usr/bin/python3"


def record(dist, *args, name="heapscope", **more):
    words = [dist / "bin" / name] + (["record"] if name == "heapscope" else []) + list(args)
    more.setdefault("env", clean_env())
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


def value_totals(root, file):
    """Sums of the values of all samples, and the names of the sample types."""
    done = subprocess.run(
        ["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto",
         f"{root}/src/profile/proto/pprof.proto"],
        input=gzip.decompress(file.read_bytes()), capture_output=True, check=True)
    text = done.stdout.decode()
    strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
    types = [strings[int(t)] for t in re.findall(r"^sample_type \{\n  type: (\d+)", text, re.M)]
    totals = [0] * len(types)
    for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        for i, value in enumerate(re.findall(r"^  value: (\d+)", sample, re.M)):
            totals[i] += int(value)
    return types, totals


def test_folder(dist, root, report, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    done = record(dist, "host", "-i", "1", "-o", out, "--", PYTHON, "-c", ALLOCATES % 7,
                  name="heap_profile")
    assert done.returncode == 7, done.stderr
    assert f"Wrote profiles to {out}\n" in done.stdout
    files = sorted(out.glob("heap_dump.*"))
    assert len(files) == 1 and re.fullmatch(r"heap_dump\.1\.\d+\.libc\.malloc\.pb\.gz", files[0].name)
    types, totals = value_totals(root, files[0])
    assert types == ["Total malloc count", "Total malloc size", "Unreleased malloc count",
                     "Unreleased malloc size"]
    said = report(out / "raw-trace")["totals"]
    assert totals == [said["alloc"]["count"], said["alloc"]["bytes"], said["live"]["count"],
                      said["live"]["bytes"]]
    assert totals[1] > 2_000_000


def test_flags_as_heap_profile_takes_them(dist, tmp_path):
    """Options before the word `record`, abbreviated ones, and none of the program's own; a program
    may be called like the word."""
    script = tmp_path / "host"
    script.write_text('#!/bin/sh\nexec /usr/bin/python3 -c "import sys; print(sys.argv[1:]); x = [bytes(9000)] * 9" "$@"\n')
    script.chmod(0o755)
    for i, args in enumerate((["-i", "1", "host", "-o", "OUT", "--", script, "--output", "x", "-i", "host"],
                              ["--interv=1", "--out", "OUT", "host", "--no-ann", script, "--output", "x", "-i", "host"],
                              ["-i1", "-oOUT", "--", script, "--output", "x", "-i", "host"])):
        out = tmp_path / f"out{i}"
        out.mkdir()
        done = record(dist, *[out if a == "OUT" else f"-o{out}" if a == "-oOUT" else a for a in args],
                      name="heap_profile")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("['--output', 'x', '-i', 'host']\n") and list(out.glob("heap_dump.1.*")), done
    done = record(dist, "-n", "x", "android")
    assert done.returncode == 1 and "cannot profile Android devices" in done.stderr
    done = record(dist, "--no", "--", "true")
    assert done.returncode == 2 and "unknown option '--no'" in done.stderr


def test_command_line_of_perfetto(dist, report, tmp_path):
    """A config from standard input, and one trace instead of a folder; -i and -d override the
    config."""
    config = record(dist, "-n", "python3", "--print-config").stdout
    out = tmp_path / "trace"
    done = record(dist, "-c", "-", "--txt", "-o", out, "-i", "1", "--", PYTHON, "-c", ALLOCATES % 7, input=config)
    assert done.returncode == 7, done.stderr
    assert report(out)["totals"]["alloc"]["bytes"] > 2_000_000
    assert '"interval_bytes": 1,' in json.dumps(report(out))
    text = record(dist, "-c", "-", "-d", "1234", "--interval", "77", "--print-config", input=config).stdout
    assert "duration_ms: 1234\n" in text and "sampling_interval_bytes: 77\n" in text
    (tmp_path / "config").write_text(config)
    done = subprocess.run([dist / "bin/heapscope", "record", "-c", tmp_path / "config", "-o", "-", "--", PYTHON, "-c",
                           "x = [bytes(9000)] * 9"], capture_output=True, timeout=60, env=clean_env())
    assert done.returncode == 0 and done.stdout[:1] == b"\x0a", done.stderr
    folder = tmp_path / "folder"
    folder.mkdir()
    done = record(dist, "-c", tmp_path / "config", "-o", folder, "--", PYTHON, "-c", ALLOCATES % 0)
    assert done.returncode == 0 and (folder / "raw-trace").exists(), done.stderr
    done = record(dist, "-c", tmp_path / "config", "--heaps", "x", "--", "true")
    assert done.returncode == 2 and "only --interval and --duration" in done.stderr
    done = record(dist, "-c", tmp_path / "config", "-o", tmp_path / "none", "--", "/bin/cat", "/dev/null")
    assert done.returncode == 1 and "No profiles generated" in done.stderr


def test_flags_of_habit(dist, tmp_path):
    done = record(dist, "-p", "1, 2 ", "-n", "a , b", "--print-config")
    assert re.findall("pid: (.*)", done.stdout) == ["1", "2"]
    assert re.findall("process_cmdline: (.*)", done.stdout) == ['"a"', '"b"']
    done = record(dist, "--trace-processor-binary", "/bin/true", "-o", tmp_path, "--", PYTHON, "-c", ALLOCATES % 0)
    assert done.returncode == 0 and "/bin/true is not used" in done.stderr
    done = record(dist, "-i", "1", PYTHON, "-c", ALLOCATES % 3)  # -c belongs to the program
    assert done.returncode == 3, done.stderr


def is_pending(pid, number):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^ShdPnd:\t(\w+)$", text, re.M).group(1), 16) >> (number - 1) & 1


def test_dump_on_demand(dist, tmp_path):
    program = "import sys; x = [bytes(1000 + i) for i in range(2000)]; print(flush=True); sys.stdin.read()"
    with subprocess.Popen([dist / "bin" / "heapscope", "record", "-i", "1", "-o", tmp_path, "--", PYTHON, "-c", program],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=clean_env()) as run:
        run.stdout.readline()
        run.send_signal(signal.SIGUSR1)
        wait_until(lambda: not is_pending(run.pid, signal.SIGUSR1), "the signal stays pending")
        _, err = run.communicate("", timeout=60)
        assert run.returncode == 0, err
    assert len(list(tmp_path.glob("heap_dump.*"))) == 2


def test_default_folder_and_link(dist, tmp_path):
    env = clean_env(TMPDIR=str(tmp_path))
    runs = [subprocess.Popen([dist / "bin" / "heapscope", "record", "--", PYTHON, "-c", ALLOCATES % 0],
                             stdout=subprocess.PIPE, env=env, text=True) for _ in range(2)]
    folders = set()
    for run in runs:
        out, _ = run.communicate(timeout=120)
        assert run.returncode == 0
        folders.add(re.search(r"^Wrote profiles to (\S+)", out, re.M).group(1))
    assert len(folders) == 2
    for folder in folders:
        assert re.fullmatch("[0-9a-f]{6}", pathlib.Path(folder).name)
        assert list(pathlib.Path(folder).glob("heap_dump.1.*"))
    assert os.readlink(tmp_path / "heap_profile-latest") in folders


def test_symbols(dist, tmp_path):
    done = record(dist, "-o", tmp_path, "--", PYTHON, "-c", ALLOCATES % 0,
                  env=clean_env(PERFETTO_BINARY_PATH="/usr/lib/debug"))
    assert done.returncode == 0, done.stderr
    raw, symbols, both = [(tmp_path / name).read_bytes()
                          for name in ("raw-trace", "symbols", "symbolized-trace")]
    assert symbols and both == raw + symbols


def test_symbols_of_a_stripped_program(dist, tmp_path):
    """By build id, anywhere below the folders; by path and name only where that is requested."""
    source = tmp_path / "p.c"
    source.write_text("#include <stdlib.h>\nvoid *volatile p;\n__attribute__((noinline)) static void hidden_one(void) "
                      "{ p = malloc(100000); }\nint main(void) { hidden_one(); return 0; }\n")
    program, debug = tmp_path / "p", tmp_path / "a" / "b" / "odd name"
    debug.parent.mkdir(parents=True)
    subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", program, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    (tmp_path / "a" / "circle").symlink_to(tmp_path / "a")
    for mode, is_named in ((None, True), ("index", True), ("find", False)):
        out = tmp_path / f"out-{mode}"
        out.mkdir()
        env = clean_env(PERFETTO_BINARY_PATH=tmp_path / "a", **({"PERFETTO_SYMBOLIZER_MODE": mode} if mode else {}))
        done = record(dist, "-i", "1", "-o", out, "--", program, env=env)
        assert done.returncode == 0, done.stderr
        assert (b"hidden_one" in (out / "symbols").read_bytes()) == is_named, mode
    # A command that reads the trace without names finds them by the same variables; otherwise it
    # has none.
    for mode, is_named in ((None, True), ("find", False)):
        env = clean_env(PERFETTO_BINARY_PATH=f"/nowhere:{tmp_path / 'a'}", **({"PERFETTO_SYMBOLIZER_MODE": mode} if mode else {}))
        said = subprocess.run([dist / "bin" / "heapscope", "report", tmp_path / "out-find" / "raw-trace"], env=env,
                              capture_output=True, text=True, timeout=60, check=True).stdout
        assert ("hidden_one" in said) == is_named, said
        raw = tmp_path / "out-find" / "raw-trace"
        ask = "SELECT count(*) AS n FROM {} WHERE name = 'hidden_one'"
        tables = ("stack_profile_frame", "heapscope_nodes")
        for table in tables:
            for file, options in ((raw, {}), ("-", {"input": raw.read_bytes()})):
                found = subprocess.run([dist / "bin" / "heapscope", "query", "--format", "csv", file, ask.format(table)], env=env,
                                       capture_output=True, timeout=60, check=True, **options).stdout
                assert (found.split()[-1] != b"0") == is_named, (table, file, found)
        database = tmp_path / f"{mode}.db"
        subprocess.run([dist / "bin" / "heapscope", "export", "-q", "-f", "sqlite", "-o", database, raw], env=env, timeout=60, check=True)
        found = subprocess.run(["sqlite3", database, ask.format("heapscope_nodes")], capture_output=True, text=True, check=True).stdout
        assert (found != "0\n") == is_named


def test_the_config_is_in_metadata(dist, tmp_path):
    config = tmp_path / "config"
    config.write_text('unique_session_name: "of mine"\nduration_ms: 300\n'
                      'data_sources { config { name: "android.heapprofd" heapprofd_config { sampling_interval_bytes: 4096 } } }\n')
    done = record(dist, "-c", config, "--txt", "-o", tmp_path / "x", "--", PYTHON, "-c", ALLOCATES % 0)
    assert done.returncode == 0, done.stderr
    ask = "SELECT name, str_value FROM metadata WHERE name IN ('trace_config_pbtxt', 'unique_session_name') ORDER BY name"
    rows = json.loads(subprocess.run([dist / "bin" / "heapscope", "query", "--format", "json", tmp_path / "x", ask],
                                     capture_output=True, text=True, check=True).stdout)
    assert [row["name"] for row in rows] == ["trace_config_pbtxt", "unique_session_name"]
    assert rows[1]["str_value"] == "of mine"
    assert "    heapprofd_config {\n      sampling_interval_bytes: 4096\n    }\n" in rows[0]["str_value"]
    # Each has one value: of two traces, that of the second.
    config.write_text(config.read_text().replace("of mine", "another"))
    assert record(dist, "-c", config, "--txt", "-o", tmp_path / "y", "--", PYTHON, "-c", ALLOCATES % 0).returncode == 0
    both = tmp_path / "both"
    both.write_bytes((tmp_path / "x").read_bytes() + (tmp_path / "y").read_bytes())
    rows = json.loads(subprocess.run([dist / "bin" / "heapscope", "query", "--format", "json", both, ask],
                                     capture_output=True, text=True, check=True).stdout)
    assert [row["name"] for row in rows] == ["trace_config_pbtxt", "unique_session_name"]
    assert rows[1]["str_value"] == "another" and '"another"' in rows[0]["str_value"]


def test_refused(dist, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    for args, status, words in [
            (["-o", full, "--", "true"], 1, "is not empty"),
            (["-o", tmp_path / "none", "--", "true"], 1, "No such file"),
            (["--block-client", "--no-block-client", "--", "true"], 1, "cannot be combined"),
            (["--shmem-size", "4096", "--", "true"], 1, "less than 8192"),
            (["--shmem-size", "10000", "--", "true"], 1, "multiple of 4096"),
            (["--shmem-size", "12288", "--", "true"], 1, "power of two"),
            (["-p", "x1"], 1, "'x1' is not a process id"),
            ([], 1, "no process to profile was named"),
            (["android", "-n", "x"], 1, "cannot profile Android devices"),
            (["--frobnicate"], 2, "--frobnicate"),
            (["-c", "/nowhere", "--", "true"], 1, "/nowhere: No such file"),
            (["--", "/nowhere/program"], 127, "/nowhere/program")]:
        done = record(dist, *args, env=clean_env(TMPDIR=str(tmp_path)))
        assert (done.returncode, words in done.stderr) == (status, True), (args, done)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full"]


def test_config(dist, tmp_path):
    flags = ["-i", "8192", "-c", "100", "-d", "5000", "-n", "a,b", "-p", "1,2"]
    printed = record(dist, *flags, "--print-config").stdout
    assert 'process_cmdline: "a"' in printed and "dump_interval_ms: 100" in printed
    again = record(dist, "-c", "-", "--print-config", input=printed)
    third = record(dist, "-c", "-", "--print-config", input=again.stdout)
    assert again.returncode == 0 and again.stdout == third.stdout
    wrong = record(dist, "-c", "-", "--", "true", input="duration_ms: 1\ndata_sorces {}")
    assert wrong.returncode == 1 and "standard input:2:1:" in wrong.stderr
    assert "did you mean 'data_sources'" in wrong.stderr
    out = tmp_path / "out"
    out.mkdir()
    config = tmp_path / "config"
    config.write_text('data_sources { config { name: "android.heapprofd" heapprofd_config { '
                      'sampling_interval_bytes: 64 process_cmdline: "python3*" } } }')
    done = record(dist, "-c", config, "-o", out, "--", PYTHON, "-c", ALLOCATES % 0)
    assert done.returncode == 0, done.stderr
    assert b"android.heapprofd" in (out / "raw-trace").read_bytes()


def test_other_data_sources(dist, tmp_path):
    """Only the config decides which counters there are."""
    for sources, kinds in (("linux.process_stats", {"mem.rss"}), ("linux.sys_stats", {"MemFree"})):
        out = tmp_path / sources
        out.mkdir()
        field = "process_stats_config { proc_stats_poll_ms: 100 }" if "process" in sources else (
            "sys_stats_config { meminfo_period_ms: 100 meminfo_counters: MEMINFO_MEM_FREE }")
        config = ('data_sources { config { name: "android.heapprofd" heapprofd_config { sampling_interval_bytes: 64 '
                  'process_cmdline: "python3*" } } } data_sources { config { name: "%s" %s } }' % (sources, field))
        done = record(dist, "-c", "-", "-o", out, "--", PYTHON, "-c", ALLOCATES % 0, input=config)
        assert done.returncode == 0, done.stderr
        rows = subprocess.run([dist / "bin" / "heapscope", "query", "--format", "csv", out / "raw-trace",
                               "SELECT DISTINCT name FROM counter_track"], check=True, capture_output=True, text=True)
        names = {line.strip('"') for line in rows.stdout.splitlines()[1:]}
        assert kinds <= names and not names & ({"mem.rss", "MemFree"} - kinds), names


def test_duration_ends_the_session(dist, tmp_path, report):
    program = "import time; x = [bytes(1000) for i in range(2000)]; time.sleep(3); " \
              "y = bytes(50_000_000); print(len(y))"
    done = record(dist, "-d", "1500", "-i", "1", "-o", tmp_path, "--", PYTHON, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("50000000\n")
    live = report(tmp_path / "raw-trace")["totals"]["live"]["bytes"]
    assert 2_000_000 < live < 50_000_000


def test_other_names(dist, tmp_path):
    done = record(dist, "-n", "nobody", "-o", tmp_path, "--", PYTHON, "-c", ALLOCATES % 0)
    assert done.returncode == 1 and "No profiles generated" in done.stderr


def test_full_disk(dist, tmp_path):
    """On a file system of 16 KiB: nothing is left, and the failure is reported."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    script = 'mount -t tmpfs -o size=16k none "$1" || exit 99; "$2" record -i 1 -o "$1" -- ' \
             '"$3" -c "$4"; status=$?; ls -A "$1"; exit $status'
    done = subprocess.run(unshare + ["sh", "-c", script, "sh", tmp_path, dist / "bin" / "heapscope",
                                     PYTHON, ALLOCATES % 0],
                          capture_output=True, text=True, timeout=120, env=clean_env())
    assert done.returncode == 1 and "cannot write" in done.stderr, done
    assert done.stdout == ""


def test_interrupted_attach(dist, heapscope, tmp_path):
    """Ctrl-C ends the session, and the files are written; the program continues."""
    program = "import time\nprint(flush=True)\n" \
              "while True:\n    x = [bytes(3000) for i in range(1000)]\n    time.sleep(0.02)\n"
    with subprocess.Popen([PYTHON, "-c", program], stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        try:
            run = subprocess.Popen([dist / "bin" / "heapscope", "record", "-i", "1", "-p",
                                    str(target.pid), "-o", tmp_path], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=clean_env())
            wait_for_samples(heapscope, f"attach.{run.pid}", 1000, [target.pid])
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
            assert run.returncode == 0, err
            assert f"Wrote profiles to {tmp_path}" in out
            assert (tmp_path / f"heap_dump.1.{target.pid}.libc.malloc.pb.gz").exists()
            assert target.poll() is None
        finally:
            target.kill()


def test_printed_config_is_a_config(dist, root):
    """protoc reads it, with the numbers and types of config.proto."""
    printed = record(dist, "-n", 'a "b"', "-d", "5", "--heaps", "libc.malloc", "--print-config")
    encoded = subprocess.run(["protoc", "--encode=hs.pb.TraceConfig", f"-I{root}/src/trace/proto",
                              f"{root}/src/trace/proto/config.proto"],
                             input=printed.stdout.encode(), capture_output=True, check=True).stdout
    again = subprocess.run([dist / "bin" / "heapscope", "record", "-c", "-", "--print-config"],
                           input=encoded, capture_output=True, env=clean_env(), check=True)
    assert b'process_cmdline: "a \\"b\\""' in again.stdout and b"duration_ms: 5" in again.stdout
