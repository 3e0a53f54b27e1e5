/*
 * Tables of the program's heaps. See api_table.h.
 */
#include "client/life/api_table.h"

#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/life/bind.h"
#include "client/life/lifecycle.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/region.h"
#include "client/tables/thread_state.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

#define TABLES_MAX 8U

/* Tables never go away: the library that brings one is never unloaded (-z nodelete). */
static struct hs_api_v1 *tables[TABLES_MAX];
uint32_t hs_api_table_generation;

/* How far the client is with a heap: hs_api_heap_v1.adoption. */
enum adoption {
    ADOPTION_NONE,
    ADOPTION_BEGUN, /* by a thread that blocks signals */
    ADOPTION_DONE,  /* client_heap says what it is called */
};

/* The most times that a thread lets others run while one of them takes up a heap. */
#define ADOPTION_WAITS 100000U

/* --- finding tables --------------------------------------------------------------------------- */

static bool is_table(const struct hs_api_v1 *table)
{
    return table && table->magic == HS_API_MAGIC && table->version == HS_API_VERSION &&
           table->table_bytes >= sizeof(*table);
}

/* Lets the library's calls come to the client: they look at the control page's generation. */
static void fill_in(struct hs_api_v1 *table)
{
    const char *word = (const char *)&hs_control_page.control.generation;
    hs_store_relaxed(&table->quiet, HS_API_NEVER_QUIET);
    /* ORDER api-calls: `calls` before the word that lets a call look at it. */
    hs_store_release(&table->calls, &hs_api_calls);
    hs_store_release(&table->generation_off, word - (const char *)table);
    /* ORDER api-register: a heap that is registered before its thread finds `calls` is found by the
     * searches that follow. */
    hs_fence_seq_cst();
}

/* Scopes of the library may be open in any thread. */
static void look_for_scopes(void)
{
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        hs_store_relaxed(&thread->must_look, true);
    }
}

struct hs_api_v1 *hs_api_table_at(unsigned i)
{
    return i < TABLES_MAX ? hs_load_relaxed(&tables[i]) : NULL;
}

void hs_api_table_add(struct hs_api_v1 *table)
{
    if (&hs_api_calls == NULL || !is_table(table)) {
        return;
    }
    for (unsigned i = 0; i < TABLES_MAX; i++) {
        struct hs_api_v1 *found = NULL;
        if (hs_cas_relaxed(&tables[i], &found, table)) {
            fill_in(table);
            look_for_scopes();
            return;
        }
        if (found == table) {
            return;
        }
    }
}

void hs_api_table_find(void)
{
    const struct link_map *map = NULL;
    struct hs_api_v1 *table;
    do {
        table = hs_linkmap_search(map, NULL, HS_API_SYMBOL, &map);
        hs_api_table_add(table);
    } while (table);
}

void hs_api_table_find_all(void)
{
    for (const struct link_map *map = hs_linkmap_first(); map; map = map->l_next) {
        hs_api_table_add(hs_linkmap_symbol(map, HS_API_SYMBOL));
    }
}

/* The library's constructor calls it when the library was loaded after the client had started. */
void heapscope_api_found_v1(struct hs_api_v1 *table);
HS_EXPORT void heapscope_api_found_v1(struct hs_api_v1 *table)
{
    hs_api_table_add(table);
}

/* --- heaps and callbacks ---------------------------------------------------------------------- */

/* Waits while another thread takes up a heap: the caller's next report must not be lost. That takes
 * microseconds. A child of a raw clone() may wait for a thread that it does not have. */
static void wait_for_adoption(const struct hs_api_heap_v1 *heap)
{
    unsigned count = 0;
    /* ORDER api-adopted: client_heap. */
    while (hs_load_acquire(&heap->adoption) == ADOPTION_BEGUN && count++ < ADOPTION_WAITS) {
        hs_sys_yield();
    }
}

/* The heap that this one says it lies in; NULL: it says none. */
static struct hs_api_heap_v1 *parent_of(struct hs_api_v1 *table, const struct hs_api_heap_v1 *heap)
{
    uint32_t parent = heap->parent;
    return parent != 0 && parent < HS_API_HEAPS ? &table->heaps[parent] : NULL;
}

/* Gives a heap its name for reports. One thread does it. Signals are blocked: a handler that
 * interrupted it would wait for it for good. */
static void begin_adoption(struct hs_api_v1 *table, struct hs_api_heap_v1 *heap)
{
    uint32_t expected = ADOPTION_NONE;
    /* ORDER api-adopted: what the thread wrote that took up the parent. */
    if (!hs_cas_acq_rel(&heap->adoption, &expected, ADOPTION_BEGUN)) {
        wait_for_adoption(heap);
        return;
    }
    const struct hs_api_heap_v1 *parent = parent_of(table, heap);
    uint32_t parent_id = parent ? hs_load_relaxed(&parent->client_heap) : 0; /* 0: malloc's */
    uint32_t flags = heap->flags & HS_API_HEAP_PRIMARY ? 0U : HS_HEAP_CARVED;
    uint8_t id = hs_heaps_add(heap->name, flags, flags & HS_HEAP_CARVED ? parent_id + 1 : 0);
    if (id == 0) {
        hs_lifecycle_note_unseen(HS_LOSS_TABLE_FULL);
    }
    hs_store_relaxed(&heap->client_heap, id);
    /* ORDER api-adopted: client_heap before it counts as known. */
    hs_store_release(&heap->adoption, ADOPTION_DONE);
}

/* Has the program registered it, and does the client not know it yet? */
static bool is_new(const struct hs_api_heap_v1 *heap)
{
    /* ORDER api-heap: all that the program wrote before it registered the heap. */
    uint32_t flags = hs_load_acquire(&heap->flags);
    /* ORDER api-adopted: client_heap. */
    return hs_load_acquire(&heap->adoption) != ADOPTION_DONE &&
           (flags & HS_API_HEAP_REGISTERED) != 0;
}

/* The outermost heap around a new one that is new itself: it is taken up first, because a heap
 * names its parent. (A program may have created it later.) */
static struct hs_api_heap_v1 *outermost_new(struct hs_api_v1 *table, struct hs_api_heap_v1 *heap)
{
    struct hs_api_heap_v1 *parent = parent_of(table, heap);
    for (unsigned depth = 0; depth < HS_API_HEAPS && parent && is_new(parent); depth++) {
        heap = parent;
        parent = parent_of(table, heap);
    }
    return heap;
}

static void adopt_heap(struct hs_api_v1 *table, struct hs_api_heap_v1 *heap)
{
    for (unsigned i = 0; i < HS_API_HEAPS && is_new(heap); i++) {
        uint64_t old_mask = hs_sys_block_signals();
        begin_adoption(table, outermost_new(table, heap));
        hs_sys_restore_signals(old_mask);
    }
}

/* Calls a callback if the heap is recorded now and was not, or the reverse. Of several threads one
 * does it. In a forked child, the library does not pass the call on. */
static void tell(struct hs_api_heap_v1 *heap, uint64_t interval_bytes)
{
    uint64_t told = hs_load_relaxed(&heap->told_interval_bytes);
    const struct hs_api_callback_info_v1 info = { interval_bytes };
    if (told == interval_bytes ||
        !hs_cas_relaxed(&heap->told_interval_bytes, &told, interval_bytes)) {
        return;
    }
    if (told == 0 && heap->on_enabled) {
        heap->on_enabled(heap->enabled_data, &info);
    } else if (interval_bytes == 0 && heap->on_disabled) {
        heap->on_disabled(heap->disabled_data, &info);
    }
}

static void adopt_all(struct hs_api_v1 *table)
{
    uint32_t count = hs_load_relaxed(&table->heap_count);
    for (uint32_t i = 1; i < count && i < HS_API_HEAPS; i++) {
        adopt_heap(table, &table->heaps[i]);
    }
}

static void tell_all(struct hs_api_v1 *table, bool is_on)
{
    uint32_t count = hs_load_relaxed(&table->heap_count);
    for (uint32_t i = 1; i < count && i < HS_API_HEAPS; i++) {
        struct hs_api_heap_v1 *heap = &table->heaps[i];
        uint32_t id = hs_load_relaxed(&heap->client_heap);
        if (id != 0) {
            tell(heap, is_on ? hs_heaps_wanted_interval((uint8_t)id) : HS_INTERVAL_OFF);
        }
    }
}

/* Lets the library's calls return at once while no heap is recorded. */
static void set_quiet(uint32_t generation, bool is_on)
{
    bool is_any;
    do {
        is_any = hs_heaps_is_any_recorded();
        /* In a bound process, each call may look for a daemon. */
        bool is_quiet = !is_on || !(is_any || hs_bind_is_on());
        uint64_t quiet = is_quiet ? generation : HS_API_NEVER_QUIET;
        /* ORDER api-quiet: of two threads, the one that writes `quiet` first finds a heap that the
         * other one has taken up. */
        hs_fence_seq_cst();
        for (unsigned i = 0; i < TABLES_MAX && hs_load_relaxed(&tables[i]); i++) {
            hs_store_relaxed(&tables[i]->quiet, quiet);
        }
        /* ORDER api-quiet: as above. */
        hs_fence_seq_cst();
    } while (is_any != hs_heaps_is_any_recorded());
}

/* Takes up the settings of this moment. */
static void pick_up(bool is_on)
{
    if (is_on) {
        hs_heaps_pick_up();
    } else {
        hs_heaps_switch_off();
    }
    uint32_t generation = hs_load_relaxed(&hs_heaps_generation);
    hs_store_relaxed(&hs_api_table_generation, generation);
    set_quiet(generation, is_on);
}

void hs_api_table_poll(void)
{
    bool is_waiting = hs_life_state_is_waiting();
    bool is_on = is_waiting || hs_lifecycle_is_on();
    hs_bind_try();
    for (unsigned i = 0; i < TABLES_MAX && hs_load_relaxed(&tables[i]); i++) {
        adopt_all(tables[i]);
    }
    /* A forked child has no region yet: its first report makes one, and polls again. */
    if (!is_waiting) {
        pick_up(is_on);
    }
    /* Last: a callback that reports must not find that a poll is due, and call the next callback.
     * With hundreds of heaps that would need more stack than a thread may have. */
    for (unsigned i = 0; i < TABLES_MAX && hs_load_relaxed(&tables[i]); i++) {
        tell_all(tables[i], is_on);
    }
}

void hs_api_table_follow_fork(void)
{
    for (unsigned i = 0; i < TABLES_MAX && tables[i]; i++) {
        tables[i]->is_child = 1;
        for (unsigned k = 1; k < tables[i]->heap_count && k < HS_API_HEAPS; k++) {
            /* Most pages stay shared with the parent. */
            if (tables[i]->heaps[k].adoption == ADOPTION_BEGUN) {
                tables[i]->heaps[k].adoption = ADOPTION_NONE;
            }
        }
    }
}
