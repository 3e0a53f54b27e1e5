/*
 * The rule cache: a lookup returns what was stored for that pc, also while threads write and flush.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/bits.h"
#include "unwind/rule_cache.h"

#define MAX_COUNT (HS_RULE_CACHE_MIN * 8)

static struct hs_rule_entry *entries;
static struct hs_rule_cache cache;

static int setup(void **state)
{
    (void)state;
    free(entries);
    entries = calloc(MAX_COUNT, sizeof(entries[0]));
    hs_rule_cache_init(&cache, entries, MAX_COUNT);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    free(entries);
    entries = NULL;
    return 0;
}

static void insert(uint64_t pc, bool is_exact, uint64_t word)
{
    hs_rule_cache_insert(&cache, pc,
                         hs_rule_cache_key(pc, is_exact, hs_rule_cache_generation(&cache)), word);
}

static bool find(uint64_t pc, bool is_exact, uint64_t *ret_word)
{
    return hs_rule_cache_find(cache.entries, hs_load_relaxed(&cache.mask), pc,
                              hs_rule_cache_key(pc, is_exact, hs_rule_cache_generation(&cache)),
                              ret_word);
}

static void assert_finds(uint64_t pc, bool is_exact, uint64_t word)
{
    uint64_t found = 0;
    assert_true(find(pc, is_exact, &found));
    assert_int_equal(found, word);
}

static void assert_misses(uint64_t pc, bool is_exact)
{
    uint64_t found;
    assert_false(find(pc, is_exact, &found));
}

static void test_find(void **state)
{
    (void)state;
    assert_misses(0, false);
    assert_misses(0x401000, false);
    insert(0x401000, false, 7);
    insert(0x401234, false, UINT64_MAX);
    assert_finds(0x401000, false, 7);
    assert_finds(0x401234, false, UINT64_MAX);
    assert_misses(0x401001, false);
    assert_misses(0x401000, true);
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    insert(0x401000, true, 8);
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    assert_finds(0x401000, true, 8);
    assert_finds(0x401000, false, 7);
    assert_int_equal(cache.miss_count, 3);
}

/* Two entries of the same slot are kept side by side; a third one replaces the oldest. */
static void test_neighbours(void **state)
{
    (void)state;
    const uint64_t a = 0x401000, b = a + HS_RULE_CACHE_MIN, c = b + HS_RULE_CACHE_MIN;
    insert(a, false, 1);
    insert(b, false, 2);
    assert_finds(a, false, 1);
    assert_finds(b, false, 2);
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    insert(c, false, 3);
    HS_ASSERT(hs_rule_cache_is_valid(&cache));
    assert_finds(c, false, 3);
    assert_finds(b, false, 2);
    assert_misses(a, false);
}

static void test_flush(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t old = hs_rule_cache_generation(&cache);
        insert(0x401000, false, i);
        assert_finds(0x401000, false, i);
        hs_rule_cache_flush(&cache);
        assert_misses(0x401000, false);
        assert_int_not_equal(hs_rule_cache_generation(&cache), old);
        /* A walk that began before continues with the rules that it knows. */
        uint64_t word = 0;
        assert_true(hs_rule_cache_find(cache.entries, cache.mask, 0x401000,
                                       hs_rule_cache_key(0x401000, false, old), &word));
        assert_int_equal(word, i);
    }
}

/* Halves of two entries are not an entry. */
static void test_torn(void **state)
{
    (void)state;
    insert(0x401000, false, 111);
    struct hs_rule_entry first = entries[hs_rule_cache_idx(0x401000, cache.mask)];
    insert(0x401000, false, 222);
    entries[hs_rule_cache_idx(0x401000, cache.mask)].check = first.check;
    entries[hs_rule_cache_idx(0x401000, cache.mask) ^ 1] = (struct hs_rule_entry){ 0 };
    assert_misses(0x401000, false);
    hs_rule_cache_flush(&cache); /* such a pair is at no pc's place */
}

static void test_growth(void **state)
{
    (void)state;
    uint64_t pc = 0x401000;
    assert_int_equal(cache.mask, HS_RULE_CACHE_MIN - 1);
    for (unsigned i = 0; i < 100; i++) {
        insert(pc + 64 * i, false, i);
        HS_ASSERT(hs_rule_cache_is_valid(&cache));
    }
    assert_int_equal(cache.mask, HS_RULE_CACHE_MIN - 1); /* the cache of a small program stays
                                                          * small */
    for (unsigned i = 0; i < MAX_COUNT * 4; i++) {
        insert(pc + hs_mix64(i) % (1 << 24), false, i);
        if (i % 64 == 0) {
            HS_ASSERT(hs_rule_cache_is_valid(&cache));
        }
        assert_in_range(cache.mask, HS_RULE_CACHE_MIN - 1, MAX_COUNT - 1);
        assert_int_equal((cache.mask + 1) & cache.mask, 0);
    }
    assert_int_equal(cache.mask, MAX_COUNT - 1);
}

static int is_done;

static uint64_t word_for(uint64_t pc)
{
    return hs_mix64(pc);
}

static void *hammer(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg, wrong = 0;
    for (unsigned i = 0; i < 200000; i++) {
        random = hs_mix64(random + i);
        uint64_t pc = 0x401000 + random % 5000, word;
        if (find(pc, false, &word)) {
            wrong += word != word_for(pc);
        } else {
            insert(pc, false, word_for(pc));
        }
    }
    return (void *)(uintptr_t)wrong;
}

static void *flush_often(void *arg)
{
    (void)arg;
    while (!hs_load_relaxed(&is_done)) {
        hs_rule_cache_flush(&cache);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4], flusher;
    void *wrong;
    is_done = 0;
    assert_int_equal(pthread_create(&flusher, NULL, flush_often, NULL), 0);
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    hs_store_relaxed(&is_done, 1);
    pthread_join(flusher, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
        cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flush, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_growth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
