/*
 * Output of what grows over the snapshots of a process, as a table and as JSON. Each function
 * writes a trend (profile/analyse/trend.h) into a buffer.
 *
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/trend.h"

struct hs_trend_options {
    const char *name; /* of the file */
    const struct hs_profile *profile;
    uint32_t top_count; /* rows of each table; UINT32_MAX: all */
    unsigned columns;   /* of the terminal; 0: names are not shortened */
    bool has_colour;
};

/* Writes the tables. */
int hs_trend_write_text(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf);
/* Writes the whole trend as JSON. */
int hs_trend_write_json(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf);
