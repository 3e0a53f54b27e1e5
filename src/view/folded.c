/*
 * See folded.h. Each function's name is prepared once, not once per stack that contains it: the
 * profile of a compiler has a hundred thousand stacks of eighty frames.
 */
#include "view/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/utf8.h"

/* All names in one byte buffer; that of function f is at offs[f], NUL-terminated. */
struct names {
    struct hs_buf text;
    size_t *offs;
};

static int build_names(const struct hs_agg *agg, struct names *names)
{
    struct hs_buf raw = HS_BUF_INIT;
    names->offs = calloc(agg->function_count + 1u, sizeof(*names->offs));
    int err = names->offs ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < agg->function_count && err == 0; i++) {
        raw.bytes = 0;
        hs_agg_write_function(agg, i, &raw);
        for (size_t at = 0; at < raw.bytes; at++) {
            char c = raw.data[at];
            raw.data[at] = c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
        }
        names->offs[i] = names->text.bytes;
        hs_utf8_write(&names->text, hs_buf_text(&raw), raw.bytes);
        hs_buf_char(&names->text, '\0');
        err = raw.err ? raw.err : names->text.err;
    }
    hs_buf_deinit(&raw);
    return err;
}

static int write_stacks(const struct hs_agg *agg, const struct names *names, enum hs_view view,
                        struct hs_buf *buf)
{
    uint32_t *path = NULL;
    uint32_t capacity = 0;
    double carry = 0;
    for (uint32_t i = 0; i < agg->self_count && buf->err == 0; i++) {
        const struct hs_amount *amount = &agg->selves[i].by[hs_views[view].quantity];
        double exact = hs_view_value(view, amount);
        /* The rounding error of one stack is added to the next one, so that sums stay right. */
        double value = exact > 0 && isfinite(exact) ? round(exact + carry) : 0;
        carry += value > 0 ? exact - value : 0;
        if (value < 1) {
            continue;
        }
        uint32_t depth = agg->nodes[agg->selves[i].node].depth + 1;
        if (!path || depth > capacity) {
            free(path);
            capacity = depth * 2;
            path = calloc(capacity, sizeof(*path));
            if (!path) {
                return -ENOMEM;
            }
        }
        uint32_t at = depth;
        for (uint32_t n = agg->selves[i].node; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
            path[--at] = agg->nodes[n].function;
        }
        for (at = 0; at < depth; at++) {
            if (at > 0) {
                hs_buf_char(buf, ';');
            }
            hs_buf_str(buf, names->text.data + names->offs[path[at]]);
        }
        hs_buf_printf(buf, " %.0f\n", value);
    }
    free(path);
    return buf->err;
}

int hs_folded_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    enum hs_view view, struct hs_buf *buf)
{
    struct hs_selection selection;
    struct hs_agg agg = { 0 };
    struct names names = { 0 };
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    const char *reason;
    err = hs_view_choose(&selection, view, &view, &reason);
    if (err == 0) {
        err = hs_agg_build(&selection, false, &agg);
    }
    if (err == 0) {
        err = build_names(&agg, &names);
    }
    if (err == 0) {
        err = write_stacks(&agg, &names, view, buf);
    }
    hs_buf_deinit(&names.text);
    free(names.offs);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    return err;
}
