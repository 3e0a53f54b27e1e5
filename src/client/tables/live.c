/*
 * Inserting and removing sampled blocks: the slow paths. See live.h.
 */
#include "client/tables/live.h"

#include "client/tables/filter.h"
#include "client/tables/lifetimes.h"
#include "client/tables/locate.h"
#include "client/tables/peak.h"
#include "client/tables/region.h"
#include "client/tables/shared.h"

bool hs_live_has_half_grains;
/* For allocators that align blocks within blocks of another allocator: the largest alignment that
 * is looked for. */
#define ALIGN_BYTES_MAX  ((uintptr_t)2 << 20)
#define HEADER_BYTES_MAX 64U

bool hs_live_init(void)
{
    return hs_locate_init();
}

void hs_live_clear(void)
{
    hs_filter_clear();
    hs_locate_clear();
    hs_record_pool_forget_all();
}

static bool does_cover(uintptr_t start, uintptr_t addr)
{
    struct hs_record_place place;
    return hs_locate_find(hs_tls.self, start, &place) &&
           (start == addr || addr - start < HS_RECORD_SIZE(place.record->size_thread));
}

uintptr_t hs_live_first_cover(uintptr_t addr)
{
    uintptr_t align_bytes = addr & -addr;
    uintptr_t back_bytes =
        (align_bytes < ALIGN_BYTES_MAX ? align_bytes : ALIGN_BYTES_MAX) + HEADER_BYTES_MAX;
    return addr > back_bytes ? addr - back_bytes : 0;
}

bool hs_live_covers(uintptr_t addr)
{
    uintptr_t first = hs_live_first_cover(addr);
    for (uintptr_t start = addr & -HS_LIVE_GRAIN; start > first; start -= HS_LIVE_GRAIN) {
        if (hs_filter_test(start) &&
            (does_cover(start, addr) || does_cover(start + HS_LIVE_HALF_GRAIN, addr))) {
            return true;
        }
    }
    return false;
}

bool hs_live_is_in_heap(uintptr_t addr, uint8_t heap_id)
{
    struct hs_record_place place;
    return hs_filter_test(addr) && hs_locate_find(hs_tls.self, addr, &place) &&
           hs_region_heap_of(place.record) == heap_id;
}

/* Clears the filter's bit of an address, unless another block may share the bit. */
static inline void unfilter(uintptr_t addr, uint64_t size_bytes)
{
    if (hs_likely(size_bytes > HS_LIVE_HALF_GRAIN)) {
        hs_filter_remove(addr);
    } else if (!hs_load_relaxed(&hs_live_has_half_grains)) {
        hs_filter_remove(addr);
        if (hs_unlikely(hs_load_relaxed(&hs_live_has_half_grains))) {
            bool unused;
            /* The first such small block was recorded at this moment. */
            hs_filter_add(addr, &unused);
        }
    }
}

HS_COLD void hs_live_unfilter(uintptr_t addr, uint64_t size_bytes)
{
    unfilter(addr, size_bytes);
}

/* Another block may be recorded at this address, or 8 bytes beside it with the same bit. It can be
 * a neighbour within 16 bytes, a block whose free did not come through a hook, or the first block
 * of a pool that lies in a block of another allocator. One address has one record: the older one is
 * removed. */
HS_COLD void hs_live_remove_duplicate(struct hs_thread *thread, uintptr_t addr)
{
    bool unused;
    struct hs_live_block gone;
    if (hs_live_forget(thread, addr, &gone)) {
        thread->block->lost_count[HS_LOSS_DUPLICATE]++;
        thread->block->duplicate_bytes += gone.weight_bytes;
        hs_filter_add(addr, &unused);
    }
}

HS_COLD void hs_live_describe(const struct hs_record_v1 *record, uint64_t word,
                              struct hs_live_block *ret_block)
{
    *ret_block = (struct hs_live_block){
        .addr = record->addr,
        .size_bytes = HS_RECORD_SIZE(record->size_thread),
        .weight_bytes = hs_live_weight(record, word),
        .stack_id = record->stack_id,
        .birth_ms = record->birth_ms,
        .hits = HS_RECORD_HITS(word),
        .interval_idx = HS_RECORD_INTERVAL(word),
        .epoch = HS_RECORD_EPOCH(word),
    };
}

/* `is_timed`: *ret_block gets a lifetime, which is added to those of its stack. */
static inline __attribute__((always_inline)) bool remove_block(struct hs_thread *thread,
                                                               uintptr_t addr,
                                                               struct hs_live_block *ret_block,
                                                               bool is_timed)
{
    struct hs_record_place place;
    if (hs_unlikely(!hs_locate_find(thread, addr, &place))) {
        return false;
    }
    if (hs_likely(thread != NULL)) {
        hs_peak_before_free(thread);
    } else {
        hs_peak_note();
    }
    struct hs_record_v1 *record = place.record;
    uint64_t word = place.word;
    uint64_t weight_bytes = hs_live_weight(record, word);
    uint64_t size_bytes = HS_RECORD_SIZE(record->size_thread);
    if (ret_block) {
        hs_live_describe(record, word, ret_block);
    }
    if (is_timed) {
        hs_lifetimes_measure(thread, record, ret_block);
    }
    /* ORDER cut: with this epoch comes every cut announced before it began. */
    uint64_t epoch = hs_load_acquire(&hs_control_page.control.epoch);
    unsigned state = hs_live_cuts(HS_RECORD_EPOCH(word));
    uint64_t dead =
        state == 0 ? 0
                   : HS_RECORD_WORD(epoch, HS_RECORD_INTERVAL(word), HS_RECORD_HITS(word), state);
    if (hs_unlikely(hs_fork_ring_is_inherited(HS_RECORD_EPOCH(word)))) {
        hs_fork_ring_add(record, word);
    }
    /* ORDER record: no thread reuses the record before it has left its place. */
    if (hs_unlikely(!hs_shared_cas(&record->word, &word, dead))) {
        return false; /* two threads freed it at once: the other one has it */
    }
    HS_ASSERT(hs_live_was_in_filter(record, addr));
    unfilter(addr, size_bytes);
    hs_locate_forget(thread, &place, addr, dead);
    if (hs_likely(thread != NULL)) {
        thread->block->free_count++;
        hs_peak_add(thread, -(int64_t)weight_bytes);
    } else {
        hs_add_relaxed(&hs_control_page.control.live_bytes, -(int64_t)weight_bytes);
    }
    if (is_timed) {
        hs_lifetimes_add(ret_block, epoch);
    }
    return true;
}

bool hs_live_remove(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block)
{
    return remove_block(thread, addr, ret_block, false);
}

bool hs_live_forget(struct hs_thread *thread, uintptr_t addr, struct hs_live_block *ret_block)
{
    struct hs_live_block block;
    if (!hs_life_state_is_timed()) {
        return hs_live_remove(thread, addr, ret_block);
    }
    bool was_recorded = remove_block(thread, addr, &block, true);
    if (was_recorded && ret_block) {
        *ret_block = block;
    }
    return was_recorded;
}

#if HS_HAS_CHECKS

bool hs_live_is_valid(void)
{
    if (!hs_filter_is_valid() || !hs_locate_is_valid() || !hs_record_pool_is_valid()) {
        return false;
    }
    uint64_t count = hs_region.header ? hs_region.header->sections[HS_SECTION_RECORDS].count : 0;
    for (uint32_t id = 0; id < count; id++) {
        const struct hs_record_v1 *record = hs_region_alive_record(id);
        if (record && hs_region_heap_of(record) == 0 && !hs_filter_test(record->addr)) {
            return false;
        }
    }
    return hs_live_has_half_grains || hs_locate_has_others ||
           hs_filter_bit_count() == hs_region_alive_count(true);
}

#endif
