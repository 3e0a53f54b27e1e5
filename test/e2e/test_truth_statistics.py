"""Sampled figures: without bias, and inside their stated 95 % interval as often as stated.

Many runs of one program (test/target/stats.c), each with its own fixed seed, so the test is
repeatable. Each of its twenty sites gives four estimates per run: live and allocated, bytes and
counts.
"""

import json
import math
import statistics

import pytest
from truth import Amounts, behind, measure, site_of

QUANTITIES = Amounts._fields


def stated_margins(report, end):
    """How far the "low" or "high" end of a 95 % interval is from the figure: {site: Amounts}. The
    distances of a site's stacks add as squares."""
    squares = {}
    for stack in report["stacks"]:
        name = site_of(stack)
        if name:
            amounts = [(stack[k], q) for k in ("live", "alloc") for q in ("bytes", "count")]
            found = [a.get(f"{q}_{end}", a.get(q, 0)) - a.get(q, 0) for a, q in amounts]
            squares[name] = squares.get(name, Amounts()) + Amounts(*(x * x for x in found))
    return {name: Amounts(*map(math.sqrt, amounts)) for name, amounts in squares.items()}


class Trials:
    """The estimates of many runs: for each (site, quantity) the errors, and whether each was inside
    its interval."""

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
        """All estimates of these sites: was each inside its interval?"""
        return [hit for n in sites for hit in self.foreseen[n, quantity]]

    def share_foreseen(self, quantity, sites):
        return statistics.mean(self.found(quantity, sites))

    def well_sampled(self):
        """Each (site, quantity) for which the runs together expect 20 samples or more."""
        keys = {(n, q) for n in self.sampled() for q in QUANTITIES}
        truth = {(n, q): getattr(self.truth[n], q.replace("count", "bytes")) for n, q in keys}
        return {k for k in keys if truth[k] * len(self.errors[k]) / self.interval >= 20}

    def mean_error(self, key):
        """In units of the standard error of the mean."""
        errors = self.errors[key]
        return statistics.mean(errors) / (statistics.stdev(errors) / math.sqrt(len(errors)))


UNSEEN_SAMPLES = 1.96**2


def ends_of(amount, quantity, interval):
    """The low and high end that a report states for an amount. None stands for a stack that is not
    listed: it has no sample, and the ends are what may have gone unseen there."""
    if amount is None:
        return 0, UNSEEN_SAMPLES * (interval + (0.5 if quantity == "count" else 0))
    return amount[f"{quantity}_low"], amount[f"{quantity}_high"]


class Coverage:
    """Many runs: how often the truth was below and above the stated interval, for each site and the
    whole program."""

    def __init__(self, interval):
        self.interval = interval
        self.below, self.above, self.runs = {}, {}, 0
        self.was_zero = 0

    def add(self, measured):
        assert measured.run.status == 0, measured.run.stderr
        assert not measured.losses
        self.runs += 1
        stacks = {site_of(stack): stack for stack in measured.report["stacks"]}
        whole = Amounts()
        for name, truth in measured.truth.items():
            whole += truth
            self.put(name, stacks.get(name), truth)
            self.was_zero += name not in stacks and truth.alloc_bytes > 0
        self.put("program", measured.report["totals"], whole)

    def put(self, name, stated, truth):
        for i, quantity in enumerate(QUANTITIES):
            state, unit = quantity.split("_")
            amount = stated[state] if stated else None
            low, high = ends_of(amount, unit, self.interval)
            key = (name, quantity)
            self.below[key] = self.below.get(key, 0) + (truth[i] < low - 0.5)
            self.above[key] = self.above.get(key, 0) + (truth[i] > high + 0.5)

    def check(self):
        """Each end misses the truth in 2.5 % of the runs, plus as many as chance explains."""
        most = self.runs * (1 - least_by_chance(self.runs, share=0.975, alarm=1e-5))
        share = {k: 1 - (self.below[k] + self.above[k]) / self.runs for k in self.below}
        print({f"{name} {quantity}": round(s, 3) for (name, quantity), s in share.items()})
        missed = {k: (self.below[k], self.above[k]) for k in share}
        assert all(max(m) <= most for m in missed.values()), (most, missed)


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
    """`count` trials hit with probability `share` each (binomial). Returns the share of hits below
    which chance falls with probability `alarm`."""
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


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("interval, runs", [(4096, 60), (512, 20), pytest.param(4096, 300, marks=pytest.mark.slow)])
def test_mixed_sizes(run, tmp_path, target, interval, runs):
    """Small blocks that no sample hit are in no variance: the stated ends hold all the same. Also
    beside zero, beside exact blocks and for the whole program."""
    program = [target("mixtures", "-lm")]
    done = Coverage(interval)
    for seed in range(1, runs + 1):
        done.add(measure(run, tmp_path, program, "-i", interval, env={"HEAPSCOPE_SEED": seed}))
        for file in tmp_path.iterdir():
            file.unlink()
    done.check()
    assert len(done.below) == 8 * len(QUANTITIES)
    assert done.was_zero or interval < 4096


def amounts_in(data):
    """All objects of a JSON document that are an amount."""
    if isinstance(data, dict):
        if "bytes" in data and "count" in data:
            yield data
        data = list(data.values())
    for each in data if isinstance(data, list) else []:
        yield from amounts_in(each)


def test_every_figure_has_an_upper_end(run, heapscope, target):
    """In a sampled profile, also for values that are 0 or exact, in each output that states ends."""
    program = [target("mixtures", "-lm")]
    traces = [run(program, "-i", 4096, env={"HEAPSCOPE_SEED": seed}).file for seed in (3, 4)]
    unseen = 3.84 * 4096

    def told(*args):
        return json.loads(heapscope(*args).stdout)

    for options in [["--top", "all"], ["--top", "all", "--tree"]]:
        amounts = list(amounts_in(told("report", "--json", "--view", "space", *options, traces[0])))
        assert len(amounts) > 20 and any(a["bytes"] == 0 for a in amounts)
        for a in amounts:
            assert a["bytes_high"] >= a["bytes"] + unseen and a["count_high"] >= a["count"] + unseen
            assert 0 <= a["bytes_low"] <= a["bytes"] and 0 <= a["count_low"] <= a["count"]

    for table in ("heapscope_dumps", "heapscope_samples", "heapscope_threads"):
        rows = told("query", "--format", "json", traces[0], f"SELECT * FROM {table}")
        kinds = {c.removesuffix("_bytes_high") for c in rows[0] if c.endswith("_bytes_high")}
        assert kinds
        for row in rows:
            for kind in kinds:
                for unit in ("bytes", "count"):
                    assert row[f"{kind}_{unit}_high"] >= row[f"{kind}_{unit}"] + unseen

    for view in ("space", "objects"):
        changes = told("diff", "--json", "--view", view, *traces)
        for row in [changes["total"], *changes["functions"], *changes["stacks"]]:
            assert row["low"] <= row["change"] - unseen and row["high"] >= row["change"] + unseen
            assert row["verdict"] in ("noise", "same")

    limits = ["--max-live", "1", "--max-leak", "1", "--stack", "nowhere=1", "--max-allocs", "1"]
    verdict = told("check", "--json", *limits, traces[0])["files"][0]["limits"]
    assert len(verdict) == 4
    for row in verdict:
        assert row["high"] >= row["value"] + unseen
        for stack in row.get("stacks", []):
            assert stack["bytes_high"] >= stack["bytes"] + unseen
            assert stack["count_high"] >= stack["count"] + unseen


def test_every_recorded_allocation_is_exact(run, tmp_path, target):
    """With -i 1 no figure has a margin."""
    done = measure(run, tmp_path, [target("mixtures", "-lm")])
    done.assert_exact()
    assert "_high" not in str(done.report["stacks"]) + str(done.report["totals"])


def check_bias(done, bound=4.5):
    """The mean error can be explained by chance, for each of the many."""
    means = {key: done.mean_error(key) for key in done.well_sampled()}
    assert means
    far = {key: round(z, 1) for key, z in means.items() if abs(z) > bound}
    assert not far, far


@pytest.mark.costly
@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_intervals_hold(trials, target, runs):
    done = trials([target("stats", "-pthread"), "0"], runs)
    assert len(done.sampled()) == 18
    check_intervals(done, least=0.93)
    check_bias(done)


@pytest.mark.costly
def test_threads_are_sampled_alike(trials, target):
    """Each thread has a countdown of its own; four of them estimate as well as one.

    Which thread draws which numbers differs from run to run, so the limits are ones that chance
    does not reach.
    """
    done = trials([target("stats", "-pthread"), "3"], 30)
    check_intervals(done)
    check_bias(done, 8)


@pytest.mark.costly
@pytest.mark.parametrize("interval", [16, 512, 65536])
def test_other_intervals(trials, target, interval):
    done = trials([target("stats", "-pthread"), "0"], 10, interval)
    assert done.sampled()
    check_bias(done, 6)


@pytest.mark.costly
@pytest.mark.parametrize("how", ["calloc(1, n)", "realloc(NULL, n)"])
def test_allocator_that_calls_itself_by_name(trials, target, how):
    """Its calloc calls malloc, which is hooked too: each block must have one chance, not two."""
    toy = target("toy_bump", "-shared", "-fPIC", "-fno-builtin", "-DBY_NAME")
    done = trials(behind(toy, [target("stats", "-pthread", f"-DALLOCATE={how}"), "0"]), 12)
    check_bias(done, 6)
