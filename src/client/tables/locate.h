/*
 * From an address to the record of the block there: the record cache and the index.
 *
 * Most blocks die young, and the thread that made them frees them. So a thread keeps its latest
 * records in a small table of its own, the record cache: one entry for each of 256 hashes of an
 * address. A block that is freed before another block needs its entry is never put into the index
 * that all threads share, and touches no cache line of it. Its record stays in the entry and is
 * used for the next block there.
 *
 * The life of one block, in the order of the functions:
 *
 *   1. hs_locate_prefetch finds the cache entry of the block's hash, and prefetches the index line
 *      that will change: that of the block that has to leave the entry, if there is one, or the new
 *      block's own while the cache is not used.
 *   2. hs_locate_take returns a record to fill. If the entry holds another block, that one is
 *      evicted: it is inserted into the index before its address leaves the entry.
 *   3. hs_locate_publish stores the address in the entry (or, for a record that belongs to no
 *      entry, inserts it into the index). From now on the block is found.
 *   4. hs_locate_find looks in the calling thread's entry, in the index, in the entries of all
 *      threads, and in the index again, because the block may have been evicted meanwhile.
 *   5. hs_locate_forget removes the block from where it was found. The record stays in the entry,
 *      or goes to the free lists (record_pool.h).
 *
 * Looking in the caches of other threads is slow. Therefore a thread does not use its cache for a
 * while, and puts new records into the index, when other threads often find its blocks there, or
 * when most of its blocks live so long that they are evicted.
 *
 * Holds     a block is found by every search that starts after hs_locate_publish returned, until it
 *           is forgotten: it enters the index before it leaves its entry. Only the owner of a cache
 *           fills its entries, and only the owner reuses their records, whichever thread freed the
 *           block.
 * Threads   any number; async-signal-safe. A handler that interrupted our own code passes NULL for
 *           the thread, and is then treated like another thread.
 * Fails     hs_locate_take returns NULL when there is no memory or no record left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/index.h"
#include "client/tables/record_pool.h"
#include "client/tables/region.h"
#include "client/tables/thread_state.h"
#include "rt/check.h"

/* Where a block was found. */
struct hs_record_place {
    struct hs_record_v1 *record;
    uint64_t word;                   /* of the record, whose state is ALIVE */
    struct hs_cached_record *cached; /* the entry it was found in; NULL: in the index, */
    uint64_t *slot;                  /* in this slot */
    uint64_t slot_value;
    bool is_own; /* `cached` belongs to the searching thread */
};

/* Makes the index. False: no memory. */
bool hs_locate_init(void);

/* Forgets all blocks. No other thread may look for one meanwhile. */
void hs_locate_clear(void);

/* Slow path of hs_locate_prefetch: prefetches the index line that an insert of `addr` will
 * change. */
void hs_locate_prefetch_slow(uintptr_t addr);

/* Looks back at the last `sample_count` samples of a thread. If most of its blocks were evicted,
 * the thread does not use its record cache for a while. */
void hs_locate_review(struct hs_thread *thread, uint32_t sample_count);

/* Gives each block that can be found the record id that `renumber` returns; the address is known by
 * its hash. HS_RECORD_NONE: the block is forgotten. `renumber` may be called twice for the same
 * block. No other thread may look for blocks meanwhile. */
void hs_locate_renumber(hs_index_renumber_fn *renumber, void *ctx);

/* For assertions: does each entry of the index and of the record caches name an ALIVE record whose
 * address has the entry's hash, and is there one entry for each ALIVE record? So each block is
 * found. No thread may use them meanwhile, and no operation may have been abandoned in them. */
bool hs_locate_is_valid(void);

/* Slow path of hs_locate_find: the block is not in the calling thread's own cache. */
bool hs_locate_find_slow(uintptr_t addr, struct hs_record_place *ret_place);

/* Slow path of hs_locate_forget: the block was not found in `thread`'s own cache (NULL: no thread),
 * or a cut still needs the record. */
void hs_locate_forget_slow(struct hs_thread *thread, const struct hs_record_place *place,
                           uintptr_t addr, uint64_t dead_word);

/* Slow path of hs_locate_take: the entry holds another block or no usable record. NULL: no
 * record. */
struct hs_record_v1 *hs_locate_take_slow(struct hs_thread *thread, struct hs_cached_record *cached);

/* Slow path of hs_locate_publish: inserts into the index. False: no memory; the record was given
 * back. */
bool hs_locate_publish_slow(struct hs_thread *thread, uintptr_t addr, struct hs_record_v1 *record);

/* For assertions: another heap may have blocks here, and bits in the filter: that of
 * hs_heap_blocks_set_addressed(). */
extern HS_HIDDEN bool hs_locate_has_others;

/* --- hot -------------------------------------------------------------------------------------- */

/* When other threads have found this many blocks in a thread's cache, the thread stops using it, */
#define HS_LOCATE_FOUND_MAX 64U
/* for this many reviews. */
#define HS_LOCATE_REST 16U

/* Leaves out the low 4 bits: two blocks 8 bytes apart, which share a bit of the filter, also share
 * a line of the index. */
static inline uint32_t hs_locate_hash(uintptr_t addr)
{
    return (uint32_t)((addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The entry of `thread`'s record cache for blocks at `addr`. */
static inline struct hs_cached_record *hs_locate_cached(struct hs_thread *thread, uintptr_t addr)
{
    return &thread->record_cache[hs_locate_hash(addr) >> (32 - HS_RECORD_CACHE_BITS)];
}

/* The record's word if the record is that of a live block at `addr`, otherwise 0. */
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

/* The word of the record in a cache entry if it is that of a live block at `addr`, otherwise 0. */
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

/* Finds the live block at `addr`. `thread`: the calling one, or NULL. False: there is none. */
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

/* Removes a dead block from where it was found, and disposes of its record. The caller has changed
 * the record's word to `dead_word`; 0: no cut needs the record. */
static inline void hs_locate_forget(struct hs_thread *thread, const struct hs_record_place *place,
                                    uintptr_t addr, uint64_t dead_word)
{
    if (hs_likely(place->is_own) && hs_likely(dead_word == 0)) {
        /* The record stays in the entry, for the next block. */
        hs_store_relaxed(&place->cached->addr, 0);
    } else {
        hs_locate_forget_slow(thread, place, addr, dead_word);
    }
}

/* A block at `addr` will be recorded soon: prefetches what that will change in the index. Returns
 * the block's cache entry. */
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

/* A record for a block of this cache entry, to be filled and published. NULL: none is available. */
static inline struct hs_record_v1 *hs_locate_take(struct hs_thread *thread,
                                                  struct hs_cached_record *cached)
{
    struct hs_record_v1 *record = cached->record;
    HS_ASSERT(thread == hs_tls.self); /* only the owner fills its entries */
    /* ORDER cached-leave: the thread that freed the last block here has done with its record. */
    if (hs_likely(hs_load_acquire(&cached->addr) == 0) && hs_likely(record != NULL) &&
        hs_likely(hs_load_relaxed(&thread->rest_count) == 0) &&
        hs_likely(hs_load_relaxed(&record->word) == 0)) {
        return record;
    }
    return hs_locate_take_slow(thread, cached);
}

/* Publishes a filled record: from now on the block is found. False: no memory; the record was given
 * back. */
static inline bool hs_locate_publish(struct hs_thread *thread, struct hs_cached_record *cached,
                                     uintptr_t addr, struct hs_record_v1 *record)
{
    HS_ASSERT(thread == hs_tls.self && cached == hs_locate_cached(thread, addr));
    if (hs_likely(cached->record == record)) {
        /* ORDER cached: the record and its content before the address. */
        hs_store_release(&cached->addr, addr);
        return true;
    }
    return hs_locate_publish_slow(thread, addr, record);
}
