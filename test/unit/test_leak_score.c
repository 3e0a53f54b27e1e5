/*
 * leak_score.h: programs whose blocks are born and freed as in caches, tables, queues and leaks, in
 * 200 seeded runs each; with one snapshot and with several, with every block recorded and with
 * samples. The leak comes first, and nothing else is ever called one.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/leak_score.h"
#include "trace/heap_births.h"

#define RUNS    100
#define BLOCKS  6000
#define SPAN_MS 60000.0

/* --- random numbers --- */

static uint64_t seed;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static unsigned poisson(double mean)
{
    unsigned count = 0;
    for (double left = exp(-mean), product = uniform(); product > left; product *= uniform()) {
        count++;
    }
    return count;
}

/* --- blocks --- */

struct block {
    double birth, death; /* from 0 to 1; a death above 1: it is not freed */
    double bytes, weight, weight_var, count;
};

/* What one stack allocates. */
struct site {
    const char *name;
    void (*fill)(struct block *blocks, unsigned count);
    unsigned count; /* of blocks */
    double bytes;   /* the mean size of a block */
    bool is_leak;
};

/* Times of birth, ascending and random. */
static void spread(struct block *blocks, unsigned count, double from, double to)
{
    double at = from, mean = (to - from) / count;
    for (unsigned i = 0; i < count; i++) {
        at += mean * 2 * uniform();
        blocks[i].birth = at < to ? at : to;
        blocks[i].death = 2;
    }
}

static void fill_start(struct block *blocks, unsigned count)
{
    spread(blocks, count, 0, 0.02);
}

static void fill_leak(struct block *blocks, unsigned count)
{
    spread(blocks, count, 0, 1);
}

/* One of 16 threads frees nothing, the others free soon. */
static void fill_thread(struct block *blocks, unsigned count)
{
    spread(blocks, count, 0, 1);
    for (unsigned i = 0; i < count; i++) {
        blocks[i].death = uniform() < 1.0 / 16 ? 2 : blocks[i].birth + 0.02 * uniform();
    }
}

/* Grows, and stops at a time between 0.3 and 0.8. */
static void fill_table(struct block *blocks, unsigned count)
{
    spread(blocks, count, 0, 0.3 + 0.5 * uniform());
}

/* The oldest of 300 entries is evicted. */
static void fill_oldest(struct block *blocks, unsigned count)
{
    spread(blocks, count, 0, 1);
    for (unsigned i = 0; i + 300 < count; i++) {
        blocks[i].death = blocks[i + 300].birth;
    }
}

/* A random one of 600 entries is evicted. */
static void fill_random(struct block *blocks, unsigned count)
{
    unsigned entries[600];
    spread(blocks, count, 0, 1);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i < 600 ? i : (unsigned)(600 * uniform());
        if (i >= 600) {
            blocks[entries[at]].death = blocks[i].birth;
        }
        entries[at] = i;
    }
}

#define KEYS 400U

/* The entry that was used longest ago is evicted; some keys are used far more often than others. */
static void fill_popular(struct block *blocks, unsigned count)
{
    static double used[KEYS];
    static int block_of[KEYS];
    unsigned made = 0, live = 0, tries = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        block_of[key] = -1;
    }
    spread(blocks, count, 0, 1);
    while (made < count && tries < 40 * count) {
        unsigned key = (unsigned)(KEYS * pow(uniform(), 3));
        used[key] = ++tries;
        if (block_of[key] >= 0) {
            continue;
        }
        unsigned oldest = key;
        for (unsigned other = 0; other < KEYS && live >= 100; other++) {
            oldest = block_of[other] >= 0 && used[other] < used[oldest] ? other : oldest;
        }
        if (oldest != key) {
            blocks[block_of[oldest]].death = blocks[made].birth;
            block_of[oldest] = -1;
            live--;
        }
        block_of[key] = (int)made++;
        live++;
    }
    for (; made < count; made++) {
        blocks[made].death = blocks[made].birth;
    }
}

/* Blocks live for a time that varies with the load. */
static void fill_queue(struct block *blocks, unsigned count)
{
    double phase = uniform();
    spread(blocks, count, 0, 1);
    for (unsigned i = 0; i < count; i++) {
        double load = 1 + sin(6.2832 * (3 * blocks[i].birth + phase));
        blocks[i].death = blocks[i].birth + 0.1 * load * uniform() + 0.001;
    }
}

static const struct site harmless[] = {
    { "start", fill_start, 2000, 120, false },      { "table", fill_table, 3000, 160, false },
    { "oldest", fill_oldest, 5000, 300, false },    { "random", fill_random, 4000, 300, false },
    { "popular", fill_popular, 1500, 1000, false }, { "queue", fill_queue, 5000, 200, false },
};
static const struct site slow_leak = { "leak", fill_leak, 1000, 400, true };
static const struct site thread_leak = { "thread", fill_thread, 6000, 900, true };

/* --- profiles --- */

/* Sets what the recorded blocks stand for: those that no sample hit weigh nothing. */
static void sample(struct block *blocks, const struct site *site, double interval_bytes)
{
    for (unsigned i = 0; i < site->count; i++) {
        struct block *block = &blocks[i];
        block->bytes = site->bytes * (0.5 + uniform());
        if (block->bytes >= interval_bytes) {
            block->weight = block->bytes;
            block->weight_var = 0;
            block->count = 1;
        } else {
            double hits = poisson(block->bytes / interval_bytes);
            block->weight = hits * interval_bytes;
            block->weight_var = block->weight * interval_bytes;
            block->count = hits > 0 ? 1 / -expm1(-block->bytes / interval_bytes) : 0;
        }
    }
}

static void add_block(struct hs_amount *sum, const struct block *block)
{
    sum->bytes += block->weight;
    sum->count += block->count;
    sum->bytes_var += block->weight_var;
    sum->sampled_bytes += block->weight_var > 0 ? block->weight : 0;
}

/* The state at a time from 0 to 1: a sample, and its births. */
static void put_state(struct fixture *fx, uint32_t node, const struct block *blocks, unsigned count,
                      double now)
{
    const struct hs_profile_dump *dump = &fx->p.dumps[fx->p.dump_count - 1];
    struct hs_amount windows[HS_BIRTH_WINDOWS] = { 0 }, live = { 0 }, alloc = { 0 };
    for (unsigned i = 0; i < count && blocks[i].birth <= now; i++) {
        add_block(&alloc, &blocks[i]);
        if (blocks[i].death > now) {
            add_block(&live, &blocks[i]);
            uint64_t window = (uint64_t)(blocks[i].birth * SPAN_MS) / dump->birth_window_ms;
            add_block(&windows[window], &blocks[i]);
        }
    }
    if (alloc.bytes > 0) {
        fixture_sample(fx, node, live, alloc, live);
    }
    for (uint32_t i = 0; i < HS_BIRTH_WINDOWS && alloc.bytes > 0; i++) {
        if (windows[i].bytes > 0) {
            fixture_birth(fx, node, i, windows[i]);
        }
    }
}

struct run {
    const struct site *sites[8];
    unsigned site_count;
    double interval_bytes;
    unsigned dump_count;
};

static struct fixture make_profile(const struct run *run)
{
    static struct block blocks[8][BLOCKS];
    struct fixture fx = fixture_new();
    uint32_t nodes[8];
    fixture_process(&fx, 100, "prog");
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    for (unsigned i = 0; i < run->site_count; i++) {
        nodes[i] = fixture_call(&fx, main_, run->sites[i]->name);
        run->sites[i]->fill(blocks[i], run->sites[i]->count);
        sample(blocks[i], run->sites[i], run->interval_bytes);
    }
    for (unsigned d = 1; d <= run->dump_count; d++) {
        double now = (double)d / run->dump_count;
        struct hs_profile_dump *dump = fixture_dump(&fx, (uint64_t)(now * SPAN_MS / 1000));
        dump->has_samples = true;
        dump->interval_bytes = (uint64_t)run->interval_bytes;
        dump->birth_span_ms = (uint64_t)(now * SPAN_MS);
        dump->birth_window_ms = hs_birth_window_ms(dump->birth_span_ms);
        for (unsigned i = 0; i < run->site_count; i++) {
            put_state(&fx, nodes[i], blocks[i], run->sites[i]->count, now);
        }
    }
    return fx;
}

struct score {
    unsigned first_count, false_count;
};

static const char *name_of(const struct hs_agg *agg, uint32_t node)
{
    return hs_profile_string(agg->profile, agg->functions[agg->nodes[node].function].name);
}

/* Looks whether the leak is the first row, and whether other stacks are called leaks. */
static void score_run(const struct run *run, struct score *score)
{
    struct fixture fx = make_profile(run);
    struct hs_selection selection;
    struct hs_agg agg;
    struct hs_leaks leaks;
    const struct site *leak = NULL;
    assert_int_equal(hs_select_dump(&fx.p, fx.p.dump_count - 1, &selection), 0);
    assert_int_equal(hs_agg_build(&selection, true, &agg), 0);
    assert_int_equal(hs_leaks_find(&selection, &agg, &leaks), 0);
    for (unsigned i = 0; i < run->site_count; i++) {
        leak = run->sites[i]->is_leak ? run->sites[i] : leak;
    }
    for (uint32_t i = 0; i < leaks.count && leaks.rows[i].verdict == HS_LEAK_LEAKS; i++) {
        bool is_leak = leak && strcmp(name_of(&agg, leaks.rows[i].node), leak->name) == 0;
        score->first_count += i == 0 && is_leak;
        score->false_count += !is_leak;
        if (!is_leak) {
            print_message("%s is called a leak, with %.4f\n", name_of(&agg, leaks.rows[i].node),
                          leaks.rows[i].confidence);
        }
    }
    hs_leaks_deinit(&leaks);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static struct score score_runs(const struct site *leak, double interval_bytes, unsigned dump_count)
{
    struct run run = { .interval_bytes = interval_bytes, .dump_count = dump_count };
    struct score score = { 0 };
    for (; run.site_count < HS_COUNT_OF(harmless); run.site_count++) {
        run.sites[run.site_count] = &harmless[run.site_count];
    }
    if (leak) {
        run.sites[run.site_count++] = leak;
    }
    for (unsigned i = 0; i < RUNS; i++) {
        seed = 0x9e3779b97f4a7c15 * (i + 1);
        score_run(&run, &score);
    }
    return score;
}

static const struct {
    double interval_bytes;
    unsigned dump_count;
} ways[] = { { 1, 1 }, { 1, 2 }, { 1, 8 }, { 1, 20 }, { 4096, 1 }, { 4096, 2 }, { 4096, 8 } };

static void test_harmless(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(ways); i++) {
        struct score score = score_runs(NULL, ways[i].interval_bytes, ways[i].dump_count);
        assert_int_equal(score.false_count, 0);
    }
}

static void test_leak(const struct site *leak)
{
    for (size_t i = 0; i < HS_COUNT_OF(ways); i++) {
        struct score score = score_runs(leak, ways[i].interval_bytes, ways[i].dump_count);
        print_message("interval %.0f, %u snapshots: found in %u of %u runs\n",
                      ways[i].interval_bytes, ways[i].dump_count, score.first_count, RUNS);
        assert_true(score.first_count >= RUNS * 95 / 100);
        assert_int_equal(score.false_count, 0);
    }
}

static void test_slow_leak(void **state)
{
    (void)state;
    test_leak(&slow_leak);
}

static void test_leak_in_a_thread(void **state)
{
    (void)state;
    test_leak(&thread_leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_slow_leak),
        cmocka_unit_test(test_leak_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
