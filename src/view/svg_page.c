/*
 * See svg_page.h. The head is written after the boxes, so that it lies above them when they are scrolled
 * under it.
 */
#include "view/svg_page.h"

#include <string.h>

#include "util/buf.h"
#include "util/xml.h"

/* Made by tools/embed-text. */
extern const char hs_flame_css[];
extern const char hs_flame_js[];

void hs_svg_page_begin(struct hs_buf *buf, uint32_t depth_max, const char *title)
{
    uint32_t height = HS_SVG_HEAD_HEIGHT + (depth_max + 1) * HS_SVG_ROW_HEIGHT + HS_SVG_FOOT_HEIGHT;
    hs_buf_printf(buf,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                  "viewBox=\"0 0 %u %u\" data-side=\"%u\" data-char=\"%.2f\">\n<title>",
                  HS_SVG_WIDTH, height, HS_SVG_WIDTH, height, HS_SVG_SIDE, HS_SVG_CHAR_WIDTH);
    hs_xml_write(buf, title, strlen(title));
    hs_buf_str(buf, "</title>\n<style><![CDATA[\n");
    hs_buf_str(buf, hs_flame_css);
    hs_buf_printf(buf,
                  "]]></style>\n<rect id=\"page\" width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n",
                  HS_SVG_WIDTH, height);
    hs_buf_str(buf, "<g id=\"boxes\">\n");
}

void hs_svg_page_head(struct hs_buf *buf, const char *title, const char *details)
{
    hs_buf_printf(
        buf,
        "</g>\n<g id=\"head\">\n<rect id=\"headback\" width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n"
        "<text id=\"title\" x=\"%u\" y=\"25\">",
        HS_SVG_WIDTH, HS_SVG_HEAD_HEIGHT - 4, HS_SVG_SIDE);
    hs_xml_write(buf, title, strlen(title));
    hs_buf_printf(buf, "</text>\n<text id=\"details\" x=\"%u\" y=\"51\">", HS_SVG_SIDE);
    hs_xml_write(buf, details, strlen(details));
    hs_buf_str(buf, "</text>\n");
}

void hs_svg_page_end(struct hs_buf *buf)
{
    /* Shown by the script, which gives them their work. */
    hs_buf_printf(buf,
                  "<text id=\"reset\" class=\"button hidden\" x=\"%u\" y=\"78\" "
                  "text-anchor=\"end\">Show everything again (Esc)</text>\n",
                  HS_SVG_WIDTH - HS_SVG_SIDE);
    hs_buf_printf(buf,
                  "<text id=\"found\" x=\"%u\" y=\"26\" text-anchor=\"end\"></text>\n"
                  "<foreignObject id=\"searchbox\" class=\"hidden\" x=\"%u\" y=\"9\" width=\"240\" "
                  "height=\"26\"><input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" "
                  "type=\"search\" placeholder=\"Search functions (Ctrl+F)\" spellcheck=\"false\"/>"
                  "</foreignObject>\n</g>\n",
                  HS_SVG_WIDTH - HS_SVG_SIDE - 250, HS_SVG_WIDTH - HS_SVG_SIDE - 240);
    hs_buf_str(buf, "<script><![CDATA[\n");
    hs_buf_str(buf, hs_flame_js);
    hs_buf_str(buf, "]]></script>\n</svg>\n");
}
