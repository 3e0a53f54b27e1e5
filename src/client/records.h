/*
 * Where records come from and go to: per-thread lists in front of a shared pool.
 *
 * A thread takes from its own list of free records, then from what it has taken fresh from the
 * region, then from the pool. A thread that frees more than it allocates passes batches on through
 * the pool, so records do not pile up with consumers.
 *
 * Holds     a free record has state FREE and links to the next through `addr`.
 * Threads   the lists belong to their thread; the pool is lock-free (a tagged head against reuse).
 * Fails     take returns HS_RECORD_NONE when the section is full or cannot be mapped.
 */
#pragma once

#include <stdint.h>

#include "client/region.h"
#include "client/thread.h"

/* Cold halves of take and give. */
uint32_t hs_records_take_slow(struct hs_thread *thread);
void hs_records_pass_on(struct hs_record_list *list);

/* Keeps a dead record for the cuts its word names. `thread` NULL: from inside our own code. */
void hs_records_bury(struct hs_thread *thread, uint32_t id, uint64_t word);

/* Lists and pool are empty: their records are another process's. Nobody else may use them meanwhile. */
void hs_records_forget_all(void);

/* --- hot ------------------------------------------------------------------------------------- */

/* A thread's free list is passed on when it is longer. */
#define HS_RECORDS_BATCH 512U

static inline void hs_records_push(struct hs_record_list *list, uint32_t id,
                                   struct hs_record_v1 *record)
{
    hs_store_relaxed(&record->addr, list->first); /* who finds it by an old id may look */
    if (list->first == HS_RECORD_NONE) {
        list->last = id;
    }
    list->first = id;
    list->count++;
}

static inline uint32_t hs_records_pop(struct hs_record_list *list)
{
    uint32_t id = list->first;
    struct hs_record_v1 *record = id == HS_RECORD_NONE ? NULL : hs_region_record(id);
    if (hs_unlikely(!record)) {
        list->first = HS_RECORD_NONE;
        return HS_RECORD_NONE;
    }
    list->first = (uint32_t)record->addr;
    list->count--;
    hs_signal_fence(); /* it is off the list before it is anything else */
    /* A tombstone that was waiting here may still say DEAD. */
    hs_store_relaxed(&record->word, 0);
    return id;
}

static inline uint32_t hs_records_take(struct hs_thread *thread)
{
    uint32_t id = hs_records_pop(&thread->free_records);
    return hs_likely(id != HS_RECORD_NONE) ? id : hs_records_take_slow(thread);
}

/* Gives a record back that nobody needs. */
static inline void hs_records_give(struct hs_thread *thread, uint32_t id,
                                   struct hs_record_v1 *record)
{
    hs_store_relaxed(&record->word, 0);
    hs_records_push(&thread->free_records, id, record);
    if (hs_unlikely(thread->free_records.count > HS_RECORDS_BATCH)) {
        hs_records_pass_on(&thread->free_records);
    }
}
