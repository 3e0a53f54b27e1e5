/*
 * Reads the columns of HsRows: the figures of callstacks.
 *
 * See       load_state.h, trace/writer_rows.c
 */
#include <string.h>

#include "profile/read/load_state.h"
#include "trace/trace_writer.h"

double hs_load_var(uint32_t packed)
{
    if (packed >> (32 - HS_VAR_SHIFT) != 0) {
        return 0;
    }
    uint32_t bits = packed << HS_VAR_SHIFT;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return hs_load_number((double)value);
}

static double get_var(const uint32_t *column, size_t count, size_t i)
{
    return i < count ? hs_load_var(column[i]) : 0;
}

static double get_count(const uint64_t *column, size_t count, size_t i)
{
    return i < count ? (double)column[i] / (1U << HS_COUNT_SHIFT) : 0;
}

static double get_bytes(const uint64_t *column, size_t count, size_t i)
{
    return i < count ? (double)column[i] : 0;
}

void hs_load_row_set(struct hs_load_row *row, const Hs__Pb__HsRows *rows, size_t i)
{
#define AMOUNT(name)                                                                               \
    row->name = (struct hs_amount){                                                                \
        .bytes = get_bytes(rows->name##_bytes, rows->n_##name##_bytes, i),                         \
        .count = get_count(rows->name##_count_fx, rows->n_##name##_count_fx, i),                   \
        .bytes_var = get_var(rows->name##_bytes_var, rows->n_##name##_bytes_var, i),               \
        .count_var = get_var(rows->name##_count_var, rows->n_##name##_count_var, i),               \
    }
    AMOUNT(alloc);
    AMOUNT(live);
    AMOUNT(peak);
#undef AMOUNT
    row->inherited = (struct hs_inherited_var){
        (float)get_var(rows->inherited_bytes_var, rows->n_inherited_bytes_var, i),
        (float)get_var(rows->inherited_count_var, rows->n_inherited_count_var, i),
    };
}
