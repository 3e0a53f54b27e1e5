/*
 * A region of four stacks, which a test fills and then captures.
 *
 *     cmocka_unit_test_setup_teardown(test, set_up, capture_fixture_tear_down)
 *
 * Fails     by ending the test.
 */
#pragma once

#include "region_writer.h"

struct fixture {
    struct region_writer w;
    struct player p;
    uint32_t stack; /* the first of four */
};

/* Begins, at a sampling interval. The test's own set_up calls it. */
static inline struct fixture *capture_fixture_begin(uint64_t interval_bytes)
{
    static struct fixture f;
    region_writer_init(&f.w, &(struct region_plan){ 64, interval_bytes });
    f.stack = region_writer_stacks(&f.w, 4);
    player_init(&f.p, &f.w, 1, 0, 64);
    f.w.header->sections[HS_SECTION_RECORDS].count = 64;
    return &f;
}

static inline int capture_fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    player_deinit(&f->p);
    region_writer_deinit(&f->w);
    return 0;
}
