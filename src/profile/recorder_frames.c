/*
 * See recorder_frames.h.
 */
#include "profile/recorder_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/builder_state.h"
#include "profile/frame_class.h"

/* With functions inlined into it, a frame is the recorder's if all of them are. */
static bool is_recorder(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    const char *path =
        frame->module < p->module_count ? hs_profile_string(p, p->modules[frame->module].path) : "";
    if (frame->kind == HS_FRAME_KIND_MARKER) {
        return false;
    }
    if (frame->line_count == 0) {
        return hs_frame_is_recorder(hs_profile_string(p, frame->name), path);
    }
    for (uint32_t i = 0; i < frame->line_count; i++) {
        const struct hs_profile_line *line = &p->lines[frame->line_first + i];
        if (!hs_frame_is_recorder(hs_profile_string(p, line->function), path)) {
            return false;
        }
    }
    return true;
}

/* For each node the stack that it stands for: the nearest one outwards that does not end in the recorder. */
static void find_targets(const struct hs_profile *p, const bool *is_own, uint32_t *targets)
{
    for (uint32_t i = 0; i < p->node_count; i++) {
        const struct hs_profile_node *node = &p->nodes[i];
        if (!is_own[node->frame]) {
            targets[i] = i;
        } else {
            targets[i] = node->parent == HS_NODE_NONE ? HS_NODE_NONE : targets[node->parent];
        }
    }
}

static void move_samples(struct hs_profile *p, struct hs_profile_dump *dump,
                         const uint32_t *targets)
{
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        uint32_t target = targets[samples[i].node];
        samples[i].node = target == HS_NODE_NONE ? samples[i].node : target;
    }
    dump->samples_n = (uint32_t)hs_builder_tidy_samples(p, samples, dump->samples_n);
}

int hs_profile_leave_out_recorder(struct hs_profile *profile)
{
    bool has_any = false;
    bool *is_own = calloc(profile->frame_count + 1u, sizeof(*is_own));
    uint32_t *targets = calloc(profile->node_count + 1u, sizeof(*targets));
    int err = is_own && targets ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        is_own[i] = is_recorder(profile, &profile->frames[i]);
        has_any |= is_own[i];
    }
    if (err == 0 && has_any) {
        find_targets(profile, is_own, targets);
        for (uint32_t i = 0; i < profile->dump_count; i++) {
            move_samples(profile, &profile->dumps[i], targets);
        }
    }
    free(targets);
    free(is_own);
    return err;
}
