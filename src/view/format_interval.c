/*
 * See format_interval.h.
 */
#include "view/format_interval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/human.h"

/*
 * If the two sides differ by more than this factor, both are shown; below some 100 samples they do.
 */
#define SIDES_ALIKE 1.22

char *hs_format_value(char *out, bool is_count, double value)
{
    return is_count ? hs_human_count(out, value) : hs_human_bytes(out, value);
}

static void write_margin(char *out, size_t cap_bytes, bool is_count, const struct hs_figure *figure)
{
    char below[HS_HUMAN_BYTES];
    char above[HS_HUMAN_BYTES];
    struct hs_margin margin = hs_margin_of(figure);
    hs_format_value(below, is_count, margin.below);
    hs_format_value(above, is_count, margin.above);
    if (!(margin.below > 0)) {
        snprintf(out, cap_bytes, "+%s", above);
        return;
    }
    bool is_alike =
        margin.below <= SIDES_ALIKE * margin.above && margin.above <= SIDES_ALIKE * margin.below;
    if (is_alike || strcmp(below, above) == 0) {
        snprintf(out, cap_bytes, "± %s", margin.above > margin.below ? above : below);
        return;
    }
    char *below_unit = strchr(below, ' ');
    const char *above_unit = strchr(above, ' ');
    if (below_unit && above_unit && strcmp(below_unit, above_unit) == 0) {
        *below_unit = '\0';
    }
    snprintf(out, cap_bytes, "−%s +%s", below, above);
}

static bool has_margin(const struct hs_figure *figure)
{
    struct hs_margin margin = hs_margin_of(figure);
    return margin.below > 0 || margin.above > 0;
}

char *hs_format_margin(char *out, bool is_count, const struct hs_figure *figure)
{
    out[0] = '\0';
    if (has_margin(figure)) {
        write_margin(out, HS_FORMAT_INTERVAL_BYTES, is_count, figure);
    }
    return out;
}

char *hs_format_interval(char *out, bool is_count, const struct hs_figure *figure)
{
    hs_format_value(out, is_count, figure->value);
    if (has_margin(figure)) {
        size_t used = strlen(out);
        out[used++] = ' ';
        write_margin(out + used, HS_FORMAT_INTERVAL_BYTES - used, is_count, figure);
    }
    return out;
}

char *hs_format_confidence(char *out, double confidence, const char *above)
{
    snprintf(out, HS_FORMAT_INTERVAL_BYTES, "%s%.1f %%", confidence > 0.999 ? above : "",
             floor(fmin(confidence, 0.999) * 1000) / 10);
    return out;
}
