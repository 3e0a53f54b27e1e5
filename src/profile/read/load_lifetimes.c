/*
 * Reads HsLifetimes: see load_lifetimes.h.
 */
#include "profile/read/load_lifetimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* A bound for a forged file. */
#define SUMS_MAX (UINT64_C(4) << 20)

/* The sums of one row, without its node and heap. */
struct row_sums {
    struct hs_profile_lifetime *items;
    uint32_t count;
};

struct hs_load_lifetimes {
    struct row_sums *rows; /* by row */
    size_t row_capacity;
    uint64_t count;
};

void hs_load_lifetimes_free(struct hs_load_lifetimes *lifetimes)
{
    for (size_t i = 0; lifetimes && i < lifetimes->row_capacity; i++) {
        free(lifetimes->rows[i].items);
    }
    if (lifetimes) {
        free(lifetimes->rows);
    }
    free(lifetimes);
}

/* Makes room for the row. */
static int reserve(struct hs_load_lifetimes *lifetimes, size_t row)
{
    size_t had = lifetimes->row_capacity;
    int r = hs_array_reserve(&lifetimes->rows, &lifetimes->row_capacity, row + 1,
                             sizeof(lifetimes->rows[0]));
    if (r == 0 && lifetimes->row_capacity > had) {
        memset(&lifetimes->rows[had], 0,
               (lifetimes->row_capacity - had) * sizeof(lifetimes->rows[0]));
    }
    return r;
}

static double get_var(const uint32_t *column, size_t count, size_t i)
{
    return i < count ? hs_load_var(column[i]) : 0;
}

static struct hs_profile_lifetime get_sum(const Hs__Pb__HsLifetimes *packet, size_t i)
{
    return (struct hs_profile_lifetime){
        .what = packet->what[i],
        .bytes = i < packet->n_bytes ? (double)packet->bytes[i] : 0,
        .count = i < packet->n_count_fx
                     ? (double)packet->count_fx[i] / (double)(1U << HS_COUNT_SHIFT)
                     : 0,
        .bytes_var = get_var(packet->bytes_var, packet->n_bytes_var, i),
        .count_var = get_var(packet->count_var, packet->n_count_var, i),
    };
}

static double get_real(const double *column, size_t count, size_t i)
{
    return i < count ? hs_load_number(column[i]) : 0;
}

/* Replaces the sums of a row by `count` elements of the packet, from `first` on. `i`: of the
 * callstack in it. */
static int set_row(struct hs_load_lifetimes *lifetimes, size_t row,
                   const Hs__Pb__HsLifetimes *packet, size_t i, size_t first, uint32_t count)
{
    int r = reserve(lifetimes, row);
    if (r < 0) {
        return r;
    }
    struct row_sums *out = &lifetimes->rows[row];
    lifetimes->count -= out->count;
    free(out->items);
    *out = (struct row_sums){ .items = NULL };
    if (lifetimes->count + count + 1 > SUMS_MAX) {
        return 0;
    }
    out->items = malloc(((size_t)count + 1) * sizeof(out->items[0]));
    if (!out->items) {
        return -ENOMEM;
    }
    out->items[out->count++] = (struct hs_profile_lifetime){
        .what = HS_LIFETIME_SUM_TIMES,
        .bytes = get_real(packet->byte_ms, packet->n_byte_ms, i),
        .count = get_real(packet->count_ms, packet->n_count_ms, i),
        .bytes_var = get_real(packet->count_ms_cov, packet->n_count_ms_cov, i),
        .count_var = get_real(packet->count_ms_var, packet->n_count_ms_var, i),
    };
    for (uint32_t k = 0; k < count; k++) {
        if (hs_lifetime_sum_is_known(packet->what[first + k])) {
            out->items[out->count++] = get_sum(packet, first + k);
        }
    }
    lifetimes->count += out->count;
    return 0;
}

static int set_rows(struct hs_load_lifetimes *lifetimes, const struct hs_load_row_table *table,
                    const Hs__Pb__HsLifetimes *packet)
{
    size_t at = 0, end = packet->n_what;
    int64_t iid = 0;
    int r = 0;
    for (size_t i = 0; i < packet->n_callstack_iid_delta && r == 0; i++) {
        uint32_t heap = i < packet->n_heap ? packet->heap[i] : 0;
        uint32_t count = i < packet->n_sum_count ? packet->sum_count[i] : 0;
        size_t row = hs_load_row_find(table, &iid, packet->callstack_iid_delta[i], heap);
        count = count <= end - at ? count : (uint32_t)(end - at);
        r = row != SIZE_MAX ? set_row(lifetimes, row, packet, i, at, count) : 0;
        at += count;
    }
    return r;
}

void hs_load_lifetimes_set(struct hs_load *load, struct hs_load_lifetimes **lifetimes,
                           const struct hs_load_row_table *table, const Hs__Pb__HsLifetimes *packet)
{
    if (!packet) {
        return;
    }
    *lifetimes = *lifetimes ? *lifetimes : calloc(1, sizeof(**lifetimes));
    int r = *lifetimes ? set_rows(*lifetimes, table, packet) : -ENOMEM;
    load->err = load->err ? load->err : r;
}

void hs_load_lifetimes_give(struct hs_load *load, const struct hs_load_lifetimes *lifetimes,
                            const struct hs_load_row_table *table,
                            const struct hs_profile_dump *head, uint32_t dump)
{
    if (!head->has_lifetimes) {
        return;
    }
    size_t count = 0, room = lifetimes ? lifetimes->count : 0;
    struct hs_profile_lifetime *out = malloc((room + 1) * sizeof(out[0]));
    for (uint32_t i = 0; out && lifetimes && i < table->ids->ids.count; i++) {
        const struct hs_load_row *row = &table->rows[i];
        for (uint32_t k = 0; i < lifetimes->row_capacity && k < lifetimes->rows[i].count; k++) {
            out[count] = lifetimes->rows[i].items[k];
            out[count].node = row->node;
            out[count++].heap = row->heap;
        }
    }
    if (out) {
        hs_builder_dump_lifetimes(load->builder, dump, out, count);
    }
    load->err = load->err == 0 && !out ? -ENOMEM : load->err;
    free(out);
}
