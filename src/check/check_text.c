/*
 * Writes verdicts for readers of a log. See check_view.h.
 *
 *     FAILED  test.pftrace: leak: 10.3 KiB, limit 0 B
 *               9.77 KiB in 10 blocks
 *                   cache  leaker.c:7
 *                   main  leaker.c:14
 */
#include <math.h>
#include <string.h>

#include "check/check_view.h"
#include "profile/analyse/heap_sums.h"
#include "profile/model/describe.h"
#include "profile/model/frame_class.h"
#include "util/utf8.h"
#include "view/format_interval.h"

#define FRAMES_MAX   24U
#define STACK_INDENT 10U
#define FRAME_INDENT 4U

static void write_frame(const struct hs_check *check, const struct hs_agg_node *node,
                        struct hs_buf *buf)
{
    const struct hs_profile *p = check->lines.profile;
    const struct hs_agg_function *function = &check->lines.functions[node->function];
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(&check->lines, node->function, &name);
    hs_utf8_write(buf, hs_buf_text(&name), name.bytes);
    hs_buf_deinit(&name);
    const char *file =
        node->line < p->line_count ? hs_profile_string(p, p->lines[node->line].file) : "";
    const char *module = hs_describe_module(p, function->module);
    if (file[0] != '\0') {
        hs_buf_str(buf, "  ");
        hs_utf8_write(buf, file, strlen(file));
        hs_buf_printf(buf, ":%u", p->lines[node->line].line);
    } else if (function->name != 0 && module[0] != '\0') {
        hs_buf_str(buf, "  ");
        hs_utf8_write(buf, module, strlen(module));
    }
    hs_buf_char(buf, '\n');
}

/* Writes the frames of a stack, the innermost first, without those that run before main. */
static void write_frames(const struct hs_check *check, uint32_t leaf, size_t indent,
                         struct hs_buf *buf)
{
    const struct hs_agg *agg = &check->lines;
    unsigned written = 0, hidden = 0;
    for (uint32_t n = leaf; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        bool is_start =
            agg->functions[agg->nodes[n].function].class_ == HS_FRAME_CLASS_START && n != leaf;
        if (is_start) {
            continue;
        }
        if (written == FRAMES_MAX) {
            hidden++;
            continue;
        }
        hs_buf_repeat(buf, ' ', indent);
        write_frame(check, &agg->nodes[n], buf);
        written++;
    }
    if (hidden > 0) {
        hs_buf_repeat(buf, ' ', indent);
        hs_buf_printf(buf, "… %u more\n", hidden);
    }
}

void hs_check_write_stacks(const struct hs_check *check, const struct hs_check_row *row,
                           size_t indent, struct hs_buf *buf)
{
    char bytes[HS_FORMAT_INTERVAL_BYTES], count[HS_FORMAT_INTERVAL_BYTES];
    for (uint32_t i = 0; i < row->stack_count; i++) {
        const struct hs_amount *live = &row->stacks[i].live;
        struct hs_figure size = hs_figure_of(live, false);
        hs_buf_repeat(buf, ' ', indent);
        hs_buf_printf(buf, "%s in %s block%s\n", hs_format_interval(bytes, false, &size),
                      hs_format_value(count, true, live->count), rint(live->count) == 1 ? "" : "s");
        write_frames(check, row->stacks[i].node, indent + FRAME_INDENT, buf);
    }
    if (row->more_count > 0) {
        hs_buf_repeat(buf, ' ', indent);
        hs_buf_printf(buf, "and %u more stack%s\n", row->more_count,
                      row->more_count == 1 ? "" : "s");
    }
}

void hs_check_write_text(const struct hs_check *check, struct hs_buf *buf)
{
    for (size_t i = 0; i < check->row_count && check->is_readable; i++) {
        const struct hs_check_row *row = &check->rows[i];
        hs_buf_printf(buf, "%-7s ", row->is_kept ? "passed" : "FAILED");
        hs_utf8_write(buf, check->path, strlen(check->path));
        hs_buf_str(buf, ": ");
        hs_utf8_write(buf, row->text, strlen(row->text));
        hs_buf_char(buf, '\n');
        hs_check_write_stacks(check, row, STACK_INDENT, buf);
    }
    const struct hs_selection *s = &check->selection;
    if (check->is_readable && check->row_count > 0 && s->is_sampled && !s->is_lossy) {
        hs_buf_str(buf, "note    ");
        hs_utf8_write(buf, check->path, strlen(check->path));
        hs_buf_str(buf, ": " HS_MARGINS_LEGEND "\n");
    }
    struct hs_buf heaps = HS_BUF_INIT;
    if (check->is_readable && hs_heap_sums_describe(&check->selection, &heaps) > 1) {
        hs_buf_str(buf, "note    ");
        hs_utf8_write(buf, check->path, strlen(check->path));
        hs_buf_printf(buf, ": %s\n", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
}

static bool is_used(const struct hs_suppression *suppression)
{
    return suppression->count > 0 || suppression->bytes > 0;
}

void hs_check_write_suppressions(const struct hs_suppressions *suppressions, struct hs_buf *buf)
{
    bool has_used = false;
    for (size_t i = 0; i < suppressions->count; i++) {
        has_used |= is_used(&suppressions->items[i]);
    }
    if (has_used) {
        hs_buf_str(buf, "Suppressions used:\n  count      bytes template\n");
    }
    for (size_t i = 0; i < suppressions->count; i++) {
        const struct hs_suppression *s = &suppressions->items[i];
        if (is_used(s)) {
            hs_buf_printf(buf, "%7.0f %10.0f ", s->count, s->bytes);
            hs_utf8_write(buf, s->pattern, strlen(s->pattern));
            hs_buf_char(buf, '\n');
        }
    }
    for (size_t i = 0; i < suppressions->count; i++) {
        const struct hs_suppression *s = &suppressions->items[i];
        if (!is_used(s)) {
            hs_buf_str(buf, "Suppression not used: ");
            hs_utf8_write(buf, s->path, strlen(s->path));
            hs_buf_printf(buf, ":%u: ", s->line);
            hs_utf8_write(buf, s->pattern, strlen(s->pattern));
            hs_buf_char(buf, '\n');
        }
    }
    if (suppressions->ignored_count > 0) {
        bool is_one = suppressions->ignored_count == 1;
        hs_buf_printf(buf, "%u suppression%s of other sanitizers ha%s no effect here\n",
                      suppressions->ignored_count, is_one ? "" : "s", is_one ? "s" : "ve");
    }
}
