/* Growable arrays: growing keeps the elements and is rare, and a failure changes nothing. */
#include "util/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Under ASan, a request that cannot be satisfied must fail as it does without ASan. */
const char *__asan_default_options(void);
HS_EXPORT const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_growth(void **state)
{
    (void)state;
    enum { ITEMS = 100000 };
    struct item {
        uint64_t number;
        char rest[5];
    } *items = NULL;
    size_t capacity = 0;
    int growths = 0;
    for (size_t count = 0; count < ITEMS; count++) {
        size_t before = capacity;
        assert_int_equal(hs_array_reserve(&items, &capacity, count + 1, sizeof(*items)), 0);
        assert_true(capacity > count);
        HS_ASSERT(hs_array_is_valid(&items, capacity));
        if (capacity != before) {
            assert_int_equal(before, count); /* only when it is full */
            assert_true(capacity >= 2 * before);
            growths++;
        }
        items[count] = (struct item){ .number = count, .rest = { (char)count } };
    }
    assert_in_range(growths, 1, 17);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(items[i].number, i);
        assert_int_equal(items[i].rest[0], (char)i);
    }
    free(items);
}

/* More than twice as many elements at once; and fewer than the array has. */
static void test_count(void **state)
{
    (void)state;
    char *text = NULL;
    size_t capacity = 0;
    assert_int_equal(hs_array_reserve(&text, &capacity, 0, 1), 0);
    assert_null(text);
    assert_int_equal(capacity, 0);
    assert_int_equal(hs_array_reserve(&text, &capacity, 1000, 1), 0);
    assert_int_equal(capacity, 1000);
    text[999] = 'x';
    char *before = text;
    assert_int_equal(hs_array_reserve(&text, &capacity, 1000, 1), 0);
    assert_int_equal(hs_array_reserve(&text, &capacity, 1, 1), 0);
    assert_ptr_equal(text, before);
    assert_int_equal(capacity, 1000);
    assert_int_equal(hs_array_reserve(&text, &capacity, 1001, 1), 0);
    assert_int_equal(capacity, 2000);
    assert_int_equal(text[999], 'x');
    free(text);
}

static void test_failure_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        size_t count, elem_bytes;
    } cases[] = {
        /* Products that overflow to small numbers: 0, 2 and 8. */
        { 32, SIZE_MAX / 32 + 1 },
        { SIZE_MAX / 2 + 2, 2 },
        { SIZE_MAX / 8 + 2, 8 },
        /* More bytes than an object can have. */
        { SIZE_MAX, 1 },
        { SIZE_MAX, sizeof(uint64_t) },
        /* More memory than there is: realloc() fails. */
        { (size_t)PTRDIFF_MAX, 1 },
        { (size_t)PTRDIFF_MAX / sizeof(uint64_t), sizeof(uint64_t) },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        uint64_t *numbers = NULL;
        size_t capacity = 0;
        assert_int_equal(hs_array_reserve(&numbers, &capacity, 3, sizeof(*numbers)), 0);
        numbers[2] = 42;
        uint64_t *before = numbers;
        size_t capacity_before = capacity;
        assert_int_equal(hs_array_reserve(&numbers, &capacity, cases[i].count, cases[i].elem_bytes),
                         -ENOMEM);
        HS_ASSERT(hs_array_is_valid(&numbers, capacity));
        assert_ptr_equal(numbers, before);
        assert_int_equal(capacity, capacity_before);
        assert_int_equal(numbers[2], 42);
        free(numbers);
    }
}

struct pair {
    int key, sum;
};

static int compare_keys(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->key - y->key;
}

static void add_pair(void *to, void *from)
{
    struct pair *sum = to, *item = from;
    sum->sum += item->sum;
}

static void test_merge(void **state)
{
    (void)state;
    struct pair pairs[] = { { 3, 1 }, { 1, 2 }, { 3, 4 }, { 2, 8 }, { 1, 16 }, { 3, 32 } };
    static const struct pair merged[] = { { 1, 18 }, { 2, 8 }, { 3, 37 } };
    size_t count =
        hs_array_merge(pairs, HS_COUNT_OF(pairs), sizeof(pairs[0]), compare_keys, add_pair);
    assert_int_equal(count, 3);
    assert_memory_equal(pairs, merged, sizeof(merged));
    assert_int_equal(hs_array_merge(pairs, 3, sizeof(pairs[0]), compare_keys, add_pair), 3);
    assert_int_equal(hs_array_merge(pairs, 1, sizeof(pairs[0]), compare_keys, add_pair), 1);
    assert_int_equal(hs_array_merge(NULL, 0, sizeof(pairs[0]), compare_keys, add_pair), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_failure_changes_nothing),
        cmocka_unit_test(test_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
