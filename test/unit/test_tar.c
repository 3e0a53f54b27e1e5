/*
 * Bundles: which members count, that they become one trace in place, and hostile headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tar.h"
#include "trace/trace_scan.h"

struct made {
    uint8_t *data;
    size_t bytes;
};

static void add(struct made *made, const char *name, const void *content, size_t bytes)
{
    size_t padding = hs_tar_padding(bytes);
    made->data = realloc(made->data, made->bytes + HS_TAR_BLOCK_BYTES + bytes + padding);
    assert_non_null(made->data);
    hs_tar_head(name, bytes, 1, made->data + made->bytes);
    made->bytes += HS_TAR_BLOCK_BYTES;
    if (bytes > 0) {
        memcpy(made->data + made->bytes, content, bytes);
    }
    memset(made->data + made->bytes + bytes, 0, padding);
    made->bytes += bytes + padding;
}

static void finish(struct made *made)
{
    made->data = realloc(made->data, made->bytes + 1024);
    assert_non_null(made->data);
    memset(made->data + made->bytes, 0, 1024);
    made->bytes += 1024;
}

/* Walks the packets of a trace: the bytes of those of 4 bytes, one after the other. */
static void expect_packets(const uint8_t *data, size_t bytes, const char *wanted)
{
    char found[64] = "";
    size_t at = 0;
    while (at < bytes) {
        uint64_t packet_bytes;
        size_t head = hs_trace_scan_head(data + at, bytes - at, &packet_bytes);
        struct hs_trace_scan scan;
        assert_true(head > 0 && packet_bytes <= bytes - at - head);
        assert_true(hs_trace_scan(data + at + head, (size_t)packet_bytes, &scan));
        assert_false(scan.is_wanted || scan.is_extra || scan.is_alien);
        if (packet_bytes == 2) {
            strncat(found, (const char *)data + at + head + 1, 1);
        }
        at += head + (size_t)packet_bytes;
    }
    assert_string_equal(found, wanted);
}

/* Packets with one number, field 8 (the time): what a trace begins with. */
#define PACKET(c) "\x0a\x02\x40" c

static void members_become_one_trace(void **state)
{
    (void)state;
    struct made made = { 0 };
    char other[3000];
    memset(other, 'x', sizeof(other));
    add(&made, "README", other, sizeof(other));
    add(&made, "./bundle/trace.perfetto", PACKET("a") PACKET("b"), 8);
    add(&made, "other.pb", other, sizeof(other));
    add(&made, "empty", NULL, 0);
    add(&made, "symbols.pb", PACKET("c"), 4);
    add(&made, "deobfuscation.pb", PACKET("d"), 4);
    finish(&made);
    assert_true(hs_tar_is(made.data, made.bytes));
    struct hs_tar_part part = hs_tar_join(made.data, made.bytes, NULL);
    assert_int_equal(part.off, 512 + 3072 + 512);
    expect_packets(made.data + part.off, part.bytes, "abcd");
    free(made.data);
}

static void every_length_of_gap_is_filled(void **state)
{
    (void)state;
    for (size_t bytes = 4; bytes < 1100; bytes += 4) {
        struct made made = { 0 };
        char content[1100];
        for (size_t i = 0; i < bytes; i += 4) {
            memcpy(content + i, i == 0 ? PACKET("a") : "\x0a\x02\x40\x00", 4);
        }
        add(&made, "trace.perfetto", content, bytes);
        add(&made, "symbols.pb", PACKET("z"), 4);
        finish(&made);
        struct hs_tar_part part = hs_tar_join(made.data, made.bytes, NULL);
        expect_packets(made.data + part.off, part.bytes, "az");
        free(made.data);
    }
}

static void what_is_no_bundle_stays(void **state)
{
    (void)state;
    struct made made = { 0 };
    add(&made, "trace.txt", "text", 4);
    finish(&made);
    uint8_t *before = malloc(made.bytes);
    assert_non_null(before);
    memcpy(before, made.data, made.bytes);
    assert_int_equal(hs_tar_join(made.data, made.bytes, NULL).bytes, 0);
    assert_memory_equal(made.data, before, made.bytes);
    made.data[0] ^= 1; /* the checksum is wrong */
    assert_false(hs_tar_is(made.data, made.bytes));
    assert_false(hs_tar_is(made.data, 511));
    free(before);
    free(made.data);
}

static void large_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 0,
                                      1,
                                      0777,
                                      UINT64_C(0777777777),
                                      (UINT64_C(1) << 33) - 1,
                                      UINT64_C(1) << 33,
                                      UINT64_C(1) << 40,
                                      UINT64_MAX };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint8_t data[HS_TAR_BLOCK_BYTES + 4] = { 0 };
        struct hs_tar_part parts[HS_TAR_MEMBERS_MAX];
        hs_tar_head("trace.perfetto", sizes[i], 0, data);
        size_t count = hs_tar_find(data, sizeof(data), parts);
        assert_int_equal(count, sizes[i] > 0);
        if (count > 0) {
            /* The member ends with the file. */
            assert_int_equal(parts[0].bytes, sizes[i] < 4 ? sizes[i] : 4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_become_one_trace),
        cmocka_unit_test(every_length_of_gap_is_filled),
        cmocka_unit_test(what_is_no_bundle_stays),
        cmocka_unit_test(large_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
