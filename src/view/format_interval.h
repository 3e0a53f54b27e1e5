/*
 * Figures with what is known about their error: "412 MiB ± 1.2 MiB", "12,345 ± 80".
 *
 * From few samples the truth may lie further above than below: "20.0 KiB −13.8 +26.8 KiB". Beside exact blocks, and
 * beside 0, small ones may have gone unseen: "1.00 MiB +15.4 KiB".
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

#include "profile/aggregate.h"
#include "profile/margin.h"

#define HS_FORMAT_INTERVAL_BYTES 112

/* Each returns `out`, which is HS_FORMAT_INTERVAL_BYTES long. */

/* The value alone: a size, or a number of objects. */
char *hs_format_value(char *out, bool is_count, double value);
/* "± 1.2 MiB", or "−1.0 +1.4 MiB" when the sides differ; "" when the figure is exact. */
char *hs_format_margin(char *out, bool is_count, const struct hs_figure *figure);
/* Both. */
char *hs_format_interval(char *out, bool is_count, const struct hs_figure *figure);
