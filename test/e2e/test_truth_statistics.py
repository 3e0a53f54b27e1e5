"""Sampled figures: without bias, and inside their stated 95 % interval as often as that says.

Many runs of one program (test/target/stats.c), each with a seed of its own, so they are the same runs
every time. Each of its twenty sites gives four estimates a run: live and allocated, bytes and counts.
"""

import math
import statistics

import pytest
from truth import Amounts, behind, measure, site_of

QUANTITIES = Amounts._fields


def stated_margins(report, end):
    """How far a 95 % interval's "low" or "high" end is off: {site: Amounts}. Those of a site's stacks
    add as squares."""
    squares = {}
    for stack in report["stacks"]:
        name = site_of(stack)
        if name:
            amounts = [(stack[k], q) for k in ("live", "alloc") for q in ("bytes", "count")]
            found = [a.get(f"{q}_{end}", a.get(q, 0)) - a.get(q, 0) for a, q in amounts]
            squares[name] = squares.get(name, Amounts()) + Amounts(*(x * x for x in found))
    return {name: Amounts(*map(math.sqrt, amounts)) for name, amounts in squares.items()}


class Trials:
    """The estimates of many runs: of each (site, quantity) the errors, and which were foreseen."""

    def __init__(self, interval):
        self.interval = interval
        self.truth = {}
        self.errors = {}
        self.foreseen = {}

    def add(self, measured):
        assert measured.run.status == 0, measured.run.stderr
        assert not measured.losses
        assert self.truth in ({}, measured.truth), "the program does the same each time"
        self.truth = measured.truth
        below = stated_margins(measured.report, "low")
        above = stated_margins(measured.report, "high")
        for name, truth in self.truth.items():
            error = measured.sites.get(name, Amounts()) - truth
            low, high = below.get(name, Amounts()), above.get(name, Amounts())
            for i, quantity in enumerate(QUANTITIES):
                key = (name, quantity)
                self.errors.setdefault(key, []).append(error[i])
                self.foreseen.setdefault(key, []).append(-0.5 - high[i] <= error[i] <= low[i] + 0.5)

    def sampled(self):
        return {n for n in self.truth if int(n.removeprefix("site_")) < self.interval}

    def rare(self):
        """Sites with 5 to 20 samples."""
        return {"site_32", "site_48", "site_700", "site_3000"} & self.sampled()

    def found(self, quantity, sites):
        """Of all estimates of these sites: was it inside its interval?"""
        return [hit for n in sites for hit in self.foreseen[n, quantity]]

    def share_foreseen(self, quantity, sites):
        return statistics.mean(self.found(quantity, sites))

    def well_sampled(self):
        """Of each (site, quantity) that the runs together expect 20 samples of or more."""
        keys = {(n, q) for n in self.sampled() for q in QUANTITIES}
        truth = {(n, q): getattr(self.truth[n], q.replace("count", "bytes")) for n, q in keys}
        return {k for k in keys if truth[k] * len(self.errors[k]) / self.interval >= 20}

    def mean_error(self, key):
        """In standard errors of the mean."""
        errors = self.errors[key]
        return statistics.mean(errors) / (statistics.stdev(errors) / math.sqrt(len(errors)))


@pytest.fixture
def trials(run, tmp_path):
    def call(program, runs, interval=4096):
        done = Trials(interval)
        for seed in range(1, runs + 1):
            env = {"HEAPSCOPE_SEED": seed}
            done.add(measure(run, tmp_path, program, "-i", interval, env=env))
            for file in tmp_path.iterdir():
                file.unlink()
        return done

    return call


def least_by_chance(count, share=0.94, alarm=1e-6):
    """The share of hits among `count` trials, each a hit with probability `share`, below which chance
    goes once in 1 / `alarm` times (binomial)."""
    below = 0.0
    for hits in range(count + 1):
        below += math.comb(count, hits) * share**hits * (1 - share) ** (count - hits)
        if below > alarm:
            return hits / count
    return 1.0


def check_intervals(done, least=None):
    """Large blocks are exact; of the others, as many estimates as stated are inside."""
    sampled = done.sampled()

    def bound(sites, slack):
        return least - slack if least else least_by_chance(len(done.found("live_bytes", sites)))

    for (name, quantity), errors in done.errors.items():
        assert name in sampled or not any(errors), (name, quantity)
    shares = {q: round(done.share_foreseen(q, sampled), 4) for q in QUANTITIES}
    print("share of estimates inside their 95 % interval:", shares)
    assert min(shares.values()) >= bound(sampled, 0), shares
    rare = {q: round(done.share_foreseen(q, done.rare()), 4) for q in QUANTITIES}
    print("of sites with few samples:", rare)
    assert min(rare.values()) >= bound(done.rare(), 0.02), rare


def check_bias(done, bound=4.5):
    """The mean error is one that chance explains, for each of the many."""
    means = {key: done.mean_error(key) for key in done.well_sampled()}
    assert means
    far = {key: round(z, 1) for key, z in means.items() if abs(z) > bound}
    assert not far, far


@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_intervals_hold(trials, target, runs):
    done = trials([target("stats", "-pthread"), "0"], runs)
    assert len(done.sampled()) == 18
    check_intervals(done, least=0.93)
    check_bias(done)


def test_threads_are_sampled_alike(trials, target):
    """Each thread has a countdown of its own; four of them estimate as well as one.

    Which thread draws which numbers differs from run to run, hence bounds that chance does not reach.
    """
    done = trials([target("stats", "-pthread"), "3"], 30)
    check_intervals(done)
    check_bias(done, 8)


@pytest.mark.parametrize("interval", [16, 512, 65536])
def test_other_intervals(trials, target, interval):
    done = trials([target("stats", "-pthread"), "0"], 10, interval)
    assert done.sampled()
    check_bias(done, 6)


@pytest.mark.parametrize("how", ["calloc(1, n)", "realloc(NULL, n)"])
def test_allocator_that_calls_itself_by_name(trials, target, how):
    """Its calloc calls malloc, which is hooked too: each block must have one chance, not two."""
    toy = target("toy_bump", "-shared", "-fPIC", "-fno-builtin", "-DBY_NAME")
    done = trials(behind(toy, [target("stats", "-pthread", f"-DALLOCATE={how}"), "0"]), 12)
    check_bias(done, 6)
