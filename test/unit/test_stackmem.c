/*
 * Stack windows: a thread's own stack is verified once, any other stack page by page, and no window
 * includes a word that cannot be read.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/tables/region.h"
#include "client/thread/stackmem.h"
#include "client/thread/thread.h"
#include "client_fixture.h"
#include "rt/sys.h"

static int set_up(void **state)
{
    (void)state;
    if (fixture_region() != 0) {
        return -1;
    }
    hs_stackmem_init();
    return 0;
}

static void test_is_readable(void **state)
{
    (void)state;
    long page = sysconf(_SC_PAGESIZE);
    char *va =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(va, MAP_FAILED);
    assert_int_equal(mprotect(va + page, (size_t)page, PROT_NONE), 0);
    assert_true(hs_sys_is_readable((uintptr_t)va));
    assert_false(hs_sys_is_readable((uintptr_t)va + (uintptr_t)page));
    munmap(va, 2 * (size_t)page);
    assert_false(hs_sys_is_readable((uintptr_t)va));
    assert_false(hs_sys_is_readable(0));
}

/* Reads across its own frame and those above, which AddressSanitizer would report. */
__attribute__((no_sanitize("address"))) static void *look_at_own_stack(void *arg)
{
    (void)arg;
    volatile uint64_t here = 1;
    struct hs_thread *thread = hs_thread_self();
    struct hs_stack_window window;
    hs_stackmem_window(thread, (uint64_t)(uintptr_t)&here, &window);
    assert_in_range((uintptr_t)&here, window.lo_va, window.hi_va - 8);
    uint64_t sum = 0;
    for (uint64_t va = (uint64_t)(uintptr_t)&here; va + 8 <= window.hi_va; va += 8) {
        sum += *(volatile uint64_t *)(uintptr_t)va;
    }
    /* The second time, no system call is needed. */
    struct hs_stack_window again;
    hs_stackmem_window(thread, (uint64_t)(uintptr_t)&here, &again);
    assert_int_equal(again.hi_va, window.hi_va);
    return (void *)(uintptr_t)(sum | 1);
}

static void test_own_stacks(void **state)
{
    (void)state;
    assert_non_null(look_at_own_stack(NULL));
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, look_at_own_stack, NULL), 0);
    pthread_join(thread, &result);
    assert_non_null(result);
}

/* A coroutine's stack: four pages between two that are not mapped. */
static void test_foreign_stack(void **state)
{
    (void)state;
    const uint64_t page = 4096;
    uint8_t *va = mmap(NULL, 6 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(va, MAP_FAILED);
    assert_int_equal(mprotect(va + page, 4 * page, PROT_READ | PROT_WRITE), 0);
    uint64_t lo = (uint64_t)(uintptr_t)va + page;
    struct hs_stack_window window;
    hs_stackmem_window(hs_thread_self(), lo + 64, &window);
    assert_true(window.extend(&window, lo + 64));
    assert_in_range(window.hi_va, lo + 72, lo + 4 * page);
    assert_true(window.extend(&window, lo + 4 * page - 8));
    assert_in_range(window.hi_va, lo + 4 * page, lo + 4 * page);
    assert_false(window.extend(&window, lo + 4 * page));
    assert_false(window.extend(&window, lo + 4 * page - 4)); /* its second half is not mapped */
    assert_false(window.extend(&window, 8));
    assert_false(window.extend(&window, UINT64_MAX - 8));
    munmap(va, 6 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_readable),
        cmocka_unit_test(test_own_stacks),
        cmocka_unit_test(test_foreign_stack),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
