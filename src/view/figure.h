/*
 * Figures with what is known about their error: "412 MiB ± 1.2 MiB", "12,345 ± 80".
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

#include "profile/aggregate.h"

#define HS_FIGURE_BYTES 72

/* Each returns `out`, which is HS_FIGURE_BYTES long. */

/* The value alone: a size, or a number of objects. */
char *hs_figure_value(char *out, bool is_count, double value);
/* "± 1.2 MiB"; "" when the value is exact. */
char *hs_figure_margin(char *out, bool is_count, double var);
/* Both. */
char *hs_figure_both(char *out, bool is_count, double value, double var);
