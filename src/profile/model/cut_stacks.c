/*
 * See cut_stacks.h.
 */
#include "profile/model/cut_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder_state.h"
#include "profile/model/loss.h"

static bool is_cut_frame(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    return frame->kind == HS_FRAME_KIND_MARKER &&
           strcmp(hs_profile_string(p, frame->name), HS_CUT_STACK_NAME) == 0;
}

/*
 * For each node, whether its stack contains the marker. NULL: no stack does, or memory is short;
 * *ret_err says which.
 */
static bool *find_cut_nodes(const struct hs_profile *p, int *ret_err)
{
    bool has_any = false;
    for (uint32_t i = 0; i < p->frame_count && !has_any; i++) {
        has_any = is_cut_frame(p, &p->frames[i]);
    }
    bool *is_cut = has_any ? calloc(p->node_count + 1u, sizeof(*is_cut)) : NULL;
    *ret_err = has_any && !is_cut ? -ENOMEM : 0;
    for (uint32_t i = 0; is_cut && i < p->node_count; i++) {
        const struct hs_profile_node *node = &p->nodes[i]; /* its parent has a smaller index */
        is_cut[i] = is_cut_frame(p, &p->frames[node->frame]) ||
                    (node->parent != HS_NODE_NONE && is_cut[node->parent]);
    }
    return is_cut;
}

int hs_profile_count_cut_stacks(struct hs_builder *builder)
{
    struct hs_profile *p = builder->p;
    int err;
    bool *is_cut = find_cut_nodes(p, &err);
    for (uint32_t i = 0; is_cut && i < p->process_count; i++) {
        uint64_t stack_count = 0;
        double bytes = 0, allocs = 0;
        const struct hs_profile_dump *dump =
            p->processes[i].last_dump < p->dump_count ? &p->dumps[p->processes[i].last_dump] : NULL;
        for (uint32_t k = 0; dump && k < dump->samples_n; k++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + k];
            if (is_cut[sample->node]) {
                stack_count++;
                bytes += sample->alloc.bytes;
                allocs += sample->alloc.count;
            }
        }
        hs_loss_add_weighed(builder, i, hs_loss_of_cut_stacks(), HS_LOSS_UNIT_STACKS, stack_count,
                            bytes, allocs);
    }
    free(is_cut);
    return err;
}
