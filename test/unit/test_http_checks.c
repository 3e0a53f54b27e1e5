/*
 * http_checks.h: each header by itself, and the token in each place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "http/http_checks.h"

#define PORT 4711

static struct hs_http_policy own, perfetto;

/* A request that is allowed, but for what a test changes. */
static struct hs_http_request allowed(void)
{
    return (struct hs_http_request){
        .method = HS_HTTP_GET,
        .path = "/api/files",
        .headers = { [HS_HTTP_HOST] = "127.0.0.1:4711", [HS_HTTP_TOKEN] = own.token },
    };
}

static void assert_verdict(enum hs_http_header header, const char *value,
                           enum hs_http_verdict expected)
{
    struct hs_http_request request = allowed();
    request.headers[header] = value;
    enum hs_http_verdict verdict = hs_http_check(&own, &request);
    if (verdict != expected) {
        fail_msg("%s: %s: %d, not %d", hs_http_header_names[header], value ? value : "(none)",
                 (int)verdict, (int)expected);
    }
}

static void hosts(void **state)
{
    (void)state;
    static const char *const good[] = { "127.0.0.1:4711", "localhost:4711", "LocalHost:4711",
                                        "[::1]:4711" };
    static const char *const bad[] = {
        NULL,
        "",
        "127.0.0.1",
        "127.0.0.1:4712",
        "127.0.0.1:47110",
        "127.0.0.1:4711 ",
        "127.0.0.2:4711",
        "evil.example:4711",
        "127.0.0.1.evil.example:4711",
        "localhost.evil.example:4711",
        "evil.example",
        "::1:4711",
        "127.0.0.1:4711@evil.example",
        "0.0.0.0:4711",
        "2130706433:4711",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_verdict(HS_HTTP_HOST, good[i], HS_HTTP_ALLOWED);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_verdict(HS_HTTP_HOST, bad[i], HS_HTTP_BAD_HOST);
    }
}

static void origins(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "null",
                                       "http://evil.example",
                                       "https://127.0.0.1:4711",
                                       "http://127.0.0.1",
                                       "http://127.0.0.1:4712",
                                       "http://localhost:4711", /* the Host is another name */
                                       "http://127.0.0.1:4711.evil.example",
                                       "http://127.0.0.1:4711/",
                                       "https://ui.perfetto.dev" };
    assert_verdict(HS_HTTP_ORIGIN, NULL, HS_HTTP_ALLOWED);
    assert_verdict(HS_HTTP_ORIGIN, "http://127.0.0.1:4711", HS_HTTP_ALLOWED);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_verdict(HS_HTTP_ORIGIN, bad[i], HS_HTTP_BAD_ORIGIN);
    }
}

static void sites(void **state)
{
    (void)state;
    assert_verdict(HS_HTTP_FETCH_SITE, NULL, HS_HTTP_ALLOWED);
    assert_verdict(HS_HTTP_FETCH_SITE, "none", HS_HTTP_ALLOWED);
    assert_verdict(HS_HTTP_FETCH_SITE, "same-origin", HS_HTTP_ALLOWED);
    assert_verdict(HS_HTTP_FETCH_SITE, "same-site", HS_HTTP_BAD_SITE);
    assert_verdict(HS_HTTP_FETCH_SITE, "cross-site", HS_HTTP_BAD_SITE);
    assert_verdict(HS_HTTP_FETCH_SITE, "", HS_HTTP_BAD_SITE);
}

static void tokens_in_headers(void **state)
{
    (void)state;
    char other[HS_HTTP_SECRET_BYTES + 8];
    assert_verdict(HS_HTTP_TOKEN, NULL, HS_HTTP_NO_TOKEN);
    assert_verdict(HS_HTTP_TOKEN, "", HS_HTTP_NO_TOKEN);
    assert_verdict(HS_HTTP_TOKEN, own.cookie, HS_HTTP_NO_TOKEN);
    for (size_t i = 0; i < HS_HTTP_SECRET_BYTES - 1; i++) {
        snprintf(other, sizeof(other), "%s", own.token);
        other[i] ^= 1;
        assert_verdict(HS_HTTP_TOKEN, other, HS_HTTP_NO_TOKEN);
    }
    snprintf(other, sizeof(other), "%s0", own.token);
    assert_verdict(HS_HTTP_TOKEN, other, HS_HTTP_NO_TOKEN);
    other[HS_HTTP_SECRET_BYTES - 2] = '\0';
    assert_verdict(HS_HTTP_TOKEN, other, HS_HTTP_NO_TOKEN);
}

static void cookies(void **state)
{
    (void)state;
    char text[512];
    static const struct {
        const char *format; /* %s: the secret */
        enum hs_http_verdict verdict;
    } cases[] = {
        { "heapscope-4711=%s", HS_HTTP_ALLOWED },
        { "a=b; heapscope-4711=%s; c=d", HS_HTTP_ALLOWED },
        { "heapscope-4711=wrong; heapscope-4711=%s", HS_HTTP_ALLOWED },
        { "heapscope-4712=%s", HS_HTTP_NO_TOKEN },
        { "xheapscope-4711=%s", HS_HTTP_NO_TOKEN },
        { "heapscope-4711x%s", HS_HTTP_NO_TOKEN },
        { "heapscope-4711=%sx", HS_HTTP_NO_TOKEN },
        { "heapscope-4711=", HS_HTTP_NO_TOKEN },
        { "heapscope-4711", HS_HTTP_NO_TOKEN },
        { ";;; ; ", HS_HTTP_NO_TOKEN },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_http_request request = allowed();
        char *at = text + snprintf(text, sizeof(text), "%.*s", (int)strcspn(cases[i].format, "%"),
                                   cases[i].format);
        const char *rest = strchr(cases[i].format, '%');
        if (rest) {
            snprintf(at, sizeof(text) / 2, "%s%s", own.cookie, rest + 2);
        }
        request.headers[HS_HTTP_TOKEN] = NULL;
        request.headers[HS_HTTP_COOKIE] = text;
        assert_int_equal(hs_http_check(&own, &request), cases[i].verdict);
    }
}

static void token_in_address(void **state)
{
    (void)state;
    struct hs_http_request request = allowed();
    request.headers[HS_HTTP_TOKEN] = NULL;
    request.arguments[0] = (struct hs_http_argument){ "token", own.token };
    request.argument_count = 1;
    assert_int_equal(hs_http_check(&own, &request), HS_HTTP_ALLOWED_BY_ADDRESS);
    request.headers[HS_HTTP_HOST] = "evil.example:4711";
    assert_int_equal(hs_http_check(&own, &request), HS_HTTP_BAD_HOST);
    request = allowed();
    request.headers[HS_HTTP_TOKEN] = NULL;
    request.arguments[0] = (struct hs_http_argument){ "token", own.token };
    request.argument_count = 1;
    request.method = HS_HTTP_POST; /* it acts: an address is not enough */
    request.headers[HS_HTTP_CONTENT_TYPE] = "application/json";
    assert_int_equal(hs_http_check(&own, &request), HS_HTTP_NO_TOKEN);
}

static void types_of_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        enum hs_http_verdict verdict;
    } cases[] = {
        { "application/json", HS_HTTP_ALLOWED },
        { "Application/JSON; charset=utf-8", HS_HTTP_ALLOWED },
        { NULL, HS_HTTP_BAD_TYPE },
        { "text/plain", HS_HTTP_BAD_TYPE },
        { "application/jsonx", HS_HTTP_BAD_TYPE },
        { "application/x-www-form-urlencoded", HS_HTTP_BAD_TYPE },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_http_request request = allowed();
        request.method = HS_HTTP_POST;
        request.headers[HS_HTTP_CONTENT_TYPE] = cases[i].type;
        assert_int_equal(hs_http_check(&own, &request), cases[i].verdict);
    }
}

static void twice(void **state)
{
    (void)state;
    struct hs_http_request request = allowed();
    request.is_ambiguous = true;
    assert_int_equal(hs_http_check(&own, &request), HS_HTTP_AMBIGUOUS);
}

/* One other site may read, if it says that it is that one. */
static void foreign_site(void **state)
{
    (void)state;
    static const struct {
        const char *origin, *site;
        enum hs_http_verdict verdict;
    } cases[] = {
        { "https://ui.perfetto.dev", "cross-site", HS_HTTP_ALLOWED },
        { "https://ui.perfetto.dev", NULL, HS_HTTP_ALLOWED },
        { NULL, NULL, HS_HTTP_ALLOWED }, /* a program */
        { NULL, "cross-site", HS_HTTP_BAD_SITE },
        { "http://ui.perfetto.dev", "cross-site", HS_HTTP_BAD_ORIGIN },
        { "https://ui.perfetto.dev.evil.example", "cross-site", HS_HTTP_BAD_ORIGIN },
        { "https://evil.example", "cross-site", HS_HTTP_BAD_ORIGIN },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_http_request request = { .method = HS_HTTP_GET,
                                           .path = "/x",
                                           .headers = { [HS_HTTP_HOST] = "127.0.0.1:9001" } };
        request.headers[HS_HTTP_ORIGIN] = cases[i].origin;
        request.headers[HS_HTTP_FETCH_SITE] = cases[i].site;
        assert_int_equal(hs_http_check(&perfetto, &request), cases[i].verdict);
    }
}

static void secrets(void **state)
{
    (void)state;
    char a[HS_HTTP_SECRET_BYTES], b[HS_HTTP_SECRET_BYTES];
    assert_int_equal(hs_http_secret_make(a), 0);
    assert_int_equal(hs_http_secret_make(b), 0);
    assert_int_equal(strlen(a), 64);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
    assert_string_not_equal(own.token, own.cookie);
    assert_true(hs_http_secret_is(a, a, 64));
    assert_false(hs_http_secret_is(a, b, 64));
    assert_false(hs_http_secret_is(a, a, 63));
    assert_false(hs_http_secret_is(a, "", 0));
    for (int i = 0; i < HS_HTTP_VERDICT_N; i++) {
        assert_int_equal(hs_http_verdict_words[i] == NULL, i <= HS_HTTP_ALLOWED_BY_ADDRESS);
    }
}

static int set_up(void **state)
{
    (void)state;
    return hs_http_policy_init(PORT, true, NULL, &own) ||
           hs_http_policy_init(9001, false, "https://ui.perfetto.dev", &perfetto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts),           cmocka_unit_test(origins),
        cmocka_unit_test(sites),           cmocka_unit_test(tokens_in_headers),
        cmocka_unit_test(cookies),         cmocka_unit_test(token_in_address),
        cmocka_unit_test(types_of_bodies), cmocka_unit_test(twice),
        cmocka_unit_test(foreign_site),    cmocka_unit_test(secrets),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
