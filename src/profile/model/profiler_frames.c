/*
 * See profiler_frames.h.
 */
#include "profile/model/profiler_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/model/builder_state.h"
#include "profile/model/dump_parts.h"
#include "profile/model/frame_class.h"

enum origin {
    ORIGIN_OTHER,
    ORIGIN_RECORDER,
    /* code without a name of an allocator that can record: its malloc, or its recorder */
    ORIGIN_NAMELESS,
};

/*
 * Finds the origin of a frame. A frame with inlined functions belongs to the recorder if all of
 * them do.
 */
static enum origin origin_of(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    const char *path =
        frame->module < p->module_count ? hs_profile_string(p, p->modules[frame->module].path) : "";
    if (frame->kind == HS_FRAME_KIND_MARKER) {
        return ORIGIN_OTHER;
    }
    if (frame->line_count == 0) {
        const char *name = hs_profile_string(p, frame->name);
        return hs_frame_is_recorder(name, path)                              ? ORIGIN_RECORDER
               : name[0] == '\0' && hs_frame_is_of_recording_allocator(path) ? ORIGIN_NAMELESS
                                                                             : ORIGIN_OTHER;
    }
    for (uint32_t i = 0; i < frame->line_count; i++) {
        const struct hs_profile_line *line = &p->lines[frame->line_first + i];
        if (!hs_frame_is_recorder(hs_profile_string(p, line->function), path)) {
            return ORIGIN_OTHER;
        }
    }
    return ORIGIN_RECORDER;
}

/*
 * Of an allocator's frames without a name, the outermost is kept: it is the function that the
 * program called.
 */
static bool is_left_out(const struct hs_profile *p, const struct hs_profile_node *node,
                        const enum origin *origins)
{
    if (origins[node->frame] != ORIGIN_NAMELESS || node->parent == HS_NODE_NONE) {
        return origins[node->frame] == ORIGIN_RECORDER;
    }
    return p->frames[p->nodes[node->parent].frame].module == p->frames[node->frame].module;
}

/*
 * For each node, finds the stack that replaces it: the nearest outer node that does not end in the
 * recorder.
 */
static void find_targets(const struct hs_profile *p, const enum origin *origins, uint32_t *targets)
{
    for (uint32_t i = 0; i < p->node_count; i++) {
        const struct hs_profile_node *node = &p->nodes[i];
        if (!is_left_out(p, node, origins)) {
            targets[i] = i;
        } else {
            targets[i] = node->parent == HS_NODE_NONE ? HS_NODE_NONE : targets[node->parent];
        }
    }
}

static uint32_t target_of(const uint32_t *targets, uint32_t node)
{
    return targets[node] == HS_NODE_NONE ? node : targets[node];
}

static void move_births(struct hs_profile *p, struct hs_profile_dump *dump, const uint32_t *targets)
{
    if (dump->births_n == 0) {
        return;
    }
    struct hs_profile_birth *births = p->births + dump->birth_first;
    for (uint32_t i = 0; i < dump->births_n; i++) {
        births[i].node = target_of(targets, births[i].node);
    }
    hs_builder_sort_births(births, dump->births_n);
}

static void move_lifetimes(struct hs_profile *p, struct hs_profile_dump *dump,
                           const uint32_t *targets)
{
    size_t count = dump->has_lifetimes ? dump->lifetimes_n : 0;
    if (count == 0) {
        return;
    }
    struct hs_profile_lifetime *lifetimes = p->lifetimes + dump->lifetime_first;
    for (size_t i = 0; i < count; i++) {
        lifetimes[i].node = target_of(targets, lifetimes[i].node);
    }
    hs_builder_sort_lifetimes(lifetimes, count);
}

/* Parts and blocks have the nodes of their samples. */
static void move_parts(struct hs_profile *p, struct hs_profile_dump *dump, const uint32_t *targets)
{
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        if (dump->parts_n[view] == 0) {
            continue;
        }
        struct hs_profile_part *parts = p->parts + dump->part_first[view];
        for (uint32_t i = 0; i < dump->parts_n[view]; i++) {
            parts[i].node = target_of(targets, parts[i].node);
        }
        hs_dump_parts_sort(parts, dump->parts_n[view]);
    }
    if (dump->has_blocks && dump->blocks_n > 0) {
        struct hs_profile_block *blocks = p->blocks + dump->block_first;
        for (uint64_t i = 0; i < dump->blocks_n; i++) {
            blocks[i].node = target_of(targets, blocks[i].node);
        }
        hs_builder_sort_blocks(blocks, dump->blocks_n);
    }
}

static void move_samples(struct hs_profile *p, struct hs_profile_dump *dump,
                         const uint32_t *targets)
{
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        samples[i].node = target_of(targets, samples[i].node);
    }
    dump->samples_n = (uint32_t)hs_builder_tidy_samples(p, samples, dump->samples_n);
}

int hs_profile_leave_out_profiler(struct hs_profile *profile)
{
    bool has_any = false;
    enum origin *origins = calloc(profile->frame_count + 1u, sizeof(*origins));
    uint32_t *targets = calloc(profile->node_count + 1u, sizeof(*targets));
    int err = origins && targets ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        origins[i] = origin_of(profile, &profile->frames[i]);
        has_any |= origins[i] != ORIGIN_OTHER;
    }
    if (err == 0 && has_any) {
        find_targets(profile, origins, targets);
        for (uint32_t i = 0; i < profile->dump_count; i++) {
            move_samples(profile, &profile->dumps[i], targets);
            move_parts(profile, &profile->dumps[i], targets);
            move_births(profile, &profile->dumps[i], targets);
            move_lifetimes(profile, &profile->dumps[i], targets);
        }
    }
    free(targets);
    free(origins);
    return err;
}
