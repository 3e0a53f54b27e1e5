/*
 * One request of a browser, as the checks and the handlers see it.
 *
 * The library reads HTTP; this file reads what the library leaves as text: the target of the
 * request line, which is a path and arguments. The path is not decoded. The paths of the routes
 * consist of plain characters, so a path that is written in another way belongs to no route, and
 * nothing here turns a path into the name of a file.
 *
 * Ensures   every text of a request is terminated, and belongs to the request or to the library
 *           for as long as the request lasts.
 * Threads   pure functions.
 * Fails     -EINVAL: not a target; -E2BIG: too many arguments.
 * See       http_checks.h, http_route.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_HTTP_TARGET_BYTES_MAX 4096U /* with its NUL */
#define HS_HTTP_ARGUMENTS_MAX    64U

enum hs_http_method {
    HS_HTTP_GET,
    HS_HTTP_POST,
    HS_HTTP_OPTIONS, /* a browser asks whether another site may send a request */
    HS_HTTP_OTHER,
};

/* The headers that count. */
enum hs_http_header {
    HS_HTTP_HOST,
    HS_HTTP_ORIGIN,
    HS_HTTP_FETCH_SITE, /* Sec-Fetch-Site */
    HS_HTTP_COOKIE,
    HS_HTTP_TOKEN, /* X-Heapscope-Token: for programs that keep no cookies */
    HS_HTTP_CONTENT_TYPE,
    HS_HTTP_ACCEPT_ENCODING,
    HS_HTTP_ERRORS, /* X-Heapscope-Errors: see hs_http_send_failure() */
    HS_HTTP_HEADER_N,
};

struct hs_http_argument {
    const char *name, *value; /* decoded */
};

struct hs_http_request {
    enum hs_http_method method;
    char target[HS_HTTP_TARGET_BYTES_MAX]; /* path and arguments; rewritten by parsing */
    const char *path;                      /* into `target`, as are the arguments */
    struct hs_http_argument arguments[HS_HTTP_ARGUMENTS_MAX];
    size_t argument_count;
    const char *headers[HS_HTTP_HEADER_N]; /* NULL: not sent */
    bool is_ambiguous;                     /* one of these headers was sent more than once */
    const char *body;                      /* terminated; "" without one */
    size_t body_bytes;
};

/* The name of a header, as it is sent. */
extern const char *const hs_http_header_names[HS_HTTP_HEADER_N];

/* Reads a method's name. */
enum hs_http_method hs_http_method_of(const char *name);

/* Reads the target "/path?name=value&name" into the request. */
int hs_http_request_take_target(struct hs_http_request *request, const char *target);

/* Takes a header, if it is one that counts. */
void hs_http_request_take_header(struct hs_http_request *request, const char *name,
                                 const char *value);

/* The value of an argument; NULL: there is none of this name. Of several the first one counts. */
const char *hs_http_request_argument(const struct hs_http_request *request, const char *name);

/* An argument that is a decimal number up to `max`. False: there is none, or it is no such
 * number. */
bool hs_http_request_number(const struct hs_http_request *request, const char *name, uint64_t max,
                            uint64_t *ret_number);

/* True: the browser takes answers that are compressed with gzip. */
bool hs_http_request_takes_gzip(const struct hs_http_request *request);
