/* How trace_writer.h fails: it reports the first error, and then writes nothing more. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace_bytes.h"

struct full_disk {
    size_t left_bytes;
    unsigned calls_after_error;
    bool is_full;
};

static int write_to_full_disk(void *ctx, const void *data, size_t bytes)
{
    struct full_disk *disk = ctx;
    (void)data;
    disk->calls_after_error += disk->is_full;
    if (bytes > disk->left_bytes) {
        disk->is_full = true;
        return -ENOSPC;
    }
    disk->left_bytes -= bytes;
    return 0;
}

static void test_errors_stick(void **state)
{
    (void)state;
    /* The disk is full at once, in the middle, and only when the last window is written. */
    const size_t sizes[] = { 0, 100 * 1024, 1000 * 1024 };
    for (size_t i = 0; i < 3; i++) {
        struct full_disk disk = { .left_bytes = sizes[i] };
        struct hs_trace_writer_config config = { .sink = write_to_full_disk, .sink_ctx = &disk };
        struct hs_trace_writer *writer;
        assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
        int err = hs_trace_writer_begin(writer);
        assert_int_equal(err, 0); /* still in the window */
        unsigned failures = 0;
        for (uint32_t pid = 1; pid < 20 && i < 2; pid++) {
            struct hs_snapshot *snap = fixture_typical(pid, 1000, 12, 5000000000);
            err = hs_trace_writer_dump(writer, snap);
            hs_snapshot_free(snap);
            assert_true(err == 0 || err == -ENOSPC);
            assert_true(err != 0 || failures == 0);
            failures += err != 0;
        }
        if (i == 2) {
            disk.left_bytes = 0;
        }
        struct hs_trace_process process = { .pid = 1, .uid = -1 };
        struct hs_trace_module_symbols symbols = { .path = "/x" };
        assert_int_equal(hs_trace_writer_process(writer, &process), i < 2 ? -ENOSPC : 0);
        assert_int_equal(hs_trace_writer_module_symbols(writer, &symbols), i < 2 ? -ENOSPC : 0);
        assert_int_equal(hs_trace_writer_finish(writer), -ENOSPC);
        assert_int_equal(hs_trace_writer_finish(writer), -ENOSPC);
        assert_int_equal(disk.calls_after_error, 0);
        assert_null(hs_trace_writer_free(writer));
    }
}

static void test_write_fd_fails(void **state)
{
    (void)state;
    assert_int_equal(hs_trace_write_fd((void *)(intptr_t)-1, "x", 1), -EBADF);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(hs_trace_write_fd((void *)(intptr_t)fileno(full), "x", 1), -ENOSPC);
    fclose(full);
}

static void test_before_begin(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer_config config = { .sink = keep_bytes, .sink_ctx = &buf };
    struct hs_trace_writer *writer;
    struct hs_snapshot *snap = fixture_snapshot(1, 1, 2);
    struct hs_trace_process process = { .pid = 1, .uid = -1 };
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_dump(writer, snap), -EINVAL);
    assert_int_equal(hs_trace_writer_process(writer, &process), -EINVAL);
    hs_snapshot_free(snap);
    hs_snapshot_free(NULL);
    finish_writer(writer);
    assert_int_equal(buf.bytes, 0);
    assert_null(hs_trace_writer_free(NULL));
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_stick),
        cmocka_unit_test(test_write_fd_fails),
        cmocka_unit_test(test_before_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
