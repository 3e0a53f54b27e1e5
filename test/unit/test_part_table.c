/* Sums by stack, thread and age: whatever the limit, those of a stack add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/region/part_table.h"

#define STACK_COUNT 3U

static void add(struct hs_part_table *table, uint32_t stack, uint16_t thread, uint16_t age,
                double bytes)
{
    const struct hs_part_key key = { .stack_id = stack, .thread_id = thread, .age_class = age };
    const struct hs_estimate more = { .bytes = bytes, .count = 1, .bytes_var = 2, .count_var = 3 };
    hs_part_table_add(table, &key, &more);
}

/* Takes the parts, and checks their order. */
static struct hs_snap_part *take(struct hs_part_table *table, size_t max, size_t *ret_count)
{
    struct hs_snap_part *parts = hs_part_table_take(table, max, ret_count);
    assert_non_null(parts);
    for (size_t i = 1; i < *ret_count; i++) {
        const struct hs_snap_part *before = &parts[i - 1], *part = &parts[i];
        assert_true(before->key.stack_id <= part->key.stack_id);
        assert_true(before->key.stack_id < part->key.stack_id ||
                    before->amount.bytes <= part->amount.bytes);
    }
    return parts;
}

static void test_sums(void **state)
{
    struct hs_part_table *table = hs_part_table_new();
    size_t count;
    (void)state;
    add(table, 7, 1, 0, 100);
    add(table, 7, 1, 0, 50);
    add(table, 7, 1, 2, 10);
    add(table, 7, 2, 0, 1);
    add(table, 2, 1, 0, 5);
    struct hs_snap_part *parts = take(table, 100, &count);
    assert_int_equal(count, 4);
    assert_int_equal(parts[0].key.stack_id, 2);
    assert_int_equal(parts[3].key.thread_id, 1);
    assert_int_equal(parts[3].key.age_class, 0);
    assert_true(parts[3].amount.bytes == 150 && parts[3].amount.count == 2);
    assert_true(parts[3].amount.bytes_var == 4 && parts[3].amount.count_var == 6);
    free(parts);
    hs_part_table_free(table);
}

static void test_empty(void **state)
{
    struct hs_part_table *table = hs_part_table_new();
    size_t count;
    (void)state;
    free(take(table, 0, &count));
    assert_int_equal(count, 0);
    hs_part_table_free(table);
    hs_part_table_free(NULL);
}

/* More parts than are asked for: the largest stay, and the others of each stack are one. */
static void check_limit(size_t thread_count, size_t max, size_t kept_max)
{
    struct hs_part_table *table = hs_part_table_new();
    double sums[STACK_COUNT] = { 0 }, taken[STACK_COUNT] = { 0 };
    double largest_others = 0, smallest = 1e300;
    size_t count, others_count = 0;
    for (size_t i = 0; i < thread_count; i++) {
        for (uint32_t stack = 0; stack < STACK_COUNT; stack++) {
            double bytes = (double)(1 + (i * 7919 + stack) % thread_count);
            add(table, stack, (uint16_t)(i % 60000), (uint16_t)(i / 60000), bytes);
            sums[stack] += bytes;
        }
    }
    struct hs_snap_part *parts = take(table, max, &count);
    for (size_t i = 0; i < count; i++) {
        const struct hs_part_key *key = &parts[i].key;
        taken[key->stack_id] += parts[i].amount.bytes;
        if (key->thread_id == HS_PART_OTHERS) {
            assert_int_equal(key->type_id, HS_PART_OTHERS);
            assert_int_equal(key->age_class, HS_PART_OTHERS);
            largest_others = parts[i].amount.bytes;
            others_count++;
        } else {
            smallest = parts[i].amount.bytes < smallest ? parts[i].amount.bytes : smallest;
        }
    }
    assert_int_equal(others_count, STACK_COUNT);
    assert_true(count <= kept_max + STACK_COUNT);
    assert_true(largest_others > smallest);
    for (uint32_t stack = 0; stack < STACK_COUNT; stack++) {
        assert_true(taken[stack] == sums[stack]);
    }
    free(parts);
    hs_part_table_free(table);
}

static void test_limits(void **state)
{
    (void)state;
    check_limit(5000, 100, 100);
    check_limit(5000, 10000, 10000);
}

/* More than the table has room for: what comes late is with the others. */
static void test_full(void **state)
{
    (void)state;
    check_limit(200000, SIZE_MAX, UINT32_C(1) << 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
