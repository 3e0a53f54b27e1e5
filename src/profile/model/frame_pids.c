/*
 * See frame_pids.h. A sample names a whole stack, so that the process of its node also ran the
 * node's parents, which come earlier in the array.
 */
#include "profile/model/frame_pids.h"

#include <errno.h>
#include <stdlib.h>

int hs_profile_frame_pids(const struct hs_profile *p, uint32_t **ret_pids)
{
    uint32_t *of_frame = calloc((size_t)p->frame_count + 1, sizeof(*of_frame));
    uint32_t *of_node = calloc((size_t)p->node_count + 1, sizeof(*of_node));
    if (!of_frame || !of_node) {
        free(of_frame);
        free(of_node);
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < p->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[d];
        for (uint64_t i = 0; i < (uint64_t)dump->samples_n + dump->aside_n; i++) {
            uint32_t node = p->samples[dump->sample_first + i].node;
            if (of_node[node] == 0) {
                of_node[node] = p->processes[dump->process].pid;
            }
        }
    }
    for (uint32_t node = p->node_count; node-- > 0;) {
        uint32_t parent = p->nodes[node].parent;
        if (parent != HS_NODE_NONE && of_node[parent] == 0) {
            of_node[parent] = of_node[node];
        }
        if (of_frame[p->nodes[node].frame] == 0) {
            of_frame[p->nodes[node].frame] = of_node[node];
        }
    }
    free(of_node);
    *ret_pids = of_frame;
    return 0;
}
