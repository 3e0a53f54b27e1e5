/*
 * Free lists, tombstones and the pool. See record_pool.h, and "Cuts" in fmt/region_layout.h.
 */
#include "client/tables/record_pool.h"

#include "client/host/pages.h"
#include "client/tables/region.h"
#include "rt/atomic.h"

/* This many records are taken from the region at once: half a page, so that threads do not share
 * cache lines. */
#define FRESH_COUNT 64U
/* Heads of lock-free stacks: tag << 32 | id + 1, or 0 when empty. */
static uint64_t pool_head;   /* of batches: linked by stack_id, their length in birth_ms */
static uint64_t nested_head; /* of single tombstones, linked by addr; only ever taken as a whole */

/* Empties a list and returns what it held. The list is emptied first: if a signal handler jumps out
 * of what follows, the records are lost, which is better than having them in two places. */
static struct hs_record_list list_detach(struct hs_record_list *list)
{
    struct hs_record_list all = *list;
    hs_store_relaxed(&list->first, HS_RECORD_NONE);
    list->count = 0;
    hs_signal_fence();
    return all;
}

/* Puts all of `from` in front of `to`. */
static void list_splice(struct hs_record_list *to, struct hs_record_list *from)
{
    if (from->first == HS_RECORD_NONE) {
        return;
    }
    struct hs_record_list moved = list_detach(from);
    struct hs_record_v1 *last = hs_region_record(moved.last);
    if (last) {
        hs_store_relaxed(&last->addr, to->first);
        to->last = to->first == HS_RECORD_NONE ? moved.last : to->last;
        to->first = moved.first;
        to->count += moved.count;
    }
}

/* Passes the free list on to threads that need records. */
HS_COLD void hs_record_pool_pass_on(struct hs_record_list *list)
{
    struct hs_record_list all = list_detach(list);
    struct hs_record_v1 *first = hs_region_record(all.first);
    if (!first) {
        return;
    }
    hs_store_relaxed(&first->birth_ms, all.count);
    uint64_t head = hs_load_relaxed(&pool_head);
    uint64_t mine;
    do {
        hs_store_relaxed(&first->stack_id, (uint32_t)head);
        mine = ((head >> 32) + 1) << 32 | (all.first + 1);
        /* ORDER record-pool: the batch's links before its head. */
    } while (!hs_cas_acq_rel(&pool_head, &head, mine));
}

static HS_COLD bool pool_take(struct hs_record_list *list)
{
    /* ORDER record-pool: the batch's links before its head. */
    uint64_t head = hs_load_acquire(&pool_head);
    while ((uint32_t)head != 0) {
        uint32_t id = (uint32_t)head - 1;
        struct hs_record_v1 *first = hs_region_record(id);
        if (!first) {
            return false;
        }
        /* The record may belong to another thread by now; then the tag has changed and the swap
         * fails. */
        uint64_t next = ((head >> 32) + 1) << 32 | hs_load_relaxed(&first->stack_id);
        /* ORDER record-pool: as above, for the head found when the swap fails. */
        if (hs_cas_acq_rel(&pool_head, &head, next)) {
            list->first = id;
            list->count = first->birth_ms;
            return true;
        }
    }
    return false;
}

/* Takes tombstones that signal handlers left into this thread's lists. */
static HS_COLD void adopt_nested(struct hs_thread *thread)
{
    /* ORDER record-nested: links before the head. */
    uint64_t head = hs_swap_acq_rel(&nested_head, 0);
    uint32_t id = (uint32_t)head;
    while (id != 0) {
        struct hs_record_v1 *record = hs_region_record(id - 1);
        if (!record) {
            return;
        }
        uint32_t next = (uint32_t)record->addr;
        uint64_t word = hs_load_relaxed(&record->word);
        if (HS_RECORD_STATE(word) & HS_RECORD_DEAD) {
            hs_record_pool_bury(thread, id - 1, word);
        } else {
            hs_record_pool_give(thread, id - 1, record);
        }
        id = next;
    }
}

/* Frees the records of lists whose cut is out of date. */
static void reclaim(struct hs_thread *thread)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    struct hs_record_list *peak = &thread->peak_dead;
    struct hs_record_list *snapshot = &thread->snapshot_dead;
    /* ORDER cut-close: a collector that closed a cut has read its tombstones. */
    uint64_t open = hs_load_acquire(&control->snapshot_epoch);
    if (peak->first != HS_RECORD_NONE && peak->tag != hs_load_relaxed(&control->peak_epoch)) {
        /* Some of them may be in the open snapshot too. */
        if (open != 0) {
            if (snapshot->first != HS_RECORD_NONE && snapshot->tag != open) {
                list_splice(&thread->free_records, snapshot);
            }
            snapshot->tag = open;
            list_splice(snapshot, peak);
        } else {
            list_splice(&thread->free_records, peak);
        }
    }
    if (snapshot->first != HS_RECORD_NONE && (open == 0 || snapshot->tag != open)) {
        list_splice(&thread->free_records, snapshot);
    }
}

HS_COLD uint32_t hs_record_pool_take_slow(struct hs_thread *thread)
{
    if (thread->fresh_first < thread->fresh_end) {
        return thread->fresh_first++;
    }
    if ((uint32_t)hs_load_relaxed(&nested_head) != 0) {
        adopt_nested(thread);
    }
    reclaim(thread);
    uint32_t id = hs_record_pool_pop(&thread->free_records);
    if (id != HS_RECORD_NONE) {
        return id;
    }
    if (pool_take(&thread->free_records)) {
        return hs_record_pool_pop(&thread->free_records);
    }
    uint64_t first = hs_region_take(HS_SECTION_RECORDS, FRESH_COUNT);
    if (first == UINT64_MAX || !hs_region_record((uint32_t)(first + FRESH_COUNT - 1))) {
        return HS_RECORD_NONE;
    }
    thread->fresh_first = (uint32_t)first + 1;
    thread->fresh_end = (uint32_t)first + FRESH_COUNT;
    return (uint32_t)first;
}

void hs_record_pool_bury(struct hs_thread *thread, uint32_t id, uint64_t word)
{
    struct hs_record_v1 *record = hs_region_record(id);
    if (!record) {
        return;
    }
    if (!thread) {
        uint64_t head = hs_load_relaxed(&nested_head);
        do {
            hs_store_relaxed(&record->addr, (uint32_t)head);
            /* ORDER record-nested: links before the head. */
        } while (!hs_cas_acq_rel(&nested_head, &head, (uint64_t)id + 1));
        return;
    }
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    bool is_in_peak = (HS_RECORD_STATE(word) & HS_RECORD_IN_PEAK) != 0;
    struct hs_record_list *list = is_in_peak ? &thread->peak_dead : &thread->snapshot_dead;
    uint64_t tag = is_in_peak ? hs_load_relaxed(&control->peak_epoch)
                              : hs_load_relaxed(&control->snapshot_epoch);
    if (hs_unlikely(list->first != HS_RECORD_NONE && list->tag != tag)) {
        reclaim(thread);
        /* What is left in the list is needed by a cut that is at least as new. */
    }
    list->tag = tag;
    hs_record_pool_push(list, id, record);
}

void hs_record_pool_forget_all(void)
{
    hs_store_relaxed(&pool_head, 0);
    hs_store_relaxed(&nested_head, 0);
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        list_detach(&thread->free_records);
        list_detach(&thread->peak_dead);
        list_detach(&thread->snapshot_dead);
        thread->fresh_first = thread->fresh_end = 0;
    }
}

#if HS_HAS_CHECKS

/* The record `id`, which has not been met before. NULL: it has, or there is none. */
static const struct hs_record_v1 *meet(uint64_t *met, uint32_t id)
{
    uint64_t bit = UINT64_C(1) << (id % 64);
    if (id >= hs_region.header->sections[HS_SECTION_RECORDS].count || (met[id / 64] & bit)) {
        return NULL;
    }
    met[id / 64] |= bit;
    return hs_region_record(id);
}

/* Walks a list from `id`. Its records must have one of `states`; 0: any but ALIVE. */
static bool is_list_valid(uint64_t *met, uint32_t id, uint32_t count, unsigned states)
{
    uint32_t found_count = 0;
    for (; id != HS_RECORD_NONE && found_count <= count; found_count++) {
        const struct hs_record_v1 *record = meet(met, id);
        unsigned state = record ? HS_RECORD_STATE(record->word) : HS_RECORD_ALIVE;
        if (state == HS_RECORD_ALIVE || (states != 0 && !(state & states))) {
            return false;
        }
        id = (uint32_t)record->addr;
    }
    return id == HS_RECORD_NONE && found_count == count;
}

static bool is_pool_valid(uint64_t *met)
{
    uint32_t next = (uint32_t)pool_head; /* id + 1 */
    bool is_valid = true;
    while (is_valid && next != 0) {
        const struct hs_record_v1 *first = hs_region_record(next - 1);
        is_valid = first && is_list_valid(met, next - 1, first->birth_ms, 0);
        next = first ? first->stack_id : 0;
    }
    next = (uint32_t)nested_head;
    while (is_valid && next != 0) {
        const struct hs_record_v1 *record = meet(met, next - 1);
        is_valid = record && HS_RECORD_STATE(record->word) != HS_RECORD_ALIVE;
        next = record ? (uint32_t)record->addr : 0;
    }
    return is_valid;
}

static bool is_thread_valid(uint64_t *met, const struct hs_thread *thread)
{
    bool is_valid =
        is_list_valid(met, thread->free_records.first, thread->free_records.count, 0) &&
        is_list_valid(met, thread->peak_dead.first, thread->peak_dead.count, HS_RECORD_DEAD) &&
        is_list_valid(met, thread->snapshot_dead.first, thread->snapshot_dead.count,
                      HS_RECORD_DEAD) &&
        thread->fresh_first <= thread->fresh_end;
    for (uint32_t id = thread->fresh_first; is_valid && id < thread->fresh_end; id++) {
        const struct hs_record_v1 *record = meet(met, id);
        is_valid = record && record->word == 0;
    }
    for (uint32_t i = 0; is_valid && i < HS_COUNT_OF(thread->record_cache); i++) {
        /* It may be an address in an older view of the section: ids are compared. */
        const struct hs_record_v1 *record = thread->record_cache[i].record;
        is_valid = !record || meet(met, hs_region_record_id(record)) != NULL;
    }
    return is_valid;
}

bool hs_record_pool_is_valid(void)
{
    if (!hs_region.header) {
        return true;
    }
    uint64_t count = hs_region.header->sections[HS_SECTION_RECORDS].count;
    size_t met_bytes = (size_t)(count / 64 + 1) * sizeof(uint64_t);
    uint64_t *met = hs_pages_map(met_bytes);
    bool is_valid = met && is_pool_valid(met);
    for (const struct hs_thread *thread = hs_thread_first(); is_valid && thread;
         thread = thread->next) {
        is_valid = is_thread_valid(met, thread);
    }
    if (met) {
        hs_pages_unmap(met, met_bytes);
    }
    return is_valid;
}

#endif
