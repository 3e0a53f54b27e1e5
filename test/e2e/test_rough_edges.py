"""Findings of a walk through the commands: damaged files, unusual command lines, missing messages."""

import gzip
import os
import pty
import resource
import subprocess

import pytest

PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def traces(dist, tmp_path_factory):
    """One program's trace, plain and compressed; its command line ends in blanks."""
    folder = tmp_path_factory.mktemp("walk")
    program = "x = [bytes(1000 + i) for i in range(3000)]"
    for name, options in (("plain", ["--no-compress"]), ("packed", []), ("nameless", ["--no-compress", "--no-symbolize"])):
        subprocess.run([dist / "bin" / "heapscope", "run", "-q", "-i", "256", *options, "-o", folder / name, "--", PYTHON,
                        "-c", program, "padded", "   ", "", " "], check=True, timeout=120)
    return folder


def cut(folder, name, share):
    data = (folder / name).read_bytes()
    file = folder / f"{name}-{share}"
    file.write_bytes(data[:share if share > 1 else int(len(data) * share)])
    return file


@pytest.mark.costly
def test_trailing_blanks(heapscope, traces, report):
    """A program that wrote a title over its arguments leaves blanks behind it."""
    assert report(traces / "plain")["processes"][0]["cmdline"].endswith(" padded")
    head = heapscope("report", traces / "plain").stdout.splitlines()[1]
    assert head.endswith(" padded"), head


def test_cut_off(heapscope, traces, tmp_path):
    """If nothing is left of the file, the message says why, and does not call it another kind of
    file. If a part is left, the loss is reported, also in output files."""
    for file in (cut(traces, "plain", 12), cut(traces, "packed", 40)):
        done = heapscope("report", file)
        assert done.returncode == 1 and "may be a trace that was cut off" in done.stderr, done
    # Cut in the middle of the only dump: half of it is there, but not the names, which are behind
    # it.
    done = heapscope("report", cut(traces, "nameless", 0.5))
    assert done.returncode == 1
    assert "no heap profile in this file: it is damaged, or was cut off" in done.stderr, done
    late = cut(traces, "plain", 0.995)
    done = heapscope("export", "-f", "folded", "-o", tmp_path / "x", late)
    assert done.returncode == 0 and f"{late} is damaged or cut off" in done.stderr, done
    done = heapscope("export", "-f", "folded", "-o", tmp_path / "x", traces / "plain")
    assert done.returncode == 0 and "damaged" not in done.stderr
    other = tmp_path / "other"
    other.write_bytes(b"\n\x05hello, this is no trace at all")
    assert "cut off" not in heapscope("report", other).stderr


def test_mode_of_the_shell(dist, traces, tmp_path):
    """The way sqlite3 and others are called; without arguments it prints its version."""
    main, side = pty.openpty()
    with subprocess.Popen([dist / "bin" / "heapscope", "query", traces / "plain"], stdin=side, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=dict(os.environ, XDG_STATE_HOME=str(tmp_path), TERM="dumb"),
                          text=True) as process:
        os.write(main, b".mode csv\n.mode\nSELECT 6 * 7 AS answer;\n.mode wrong\n.quit\n")
        out = process.communicate(timeout=60)[0]
    os.close(main)
    os.close(side)
    assert process.returncode == 0
    for words in ("csv\n", '"answer"\n42\n', "'wrong' is not a format"):
        assert words in out, out


def test_a_name_that_a_shell_would_obey(dist, heapscope, tmp_path):
    """The name is sanitized in the file name and in the suggested command; it is not treated as
    C++."""
    program = tmp_path / "we ird;$(touch x)::<y>"
    source = tmp_path / "p.c"
    source.write_text("#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(100000); return 0; }\n")
    subprocess.run(["gcc", "-s", "-o", program, source], check=True)
    done = heapscope("run", "--", program, cwd=tmp_path)
    name = next(line for line in done.stderr.splitlines() if "Next: heapscope report " in line).split("report ")[1]
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._"), name
    report = heapscope("report", name, cwd=tmp_path).stdout
    assert "we ird;$(touch x)::<y>+0x" in report, report
    done = heapscope("run", "-o", "it's $(touch x).pftrace", "--", program, cwd=tmp_path)
    line = next(line for line in done.stderr.splitlines() if "Next: " in line).split("Next: ")[1]
    env = {"PATH": f"{dist / 'bin'}:{os.environ['PATH']}", "HEAPSCOPE_CACHE": "off"}
    assert subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, stdout=subprocess.PIPE, timeout=60).returncode == 0
    assert not (tmp_path / "x").exists()


def test_doctor_of_a_relative_path(heapscope, tmp_path):
    source = tmp_path / "p.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-o", tmp_path / "program", source], check=True)
    for name in ("./program", f"../{tmp_path.name}/program"):
        done = heapscope("doctor", name, cwd=tmp_path)
        assert done.returncode == 0 and "cannot be read" not in done.stdout, done.stdout


def test_a_pipe_of_something_else(dist, tmp_path):
    """The pipe was already read; reading it again, for a hint about its kind, would wait for a
    writer that never comes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([dist / "bin" / "heapscope", "report", pipe], stderr=subprocess.PIPE, text=True) as process:
        pipe.write_text("hello\n")
        assert "no collapsed stacks" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


@pytest.mark.costly
def test_one_stack_many_times(dist, tmp_path):
    """A few kilobytes that expand to ten million lines of one stack: one sample."""
    file = tmp_path / "stacks.gz"
    file.write_bytes(gzip.compress(b"main;f 1\n" * 10_000_000))
    # A limit, as the memory that wait4(2) reports includes that of the process that forked.
    done = subprocess.run([dist / "bin" / "heapscope", "export", "-q", "-f", "folded", file], capture_output=True, text=True,
                          check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (512 << 20, 512 << 20)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "main;f 10000000\n", "")


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("command", [["report"], ["export", "-f", "folded"], ["query"], ["diff", "-"], ["check", "--max-live", "1G"]])
def test_more_than_there_is_memory_for(dist, tmp_path, command):
    """How much a file may expand is limited; here by the user, to much less than our own limit."""
    file = tmp_path / "stacks"
    file.write_bytes(b"".join(b"main;f%d 1\n" % i for i in range(1_000_000)))
    words = [str(file) if word == "-" else word for word in command] + [file]
    words += ["SELECT count(*) FROM heapscope_samples"] if command == ["query"] else []
    done = subprocess.run([dist / "bin" / "heapscope", *words], capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20)))
    assert done.returncode == (3 if command[0] == "check" else 1), done
    assert "it needs more memory than there is" in done.stdout + done.stderr, done
