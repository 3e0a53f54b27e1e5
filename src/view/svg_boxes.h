/*
 * The boxes of a flame graph: which there are and where, in the unit of the view.
 *
 * Siblings below a least value are merged into one box that has no children; the least value is
 * raised until the number of boxes fits. So a picture of a profile with a million stacks is as quick as
 * a small one, and what it leaves out is what nobody could see.
 *
 * Holds     boxes come parents first, each followed by all that lies below it. Box 0 is everything.
 *           A child lies within its parent.
 * Threads   none.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdint.h>

#include "profile/aggregate.h"

#define HS_SVG_DEPTH_MAX 1000
#define HS_BOX_ROOT      UINT32_MAX
#define HS_BOX_MERGED    (UINT32_MAX - 1)

struct hs_box {
    uint32_t node; /* of the tree, HS_BOX_ROOT or HS_BOX_MERGED */
    uint32_t depth;
    uint32_t merged_count; /* functions in a merged box */
    double start, self;
    struct hs_figure figure; /* of the value */
};

struct hs_boxes {
    struct hs_box *boxes;
    uint32_t count;
    uint32_t depth_max;
    double least; /* what was not merged is at least this much */
};

/* `total` is the width of the root, at least the sum of the tree. */
int hs_boxes_build(const struct hs_agg *agg, enum hs_view view, const struct hs_amount *total,
                   uint32_t count_max, struct hs_boxes *ret_boxes);
void hs_boxes_deinit(struct hs_boxes *boxes);
