/*
 * See massif_tree.h.
 */
#include "view/massif_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/text.h"
#include "util/buf.h"
#include "util/utf8.h"

#define DEPTH_MAX       30
#define SHARE_MIN       0.01
#define SHARE_MIN_TEXT  "1.00%"
#define LINE_NONE       UINT32_MAX
#define GROUP_NAME_NONE "???"

/* A position in a stack that moves outwards. */
struct walker {
    uint32_t node; /* HS_NODE_NONE: behind the outermost call */
    uint32_t line; /* index in the frame's lines; 0 is the innermost */
    double bytes;
};

/* Stacks that have the same call at their positions. */
struct group {
    size_t first, count; /* range in the walkers */
    double bytes;
};

struct writer {
    const struct hs_profile *profile;
    uint32_t process; /* the process whose addresses are shown */
    struct hs_buf *buf;
    double bytes_min;
    int err;
};

static const struct hs_profile_frame *frame_of(const struct writer *w, const struct walker *walker)
{
    return &w->profile->frames[w->profile->nodes[walker->node].frame];
}

static int compare_calls(const void *a, const void *b, void *ctx)
{
    const struct walker *x = a, *y = b;
    const struct hs_profile *p = ctx;
    /* Stacks that have ended come last. */
    if (x->node == HS_NODE_NONE || y->node == HS_NODE_NONE) {
        return (x->node == HS_NODE_NONE) - (y->node == HS_NODE_NONE);
    }
    uint32_t x_frame = p->nodes[x->node].frame, y_frame = p->nodes[y->node].frame;
    if (x_frame != y_frame) {
        return x_frame < y_frame ? -1 : 1;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Moves to the caller. */
static void step_out(const struct writer *w, struct walker *walker)
{
    if (walker->line + 1 < frame_of(w, walker)->line_count) {
        walker->line++;
    } else {
        walker->node = w->profile->nodes[walker->node].parent;
        walker->line = 0;
    }
}

void hs_massif_write_clean(struct hs_buf *buf, const char *text)
{
    for (const char *at = text; *at;) {
        size_t bytes = strcspn(at, "\n\r");
        hs_utf8_write(buf, at, bytes);
        at += bytes;
        if (*at) {
            hs_buf_char(buf, ' ');
            at++;
        }
    }
}

/* Writes "0x401136: parse (parse.c:12)". */
static void write_call(const struct writer *w, const struct walker *walker)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_frame *frame = frame_of(w, walker);
    const struct hs_profile_module *module =
        frame->module < p->module_count ? &p->modules[frame->module] : NULL;
    const struct hs_profile_line *line =
        frame->line_count > 0 ? &p->lines[frame->line_first + walker->line] : NULL;
    const char *name = hs_profile_string(p, line ? line->function : frame->name);
    hs_buf_printf(w->buf, "0x%" PRIX64 ": ",
                  frame->rel_pc + (module ? hs_profile_bias_of(p, w->process, frame->module) : 0));
    hs_massif_write_clean(w->buf, name[0] ? name : GROUP_NAME_NONE);
    if (line && line->file != 0) {
        hs_buf_str(w->buf, " (");
        hs_massif_write_clean(w->buf, hs_text_base_name(hs_profile_string(p, line->file)));
        hs_buf_printf(w->buf, ":%u)\n", line->line);
    } else if (module && hs_profile_string(p, module->path)[0]) {
        hs_buf_str(w->buf, " (in ");
        hs_massif_write_clean(w->buf, hs_profile_string(p, module->path));
        hs_buf_str(w->buf, ")\n");
    } else {
        hs_buf_char(w->buf, '\n');
    }
}

/*
 * The groups that the walkers form, the largest first; how many of them are shown; the sum of the
 * others.
 */
struct split {
    struct group *groups;
    size_t shown_count, rest_count;
    double rest_bytes;
};

static void split_up(struct writer *w, struct walker *walkers, size_t count,
                     struct split *ret_split)
{
    struct split split = { .groups = calloc(count + 1, sizeof(*split.groups)) };
    size_t group_count = 0;
    if (!split.groups) {
        w->err = -ENOMEM;
        *ret_split = split;
        return;
    }
    qsort_r(walkers, count, sizeof(*walkers), compare_calls, (void *)(uintptr_t)w->profile);
    for (size_t i = 0; i < count && walkers[i].node != HS_NODE_NONE; i++) {
        if (i == 0 ||
            compare_calls(&walkers[i - 1], &walkers[i], (void *)(uintptr_t)w->profile) != 0) {
            split.groups[group_count++] = (struct group){ .first = i };
        }
        split.groups[group_count - 1].count++;
        split.groups[group_count - 1].bytes += walkers[i].bytes;
    }
    qsort(split.groups, group_count, sizeof(*split.groups), compare_groups);
    while (split.shown_count < group_count &&
           split.groups[split.shown_count].bytes >= w->bytes_min) {
        split.shown_count++;
    }
    for (size_t i = split.shown_count; i < group_count; i++) {
        split.rest_count++;
        split.rest_bytes += split.groups[i].bytes;
    }
    *ret_split = split;
}

static void write_rest(const struct writer *w, const struct split *split, unsigned depth)
{
    if (split->rest_count > 0) {
        hs_buf_repeat(w->buf, ' ', depth);
        hs_buf_printf(w->buf, "n0: %.0f in %zu place%s, %sbelow massif's threshold (%s)\n",
                      split->rest_bytes, split->rest_count, split->rest_count == 1 ? "" : "s",
                      split->rest_count == 1 ? "" : "all ", SHARE_MIN_TEXT);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX */
static void write_callers(struct writer *w, struct walker *walkers, const struct split *split,
                          unsigned depth)
{
    for (size_t i = 0; i < split->shown_count && w->err == 0; i++) {
        const struct group *group = &split->groups[i];
        struct walker *own = walkers + group->first;
        const struct walker call = own[0];
        struct split callers = { 0 };
        if (depth < DEPTH_MAX) {
            for (size_t k = 0; k < group->count; k++) {
                step_out(w, &own[k]);
            }
            split_up(w, own, group->count, &callers);
        }
        hs_buf_repeat(w->buf, ' ', depth);
        hs_buf_printf(w->buf, "n%zu: %.0f ", callers.shown_count + (callers.rest_count > 0),
                      group->bytes);
        write_call(w, &call);
        write_callers(w, own, &callers, depth + 1);
        write_rest(w, &callers, depth + 1);
        free(callers.groups);
    }
}

static const struct hs_amount *amount_of(const struct hs_profile_sample *sample,
                                         enum hs_quantity quantity)
{
    return quantity == HS_QUANTITY_LIVE    ? &sample->live
           : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                           : &sample->peak;
}

static struct walker *collect(const struct hs_selection *selection, enum hs_quantity quantity,
                              size_t *ret_count, double *ret_bytes)
{
    const struct hs_profile *p = selection->profile;
    size_t capacity = 1;
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        capacity += p->dumps[selection->dumps[d]].samples_n;
    }
    struct walker *walkers = calloc(capacity, sizeof(*walkers));
    size_t count = 0;
    *ret_bytes = 0;
    for (uint32_t d = 0; walkers && d < selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
            double bytes = amount_of(sample, quantity)->bytes;
            if (bytes > 0 && isfinite(bytes)) {
                walkers[count++] = (struct walker){ .node = sample->node, .bytes = bytes };
                *ret_bytes += bytes;
            }
        }
    }
    *ret_count = count;
    return walkers;
}

int hs_massif_tree_write(const struct hs_selection *selection, enum hs_quantity quantity,
                         struct hs_buf *buf)
{
    const struct hs_profile *p = selection->profile;
    struct writer w = {
        .profile = p,
        .process = selection->dump_count > 0 ? p->dumps[selection->dumps[0]].process : 0,
        .buf = buf,
    };
    size_t count;
    double bytes;
    struct walker *walkers = collect(selection, quantity, &count, &bytes);
    if (!walkers) {
        return -ENOMEM;
    }
    w.bytes_min = bytes * SHARE_MIN;
    struct split split;
    split_up(&w, walkers, count, &split);
    hs_buf_printf(buf,
                  "n%zu: %.0f (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n",
                  split.shown_count + (split.rest_count > 0), bytes);
    write_callers(&w, walkers, &split, 1);
    write_rest(&w, &split, 1);
    free(split.groups);
    free(walkers);
    return w.err ? w.err : buf->err;
}
