/*
 * The supply of records: per-thread lists in front of a shared pool.
 *
 * A thread takes a record from its own list of free records, then from those that it has taken
 * fresh from the region, then from the pool. A thread that frees more blocks than it allocates
 * passes batches of records to the pool, so records do not pile up with such threads.
 *
 * Holds     a free record has the state FREE and links to the next one through `addr`.
 * Threads   the lists belong to their thread; the pool is lock-free (a tag in its head detects
 *           reuse).
 * Fails     take returns HS_RECORD_NONE when the section is full or cannot be mapped.
 * See       "Cuts" in fmt/region_layout.h for tombstones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "client/tables/thread_state.h"
#include "rt/check.h"

/* Slow path of hs_record_pool_take: the thread's free list is empty. */
uint32_t hs_record_pool_take_slow(struct hs_thread *thread);
/* Slow path of hs_record_pool_give: passes a whole free list on to the pool. */
void hs_record_pool_pass_on(struct hs_record_list *list);

/* Keeps a dead record for the cuts that its word names. `thread` is NULL when called from inside
 * our own code (in a signal handler): the record then goes to a shared list. */
void hs_record_pool_bury(struct hs_thread *thread, uint32_t id, uint64_t word);

/* Empties all lists and the pool, because their records belong to another process's region. No
 * other thread may use them meanwhile. */
void hs_record_pool_forget_all(void);

/* For assertions: is each record that waits on a list, in the pool or in a record cache in that one
 * place only, and is none of those on lists ALIVE? Do the lists have the length that they say? No
 * thread may use them meanwhile, and no operation may have been abandoned in them. */
bool hs_record_pool_is_valid(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* A free list longer than this is passed on to the pool. */
#define HS_RECORDS_BATCH 512U

/* Puts a record in front of a list. A thread that still has the record's old id may read it. */
static inline void hs_record_pool_push(struct hs_record_list *list, uint32_t id,
                                       struct hs_record_v1 *record)
{
    HS_ASSERT(id != list->first && hs_region_record_id(record) == id);
    HS_ASSERT(HS_RECORD_STATE(hs_load_relaxed(&record->word)) != HS_RECORD_ALIVE);
    hs_store_relaxed(&record->addr, list->first); /* a reader with an old id may look */
    if (list->first == HS_RECORD_NONE) {
        list->last = id;
    }
    list->first = id;
    list->count++;
}

/* Takes the first record of a list and sets it FREE. HS_RECORD_NONE: the list is empty. */
static inline uint32_t hs_record_pool_pop(struct hs_record_list *list)
{
    uint32_t id = list->first;
    struct hs_record_v1 *record = id == HS_RECORD_NONE ? NULL : hs_region_record(id);
    if (hs_unlikely(!record)) {
        list->first = HS_RECORD_NONE;
        return HS_RECORD_NONE;
    }
    HS_ASSERT(HS_RECORD_STATE(hs_load_relaxed(&record->word)) != HS_RECORD_ALIVE);
    list->first = (uint32_t)record->addr;
    list->count--;
    hs_signal_fence(); /* it is off the list before anything else is done with it */
    /* A tombstone that waited here may still say DEAD. */
    hs_store_relaxed(&record->word, 0);
    return id;
}

/* A free record's id, for the calling thread. HS_RECORD_NONE: there is none. */
static inline uint32_t hs_record_pool_take(struct hs_thread *thread)
{
    uint32_t id = hs_record_pool_pop(&thread->free_records);
    return hs_likely(id != HS_RECORD_NONE) ? id : hs_record_pool_take_slow(thread);
}

/* Gives back a record that no block and no cut needs. */
static inline void hs_record_pool_give(struct hs_thread *thread, uint32_t id,
                                       struct hs_record_v1 *record)
{
    hs_store_relaxed(&record->word, 0);
    hs_record_pool_push(&thread->free_records, id, record);
    if (hs_unlikely(thread->free_records.count > HS_RECORDS_BATCH)) {
        hs_record_pool_pass_on(&thread->free_records);
    }
}
