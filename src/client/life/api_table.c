/*
 * Tables of the program's heaps. See api_table.h.
 */
#include "client/life/api_table.h"

#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/life/bind.h"
#include "client/life/lifecycle.h"
#include "client/tables/heaps.h"
#include "client/tables/region.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

#define TABLES_MAX 8U

/* Tables never go away: the library that brings one is never unloaded (-z nodelete). */
static struct hs_api_v1 *tables[TABLES_MAX];
uint32_t hs_api_table_generation;
static bool is_child; /* a forked child: the callbacks belong to the parent's life */

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

void hs_api_table_add(struct hs_api_v1 *table)
{
    if (&hs_api_calls == NULL || !is_table(table)) {
        return;
    }
    for (unsigned i = 0; i < TABLES_MAX; i++) {
        struct hs_api_v1 *found = NULL;
        if (hs_cas_relaxed(&tables[i], &found, table)) {
            fill_in(table);
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

static void adopt_heap(const struct hs_api_v1 *table, struct hs_api_heap_v1 *heap)
{
    uint32_t expected = 0;
    /* ORDER api-heap: all that the program wrote before it registered the heap. */
    if (!(hs_load_acquire(&heap->flags) & HS_API_HEAP_REGISTERED) ||
        hs_load_relaxed(&heap->client_heap) != 0 ||
        !hs_cas_acq_rel(&heap->reserved0, &expected, 1)) {
        return;
    }
    uint32_t parent = heap->parent < HS_API_HEAPS && heap->parent != 0
                          ? hs_load_relaxed(&table->heaps[heap->parent].client_heap) + 1
                          : 1; /* malloc's, as long as the program says nothing else */
    uint32_t flags = heap->flags & HS_API_HEAP_PRIMARY ? 0U : HS_HEAP_CARVED;
    /* A handler that interrupted us would wait for us for good. */
    uint64_t old_mask = hs_sys_block_signals();
    uint8_t id = hs_heaps_add(heap->name, flags, flags & HS_HEAP_CARVED ? parent : 0);
    hs_sys_restore_signals(old_mask);
    hs_store_relaxed(&heap->client_heap, id);
}

/* Calls a callback if the heap is recorded now and was not, or the reverse. Of several threads one
 * does it. */
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

static void tell_all(struct hs_api_v1 *table, bool is_on)
{
    uint32_t count = hs_load_relaxed(&table->heap_count);
    for (uint32_t i = 1; i < count && i < HS_API_HEAPS; i++) {
        struct hs_api_heap_v1 *heap = &table->heaps[i];
        adopt_heap(table, heap);
        uint32_t id = hs_load_relaxed(&heap->client_heap);
        if (id != 0 && !is_child) {
            tell(heap, is_on ? hs_heaps_wanted_interval((uint8_t)id) : HS_INTERVAL_OFF);
        }
    }
}

void hs_api_table_poll(void)
{
    bool is_on = hs_lifecycle_is_on();
    hs_bind_try();
    for (unsigned i = 0; i < TABLES_MAX && hs_load_relaxed(&tables[i]); i++) {
        tell_all(tables[i], is_on);
    }
    if (is_on) {
        hs_heaps_pick_up();
    } else {
        hs_heaps_switch_off();
    }
    uint32_t generation = hs_load_relaxed(&hs_heaps_generation);
    hs_store_relaxed(&hs_api_table_generation, generation);
    /* While no daemon has the region, each call looks for one. */
    bool is_quiet = !is_on || !(hs_heaps_is_any_recorded() || hs_bind_is_kept());
    uint64_t quiet = is_quiet ? generation : HS_API_NEVER_QUIET;
    for (unsigned i = 0; i < TABLES_MAX && hs_load_relaxed(&tables[i]); i++) {
        hs_store_relaxed(&tables[i]->quiet, quiet);
    }
}

void hs_api_table_follow_fork(void)
{
    is_child = true;
    for (unsigned i = 0; i < TABLES_MAX && tables[i]; i++) {
        tables[i]->is_child = 1;
    }
}
