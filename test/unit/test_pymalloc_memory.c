/*
 * collect/ledger/pymalloc_memory: pools are recognized by their headers, of either size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/pymalloc_memory.h"
#include "collect/ledger/residency.h"
#include "trace/ledger.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* The header of a pool at `va` of which `used_count` blocks are in use and two more were. */
static void make_header(uint64_t words[HS_PYMALLOC_HEADER_WORDS], uint64_t va, uint64_t pool_bytes,
                        uint64_t block_bytes, unsigned shift, uint64_t used_count)
{
    uint64_t class_idx = (block_bytes >> shift) - 1;
    words[0] = used_count;
    words[1] = va + 48 + block_bytes * used_count;
    words[2] = words[3] = va + 0x123450;
    words[4] = class_idx << 32 | 7;
    words[5] = (pool_bytes - block_bytes) << 32 | (48 + block_bytes * (used_count + 2));
}

static void test_headers(void **state)
{
    (void)state;
    uint64_t words[HS_PYMALLOC_HEADER_WORDS], used_bytes = 0;
    const uint64_t va = UINT64_C(0x7f1234568000);
    make_header(words, va, 16384, 96, 4, 30);
    assert_int_equal(hs_pymalloc_pool_bytes(va, words, &used_bytes), 16384);
    assert_int_equal(used_bytes, 30 * 96);
    assert_int_equal(hs_pymalloc_pool_bytes(va + 4096, words, &used_bytes), 0); /* another place */
    make_header(words, va + 4096, 4096, 24, 3, 5);
    assert_int_equal(hs_pymalloc_pool_bytes(va + 4096, words, &used_bytes), 4096);
    assert_int_equal(used_bytes, 5 * 24);
    words[1] = 0; /* no block is free */
    assert_int_equal(hs_pymalloc_pool_bytes(va + 4096, words, &used_bytes), 4096);
    words[1] = va + 4096 + 48 + 23; /* between two blocks */
    assert_int_equal(hs_pymalloc_pool_bytes(va + 4096, words, &used_bytes), 0);
    words[1] = 0;
    words[0] = 4096; /* more than there is room for */
    assert_int_equal(hs_pymalloc_pool_bytes(va + 4096, words, &used_bytes), 0);
    memset(words, 0, sizeof(words));
    assert_int_equal(hs_pymalloc_pool_bytes(va, words, &used_bytes), 0);
    memset(words, 0xff, sizeof(words));
    assert_int_equal(hs_pymalloc_pool_bytes(va, words, &used_bytes), 0);
}

/* An arena of 1 MiB between other memory, of which the kernel makes one mapping; every third pool
 * was never used. */
static void test_an_arena_in_other_memory(void **state)
{
    (void)state;
    uint8_t *all = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    uint64_t start_va = (uint64_t)(uintptr_t)all, expected_bytes = 0, pool_count = 0;
    uint64_t arena_va = (start_va + MIB + 16 * KIB - 1) / (16 * KIB) * (16 * KIB);
    memset(all, 0x5a, MIB / 2);
    memset(all + 3 * MIB, 0x5a, MIB / 2);
    for (uint64_t i = 0; i < 64; i++) {
        uint64_t va = arena_va + i * 16 * KIB;
        if (i % 3 != 2) {
            make_header((uint64_t *)(uintptr_t)va, va, 16 * KIB, 16 * (1 + i % 32), 4, i % 20);
            expected_bytes += 16 * (1 + i % 32) * (i % 20);
            pool_count++;
        }
    }
    struct hs_va_ranges gaps = { 0 };
    struct hs_owned_ranges owned = { 0 };
    struct hs_remote_window window;
    uint64_t used_bytes = 0, found_bytes = 0;
    int pagemap_fd = hs_residency_open(getpid());
    assert_int_equal(hs_va_ranges_add(&gaps, start_va, start_va + 4 * MIB), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    assert_int_equal(hs_pymalloc_memory_find(&window, pagemap_fd, &gaps, &owned, &used_bytes), 0);
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    for (size_t i = 0; i < owned.count; i++) {
        assert_int_equal(owned.items[i].kind, HS_LEDGER_ALLOCATOR);
        assert_true(owned.items[i].start_va >= arena_va);
        assert_true(owned.items[i].end_va <= arena_va + MIB);
        found_bytes += owned.items[i].end_va - owned.items[i].start_va;
    }
    assert_int_equal(found_bytes, pool_count * 16 * KIB);
    assert_int_equal(used_bytes, expected_bytes);
    hs_remote_window_close(&window);
    hs_owned_ranges_deinit(&owned);
    hs_va_ranges_deinit(&gaps);
    close(pagemap_fd);
    munmap(all, 4 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_an_arena_in_other_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
