/*
 * The slow paths of locating: the index, and the record caches of other threads. See locate.h.
 */
#include "client/tables/locate.h"

#include <string.h>

#include "client/tables/shared.h"

/* 512 slots: one page, with room for some 300 blocks before the index grows. */
#define FIRST_LINES 64U

/* Fewer samples do not show how long blocks live. */
#define REVIEW_SAMPLES 1024U

static struct hs_index index_of_all;
bool hs_locate_has_others;

bool hs_locate_init(void)
{
    return hs_index_init(&index_of_all, FIRST_LINES);
}

void hs_locate_clear(void)
{
    hs_index_clear(&index_of_all);
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        memset(thread->record_cache, 0, sizeof(thread->record_cache));
        thread->found_count = thread->evicted_count = thread->rest_count = 0;
    }
}

void hs_locate_prefetch_slow(uintptr_t addr)
{
    hs_index_prefetch(&index_of_all, hs_locate_hash(addr));
}

void hs_locate_review(struct hs_thread *thread, uint32_t sample_count)
{
    uint32_t rest_count = hs_load_relaxed(&thread->rest_count);
    if (rest_count != 0) {
        hs_store_relaxed(&thread->rest_count, rest_count - 1);
    } else if (sample_count >= REVIEW_SAMPLES && thread->evicted_count > sample_count / 4 * 3) {
        hs_store_relaxed(&thread->rest_count, HS_LOCATE_REST);
    }
    thread->evicted_count = 0;
    hs_store_relaxed(&thread->found_count, 0);
}

/* --- finding ---------------------------------------------------------------------------------- */

struct match_addr {
    uintptr_t addr;
    struct hs_record_place *place;
};

static inline bool is_block_at(void *ctx, uint32_t id)
{
    const struct match_addr *match = ctx;
    struct hs_record_v1 *record = hs_region_record(id);
    uint64_t word = hs_locate_word(record, match->addr);
    match->place->record = record;
    match->place->word = word;
    return word != 0;
}

static bool find_in_index(uintptr_t addr, struct hs_record_place *ret_place)
{
    struct match_addr match = { .addr = addr, .place = ret_place };
    ret_place->cached = NULL;
    ret_place->is_own = false;
    ret_place->slot = hs_index_find(&index_of_all, hs_locate_hash(addr), is_block_at, &match,
                                    &ret_place->slot_value);
    return ret_place->slot != NULL;
}

static HS_COLD bool find_in_places(uintptr_t addr, struct hs_record_place *ret_place)
{
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        ret_place->cached = hs_locate_cached(thread, addr);
        ret_place->word = hs_locate_look(ret_place->cached, addr, &ret_place->record);
        if (ret_place->word != 0) {
            if (hs_add_relaxed(&thread->found_count, 1) + 1 == HS_LOCATE_FOUND_MAX) {
                hs_store_relaxed(&thread->rest_count, HS_LOCATE_REST);
            }
            return true;
        }
    }
    return false;
}

bool hs_locate_find_slow(uintptr_t addr, struct hs_record_place *ret_place)
{
    /* A block that was in neither has moved from a cache to the index in between. */
    return hs_likely(find_in_index(addr, ret_place)) || find_in_places(addr, ret_place) ||
           find_in_index(addr, ret_place);
}

/* --- forgetting ------------------------------------------------------------------------------- */

static bool is_id(void *ctx, uint32_t id)
{
    return id == *(const uint32_t *)ctx;
}

/* False: it was not in the index. */
static HS_COLD bool leave_index(uintptr_t addr, uint32_t id)
{
    uint64_t value;
    uint64_t *slot = hs_index_find(&index_of_all, hs_locate_hash(addr), is_id, &id, &value);
    return slot && hs_index_remove(&index_of_all, slot, value);
}

static void dispose(struct hs_thread *thread, const struct hs_record_place *place,
                    uint64_t dead_word)
{
    uint32_t id = hs_region_record_id(place->record);
    if (thread && dead_word == 0) {
        hs_record_pool_give(thread, id, place->record);
    } else {
        hs_record_pool_bury(thread, id, dead_word);
    }
}

void hs_locate_forget_slow(struct hs_thread *thread, const struct hs_record_place *place,
                           uintptr_t addr, uint64_t dead_word)
{
    struct hs_cached_record *cached = place->cached;
    if (hs_likely(!cached)) {
        hs_index_remove(&index_of_all, place->slot, place->slot_value);
        dispose(thread, place, dead_word);
    } else if (place->is_own) {
        /* The address first: an entry with an address and no record could not be evicted. */
        hs_store_relaxed(&cached->addr, 0);
        hs_signal_fence();
        hs_store_relaxed(&cached->record, NULL);
        hs_signal_fence(); /* the record leaves its entry before anything else is done with it */
        dispose(thread, place, dead_word);
    } else {
        uint64_t expected = addr;
        /* ORDER cached-leave: whichever thread takes the address out knows whether the block is in
         * the index: if the address was still here, it is not. The record then stays with its
         * owner. */
        if (!hs_shared_cas(&cached->addr, &expected, 0) &&
            leave_index(addr, hs_region_record_id(place->record))) {
            dispose(thread, place, dead_word);
        }
    }
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Evicts the block of a cache entry to the index. False: no memory. */
static bool move_to_index(struct hs_cached_record *cached, uintptr_t addr)
{
    uint32_t id = hs_region_record_id(cached->record);
    if (!hs_index_insert(&index_of_all, hs_locate_hash(addr), id)) {
        return false;
    }
    uint64_t expected = addr;
    /* ORDER cached-leave: it is in the index before it leaves its entry. */
    if (hs_likely(hs_shared_cas(&cached->addr, &expected, 0))) {
        hs_store_relaxed(&cached->record, NULL);
    } else {
        leave_index(addr, id); /* another thread freed it meanwhile, and leaves the record to us */
    }
    return true;
}

static struct hs_record_v1 *take_any(struct hs_thread *thread)
{
    uint32_t id = hs_record_pool_take(thread);
    return id == HS_RECORD_NONE ? NULL : hs_region_record(id);
}

struct hs_record_v1 *hs_locate_take_slow(struct hs_thread *thread, struct hs_cached_record *cached)
{
    if (hs_load_relaxed(&thread->rest_count) != 0) {
        return take_any(thread);
    }
    /* ORDER cached-leave: the thread that freed the last block here has done with its record. */
    uint64_t addr = hs_load_acquire(&cached->addr);
    if (addr != 0) {
        thread->evicted_count++;
        if (!move_to_index(cached, addr)) {
            return NULL;
        }
    }
    struct hs_record_v1 *record = cached->record;
    if (record) {
        uint64_t word = hs_load_relaxed(&record->word);
        if (!(HS_RECORD_STATE(word) & HS_RECORD_DEAD)) {
            /* It may say ALIVE: a longjmp left before it was published. */
            hs_store_relaxed(&record->word, 0);
            return record;
        }
        hs_store_relaxed(&cached->record, NULL);
        /* Another thread freed it, and a cut needs it. */
        hs_record_pool_bury(thread, hs_region_record_id(record), word);
    }
    record = take_any(thread);
    hs_store_relaxed(&cached->record, record);
    return record;
}

bool hs_locate_publish_slow(struct hs_thread *thread, uintptr_t addr, struct hs_record_v1 *record)
{
    uint32_t id = hs_region_record_id(record);
    if (!hs_index_insert(&index_of_all, hs_locate_hash(addr), id)) {
        hs_record_pool_give(thread, id, record);
        return false;
    }
    return true;
}

/* --- renumbering ------------------------------------------------------------------------------ */

void hs_locate_renumber(hs_index_renumber_fn *renumber, void *ctx)
{
    hs_index_renumber(&index_of_all, renumber, ctx);
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        for (uint32_t i = 0; i < HS_COUNT_OF(thread->record_cache); i++) {
            struct hs_cached_record *cached = &thread->record_cache[i];
            uint32_t id = HS_RECORD_NONE;
            if (cached->addr != 0 && cached->record) {
                uint32_t old_id = hs_region_record_id(cached->record);
                id = renumber(ctx, hs_locate_hash(cached->addr), old_id);
            }
            cached->record = id == HS_RECORD_NONE ? NULL : hs_region_record(id);
            cached->addr = cached->record ? cached->addr : 0;
        }
    }
}

#if HS_HAS_CHECKS

struct examined {
    uint64_t count;
    bool is_valid;
};

/* Called for each entry of the index. */
static uint32_t examine(void *ctx, uint32_t hash, uint32_t id)
{
    struct examined *examined = ctx;
    const struct hs_record_v1 *record = hs_region_alive_record(id);
    examined->count++;
    examined->is_valid &= record && hs_locate_hash(record->addr) == hash;
    return id;
}

static void examine_cache(struct examined *examined, struct hs_thread *thread)
{
    for (uint32_t i = 0; i < HS_COUNT_OF(thread->record_cache); i++) {
        struct hs_cached_record *cached = &thread->record_cache[i];
        bool is_used = cached->addr != 0;
        bool is_alive = cached->record && HS_RECORD_STATE(cached->record->word) == HS_RECORD_ALIVE;
        examined->count += is_used;
        examined->is_valid &= is_used == is_alive;
        examined->is_valid &=
            !is_used || (is_alive && hs_locate_cached(thread, cached->addr) == cached &&
                         cached->record->addr == cached->addr);
    }
}

bool hs_locate_is_valid(void)
{
    struct examined examined = { .is_valid = hs_index_is_valid(&index_of_all) };
    if (!hs_region.header || !examined.is_valid) {
        return examined.is_valid;
    }
    hs_index_renumber(&index_of_all, examine, &examined);
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        examine_cache(&examined, thread);
    }
    uint64_t count = hs_region_alive_count(true);
    return examined.is_valid && examined.count >= count &&
           (examined.count == count || hs_locate_has_others);
}

#endif
