/*
 * Interning of frames and stacks, and the stacks' totals. See stacks.h.
 */
#include "client/tables/stacks.h"

#include "client/tables/code_names.h"
#include "client/tables/index.h"
#include "client/tables/region.h"
#include "client/tables/scopes.h"
#include "client/tables/shared.h"
#include "rt/bits.h"
#include "rt/rand.h"

/* Each index begins with one page. */
#define FIRST_LINES 64U

static struct hs_index frame_index;
static struct hs_index stack_index;

bool hs_stacks_init(void)
{
    return hs_index_init(&frame_index, FIRST_LINES) && hs_index_init(&stack_index, FIRST_LINES) &&
           hs_scopes_init() && hs_code_names_init();
}

void hs_stacks_clear(void)
{
    hs_index_clear(&frame_index);
    hs_index_clear(&stack_index);
    hs_scopes_clear();
    hs_code_names_clear();
}

/* --- frames ----------------------------------------------------------------------------------- */

static inline bool is_frame(void *ctx, uint32_t id)
{
    const struct hs_frame_v1 *want = ctx;
    const struct hs_frame_v1 *frame = hs_region_frame(id);
    return frame && frame->pc == want->pc && frame->module_id == want->module_id &&
           frame->flags == want->flags;
}

uint32_t hs_frame_intern(uint64_t pc, uint32_t module_id, uint32_t flags)
{
    struct hs_frame_v1 want = { .pc = pc, .module_id = module_id, .flags = flags };
    uint32_t hash = (uint32_t)hs_mix64(pc ^ (uint64_t)module_id << 48 ^ (uint64_t)flags << 40);
    uint64_t found;
    if (hs_index_find(&frame_index, hash, is_frame, &want, &found)) {
        return (uint32_t)found - 1;
    }
    uint64_t id = hs_region_take(HS_SECTION_FRAMES, 1);
    struct hs_frame_v1 *frame = id == UINT64_MAX ? NULL : hs_region_frame((uint32_t)id);
    if (!frame) {
        return HS_ID_NONE;
    }
    *frame = want;
    /* Without room in the index the frame is stored again next time. */
    hs_index_insert(&frame_index, hash, (uint32_t)id);
    return (uint32_t)id;
}

/* --- stacks ----------------------------------------------------------------------------------- */

struct match_stack {
    const struct hs_stack_key *key;
    uint64_t hash;
};

static inline bool is_stack(void *ctx, uint32_t id)
{
    const struct match_stack *match = ctx;
    const struct hs_stack_key *key = match->key;
    const struct hs_stack_v1 *stack = hs_region_stack(id);
    if (!stack || stack->hash != match->hash || stack->frame_count != key->frame_count ||
        stack->heap_id != key->heap_id || stack->type_id != key->type_id ||
        stack->end != key->end || stack->base_id != 0) {
        return false;
    }
    const uint32_t *ids = hs_region_at(HS_SECTION_FRAME_IDS, stack->frame_ids_idx);
    for (uint32_t i = 0; ids && i < key->frame_count; i++) {
        if (ids[i] != key->frame_ids[i]) {
            return false;
        }
    }
    return ids != NULL;
}

static uint64_t hash_key(const struct hs_stack_key *key)
{
    uint64_t hash = (uint64_t)key->frame_count << 32 | key->type_id;
    hash = hs_hash_step(hash, (uint64_t)key->heap_id << 8 | key->end);
    uint32_t i = 0;
    for (; i + 1 < key->frame_count; i += 2) {
        hash = hs_hash_step(hash, (uint64_t)key->frame_ids[i] << 32 | key->frame_ids[i + 1]);
    }
    if (i < key->frame_count) {
        hash = hs_hash_step(hash, key->frame_ids[i]);
    }
    hash = hs_mix64(hash);
    return hash ? hash : 1;
}

static HS_COLD uint32_t append(const struct hs_stack_key *key, uint64_t hash)
{
    uint64_t idx = hs_region_take(HS_SECTION_FRAME_IDS, key->frame_count);
    if (idx == UINT64_MAX || !hs_region_at(HS_SECTION_FRAME_IDS, idx + key->frame_count)) {
        return HS_ID_NONE;
    }
    uint32_t *ids = hs_region_at(HS_SECTION_FRAME_IDS, idx);
    for (uint32_t i = 0; i < key->frame_count; i++) {
        ids[i] = key->frame_ids[i];
    }
    uint64_t id = hs_region_take(HS_SECTION_STACKS, 1);
    struct hs_stack_v1 *stack = id == UINT64_MAX ? NULL : hs_region_stack((uint32_t)id);
    if (!stack) {
        return HS_ID_NONE;
    }
    stack->frame_ids_idx = (uint32_t)idx;
    stack->frame_count = (uint16_t)key->frame_count;
    stack->heap_id = key->heap_id;
    stack->end = key->end;
    stack->type_id = key->type_id;
    stack->guessed_frame = key->guessed_frame;
    /* ORDER stack: frames and key before the hash that says it is whole. */
    hs_store_release(&stack->hash, hash);
    hs_index_insert(&stack_index, (uint32_t)(hash >> 32), (uint32_t)id);
    return (uint32_t)id;
}

uint32_t hs_stack_intern(const struct hs_stack_key *key)
{
    struct match_stack match = { .key = key, .hash = hash_key(key) };
    uint64_t found;
    if (hs_index_find(&stack_index, (uint32_t)(match.hash >> 32), is_stack, &match, &found)) {
        return (uint32_t)found - 1;
    }
    return append(key, match.hash);
}

static inline bool is_derived(void *ctx, uint32_t id)
{
    const struct hs_stack_v1 *want = ctx;
    const struct hs_stack_v1 *stack = hs_region_stack(id);
    return stack && stack->hash == want->hash && stack->base_id == want->base_id &&
           stack->heap_id == want->heap_id && stack->type_id == want->type_id &&
           stack->scope_id == want->scope_id;
}

static uint64_t hash_derived(const struct hs_stack_v1 *stack)
{
    uint64_t hash = (uint64_t)stack->base_id << 32 | stack->type_id;
    hash = hs_mix64(hs_hash_step(hash, (uint64_t)stack->heap_id << 32 | stack->scope_id));
    return hash ? hash : 1;
}

static HS_COLD uint32_t append_derived(const struct hs_stack_v1 *want)
{
    uint64_t id = hs_region_take(HS_SECTION_STACKS, 1);
    struct hs_stack_v1 *stack = id == UINT64_MAX ? NULL : hs_region_stack((uint32_t)id);
    const struct hs_stack_v1 *base = hs_region_stack(want->base_id - 1);
    if (!stack || !base) {
        return HS_ID_NONE;
    }
    stack->frame_ids_idx = base->frame_ids_idx;
    stack->frame_count = base->frame_count;
    stack->end = base->end;
    stack->guessed_frame = base->guessed_frame;
    stack->heap_id = want->heap_id;
    stack->type_id = want->type_id;
    stack->scope_id = want->scope_id;
    stack->base_id = want->base_id;
    /* ORDER stack: frames and key before the hash that says it is whole. */
    hs_store_release(&stack->hash, want->hash);
    hs_index_insert(&stack_index, (uint32_t)(want->hash >> 32), (uint32_t)id);
    return (uint32_t)id;
}

uint32_t hs_stack_derive(uint32_t base_id, uint8_t heap_id, uint32_t type_id, uint32_t scope_id)
{
    struct hs_stack_v1 want = {
        .base_id = base_id + 1, .heap_id = heap_id, .type_id = type_id, .scope_id = scope_id
    };
    uint64_t found;
    want.hash = hash_derived(&want);
    if (hs_index_find(&stack_index, (uint32_t)(want.hash >> 32), is_derived, &want, &found)) {
        return (uint32_t)found - 1;
    }
    return append_derived(&want);
}

void hs_stack_add_sampled(struct hs_totals_v1 *totals, uint64_t size_bytes, uint32_t hits,
                          uint64_t interval_bytes)
{
    /* Size 0 is only ever recorded exactly, so x > 0. */
    double count = hs_inverse_hit_probability((double)size_bytes / (double)interval_bytes);
    double scale = (double)(1 << HS_COUNT_SHIFT);
    hs_shared_add(&totals->sampled_bytes, hits * interval_bytes);
    hs_shared_add(&totals->sampled_count_fx, (uint64_t)(count * scale + 0.5));
    /* (1-p)/p^2 with 1/p = count. */
    hs_shared_add_double(&totals->sampled_count_var, count * (count - 1));
}

#if HS_HAS_CHECKS

static uint32_t examine_frame(void *ctx, uint32_t hash, uint32_t id)
{
    bool *is_valid = ctx;
    const struct hs_frame_v1 *frame = hs_region_frame(id);
    *is_valid &= id < hs_region.header->sections[HS_SECTION_FRAMES].count && frame &&
                 hash == (uint32_t)hs_mix64(frame->pc ^ (uint64_t)frame->module_id << 48 ^
                                            (uint64_t)frame->flags << 40);
    return id;
}

static uint32_t examine_stack(void *ctx, uint32_t hash, uint32_t id)
{
    bool *is_valid = ctx;
    const struct hs_stack_v1 *stack = hs_region_stack(id);
    *is_valid &= id < hs_region.header->sections[HS_SECTION_STACKS].count && stack &&
                 hash == (uint32_t)(stack->hash >> 32);
    return id;
}

/* Is this stack whole, with the hash of its content? Without address space it is not reached. */
static bool is_stack_valid(const struct hs_stack_v1 *stack)
{
    uint64_t end = (uint64_t)stack->frame_ids_idx + stack->frame_count;
    if (stack->hash == 0 || end > hs_region.header->sections[HS_SECTION_FRAME_IDS].count ||
        stack->end >= HS_STACK_END_N) {
        return stack->hash == 0; /* the thread that took it found no room for the rest */
    }
    if (stack->base_id != 0) {
        const struct hs_stack_v1 *base = hs_region_stack(stack->base_id - 1);
        return base && base->base_id == 0 && base->frame_ids_idx == stack->frame_ids_idx &&
               base->frame_count == stack->frame_count && hash_derived(stack) == stack->hash;
    }
    const struct hs_stack_key key = {
        .frame_ids = hs_region_at(HS_SECTION_FRAME_IDS, stack->frame_ids_idx),
        .frame_count = stack->frame_count,
        .type_id = stack->type_id,
        .heap_id = stack->heap_id,
        .end = stack->end,
    };
    return hash_key(&key) == stack->hash;
}

bool hs_stacks_is_valid(void)
{
    bool is_valid = hs_index_is_valid(&frame_index) && hs_index_is_valid(&stack_index);
    if (is_valid && hs_region.header) {
        hs_index_renumber(&frame_index, examine_frame, &is_valid);
        hs_index_renumber(&stack_index, examine_stack, &is_valid);
        uint64_t count = hs_region.header->sections[HS_SECTION_STACKS].count;
        for (uint32_t id = 0; is_valid && id < count; id++) {
            const struct hs_stack_v1 *stack = hs_region_stack(id);
            is_valid = !stack || is_stack_valid(stack);
        }
    }
    return is_valid;
}

#endif
