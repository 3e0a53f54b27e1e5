/*
 * A flame graph: one SVG file that any browser opens, with zoom and search inside.
 *
 * Outermost functions on top, callees below them, width is memory: so a page that opens shows where it
 * all begins, and a deep graph grows downwards. A box's colour is its module, which the legend names;
 * greys are the language's own libraries. Everything is in the file (style, script, text) and nothing
 * is loaded from elsewhere. Without a script, as in an image viewer, the picture and its tooltips stay.
 *
 * Holds     well-formed XML whatever the names are. Boxes too thin to see are drawn as one, and the
 *           whole stays below HS_SVG_BOXES_MAX boxes.
 * Threads   none.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when there is nothing to draw from.
 * See       flame.js, flame.css
 */
#pragma once

#include "profile/aggregate.h"

struct hs_buf;

#define HS_SVG_BOXES_MAX 20000

int hs_svg_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                 enum hs_view view, struct hs_buf *buf);
