"""A Python program whose threads allocate and free while snapshots are taken, and figures from SQL."""


def at_work(seconds):
    """The program; each of its threads rests 20 times for so long."""
    return f"""
import threading, time
kept = []
def work(n):
    for i in range(20):
        kept.append([str(i) * n for i in range(500)])
        del kept[::7]
        time.sleep({seconds})
threads = [threading.Thread(target=work, args=(n,)) for n in range(5, 9)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def number(heapscope, file, sql):
    done = heapscope("query", "--format", "csv", file, sql)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[1])
