"""What a viewer learns of a watched process besides its stacks: the types of blocks, and what the resident memory consists of."""

import collections
import os
import re
import signal

import pytest
from conftest import let_others_in
from daemon import Daemon
from recordings import NOBODY, python, recorder
from waiting import stop_process, wait_until
from watching import Watch, doubles, fields, listening, numbers

NOT_READ = "(not read)"
# Two classes of the program's own; more of one of them with each line of input.
OBJECTS = """
import sys, time
class Forester:
    def __init__(self): self.name = bytes(600)
class Gardener(Forester): pass
kept = [Forester() for _ in range(5000)]
more = []
print("ready", flush=True)
for line in sys.stdin:
    more += [Gardener() for _ in range(3000)]
    print("done", flush=True)
while True:
    more += [Gardener() for _ in range(20)]
    time.sleep(0.01)
"""


@pytest.fixture
def record(dist, heapscope, tmp_path):
    with recorder(dist, heapscope, tmp_path) as call:
        yield call


class TypesWatch(Watch):
    """A watch that also takes in types and ledgers."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.names, self.parts, self.ledger, self.tells_types = {}, {}, None, False

    def take(self):
        update = super().take()
        for types in map(fields, (update or {}).get(14, [])):
            self.tells_types = True
            for one in map(fields, types.get(2, [])):
                assert one[1][0] not in self.names
                self.names[one[1][0]] = one[2][0].decode()
        for parts in map(fields, (update or {}).get(15, [])):
            keys = list(zip(numbers(parts[1][0]), numbers(parts[2][0])))
            assert keys == sorted(set(keys))
            for (stack, number), size, count in zip(keys, doubles(parts[3][0]), doubles(parts[4][0])):
                assert stack in self.stacks and number in self.names
                self.parts[stack, number] = (size, count)
        if update and 16 in update:
            self.ledger = fields(update[16][0])
        return update

    def types(self):
        """{type: live bytes}; "": of blocks that have none."""
        sums = collections.Counter()
        for (_, number), (size, _) in self.parts.items():
            sums[self.names[number]] += size
        sums[""] = self.sums()[0] - sum(sums.values())
        return sums

    def types_read(self):
        """Looks until the memory of all blocks is read."""
        def is_done():
            self.look()
            return self.types()[NOT_READ] < 0.01 * self.sums()[0]

        wait_until(is_done, lambda: f"not all is read: {self.types()}")
        return self.types()


def table_of(text):
    """The rows of `top --by types`: {(live, type)}. What has not been read yet may differ."""
    rows = {(*line.split()[:2], line.split()[-1]) for line in text.splitlines()[5:]}
    return {row for row in rows if row[-1] not in ("(unknown)", "read)")}


@pytest.mark.costly
@pytest.mark.parametrize("command", ["run", "attach"])
def test_types_are_those_of_a_snapshot(record, heapscope, tmp_path, command):
    it = record(command, python(OBJECTS), "-i", "1")
    watch = TypesWatch(listening(it.process.pid), it.pid)
    wait_until(lambda: watch.look() and watch.types()["Gardener"] > 20_000, lambda: str(watch.types()))
    stop_process(it.pid)
    types = watch.types_read()
    assert types["bytes"] > types["Gardener"] > 20_000
    assert types["Forester"] >= 5000 * 40 or command == "attach"

    def tables():
        done = heapscope("snapshot", "-q", "-p", it.pid, "-o", tmp_path / "now.pftrace")
        assert done.returncode == 0, done.stderr
        return [table_of(heapscope("top", "--by", "types", "--top", "1000", what).stdout) for what in (it.pid, tmp_path / "now.pftrace")]

    def are_equal():
        now, snapshot = tables()
        return now == snapshot

    wait_until(are_equal, lambda: str([one ^ other for one, other in [tables()]]), every_s=0.5)
    watch.close()
    os.kill(it.pid, signal.SIGCONT)


def test_types_of_blocks_that_are_younger_than_the_watch(dist, heapscope, report, folder):
    """By a worker with the rights of the user, of the machine's daemon."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    let_others_in(folder)
    daemon = Daemon(dist, heapscope, report, folder, ("--system",))
    try:
        program = daemon.launch(python(OBJECTS), user=NOBODY, group=NOBODY, extra_groups=[])
        assert program.process.stdout.readline() == "ready\n"
        daemon.begin("-p", program.pid, "-i", 1)
        watch = TypesWatch(daemon.socket, program.pid)
        watch.look()
        assert "Gardener" not in watch.names.values()
        assert program.step() == "done\n"
        wait_until(lambda: watch.look() and watch.types()["Gardener"] >= 3000 * 40, lambda: str(watch.types()))
        assert watch.types()["bytes"] >= 3000 * 600
        watch.close()
    finally:
        daemon.stop_all()


def test_a_session_without_types(record, heapscope):
    it = record("run", python(OBJECTS), "--no-types")
    watch = TypesWatch(listening(it.process.pid), it.pid)
    watch.look()
    assert not watch.tells_types and not watch.parts
    assert "the session leaves them out (--no-types)" in heapscope("top", "--by", "types", it.pid).stdout
    watch.close()


@pytest.mark.costly
def test_the_ledger(record, heapscope):
    it = record("run", python(OBJECTS), "-i", "64")
    watch = TypesWatch(listening(it.process.pid), it.pid)
    wait_until(lambda: watch.look() and watch.ledger)
    first = watch.ledger
    whole = first[3][0]
    lines = list(map(fields, first[14]))
    assert sum(line.get(5, [0])[0] for line in lines) == pytest.approx(whole, rel=0.05)
    assert any(b"libc.so" in line[2][0] for line in lines if 2 in line)
    text = heapscope("top", it.pid).stdout
    shares = re.search(r"^RSS [^:]*: (.*); not explained ([\d.]+) %$", text, re.MULTILINE)
    assert sum(float(n) for n in re.findall(r"([\d.]+) %", shares[1])) + float(shares[2]) == pytest.approx(100, abs=3), text
    wait_until(lambda: watch.look() and watch.ledger is not first)
    assert watch.ledger[1][0] > first[1][0]
    watch.close()
