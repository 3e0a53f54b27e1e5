/*
 * Inserting and removing blocks of heaps other than malloc's. See heap_blocks.h.
 */
#include "client/tables/heap_blocks.h"

#include <sys/mman.h>

#include "client/host/pages.h"
#include "client/tables/fork_ring.h"
#include "client/tables/heap_peak.h"
#include "client/tables/heaps.h"
#include "client/tables/lifetimes.h"
#include "client/tables/record_pool.h"
#include "rt/sys.h"

/* 512 slots: one page. */
#define FIRST_LINES 64U

static uint8_t no_counter;
struct hs_heap_filter hs_heap_filter = { &no_counter, 32 };
static struct hs_index index_of_blocks;
static bool has_index;
uint8_t hs_heap_blocks_addressed_id;

bool hs_heap_blocks_init(void)
{
    if (has_index) {
        return true;
    }
    uint8_t *counters = hs_pages_map_sparse(HS_HEAP_FILTER_BYTES);
    if (!counters || !hs_index_init(&index_of_blocks, FIRST_LINES)) {
        if (counters) {
            hs_pages_unmap(counters, HS_HEAP_FILTER_BYTES);
        }
        return false;
    }
    hs_store_relaxed(&hs_heap_filter.counters, counters);
    /* ORDER heap-filter: the counters before the shift by which their numbers are more than 0. */
    hs_store_release(&hs_heap_filter.shift, 32 - HS_HEAP_FILTER_BITS);
    hs_store_relaxed(&has_index, true);
    return true;
}

void hs_heap_blocks_set_addressed(uint8_t heap_id)
{
    hs_locate_has_others = true;
    hs_store_relaxed(&hs_heap_blocks_addressed_id, heap_id);
}

void hs_heap_blocks_clear(void)
{
    if (!has_index) {
        return;
    }
    hs_index_clear(&index_of_blocks);
    hs_heap_peak_forget_all();
    hs_sys_madvise(hs_heap_filter.counters, HS_HEAP_FILTER_BYTES, MADV_DONTNEED);
}

/* --- finding ---------------------------------------------------------------------------------- */

struct match_block {
    uint64_t id;
    uint8_t heap_id;
    struct hs_record_v1 *record;
    uint64_t word; /* of the record, whose state is ALIVE */
};

static inline bool is_block(void *ctx, uint32_t record_id)
{
    struct match_block *match = ctx;
    struct hs_record_v1 *record = hs_region_record(record_id);
    uint64_t word = hs_locate_word(record, match->id);
    match->record = record;
    match->word = word;
    return word != 0 && hs_region_heap_of(record) == match->heap_id;
}

/* --- filters ---------------------------------------------------------------------------------- */

/* False: no memory. */
static bool filter(uint8_t heap_id, uint64_t id, uint32_t hash)
{
    bool was_set;
    if (hs_heap_blocks_is_addressed(heap_id)) {
        return hs_filter_add(id, &was_set);
    }
    hs_heap_filter_add(hash, 1);
    return true;
}

static void unfilter(uint8_t heap_id, uint64_t id, uint32_t hash)
{
    if (hs_heap_blocks_is_addressed(heap_id)) {
        hs_filter_remove(id);
    } else {
        hs_heap_filter_add(hash, -1);
    }
}

/* --- inserting -------------------------------------------------------------------------------- */

enum hs_loss hs_heap_blocks_insert(struct hs_thread *thread, uint8_t heap_id,
                                   const struct hs_live_block *block)
{
    struct hs_heap_v2 *heap = hs_heaps_element(heap_id);
    uint32_t hash = hs_heap_hash(heap_id, block->addr);
    uint32_t id = hs_record_pool_take(thread);
    struct hs_record_v1 *record = id == HS_RECORD_NONE ? NULL : hs_region_record(id);
    if (!record) {
        return HS_LOSS_TABLE_FULL;
    }
    if (!filter(heap_id, block->addr, hash)) {
        hs_record_pool_give(thread, id, record);
        return HS_LOSS_NO_MEMORY;
    }
    hs_live_fill(record, thread, block);
    if (!hs_index_insert(&index_of_blocks, hash, id)) {
        unfilter(heap_id, block->addr, hash);
        hs_record_pool_give(thread, id, record);
        return HS_LOSS_NO_MEMORY;
    }
    hs_shared_add(&heap->alloc_bytes, block->weight_bytes);
    if (hs_heap_peak_is_own(heap)) {
        hs_heap_peak_add(heap, (int64_t)block->weight_bytes);
    } else {
        hs_peak_add(thread, (int64_t)block->weight_bytes);
    }
    return HS_LOSS_N;
}

/* --- removing --------------------------------------------------------------------------------- */

static void note_peak(struct hs_thread *thread, uint8_t heap_id, const struct hs_heap_v2 *heap)
{
    if (hs_heap_peak_is_own(heap)) {
        hs_heap_peak_before_free(thread, heap_id, heap);
    } else if (thread) {
        hs_peak_before_free(thread);
    } else {
        hs_peak_note();
    }
}

static void subtract(struct hs_thread *thread, struct hs_heap_v2 *heap, uint64_t weight_bytes)
{
    if (hs_heap_peak_is_own(heap)) {
        hs_heap_peak_add(heap, -(int64_t)weight_bytes);
    } else if (thread) {
        hs_peak_add(thread, -(int64_t)weight_bytes);
    } else {
        hs_add_relaxed(&hs_control_page.control.live_bytes, -(int64_t)weight_bytes);
    }
}

/* The cuts that contain a block which dies now, as state bits of its record. 0: no cut needs it. */
static unsigned cuts_of(const struct hs_heap_v2 *heap, uint64_t birth_epoch)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint64_t peak =
        hs_load_relaxed(hs_heap_peak_is_own(heap) ? &heap->peak_epoch : &control->peak_epoch);
    return hs_live_cuts_of(birth_epoch, peak, hs_load_relaxed(&control->snapshot_epoch));
}

static void dispose(struct hs_thread *thread, uint8_t heap_id, const struct hs_heap_v2 *heap,
                    struct hs_record_v1 *record, uint64_t dead_word)
{
    uint32_t id = hs_region_record_id(record);
    if ((HS_RECORD_STATE(dead_word) & HS_RECORD_IN_PEAK) && hs_heap_peak_is_own(heap)) {
        hs_heap_peak_bury(heap_id, id);
    } else if (thread && dead_word == 0) {
        hs_record_pool_give(thread, id, record);
    } else {
        hs_record_pool_bury(thread, id, dead_word);
    }
}

bool hs_heap_blocks_remove(struct hs_thread *thread, uint8_t heap_id, uint64_t id,
                           struct hs_live_block *ret_block)
{
    struct hs_live_block block;
    uint64_t epoch;
    if (!hs_life_state_is_timed()) {
        return hs_heap_blocks_remove_at(thread, heap_id, id, ret_block, &epoch);
    }
    if (!hs_heap_blocks_remove_at(thread, heap_id, id, &block, &epoch)) {
        return false;
    }
    hs_lifetimes_measure(NULL, NULL, &block);
    hs_lifetimes_add(&block, epoch);
    if (ret_block) {
        *ret_block = block;
    }
    return true;
}

bool hs_heap_blocks_remove_at(struct hs_thread *thread, uint8_t heap_id, uint64_t id,
                              struct hs_live_block *ret_block, uint64_t *ret_epoch)
{
    struct match_block match = { .id = id, .heap_id = heap_id };
    uint32_t hash = hs_heap_hash(heap_id, id);
    uint64_t value;
    uint64_t *slot = hs_index_find(&index_of_blocks, hash, is_block, &match, &value);
    if (!slot) {
        return false;
    }
    struct hs_heap_v2 *heap = hs_heaps_element(heap_id);
    struct hs_record_v1 *record = match.record;
    uint64_t word = match.word;
    uint64_t weight_bytes = hs_live_weight(record, word);
    if (ret_block) {
        hs_live_describe(record, word, ret_block);
    }
    note_peak(thread, heap_id, heap);
    /* ORDER cut: with this epoch comes every cut announced before it began. */
    uint64_t epoch = hs_load_acquire(&hs_control_page.control.epoch);
    *ret_epoch = epoch;
    unsigned state = cuts_of(heap, HS_RECORD_EPOCH(word));
    uint64_t dead =
        state == 0 ? 0
                   : HS_RECORD_WORD(epoch, HS_RECORD_INTERVAL(word), HS_RECORD_HITS(word), state);
    if (hs_unlikely(hs_fork_ring_is_inherited(HS_RECORD_EPOCH(word)))) {
        hs_fork_ring_add(record, word);
    }
    /* ORDER record: no thread reuses the record before it has left its place. */
    if (!hs_shared_cas(&record->word, &word, dead)) {
        return false; /* two threads freed it at once: the other one has it */
    }
    hs_index_remove(&index_of_blocks, slot, value);
    unfilter(heap_id, id, hash);
    dispose(thread, heap_id, heap, record, dead);
    if (thread) {
        thread->block->free_count++;
    }
    subtract(thread, heap, weight_bytes);
    return true;
}

static bool does_cover(uint8_t heap_id, uintptr_t start, uintptr_t addr)
{
    struct match_block match = { .id = start, .heap_id = heap_id };
    uint32_t hash = hs_heap_hash(heap_id, start);
    uint64_t value;
    return hs_heap_blocks_may_have(heap_id, start) &&
           hs_index_find(&index_of_blocks, hash, is_block, &match, &value) &&
           (start == addr || addr - start < HS_RECORD_SIZE(match.record->size_thread));
}

bool hs_heap_blocks_covers(uint8_t heap_id, uintptr_t addr)
{
    uintptr_t first = hs_live_first_cover(addr);
    for (uintptr_t start = addr & -HS_LIVE_HALF_GRAIN; start > first; start -= HS_LIVE_HALF_GRAIN) {
        if (does_cover(heap_id, start, addr)) {
            return true;
        }
    }
    return false;
}

void hs_heap_blocks_renumber(hs_index_renumber_fn *renumber, void *ctx)
{
    if (has_index) {
        hs_index_renumber(&index_of_blocks, renumber, ctx);
    }
}

#if HS_HAS_CHECKS

struct examined {
    uint64_t count;
    bool is_valid;
};

/* Called for each entry of the index. */
static uint32_t examine(void *ctx, uint32_t hash, uint32_t id)
{
    struct examined *examined = ctx;
    const struct hs_record_v1 *record = hs_region_alive_record(id);
    examined->count++;
    examined->is_valid &= record && hs_heap_hash(hs_region_heap_of(record), record->addr) == hash &&
                          hs_heap_blocks_may_have(hs_region_heap_of(record), record->addr);
    return id;
}

bool hs_heap_blocks_is_valid(void)
{
    struct examined examined = { .is_valid = !has_index || hs_index_is_valid(&index_of_blocks) };
    if (!hs_region.header || !has_index || !examined.is_valid) {
        return examined.is_valid;
    }
    hs_index_renumber(&index_of_blocks, examine, &examined);
    uint64_t count = hs_region_alive_count(false);
    /* Some blocks of the heap with addresses may be in the table of malloc's. */
    return examined.is_valid && examined.count <= count &&
           (examined.count == count || hs_heap_blocks_addressed_id != 0);
}

bool hs_heap_blocks_has(uint8_t heap_id, uint64_t id, uint64_t size_bytes)
{
    struct match_block match = { .id = id, .heap_id = heap_id };
    uint64_t value;
    return hs_index_find(&index_of_blocks, hs_heap_hash(heap_id, id), is_block, &match, &value) &&
           HS_RECORD_SIZE(match.record->size_thread) == size_bytes;
}

#endif
