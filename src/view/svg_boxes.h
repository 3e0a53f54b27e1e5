/*
 * The boxes of a flame graph and their positions, in the unit of the view.
 *
 * Siblings below a least value are merged into one box without children. The least value is raised
 * until the number of boxes fits. A picture of a profile with a million stacks is therefore as fast
 * as a small one, and leaves out only what would be too small to see.
 *
 * Holds     a box comes before its children and is followed by everything below it. Box 0 is the
 *           root. A child lies within its parent.
 * Threads   no state.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "rt/check.h"

#define HS_SVG_DEPTH_MAX 1000
#define HS_BOX_ROOT      UINT32_MAX
#define HS_BOX_MERGED    (UINT32_MAX - 1)

struct hs_box {
    uint32_t node; /* in the tree; or HS_BOX_ROOT or HS_BOX_MERGED */
    uint32_t depth;
    uint32_t merged_count; /* number of functions in a merged box */
    double start, width;   /* the width is the value, or less where negative values are beside it */
    double self;
    struct hs_figure figure; /* the value with its variance */
};

struct hs_boxes {
    struct hs_box *boxes;
    uint32_t count;
    uint32_t depth_max;
    double least; /* boxes that were not merged have at least this value */
};

/* Makes the boxes. `total` is the width of the root, at least the sum of the tree. */
int hs_boxes_build(const struct hs_agg *agg, enum hs_view view, const struct hs_amount *total,
                   uint32_t count_max, struct hs_boxes *ret_boxes);
/* Frees the boxes. */
void hs_boxes_deinit(struct hs_boxes *boxes);

#if HS_HAS_CHECKS
/* For tests: whether what the top of this file says under Holds is true of all boxes. */
bool hs_boxes_is_valid(const struct hs_boxes *boxes);
#endif
