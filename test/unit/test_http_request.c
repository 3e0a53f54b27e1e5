/*
 * http_request.h: targets, arguments, headers; http_route.h: which route a request has.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/http_request.h"
#include "http/http_route.h"

static struct hs_http_request take(const char *target, int expected)
{
    struct hs_http_request request = { 0 };
    assert_int_equal(hs_http_request_take_target(&request, target), expected);
    return request;
}

static void targets(void **state)
{
    (void)state;
    static struct hs_http_request request;
    char longest[HS_HTTP_TARGET_BYTES_MAX + 1];
    assert_int_equal(hs_http_request_take_target(&request, "/api/x?a=1&b=%41+%2b%26&c&&d="), 0);
    assert_string_equal(request.path, "/api/x");
    assert_int_equal(request.argument_count, 4);
    assert_string_equal(hs_http_request_argument(&request, "a"), "1");
    assert_string_equal(hs_http_request_argument(&request, "b"), "A +&");
    assert_string_equal(hs_http_request_argument(&request, "c"), "");
    assert_string_equal(hs_http_request_argument(&request, "d"), "");
    assert_null(hs_http_request_argument(&request, "e"));
    assert_int_equal(hs_http_request_take_target(&request, "/?a=1&a=2"), 0);
    assert_string_equal(hs_http_request_argument(&request, "a"), "1");
    take("", -EINVAL);
    take("*", -EINVAL);
    take("http://127.0.0.1/", -EINVAL);
    take("/?a=%", -EINVAL);
    take("/?a=%4", -EINVAL);
    take("/?a=%zz", -EINVAL);
    take("/?a=%00", -EINVAL);
    take("/?%00=a", -EINVAL);
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[HS_HTTP_TARGET_BYTES_MAX] = '\0';
    take(longest, -EINVAL);
    longest[HS_HTTP_TARGET_BYTES_MAX - 1] = '\0';
    take(longest, 0);
}

static void too_many_arguments(void **state)
{
    (void)state;
    char target[4 * HS_HTTP_ARGUMENTS_MAX + 8] = "/?";
    for (size_t i = 0; i < HS_HTTP_ARGUMENTS_MAX; i++) {
        strcat(target, "a&");
    }
    assert_int_equal(take(target, 0).argument_count, HS_HTTP_ARGUMENTS_MAX);
    strcat(target, "a");
    take(target, -E2BIG);
}

static void numbers(void **state)
{
    (void)state;
    static struct hs_http_request request;
    uint64_t number = 7;
    assert_int_equal(
        hs_http_request_take_target(
            &request, "/?a=12&b=18446744073709551615&c=18446744073709551616&d=-1&e=1x&f="),
        0);
    assert_true(hs_http_request_number(&request, "a", 12, &number));
    assert_int_equal(number, 12);
    assert_false(hs_http_request_number(&request, "a", 11, &number));
    assert_true(hs_http_request_number(&request, "b", UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    assert_false(hs_http_request_number(&request, "c", UINT64_MAX, &number));
    assert_false(hs_http_request_number(&request, "d", UINT64_MAX, &number));
    assert_false(hs_http_request_number(&request, "e", UINT64_MAX, &number));
    assert_false(hs_http_request_number(&request, "f", UINT64_MAX, &number));
    assert_false(hs_http_request_number(&request, "g", UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
}

static void headers(void **state)
{
    (void)state;
    struct hs_http_request request = { 0 };
    hs_http_request_take_header(&request, "hOsT", "a");
    hs_http_request_take_header(&request, "Accept", "b");
    hs_http_request_take_header(&request, "Sec-Fetch-Site", NULL);
    assert_string_equal(request.headers[HS_HTTP_HOST], "a");
    assert_string_equal(request.headers[HS_HTTP_FETCH_SITE], "");
    assert_null(request.headers[HS_HTTP_ORIGIN]);
    assert_false(request.is_ambiguous);
    hs_http_request_take_header(&request, "Host", "a");
    assert_true(request.is_ambiguous);
}

static void gzip(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool takes;
    } cases[] = {
        { NULL, false },
        { "", false },
        { "gzip", true },
        { "deflate, gzip;q=1.0", true },
        { "br,GZIP ; q=0.5", true },
        { "gzip;q=0", false },
        { "gzip;q=0.000", false },
        { "xgzip", false },
        { "gzipx, deflate", false },
        { "identity", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_http_request request = { .headers[HS_HTTP_ACCEPT_ENCODING] = cases[i].text };
        assert_int_equal(hs_http_request_takes_gzip(&request), cases[i].takes);
    }
}

static void methods_and_routes(void **state)
{
    (void)state;
    static const struct hs_http_route items[] = {
        { .method = HS_HTTP_GET, .path = "/" },
        { .method = HS_HTTP_GET, .path = "/api/files" },
        { .method = HS_HTTP_POST, .path = "/api/files" },
    };
    static const struct {
        const char *method, *path;
        const struct hs_http_route *route;
        bool is_method;
    } cases[] = {
        { "GET", "/", &items[0], false },
        { "GET", "/api/files", &items[1], false },
        { "POST", "/api/files", &items[2], true },
        { "get", "/api/files", NULL, true },
        { "POST", "/", NULL, true },
        { "HEAD", "/", NULL, true },
        { "GET", "/api/files/", NULL, false },
        { "GET", "//api/files", NULL, false },
        { "GET", "/api/../api/files", NULL, false },
        { "GET", "/api/%66iles", NULL, false },
        { "GET", "", NULL, false },
    };
    const struct hs_http_routes routes = { items, sizeof(items) / sizeof(items[0]) };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_http_request request = { .method = hs_http_method_of(cases[i].method),
                                           .path = cases[i].path };
        bool is_method = false;
        assert_ptr_equal(hs_http_route_find(&routes, &request, &is_method), cases[i].route);
        assert_int_equal(is_method, cases[i].is_method);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets), cmocka_unit_test(too_many_arguments),
        cmocka_unit_test(numbers), cmocka_unit_test(headers),
        cmocka_unit_test(gzip),    cmocka_unit_test(methods_and_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
