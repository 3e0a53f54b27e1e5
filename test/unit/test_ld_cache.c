/* Tests of util/ld_cache: a made-up cache, one with false contents, and that of this machine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/ld_cache.h"
#include "util/proc.h"

#define HEADER_BYTES 48U
#define ENTRY_BYTES  24U

struct image {
    char bytes[512];
    size_t count;
};

static void put_u32(char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

/* Makes a cache of these entries; the strings are behind them, as in a real one. */
static struct image make_image(const char *const (*entries)[2], size_t count, uint64_t last_hwcap)
{
    struct image image = { .count = HEADER_BYTES + count * ENTRY_BYTES };
    memcpy(image.bytes, "glibc-ld.so.cache1.1", 20);
    put_u32(image.bytes + 20, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        char *entry = image.bytes + HEADER_BYTES + i * ENTRY_BYTES;
        for (size_t k = 0; k < 2; k++) {
            put_u32(entry + 4 + 4 * k, (uint32_t)image.count);
            strcpy(image.bytes + image.count, entries[i][k]);
            image.count += strlen(entries[i][k]) + 1;
        }
        memcpy(entry + 16, &(uint64_t){ i + 1 == count ? last_hwcap : 0 }, 8);
    }
    return image;
}

static const char *const entries[][2] = {
    { "libb.so.1", "/lib/b" },
    { "liba.so.1", "/lib/a" },
    { "liba.so.1", "/lib/hwcaps/a" },
};

static void test_entries_are_found_by_name(void **state)
{
    (void)state;
    struct image image = make_image(entries, 3, 0);
    struct hs_ld_cache cache;
    uint32_t at = 0;
    assert_int_equal(hs_ld_cache_open(image.bytes, image.count, &cache), 0);
    assert_string_equal(hs_ld_cache_next(&cache, &at, "liba.so.1"), "/lib/a");
    assert_string_equal(hs_ld_cache_next(&cache, &at, "liba.so.1"), "/lib/hwcaps/a");
    assert_null(hs_ld_cache_next(&cache, &at, "liba.so.1"));
    at = 0;
    assert_null(hs_ld_cache_next(&cache, &at, "liba.so"));
}

static void test_builds_for_other_processors_are_passed_over(void **state)
{
    (void)state;
    struct image image = make_image(entries, 3, 1);
    struct hs_ld_cache cache;
    uint32_t at = 2;
    assert_int_equal(hs_ld_cache_open(image.bytes, image.count, &cache), 0);
    assert_null(hs_ld_cache_next(&cache, &at, "liba.so.1"));
}

static void test_behind_an_older_one(void **state)
{
    (void)state;
    struct image image = make_image(entries, 3, 0);
    char both[600] = "ld.so-1.7.0";
    struct hs_ld_cache cache;
    uint32_t at = 0;
    memcpy(both + 40, image.bytes, image.count);
    assert_int_equal(hs_ld_cache_open(both, 40 + image.count, &cache), 0);
    assert_string_equal(hs_ld_cache_next(&cache, &at, "libb.so.1"), "/lib/b");
}

static void test_lies(void **state)
{
    (void)state;
    struct image image = make_image(entries, 3, 0);
    struct hs_ld_cache cache;
    uint32_t at = 0;
    assert_int_equal(hs_ld_cache_open("", 0, &cache), -EINVAL);
    assert_int_equal(hs_ld_cache_open(image.bytes, HEADER_BYTES - 1, &cache), -EINVAL);
    /* Cut inside the last string, which is then not terminated. */
    assert_int_equal(hs_ld_cache_open(image.bytes, image.count - 1, &cache), 0);
    assert_string_equal(hs_ld_cache_next(&cache, &at, "liba.so.1"), "/lib/a");
    assert_null(hs_ld_cache_next(&cache, &at, "liba.so.1"));
    put_u32(image.bytes + HEADER_BYTES + 4, UINT32_MAX);
    at = 0;
    assert_null(hs_ld_cache_next(&cache, &at, "libb.so.1"));
    put_u32(image.bytes + 20, UINT32_MAX);
    assert_int_equal(hs_ld_cache_open(image.bytes, image.count, &cache), -EINVAL);
}

static void test_this_machine(void **state)
{
    (void)state;
    struct hs_buf bytes = HS_BUF_INIT;
    struct hs_ld_cache cache;
    uint32_t at = 0;
    if (hs_proc_read_whole("/etc", "ld.so.cache", &bytes) < 0) {
        skip();
    }
    assert_int_equal(hs_ld_cache_open(bytes.data, bytes.bytes, &cache), 0);
    assert_non_null(strstr(hs_ld_cache_next(&cache, &at, "libc.so.6"), "/libc.so.6"));
    hs_buf_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_found_by_name),
        cmocka_unit_test(test_builds_for_other_processors_are_passed_over),
        cmocka_unit_test(test_behind_an_older_one),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
