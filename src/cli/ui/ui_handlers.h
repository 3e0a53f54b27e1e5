/*
 * The handlers of `ui`'s routes. Each runs in a process of its own, and writes its answer to
 * standard output; `ctx` is the struct hs_ui, as it was when the request came.
 *
 * Threads   main thread of such a process.
 * See       docs/UI.md, which lists the routes
 */
#pragma once

#include "cli/ui/ui_state.h"

/* ui_files.c */
void hs_ui_get_files(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer);
/* ui_page.c: documents of docs/PAGE.md */
void hs_ui_get_profile(void *ctx, const struct hs_http_request *request,
                       struct hs_http_answer *answer);
/* ui_download.c */
void hs_ui_get_download(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer);
/* ui_processes.c */
void hs_ui_get_processes(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer);
/* ui_sessions.c */
void hs_ui_get_sessions(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer);
void hs_ui_get_config(void *ctx, const struct hs_http_request *request,
                      struct hs_http_answer *answer);
void hs_ui_post_start(void *ctx, const struct hs_http_request *request,
                      struct hs_http_answer *answer);
/* ui_actions.c */
void hs_ui_post_stop(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer);
void hs_ui_post_snapshot(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer);
/* ui_internals.c */
void hs_ui_get_internals(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer);

/* ui_watch.c: a stream */
void hs_ui_get_watch(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer);

/* --- in the server ---------------------------------------------------------------------------- */

/* ui_stored.c: keeps what a job wrote; finds the document of a request in it. */
void hs_ui_store(struct hs_ui *ui, const struct hs_http_request *request, int fd);
bool hs_ui_stored_find(struct hs_ui *ui, const struct hs_http_request *request,
                       struct hs_http_slice *ret_slice);
/* Which files the argument "file" names ("0", "0,3"), as they are now. False: none, or a file is
 * not there. */
bool hs_ui_files_key(const struct hs_ui *ui, const struct hs_http_request *request,
                     struct hs_ui_files_key *ret_key);
/* Writes what a job leaves for hs_ui_store(): the list of documents, behind their bytes. */
int hs_ui_stored_write_list(const struct hs_ui_document *documents, size_t count);

/* ui_download.c: the file itself. */
bool hs_ui_download_find(const struct hs_ui *ui, const struct hs_http_request *request,
                         struct hs_http_slice *ret_slice);
