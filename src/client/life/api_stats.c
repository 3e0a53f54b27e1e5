/*
 * Adding up counters for heapscope_get_stats(). See api_stats.h.
 */
#include "client/life/api_stats.h"

#include <errno.h>
#include <stdbool.h>

#include "client/life/bind.h"
#include "client/life/lifecycle.h"
#include "client/tables/heaps.h"
#include "client/tables/region.h"
#include "client/tables/thread_state.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* Is each allocation recorded, and has each been since the process began? */
static bool is_exact(void)
{
    const struct hs_region_header_v2 *header = hs_region.header;
    bool is_exact = header->is_from_startup && hs_load_relaxed(&header->interval_count) <= 2 &&
                    hs_load_relaxed(&header->interval_bytes[1]) <= 1 &&
                    hs_load_relaxed(&hs_control_page.control.interval_bytes) == 1;
    uint64_t count = hs_load_relaxed(&header->sections[HS_SECTION_BLOCKS].count);
    for (uint64_t i = 0; is_exact && i < count; i++) {
        const struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, i);
        for (unsigned loss = 0; block && loss < HS_LOSS_N; loss++) {
            /* An empty stack is a recorded block all the same. */
            is_exact &=
                loss == HS_LOSS_STACK_EMPTY || hs_load_relaxed(&block->lost_count[loss]) == 0;
        }
    }
    return is_exact;
}

static uint64_t live_bytes(void)
{
    const struct hs_region_header_v2 *header = hs_region.header;
    uint64_t live = (uint64_t)hs_load_relaxed(&hs_control_page.control.live_bytes);
    uint64_t block_count = hs_load_relaxed(&header->sections[HS_SECTION_BLOCKS].count);
    uint64_t heap_count = hs_load_relaxed(&header->sections[HS_SECTION_HEAPS].count);
    for (uint64_t i = 0; i < block_count; i++) {
        const struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, i);
        live += block ? (uint64_t)hs_load_relaxed(&block->live_bytes) : 0;
    }
    for (uint64_t i = 1; i < heap_count; i++) {
        live += (uint64_t)hs_load_relaxed(&hs_heaps_element((uint8_t)i)->live_bytes);
    }
    return live;
}

static uint64_t alloc_bytes(void)
{
    uint64_t sum = 0;
    uint64_t count = hs_load_relaxed(&hs_region.header->sections[HS_SECTION_BLOCKS].count);
    for (uint64_t i = 0; i < count; i++) {
        const struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, i);
        sum += block ? hs_load_relaxed(&block->alloc_bytes) : 0;
    }
    return sum;
}

int hs_api_stats_read(struct hs_api_stats_v1 *global, struct hs_api_stats_v1 *local)
{
    if (!hs_lifecycle_is_on() && !(hs_life_state_is_waiting() && hs_lifecycle_follow_fork())) {
        return -ENOTCONN;
    }
    if (hs_load_relaxed(&hs_control_page.control.interval_bytes) == HS_INTERVAL_OFF) {
        return -ENOTCONN;
    }
    hs_bind_try();
    bool is_all = is_exact();
    if (global) {
        /* Read first: a block that is born in between is then neither allocated nor live. */
        uint64_t live = live_bytes(), alloc = alloc_bytes();
        *global = (struct hs_api_stats_v1){ .allocated_bytes = alloc,
                                            .deallocated_bytes = alloc > live ? alloc - live : 0,
                                            .is_exact = is_all };
    }
    if (local) {
        const struct hs_thread *self = hs_tls.self;
        *local = (struct hs_api_stats_v1){
            .allocated_bytes = self ? self->block->alloc_bytes - self->first_alloc_bytes : 0,
            .deallocated_bytes = HS_API_STATS_UNKNOWN,
            .is_exact = is_all,
        };
    }
    return 0;
}
