/*
 * The rule cache: from a pc to its unwind rule and to the frame's id.
 *
 * All threads share it without a lock. An entry is two words: word, and pc ^ word ^ generation. Two
 * threads that write the same entry at once may leave one word of each behind. Such a pair yields
 * the pc of one, changed in the bits in which the two words differ. That is as good as never a pc
 * that is looked up, so the pair is a miss. A flush draws a new generation, which turns every older
 * entry into a miss.
 *
 * A pc has two places: its own, which is read first, and the neighbour in the same cache line. An
 * entry that is pushed out of its own place moves to the neighbour. Otherwise two return addresses
 * of one stack that have the same place would push each other out at every walk.
 *
 * The caller provides the memory: HS_RULE_CACHE_BYTES(max_count) zeroed bytes. The table begins
 * with the first HS_RULE_CACHE_MIN entries of it and doubles when many different pcs push each
 * other out, so a small program touches only four pages. The low bits of the pc are the index, so
 * doubling keeps half the entries where they are, and costs misses for the others.
 *
 * Holds     `mask` + 1 is a power of two and only grows. Zero memory is an empty table.
 * Threads   any, at any time; hs_rule_cache_init before the first.
 * Fails     never: a rule that was pushed out is derived again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

#define HS_RULE_CACHE_MIN          1024U
#define HS_RULE_CACHE_BYTES(count) ((size_t)(count) * sizeof(struct hs_rule_entry))

/* The rule of one pc. */
struct hs_rule_entry {
    uint64_t check; /* key ^ word */
    uint64_t word;  /* rule << 32 | user, the frame's id */
};

/* The cache. */
struct hs_rule_cache {
    struct hs_rule_entry *entries;
    uint64_t generation; /* drawn from flush_count by each flush; part of every key */
    uint32_t mask;
    uint32_t max_mask;
    /* Written on misses only; kept away from what every walk reads. */
    _Alignas(64) uint64_t flush_count;
    uint64_t miss_count;
    uint32_t evict_count; /* entries pushed out since the last doubling */
};

/* Makes an empty cache. `entries` is zero memory for `max_count` (a power of two >=
 * HS_RULE_CACHE_MIN) entries. */
void hs_rule_cache_init(struct hs_rule_cache *cache, struct hs_rule_entry *entries,
                        uint32_t max_count);

/* Forgets all rules. Called after `resolve` can see the new state of the modules: a walk that
 * begins afterwards uses that state and nothing older. */
void hs_rule_cache_flush(struct hs_rule_cache *cache);

/* Stores `word` for `pc`; `key` as made by hs_rule_cache_key. */
void hs_rule_cache_insert(struct hs_rule_cache *cache, uint64_t pc, uint64_t key, uint64_t word);

/* For assertions: is the mask one less than a power of two and within its bounds, is the generation
 * that of the last flush, is everything beyond the mask empty, and, until the first flush, is each
 * rule at the place of its pc? No thread may use the cache meanwhile. */
bool hs_rule_cache_is_valid(const struct hs_rule_cache *cache);

/* ---- hot ---- */

/* An exact pc (of a frame interrupted by a signal) has other rules than an equal return address. */
#define HS_RULE_CACHE_EXACT UINT64_C(0x5bd1e9955bd1e995)

/* The generation that a walk starts with. */
static inline uint64_t hs_rule_cache_generation(const struct hs_rule_cache *cache)
{
    /* ORDER rule-flush: with a new generation comes the module state it was drawn for. */
    return hs_load_acquire(&cache->generation);
}

/* The key of a pc. */
static inline uint64_t hs_rule_cache_key(uint64_t pc, bool is_exact, uint64_t generation)
{
    return pc ^ generation ^ (is_exact ? HS_RULE_CACHE_EXACT : 0);
}

/* The place of a pc. Code addresses are spread well enough without a hash, and this is on the
 * critical path of a walk. */
static inline size_t hs_rule_cache_idx(uint64_t pc, uint64_t mask)
{
    return pc & mask;
}

/* The word that `entry` holds for `key`. False: it holds another pc's. */
static inline bool hs_rule_entry_get(const struct hs_rule_entry *entry, uint64_t key,
                                     uint64_t *ret_word)
{
    uint64_t word = hs_load_relaxed(&entry->word);
    *ret_word = word;
    return hs_likely((hs_load_relaxed(&entry->check) ^ word) == key);
}

/* Looks up the word for `key`. False: a miss. */
static inline bool hs_rule_cache_find(const struct hs_rule_entry *entries, uint64_t mask,
                                      uint64_t pc, uint64_t key, uint64_t *ret_word)
{
    size_t idx = hs_rule_cache_idx(pc, mask);
    return hs_rule_entry_get(&entries[idx], key, ret_word) ||
           hs_rule_entry_get(&entries[idx ^ 1], key, ret_word);
}
