/*
 * From HsBirths to the births of a dump. See load_births.h.
 */
#include "profile/read/load_births.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/margin.h"
#include "trace/heap_births.h"
#include "trace/trace_writer.h"
#include "util/array.h"

/* A bound for a forged file: more than a thousand years. */
#define WINDOW_MS_MAX (UINT64_C(1) << 40)

struct birth {
    uint32_t window;
    double bytes, count, bytes_var;
};

/* The births of one row. */
struct row_births {
    struct birth *items;
    uint32_t count;
    uint64_t window_ms;
};

struct hs_load_births {
    struct row_births *rows; /* by row */
    size_t row_capacity;
    uint64_t window_ms, span_ms; /* at the last dump */
};

void hs_load_births_free(struct hs_load_births *births)
{
    for (size_t i = 0; births && i < births->row_capacity; i++) {
        free(births->rows[i].items);
    }
    if (births) {
        free(births->rows);
    }
    free(births);
}

/* One element of the packet. *window: of the one before; becomes this one's. */
static struct birth get_birth(const Hs__Pb__HsBirths *packet, size_t i, uint64_t *window)
{
    *window += i < packet->n_window_delta ? packet->window_delta[i] : 0;
    return (struct birth){
        .window = *window < HS_BIRTH_WINDOWS ? (uint32_t)*window : HS_BIRTH_WINDOWS,
        .bytes = i < packet->n_bytes ? (double)packet->bytes[i] : 0,
        .count = i < packet->n_count_fx
                     ? (double)packet->count_fx[i] / (double)(1U << HS_COUNT_SHIFT)
                     : 0,
        .bytes_var = i < packet->n_bytes_var ? hs_load_var(packet->bytes_var[i]) : 0,
    };
}

/* Replaces the births of a row by `count` elements of the packet. */
static int set_row(struct hs_load_births *births, size_t row, const Hs__Pb__HsBirths *packet,
                   size_t first, uint32_t count)
{
    int r = hs_array_reserve_zeroed(&births->rows, &births->row_capacity, row + 1,
                                    sizeof(births->rows[0]));
    if (r < 0) {
        return r;
    }
    struct row_births *out = &births->rows[row];
    uint64_t window = 0;
    free(out->items);
    *out = (struct row_births){ .window_ms = births->window_ms };
    if (count == 0) {
        return 0;
    }
    out->items = malloc(count * sizeof(out->items[0]));
    if (!out->items) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        out->items[i] = get_birth(packet, first + i, &window);
    }
    out->count = count;
    return 0;
}

static int set_rows(struct hs_load_births *births, const struct hs_load_row_table *table,
                    const Hs__Pb__HsBirths *packet)
{
    size_t at = 0;
    int64_t iid = 0;
    int r = 0;
    for (size_t i = 0; i < packet->n_callstack_iid_delta && r == 0; i++) {
        uint32_t heap = i < packet->n_heap ? packet->heap[i] : 0;
        size_t count = i < packet->n_window_count ? packet->window_count[i] : 0;
        size_t row = hs_load_row_find(table, &iid, packet->callstack_iid_delta[i], heap);
        count = count <= packet->n_window_delta - at ? count : packet->n_window_delta - at;
        count = count <= HS_BIRTH_WINDOWS + 1 ? count : HS_BIRTH_WINDOWS + 1;
        r = row != SIZE_MAX ? set_row(births, row, packet, at, (uint32_t)count) : 0;
        at += count;
    }
    return r;
}

void hs_load_births_set(struct hs_load *load, struct hs_load_births **births,
                        const struct hs_load_row_table *table, const Hs__Pb__HsBirths *packet)
{
    *births = *births ? *births : calloc(1, sizeof(**births));
    int r = *births ? 0 : -ENOMEM;
    if (r == 0) {
        (*births)->window_ms = packet->window_ms < WINDOW_MS_MAX ? packet->window_ms : 0;
        (*births)->span_ms = packet->span_ms;
        r = set_rows(*births, table, packet);
    }
    load->err = load->err ? load->err : r;
}

/* --- from state to a dump --- */

static double take(double *rest, double part)
{
    part = part < *rest ? part : *rest;
    *rest -= part;
    return part;
}

/* Makes the births of a row, in windows of the dump's width. Returns their number. */
static size_t give_row(const struct hs_load_births *births, const struct row_births *from,
                       const struct hs_load_row *row, uint64_t narrowest_bytes,
                       struct hs_profile_birth *out)
{
    struct hs_amount rest = row->live;
    size_t count = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct birth *birth = &from->items[i];
        bool is_last = i + 1 == from->count;
        struct hs_amount amount = {
            .bytes = take(&rest.bytes, is_last ? rest.bytes : birth->bytes),
            .count = take(&rest.count, is_last ? rest.count : birth->count),
            .bytes_var = take(&rest.bytes_var, is_last ? rest.bytes_var : birth->bytes_var),
        };
        /* A row that was written when windows were narrower is from a damaged file. */
        uint64_t start_ms = birth->window * from->window_ms;
        uint64_t window = start_ms / births->window_ms;
        if (birth->window >= HS_BIRTH_WINDOWS || window >= HS_BIRTH_WINDOWS) {
            continue;
        }
        hs_margin_split(&amount, narrowest_bytes);
        out[count++] = (struct hs_profile_birth){
            .node = row->node, .heap = row->heap, .window = (uint32_t)window, .amount = amount
        };
    }
    return count;
}

void hs_load_births_give(struct hs_load *load, const struct hs_load_births *births,
                         const struct hs_load_row_table *table,
                         const struct hs_load_heap_list *heaps, uint64_t narrowest_bytes,
                         uint32_t dump)
{
    size_t count = 0, rows = births ? births->row_capacity : 0;
    for (size_t i = 0; i < rows; i++) {
        count += births->rows[i].count;
    }
    if (!births || births->window_ms == 0) {
        return;
    }
    struct hs_profile_birth *out = malloc((count + 1) * sizeof(out[0]));
    if (!out) {
        load->err = load->err ? load->err : -ENOMEM;
        return;
    }
    count = 0;
    for (size_t i = 0; i < rows && i < table->ids->ids.count; i++) {
        const struct hs_load_row *row = &table->rows[i];
        uint64_t row_bytes = hs_load_heaps_narrowest(heaps, row->heap, narrowest_bytes);
        count += give_row(births, &births->rows[i], row, row_bytes, &out[count]);
    }
    hs_builder_dump_births(load->builder, dump, births->window_ms, births->span_ms, out, count);
    free(out);
}
