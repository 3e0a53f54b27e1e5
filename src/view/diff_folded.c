/*
 * Writes a comparison as folded stacks with two values. See diff_view.h, and folded.h for the
 * format.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"
#include "view/diff_view.h"

static void write_name(const char *name, struct hs_buf *scratch, struct hs_buf *buf)
{
    scratch->bytes = 0;
    for (const char *at = name; *at; at++) {
        hs_buf_char(scratch, *at == ';' ? ':' : *at == '\n' || *at == '\r' ? ' ' : *at);
    }
    const char *text = hs_buf_text(scratch);
    hs_utf8_write(buf, text, strlen(text));
}

/* The rounding error of one stack is added to the next one, so that sums stay right. */
static double round_value(double value, double *carry)
{
    if (!(value > 0) || !isfinite(value)) {
        return 0;
    }
    double out = round(value + *carry);
    out = out > 0 ? out : 0;
    *carry += value - out;
    return out;
}

int hs_diff_write_folded(const struct hs_diff *diff, struct hs_buf *buf)
{
    uint32_t depth_max = 0;
    double carries[HS_DIFF_SIDE_N] = { 0 };
    for (uint32_t i = 0; i < diff->node_count; i++) {
        depth_max = diff->nodes[i].depth > depth_max ? diff->nodes[i].depth : depth_max;
    }
    uint32_t *path = calloc((size_t)depth_max + 1, sizeof(*path));
    struct hs_buf scratch = HS_BUF_INIT;
    if (!path) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < diff->node_count && buf->err == 0; i++) {
        double values[HS_DIFF_SIDE_N];
        for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
            values[side] = round_value(hs_view_value(diff->view, &diff->nodes[i].self.by[side]),
                                       &carries[side]);
        }
        if (values[0] + values[1] < 1) {
            continue;
        }
        uint32_t depth = 0;
        for (uint32_t n = i; n != HS_NODE_NONE; n = diff->nodes[n].parent) {
            path[depth++] = diff->nodes[n].function;
        }
        while (depth > 0) {
            write_name(hs_diff_name(diff, path[--depth]), &scratch, buf);
            hs_buf_char(buf, depth > 0 ? ';' : ' ');
        }
        hs_buf_printf(buf, "%.0f %.0f\n", values[HS_DIFF_BEFORE], values[HS_DIFF_AFTER]);
    }
    int err = scratch.err ? scratch.err : buf->err;
    hs_buf_deinit(&scratch);
    free(path);
    return err;
}
