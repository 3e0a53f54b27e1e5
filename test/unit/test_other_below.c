/*
 * The long tail as "<other>": which stacks are small, by heap and dump, and what stays the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "profile/analyse/other_below.h"
#include "profile/model/builder.h"

#define STACKS 6

static struct hs_amount amount(double bytes, double count)
{
    return (struct hs_amount){ .bytes = bytes, .count = count };
}

/* Two dumps of one process; stack i of heap i % 2 holds 10 * i bytes in i blocks. */
static struct hs_profile *make_profile(void)
{
    struct hs_builder *builder = hs_builder_new();
    struct hs_profile *profile = NULL;
    struct hs_profile_process process = { .pid = 7 };
    struct hs_profile_module nowhere = { 0 };
    uint32_t heaps[] = { hs_builder_heap(builder, "a"), hs_builder_heap(builder, "b") };
    uint32_t module = hs_builder_module(builder, &nowhere);
    uint32_t owner = hs_builder_process(builder, &process);
    for (uint32_t d = 0; d < 2; d++) {
        struct hs_profile_sample samples[STACKS];
        struct hs_profile_dump dump = { .process = owner, .time_ns = d + 1 };
        for (uint32_t i = 0; i < STACKS; i++) {
            char name[] = { (char)('p' + i), '\0' };
            struct hs_builder_frame frame = { .module = module,
                                              .name = hs_builder_string(builder, name) };
            uint32_t node =
                hs_builder_node(builder, HS_NODE_NONE, hs_builder_frame(builder, &frame));
            samples[i] =
                (struct hs_profile_sample){ .node = node,
                                            .heap = heaps[i % 2],
                                            .live = amount(10.0 * i, i),
                                            .alloc = amount(d == 1 ? 1000.0 : 10.0 * i, i) };
            hs_amount_add(&dump.live, &samples[i].live);
            hs_amount_add(&dump.alloc, &samples[i].alloc);
        }
        hs_builder_dump(builder, &dump, samples, STACKS);
    }
    assert_int_equal(hs_builder_finish(builder, &profile), 0);
    hs_builder_free(builder);
    return profile;
}

static const char *name_of(const struct hs_profile *p, uint32_t node)
{
    return hs_profile_string(p, p->frames[p->nodes[node].frame].name);
}

/* Checks the sample of a heap that stands for small stacks; NULL: there is none. */
static void expect_other(const struct hs_profile *p, uint32_t dump_idx, uint32_t heap,
                         const char *stacks, double live_bytes)
{
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    const struct hs_profile_sample *found = NULL;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        uint32_t parent = p->nodes[sample->node].parent;
        if (sample->heap == heap && parent != HS_NODE_NONE) {
            assert_null(found);
            assert_string_equal(name_of(p, parent), HS_OTHER_NAME);
            assert_int_equal(p->nodes[sample->node].depth, 1);
            found = sample;
        }
    }
    assert_true((found != NULL) == (stacks != NULL));
    if (found) {
        assert_string_equal(name_of(p, found->node), stacks);
        assert_true(found->live.bytes == live_bytes);
    }
}

static void expect_sums(const struct hs_profile *p)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[d];
        struct hs_amount live = { 0 }, alloc = { 0 };
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
            hs_amount_add(&live, &sample->live);
            hs_amount_add(&alloc, &sample->alloc);
            assert_true(i == 0 || sample[-1].node <= sample->node);
        }
        assert_true(live.bytes == 150 && live.count == 15 && dump->live.bytes == 150);
        assert_true(alloc.bytes == dump->alloc.bytes && alloc.count == 15);
    }
}

static void small_in_the_view(void **state)
{
    (void)state;
    struct hs_profile *p = make_profile();
    const struct hs_other_below limits = { 50, 5 };
    assert_int_equal(hs_other_below_apply(p, &limits, HS_VIEW_SPACE), 0);
    for (uint32_t d = 0; d < 2; d++) {
        /* heap a: 20 and 40 bytes, and 0 bytes, which the view does not show; heap b: 10 and 30 */
        expect_other(p, d, 0, "[2 small stacks]", 60);
        expect_other(p, d, 1, "[2 small stacks]", 40);
    }
    expect_sums(p);
    hs_profile_free(p);
}

static void small_in_all_views(void **state)
{
    (void)state;
    struct hs_profile *p = make_profile();
    const struct hs_other_below limits = { 50, 5 };
    assert_int_equal(hs_other_below_apply(p, &limits, HS_VIEW_AUTO), 0);
    expect_other(p, 0, 0, "[3 small stacks]", 60);
    expect_other(p, 0, 1, "[2 small stacks]", 40);
    expect_other(p, 1, 0, NULL, 0); /* all have allocated 1000 bytes */
    expect_other(p, 1, 1, NULL, 0);
    expect_sums(p);
    hs_profile_free(p);
}

/* Both limits count: 20 bytes are less than 50, but 2 blocks are not less than 2. */
static void small_in_both(void **state)
{
    (void)state;
    struct hs_profile *p = make_profile();
    const struct hs_other_below limits = { 50, 2 };
    assert_int_equal(hs_other_below_apply(p, &limits, HS_VIEW_OBJECTS), 0);
    expect_other(p, 0, 0, NULL, 0);
    expect_other(p, 0, 1, "[1 small stack]", 10);
    expect_sums(p);
    hs_profile_free(p);
}

static void limits_are_parsed(void **state)
{
    (void)state;
    struct hs_other_below limits = { 0 };
    assert_true(hs_other_below_parse("16K,1024", &limits));
    assert_true(limits.bytes == 16384 && limits.count == 1024);
    static const char *const bad[] = {
        "",    ",",   "16K",   "16K,", ",1",
        "0,1", "1,0", "1,2,3", "x,1",  "11111111111111111111111111111111111111111,1"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(hs_other_below_parse(bad[i], &limits));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_in_the_view),
        cmocka_unit_test(small_in_all_views),
        cmocka_unit_test(small_in_both),
        cmocka_unit_test(limits_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
