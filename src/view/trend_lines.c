/*
 * Writes slopes: see trend_lines.h.
 */
#include "view/trend_lines.h"

#include <math.h>
#include <stdio.h>

#include "util/json.h"

const char *hs_trend_margin(char *out, bool is_count, const struct hs_trend_line *line)
{
    char figure[HS_FORMAT_INTERVAL_BYTES];
    out[0] = '\0';
    if (line->margin > 1e-6 * fabs(line->slope)) {
        snprintf(out, HS_TREND_CELL_BYTES, "±%s", hs_format_value(figure, is_count, line->margin));
    }
    return out;
}

struct hs_trend_line hs_trend_by(const struct hs_trend_line *line, const struct hs_rate_unit *unit)
{
    struct hs_trend_line by = *line;
    by.slope *= unit->seconds;
    by.margin *= unit->seconds;
    return by;
}

const char *hs_trend_steps(char *out, const struct hs_trend_line *line)
{
    if (line->steps_down == 0) {
        snprintf(out, HS_TREND_CELL_BYTES, "%u up", line->steps_up);
    } else {
        snprintf(out, HS_TREND_CELL_BYTES, "%u up, %u down", line->steps_up, line->steps_down);
    }
    return out;
}

const char *hs_trend_leak(char *out, const struct hs_trend_row *row)
{
    out[0] = '\0';
    if (row->leak_confidence > 0) {
        hs_format_confidence(out, row->leak_confidence, ">");
    }
    return out;
}

void hs_trend_json_line(const struct hs_trend_line *line, struct hs_json *json)
{
    hs_json_kv_double(json, "first", line->first);
    hs_json_kv_double(json, "last", line->last);
    hs_json_kv_double(json, "per_second", line->slope);
    hs_json_kv_double(json, "low", line->slope - line->margin);
    hs_json_kv_double(json, "high", line->slope + line->margin);
    hs_json_kv_uint(json, "steps_up", line->steps_up);
    hs_json_kv_uint(json, "steps_down", line->steps_down);
    hs_json_kv_string(json, "verdict", hs_trend_verdict_names[line->verdict]);
}
