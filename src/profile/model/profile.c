/*
 * Frees a profile, and looks up where a module was mapped. See profile.h.
 */
#include "profile/model/profile.h"

#include <stdlib.h>

#include "rt/check.h"

void hs_profile_free(struct hs_profile *profile)
{
    if (!profile) {
        return;
    }
    for (uint32_t i = 0; i < profile->string_count; i++) {
        free(profile->strings[i]);
    }
    free(profile->strings);
    free(profile->modules);
    free(profile->lines);
    free(profile->frames);
    free(profile->nodes);
    free(profile->heaps);
    free(profile->dump_heaps);
    free(profile->ledgers);
    free(profile->ledger_lines);
    free(profile->mapped_stacks);
    free(profile->pins);
    free(profile->processes);
    free(profile->dumps);
    free(profile->samples);
    free(profile->parts);
    free(profile->births);
    free(profile->lifetimes);
    free(profile->blocks);
    free(profile->scopes);
    free(profile->threads);
    free(profile->losses);
    free(profile->loss_times);
    free(profile->cut_modules);
    free(profile->nameless);
    free(profile->changes);
    free(profile->asked_heaps);
    free(profile->places);
    free(profile->tracks);
    free(profile->counters);
    free(profile);
}

uint64_t hs_profile_bias_of(const struct hs_profile *p, uint32_t process, uint32_t module)
{
    uint64_t key = (uint64_t)process << 32 | module;
    uint32_t low = 0, high = p->place_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct hs_profile_place *place = &p->places[middle];
        if (((uint64_t)place->process << 32 | place->module) < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_known = low < p->place_count && p->places[low].process == process &&
                    p->places[low].module == module;
    return is_known ? p->places[low].bias_va : p->modules[module].bias_va;
}

#if HS_HAS_CHECKS

static bool are_nodes_valid(const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->node_count; i++) {
        const struct hs_profile_node *node = &p->nodes[i];
        bool is_root = node->parent == HS_NODE_NONE;
        if ((!is_root && node->parent >= i) || node->frame >= p->frame_count ||
            node->depth != (is_root ? 0 : p->nodes[node->parent].depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool are_ordered(const struct hs_profile *p, const struct hs_profile_sample *samples,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_profile_sample *sample = &samples[i];
        if (sample->node >= p->node_count || sample->heap >= p->heap_count ||
            (i > 0 && sample[-1].node > sample->node)) {
            return false;
        }
        for (uint32_t k = 1; k <= i && (sample - k)->node == sample->node; k++) {
            if ((sample - k)->heap == sample->heap) {
                return false;
            }
        }
    }
    return true;
}

static bool are_samples_valid(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    uint64_t count = (uint64_t)dump->samples_n + dump->aside_n;
    if (count == 0) {
        return true;
    }
    return dump->sample_first <= p->sample_count && count <= p->sample_count - dump->sample_first &&
           are_ordered(p, &p->samples[dump->sample_first], dump->samples_n) &&
           are_ordered(p, &p->samples[dump->sample_first] + dump->samples_n, dump->aside_n);
}

static bool are_heaps_valid(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    if (dump->heap_first > p->dump_heap_count ||
        dump->heaps_n > p->dump_heap_count - dump->heap_first) {
        return false;
    }
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        if (heap->heap >= p->heap_count || (i > 0 && heap[-1].heap >= heap->heap) ||
            (heap->parent != HS_PROFILE_NO_HEAP && heap->parent >= p->heap_count)) {
            return false;
        }
    }
    return true;
}

static bool are_blocks_valid(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    if (!dump->has_blocks) {
        return true;
    }
    if (dump->block_first > p->block_count || dump->blocks_n > p->block_count - dump->block_first) {
        return false;
    }
    for (uint64_t i = 0; i < dump->blocks_n; i++) {
        const struct hs_profile_block *block = &p->blocks[dump->block_first + i];
        if (block->node >= p->node_count || block->heap >= p->heap_count ||
            block->type >= p->string_count || (i > 0 && block[-1].node > block->node)) {
            return false;
        }
    }
    return true;
}

bool hs_profile_is_valid(const struct hs_profile *p)
{
    if (p->string_count == 0 || p->strings[0][0] != '\0' || !are_nodes_valid(p)) {
        return false;
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        if (p->dumps[i].process >= p->process_count || !are_samples_valid(p, &p->dumps[i]) ||
            !are_heaps_valid(p, &p->dumps[i]) || !are_blocks_valid(p, &p->dumps[i])) {
            return false;
        }
    }
    return true;
}

#endif
