/*
 * See combined_stack.h.
 */
#include "client/thread/combined_stack.h"

#include "client/tables/region.h"

void hs_combined_keep(struct hs_combined_entry *entry, uint64_t key, uint32_t id)
{
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
