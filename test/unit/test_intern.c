/* Interning: ids are dense, stay the same when the table grows, and differ for different keys. */
#include "util/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rt/check.h"

static void test_ids_are_dense_and_stable(void **state)
{
    (void)state;
    enum { KEYS = 100000 };
    struct hs_intern table = { 0 };
    uint32_t id;
    bool is_new;
    for (uint32_t i = 0; i < KEYS; i++) {
        /* Keys that differ in few bits only, high or low ones. */
        struct hs_intern_key key = { .hi = (uint64_t)i << 40, .lo = i & 3 };
        assert_int_equal(hs_intern_put(&table, key, &id, &is_new), 0);
        assert_true(is_new);
        assert_int_equal(id, i);
        if (i < 200 || i % 10000 == 0) {
            HS_ASSERT(hs_intern_is_valid(&table));
        }
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        struct hs_intern_key key = { .hi = (uint64_t)i << 40, .lo = i & 3 };
        assert_int_equal(hs_intern_put(&table, key, &id, &is_new), 0);
        assert_false(is_new);
        assert_int_equal(id, i);
        key.lo ^= 4;
        assert_false(hs_intern_find(&table, key, &id));
    }
    assert_int_equal(table.count, KEYS);
    HS_ASSERT(hs_intern_is_valid(&table));
    hs_intern_deinit(&table);
    HS_ASSERT(hs_intern_is_valid(&table));
    assert_false(hs_intern_find(&table, (struct hs_intern_key){ 0 }, &id));
}

/*
 * All strings of length 0..2 over a small alphabet that includes zero, and the same strings
 * extended by zeros.
 */
static void test_hash_tells_apart(void **state)
{
    (void)state;
    struct hs_intern table = { 0 };
    uint32_t id;
    bool is_new;
    char text[24];
    for (size_t bytes = 0; bytes <= sizeof(text); bytes++) {
        for (int first = 0; first < 256; first++) {
            memset(text, 0, sizeof(text));
            if (bytes > 0) {
                text[bytes - 1] = (char)first;
            } else if (first > 0) {
                break;
            }
            assert_int_equal(hs_intern_put(&table, hs_intern_hash(text, bytes), &id, &is_new), 0);
            assert_true(is_new);
        }
        HS_ASSERT(hs_intern_is_valid(&table));
    }
    hs_intern_deinit(&table);
}

/* Each flipped input bit changes about half of the 128 output bits. */
static void test_hash_spreads(void **state)
{
    (void)state;
    char text[40];
    memset(text, 'x', sizeof(text));
    struct hs_intern_key whole = hs_intern_hash(text, sizeof(text));
    for (size_t bit = 0; bit < sizeof(text) * 8; bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        struct hs_intern_key key = hs_intern_hash(text, sizeof(text));
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        int changed =
            __builtin_popcountll(key.hi ^ whole.hi) + __builtin_popcountll(key.lo ^ whole.lo);
        assert_in_range(changed, 20, 108);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_dense_and_stable),
        cmocka_unit_test(test_hash_tells_apart),
        cmocka_unit_test(test_hash_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
