/*
 * How the slopes of a trend are written. Only for the files of the trend.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>

#include "profile/analyse/trend.h"
#include "util/rate_unit.h"
#include "view/diff_view.h"
#include "view/format_interval.h"

struct hs_json;

#define HS_TREND_CELL_BYTES (HS_DIFF_CELL_BYTES + HS_FORMAT_INTERVAL_BYTES)

/* "±1.20 KiB"; "" when the line is exact. Each returns `out`, of HS_TREND_CELL_BYTES bytes. */
const char *hs_trend_margin(char *out, bool is_count, const struct hs_trend_line *line);
/* The line with slope and margin by another unit of time than a second. */
struct hs_trend_line hs_trend_by(const struct hs_trend_line *line, const struct hs_rate_unit *unit);
/* "9 up, 1 down" */
const char *hs_trend_steps(char *out, const struct hs_trend_line *line);
/* How sure it is that the row leaks: "98.2 %"; "" if it does not. */
const char *hs_trend_leak(char *out, const struct hs_trend_row *row);
/* Writes the fields of the open object. */
void hs_trend_json_line(const struct hs_trend_line *line, struct hs_json *json);
