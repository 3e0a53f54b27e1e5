/*
 * The common parts of all flame graphs: measures, style, script, head.
 *
 *     hs_svg_page_begin()   xml, title, style, page
 *     boxes: <g data-v="start width depth"><title>, <rect>, <text></g>, parents first
 *     hs_svg_page_head()    ends the boxes; title and details
 *     the legend
 *     hs_svg_page_end()     buttons, script
 *
 * Threads   no state.
 * Fails     as the buffer does.
 * See       flame.js, flame.css
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_buf;

#define HS_SVG_WIDTH        1200
#define HS_SVG_SIDE         12
#define HS_SVG_HEAD_HEIGHT  92
#define HS_SVG_ROW_HEIGHT   18
#define HS_SVG_BOX_HEIGHT   17
#define HS_SVG_FOOT_HEIGHT  12
#define HS_SVG_GAP          0.6
#define HS_SVG_CHAR_WIDTH   6.65 /* of the 11 px monospace font */
#define HS_SVG_BOX_TEXT_MIN 24.0

/* Starts the page. `depth_max` is the depth of the deepest box, which sets the height. */
void hs_svg_page_begin(struct hs_buf *buf, uint32_t depth_max, const char *title);
/* Ends the boxes and writes the head. */
void hs_svg_page_head(struct hs_buf *buf, const char *title, const char *details);
/* Writes buttons and script, and ends the page. */
void hs_svg_page_end(struct hs_buf *buf);
