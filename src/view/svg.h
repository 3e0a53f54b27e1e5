/*
 * A flame graph: one SVG file for any browser, with zoom and search inside.
 *
 * The outermost functions are at the top, their callees below, and the width is memory. A page that
 * opens therefore shows where everything begins, and a deep graph grows downwards. A box has the
 * colour of its module, which the legend names; libraries of the language are grey. The file
 * contains style, script and text, and loads nothing. Without scripts, in an image viewer, the
 * picture and its tooltips remain.
 *
 * Ensures   well-formed XML for any names. Boxes that are too thin to see are merged, and there are
 *           fewer than HS_SVG_BOXES_MAX boxes.
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when there is nothing to draw.
 * See       flame.js, flame.css
 */
#pragma once

#include "profile/analyse/aggregate.h"

struct hs_buf;

#define HS_SVG_BOXES_MAX 20000

/* Draws the selected dumps. Returns 0, -errno or HS_SELECT_E_*. */
int hs_svg_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                 enum hs_view view, struct hs_buf *buf);
