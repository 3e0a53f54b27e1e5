/*
 * Puts the documents into the template: see page.h.
 *
 * Each document goes through gzip and base64 as it is written, so that no name in it can end the
 * element that it is in, and so that nothing has to be kept.
 */
#include <errno.h>
#include <string.h>

#include "page/page.h"
#include "page/page_base64.h"
#include "page/page_parts.h"
#include "util/buf.h"
#include "util/xml.h"
#include "view/gzip.h"

#define PLACE "<!--heapscope-data-->"
#define TITLE "<title>heapscope</title>"

static int write_compressed(const struct hs_page *page, uint32_t document, struct hs_buf *out)
{
    struct hs_page_base64 base64 = { .out = out };
    struct hs_buf packed, text;
    hs_buf_init(&packed, hs_page_base64_sink, &base64);
    struct hs_gzip *gzip = hs_gzip_new(&packed);
    if (!gzip) {
        return -ENOMEM;
    }
    hs_buf_init(&text, hs_gzip_sink, gzip);
    int err = hs_page_write_document(page, document, &text);
    err = err ? err : hs_buf_finish(&text);
    err = err ? err : hs_gzip_finish(gzip);
    err = err ? err : hs_buf_finish(&packed);
    err = err ? err : hs_page_base64_finish(&base64);
    hs_gzip_free(gzip);
    hs_buf_deinit(&text);
    hs_buf_deinit(&packed);
    return err;
}

static int write_documents(const struct hs_page *page, struct hs_buf *buf)
{
    char name[HS_PAGE_DOCUMENT_BYTES];
    int err = 0;
    for (uint32_t i = 0; i < page->document_count && err == 0; i++) {
        hs_buf_printf(buf, "%s<script type=\"application/octet-stream\" id=\"heapscope-%s\">",
                      i > 0 ? "\n" : "", hs_page_document_name(page, i, name));
        err = write_compressed(page, i, buf);
        hs_buf_str(buf, "</script>");
    }
    return err;
}

/* Writes the template up to `end`, with the title of the page. */
static void write_before(const struct hs_page *page, const char *template, const char *end,
                         struct hs_buf *buf)
{
    const char *title = strstr(template, TITLE);
    if (title && title < end) {
        const char *text = hs_page_names_get(&page->names, page->title);
        hs_buf_add(buf, template, (size_t)(title - template));
        hs_buf_str(buf, "<title>");
        hs_xml_write(buf, text, strlen(text));
        hs_buf_str(buf, " - heapscope</title>");
        template = title + strlen(TITLE);
    }
    hs_buf_add(buf, template, (size_t)(end - template));
}

int hs_page_write_html(const struct hs_page *page, const char *template, struct hs_buf *buf)
{
    const char *place = strstr(template, PLACE);
    if (!place) {
        return -EINVAL;
    }
    write_before(page, template, place, buf);
    int err = write_documents(page, buf);
    hs_buf_str(buf, place + strlen(PLACE));
    return err ? err : buf->err;
}
