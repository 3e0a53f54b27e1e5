/*
 * Judges requests: see http_checks.h.
 */
#include "http/http_checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "rt/base.h"

static const char foreign_page[] =
    "This page cannot be opened from another site. Copy the address that heapscope printed into "
    "the browser's address bar.";

const char *const hs_http_verdict_words[HS_HTTP_VERDICT_N] = {
    [HS_HTTP_AMBIGUOUS] = "A header was sent twice.",
    [HS_HTTP_BAD_HOST] = "The header Host does not name this server.",
    [HS_HTTP_BAD_ORIGIN] = "Another site may not send requests to this server.",
    [HS_HTTP_BAD_SITE] = foreign_page,
    [HS_HTTP_NO_TOKEN] = "The token is missing or wrong. Open the address that heapscope printed.",
    [HS_HTTP_BAD_TYPE] = "The body must be application/json.",
};

/* --- secrets ---------------------------------------------------------------------------------- */

int hs_http_secret_make(char ret_secret[HS_HTTP_SECRET_BYTES])
{
    uint8_t bytes[(HS_HTTP_SECRET_BYTES - 1) / 2];
    size_t got = 0;
    while (got < sizeof(bytes)) {
        ssize_t n = getrandom(bytes + got, sizeof(bytes) - got, 0);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(ret_secret + 2 * i, 3, "%02x", bytes[i]);
    }
    return 0;
}

bool hs_http_secret_is(const char *secret, const char *text, size_t text_bytes)
{
    volatile unsigned char difference = text_bytes == HS_HTTP_SECRET_BYTES - 1 ? 0 : 1;
    for (size_t i = 0; i < HS_HTTP_SECRET_BYTES - 1; i++) {
        unsigned char other = i < text_bytes ? (unsigned char)text[i] : 0;
        difference = (unsigned char)(difference | ((unsigned char)secret[i] ^ other));
    }
    return difference == 0;
}

int hs_http_policy_init(uint16_t port, bool needs_token, const char *foreign_origin,
                        struct hs_http_policy *ret_policy)
{
    *ret_policy = (struct hs_http_policy){ .port = port,
                                           .needs_token = needs_token,
                                           .foreign_origin = foreign_origin };
    snprintf(ret_policy->cookie_name, sizeof(ret_policy->cookie_name), "heapscope-%u", port);
    int r = hs_http_secret_make(ret_policy->token);
    return r ? r : hs_http_secret_make(ret_policy->cookie);
}

/* --- one header each -------------------------------------------------------------------------- */

static const char *const own_names[] = { "127.0.0.1", "localhost", "[::1]" };

static bool is_own_host(const struct hs_http_policy *policy, const char *host)
{
    for (size_t i = 0; host && i < HS_COUNT_OF(own_names); i++) {
        char own[32];
        snprintf(own, sizeof(own), "%s:%u", own_names[i], policy->port);
        if (strcasecmp(host, own) == 0) {
            return true;
        }
    }
    return false;
}

/* Is this the origin that belongs to the Host of the same request? */
static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return host && strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
           strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}

static bool is_foreign_origin(const struct hs_http_policy *policy, const char *origin)
{
    return policy->foreign_origin && origin && strcmp(origin, policy->foreign_origin) == 0;
}

static bool is_site_ok(const struct hs_http_policy *policy, const struct hs_http_request *request)
{
    const char *site = request->headers[HS_HTTP_FETCH_SITE];
    return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ||
           is_foreign_origin(policy, request->headers[HS_HTTP_ORIGIN]);
}

static bool has_cookie(const struct hs_http_policy *policy, const char *cookies)
{
    size_t name_bytes = strlen(policy->cookie_name);
    while (cookies && *cookies) {
        cookies += strspn(cookies, " ;");
        size_t bytes = strcspn(cookies, ";");
        if (bytes > name_bytes && strncmp(cookies, policy->cookie_name, name_bytes) == 0 &&
            cookies[name_bytes] == '=' &&
            hs_http_secret_is(policy->cookie, cookies + name_bytes + 1, bytes - name_bytes - 1)) {
            return true;
        }
        cookies += bytes;
    }
    return false;
}

static enum hs_http_verdict check_token(const struct hs_http_policy *policy,
                                        const struct hs_http_request *request)
{
    const char *header = request->headers[HS_HTTP_TOKEN];
    const char *argument = hs_http_request_argument(request, "token");
    if (!policy->needs_token) {
        return HS_HTTP_ALLOWED;
    }
    if (argument && request->method == HS_HTTP_GET &&
        hs_http_secret_is(policy->token, argument, strlen(argument))) {
        return HS_HTTP_ALLOWED_BY_ADDRESS;
    }
    if (header && hs_http_secret_is(policy->token, header, strlen(header))) {
        return HS_HTTP_ALLOWED;
    }
    return has_cookie(policy, request->headers[HS_HTTP_COOKIE]) ? HS_HTTP_ALLOWED
                                                                : HS_HTTP_NO_TOKEN;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    return type && strncasecmp(type, json, sizeof(json) - 1) == 0 &&
           (type[sizeof(json) - 1] == '\0' || type[sizeof(json) - 1] == ';' ||
            type[sizeof(json) - 1] == ' ');
}

enum hs_http_verdict hs_http_check(const struct hs_http_policy *policy,
                                   const struct hs_http_request *request)
{
    const char *host = request->headers[HS_HTTP_HOST];
    const char *origin = request->headers[HS_HTTP_ORIGIN];
    if (request->is_ambiguous) {
        return HS_HTTP_AMBIGUOUS;
    }
    if (!is_own_host(policy, host)) {
        return HS_HTTP_BAD_HOST;
    }
    if (origin && !is_own_origin(origin, host) && !is_foreign_origin(policy, origin)) {
        return HS_HTTP_BAD_ORIGIN;
    }
    if (!is_site_ok(policy, request)) {
        return HS_HTTP_BAD_SITE;
    }
    enum hs_http_verdict verdict = check_token(policy, request);
    if (verdict <= HS_HTTP_ALLOWED_BY_ADDRESS && request->method == HS_HTTP_POST &&
        !is_json(request->headers[HS_HTTP_CONTENT_TYPE])) {
        return HS_HTTP_BAD_TYPE;
    }
    return verdict;
}
