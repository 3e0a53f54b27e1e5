/* buf.h: growth, the sink's window, and that the first error is kept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/check.h"
#include "util/buf.h"

static void grows_and_formats(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    assert_string_equal(hs_buf_text(&buf), "");
    hs_buf_str(&buf, "a");
    hs_buf_char(&buf, 'b');
    hs_buf_repeat(&buf, '-', 3);
    HS_ASSERT(hs_buf_is_valid(&buf));
    hs_buf_printf(&buf, "%d|%s", 42, "x");
    HS_ASSERT(hs_buf_is_valid(&buf));
    assert_string_equal(hs_buf_text(&buf), "ab---42|x");
    /* Longer than the small buffer that hs_buf_printf() tries first. */
    char text[2000];
    memset(text, 'q', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hs_buf_printf(&buf, "%s", text);
    assert_int_equal(buf.bytes, 9 + sizeof(text) - 1);
    assert_int_equal(buf.total_bytes, buf.bytes);
    assert_string_equal(hs_buf_text(&buf) + 9, text);
    assert_int_equal(hs_buf_finish(&buf), 0);
    HS_ASSERT(hs_buf_is_valid(&buf));
    hs_buf_deinit(&buf);
    HS_ASSERT(hs_buf_is_valid(&buf));
}

struct sink {
    char *data;
    size_t bytes;
    size_t fail_after_bytes;
    int call_count;
    int err;
};

static int take(void *ctx, const void *data, size_t bytes)
{
    struct sink *sink = ctx;
    sink->call_count++;
    if (sink->err && sink->bytes + bytes > sink->fail_after_bytes) {
        return sink->err;
    }
    sink->data = realloc(sink->data, sink->bytes + bytes);
    assert_non_null(sink->data);
    memcpy(sink->data + sink->bytes, data, bytes);
    sink->bytes += bytes;
    return 0;
}

static void sink_gets_every_byte_in_order(void **state)
{
    (void)state;
    struct sink sink = { 0 };
    struct hs_buf buf;
    hs_buf_init(&buf, take, &sink);
    size_t want_bytes = 0;
    unsigned char next = 0;
    unsigned char piece[300000];
    for (size_t i = 0; i < 400; i++) {
        /* Pieces below, at and above the window. */
        size_t bytes = i % 50 == 49 ? sizeof(piece) - i : i % 50 == 25 ? 65536 : i * 7;
        for (size_t j = 0; j < bytes; j++) {
            piece[j] = next++;
        }
        hs_buf_add(&buf, piece, bytes);
        want_bytes += bytes;
        HS_ASSERT(hs_buf_is_valid(&buf));
        assert_true(buf.capacity_bytes < 200000);
    }
    assert_int_equal(hs_buf_finish(&buf), 0);
    assert_int_equal(sink.bytes, want_bytes);
    assert_int_equal(buf.total_bytes, want_bytes);
    for (size_t i = 0; i < want_bytes; i++) {
        assert_int_equal((unsigned char)sink.data[i], i & 0xFF);
    }
    free(sink.data);
    HS_ASSERT(hs_buf_is_valid(&buf));
    hs_buf_deinit(&buf);
    HS_ASSERT(hs_buf_is_valid(&buf));
}

static void first_error_stays(void **state)
{
    (void)state;
    struct sink sink = { .err = -ENOSPC, .fail_after_bytes = 100000 };
    struct hs_buf buf;
    hs_buf_init(&buf, take, &sink);
    for (int i = 0; i < 100000; i++) {
        hs_buf_str(&buf, "0123456789");
        HS_ASSERT(hs_buf_is_valid(&buf));
    }
    assert_int_equal(hs_buf_finish(&buf), -ENOSPC);
    int call_count = sink.call_count;
    hs_buf_str(&buf, "more");
    assert_int_equal(hs_buf_finish(&buf), -ENOSPC);
    assert_int_equal(sink.call_count, call_count);
    free(sink.data);
    HS_ASSERT(hs_buf_is_valid(&buf));
    hs_buf_deinit(&buf);
    HS_ASSERT(hs_buf_is_valid(&buf));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_formats),
        cmocka_unit_test(sink_gets_every_byte_in_order),
        cmocka_unit_test(first_error_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
