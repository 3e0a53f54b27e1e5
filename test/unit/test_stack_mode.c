/*
 * Stacks of threads and scopes: what they are made of, and that no figure is lost or counted twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/stack_mode.h"
#include "profile/model/builder.h"
#include "util/buf.h"

static struct hs_amount amount(double bytes, double count)
{
    return (struct hs_amount){ .bytes = bytes,
                               .count = count,
                               .bytes_var = bytes * 4,
                               .count_var = count * 4,
                               .sampled_bytes = bytes,
                               .sampled_count = count,
                               .interval_bytes = 4096 };
}

struct made {
    struct hs_builder *builder;
    uint32_t main_, load, names[3], scopes[3], heap;
};

static uint32_t call(struct made *made, uint32_t parent, const char *name)
{
    static const struct hs_profile_module nowhere = { 0 };
    struct hs_builder_frame frame = { .module = hs_builder_module(made->builder, &nowhere),
                                      .name = hs_builder_string(made->builder, name) };
    return hs_builder_node(made->builder, parent, hs_builder_frame(made->builder, &frame));
}

/* What lives of "main < load": parts of two threads, one in a scope, one in two, and others. */
static void add_parts(struct made *made, uint32_t dump)
{
    struct hs_profile_part live[] = {
        { .node = made->load, .thread_name = made->names[0], .amount = amount(100, 1) },
        { .node = made->load,
          .thread_name = made->names[1],
          .scope = made->scopes[0],
          .amount = amount(200, 2) },
        { .node = made->load,
          .thread_name = made->names[1],
          .scope = made->scopes[1],
          .amount = amount(300, 3) },
        { .node = made->load,
          .scope = made->scopes[1],
          .is_others = true,
          .age_class = HS_PART_OTHERS,
          .amount = amount(400, 4) },
        { .node = made->main_, .amount = amount(50, 5) }, /* of a thread without a name */
    };
    struct hs_profile_part peak[] = {
        { .node = made->load,
          .thread_name = made->names[1],
          .scope = made->scopes[1],
          .amount = amount(1500, 15) },
    };
    hs_builder_dump_parts(made->builder, dump, HS_PARTS_LIVE, live, 5);
    hs_builder_dump_parts(made->builder, dump, HS_PARTS_PEAK, peak, 1);
}

static struct hs_profile *make_profile(bool has_parts, bool has_alloc_scopes)
{
    struct made made = { .builder = hs_builder_new() };
    struct hs_profile *profile = NULL;
    struct hs_profile_process process = { .pid = 7 };
    made.main_ = call(&made, HS_NODE_NONE, "main");
    made.load = call(&made, made.main_, "load");
    made.heap = hs_builder_heap(made.builder, "a");
    made.names[0] = hs_builder_string(made.builder, "main thread");
    made.names[1] = hs_builder_string(made.builder, "worker");
    made.scopes[0] = hs_builder_scope(made.builder, 0, "request");
    made.scopes[1] = hs_builder_scope(made.builder, made.scopes[0], "tenant=a");
    uint32_t owner = hs_builder_process(made.builder, &process);
    struct hs_profile_dump dump = {
        .process = owner, .has_peak = true, .interval_bytes = 4096, .has_scaled_counts = true
    };
    struct hs_profile_sample samples[] = {
        /* lives less than was allocated, and more lived at the peak */
        { .node = made.load,
          .heap = made.heap,
          .live = amount(1000, 10),
          .alloc = amount(5000, 50),
          .peak = amount(1500, 15),
          .inherited = { 16, 8 } },
        /* inherited: lives more than was allocated. Its peak has no parts. */
        { .node = made.main_,
          .heap = made.heap,
          .live = amount(50, 5),
          .alloc = amount(10, 1),
          .peak = amount(60, 6),
          .inherited = { 8, 4 } },
    };
    for (int i = 0; i < 2; i++) {
        hs_amount_add(&dump.live, &samples[i].live);
        hs_amount_add(&dump.alloc, &samples[i].alloc);
        hs_amount_add(&dump.peak, &samples[i].peak);
    }
    uint32_t idx = hs_builder_dump(made.builder, &dump, samples, 2);
    if (has_parts) {
        add_parts(&made, idx);
    }
    if (has_alloc_scopes) {
        struct hs_profile_part alloc[] = {
            { .node = made.load, .amount = amount(150, 2) },
            { .node = made.load, .scope = made.scopes[0], .amount = amount(1200, 12) },
            { .node = made.load, .scope = made.scopes[1], .amount = amount(3650, 36) },
        };
        hs_builder_dump_parts(made.builder, idx, HS_PARTS_ALLOC, alloc, 3);
        hs_builder_dump_alloc_scopes(made.builder, idx);
    }
    assert_int_equal(hs_builder_finish(made.builder, &profile), 0);
    hs_builder_free(made.builder);
    return profile;
}

/* Writes the names of a stack's frames, the outermost first: "main;load". */
static void write_stack(const struct hs_profile *p, uint32_t node, struct hs_buf *buf)
{
    if (p->nodes[node].parent != HS_NODE_NONE) {
        write_stack(p, p->nodes[node].parent, buf);
        hs_buf_char(buf, ';');
    }
    hs_buf_str(buf, hs_profile_string(p, p->frames[p->nodes[node].frame].name));
}

struct expected {
    const char *stack;
    double live, alloc, peak;
};

static void expect_stacks(const struct hs_profile *p, const struct expected *expected, size_t count)
{
    const struct hs_profile_dump *dump = &p->dumps[0];
    double sums[3] = { 0 }, vars[3] = { 0 }, inherited = 0;
#if HS_HAS_CHECKS
    assert_true(hs_profile_is_valid(p));
#endif
    assert_int_equal(dump->samples_n, count);
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        struct hs_buf name = HS_BUF_INIT;
        size_t k = 0;
        write_stack(p, sample->node, &name);
        for (; k < count && strcmp(expected[k].stack, hs_buf_text(&name)) != 0; k++) {
        }
        if (k == count) {
            fail_msg("%s is not expected", hs_buf_text(&name));
        }
        hs_buf_deinit(&name);
        assert_true(sample->live.bytes == expected[k].live);
        assert_true(sample->alloc.bytes == expected[k].alloc);
        assert_true(sample->peak.bytes == expected[k].peak);
        const struct hs_amount *const amounts[] = { &sample->live, &sample->alloc, &sample->peak };
        for (int a = 0; a < 3; a++) {
            sums[a] += amounts[a]->bytes;
            vars[a] += amounts[a]->bytes_var;
            assert_true(amounts[a]->interval_bytes == 4096);
        }
        inherited += (double)sample->inherited.bytes;
    }
    assert_true(sums[0] == 1050 && sums[1] == 5010 && sums[2] == 1560);
    assert_true(vars[0] == 4 * sums[0] && vars[1] == 4 * sums[1] && vars[2] == 4 * sums[2]);
    assert_true(fabs(inherited - 24) < 1e-4);
}

/* Each part belongs to a sample, and the parts of a sample add up to it. */
static void expect_parts(const struct hs_profile *p)
{
    const struct hs_profile_dump *dump = &p->dumps[0];
    double sum = 0;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        double of_sample = 0;
        for (uint32_t k = 0; k < dump->parts_n[HS_PARTS_LIVE]; k++) {
            const struct hs_profile_part *part = &p->parts[dump->part_first[HS_PARTS_LIVE] + k];
            assert_true(k == 0 || part[-1].node <= part->node);
            of_sample += part->node == sample->node ? part->amount.bytes : 0;
        }
        assert_true(of_sample == sample->live.bytes);
        sum += of_sample;
    }
    assert_true(sum == 1050);
}

static void expect_mode(enum hs_stack_mode mode, bool has_alloc_scopes,
                        const struct expected *expected, size_t count)
{
    struct hs_profile *p = make_profile(true, has_alloc_scopes);
    assert_int_equal(hs_stack_mode_apply(p, mode), 0);
    expect_stacks(p, expected, count);
    expect_parts(p);
    hs_profile_free(p);
}

static void threads(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { "main thread;main;load", 100, 100, 0 },
        { "worker;main;load", 500, 500, 1500 },
        { "(others);main;load", 400, 400, 0 },
        { "<unknown>;main", 50, 10, 60 },
        { "[freed: thread not recorded];main;load", 0, 4000, 0 },
    };
    expect_mode(HS_STACK_MODE_THREADS, false, expected, 5);
    expect_mode(HS_STACK_MODE_THREADS, true, expected, 5);
}

static void pseudo(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { "main thread", 100, 100, 0 },
        { "worker;request", 200, 200, 0 },
        { "worker;request;tenant=a", 300, 300, 1500 },
        { "(others);request;tenant=a", 400, 400, 0 },
        { "<unknown>", 50, 10, 60 },
        { "[freed: thread and scope not recorded]", 0, 4000, 0 },
    };
    expect_mode(HS_STACK_MODE_PSEUDO, false, expected, 6);
}

/* What was allocated in each scope is known: 150 bytes in none, 1200 in the outer one alone. */
static void pseudo_of_allocated(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { "main thread", 100, 100, 0 },
        { "worker;request", 200, 200, 0 },
        { "worker;request;tenant=a", 300, 300, 1500 },
        { "(others);request;tenant=a", 400, 400, 0 },
        { "<unknown>", 50, 10, 60 },
        { "[freed: thread not recorded]", 0, 50, 0 },
        { "[freed: thread not recorded];request", 0, 1000, 0 },
        { "[freed: thread not recorded];request;tenant=a", 0, 2950, 0 },
    };
    expect_mode(HS_STACK_MODE_PSEUDO, true, expected, 8);
}

static void mixed(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { "main;load", 100, 100, 0 },
        { "request;main;load", 200, 200, 0 },
        { "request;tenant=a;main;load", 700, 700, 1500 },
        { "main", 50, 0, 0 },
        { "<unknown>;main", 0, 10, 60 },
        { "[freed: scope not recorded];main;load", 0, 4000, 0 },
    };
    expect_mode(HS_STACK_MODE_MIXED, false, expected, 6);
}

static void mixed_of_allocated(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { "main;load", 100, 150, 0 },
        { "request;main;load", 200, 1200, 0 },
        { "request;tenant=a;main;load", 700, 3650, 1500 },
        { "main", 50, 10, 0 },
        { "<unknown>;main", 0, 0, 60 },
    };
    expect_mode(HS_STACK_MODE_MIXED, true, expected, 5);
}

static void native(void **state)
{
    (void)state;
    static const struct expected expected[] = { { "main;load", 1000, 5000, 1500 },
                                                { "main", 50, 10, 60 } };
    expect_mode(HS_STACK_MODE_NATIVE, true, expected, 2);
}

/* A dump without parts keeps its figures, and a command that would show it is told before. */
static void without_parts(void **state)
{
    (void)state;
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    static const struct expected expected[] = { { "<unknown>", 1050, 5010, 1560 } };
    struct hs_profile *p = make_profile(false, false);
    assert_int_equal(hs_stack_mode_check(p, &last), -ENODATA);
    assert_int_equal(hs_stack_mode_apply(p, HS_STACK_MODE_PSEUDO), 0);
    expect_stacks(p, expected, 1);
    hs_profile_free(p);
    p = make_profile(true, false);
    assert_int_equal(hs_stack_mode_check(p, &last), 0);
    hs_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(pseudo),
        cmocka_unit_test(mixed),
        cmocka_unit_test(native),
        cmocka_unit_test(pseudo_of_allocated),
        cmocka_unit_test(mixed_of_allocated),
        cmocka_unit_test(without_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
