/*
 * Fuzz target: a request as the checks see it, and the kernel's list of connections.
 *
 * The input is lines: the method, the target, then headers as "Name: value", an empty line, and the
 * body. What the checks allow must have been sent to our own name, from our own page or without
 * one, with a secret. Behind the first NUL stands a text of /proc/net/tcp.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "http/http_checks.h"
#include "http/http_route.h"
#include "http/peer_user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COOKIE "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const struct hs_http_policy policies[] = {
    { .port = 4711,
      .needs_token = true,
      .token = SECRET,
      .cookie = COOKIE,
      .cookie_name = "heapscope-4711" },
    { .port = 9001, .foreign_origin = "https://ui.perfetto.dev" },
};

static const struct hs_http_route items[] = {
    { .method = HS_HTTP_GET, .path = "/" },
    { .method = HS_HTTP_GET, .path = "/api/files" },
    { .method = HS_HTTP_POST, .path = "/api/start" },
};

static char *next_line(char **at)
{
    char *line = *at, *end = line ? strchr(line, '\n') : NULL;
    if (end) {
        *end = '\0';
    }
    *at = end ? end + 1 : NULL;
    return line;
}

/* Names of hosts are compared without regard to case. */
static bool has(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static void check_allowed(const struct hs_http_policy *policy,
                          const struct hs_http_request *request, enum hs_http_verdict verdict)
{
    const char *host = request->headers[HS_HTTP_HOST], *origin = request->headers[HS_HTTP_ORIGIN];
    const char *site = request->headers[HS_HTTP_FETCH_SITE];
    const char *argument = hs_http_request_argument(request, "token");
    bool is_foreign = policy->foreign_origin && has(origin, policy->foreign_origin);
    check(has(host, policy->port == 4711 ? ":4711" : ":9001"));
    check(!origin || is_foreign || has(origin, host));
    check(!site || is_foreign || has(site, "same-origin") || has(site, "none"));
    check(!policy->needs_token || has(request->headers[HS_HTTP_TOKEN], SECRET) ||
          has(request->headers[HS_HTTP_COOKIE], COOKIE) || has(argument, SECRET));
    check(verdict == HS_HTTP_ALLOWED || has(argument, SECRET));
    check(request->method != HS_HTTP_POST || request->headers[HS_HTTP_CONTENT_TYPE]);
}

static void judge(const struct hs_http_request *request)
{
    const struct hs_http_routes routes = { items, sizeof(items) / sizeof(items[0]) };
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        enum hs_http_verdict verdict = hs_http_check(&policies[i], request);
        if (!hs_http_verdict_words[verdict]) {
            check_allowed(&policies[i], request, verdict);
        }
    }
    bool is_method = false;
    const struct hs_http_route *route = hs_http_route_find(&routes, request, &is_method);
    check(!route || strcmp(route->path, request->path) == 0);
    uint64_t number = 0;
    check(!hs_http_request_number(request, "file", 99, &number) || number <= 99);
    hs_http_request_takes_gzip(request);
}

static void take_request(char *text)
{
    static struct hs_http_request request;
    char *method = next_line(&text), *target = next_line(&text), *line;
    memset(&request, 0, sizeof(request));
    request.method = hs_http_method_of(method);
    bool is_good = target && hs_http_request_take_target(&request, target) == 0;
    while ((line = next_line(&text)) && *line) {
        char *value = strstr(line, ": ");
        if (value) {
            *value = '\0';
        }
        hs_http_request_take_header(&request, line, value ? value + 2 : NULL);
    }
    request.body = text ? text : "";
    request.body_bytes = strlen(request.body);
    if (is_good) {
        judge(&request);
    }
}

static void take_connections(const char *text, size_t bytes)
{
    const struct sockaddr_in peer = { .sin_family = AF_INET,
                                      .sin_port = htons(0x1000),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in own = peer;
    uid_t uid;
    own.sin_port = htons(0x2000);
    hs_peer_user_parse(text, bytes, &peer, &own, &uid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t bytes = nul ? (size_t)(nul - data) : size;
    char *text = malloc(bytes + 1);
    check(text);
    if (bytes) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    take_request(text);
    free(text);
    if (nul) {
        take_connections((const char *)nul + 1, size - bytes - 1);
    }
    return 0;
}
