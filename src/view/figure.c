/*
 * See figure.h.
 */
#include "view/figure.h"

#include <stdio.h>
#include <string.h>

#include "profile/describe.h"
#include "util/human.h"

char *hs_figure_value(char *out, bool is_count, double value)
{
    return is_count ? hs_human_count(out, value) : hs_human_bytes(out, value);
}

char *hs_figure_margin(char *out, bool is_count, double var)
{
    char text[HS_HUMAN_BYTES];
    out[0] = '\0';
    if (var > 0) {
        hs_figure_value(text, is_count, hs_describe_margin(var));
        snprintf(out, HS_FIGURE_BYTES, "± %s", text);
    }
    return out;
}

char *hs_figure_both(char *out, bool is_count, double value, double var)
{
    hs_figure_value(out, is_count, value);
    if (var > 0) {
        size_t used = strlen(out);
        char margin[HS_HUMAN_BYTES];
        hs_figure_value(margin, is_count, hs_describe_margin(var));
        snprintf(out + used, HS_FIGURE_BYTES - used, " ± %s", margin);
    }
    return out;
}
