/* Chunks with mappings of their own: glibc's counters of them, and where they are looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/glibc_arena.h"
#include "collect/ledger/glibc_mmapped.h"
#include "collect/ledger/residency.h"
#include "rt/base.h"

#define PAGE_BYTES     4096U
#define FIRST_CHUNK_VA UINT64_C(0x555500001000)
#define CHUNK_COUNT    4U
#define CHUNK_BYTES    (3 * PAGE_BYTES)

/* The end of glibc's struct malloc_par, before version 2.35. */
struct par_234 {
    uint64_t arena_max;
    int32_t count, count_max, count_peak, has_fixed_threshold;
    uint64_t bytes, peak_bytes, first_chunk_va;
};

/* Since version 2.35. */
struct par_235 {
    uint64_t huge_page_bytes;
    int32_t huge_flags;
    int32_t count, count_max, count_peak, has_fixed_threshold;
    uint64_t bytes, peak_bytes, first_chunk_va;
};

static struct hs_glibc_mmapped_sum read_sum(const void *par, size_t par_bytes)
{
    uint64_t data[64] = { 0x10000, 7, FIRST_CHUNK_VA, 3 };
    struct hs_remote_window window;
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    memcpy(&data[20], par, par_bytes);
    struct hs_glibc_mmapped_sum sum = hs_glibc_mmapped_sum_read(
        &window, (uintptr_t)data, (uintptr_t)(data + HS_COUNT_OF(data)), FIRST_CHUNK_VA);
    hs_remote_window_close(&window);
    return sum;
}

static void test_counters_of_234(void **state)
{
    (void)state;
    struct par_234 par = {
        .count = 2,
        .count_max = 65536,
        .count_peak = 3,
        .has_fixed_threshold = 1,
        .bytes = 5 * PAGE_BYTES,
        .peak_bytes = 9 * PAGE_BYTES,
        .first_chunk_va = FIRST_CHUNK_VA,
    };
    struct hs_glibc_mmapped_sum sum = read_sum(&par, sizeof(par));
    assert_true(sum.is_known);
    assert_int_equal(sum.bytes, 5 * PAGE_BYTES);
    par.count = 0;
    par.bytes = 0;
    sum = read_sum(&par, sizeof(par));
    assert_true(sum.is_known);
    assert_int_equal(sum.bytes, 0);
}

static void test_counters_of_235(void **state)
{
    (void)state;
    struct par_235 par = {
        .huge_flags = 0x40000,
        .count = 1,
        .count_max = 65536,
        .count_peak = 1,
        .bytes = 2 * PAGE_BYTES,
        .peak_bytes = 2 * PAGE_BYTES,
        .first_chunk_va = FIRST_CHUNK_VA,
    };
    struct hs_glibc_mmapped_sum sum = read_sum(&par, sizeof(par));
    assert_true(sum.is_known);
    assert_int_equal(sum.bytes, 2 * PAGE_BYTES);
}

/* Zeros before the address of a chunk are no counters: "none" must not be read from them. */
static void test_no_counters(void **state)
{
    (void)state;
    struct par_234 par = { .first_chunk_va = FIRST_CHUNK_VA };
    assert_false(read_sum(&par, sizeof(par)).is_known);
    par = (struct par_234){ .count = 1, .count_max = 9, .first_chunk_va = FIRST_CHUNK_VA };
    assert_false(read_sum(&par, sizeof(par)).is_known);
    par = (struct par_234){ .count_max = 65536, .first_chunk_va = FIRST_CHUNK_VA + 16 };
    assert_false(read_sum(&par, sizeof(par)).is_known);
}

/* Four mappings that begin like chunks do. Blocks of two of them are recorded. */
struct chunks {
    uint8_t *memory;
    struct hs_pair recorded[2];
    struct hs_live_blocks blocks;
    struct hs_address_space space;
    struct hs_remote_window window;
    struct hs_va_ranges found;
};

static uint64_t chunk_va(const struct chunks *chunks, size_t i)
{
    return (uintptr_t)chunks->memory + i * 2 * CHUNK_BYTES;
}

static void make_chunks(struct chunks *chunks)
{
    *chunks = (struct chunks){ .memory = mmap(NULL, CHUNK_COUNT * (size_t)2 * CHUNK_BYTES,
                                              PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
    assert_ptr_not_equal(chunks->memory, MAP_FAILED);
    for (size_t i = 0; i < CHUNK_COUNT; i++) {
        uint8_t *at = chunks->memory + i * 2 * CHUNK_BYTES;
        const uint64_t head[2] = { 0, CHUNK_BYTES | HS_GLIBC_IS_MMAPPED };
        assert_int_equal(mprotect(at, CHUNK_BYTES, PROT_READ | PROT_WRITE), 0);
        memcpy(at, head, sizeof(head));
    }
    for (size_t i = 0; i < HS_COUNT_OF(chunks->recorded); i++) {
        chunks->recorded[i].key = chunk_va(chunks, 2 * i + 1) + HS_GLIBC_CHUNK_HEAD;
    }
    chunks->blocks = (struct hs_live_blocks){ .items = chunks->recorded, .count = 2 };
    assert_int_equal(hs_address_space_read(getpid(), &chunks->space), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &chunks->window), 0);
}

static void end_chunks(struct chunks *chunks)
{
    hs_va_ranges_deinit(&chunks->found);
    hs_remote_window_close(&chunks->window);
    hs_address_space_deinit(&chunks->space);
    munmap(chunks->memory, CHUNK_COUNT * (size_t)2 * CHUNK_BYTES);
}

/* How many of the four are found. */
static size_t count_found(struct chunks *chunks, struct hs_glibc_mmapped_sum sum, bool has_blocks)
{
    const struct hs_va_ranges no_arenas = { 0 };
    const struct hs_glibc_mmapped_search search = {
        .window = &chunks->window,
        .pagemap_fd = hs_residency_open(getpid()),
        .space = &chunks->space,
        .arenas = &no_arenas,
        .blocks = has_blocks ? &chunks->blocks : NULL,
        .sum = sum,
    };
    size_t count = 0;
    chunks->found.count = 0;
    assert_true(search.pagemap_fd >= 0);
    assert_int_equal(hs_glibc_mmapped_find(&search, &chunks->found), 0);
    close(search.pagemap_fd);
    for (size_t i = 0; i < chunks->found.count; i++) {
        for (size_t n = 0; n < CHUNK_COUNT; n++) {
            count += chunks->found.items[i].start_va == chunk_va(chunks, n) &&
                     chunks->found.items[i].end_va == chunk_va(chunks, n) + CHUNK_BYTES;
        }
    }
    return count;
}

static void test_recorded_blocks_are_enough(void **state)
{
    (void)state;
    struct chunks chunks;
    make_chunks(&chunks);
    struct hs_glibc_mmapped_sum sum = { true, 2 * CHUNK_BYTES };
    assert_int_equal(count_found(&chunks, sum, true), 2);
    assert_int_equal(chunks.found.count, 2);
    assert_int_equal(chunks.found.items[0].start_va, chunk_va(&chunks, 1));
    assert_int_equal(chunks.found.items[1].start_va, chunk_va(&chunks, 3));
    end_chunks(&chunks);
}

static void test_all_are_looked_for(void **state)
{
    (void)state;
    struct chunks chunks;
    make_chunks(&chunks);
    struct hs_glibc_mmapped_sum more = { true, 3 * CHUNK_BYTES }, unknown = { false, 0 };
    assert_int_equal(count_found(&chunks, more, true), CHUNK_COUNT);
    assert_int_equal(count_found(&chunks, more, false), CHUNK_COUNT);
    assert_int_equal(count_found(&chunks, unknown, true), CHUNK_COUNT);
    end_chunks(&chunks);
}

static void test_none(void **state)
{
    (void)state;
    struct chunks chunks;
    make_chunks(&chunks);
    assert_int_equal(count_found(&chunks, (struct hs_glibc_mmapped_sum){ true, 0 }, true), 0);
    assert_int_equal(chunks.found.count, 0);
    end_chunks(&chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_of_234),
        cmocka_unit_test(test_counters_of_235),
        cmocka_unit_test(test_no_counters),
        cmocka_unit_test(test_recorded_blocks_are_enough),
        cmocka_unit_test(test_all_are_looked_for),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
