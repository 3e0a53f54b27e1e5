/*
 * The data of the page: profiles as JSON documents, and the HTML file that contains them.
 *
 * The page shows what the user asks for while looking, so that it needs every row, not a report. A
 * hundred thousand stacks must stay a few megabytes and quick to read. The data are therefore
 * tables of columns that refer to each other by index; stacks are nodes of one tree that all
 * snapshots share; and the rows of each snapshot are a document of their own, which the page reads
 * when it shows them.
 *
 *     struct hs_page *page;
 *     int err = hs_page_new(files, 1, &page);
 *     err = err ? err : hs_page_write_html(page, hs_page_template, buf);
 *     hs_page_free(page);
 *
 * Documents are written as a stream, in any order, and any number of times.
 *
 * Requires  the profiles and options outlive the page, and the profiles do not change.
 * Threads   any number of writers of documents, once it is built.
 * Fails     -ENOMEM, -EOVERFLOW, or as the buffer does; hs_page_new() also HS_SELECT_E_*.
 * See       docs/PAGE.md, which defines the format; docs/adr/0052-columns-and-documents.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "view/report.h"

struct hs_buf;
struct hs_page;

/* Room for the name of a document. */
#define HS_PAGE_DOCUMENT_BYTES 32

struct hs_page_file {
    const struct hs_profile *profile;
    /* which snapshots are shown first, the view, the file's name, and the filters that were applied
     */
    const struct hs_report_options *options;
};

/* Builds the tables. */
int hs_page_new(const struct hs_page_file *files, uint32_t file_count, struct hs_page **ret_page);
/* Accepts NULL. Returns NULL. */
struct hs_page *hs_page_free(struct hs_page *page);

/* The number of documents; the first one is "profile". */
uint32_t hs_page_document_count(const struct hs_page *page);
/* Writes the name of a document. Returns `name`. */
char *hs_page_document_name(const struct hs_page *page, uint32_t document,
                            char name[HS_PAGE_DOCUMENT_BYTES]);
/* Writes a document. */
int hs_page_write_document(const struct hs_page *page, uint32_t document, struct hs_buf *buf);

/*
 * Writes the template with the documents in it. -EINVAL: the template has no place for them.
 */
int hs_page_write_html(const struct hs_page *page, const char *template, struct hs_buf *buf);

/* The template that was built in; "" if there is none. */
extern const char hs_page_template[];
