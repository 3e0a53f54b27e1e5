/*
 * Reads what the library leaves as text: see http_request.h.
 */
#include "http/http_request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"

const char *const hs_http_header_names[HS_HTTP_HEADER_N] = {
    [HS_HTTP_HOST] = "Host",
    [HS_HTTP_ORIGIN] = "Origin",
    [HS_HTTP_FETCH_SITE] = "Sec-Fetch-Site",
    [HS_HTTP_COOKIE] = "Cookie",
    [HS_HTTP_TOKEN] = "X-Heapscope-Token",
    [HS_HTTP_CONTENT_TYPE] = "Content-Type",
    [HS_HTTP_ACCEPT_ENCODING] = "Accept-Encoding",
    [HS_HTTP_ERRORS] = "X-Heapscope-Errors",
};

enum hs_http_method hs_http_method_of(const char *name)
{
    static const char *const names[HS_HTTP_OTHER] = {
        [HS_HTTP_GET] = "GET",
        [HS_HTTP_POST] = "POST",
        [HS_HTTP_OPTIONS] = "OPTIONS",
    };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum hs_http_method)i;
        }
    }
    return HS_HTTP_OTHER;
}

/* --- the target ------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Decodes %XX and '+' in place. A NUL would end a text early, so it is refused. */
static int decode(char *text)
{
    char *out = text;
    for (const char *at = text; *at; at++) {
        char c = *at == '+' ? ' ' : *at;
        if (*at == '%') {
            int high = digit_of(at[1]);
            int low = high >= 0 ? digit_of(at[2]) : -1;
            if (low < 0 || high * 16 + low == 0) {
                return -EINVAL;
            }
            c = (char)(high * 16 + low);
            at += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    return 0;
}

static int add_argument(struct hs_http_request *request, char *text)
{
    if (request->argument_count == HS_HTTP_ARGUMENTS_MAX) {
        return -E2BIG;
    }
    char *equals = strchr(text, '=');
    char *value = equals ? equals + 1 : text + strlen(text);
    if (equals) {
        *equals = '\0';
    }
    int r = decode(text);
    r = r ? r : decode(value);
    if (r == 0) {
        request->arguments[request->argument_count++] =
            (struct hs_http_argument){ .name = text, .value = value };
    }
    return r;
}

int hs_http_request_take_target(struct hs_http_request *request, const char *target)
{
    size_t bytes = strlen(target);
    int r = 0;
    request->path = "";
    request->argument_count = 0;
    if (target[0] != '/' || bytes >= sizeof(request->target)) {
        return -EINVAL;
    }
    memcpy(request->target, target, bytes + 1);
    request->path = request->target;
    char *at = strchr(request->target, '?');
    if (at) {
        *at++ = '\0';
    }
    while (at && *at && r == 0) {
        char *end = strchr(at, '&');
        if (end) {
            *end++ = '\0';
        }
        if (*at) {
            r = add_argument(request, at);
        }
        at = end;
    }
    return r;
}

/* --- headers and arguments -------------------------------------------------------------------- */

void hs_http_request_take_header(struct hs_http_request *request, const char *name,
                                 const char *value)
{
    for (size_t i = 0; i < HS_HTTP_HEADER_N; i++) {
        if (strcasecmp(name, hs_http_header_names[i]) == 0) {
            request->is_ambiguous |= request->headers[i] != NULL;
            request->headers[i] = value ? value : "";
        }
    }
}

const char *hs_http_request_argument(const struct hs_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->argument_count; i++) {
        if (strcmp(request->arguments[i].name, name) == 0) {
            return request->arguments[i].value;
        }
    }
    return NULL;
}

bool hs_http_request_number(const struct hs_http_request *request, const char *name, uint64_t max,
                            uint64_t *ret_number)
{
    const char *text = hs_http_request_argument(request, name);
    uint64_t number = 0;
    if (!text || !*text) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number)) {
            return false;
        }
    }
    if (number > max) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* The word is "gzip", perhaps with a weight, which must not be 0. */
static bool is_gzip(const char *word, size_t bytes)
{
    size_t name_bytes = strcspn(word, " ;,");
    if (name_bytes > bytes || name_bytes != 4 || strncasecmp(word, "gzip", 4) != 0) {
        return false;
    }
    const char *end = word + bytes;
    const char *weight = memchr(word, '=', bytes);
    if (!weight) {
        return true;
    }
    for (weight++; weight < end && (*weight == '0' || *weight == '.' || *weight == ' ');) {
        weight++;
    }
    return weight < end;
}

bool hs_http_request_takes_gzip(const struct hs_http_request *request)
{
    const char *word = request->headers[HS_HTTP_ACCEPT_ENCODING];
    while (word && *word) {
        word += strspn(word, " ,");
        size_t bytes = strcspn(word, ",");
        if (is_gzip(word, bytes)) {
            return true;
        }
        word += bytes;
    }
    return false;
}
