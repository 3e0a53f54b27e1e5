/*
 * Filling, growing and flushing the rule cache; the look-up is in the header.
 */
#include "unwind/rule_cache.h"

#include "rt/bits.h"

static uint64_t draw_generation(uint64_t flush_count)
{
    return hs_mix64(flush_count * UINT64_C(0x9e3779b97f4a7c15));
}

void hs_rule_cache_init(struct hs_rule_cache *cache, struct hs_rule_entry *entries,
                        uint32_t max_count)
{
    HS_ASSERT(max_count >= HS_RULE_CACHE_MIN && (max_count & (max_count - 1)) == 0);
    HS_ASSERT(entries[0].check == 0 && entries[max_count - 1].check == 0);
    *cache = (struct hs_rule_cache){ .entries = entries,
                                     .mask = HS_RULE_CACHE_MIN - 1,
                                     .max_mask = max_count - 1,
                                     .flush_count = 1,
                                     .generation = draw_generation(1) };
}

void hs_rule_cache_flush(struct hs_rule_cache *cache)
{
    uint64_t flush_count = hs_add_relaxed(&cache->flush_count, 1) + 1;
    /* ORDER rule-flush: the module state that the caller has published before. */
    hs_store_release(&cache->generation, draw_generation(flush_count));
}

/* Counts an entry that was pushed out. When that has happened to a quarter of the entries, the
 * table is too small and doubles. */
static void note_eviction(struct hs_rule_cache *cache, uint32_t mask)
{
    if (mask >= cache->max_mask) {
        return;
    }
    if (hs_add_relaxed(&cache->evict_count, 1) >= mask / 4) {
        hs_store_relaxed(&cache->evict_count, 0);
        HS_ASSERT((mask & (mask + 1)) == 0 && mask * 2 + 1 <= cache->max_mask);
        /* Another thread may have grown the table, even twice, since the caller read the mask. */
        hs_cas_relaxed(&cache->mask, &mask, mask * 2 + 1);
    }
}

/* Does the entry hold a rule of the same generation as (pc, key)? If so, its own pc comes out,
 * whose high bits are 0; otherwise noise. */
static bool is_current(const struct hs_rule_entry *entry, uint64_t pc, uint64_t key)
{
    uint64_t other_pc = hs_load_relaxed(&entry->check) ^ hs_load_relaxed(&entry->word) ^ key ^ pc;
    return other_pc >> 48 == 0 || (other_pc ^ HS_RULE_CACHE_EXACT) >> 48 == 0;
}

void hs_rule_cache_insert(struct hs_rule_cache *cache, uint64_t pc, uint64_t key, uint64_t word)
{
    uint32_t mask = hs_load_relaxed(&cache->mask);
    size_t idx = hs_rule_cache_idx(pc, mask);
    struct hs_rule_entry *place = &cache->entries[idx], *neighbour = &cache->entries[idx ^ 1];

    hs_add_relaxed(&cache->miss_count, 1);
    if (is_current(place, pc, key)) {
        if (is_current(neighbour, pc, key)) {
            note_eviction(cache, mask);
        }
        hs_store_relaxed(&neighbour->word, hs_load_relaxed(&place->word));
        hs_store_relaxed(&neighbour->check, hs_load_relaxed(&place->check));
    }
    hs_store_relaxed(&place->word, word);
    hs_store_relaxed(&place->check, key ^ word);
}

#if HS_HAS_CHECKS

static bool is_empty(const struct hs_rule_entry *entries, uint32_t first, uint32_t end)
{
    while (first < end && entries[first].word == 0 && entries[first].check == 0) {
        first++;
    }
    return first == end;
}

/* Is the entry's pc one whose place this is, or was while the table was smaller? */
static bool is_in_place(const struct hs_rule_cache *cache, uint32_t idx)
{
    const struct hs_rule_entry *entry = &cache->entries[idx];
    uint64_t pc = entry->check ^ entry->word ^ cache->generation;
    pc = pc >> 48 == 0 ? pc : pc ^ HS_RULE_CACHE_EXACT;
    return ((pc ^ idx) & (HS_RULE_CACHE_MIN - 1) & ~UINT64_C(1)) == 0;
}

bool hs_rule_cache_is_valid(const struct hs_rule_cache *cache)
{
    uint32_t mask = cache->mask;
    bool is_valid = mask >= HS_RULE_CACHE_MIN - 1 && mask <= cache->max_mask &&
                    (mask & (mask + 1)) == 0 && cache->flush_count > 0 &&
                    cache->generation == draw_generation(cache->flush_count);
    for (uint32_t i = 0; is_valid && cache->flush_count == 1 && i <= mask; i++) {
        is_valid = is_empty(cache->entries, i, i + 1) || is_in_place(cache, i);
    }
    return is_valid && is_empty(cache->entries, mask + 1, cache->max_mask + 1);
}

#endif
