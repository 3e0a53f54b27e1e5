/* The lock-free index: entries are found while it grows, by other threads too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/tables/index.h"
#include "rt/bits.h"
#include "rt/check.h"

struct want {
    uint32_t id;
};

static bool is_id(void *ctx, uint32_t id)
{
    return ((struct want *)ctx)->id == id;
}

static uint32_t hash_of(uint32_t id)
{
    return (uint32_t)hs_mix64(id);
}

static bool has(const struct hs_index *index, uint32_t id)
{
    struct want want = { id };
    uint64_t value;
    return hs_index_find(index, hash_of(id), is_id, &want, &value) != NULL;
}

static bool take(const struct hs_index *index, uint32_t id)
{
    struct want want = { id };
    uint64_t value;
    uint64_t *slot = hs_index_find(index, hash_of(id), is_id, &want, &value);
    return slot && hs_index_remove(index, slot, value);
}

/* How often a table that grows large is checked as a whole. */
#define CHECK_EVERY 20000U

static void check_each(const struct hs_index *index, uint32_t step)
{
    if (step < 500 || step % CHECK_EVERY == 0) {
        HS_ASSERT(hs_index_is_valid(index));
    }
}

static void test_empty(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    HS_ASSERT(hs_index_is_valid(&index));
    assert_false(has(&index, 0));
    assert_true(hs_index_insert(&index, hash_of(0), 0));
    HS_ASSERT(hs_index_is_valid(&index));
    assert_true(has(&index, 0));
    assert_false(has(&index, 1));
    assert_true(take(&index, 0));
    HS_ASSERT(hs_index_is_valid(&index));
    assert_false(has(&index, 0));
    hs_index_clear(&index);
    HS_ASSERT(hs_index_is_valid(&index));
}

/* Every pattern of matching slots in a line, in the low halves and in the high ones. */
static void test_slots_of_a_line(void **state)
{
    (void)state;
    static const uint32_t other[] = { 1, 7, UINT32_MAX, 0x80000000 };
    for (unsigned bits = 0; bits < 256; bits++) {
        _Alignas(64) uint64_t with_high[8], with_low_0[8];
        for (unsigned i = 0; i < 8; i++) {
            bool is_match = bits >> i & 1;
            uint64_t noise = other[(bits + i) % 4];
            with_high[i] = (uint64_t)(is_match ? 7000000 : other[i % 4]) << 32 | 7000000;
            with_low_0[i] = noise << 32 | (is_match ? 0 : other[i % 4]);
        }
        assert_int_equal(hs_arch_slots_with_high(with_high, 7000000), bits);
        assert_int_equal(hs_arch_slots_with_low_0(with_low_0), bits);
    }
}

/* An empty slot has hash 0; an entry may have it too. */
static void test_hash_0(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    struct want want = { 5 };
    uint64_t value;
    assert_null(hs_index_find(&index, 0, is_id, &want, &value));
    assert_true(hs_index_insert(&index, 0, 4) && hs_index_insert(&index, 0, 5));
    HS_ASSERT(hs_index_is_valid(&index));
    uint64_t *slot = hs_index_find(&index, 0, is_id, &want, &value);
    assert_non_null(slot);
    assert_true(hs_index_remove(&index, slot, value));
    assert_null(hs_index_find(&index, 0, is_id, &want, &value));
    HS_ASSERT(hs_index_is_valid(&index));
}

static void test_grows(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    for (uint32_t id = 0; id < 200000; id++) {
        assert_true(hs_index_insert(&index, hash_of(id), id));
        /*
         * Everything can be found at any time, in particular while lines are moved to the next
         * level.
         */
        assert_true(has(&index, id));
        assert_true(has(&index, id / 2));
        check_each(&index, id);
    }
    for (uint32_t id = 0; id < 200000; id++) {
        assert_true(has(&index, id));
    }
    /* More than eight slots per entry would waste memory. */
    assert_true(hs_index_bytes(&index) < 200000 * 8 * 8);
    for (uint32_t id = 0; id < 200000; id++) {
        assert_true(take(&index, id));
        assert_false(has(&index, id));
        check_each(&index, id + 500);
    }
    HS_ASSERT(hs_index_is_valid(&index));
}

/* Equal hashes fill a group: growth must not loop without end. */
static void test_equal_hashes(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    uint32_t stored = 0;
    while (stored < 64 && hs_index_insert(&index, 7, stored)) {
        stored++;
        HS_ASSERT(hs_index_is_valid(&index));
    }
    assert_in_range(stored, 32, 64);
}

#define THREADS    4
#define PER_THREAD 60000U

struct job {
    struct hs_index *index;
    uint32_t first;
    uint32_t errors;
};

static void *churn(void *arg)
{
    struct job *job = arg;
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        uint32_t id = job->first + i;
        job->errors += !hs_index_insert(job->index, hash_of(id), id);
        job->errors += !has(job->index, id);
        if (i >= 1000) {
            job->errors += !take(job->index, id - 1000);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t] = (struct job){ &index, t * PER_THREAD, 0 };
        assert_int_equal(pthread_create(&threads[t], NULL, churn, &jobs[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(jobs[t].errors, 0);
    }
    HS_ASSERT(hs_index_is_valid(&index));
    for (uint32_t t = 0; t < THREADS; t++) {
        for (uint32_t i = 0; i < PER_THREAD; i++) {
            assert_int_equal(has(&index, t * PER_THREAD + i), i >= PER_THREAD - 1000);
        }
    }
}

/* However the index grew, all entries end in one level, and a search looks at that level only. */
static void test_one_level_in_the_end(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    for (uint32_t id = 0; id < 300000; id++) {
        assert_true(hs_index_insert(&index, hash_of(id), id));
    }
    /* New and removed entries move the rest to the next level. */
    for (uint32_t id = 300000; id < 900000; id++) {
        assert_true(hs_index_insert(&index, hash_of(id), id));
        assert_true(take(&index, id));
    }
    assert_int_equal(index.oldest, index.current);
    HS_ASSERT(hs_index_is_valid(&index));
}

/* A writer that found room in a level, and slept until the level was emptied and freed. */
static void test_late_writer(void **state)
{
    (void)state;
    struct hs_index index;
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 8));
    for (uint32_t id = 0; id < 10000; id++) {
        assert_true(hs_index_insert(&index, hash_of(id), id));
    }
    assert_true(index.oldest > 0);
    uint32_t late = 20000;
    uint64_t value = (uint64_t)hash_of(late) << 32 | (late + 1);
    assert_true(hs_index_settle(&index, 0, value));
    HS_ASSERT(hs_index_is_valid(&index));
    assert_true(has(&index, late));
    /* An entry that was moved does not exist twice. */
    assert_true(hs_index_settle(&index, 0, value));
    HS_ASSERT(hs_index_is_valid(&index));
    assert_true(take(&index, late));
    assert_false(has(&index, late));
}

/*
 * Entries that are inserted and removed for a long time need no larger index than as many permanent
 * ones.
 */
static void test_churn(void **state)
{
    (void)state;
    struct hs_index index;
    const uint32_t count = 30000; /* of 65536 slots */
    memset(&index, 0, sizeof(index));
    assert_true(hs_index_init(&index, 64));
    for (uint32_t id = 0; id < count; id++) {
        assert_true(hs_index_insert(&index, hash_of(id), id));
    }
    uint32_t level = index.current;
    uint64_t bytes = hs_index_bytes(&index);
    for (uint32_t id = count; id < 100 * count; id++) {
        assert_true(take(&index, id - count));
        assert_true(hs_index_insert(&index, hash_of(id), id));
        if (id % (10 * count) == 0) {
            HS_ASSERT(hs_index_is_valid(&index));
        }
    }
    assert_int_equal(index.current, level);
    assert_true(hs_index_bytes(&index) <= bytes);
}

static uint32_t halve(void *ctx, uint32_t hash, uint32_t id)
{
    *(uint32_t *)ctx += hash == hash_of(id);
    return id % 2 ? UINT32_MAX : id / 2;
}

static bool has_as(const struct hs_index *index, uint32_t hash, uint32_t id)
{
    struct want want = { id };
    uint64_t value;
    return hs_index_find(index, hash, is_id, &want, &value) != NULL;
}

/* Also while the index grows: an entry is found wherever it stands. */
static void test_renumber(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 3000; count = count * 3 / 2 + 1) {
        struct hs_index index;
        uint32_t asked = 0, found = 0;
        memset(&index, 0, sizeof(index));
        assert_true(hs_index_init(&index, 8));
        for (uint32_t id = 0; id < count; id++) {
            assert_true(hs_index_insert(&index, hash_of(id), id));
        }
        HS_ASSERT(hs_index_is_valid(&index));
        hs_index_renumber(&index, halve, &asked);
        HS_ASSERT(hs_index_is_valid(&index));
        assert_int_equal(asked, count);
        for (uint32_t id = 0; id < count; id++) {
            found += has_as(&index, hash_of(id), id / 2);
        }
        assert_int_equal(found, (count + 1) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_slots_of_a_line),
        cmocka_unit_test(test_hash_0),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_equal_hashes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_one_level_in_the_end),
        cmocka_unit_test(test_late_writer),
        cmocka_unit_test(test_renumber),
        cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
