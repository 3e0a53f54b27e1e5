/* Blocks for samples of Python's objects: malloc's own, side by side. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/host/real.h"
#include "client/life/python_stash.h"
#include "rt/base.h"

#define BLOCKS 3000U

static unsigned calls;
static bool is_failing;

static void *count_malloc(size_t size_bytes)
{
    calls++;
    return is_failing ? NULL : malloc(size_bytes);
}

/* Asks for another block while the first is being taken, as a signal handler might. */
static void *inner;
static void *interrupted_malloc(size_t size_bytes)
{
    hs_real.malloc = count_malloc;
    inner = hs_python_stash_take(size_bytes);
    return malloc(size_bytes);
}

static int set_up(void **state)
{
    (void)state;
    hs_real_resolve();
    hs_real.malloc = count_malloc;
    calls = 0;
    is_failing = false;
    return 0;
}

/* Each is a block that free() takes, of the size that was asked for, and no other one's. */
static void test_blocks(void **state)
{
    static unsigned char *blocks[BLOCKS];
    (void)state;
    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t size_bytes = 1 + i % HS_PYTHON_SMALL_BYTES;
        blocks[i] = hs_python_stash_take(size_bytes);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        assert_true(malloc_usable_size(blocks[i]) >= size_bytes);
        memset(blocks[i], (int)i, size_bytes);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < 1 + i % HS_PYTHON_SMALL_BYTES; at++) {
            assert_int_equal(blocks[i][at], (unsigned char)i);
        }
        free(blocks[i]);
    }
}

/* Between what the program allocates there are few of them. */
static void test_side_by_side(void **state)
{
    static void *mine[BLOCKS], *blocks[BLOCKS];
    unsigned fillings = 0;
    (void)state;
    for (unsigned i = 0; i < BLOCKS; i++) {
        unsigned before = calls;
        blocks[i] = hs_python_stash_take(400);
        fillings += calls != before;
        mine[i] = malloc(100);
        assert_non_null(blocks[i]);
        assert_non_null(mine[i]);
    }
    assert_in_range(fillings, 5, 50);
    assert_in_range(calls, BLOCKS - 32768 / 400 - 1, BLOCKS + 32768 / 400 + 1);
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(mine[i]);
        free(blocks[i]);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    is_failing = true;
    unsigned left = 0;
    void *block;
    while ((block = hs_python_stash_take(48)) != NULL) {
        free(block);
        left++;
    }
    assert_in_range(left, 0, 32768 / 48);
    assert_null(hs_python_stash_take(48));
    is_failing = false;
    block = hs_python_stash_take(48);
    assert_non_null(block);
    free(block);
}

static void test_interrupted(void **state)
{
    (void)state;
    void *block;
    is_failing = true;
    while ((block = hs_python_stash_take(64)) != NULL) {
        free(block);
    }
    is_failing = false;
    hs_real.malloc = interrupted_malloc;
    void *outer = hs_python_stash_take(64);
    assert_non_null(outer);
    assert_non_null(inner);
    assert_ptr_not_equal(inner, outer);
    free(inner);
    free(outer);
}

/* A thread of the parent was at work. */
static void test_fork(void **state)
{
    (void)state;
    hs_python_stash_follow_fork();
    void *first = hs_python_stash_take(80);
    calls = 0;
    void *second = hs_python_stash_take(80);
    assert_non_null(second);
    assert_int_equal(calls, 0);
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_blocks, set_up),
        cmocka_unit_test_setup(test_side_by_side, set_up),
        cmocka_unit_test_setup(test_no_memory, set_up),
        cmocka_unit_test_setup(test_interrupted, set_up),
        cmocka_unit_test_setup(test_fork, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
