/*
 * See writer_heaps.h.
 */
#include "trace/writer_heaps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "rt/check.h"
#include "util/array.h"

#define OTHER_HEAPS        "other heaps"
#define OTHER_CARVED_HEAPS "other carved heaps"
/* Both of these names are put into the list when only two places are left. */
#define LISTED_MAX (HS_HEAP_NAMES_MAX - 2U)

static int add_name(struct hs_trace_writer *writer, const char *name)
{
    int err = hs_array_reserve(&writer->heap_names, &writer->heap_capacity,
                               (size_t)writer->heap_count + 1, sizeof(writer->heap_names[0]));
    if (err < 0) {
        return err;
    }
    char *own = writer->heap_names[writer->heap_count];
    memset(own, 0, sizeof(writer->heap_names[0]));
    memcpy(own, name, strnlen(name, sizeof(writer->heap_names[0]) - 1));
    writer->heap_count++;
    return 0;
}

static int find_name(struct hs_trace_writer *writer, const char *name, bool is_carved,
                     uint32_t *ret_idx)
{
    for (uint32_t i = 0; i < writer->heap_count; i++) {
        if (strncmp(writer->heap_names[i], name, sizeof(writer->heap_names[i])) == 0) {
            *ret_idx = i;
            return 0;
        }
    }
    int err = 0;
    if (writer->heap_count == LISTED_MAX) {
        err = add_name(writer, OTHER_HEAPS);
        err = err < 0 ? err : add_name(writer, OTHER_CARVED_HEAPS);
    }
    if (err == 0 && writer->heap_count == HS_HEAP_NAMES_MAX) {
        *ret_idx = LISTED_MAX + is_carved;
        return 0;
    }
    err = err < 0 ? err : add_name(writer, name);
    *ret_idx = writer->heap_count - 1;
    HS_ASSERT(err < 0 || writer->heap_count <= HS_HEAP_NAMES_MAX);
    return err;
}

/* Does an earlier heap of the process have this one's name, and is it not carved? */
static bool is_name_taken(const struct hs_snapshot *snap, uint32_t id)
{
    for (uint32_t i = 0; i < snap->heap_count; i++) {
        if (i != id && !snap->heaps[i].is_carved &&
            strncmp(snap->heaps[i].name, snap->heaps[id].name, sizeof(snap->heaps[i].name)) == 0) {
            return true;
        }
    }
    return false;
}

int hs_writer_heaps_find(struct hs_trace_writer *writer, struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < snap->heap_count; i++) {
        const struct hs_snap_heap *heap = &snap->heaps[i];
        char name[sizeof(writer->heap_names[0])];
        dump->heaps[i] = UINT32_MAX;
        if (heap->name[0] == '\0') {
            continue;
        }
        if (heap->is_carved && is_name_taken(snap, i)) {
            snprintf(name, sizeof(name), "%.*s (carved)", (int)(sizeof(name) - 10), heap->name);
        } else {
            snprintf(name, sizeof(name), "%.*s", (int)(sizeof(name) - 1), heap->name);
        }
        err = find_name(writer, name, heap->is_carved, &dump->heaps[i]);
    }
    return err;
}

/* --- HsHeap --- */

static bool is_plain(const struct hs_snapshot *snap, const struct hs_snap_heap *heap)
{
    bool has_other_interval =
        heap->interval_bytes != 0 && heap->interval_bytes != snap->interval_bytes;
    return !heap->is_carved && !heap->has_own_samples && !heap->is_left_out && !has_other_interval;
}

static void add(Hs__Pb__HsAmount *sum, const struct hs_estimate *more)
{
    sum->has_bytes = sum->has_count = true;
    sum->bytes += more->bytes;
    sum->count += more->count;
    sum->bytes_var += more->bytes_var;
    sum->count_var += more->count_var;
    sum->has_bytes_var = sum->bytes_var != 0;
    sum->has_count_var = sum->count_var != 0;
}

/* Starts the message of a heap of the file with what its first heap of the process is. */
static Hs__Pb__HsHeap *start(struct hs_heap_packets *packets, size_t at,
                             const struct hs_writer_dump *dump, uint32_t id)
{
    const struct hs_snap_heap *from = &dump->snap->heaps[id];
    Hs__Pb__HsHeap *out = packets->pointers[at] = &packets->heaps[at];
    hs__pb__hs_heap__init(out);
    for (size_t i = 0; i < 3; i++) {
        hs__pb__hs_amount__init(&packets->amounts[at * 3 + i]);
    }
    out->live = &packets->amounts[at * 3];
    out->alloc = &packets->amounts[at * 3 + 1];
    out->peak = &packets->amounts[at * 3 + 2];
    out->has_heap = true;
    out->heap = dump->heaps[id];
    out->has_is_carved = out->is_carved = from->is_carved;
    out->has_own_samples = out->own_samples = from->has_own_samples;
    out->has_is_left_out = out->is_left_out = from->is_left_out;
    uint32_t parent = from->parent - 1;
    if (from->parent != 0 && parent < dump->snap->heap_count && dump->heaps[parent] != UINT32_MAX &&
        dump->heaps[parent] != dump->heaps[id]) {
        out->has_parent = true;
        out->parent = dump->heaps[parent] + 1;
    }
    out->has_interval_bytes = from->interval_bytes != 0;
    out->interval_bytes = from->interval_bytes;
    out->has_peak_time_ns = from->peak_time_mono_ns != 0;
    out->peak_time_ns = from->peak_time_mono_ns;
    return out;
}

static void fill(struct hs_heap_packets *packets, const struct hs_writer_dump *dump,
                 uint32_t *place_of, Hs__Pb__HsDump *out)
{
    for (uint32_t i = 0; i < dump->snap->heap_count; i++) {
        const struct hs_snap_heap *from = &dump->snap->heaps[i];
        uint32_t heap = dump->heaps[i];
        if (heap == UINT32_MAX) {
            continue;
        }
        if (place_of[heap] == 0) {
            start(packets, out->n_heaps++, dump, i);
            place_of[heap] = (uint32_t)out->n_heaps;
        }
        Hs__Pb__HsHeap *to = packets->pointers[place_of[heap] - 1];
        add(to->live, &from->live);
        add(to->alloc, &from->alloc);
        add(to->peak, &from->peak);
        to->peak_short_bytes += from->peak_short_bytes;
        to->has_peak_short_bytes = to->peak_short_bytes != 0;
        to->has_own_samples = to->own_samples |= from->has_own_samples;
        /* Of several heaps with one name, the widest interval is given. */
        if (from->interval_bytes > to->interval_bytes) {
            to->has_interval_bytes = true;
            to->interval_bytes = from->interval_bytes;
        }
    }
    out->heaps = packets->pointers;
}

int hs_writer_heaps_fill(const struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                         struct hs_heap_packets *packets, Hs__Pb__HsDump *out)
{
    const struct hs_snapshot *snap = dump->snap;
    size_t room = (size_t)snap->heap_count + 1;
    uint32_t named_count = 0;
    bool are_plain = true;
    out->n_heap_names = writer->heap_count;
    out->heap_names = packets->names;
    for (uint32_t i = 0; i < writer->heap_count; i++) {
        packets->names[i] = writer->heap_names[i];
    }
    for (uint32_t i = 0; i < snap->heap_count; i++) {
        named_count += dump->heaps[i] != UINT32_MAX;
        are_plain &= is_plain(snap, &snap->heaps[i]);
    }
    if (named_count <= 1 && are_plain) {
        return 0;
    }
    uint32_t *place_of = calloc((size_t)writer->heap_count + 1, sizeof(*place_of));
    packets->heaps = calloc(room, sizeof(packets->heaps[0]));
    packets->pointers = calloc(room, sizeof(packets->pointers[0]));
    packets->amounts = calloc(room * 3, sizeof(packets->amounts[0]));
    if (!place_of || !packets->heaps || !packets->pointers || !packets->amounts) {
        free(place_of);
        return -ENOMEM;
    }
    fill(packets, dump, place_of, out);
    free(place_of);
    return 0;
}

void hs_heap_packets_deinit(struct hs_heap_packets *packets)
{
    free(packets->heaps);
    free(packets->pointers);
    free(packets->amounts);
}
