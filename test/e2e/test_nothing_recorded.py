"""Where nothing was recorded, the command says why, and what to do."""

import shutil
import subprocess

import pytest
from conftest import clean_env
from resident import need_ptrace
from test_record_processes import PYTHON, without_daemon
from waiting import wait_for_program, wait_until

QUIET = "int main(void) { return 0; }"
SMALL = "#include <stdlib.h>\nint main(void) { return !malloc(10); }"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    def call(name, source, *flags):
        program = tmp_path_factory.mktemp("programs") / name
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, *flags], input=source, text=True, check=True)
        return program

    return call


def words(done):
    return " ".join(done.stderr.replace("heapscope: ", "").split())


def commands(tmp_path, program, *options):
    folder = tmp_path / "folder"
    folder.mkdir()
    yield ["run", "-o", tmp_path / "x", *options, "--", program], 0
    yield ["record", "-o", folder, *options, "--", program], 1
    yield ["record", "-c", "-", "--txt", "-o", tmp_path / "y", "--", program], 1


def test_nothing_was_sampled(heapscope, compiled, tmp_path):
    for command, status in commands(tmp_path, compiled("small", SMALL)):
        config = 'data_sources { config { name: "android.heapprofd" heapprofd_config { sampling_interval_bytes: 4096 } } }'
        done = heapscope(*command, env=without_daemon(tmp_path), input=config)
        assert done.returncode == status, done
        assert "none of its allocations was sampled: at a mean interval of 4.00 KiB" in words(done), done
        assert "-i 1 records every allocation" in words(done)


def test_nothing_was_allocated(heapscope, compiled, tmp_path):
    done = heapscope("run", "-i", 1, "-o", tmp_path / "x", "--", compiled("quiet", QUIET))
    assert done.returncode == 0 and "called no allocation function" in words(done), done


def test_static(heapscope, compiled, tmp_path):
    done = heapscope("run", "-o", tmp_path / "x", "--", compiled("static", SMALL, "-static"))
    assert "is statically linked" in words(done) and "link it dynamically" in words(done)


def test_nobody_of_that_name(heapscope, compiled, tmp_path):
    done = heapscope("run", "--only", "nobody", "-o", tmp_path / "x", "--", compiled("small", SMALL))
    assert "no process that was asked for ran or started" in words(done) and "ps -eo pid,args" in words(done), done
    folder = tmp_path / "out"
    folder.mkdir()
    done = heapscope("record", "-n", "nobody-is-called-so", "-d", 300, "-o", folder, env=without_daemon(tmp_path))
    assert done.returncode == 1 and "no process that was asked for ran or started" in words(done), done


def test_nothing_since_it_was_attached_to(heapscope, tmp_path):
    with subprocess.Popen([PYTHON, "-c", "x = [bytes(100) for i in range(9999)]; print(flush=True); input()"], env=clean_env(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        done = heapscope("attach", process.pid, "-i", 1, "-d", "200ms", "-o", tmp_path / "x")
        process.communicate("\n")
    assert done.returncode == 0 and "allocated nothing after recording began" in words(done), done
    assert "start it with 'heapscope run'" in words(done)


def test_a_child_that_cannot_be_recorded(heapscope, compiled, tmp_path):
    """The figures are those of the program alone, and only these are called exact."""
    static = compiled("static", SMALL, "-static")
    done = heapscope("run", "-i", 1, "-o", tmp_path / "x", "--", "/bin/sh", "-c", f"{static}; true")
    assert "exact: all" in words(done) and "allocations of this process were recorded" in words(done), done
    assert "sh started other processes, and nothing was recorded of them" in words(done), done
    assert "statically linked" in words(done)
    seen = heapscope("run", "-i", 1, "-o", tmp_path / "x", "--", "/bin/sh", "-c", f"{compiled('small', SMALL)}; true")
    assert "allocations of these processes were recorded" in words(seen), seen
    for options, script in (([], f"{compiled('small', SMALL)}; true"), (["--no-follow"], f"{static}; true"), ([], "true")):
        done = heapscope("run", *options, "-i", 1, "-o", tmp_path / "x", "--", "/bin/sh", "-c", script)
        assert "nothing was recorded of them" not in words(done), done


def test_stop_of_a_session(daemon, compiled):
    small = compiled("little", SMALL)
    name = daemon.begin("-n", "little", "-i", "1G")
    subprocess.run([small], env=daemon.preloaded(), check=True)
    wait_until(lambda: daemon.session(name)["dump_count"] == 1)
    done = daemon.ask("stop", name)
    assert done.returncode == 0 and "none of its allocations was sampled: at a mean interval of 1.00 GiB" in words(done), done
    name = daemon.begin("-n", "little", "-i", 1)
    subprocess.run([small], env=daemon.preloaded(), check=True)
    wait_until(lambda: daemon.session(name)["dump_count"] == 1)
    done = daemon.ask("stop", name)
    assert done.returncode == 0 and "none of" not in words(done), done
    name = daemon.begin("-n", "nobody-is-called-so")
    done = daemon.ask("stop", name)
    assert done.returncode == 1 and "no process was recorded: none that the session names ran" in words(done)
    assert "ps -eo pid,args" in words(done)


SLEEPER = "#include <unistd.h>\nint main(void) { return sleep(60); }"


@pytest.mark.parametrize("flag, compiler, why, remedy", [
    ("-m32", "gcc", "it is a 32-bit program", "build it for 64 bits"),
    ("-static", "gcc", "it is statically linked", "link it dynamically"),
    ("-O1", "musl-gcc", "its C library is not glibc", "build it for glibc"),
])
@pytest.mark.parametrize("way", ["attach", "record"])
def test_a_name_that_cannot_be_attached_to(heapscope, tmp_path, flag, compiler, why, remedy, way):
    """By name, the message is that of attaching; by pid, that of the check before: both say what to
    do."""
    need_ptrace()
    program = tmp_path / "cannot-be-had"
    made = shutil.which(compiler) and subprocess.run([compiler, "-x", "c", "-", flag, "-o", program], input=SLEEPER, text=True,
                                                     capture_output=True, check=False)
    if not made or made.returncode != 0:
        pytest.skip(f"{compiler} {flag} makes no programs here")
    out = tmp_path / "out"
    if way == "record":
        out.mkdir()
    for by in (["-p"] if way == "record" else [], ["-n"]):
        with subprocess.Popen([program]) as process:
            wait_for_program(process.pid, program.name)
            who = program.name if by == ["-n"] else process.pid
            duration = ["-d", 200 if way == "record" else "200ms"]
            done = heapscope(way, *by, who, *duration, "-o", out, env=without_daemon(tmp_path))
            process.kill()
        assert done.returncode == 1 and remedy in words(done), done
        assert by != ["-n"] or why in words(done), done
