/*
 * See combined_stack.h.
 */
#include "client/thread/combined_stack.h"

#include "client/host/pages.h"
#include "client/tables/region.h"
#include "rt/bits.h"

static uint32_t region_number;

struct hs_combined_cache *hs_combined_begin(struct hs_thread *thread)
{
    struct hs_combined_cache *cache = thread->combined_cache;
    if (hs_unlikely(!cache)) {
        cache = thread->combined_cache = hs_pages_map_sparse(sizeof(*cache));
    }
    if (hs_likely(cache != NULL)) {
        hs_readable_pages_begin(&thread->pages);
        hs_place_cache_begin(&cache->places, &thread->pages, hs_load_relaxed(&region_number));
    }
    return cache;
}

void hs_combined_clear(void)
{
    hs_add_relaxed(&region_number, 1);
}

uint32_t hs_combined_region_number(void)
{
    return hs_load_relaxed(&region_number);
}

uint64_t hs_combined_key(uint32_t native_id, uint64_t hash)
{
    hash = hs_hash_step(hash, (uint64_t)native_id << 32 | hs_load_relaxed(&region_number));
    return hs_mix64(hash) | 1;
}

void hs_combined_keep(struct hs_combined_entry *entry, uint64_t key, uint32_t id)
{
    if (id == HS_ID_NONE) {
        return;
    }
    entry->key = 0;
    hs_signal_fence();
    entry->id = id;
    hs_signal_fence();
    entry->key = key;
}

uint32_t hs_combined_cut_marker(void)
{
    return hs_frame_intern(HS_FRAME_PC_CUT, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
}

const uint32_t *hs_combined_frames(uint32_t stack_id, uint32_t *ret_count)
{
    const struct hs_stack_v1 *stack = hs_region_stack(stack_id);
    *ret_count = stack ? stack->frame_count : 0;
    return stack && hs_region_at(HS_SECTION_FRAME_IDS,
                                 (uint64_t)stack->frame_ids_idx + stack->frame_count)
               ? hs_region_at(HS_SECTION_FRAME_IDS, stack->frame_ids_idx)
               : NULL;
}

uint32_t hs_combined_intern(uint32_t native_id, const uint32_t *frame_ids, uint32_t frame_count)
{
    const struct hs_stack_v1 *native = hs_region_stack(native_id);
    const struct hs_stack_key key = {
        .frame_ids = frame_ids,
        .frame_count = frame_count,
        .end = native->end,
        .guessed_frame = native->guessed_frame,
    };
    return hs_stack_intern(&key);
}

HS_COLD bool hs_layout_count(struct hs_layout_trial *trial, bool is_success)
{
    uint32_t *count = is_success ? &trial->success_count : &trial->failure_count;
    uint32_t before = hs_load_relaxed(count);
    if (before <= HS_LAYOUT_FAILURES_MAX) {
        hs_store_relaxed(count, before + 1);
    }
    return before <= HS_LAYOUT_FAILURES_MAX;
}
