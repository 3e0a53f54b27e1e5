/*
 * The documents of the page, for one file or several: see docs/PAGE.md and ui_stored.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/read/profile_file.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "page/page.h"
#include "util/buf.h"
#include "util/write_all.h"
#include "view/gzip.h"

#define TOP_COUNT   10
#define FRAME_COUNT 12

/* The profiles of a page. The process ends when it has answered, so nothing is freed. */
struct loaded {
    struct hs_page_file files[HS_UI_PAGE_FILES_MAX];
    struct hs_report_options options[HS_UI_PAGE_FILES_MAX];
    struct hs_heap_patterns heaps;
    struct hs_page *page;
};

static int write_out(void *ctx, const void *data, size_t bytes)
{
    uint64_t *off = ctx;
    *off += bytes;
    return hs_write_all(STDOUT_FILENO, data, bytes);
}

static int load(const struct hs_ui *ui, const struct hs_ui_files_key *key, struct loaded *loaded)
{
    for (uint32_t i = 0; i < key->count; i++) {
        const char *path = ui->files[key->idx[i]].path;
        struct hs_report_options *options = &loaded->options[i];
        struct hs_profile *profile = NULL;
        enum hs_view view;
        const char *reason;
        *options = (struct hs_report_options){ .form = HS_REPORT_JSON,
                                               .view = HS_VIEW_AUTO,
                                               .top_count = TOP_COUNT,
                                               .stack_count = TOP_COUNT,
                                               .frame_count = FRAME_COUNT,
                                               .select = { .snapshot = HS_SELECT_LAST,
                                                           .heaps = &loaded->heaps },
                                               .file = path };
        int status = hs_profile_file_load_view(path, &options->select, options->view, &profile,
                                               &view, &reason);
        if (status != HS_EXIT_STATUS_DONE) {
            return status;
        }
        loaded->files[i] = (struct hs_page_file){ profile, options };
    }
    int err = hs_page_new(loaded->files, key->count, &loaded->page);
    if (err != 0) {
        fprintf(stderr, "%s\n", err < 0 ? strerror(-err) : "the file has no snapshot");
    }
    return err ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_DONE;
}

/* Compressed documents one behind the other, then their list. */
static int write_all_documents(const struct hs_page *page)
{
    uint32_t count = hs_page_document_count(page);
    struct hs_ui_document *documents = calloc(count + 1, sizeof(documents[0]));
    struct hs_buf out, plain;
    uint64_t off = 0;
    int err = documents ? 0 : -ENOMEM;
    for (uint32_t i = 0; err == 0 && i < count; i++) {
        documents[i].off = off;
        hs_page_document_name(page, i, documents[i].name);
        hs_buf_init(&out, write_out, &off);
        struct hs_gzip *gzip = hs_gzip_new(&out);
        hs_buf_init(&plain, hs_gzip_sink, gzip);
        err = gzip ? hs_page_write_document(page, i, &plain) : -ENOMEM;
        err = err ? err : hs_buf_finish(&plain);
        err = err ? err : hs_gzip_finish(gzip);
        err = err ? err : hs_buf_finish(&out);
        hs_gzip_free(gzip);
        hs_buf_deinit(&plain);
        hs_buf_deinit(&out);
        documents[i].bytes = off - documents[i].off;
    }
    err = err ? err : hs_ui_stored_write_list(documents, count);
    free(documents);
    return err;
}

static bool find_document(const struct hs_page *page, const char *name, uint32_t *ret_document)
{
    char own[HS_PAGE_DOCUMENT_BYTES];
    for (uint32_t i = 0; i < hs_page_document_count(page); i++) {
        if (strcmp(hs_page_document_name(page, i, own), name) == 0) {
            *ret_document = i;
            return true;
        }
    }
    return false;
}

static int write_one(const struct hs_page *page, uint32_t document)
{
    struct hs_buf out;
    uint64_t off = 0;
    hs_buf_init(&out, write_out, &off);
    int err = hs_page_write_document(page, document, &out);
    return err ? err : hs_buf_finish(&out);
}

void hs_ui_get_profile(void *ctx, const struct hs_http_request *request,
                       struct hs_http_answer *answer)
{
    _Static_assert(HS_UI_DOCUMENT_BYTES == HS_PAGE_DOCUMENT_BYTES, "one kind of name");
    static struct loaded loaded;
    const struct hs_ui *ui = ctx;
    const char *name = hs_http_request_argument(request, "document");
    struct hs_ui_files_key key;
    uint32_t document = 0;
    if (!hs_ui_files_key(ui, request, &key)) {
        hs_ui_fail(answer, 404, "there is no such file");
        return;
    }
    if (load(ui, &key, &loaded) != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(HS_EXIT_STATUS_FAILED, answer);
        return;
    }
    if (!name || !find_document(loaded.page, name, &document)) {
        hs_ui_fail(answer, 404, "there is no such document");
        return;
    }
    int err = hs_http_request_takes_gzip(request) ? write_all_documents(loaded.page)
                                                  : write_one(loaded.page, document);
    if (err != 0) {
        hs_ui_fail(answer, 500, strerror(-err));
    }
}
