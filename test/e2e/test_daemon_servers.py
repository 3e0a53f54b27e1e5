"""Sessions of servers that fork their workers: each process's profile adds up, including what it
inherited.

Another library counts the blocks of each process (test/target/heap_witness.c). It must get the
same sums, in bytes and blocks, live and allocated, where inherited blocks count as allocated in
the child.
"""

import threading

import pytest
from daemon import Daemon
from fork_servers import NOBODY, SERVERS, Nginx, Postgres, Prefork, Sums, Witness
from preload import preloadable
from resident import need_ptrace
from waiting import let_time_pass, state_of, tracer_of, wait_until


@pytest.fixture
def daemon(dist, heapscope, report, folder):
    place = folder / "daemon"
    place.mkdir()
    place.chmod(0o777)
    daemon = Daemon(dist, heapscope, report, place, user=NOBODY.get("user"))
    yield daemon
    daemon.stop_all()


@pytest.fixture
def server(request, folder):
    place = folder / "server"
    place.mkdir()
    place.chmod(0o777)
    return request.param(place)


def begin(daemon, *args):
    """Without what the server maps itself (nginx shares a page with its workers): the witness does not count that."""
    return daemon.begin(*args, "--exclude-heaps", "mmap", **NOBODY)


def of_report(report):
    """All totals of a report of one process."""
    totals = report["totals"]
    return Sums(*(round(totals[k][q]) for k in ("live", "alloc") for q in ("bytes", "count")))


def wait_for_rest(server):
    """Waits until each process of the server waits for something to do, and none is being attached to."""
    wait_until(lambda: all(state_of(pid) == "S" and tracer_of(pid) == 0 for pid in [server.pid, *server.workers()]),
               "the server is never idle")


class Judge:
    """Compares what the session says about each process with the witness."""

    def __init__(self, daemon, witness, report, folder):
        self.daemon, self.witness, self.report, self.folder = daemon, witness, report, folder

    def look(self, pid, options):
        """Of one process, at a moment when it does nothing: the report, and the witness's sums."""
        file = self.folder / "now.pftrace"
        for _ in range(100):
            before = self.witness.sums(pid)
            done = self.daemon.ask("snapshot", "-q", "--no-symbolize", "-p", pid, "-o", file)
            assert done.returncode == 0, done.stderr
            if self.witness.sums(pid) == before:
                return self.report(file, *options), before
            let_time_pass(0.02, "how often it looks")
        raise AssertionError(f"process {pid} is never idle")

    def check(self, pids, *options):
        reports = {}
        for pid in pids:
            report, told = self.look(pid, options)
            assert report["losses"] == [], pid
            assert of_report(report) == told, (pid, report["processes"])
            reports[pid] = report
        return reports


def by_stack(report, what):
    """{stack: (bytes, count)}, by the names of the frames."""
    found = {}
    for stack in report["stacks"]:
        key = tuple(f["function"] for f in stack["frames"])
        amounts = stack[what]
        had = found.get(key, (0, 0))
        found[key] = (had[0] + amounts["bytes"], had[1] + amounts["count"])
    return {key: amounts for key, amounts in found.items() if any(amounts)}


def check_inherited(master, worker):
    """For each stack from before the fork, the worker has what the master still has: it has done
    nothing since."""
    told, has = by_stack(worker, "alloc"), by_stack(master, "live")
    of_master = by_stack(master, "alloc").keys()
    inherited = {stack: amounts for stack, amounts in told.items() if stack in of_master}
    assert inherited == has
    assert len(inherited) > 20 and len(told) > len(inherited)


def few_or_many(few, many):
    """Each server, a few times in the quick tests, more often in the slow ones."""
    return [pytest.param(kind, times, id=f"{kind.name}-{times}", marks=[pytest.mark.slow] if times == many or kind is Postgres
                         else []) for kind in SERVERS for times in (few, many)]


# One quick case of each way; and the others.
QUICK = [(Nginx, "startup"), (Prefork, "dormant")]
WAYS = [pytest.param(kind, how, id=f"{kind.name}-{how}", marks=[] if (kind, how) in QUICK else [pytest.mark.slow])
        for kind in SERVERS for how in ("startup", "dormant", "attached")]


@pytest.mark.costly
@pytest.mark.parametrize("server, how", WAYS, indirect=["server"])
def test_each_process_adds_up(daemon, server, how, target, report, folder):
    witness = Witness(target("heap_witness", "-shared", "-fPIC"), server.folder / "witness")
    client = str(preloadable(daemon.dist / "lib" / "libheapscope_preload.so"))
    if how == "attached":
        need_ptrace()
    if how == "startup":
        name = begin(daemon, "-n", server.name, "-i", 1, "--no-running")
    preload = witness.library if how == "attached" else f"{client}:{witness.library}"
    server.begin(LD_PRELOAD=preload, HEAP_WITNESS=witness.place, **daemon.env)
    judge = Judge(daemon, witness, report, folder)
    with server:
        processes = [server.pid, *server.workers()]
        if how != "startup":
            server.load(1)
            wait_for_rest(server)
            name = begin(daemon, "-p", server.pid, "-i", 1)
            wait_until(lambda: daemon.client(server.pid) and daemon.client(server.pid).get("session") == name)
            wait_for_rest(server)
            witness.begin([server.pid, *server.workers()])
            # Operations of a process while its client is loaded may be seen only by the witness, or
            # only by the client.
            processes, older = [], set(server.workers())
            server.renew()
        server.load(1)
        wait_for_rest(server)
        reports = judge.check(processes, "--top", "all", "--view", "alloc_objects")
        if how == "startup" and server.has_idle_master:
            for worker in server.workers():
                check_inherited(reports[server.pid], reports[worker])
        server.renew()
        server.load(1)
        wait_for_rest(server)
        recorded = [server.pid, *(p for p in server.workers() if how != "attached" or p not in older)]
        reports = judge.check(recorded)
        done = daemon.stop(name)
        for pid in recorded:
            assert of_report(done.report("--pid", pid)) == of_report(reports[pid])
    server.end()


@pytest.mark.costly(cases=2)
@pytest.mark.alone("it expects several sessions within the two seconds of the load")
@pytest.mark.parametrize("how", ["preloaded", "attached"])
@pytest.mark.parametrize("server, times", few_or_many(6, 200), indirect=["server"])
def test_sessions_come_and_go_under_load(daemon, server, how, times):
    """No request fails, no process dies, and the last session is as good as the first."""
    client = str(preloadable(daemon.dist / "lib" / "libheapscope_preload.so"))
    if how == "attached":
        need_ptrace()
    server.begin(**({"LD_PRELOAD": client, **daemon.env} if how == "preloaded" else {}))
    failed, counts = [], []

    def load():
        try:
            server.load(max(2, times // 4))
        except BaseException as error:  # noqa: B902: reported below
            failed.append(error)

    with server:
        before = server.workers()
        loader = threading.Thread(target=load)
        loader.start()
        # For postgres, the processes that serve now, which end with the load.
        while loader.is_alive() and len(counts) < times:
            pids = [w for p in [server.pid, *server.workers()] for w in ("-p", p)]
            done = daemon.ask("start", *pids, "-i", 4096, "-o", daemon.folder / f"{len(counts)}.pftrace", **NOBODY)
            if done.returncode != 0:
                # The last session is still detaching from its processes.
                assert "another attempt to attach" in done.stderr or "records 0 processes" in done.stderr, done.stderr
                let_time_pass(0.05, "how often it asks")
                continue
            name = done.stdout.strip()
            let_time_pass(0.05, "the session records whatever the load does meanwhile")
            session = daemon.session(name)
            done = daemon.ask("stop", "-q", name)
            assert done.returncode == 0 or "no process was recorded" in done.stderr, done.stderr
            counts.append(session["sample_count"])
        loader.join()
        assert not failed, failed
        assert set(before) <= set(server.workers()), "a worker died"
        print(f"\n{len(counts)} sessions, {sum(counts)} samples")
        # Some were taken before the load had begun, or after it was over.
        later = counts[len(counts) // 2:]
        assert len(counts) >= 4 and sum(n > 0 for n in later) >= len(later) // 2, counts
    server.end()
