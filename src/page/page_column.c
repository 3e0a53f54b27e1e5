/*
 * See page_column.h.
 */
#include "page/page_column.h"

#include <math.h>

#include "util/json.h"

static double clean(double value)
{
    return isfinite(value) ? value : 0;
}

static bool is_constant(uint32_t count, hs_page_value_fn *value, const void *ctx)
{
    double first = count > 0 ? clean(value(ctx, 0)) : 0;
    for (uint32_t i = 1; i < count; i++) {
        if (clean(value(ctx, i)) != first) {
            return false;
        }
    }
    return true;
}

void hs_page_column(struct hs_json *json, const char *key, uint32_t count, hs_page_value_fn *value,
                    const void *ctx)
{
    hs_json_key(json, key);
    if (count > 1 && is_constant(count, value, ctx)) {
        hs_json_double(json, clean(value(ctx, 0)));
        return;
    }
    hs_json_open_inline(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        hs_json_double(json, clean(value(ctx, i)));
    }
    hs_json_close(json, ']');
}

void hs_page_column_steps(struct hs_json *json, const char *key, uint32_t count,
                          hs_page_value_fn *value, const void *ctx)
{
    double before = 0;
    hs_json_key(json, key);
    hs_json_open_inline(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        double now = clean(value(ctx, i));
        hs_json_double(json, now - before);
        before = now;
    }
    hs_json_close(json, ']');
}

static double element(const void *ctx, uint32_t row)
{
    const uint32_t *values = ctx;
    return values[row];
}

void hs_page_column_of(struct hs_json *json, const char *key, uint32_t count,
                       const uint32_t *values)
{
    hs_page_column(json, key, count, element, values);
}

void hs_page_column_unknown(struct hs_json *json, const char *key)
{
    hs_json_key(json, key);
    hs_json_null(json);
}

double hs_page_round(double value, unsigned digits)
{
    if (!isfinite(value) || value == 0) {
        return 0;
    }
    double shift = floor(log10(fabs(value))) + 1 - (double)digits;
    double unit = pow(10, fabs(shift)); /* a whole number, so that the result is the nearest one */
    double rounded = shift >= 0 ? round(value / unit) * unit : round(value * unit) / unit;
    return isfinite(rounded) ? rounded : value;
}
