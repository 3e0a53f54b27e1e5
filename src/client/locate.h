/*
 * From an address to the record of the block there.
 *
 * Most blocks die young, freed by the thread that made them. So a thread keeps its latest records in a
 * small table of its own, one place for each of 256 hashes of an address: a block that is freed before
 * another one takes its place costs neither an entry in the index that all threads share, nor a cache
 * line of it, and its record is used again right there. A record that has to give up its place goes to
 * the index.
 *
 * Whoever frees a block of another thread looks in the index, then in the places of all threads, and
 * then once more in the index, where it may have gone meanwhile. That is long; so a thread whose blocks
 * are often found by others leaves its places alone for a while, and puts new records into the index. So
 * does one whose blocks live too long for them.
 *
 * Holds     a block is found by every search that starts after hs_locate_publish returned, until it is
 *           forgotten: it enters the index before it leaves its place. Only the owner of a place puts
 *           something there, and only the owner uses its record again, whoever freed the block.
 * Threads   any number; async-signal-safe. A handler that interrupted our own code passes NULL for the
 *           thread, and is then a stranger to its places.
 * Fails     hs_locate_take returns NULL when there is no memory or no record left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/index.h"
#include "client/records.h"
#include "client/region.h"
#include "client/thread.h"

/* A block that was found. */
struct hs_record_place {
    struct hs_record_v1 *record;
    uint64_t word;                   /* of the record: alive */
    struct hs_cached_record *cached; /* where it was found; NULL: in the index, */
    uint64_t *slot;                  /* here */
    uint64_t slot_value;
    bool is_own; /* `cached` is the searching thread's */
};

bool hs_locate_init(void);

/* No block is known any more. Nobody else may look for one meanwhile. */
void hs_locate_clear(void);

/* Cold half of hs_locate_prefetch: what an entry in the index will change is brought near. */
void hs_locate_prefetch_slow(uintptr_t addr);

/* Looks back at the last `sample_count` samples of a thread: if most of its blocks had to leave their
 * places, it leaves these alone for a while. */
void hs_locate_review(struct hs_thread *thread, uint32_t sample_count);

/* What `renumber` returns is the record's id from now on, for each block that can be found; its address is
 * known by its hash. HS_RECORD_NONE: it is not found any more. Some are asked for twice. Nobody else may
 * look for blocks meanwhile. */
void hs_locate_renumber(hs_index_renumber_fn *renumber, void *ctx);

/* Cold half of hs_locate_find: not in a place of `thread` (NULL: of nobody). */
bool hs_locate_find_slow(uintptr_t addr, struct hs_record_place *ret_place);

/* Cold half of hs_locate_forget: not in a place of `thread` (NULL: of nobody), or some cut needs it. */
void hs_locate_forget_slow(struct hs_thread *thread, const struct hs_record_place *place,
                           uintptr_t addr, uint64_t dead_word);

/* Cold half of hs_locate_take: the place is taken by another block. */
struct hs_record_v1 *hs_locate_take_slow(struct hs_thread *thread, struct hs_cached_record *cached);

/* Cold half of hs_locate_publish: false without memory; the record is given back then. */
bool hs_locate_publish_slow(struct hs_thread *thread, uintptr_t addr, struct hs_record_v1 *record);

/* --- hot ------------------------------------------------------------------------------------- */

/* Blocks that others may find in a thread's places before it leaves them alone, */
#define HS_LOCATE_FOUND_MAX 64U
/* for so many reviews. */
#define HS_LOCATE_REST 16U

/* Blocks 8 bytes apart share a line of the index, so that a filter bit's other half is near. */
static inline uint32_t hs_locate_hash(uintptr_t addr)
{
    return (uint32_t)((addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline struct hs_cached_record *hs_locate_cached(struct hs_thread *thread, uintptr_t addr)
{
    return &thread->record_cache[hs_locate_hash(addr) >> (32 - HS_RECORD_CACHE_BITS)];
}

/* The record's word, if it is that of a block at `addr`; else 0. */
static inline uint64_t hs_locate_word(const struct hs_record_v1 *record, uintptr_t addr)
{
    if (hs_unlikely(!record)) {
        return 0;
    }
    /* ORDER record: the address and all else before the word that says ALIVE. */
    uint64_t word = hs_load_acquire(&record->word);
    return hs_likely(HS_RECORD_STATE(word) == HS_RECORD_ALIVE) &&
                   hs_likely(hs_load_relaxed(&record->addr) == addr)
               ? word
               : 0;
}

/* The word of the record in a place, if it is that of a block at `addr`; else 0. */
static inline uint64_t hs_locate_look(const struct hs_cached_record *cached, uintptr_t addr,
                                      struct hs_record_v1 **ret_record)
{
    /* ORDER cached: the record that was published with this address. */
    if (hs_load_acquire(&cached->addr) != addr) {
        return 0;
    }
    *ret_record = hs_load_relaxed(&cached->record);
    return hs_locate_word(*ret_record, addr);
}

static inline __attribute__((always_inline)) bool
hs_locate_find(struct hs_thread *thread, uintptr_t addr, struct hs_record_place *ret_place)
{
    if (hs_likely(thread != NULL)) {
        ret_place->cached = hs_locate_cached(thread, addr);
        ret_place->is_own = true;
        ret_place->word = hs_locate_look(ret_place->cached, addr, &ret_place->record);
        if (hs_likely(ret_place->word != 0)) {
            return true;
        }
    }
    return hs_locate_find_slow(addr, ret_place);
}

/* The block of `place` is dead: we have changed its record's word to `dead_word` (0: no cut needs it). It
 * is taken out of where it was found, and the record is disposed of. */
static inline void hs_locate_forget(struct hs_thread *thread, const struct hs_record_place *place,
                                    uintptr_t addr, uint64_t dead_word)
{
    if (hs_likely(place->is_own) && hs_likely(dead_word == 0)) {
        hs_store_relaxed(&place->cached->addr, 0); /* the record stays, for the next one */
    } else {
        hs_locate_forget_slow(thread, place, addr, dead_word);
    }
}

/* A block at `addr` will be recorded soon: what is far away may come. Its place. */
static inline struct hs_cached_record *hs_locate_prefetch(struct hs_thread *thread, uintptr_t addr)
{
    struct hs_cached_record *cached = hs_locate_cached(thread, addr);
    uintptr_t goes_va = hs_load_relaxed(&cached->addr);
    if (hs_unlikely(hs_load_relaxed(&thread->rest_count) != 0)) {
        hs_locate_prefetch_slow(addr);
    } else if (goes_va != 0) {
        hs_locate_prefetch_slow(goes_va);
    }
    return cached;
}

/* A record for a block whose place this is, to be filled and published; NULL: none. */
static inline struct hs_record_v1 *hs_locate_take(struct hs_thread *thread,
                                                  struct hs_cached_record *cached)
{
    struct hs_record_v1 *record = cached->record;
    /* ORDER cached-leave: who freed the last block here has done with its record. */
    if (hs_likely(hs_load_acquire(&cached->addr) == 0) && hs_likely(record != NULL) &&
        hs_likely(hs_load_relaxed(&thread->rest_count) == 0) &&
        hs_likely(hs_load_relaxed(&record->word) == 0)) {
        return record;
    }
    return hs_locate_take_slow(thread, cached);
}

/* From now on the block is found. */
static inline bool hs_locate_publish(struct hs_thread *thread, struct hs_cached_record *cached,
                                     uintptr_t addr, struct hs_record_v1 *record)
{
    if (hs_likely(cached->record == record)) {
        /* ORDER cached: the record and its content before the address. */
        hs_store_release(&cached->addr, addr);
        return true;
    }
    return hs_locate_publish_slow(thread, addr, record);
}
