/*
 * Mapping the ring and writing deaths into it. See fork_ring.h.
 */
#include "client/tables/fork_ring.h"

#include <sys/mman.h>

#include "client/host/sandbox.h"
#include "client/tables/region.h"
#include "rt/check.h"
#include "rt/sys.h"

/* How many deaths are written down after a fork: as many as there are records, within these
 * bounds. */
#define DEATHS_MIN (UINT64_C(1) << 14)
#define DEATHS_MAX HS_FORK_RING_ENTRIES

/* Shared with our children, or, until we begin, with our parent. */
static struct hs_fork_ring *ring;
/* Where the ring is or was. It stays mapped for a thread that writes into it late. */
static struct hs_fork_ring *place;
static uint64_t ring_end; /* no more deaths than this are written down */

static struct hs_fork_ring *map(void)
{
    long va =
        hs_sys_mmap(place, sizeof(struct hs_fork_ring), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | (place ? MAP_FIXED : 0), -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    place = (struct hs_fork_ring *)va;
    hs_sandbox_advise((void *)va, sizeof(struct hs_fork_ring), MADV_DONTDUMP);
    return (struct hs_fork_ring *)va;
}

/* As many as could be needed, and have room. */
static uint64_t deaths_to_write_down(uint64_t record_count)
{
    uint64_t records = record_count < DEATHS_MIN ? DEATHS_MIN : record_count;
    return records < DEATHS_MAX ? records : DEATHS_MAX;
}

void hs_fork_ring_make(void)
{
    ring = ring ? ring : map();
}

uint64_t hs_fork_ring_begin(uint64_t epoch, uint64_t record_count)
{
    if (!ring) {
        return 0;
    }
    uint64_t first_death = hs_load_relaxed(&ring->count);
    hs_store_relaxed(&ring_end, first_death + deaths_to_write_down(record_count));
    hs_store_relaxed(&hs_life_state.fork_epoch, epoch);
    return first_death;
}

void hs_fork_ring_forget(void)
{
    hs_store_relaxed(&hs_life_state.fork_epoch, 0);
    if (ring) {
        /* Like our tables, the ring stays mapped and empty: a thread that has not left in time
         * writes there. */
        hs_sys_mmap(place, sizeof(*place), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        ring = NULL;
    }
}

const struct hs_fork_ring *hs_fork_ring_get(void)
{
    return ring;
}

void hs_fork_ring_leave(void)
{
    if (ring) {
        hs_sys_munmap(ring, sizeof(*ring));
        ring = place = NULL;
    }
}

void hs_fork_ring_add(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t epoch = hs_load_relaxed(&hs_life_state.fork_epoch);
    /* The child would write in its parent's region next. */
    HS_ASSERT(!hs_life_state_is_waiting());
    uint64_t number = hs_add_relaxed(&place->count, 1);
    if (number >= hs_load_relaxed(&ring_end)) {
        /* A child that has not begun by now will miss some deaths. */
        hs_cas_relaxed(&hs_life_state.fork_epoch, &epoch, 0);
        return;
    }
    struct hs_fork_death *death = &place->deaths[number % HS_FORK_RING_ENTRIES];
    hs_store_relaxed(&death->tag, 0);
    /* ORDER fork-death: an old tag is gone before its content. */
    hs_fence_release();
    hs_store_relaxed(&death->record_id, hs_region_record_id(record));
    hs_store_relaxed(&death->record.addr, record->addr);
    hs_store_relaxed(&death->record.size_thread, record->size_thread);
    hs_store_relaxed(&death->record.stack_id, record->stack_id);
    hs_store_relaxed(&death->record.word, word);
    /* ORDER fork-death: its content before its tag, and that before the record changes. */
    hs_store_release(&death->tag, number + 1);
}
