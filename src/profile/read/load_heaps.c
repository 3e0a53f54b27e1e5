/*
 * See load_heaps.h.
 */
#include "profile/read/load_heaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/margin.h"
#include "profile/read/load_intervals.h"
#include "trace/trace_writer.h"

/* A limit for broken files. */
#define HEAPS_MAX HS_HEAP_NAMES_MAX

struct hs_load_heap_list {
    uint32_t ids[HEAPS_MAX]; /* file's index -> the profile's */
    uint32_t count;
    /* Of the last dump: */
    struct hs_profile_dump_heap *heaps;
    uint64_t *narrowest_bytes; /* of each of `heaps`, over all dumps so far */
    uint32_t heap_count;
    bool has_intervals; /* a heap has had an interval of its own */
};

uint32_t hs_load_heaps_id(struct hs_load *load, const struct hs_load_heap_list *list, uint32_t idx)
{
    return list && idx < list->count ? list->ids[idx] : hs_builder_heap(load->builder, "unknown");
}

/* Sets the intervals of a heap, as the top of load_heaps.h says. */
static void set_intervals(struct hs_profile_dump_heap *heap, uint64_t *narrowest_bytes,
                          const Hs__Pb__HsDump *dump)
{
    uint64_t low = heap->interval_bytes;
    heap->interval_widest_bytes = heap->interval_bytes;
    if (hs_load_intervals_have(dump, heap->interval_bytes)) {
        struct hs_load_intervals of_process = hs_load_intervals_of(dump);
        low = of_process.narrowest_bytes;
        heap->interval_widest_bytes = of_process.widest_bytes;
    }
    *narrowest_bytes = *narrowest_bytes != 0 && *narrowest_bytes < low ? *narrowest_bytes : low;
}

static struct hs_amount get_amount(const Hs__Pb__HsAmount *from, uint64_t narrowest_bytes)
{
    struct hs_amount amount = { 0 };
    if (from) {
        amount.bytes = hs_load_number(from->bytes);
        amount.count = hs_load_number(from->count);
        amount.bytes_var = hs_load_number(from->bytes_var);
        amount.count_var = hs_load_number(from->count_var);
        hs_margin_split(&amount, narrowest_bytes);
    }
    return amount;
}

static void set_heap(struct hs_load *load, struct hs_load_heap_list *list, uint32_t i,
                     uint64_t before_bytes, const Hs__Pb__HsDump *dump)
{
    const Hs__Pb__HsHeap *from = dump->heaps[i];
    struct hs_profile_dump_heap *heap = &list->heaps[i];
    list->narrowest_bytes[i] = before_bytes;
    *heap = (struct hs_profile_dump_heap){
        .heap = hs_load_heaps_id(load, list, from->heap),
        .parent = from->parent > 0 && from->parent <= list->count ? list->ids[from->parent - 1]
                                                                  : HS_PROFILE_NO_HEAP,
        .is_carved = from->is_carved,
        .has_own_samples = from->own_samples,
        .is_left_out = from->is_left_out,
        .has_peak = from->peak_time_ns != 0,
        .peak_time_ns = from->peak_time_ns,
        .interval_bytes = from->interval_bytes,
    };
    uint64_t narrowest_bytes = hs_load_intervals_of(dump).narrowest_bytes;
    if (from->interval_bytes != 0) {
        set_intervals(heap, &list->narrowest_bytes[i], dump);
        list->has_intervals = true;
        narrowest_bytes = list->narrowest_bytes[i];
    }
    heap->live = get_amount(from->live, narrowest_bytes);
    heap->alloc = get_amount(from->alloc, narrowest_bytes);
    heap->peak = get_amount(from->peak, narrowest_bytes);
    heap->peak.peak_short_bytes = hs_load_float_above(from->peak_short_bytes);
}

static void set_names(struct hs_load *load, struct hs_load_heap_list *list,
                      const Hs__Pb__HsDump *dump)
{
    for (size_t i = list->count; i < dump->n_heap_names && i < HEAPS_MAX; i++) {
        list->ids[list->count++] = hs_builder_heap(load->builder, dump->heap_names[i]);
    }
}

void hs_load_heaps_set(struct hs_load *load, struct hs_load_heap_list **list,
                       const Hs__Pb__HsDump *dump)
{
    size_t count = dump->n_heaps < HEAPS_MAX ? dump->n_heaps : HEAPS_MAX;
    for (size_t i = 0; i < dump->n_asked_heaps; i++) {
        hs_builder_asked_heap(load->builder, dump->asked_heaps[i]);
    }
    *list = *list ? *list : calloc(1, sizeof(**list));
    struct hs_profile_dump_heap *heaps = calloc(count + 1, sizeof(*heaps));
    uint64_t *narrowest_bytes = calloc(count + 1, sizeof(*narrowest_bytes));
    if (!*list || !heaps || !narrowest_bytes) {
        load->err = -ENOMEM;
        free(heaps);
        free(narrowest_bytes);
        return;
    }
    struct hs_load_heap_list before = **list;
    set_names(load, *list, dump);
    (*list)->heaps = heaps;
    (*list)->narrowest_bytes = narrowest_bytes;
    (*list)->heap_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        /* Heaps come in the same order at each dump, and new ones last. */
        uint32_t heap = hs_load_heaps_id(load, *list, dump->heaps[i]->heap);
        bool is_same = i < before.heap_count && before.heaps[i].heap == heap;
        set_heap(load, *list, i, is_same ? before.narrowest_bytes[i] : 0, dump);
    }
    free(before.heaps);
    free(before.narrowest_bytes);
}

void hs_load_heaps_free(struct hs_load_heap_list *list)
{
    if (list) {
        free(list->heaps);
        free(list->narrowest_bytes);
        free(list);
    }
}

uint64_t hs_load_heaps_narrowest(const struct hs_load_heap_list *list, uint32_t heap,
                                 uint64_t process_bytes)
{
    for (uint32_t i = 0; list && list->has_intervals && i < list->heap_count; i++) {
        if (list->heaps[i].heap == heap && list->narrowest_bytes[i] != 0) {
            return list->narrowest_bytes[i];
        }
    }
    return process_bytes;
}

void hs_load_heaps_add(struct hs_load *load, const struct hs_load_heap_list *list, uint32_t dump,
                       const struct hs_profile_dump *head, uint32_t only_heap)
{
    if (list && list->heap_count > 0) {
        hs_builder_dump_heaps(load->builder, dump, list->heaps, list->heap_count);
    } else if (only_heap != HS_PROFILE_NO_HEAP) {
        struct hs_profile_dump_heap heap = {
            .heap = only_heap,
            .parent = HS_PROFILE_NO_HEAP,
            .has_peak = head->has_peak,
            .peak_time_ns = head->peak_time_ns,
            .live = head->live,
            .alloc = head->alloc,
            .peak = head->peak,
        };
        hs_builder_dump_heaps(load->builder, dump, &heap, 1);
    }
}
