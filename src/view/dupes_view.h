/*
 * What `heapscope dupes` prints: blocks with equal contents, and zero bytes, by place and type.
 *
 * Threads   no state.
 * Fails     -ENOMEM, or as the buffer does.
 */
#pragma once

#include "profile/analyse/dupes.h"

struct hs_buf;

struct hs_dupes_view {
    const struct hs_selection *selection; /* of one dump */
    const struct hs_agg *agg;
    const struct hs_dupes *dupes;
    uint32_t top_count; /* rows of each list */
    double least_bytes; /* rows with fewer extra bytes, or fewer zero bytes, are left out */
    uint64_t missing_count, foreign_count;
    bool is_never_written_known;
    unsigned columns; /* of the terminal; 0: names are not shortened */
    bool has_colour;
};

/* Writes tables. 0, or see Fails. */
int hs_dupes_write_text(const struct hs_dupes_view *view, struct hs_buf *buf);
/* Writes JSON, with the fields of Fuchsia's dupefinder and others. 0, or see Fails. */
int hs_dupes_write_json(const struct hs_dupes_view *view, struct hs_buf *buf);
