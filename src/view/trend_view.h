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

#include "profile/analyse/rss_trend.h"
#include "profile/analyse/trend.h"
#include "view/filter_words.h"

struct hs_json;

struct hs_trend_options {
    const char *name; /* of the file */
    const struct hs_profile *profile;
    const struct hs_rss_trend *rss; /* that of the same process; NULL: there is none */
    uint32_t top_count;             /* rows of each table; UINT32_MAX: all */
    uint32_t json_count;            /* functions and stacks in JSON; 0: all */
    unsigned columns;               /* of the terminal; 0: names are not shortened */
    bool has_colour;
    struct hs_filter_texts filters; /* of the stacks */
};

/* Writes the tables. */
int hs_trend_write_text(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf);
/* Writes the whole trend as JSON. */
int hs_trend_write_json(const struct hs_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf);

/* The resident memory alone: text, and JSON. */
int hs_trend_write_rss(const struct hs_rss_trend *trend, const struct hs_trend_options *options,
                       struct hs_buf *buf);
int hs_trend_write_rss_json(const struct hs_rss_trend *trend,
                            const struct hs_trend_options *options, struct hs_buf *buf);
/* Its verdict, as a paragraph; and all of it, as the field "resident" of the open object. */
void hs_trend_write_rss_verdict(const struct hs_rss_trend *trend,
                                const struct hs_trend_options *options, struct hs_buf *buf);
void hs_trend_json_resident(const struct hs_rss_trend *trend, struct hs_json *json);
