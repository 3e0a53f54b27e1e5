/*
 * See stack_filters.h. Stacks that change get nodes of their own, which are appended: the nodes of
 * the profile stay, and no sample refers to them any more.
 */
#include "profile/analyse/stack_filters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "profile/model/append.h"
#include "profile/model/builder_state.h"
#include "profile/model/describe.h"
#include "profile/model/dump_parts.h"
#include "rt/check.h"
#include "util/array.h"
#include "util/buf.h"

/* A frame of which only some functions are shown: computed once. */
struct kept_frame {
    bool is_known;
    bool has_start; /* a `from` pattern matches one of its functions */
    /* the frame with the functions that are not hidden, and with those of them from the start on;
     * HS_NODE_NONE: none is left */
    uint32_t whole, started;
};

struct filtering {
    struct hs_profile *p;
    const struct hs_stack_filters *filters;
    struct hs_append append;
    size_t line_capacity;
    struct kept_frame *frames; /* by frame of the profile */
    uint32_t *nodes;           /* by node: the node that is shown; HS_NODE_NONE: none yet */
    bool *is_started, *is_kept;
    uint32_t *part_nodes; /* by index in p->parts */
};

/* What filters say of one function. */
struct verdict {
    bool is_hidden, is_start;
};

static struct verdict judge(struct filtering *f, const struct hs_profile_frame *frame,
                            uint32_t line)
{
    const struct hs_profile *p = f->p;
    struct hs_buf text = HS_BUF_INIT;
    const char *name = frame->line_count > 0
                           ? hs_profile_string(p, p->lines[frame->line_first + line].function)
                           : hs_profile_string(p, frame->name);
    if (name[0] == '\0') {
        hs_buf_printf(&text, "%s+0x%" PRIx64, hs_describe_module(p, frame->module), frame->rel_pc);
        f->append.err = f->append.err ? f->append.err : text.err;
        name = hs_buf_text(&text);
    }
    struct verdict verdict = { .is_hidden = hs_focus_match(&f->filters->hide, name) != 0 };
    verdict.is_start = !verdict.is_hidden && hs_focus_match(&f->filters->from, name) != 0;
    hs_buf_deinit(&text);
    return verdict;
}

static uint32_t add_frame(struct filtering *f, const struct hs_profile_frame *frame)
{
    struct hs_profile *p = f->p;
    int err = f->append.err ? f->append.err
              : p->frame_count >= UINT32_MAX - 1
                  ? -EOVERFLOW
                  : hs_array_reserve(&p->frames, &f->append.frame_capacity, p->frame_count + 1u,
                                     sizeof(p->frames[0]));
    f->append.err = err;
    if (err != 0) {
        return HS_NODE_NONE;
    }
    p->frames[p->frame_count] = *frame;
    return p->frame_count++;
}

/* The frame with those of its first `count` functions, from the innermost on, that are not hidden:
 * the same if all are left, HS_NODE_NONE if none is. */
static uint32_t frame_with(struct filtering *f, uint32_t idx, const struct verdict *verdicts,
                           uint32_t count)
{
    struct hs_profile *p = f->p;
    struct hs_profile_frame frame = p->frames[idx];
    uint32_t first = p->line_count, kept = 0, all = frame.line_count > 0 ? frame.line_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        kept += !verdicts[i].is_hidden;
    }
    if (kept == 0 || kept == all) {
        return kept == 0 ? HS_NODE_NONE : idx;
    }
    int err = f->append.err ? f->append.err
                            : hs_array_reserve(&p->lines, &f->line_capacity, (size_t)first + kept,
                                               sizeof(p->lines[0]));
    f->append.err = err;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        if (!verdicts[i].is_hidden) {
            p->lines[p->line_count++] = p->lines[frame.line_first + i];
        }
    }
    frame.line_first = first;
    frame.line_count = kept;
    return add_frame(f, &frame);
}

static const struct kept_frame *kept_frame_of(struct filtering *f, uint32_t idx)
{
    struct kept_frame *kept = &f->frames[idx];
    if (kept->is_known) {
        return kept;
    }
    const struct hs_profile_frame frame = f->p->frames[idx];
    uint32_t count = frame.line_count > 0 ? frame.line_count : 1, start = 0;
    struct verdict *verdicts = calloc(count, sizeof(*verdicts));
    f->append.err = verdicts ? f->append.err : -ENOMEM;
    *kept = (struct kept_frame){ true, false, HS_NODE_NONE, HS_NODE_NONE };
    for (uint32_t i = 0; i < count && verdicts; i++) {
        verdicts[i] = judge(f, &frame, i);
        start = verdicts[i].is_start ? i + 1 : start; /* the outermost one is the last */
    }
    if (verdicts) {
        kept->has_start = start > 0;
        kept->whole = frame_with(f, idx, verdicts, count);
        kept->started = start > 0 ? frame_with(f, idx, verdicts, start) : HS_NODE_NONE;
    }
    free(verdicts);
    return kept;
}

/* Finds what is shown of each node. */
static void filter_nodes(struct filtering *f, uint32_t node_count)
{
    for (uint32_t i = 0; i < node_count && f->append.err == 0; i++) {
        const struct hs_profile_node node = f->p->nodes[i];
        bool is_root = node.parent == HS_NODE_NONE;
        bool was_started = is_root ? f->filters->from.count == 0 : f->is_started[node.parent];
        uint32_t above = is_root ? HS_NODE_NONE : f->nodes[node.parent];
        const struct kept_frame *kept = kept_frame_of(f, node.frame);
        uint32_t frame = was_started ? kept->whole : kept->started;
        f->is_started[i] = was_started || kept->has_start;
        f->nodes[i] = frame == HS_NODE_NONE ? above : hs_append_node(&f->append, above, frame);
        f->is_kept[i] = f->is_started[i] && f->nodes[i] != HS_NODE_NONE;
    }
}

static void filter_dump(struct filtering *f, struct hs_profile_dump *dump)
{
    struct hs_profile *p = f->p;
    hs_dump_forget_others(dump);
    hs_focus_keep(p, dump, f->is_kept);
    if (dump->samples_n + dump->aside_n == 0) {
        return;
    }
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    for (uint32_t i = 0; i < dump->samples_n + dump->aside_n; i++) {
        samples[i].node = f->nodes[samples[i].node];
    }
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        uint32_t first = dump->part_first[view];
        for (uint32_t i = first; i < first + dump->parts_n[view]; i++) {
            f->part_nodes[i] = f->nodes[p->parts[i].node];
        }
    }
    uint32_t kept = (uint32_t)hs_builder_tidy_samples(p, samples, dump->samples_n);
    struct hs_profile_sample *aside = samples + dump->samples_n;
    uint32_t kept_aside = (uint32_t)hs_builder_tidy_samples(p, aside, dump->aside_n);
    for (uint32_t i = 0; i < kept_aside; i++) {
        samples[kept + i] = aside[i];
    }
    dump->samples_n = kept;
    dump->aside_n = kept_aside;
    if (dump->has_parts) {
        hs_dump_parts_move(p, dump, f->part_nodes);
    }
}

static int apply(struct hs_profile *p, const struct hs_stack_filters *filters)
{
    uint32_t node_count = p->node_count;
    struct filtering f = {
        .p = p,
        .filters = filters,
        .line_capacity = p->line_count,
        .frames = calloc(p->frame_count + 1u, sizeof(*f.frames)),
        .nodes = calloc(node_count + 1u, sizeof(*f.nodes)),
        .is_started = calloc(node_count + 1u, sizeof(bool)),
        .is_kept = calloc(node_count + 1u, sizeof(bool)),
        .part_nodes = calloc(p->part_count + 1, sizeof(*f.part_nodes)),
    };
    hs_append_init(&f.append, p);
    bool has_all = f.frames && f.nodes && f.is_started && f.is_kept && f.part_nodes;
    f.append.err = has_all ? 0 : -ENOMEM;
    filter_nodes(&f, node_count);
    for (uint32_t i = 0; i < p->dump_count && f.append.err == 0; i++) {
        filter_dump(&f, &p->dumps[i]);
    }
    hs_append_deinit(&f.append);
    free(f.frames);
    free(f.nodes);
    free(f.is_started);
    free(f.is_kept);
    free(f.part_nodes);
    return f.append.err;
}

void hs_stack_filters_deinit(struct hs_stack_filters *filters)
{
    hs_focus_deinit(&filters->focus);
    hs_focus_deinit(&filters->from);
    hs_focus_deinit(&filters->hide);
}

int hs_stack_filters_apply(struct hs_profile *profile, const struct hs_stack_filters *filters)
{
    int err = filters->focus.count > 0 ? hs_focus_apply(profile, &filters->focus) : 0;
    if (err == 0 && filters->from.count + filters->hide.count > 0) {
        err = apply(profile, filters);
    }
    if (err == 0) {
        HS_ASSERT_SLOW(hs_profile_is_valid(profile));
    }
    return err;
}
