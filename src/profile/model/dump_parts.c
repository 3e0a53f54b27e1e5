/*
 * See dump_parts.h.
 */
#include "profile/model/dump_parts.h"

#include <stdlib.h>

static int compare_parts(const void *left, const void *right)
{
    const struct hs_profile_part *a = left, *b = right;
    return hs_sample_order(a->node, a->heap, b->node, b->heap);
}

void hs_dump_parts_sort(struct hs_profile_part *parts, size_t count)
{
    qsort(parts, count, sizeof(parts[0]), compare_parts);
}

struct hs_part_range hs_dump_parts_of(const struct hs_profile *p,
                                      const struct hs_profile_dump *dump, enum hs_part_view view,
                                      const struct hs_profile_sample *sample)
{
    uint64_t low = dump->has_parts ? dump->part_first[view] : 0;
    uint64_t high = dump->has_parts ? low + dump->parts_n[view] : 0, end = high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct hs_profile_part *part = &p->parts[middle];
        if (hs_sample_order(part->node, part->heap, sample->node, sample->heap) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (high = low; high < end && p->parts[high].node == sample->node &&
                     p->parts[high].heap == sample->heap;) {
        high++;
    }
    return (struct hs_part_range){ low, high };
}

void hs_dump_parts_move(struct hs_profile *p, const struct hs_profile_dump *dump,
                        const uint32_t *nodes)
{
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        uint32_t first = dump->part_first[view];
        for (uint32_t i = first; i < first + dump->parts_n[view]; i++) {
            p->parts[i].node = nodes[i];
        }
        if (dump->parts_n[view] > 0) {
            hs_dump_parts_sort(&p->parts[first], dump->parts_n[view]);
        }
    }
}

void hs_dump_forget_others(struct hs_profile_dump *dump)
{
    dump->has_blocks = dump->has_lifetimes = false;
    dump->births_n = 0;
    dump->birth_window_ms = 0;
}
