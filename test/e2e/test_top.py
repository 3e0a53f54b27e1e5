"""`heapscope top`: as plain text, and on a terminal, which is tmux's."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest
from conftest import clean_env
from recordings import GROWS, recorder
from resident import need_ptrace
from waiting import child_pids, state_of, wait_for_sleep, wait_until

ESC = "\033"
# Names that would do harm if they were shown as they are: of a function, of a file.
HOSTILE = "\n".join((
    "import time",
    "source = 'def evil():\\n kept.extend(bytearray(9000) for _ in range(300))\\nevil()\\n'",
    "name = 'a\\x1b[31m\\x1b]0;title\\x07\\u202e\\u6f22\\u5b57' + 'x' * 2000",
    "kept = []",
    "code = compile(source, name, 'exec')",
    "consts = tuple(c.replace(co_name='evil\\x1b[2J\\u202e\\u6f22\\u5b57' + 'y' * 10000) if hasattr(c, 'co_name') else c",
    "               for c in code.co_consts)",
    "exec(code.replace(co_consts=consts))",
    "print('ready', flush=True)",
    "time.sleep(600)",
))


@pytest.fixture
def recording(dist, heapscope, tmp_path):
    """recording([PROGRAM...], *OPTIONS): a `heapscope run` that is in the list."""
    with recorder(dist, heapscope, tmp_path) as record:
        yield lambda program, *options: record("run", program, *options)


def growing():
    return ["/usr/bin/python3", "-c", GROWS]


@contextlib.contextmanager
def killed(process):
    """Kills it at the end, also when the test fails: its end is waited for."""
    try:
        yield
    finally:
        process.kill()


class Terminal:
    """A shell in tmux, on a server of its own."""

    def __init__(self, folder, columns=80, rows=24):
        self.socket = folder / "tmux"
        self.folder = folder
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "t", "-c", str(folder),
                  "env PS1='$ ' sh")

    def tmux(self, *args):
        env = clean_env(TERM="xterm-256color", LC_ALL="C.UTF-8")
        env.pop("TMUX", None)
        done = subprocess.run(["tmux", "-S", self.socket, *args], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def run(self, *command, after=""):
        self.keys("-l", f"{shlex.join(map(str, command))}{after}")
        self.keys("Enter")

    def text(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def lines(self):
        return self.text().rstrip("\n").split("\n")

    def wait_for(self, what):
        """Waits until a line matches this regular expression, or what() is true of the text."""
        matches = what if callable(what) else re.compile(what, re.MULTILINE).search
        wait_until(lambda: matches(self.text()), lambda: f"{what}:\n{self.text()}", every_s=0.05, patience_s=10)
        return self.text()

    def shell(self):
        """The process of the shell."""
        return int(self.tmux("display-message", "-p", "-t", "t", "#{pane_pid}"))

    def is_restored(self):
        """Does the terminal echo, and is the cursor shown? The shell says so, and tmux does."""
        self.keys("-l", "clear; stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(echo|icanon)'; echo stty-ended")
        self.keys("Enter")
        text = self.wait_for("^stty-ended")
        how = self.tmux("display-message", "-p", "-t", "t", "#{cursor_flag} #{alternate_on} #{keypad_flag}")
        assert how == "1 0 0\n", how
        return text.split()[:2] == ["icanon", "echo"]

    def stop(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    folder = tmp_path / "terminal"
    folder.mkdir()
    it = Terminal(folder)
    try:
        it.wait_for(r"^\$")
        yield it
    finally:
        it.stop()


@pytest.fixture
def top(dist, terminal):
    """top(*ARGS): starts it on the terminal."""
    def call(*args, after="; echo ended $?"):
        terminal.run("env", "HEAPSCOPE_STATE=off", "HEAPSCOPE_CACHE=off", dist / "bin" / "heapscope", "top", *args, after=after)
        return terminal

    return call


# --- plain text ---------------------------------------------------------------------------------


def test_a_file(run, heapscope, report):
    file = run(["/usr/bin/python3", "-c", "kept = [bytearray(50000) for _ in range(100)]; import os; os._exit(0)"], "-i", 4096).file
    totals = report(file)["totals"]["live"]
    for table, word in (("stacks", "<module>"), ("functions", "<module>")):
        done = heapscope("top", "--by", table, file)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert re.search(word, done.stdout) and "the last snapshot of a file" in done.stdout
        assert len(done.stdout.splitlines()) <= 25
    highest = rf"^RSS not known then; {report(file)['processes'][0]['rss_peak_bytes'] / (1 << 20):.1f} MiB at its highest$"
    assert re.search(highest, done.stdout, re.MULTILINE), done.stdout
    assert f"in {totals['count']:,.0f} objects" in done.stdout or " K objects" in done.stdout
    assert heapscope("top", "no-such-folder/file").returncode == 1
    done = heapscope("top", "/etc/hostname")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_names_of_stacks(run, heapscope, tmp_path):
    """The code of a Python file is called after its file, and a function that calls itself stands
    once."""
    script = tmp_path / "leaves.py"
    script.write_text("def grow(n):\n    return grow(n - 1) if n else bytearray(3000000)\n\n\n"
                      "kept = grow(9)\nimport os\nos._exit(0)\n")
    file = run(["/usr/bin/python3", script], "-i", 4096).file
    done = heapscope("top", file)
    row = next(line for line in done.stdout.splitlines() if "2.86 MiB" in line and "%" in line)
    assert re.search(r"\bgrow\b.* < <module> \(leaves\.py\)", row) and row.count("grow") == 1, done.stdout
    assert "<module> (leaves.py)" in heapscope("top", "--by", "functions", "--top", "1000", file).stdout


def test_a_process(recording, heapscope):
    it = recording(growing())
    done = heapscope("top", "-n", "3", "-d", "200ms", "--top", "5", it.pid)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    tables = done.stdout.split("\n\n")
    assert len(tables) == 3
    for table in tables:
        lines = table.strip("\n").split("\n")
        assert lines[0].startswith(f"heapscope top  python3 ({it.pid}), by {it.name}")
        assert re.match(r"live [\d.]+ [KM]iB in [\d,]+ objects", lines[1]) and lines[2].startswith("RSS ")
        assert 5 < len(lines) <= 10
    assert re.search(r"\+[\d.]+ [KM]iB/s", done.stdout), "it grows"
    types = heapscope("top", "--by", "types", it.pid).stdout
    assert re.search(r"TYPE  \(\d\d", types) and re.search(r" (function|str|tuple|code)$", types, re.MULTILINE), types
    assert re.search(r"^RSS [\d.]+ MiB: (.*, )?modules [\d.]+ %, .*; not explained [\d.]+ %$", types, re.MULTILINE), types


def test_the_processes(recording, heapscope):
    it = recording(growing())
    done = heapscope("top", "--top", "1000", "-n", "2", "-d", "200ms")
    assert done.returncode == 0, done.stderr
    row = re.search(rf"^ +{it.pid} +[\d.]+ MiB +[\d.]+ [KM]iB .*{re.escape(it.name)} +python3$", done.stdout, re.MULTILINE)
    assert row, done.stdout


def test_who_is_not_recorded(heapscope):
    with subprocess.Popen(["sleep", "60"]) as process:
        done = heapscope("top", process.pid)
        process.kill()
    assert done.returncode == 1 and f"heapscope attach {process.pid}" in done.stderr
    assert heapscope("top", "no-such-name-at-all").returncode == 1
    assert heapscope("top", "-n", "0").returncode == 2
    assert heapscope("top", "a", "b").returncode == 2


def test_attach_and_detach(heapscope):
    need_ptrace()
    with subprocess.Popen(growing(), stdout=subprocess.PIPE, env=clean_env()) as process:
        process.stdout.readline()
        done = heapscope("top", "--attach", "-n", "2", "-d", "300ms", process.pid)
        assert done.returncode == 0, done.stderr
        assert f"python3 ({process.pid}), by attach." in done.stdout and "<module>" in done.stdout
        clients = heapscope("list", "--json").stdout
        assert f'"pid": {process.pid}' not in clients, "it is still recorded"
        assert process.poll() is None
        process.kill()
    done = heapscope("top", "--attach", process.pid)
    assert done.returncode == 1 and f"{process.pid}" in done.stderr


# --- the terminal -------------------------------------------------------------------------------


def test_from_processes_to_a_stack(recording, top):
    it = recording(growing())
    terminal = top()
    terminal.wait_for(r"recorded, \d+ could be")
    terminal.keys("/")
    terminal.keys("-l", "python")
    terminal.keys("Enter")
    terminal.wait_for(rf"{it.pid} .*run\.")
    others = [line for line in terminal.lines()[3:] if " python" in line]
    terminal.keys(*["Down"] * [line.split()[0] for line in others].index(str(it.pid)), "Enter")
    text = terminal.wait_for(r"STACK  \(\d+, by live\)")
    lines = text.split("\n")
    assert lines[0].startswith(f"heapscope top  python3 ({it.pid}), by {it.name}") and len(lines) <= 25
    assert "q quit" in lines[23] and all(len(line) <= 80 for line in lines)
    terminal.wait_for("\N{LOWER ONE EIGHTH BLOCK}")
    terminal.keys("Down", "Down", "Enter")
    terminal.wait_for(r"^ {12}\S+.*\[")  # frames with their modules
    terminal.keys("Enter")
    terminal.wait_for(lambda text: not re.search(r"^ {12}\S+.*\[", text, re.MULTILINE))
    terminal.keys("t")
    terminal.wait_for(r"SELF +TOTAL .*FUNCTION  \(\d+, by live\)")
    terminal.keys("o")
    terminal.wait_for("by total")
    terminal.keys("Tab")
    terminal.wait_for(r"OBJECTS +GROWTH +TYPE  \(\d\d")
    terminal.wait_for(r" (function|str|tuple|code)$")
    terminal.wait_for(r"^RSS [\d.]+ MiB: .*; not explained [\d.]+ %$")
    terminal.keys("t", "/")
    terminal.keys("-l", "MODULE>")
    terminal.keys("Enter")
    terminal.wait_for("only stacks whose name contains 'MODULE>'")
    terminal.keys("?")
    terminal.wait_for("Any key goes back")
    terminal.keys("x", "q")
    terminal.wait_for("ended 0")
    assert terminal.is_restored()


def test_the_size_changes(recording, top):
    it = recording(growing())
    terminal = top(it.pid)
    terminal.wait_for(r"STACK  \(\d+")
    for columns, rows in ((132, 40), (40, 10), (20, 5), (80, 24)):
        terminal.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))
        terminal.wait_for(lambda text, c=columns, r=rows: len(text.rstrip("\n").split("\n")) == r
                          and ("q quit" in text if c >= 80 else "Enter fr" in text) and "heapscope top" in text)
    terminal.keys("q")
    terminal.wait_for("ended 0")
    assert terminal.is_restored()


def test_snapshot_and_pause(recording, top, report, heapscope):
    it = recording(growing())
    terminal = top(it.pid)
    terminal.wait_for(r"STACK  \(\d+")
    terminal.keys("s")
    text = terminal.wait_for(r"wrote (heapscope\.python3\.\S+\.pftrace)")
    name = re.search(r"wrote (\S+)", text)[1]
    assert report(terminal.folder / name)["totals"]["live"]["bytes"] > 100_000
    types = heapscope("top", "--by", "types", terminal.folder / name).stdout
    assert re.search(r"TYPE  \(\d\d", types) and re.search(r" (function|str|tuple)$", types, re.MULTILINE), types
    terminal.keys("p")
    terminal.wait_for("PAUSED")
    before = terminal.lines()[1]
    it_is_so = terminal.text()
    terminal.keys("Down")
    terminal.wait_for("PAUSED")
    assert terminal.lines()[1] == before, it_is_so
    terminal.keys("p")
    terminal.wait_for(lambda text: "PAUSED" not in text and text.split("\n")[1] != before)
    terminal.keys("q")
    terminal.wait_for("ended 0")


def test_the_process_ends(recording, top):
    it = recording(growing())
    terminal = top(it.pid)
    terminal.wait_for(r"STACK  \(\d+")
    os.kill(it.pid, signal.SIGKILL)
    terminal.wait_for("it has ended, or is not recorded any more")
    terminal.wait_for("MiB|KiB")  # what it held last is still there
    terminal.keys("q")
    terminal.wait_for("ended 0")


def test_it_asks_before_it_attaches(top):
    need_ptrace()
    with subprocess.Popen(growing(), stdout=subprocess.PIPE, env=clean_env()) as process, killed(process):
        process.stdout.readline()
        terminal = top(process.pid)
        terminal.wait_for(f"process {process.pid} is not recorded: attach to it")
        assert "heapscope" not in open(f"/proc/{process.pid}/maps", encoding="utf-8").read()
        terminal.keys("n")
        terminal.wait_for(lambda text: "is not recorded" not in text)
        assert "heapscope" not in open(f"/proc/{process.pid}/maps", encoding="utf-8").read()
        terminal.keys("a")
        terminal.wait_for(f"process {process.pid} is not recorded")
        terminal.keys("a")
        terminal.wait_for(rf"python3 \({process.pid}\), by attach\.")
        terminal.wait_for("<module>")
        terminal.keys("Escape")  # detaches
        # There may be more processes than lines.
        terminal.keys("-l", "/python3")
        terminal.keys("Enter")
        terminal.wait_for(lambda text: re.search(rf"^ *{process.pid} .* -  +python3", text, re.MULTILINE))
        terminal.keys("q")
        terminal.wait_for("ended 0")
        assert process.poll() is None


def test_a_top_that_is_killed_detaches(top, heapscope):
    need_ptrace()
    with subprocess.Popen(growing(), stdout=subprocess.PIPE, env=clean_env()) as process:
        process.stdout.readline()
        terminal = top("--attach", process.pid)
        terminal.wait_for(rf"python3 \({process.pid}\), by attach\.")
        (guard,) = child_pids(terminal.shell(), b"top")
        (child,) = child_pids(guard, b"top")
        os.kill(child, signal.SIGKILL)
        terminal.wait_for("ended 137")
        wait_until(lambda: f'"pid": {process.pid}' not in heapscope("list", "--json").stdout, "it is still recorded")
        assert process.poll() is None and terminal.is_restored()
        process.kill()


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("by", ["SIGTERM", "SIGINT", "SIGHUP", "SIGSEGV", "SIGABRT", "SIGKILL"])
@pytest.mark.parametrize("who", ["guard", "child"])
def test_the_terminal_is_restored(recording, top, by, who):
    it = recording(growing())
    terminal = top(it.pid)
    terminal.wait_for(r"STACK  \(\d+")
    (guard,) = child_pids(terminal.shell(), b"top")
    (child,) = child_pids(guard, b"top")
    if by == "SIGINT":
        terminal.keys("C-c")  # to both
    else:
        os.kill(guard if who == "guard" else child, signal.Signals[by])
    wait_until(lambda: state_of(child) == "" and state_of(guard) == "", "it does not end")
    terminal.wait_for(r"" if who == "guard" else r"ended \d" if by != "SIGINT" else r"^\$")
    assert terminal.is_restored()


def test_names_are_shown_harmlessly(recording, top, heapscope):
    it = recording(["/usr/bin/python3", "-c", HOSTILE], "-i", 1)
    wait_for_sleep(it.pid)
    done = heapscope("top", "-n", "1", it.pid)
    assert "evil" in done.stdout
    for bad in (ESC, "\u202e", "\a", "\r"):
        assert bad not in done.stdout
    terminal = top(it.pid)
    terminal.wait_for("evil")
    title = terminal.tmux("display-message", "-p", "-t", "t", "#{pane_title}")
    assert "title" not in title
    lines = terminal.lines()
    assert lines[0].startswith("heapscope top") and "q quit" in lines[23]
    terminal.keys("Enter")
    terminal.wait_for(r"^ {12}")
    assert "q quit" in terminal.lines()[23]
    terminal.keys("q")
    terminal.wait_for("ended 0")
    assert terminal.is_restored()


def test_a_terminal_that_is_not_known(recording, terminal, dist):
    it = recording(growing())
    terminal.run("env", "TERM=no-such-kind", dist / "bin" / "heapscope", "top", it.pid, after="; echo ended $?")
    terminal.wait_for("ended 1")
    assert "is not known; use 'heapscope top --plain'" in terminal.text().replace("\n", "")
    terminal.run("env", "LC_ALL=C", "TERM=vt100", dist / "bin" / "heapscope", "top", it.pid, after="; echo ended $?")
    terminal.wait_for(r"STACK  \(\d+")
    assert terminal.text().isascii()
    terminal.keys("q")
    terminal.wait_for("ended 0")
