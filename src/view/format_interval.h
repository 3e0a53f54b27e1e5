/*
 * Formats figures with their margins: "412 MiB ± 1.2 MiB", "12,345 ± 80".
 *
 * With few samples the truth may be further above than below the figure: "20.0 KiB −13.8 +26.8
 * KiB". A figure that is exact, or 0, can only be too low, because small blocks may have been
 * missed: "1.00 MiB +15.4 KiB".
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

#include "profile/analyse/aggregate.h"
#include "profile/model/margin.h"

#define HS_FORMAT_INTERVAL_BYTES 112

/* What the output says about margins, once. */
#define HS_MARGINS_LEGEND                                                                          \
    "margins (±, or − below and + above the figure) are 95 % confidence intervals"

/* Each function returns `out`, which has HS_FORMAT_INTERVAL_BYTES bytes. */

/* The value alone: a size, or a number of objects. */
char *hs_format_value(char *out, bool is_count, double value);
/* "± 1.2 MiB", or "−1.0 +1.4 MiB" when the sides differ; "" when the figure is exact. */
char *hs_format_margin(char *out, bool is_count, const struct hs_figure *figure);
/* A probability from 0 to 1, rounded down: "98.2 %", or behind the word `above` at more than 0.999:
 * ">99.9 %". */
char *hs_format_confidence(char *out, double confidence, const char *above);
/* The value, followed by its margin if it has one. */
char *hs_format_interval(char *out, bool is_count, const struct hs_figure *figure);
