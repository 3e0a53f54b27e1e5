/*
 * The rows of a profile that `top` shows: its stacks, functions or types, with what they hold.
 *
 *     struct hs_top_rows rows;
 *     hs_top_rows_build(profile, &rows);          the profile must outlive them
 *     rows.tables[HS_TOP_STACKS].rows ...
 *     hs_top_rows_deinit(&rows);
 *
 * Rows have keys by which they are known again in a later profile of the same process, whose ids
 * are others.
 *
 * Threads   none.
 * Fails     -ENOMEM, -EOVERFLOW; HS_SELECT_E_EMPTY: the profile has no snapshot.
 * See       profile/analyse/aggregate.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "util/buf.h"

enum hs_top_kind {
    HS_TOP_STACKS,
    HS_TOP_FUNCTIONS,
    HS_TOP_TYPES,
    HS_TOP_KIND_N,
};

struct hs_top_row {
    uint64_t key;
    size_t name_off;    /* in `text`: raw, ended by NUL */
    double live_bytes;  /* of a function: allocated by it itself */
    double total_bytes; /* of a function: and by what it calls; of others: the same as live */
    double live_count;  /* objects */
    double growth;      /* bytes a second; set by the caller */
    uint32_t node;      /* of a stack: where it ends in the aggregation */
};

struct hs_top_table {
    struct hs_top_row *rows;
    uint32_t count;
};

struct hs_top_rows {
    const struct hs_profile *profile;
    struct hs_selection selection; /* the last snapshot of each process */
    struct hs_agg agg;
    struct hs_buf text;
    struct hs_top_table tables[HS_TOP_KIND_N];
    bool has_types; /* types were looked for */
};

/* Makes the rows of the last snapshots. 0, or see Fails; then there is nothing to free. */
int hs_top_rows_build(const struct hs_profile *profile, struct hs_top_rows *ret_rows);
void hs_top_rows_deinit(struct hs_top_rows *rows);

/* The name of a row. */
static inline const char *hs_top_row_name(const struct hs_top_rows *rows,
                                          const struct hs_top_row *row)
{
    return rows->text.data + row->name_off;
}

/* How many frames a stack has. */
uint32_t hs_top_frame_count(const struct hs_top_rows *rows, const struct hs_top_row *row);
/* Writes frame number `i` of a stack, the innermost first: "parse(char const*)  FILE:40". */
void hs_top_write_frame(const struct hs_top_rows *rows, const struct hs_top_row *row, uint32_t i,
                        struct hs_buf *out);
