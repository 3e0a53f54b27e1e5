/*
 * Inserting and removing sampled blocks. See live.h.
 */
#include "client/live.h"

#include "client/filter.h"
#include "client/index.h"
#include "client/peak.h"
#include "client/records.h"
#include "client/region.h"
#include "client/shared.h"

/* 512 slots: one page, room for some 300 blocks before it grows. */
#define FIRST_LINES 64U

static struct hs_index live_index;
/* Some allocators align blocks of up to 8 bytes to 8, so two may share a filter bit, and come and go
 * on two threads. Set when first seen; from then on the bits of such small blocks stay set. */
static bool has_half_grains;
#define GRAIN_BYTES      ((uintptr_t)1 << HS_FILTER_GRAIN_SHIFT)
#define HALF_GRAIN_BYTES (GRAIN_BYTES / 2)
/* Of an allocator that aligns blocks of another one: the furthest it goes. */
#define ALIGN_BYTES_MAX  ((uintptr_t)2 << 20)
#define HEADER_BYTES_MAX 64U

bool hs_live_init(void)
{
    return hs_index_init(&live_index, FIRST_LINES);
}

/* Blocks 8 bytes apart share a line of the index, so that a filter bit's other half is near. */
static uint32_t hash_addr(uintptr_t addr)
{
    return (uint32_t)((addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

struct match_addr {
    uintptr_t addr;
    struct hs_record_v1 *record;
    uint64_t word;
};

static inline bool is_alive_at(void *ctx, uint32_t id)
{
    struct match_addr *match = ctx;
    struct hs_record_v1 *record = hs_region_record(id);
    if (hs_unlikely(!record)) {
        return false;
    }
    /* ORDER record: the address and all else before the word that says ALIVE. */
    uint64_t word = hs_load_acquire(&record->word);
    if (HS_RECORD_STATE(word) != HS_RECORD_ALIVE || record->addr != match->addr) {
        return false;
    }
    match->record = record;
    match->word = word;
    return true;
}

static uint64_t weight_of(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t size_bytes = record->size_bytes;
    uint64_t hits = HS_RECORD_HITS(word);
    uint64_t sampled_bytes = hits * hs_region.header->interval_bytes[HS_RECORD_INTERVAL(word)];
    /* Without a branch: nobody can foresee which it is. */
    return sampled_bytes + (size_bytes & -(uint64_t)(hits == 0));
}

void hs_live_expect(uintptr_t addr)
{
    hs_filter_expect(addr);
    hs_index_expect(&live_index, hash_addr(addr));
}

static bool does_cover(uintptr_t start, uintptr_t addr)
{
    struct match_addr match = { .addr = start };
    uint64_t unused;
    if (!hs_index_find(&live_index, hash_addr(start), is_alive_at, &match, &unused)) {
        return false;
    }
    return start == addr || addr - start < match.record->size_bytes;
}

bool hs_live_covers(uintptr_t addr)
{
    uintptr_t align_bytes = addr & -addr;
    uintptr_t back_bytes =
        (align_bytes < ALIGN_BYTES_MAX ? align_bytes : ALIGN_BYTES_MAX) + HEADER_BYTES_MAX;
    uintptr_t first = addr > back_bytes ? addr - back_bytes : 0;
    for (uintptr_t start = addr & -GRAIN_BYTES; start > first; start -= GRAIN_BYTES) {
        if (hs_filter_test(start) &&
            (does_cover(start, addr) || does_cover(start + HALF_GRAIN_BYTES, addr))) {
            return true;
        }
    }
    return false;
}

/* Takes an address out of the filter, if no other can share its bit. */
static void unfilter(uintptr_t addr, uint64_t size_bytes)
{
    if (hs_likely(size_bytes > HALF_GRAIN_BYTES)) {
        hs_filter_remove(addr);
    } else if (!hs_load_relaxed(&has_half_grains)) {
        hs_filter_remove(addr);
        if (hs_unlikely(hs_load_relaxed(&has_half_grains))) {
            bool unused;
            hs_filter_add(addr, &unused); /* the first one came this very moment */
        }
    }
}

/* Makes the record, and has it found by address. */
static inline enum hs_loss publish(struct hs_thread *thread, const struct hs_live_block *block)
{
    uint32_t id = hs_records_take(thread);
    if (hs_unlikely(id == HS_RECORD_NONE)) {
        return HS_LOSS_TABLE_FULL;
    }
    struct hs_record_v1 *record = hs_region_record(id);
    record->addr = block->addr;
    uint64_t size_bytes =
        block->size_bytes < HS_RECORD_SIZE_MAX ? block->size_bytes : HS_RECORD_SIZE_MAX;
    record->size_bytes = size_bytes & HS_RECORD_SIZE_MAX;
    record->thread_id = (uint16_t)thread->thread_id;
    record->stack_id = block->stack_id;
    record->birth_ms = block->birth_ms;
    /* ORDER record: the block's fields before ALIVE. */
    hs_store_release(&record->word, HS_RECORD_WORD(block->epoch, block->interval_idx, block->hits,
                                                   HS_RECORD_ALIVE));
    if (hs_unlikely(!hs_index_insert(&live_index, hash_addr(block->addr), id))) {
        hs_records_give(thread, id, record);
        return HS_LOSS_NO_MEMORY;
    }
    return HS_LOSS_N;
}

enum hs_loss hs_live_insert(struct hs_thread *thread, const struct hs_live_block *block)
{
    bool was_set = false;
    if (hs_unlikely(!hs_filter_add(block->addr, &was_set))) {
        return HS_LOSS_NO_MEMORY;
    }
    if (hs_unlikely(was_set)) {
        /* Either a neighbour within 16 bytes, or a free that did not come through us. */
        if (hs_live_remove(thread, block->addr, NULL)) {
            thread->block->lost_count[HS_LOSS_DUPLICATE]++;
            hs_filter_add(block->addr, &was_set);
        }
    }
    if (hs_unlikely(block->addr & 8)) {
        hs_store_relaxed(&has_half_grains, true);
    }
    enum hs_loss loss = publish(thread, block);
    if (hs_unlikely(loss != HS_LOSS_N)) {
        if (!was_set) {
            unfilter(block->addr, block->size_bytes);
        }
        return loss;
    }
    if (hs_unlikely(hs_load_relaxed(&has_half_grains))) {
        /* Our neighbour may have died since we set the common bit, and not have known of us. */
        hs_filter_add(block->addr, &was_set);
    }
    hs_peak_add(thread, (int64_t)block->weight_bytes);
    return HS_LOSS_N;
}

/* Which cuts a block that dies now belongs to, as state bits. */
static unsigned cuts_of(uint64_t birth_epoch)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint64_t snapshot = hs_load_relaxed(&control->snapshot_epoch);
    unsigned state = 0;
    if (birth_epoch <= hs_load_relaxed(&control->peak_epoch)) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_PEAK;
    }
    if (hs_unlikely(snapshot != 0) && birth_epoch <= snapshot) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_SNAPSHOT;
    }
    return state;
}

static HS_COLD void describe(const struct hs_record_v1 *record, uint64_t word,
                             struct hs_live_block *ret_block)
{
    *ret_block = (struct hs_live_block){
        .addr = record->addr,
        .size_bytes = record->size_bytes,
        .weight_bytes = weight_of(record, word),
        .stack_id = record->stack_id,
        .birth_ms = record->birth_ms,
        .hits = HS_RECORD_HITS(word),
        .interval_idx = HS_RECORD_INTERVAL(word),
        .epoch = HS_RECORD_EPOCH(word),
    };
}

bool hs_live_remove(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block)
{
    struct match_addr match = { .addr = addr };
    uint64_t slot_value;
    uint64_t *slot = hs_index_find(&live_index, hash_addr(addr), is_alive_at, &match, &slot_value);
    if (hs_unlikely(!slot)) {
        return false;
    }
    if (thread) {
        hs_peak_before_free(thread);
    }
    struct hs_record_v1 *record = match.record;
    uint64_t word = match.word;
    uint32_t id = (uint32_t)slot_value - 1;
    uint64_t weight_bytes = weight_of(record, word);
    uint64_t size_bytes = record->size_bytes;
    if (ret_block) {
        describe(record, word, ret_block);
    }
    /* ORDER cut: with this epoch comes every cut announced before it began. */
    uint64_t epoch = hs_load_acquire(&hs_control_page.control.epoch);
    unsigned state = cuts_of(HS_RECORD_EPOCH(word));
    uint64_t dead =
        state == 0 ? 0
                   : HS_RECORD_WORD(epoch, HS_RECORD_INTERVAL(word), HS_RECORD_HITS(word), state);
    /* ORDER record: nobody reuses the record before it has left the index. */
    if (hs_unlikely(!hs_shared_cas(&record->word, &word, dead))) {
        return false; /* freed twice at once: the other one has it */
    }
    hs_index_remove(&live_index, slot, slot_value);
    unfilter(addr, size_bytes);
    if (hs_likely(thread != NULL)) {
        thread->block->free_count++;
        if (state == 0) {
            hs_records_give(thread, id, record);
        } else {
            hs_records_bury(thread, id, dead);
        }
        hs_peak_add(thread, -(int64_t)weight_bytes);
    } else {
        hs_add_relaxed(&hs_control_page.control.live_bytes, -(int64_t)weight_bytes);
        hs_records_bury(NULL, id, dead);
    }
    return true;
}
