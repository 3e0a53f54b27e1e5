/*
 * Shared by tests of what a program maps: the heap `mmap` in a region of their own process.
 */
#pragma once

#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/live.h"
#include "client/tables/mapped.h"
#include "client/tables/modules.h"
#include "client/tables/stacks.h"
#include "client/thread/thread.h"
#include "client_fixture.h"

/* For a group's setup: records, and fills in the ids of `count` stacks of the heap. Returns 0, or
 * another value if that is not possible. */
static inline int fixture_mapped(uint32_t *ret_stack_ids, uint32_t count)
{
    if (fixture_region() != 0 || !hs_live_init() || !hs_stacks_init() || !hs_life_state_init()) {
        return -1;
    }
    hs_control_page.control.interval_bytes = 4096;
    hs_heaps_select("");
    hs_heaps_write_all();
    hs_life_state_turn_on();
    if (hs_mapped_make_heap() == 0) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t frame = hs_frame_intern(0x1234 + i, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
        const struct hs_stack_key key = { .frame_ids = &frame, .frame_count = 1 };
        ret_stack_ids[i] = hs_stack_derive(hs_stack_intern(&key), hs_mapped_heap(), 0, 0);
    }
    return 0;
}

/* Removes all ranges. */
static inline void fixture_unmap_all(void)
{
    uint64_t mask;
    struct hs_mapped_chain chain = { 0 };
    assert_true(hs_mapped_enter(&mask));
    hs_mapped_take(hs_thread_self(), 0, UINT64_MAX, &chain);
    hs_mapped_leave(mask);
    hs_mapped_drop(&chain);
}
