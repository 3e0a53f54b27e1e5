/*
 * collect/ledger/mimalloc_segments: segments are recognized by the number that a known one has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/mimalloc_segments.h"
#include "collect/ledger/residency.h"

#define SEGMENT UINT64_C(0x2000000)
#define NUMBER  UINT64_C(0x9e3779b97f4a7c15)
#define WORD    37U /* of the head */

static void test_segments(void **state)
{
    (void)state;
    static const char name[] = "mimalloc";
    char *all = mmap(NULL, 6 * SEGMENT, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    uint64_t va = ((uint64_t)(uintptr_t)all + SEGMENT - 1) / SEGMENT * SEGMENT;
    uint64_t *heads[5];
    struct hs_va_ranges gaps = { 0 };
    struct hs_remote_window window;
    for (size_t i = 0; i < 5; i++) {
        heads[i] = (uint64_t *)(uintptr_t)(va + i * SEGMENT);
        heads[i][0] = 1;
        heads[i][1] = UINT64_MAX;
        heads[i][2] = (uint64_t)(uintptr_t)heads[0]; /* an address */
        assert_int_equal(hs_va_ranges_add(&gaps, va + i * SEGMENT, va + (i + 1) * SEGMENT), 0);
    }
    heads[0][WORD] = NUMBER ^ va;
    heads[1][WORD] = NUMBER ^ (va + SEGMENT);
    heads[2][WORD] = NUMBER ^ va;                     /* of another segment */
    heads[3][WORD + 1] = NUMBER ^ (va + 3 * SEGMENT); /* at another place */
    const char *names[5] = { name, NULL, NULL, NULL, NULL };
    int pagemap_fd = hs_residency_open(getpid());
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    hs_mimalloc_segments_find(&window, pagemap_fd, &gaps, name, names);
    assert_ptr_equal(names[1], name);
    assert_null(names[2]);
    assert_null(names[3]);
    assert_null(names[4]);
    names[0] = names[1] = NULL; /* none is known */
    hs_mimalloc_segments_find(&window, pagemap_fd, &gaps, name, names);
    assert_null(names[0]);
    assert_null(names[1]);
    hs_remote_window_close(&window);
    close(pagemap_fd);
    hs_va_ranges_deinit(&gaps);
    munmap(all, 6 * SEGMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_segments) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
