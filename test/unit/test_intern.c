/* Interning: ids are dense, stay the same when the table grows, and differ for different keys. */
#include "util/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/check.h"
#include "util/intern_array.h"

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
 * Keys of a call tree: callers that have one callee each, as in a chain, one that has very many,
 * and callers with numbers far beyond the table.
 */
static void test_callees(void **state)
{
    (void)state;
    enum { CALLEES = 30000 };
    struct hs_intern table = { 0 };
    uint32_t id, count = 0;
    bool is_new;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < CALLEES; i++) {
            const struct hs_intern_key keys[] = {
                { .hi = (uint64_t)i << 32 | 5 },
                { .hi = (uint64_t)7 << 32 | (1000 + i) },
                { .hi = (uint64_t)(UINT32_MAX - i % 100) << 32 | i, .lo = i % 3 },
            };
            for (size_t k = 0; k < 3; k++) {
                assert_int_equal(hs_intern_put(&table, keys[k], &id, &is_new), 0);
                assert_int_equal(is_new, round == 0);
                assert_int_equal(id, 3 * i + k);
                count += is_new;
            }
        }
        HS_ASSERT(hs_intern_is_valid(&table));
    }
    assert_int_equal(count, 3 * CALLEES);
    assert_int_equal(table.count, count);
    assert_false(
        hs_intern_find(&table, (struct hs_intern_key){ .hi = (uint64_t)CALLEES << 32 | 5 }, &id));
    hs_intern_deinit(&table);
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

/* Elements belong to their keys, and keep their values while the array grows. */
static void test_array(void **state)
{
    (void)state;
    struct hs_intern_array ids = { 0 };
    uint64_t *squares = NULL;
    bool is_new;
    void *elem;
    /* Numbers in order, from 10 on; every third is far away. */
    for (uint64_t i = 0; i < 1000; i++) {
        const struct hs_intern_key key = { .lo = i % 3 ? 10 + i : i << 32 };
        assert_int_equal(hs_intern_at(&ids, &squares, sizeof(*squares), key, &elem, &is_new), 0);
        assert_true(is_new);
        assert_true(*(uint64_t *)elem == 0);
        *(uint64_t *)elem = i * i;
    }
    for (uint64_t i = 0; i < 1000; i++) {
        const struct hs_intern_key key = { .lo = i % 3 ? 10 + i : i << 32 };
        const uint64_t *square = hs_intern_elem(&ids, squares, sizeof(*square), key);
        assert_true(square && *square == i * i);
        assert_int_equal(hs_intern_at(&ids, &squares, sizeof(*squares), key, &elem, &is_new), 0);
        assert_false(is_new);
        assert_ptr_equal(elem, square);
    }
    assert_null(hs_intern_elem(&ids, squares, sizeof(*squares), (struct hs_intern_key){ .lo = 5 }));
    hs_intern_deinit(&ids.ids);
    free(squares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_dense_and_stable),
        cmocka_unit_test(test_callees),
        cmocka_unit_test(test_hash_tells_apart),
        cmocka_unit_test(test_hash_spreads),
        cmocka_unit_test(test_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
