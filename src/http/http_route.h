/*
 * The table of what a server answers: a method, a path, and what is sent. There is nothing else:
 * no path of a request becomes the name of a file.
 *
 *     HS_HTTP_BYTES    bytes in memory: a page
 *     HS_HTTP_FILE     an open file
 *     HS_HTTP_JOB      a function in a process of its own, whose standard output is the answer,
 *                      sent when it is complete
 *     HS_HTTP_STREAM   the same, sent while it comes, until the function returns or the browser
 *                      closes the connection
 *
 * A function of a route runs in a forked process (http_job.h). It may take long, read hostile files
 * and print messages; the server goes on meanwhile, and a crash of it is one failed request. It is
 * ended when the browser closes the connection, unless it acts (HS_HTTP_POST).
 *
 * Threads   constant data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/http_request.h"

#define HS_HTTP_TYPE_BYTES  64
#define HS_HTTP_NAME_BYTES  128
#define HS_HTTP_NOTE_BYTES  4400
#define HS_HTTP_ERROR_BYTES 1024

#define HS_HTTP_TYPE_JSON   "application/json"
#define HS_HTTP_TYPE_HTML   "text/html; charset=utf-8"

enum hs_http_kind {
    HS_HTTP_BYTES,
    HS_HTTP_FILE,
    HS_HTTP_JOB,
    HS_HTTP_STREAM,
};

/* What the function of a route says about its answer, besides the body. */
struct hs_http_answer {
    unsigned status;                        /* of HTTP; 200 when the function is called */
    bool is_gzip;                           /* the body is compressed */
    char content_type[HS_HTTP_TYPE_BYTES];  /* that of the route when the function is called */
    char download_name[HS_HTTP_NAME_BYTES]; /* the browser saves it under this name; "": it shows
                                             * it */
    char note[HS_HTTP_NOTE_BYTES];          /* for the server's owner: struct hs_http_owner */
    char error[HS_HTTP_ERROR_BYTES]; /* why, with a status of 400 and above; "": the messages that
                                      * it printed */
};

/* Writes the body to standard output. */
typedef void hs_http_run_fn(void *ctx, const struct hs_http_request *request,
                            struct hs_http_answer *answer);

struct hs_http_route {
    enum hs_http_method method;
    const char *path;
    enum hs_http_kind kind;
    const char *content_type;
    const void *data; /* HS_HTTP_BYTES; belongs to the owner of the table */
    size_t bytes;
    int fd;       /* HS_HTTP_FILE; belongs to the owner of the table */
    bool is_once; /* HS_HTTP_FILE: refused while it is sent, and after it was sent once */
    hs_http_run_fn *run;
};

/* A part of a file that answers a request. */
struct hs_http_slice {
    int fd; /* the server closes it */
    uint64_t off, bytes;
    bool is_gzip;
    const char *content_type;
    char download_name[HS_HTTP_NAME_BYTES]; /* as in struct hs_http_answer */
};

struct hs_http_routes {
    const struct hs_http_route *items;
    size_t count;
};

/* The route of a request; NULL: none. *ret_is_method: another method would have one. */
const struct hs_http_route *hs_http_route_find(const struct hs_http_routes *routes,
                                               const struct hs_http_request *request,
                                               bool *ret_is_method);
