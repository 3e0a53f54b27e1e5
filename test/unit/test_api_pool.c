/* Pools (api_pool.c, pool_chunks.c, pool_class.h): where blocks lie, what is reported, and what is
 * given back. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_pool.h"
#include "api_fixture.h"
#include "rt/check.h"

#include <heapscope/heapscope.h>

/* An allocator that counts, may fail, and may return memory at an odd address. */
struct below {
    size_t live_bytes;
    unsigned call_count;
    unsigned fail_at; /* the call that fails; 0: none */
    unsigned odd_at;
};

#define GUARD_BYTES 64U

static void *alloc_below(void *data, size_t size_bytes)
{
    struct below *below = data;
    below->call_count++;
    if (below->call_count == below->fail_at) {
        return NULL;
    }
    below->live_bytes += size_bytes;
    char *memory = aligned_alloc(16, (size_bytes + GUARD_BYTES + 31) / 16 * 16);
    assert_non_null(memory);
    memory += below->call_count == below->odd_at ? 8 : 0;
    memset(memory + size_bytes, 0xa5, GUARD_BYTES);
    return memory;
}

static void free_below(void *data, void *memory, size_t size_bytes)
{
    struct below *below = data;
    assert_non_null(memory);
    below->live_bytes -= size_bytes;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(((unsigned char *)memory)[size_bytes + i], 0xa5);
    }
    free((void *)((uintptr_t)memory & ~(uintptr_t)15));
}

static heapscope_pool *create(struct below *below, size_t chunk_bytes)
{
    struct heapscope_pool_options options = {
        .chunk_bytes = chunk_bytes,
        .alloc = alloc_below,
        .free = free_below,
        .data = below,
    };
    heapscope_pool *pool = heapscope_pool_create("objects", &options);
    assert_non_null(pool);
    return pool;
}

/* Is the pool's structure as it should be? Release builds do not contain the check. */
static bool is_valid(const heapscope_pool *pool)
{
#if HS_HAS_CHECKS
    return hs_pool_chunks_is_valid(&pool->chunks);
#else
    return pool != NULL;
#endif
}

static void test_classes(void **state)
{
    (void)state;
    for (uint32_t units = 1; units <= 1U << 18; units++) {
        uint32_t class_id = hs_pool_class_of(units);
        assert_in_range(class_id, 1, HS_POOL_CLASSES - 1);
        assert_true(hs_pool_class_units(class_id) >= units);
        assert_true(class_id == 1 || hs_pool_class_units(class_id - 1) < units);
        assert_true(hs_pool_class_units(class_id) * 4 <= units * 5 + 3);
    }
    assert_int_equal(hs_pool_class_of(1U << 18), HS_POOL_CLASSES - 1);
}

static void test_options(void **state)
{
    (void)state;
    heapscope_pool *pool = heapscope_pool_create("defaults", NULL);
    assert_non_null(pool);
    assert_int_equal(pool->chunks.chunk_bytes, HS_POOL_CHUNK_BYTES_DEFAULT);
    assert_int_equal(heapscope_pool_heap(pool), 1);
    heapscope_pool_destroy(pool);
    static const size_t chunks_bytes[][2] = { { 4096, 4096 },
                                              { 5000, 5008 },
                                              { 16U << 20, 16U << 20 } };
    for (size_t i = 0; i < 3; i++) {
        struct heapscope_pool_options options = { .chunk_bytes = chunks_bytes[i][0] };
        pool = heapscope_pool_create("defaults", &options);
        assert_int_equal(pool->chunks.chunk_bytes, chunks_bytes[i][1]);
        heapscope_pool_destroy(pool);
    }
    heapscope_pool_destroy(NULL);
    uint32_t count = hs_heap_table.heap_count;
    char name[65];
    memset(name, 'x', 64);
    name[64] = '\0';
    struct {
        const char *name;
        struct heapscope_pool_options options;
        int err;
    } cases[] = {
        { NULL, { 0 }, EINVAL },
        { "", { 0 }, EINVAL },
        { name, { 0 }, ENAMETOOLONG },
        { "p", { .chunk_bytes = 1 }, EINVAL },
        { "p", { .chunk_bytes = 4080 }, EINVAL },
        { "p", { .chunk_bytes = (16U << 20) + 1 }, EINVAL },
        { "p", { .chunk_bytes = SIZE_MAX }, EINVAL },
        { "p", { .alloc = alloc_below }, EINVAL },
        { "p", { .free = free_below }, EINVAL },
        { "p", { .heap = count }, EINVAL },
        { "p", { .heap = UINT32_MAX }, EINVAL },
        { "p", { .parent = count }, EINVAL },
        { "p", { .heap = 1, .parent = 1 }, EINVAL },
        { "p", { .reserved = { 0, 0, 0, 1 } }, EINVAL },
        { "p", { .reserved = { 1 } }, EINVAL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %zu\n", i);
        errno = 0;
        assert_null(heapscope_pool_create(cases[i].name, &cases[i].options));
        assert_int_equal(errno, cases[i].err);
    }
    assert_int_equal(hs_heap_table.heap_count, count);
}

static void test_heaps_of_pools(void **state)
{
    (void)state;
    heapscope_heap *own = heapscope_heap_create("shared");
    uint32_t own_id = heapscope_heap_register(own);
    heapscope_pool *first = heapscope_pool_create("shared", NULL);
    uint32_t id = heapscope_pool_heap(first);
    assert_int_not_equal(id, own_id); /* the program's heap of that name is another */
    assert_int_equal(hs_heap_table.heaps[id].flags, HS_API_HEAP_REGISTERED);
    heapscope_pool *second = heapscope_pool_create("shared", NULL);
    assert_int_equal(heapscope_pool_heap(second), id);
    struct heapscope_pool_options options = { .parent = own_id };
    heapscope_pool *inner = heapscope_pool_create("shared", &options);
    uint32_t inner_id = heapscope_pool_heap(inner);
    assert_int_not_equal(inner_id, id);
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, own_id);
    options = (struct heapscope_pool_options){ .heap = own_id };
    heapscope_pool *given = heapscope_pool_create(NULL, &options);
    assert_int_equal(heapscope_pool_heap(given), own_id);
    heapscope_pool_destroy(first);
    heapscope_pool_destroy(second);
    heapscope_pool_destroy(inner);
    heapscope_pool_destroy(given);
    first = heapscope_pool_create("shared", NULL);
    assert_int_equal(heapscope_pool_heap(first), id);
    heapscope_pool_destroy(first);
    assert_int_equal(heapscope_pool_heap(NULL), 0);
}

/* Live blocks by the reports. */
static size_t reported_live(uint32_t heap, uint64_t *ret_bytes)
{
    size_t live_count = 0;
    *ret_bytes = 0;
    assert_in_range(client_report_count, 0, CLIENT_REPORTS_MAX);
    for (unsigned i = 0; i < client_report_count; i++) {
        const struct client_report *report = &client_reports[i];
        if (report->heap != heap) {
            continue;
        }
        if (report->call == CLIENT_ALLOC) {
            live_count++;
            *ret_bytes += report->size_bytes;
            continue;
        }
        unsigned k = i; /* the block that is freed is live: its last report is an allocation */
        do {
            assert_int_not_equal(k, 0);
            k--;
        } while (client_reports[k].heap != heap || client_reports[k].id != report->id);
        assert_int_equal(client_reports[k].call, CLIENT_ALLOC);
        live_count--;
        *ret_bytes -= client_reports[k].size_bytes;
    }
    return live_count;
}

static void test_blocks(void **state)
{
    struct below below = { 0 };
    static const size_t sizes[] = { 0, 1, 16, 17, 512, 513, 1000, 1024, 1025, 5000, 1 << 20 };
    static const size_t aligns[] = { 1, 8, 16, 32, 64, 256, 4096, 65536 };
    enum { N = sizeof(sizes) / sizeof(sizes[0]), M = sizeof(aligns) / sizeof(aligns[0]) };
    static char *blocks[N][M];
    uint64_t bytes, expected_bytes = 0;
    (void)state;
    client_appear(true);
    heapscope_pool *pool = create(&below, 4096);
    uint32_t heap = heapscope_pool_heap(pool);
    client_report_count = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < M; k++) {
            blocks[i][k] = heapscope_pool_alloc_aligned(pool, sizes[i], aligns[k]);
            assert_non_null(blocks[i][k]);
            assert_int_equal((uintptr_t)blocks[i][k] % (aligns[k] < 16 ? 16 : aligns[k]), 0);
            memset(blocks[i][k], (int)(i * M + k), sizes[i]);
            assert_true(is_valid(pool));
            expected_bytes += sizes[i];
        }
    }
    assert_int_equal(reported_live(heap, &bytes), N * M);
    assert_int_equal(bytes, expected_bytes);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < M; k++) {
            for (size_t at = 0; at < sizes[i]; at += sizes[i] / 7 + 1) {
                assert_int_equal((unsigned char)blocks[i][k][at], i * M + k); /* none overlaps */
            }
            if ((i + k) % 2 == 0) {
                assert_int_equal(heapscope_pool_free(pool, blocks[i][k]), 0);
                assert_true(is_valid(pool));
            }
        }
    }
    assert_int_equal(reported_live(heap, &bytes), N * M / 2);
    assert_int_equal(heapscope_pool_free(pool, NULL), 0);
    heapscope_pool_destroy(pool); /* frees the other half */
    assert_int_equal(reported_live(heap, &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(below.live_bytes, 0);
}

/* 16 bytes of administration, and the size rounded up; above a quarter of a chunk, a chunk. */
static void test_where_blocks_lie(void **state)
{
    struct below below = { 0 };
    static const size_t distances[][2] = {
        { 0, 32 }, { 1, 32 }, { 16, 32 }, { 17, 48 }, { 512, 528 }
    };
    (void)state;
    heapscope_pool *pool = create(&below, 8192);
    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        char *first = heapscope_pool_alloc(pool, distances[i][0]);
        char *second = heapscope_pool_alloc_aligned(pool, distances[i][0], 16);
        assert_int_equal(second - first, distances[i][1]);
    }
    unsigned before = below.call_count;
    assert_non_null(heapscope_pool_alloc(pool, 2048));
    assert_int_equal(below.call_count, before);
    assert_non_null(heapscope_pool_alloc(pool, 2049));
    assert_int_equal(below.call_count, before + 1);
    assert_non_null(heapscope_pool_alloc(pool, 16)); /* in the chunk that was there before */
    assert_int_equal(below.call_count, before + 1);
    heapscope_pool_destroy(pool);
    assert_int_equal(below.live_bytes, 0);
}

static void test_blocks_are_used_again(void **state)
{
    struct below below = { 0 };
    (void)state;
    heapscope_pool *pool = create(&below, 4096);
    void *first = heapscope_pool_alloc(pool, 100);
    assert_int_equal(heapscope_pool_free(pool, first), 0);
    assert_ptr_equal(heapscope_pool_alloc(pool, 97), first); /* of the same class */
    unsigned before = below.call_count;
    for (int i = 0; i < 10000; i++) {
        void *block = heapscope_pool_alloc(pool, 200);
        assert_int_equal(heapscope_pool_free(pool, block), 0);
    }
    assert_int_equal(below.call_count, before);
    void *large = heapscope_pool_alloc(pool, 100000);
    assert_int_equal(below.call_count, before + 1);
    size_t with_large_bytes = below.live_bytes;
    assert_int_equal(heapscope_pool_free(pool, large), 0);
    assert_true(below.live_bytes <= with_large_bytes - 100000);
    heapscope_pool_destroy(pool);
    assert_int_equal(below.live_bytes, 0);
}

static void test_what_is_no_block(void **state)
{
    struct below below = { 0 };
    char memory[64] __attribute__((aligned(16))) = { 0 };
    (void)state;
    client_appear(true);
    heapscope_pool *pool = create(&below, 0);
    heapscope_pool *other = create(&below, 0);
    char *block = heapscope_pool_alloc(pool, 100);
    char *aligned = heapscope_pool_alloc_aligned(pool, 100, 256);
    char *foreign = heapscope_pool_alloc(other, 100);
    memset(block, 0, 100);
    client_report_count = 0;
    assert_int_equal(heapscope_pool_free(pool, memory + 32), -EINVAL);
    assert_int_equal(heapscope_pool_free(pool, block + 8), -EINVAL);
    assert_int_equal(heapscope_pool_free(pool, block + 16), -EINVAL);
    assert_int_equal(heapscope_pool_free(pool, foreign), -EINVAL);
    assert_int_equal(heapscope_pool_free(NULL, block), -EINVAL);
    assert_int_equal(client_report_count, 0);
    assert_int_equal(heapscope_pool_free(pool, block), 0);
    assert_int_equal(heapscope_pool_free(pool, block), -EINVAL); /* twice */
    assert_int_equal(heapscope_pool_free(pool, aligned), 0);
    assert_int_equal(heapscope_pool_free(pool, aligned), -EINVAL);
    assert_int_equal(client_report_count, 2);
    assert_true(is_valid(pool));
    heapscope_pool_destroy(pool);
    heapscope_pool_destroy(other);
}

static void test_failures(void **state)
{
    struct below below = { .fail_at = 1 };
    struct heapscope_pool_options options = { .alloc = alloc_below,
                                              .free = free_below,
                                              .data = &below };
    (void)state;
    client_appear(true);
    errno = 0;
    assert_null(heapscope_pool_create("objects", &options));
    assert_int_equal(errno, ENOMEM);
    below = (struct below){ .odd_at = 1 };
    assert_null(heapscope_pool_create("objects", &options)); /* an address that is not aligned */
    assert_int_equal(below.live_bytes, 0);
    for (unsigned odd = 0; odd < 2; odd++) {
        below = (struct below){ .fail_at = odd ? 0 : 2, .odd_at = odd ? 2 : 0 };
        heapscope_pool *pool = create(&below, 0);
        client_report_count = 0;
        errno = 0;
        assert_null(heapscope_pool_alloc(pool, 10));
        assert_int_equal(errno, ENOMEM);
        below.fail_at = odd ? 0 : 3;
        below.odd_at = odd ? 3 : 0;
        assert_null(heapscope_pool_alloc(pool, 1 << 20));
        errno = 0;
        assert_null(heapscope_pool_alloc(pool, SIZE_MAX));
        assert_int_equal(errno, ENOMEM);
        assert_null(heapscope_pool_alloc(pool, PTRDIFF_MAX));
        errno = 0;
        assert_null(heapscope_pool_alloc_aligned(pool, 10, 24));
        assert_int_equal(errno, EINVAL);
        assert_null(heapscope_pool_alloc_aligned(pool, 10, 0));
        assert_null(heapscope_pool_alloc_aligned(pool, 10, (size_t)2 << 30));
        assert_null(heapscope_pool_alloc(NULL, 10));
        assert_int_equal(client_report_count, 0);
        assert_non_null(heapscope_pool_alloc(pool, 10));
        assert_int_equal(client_report_count, 1);
        assert_true(is_valid(pool));
        heapscope_pool_destroy(pool);
        assert_int_equal(below.live_bytes, 0);
    }
}

static void test_trim(void **state)
{
    struct below below = { 0 };
    void *blocks[200];
    (void)state;
    heapscope_pool *pool = create(&below, 4096);
    size_t empty_bytes = below.live_bytes;
    assert_int_equal(heapscope_pool_trim(pool), 0);
    assert_int_equal(heapscope_pool_trim(NULL), 0);
    for (int i = 0; i < 200; i++) {
        blocks[i] = heapscope_pool_alloc(pool, 100);
    }
    size_t full_bytes = below.live_bytes;
    assert_int_equal(heapscope_pool_trim(pool), 0);
    for (int i = 0; i < 199; i++) { /* the last one stays */
        heapscope_pool_free(pool, blocks[i]);
    }
    assert_int_equal(below.live_bytes, full_bytes);
    size_t trimmed_bytes = heapscope_pool_trim(pool);
    assert_int_equal(below.live_bytes, full_bytes - trimmed_bytes);
    assert_int_equal(below.live_bytes, empty_bytes + 4096);
    assert_true(is_valid(pool));
    for (int i = 0; i < 100; i++) { /* what is left is used, and new chunks are taken */
        blocks[i] = heapscope_pool_alloc(pool, 100);
        assert_true(is_valid(pool));
    }
    for (int i = 0; i < 100; i++) {
        heapscope_pool_free(pool, blocks[i]);
    }
    heapscope_pool_free(pool, blocks[199]);
    heapscope_pool_trim(pool);
    assert_int_equal(below.live_bytes, empty_bytes);
    assert_true(is_valid(pool));
    assert_non_null(heapscope_pool_alloc(pool, 100));
    assert_true(is_valid(pool));
    heapscope_pool_destroy(pool);
    assert_int_equal(below.live_bytes, 0);
}

/* A pool whose memory comes from another pool: both report, each to its heap. */
static void *alloc_outer(void *data, size_t size_bytes)
{
    return heapscope_pool_alloc(data, size_bytes);
}

static void free_outer(void *data, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    assert_int_equal(heapscope_pool_free(data, memory), 0);
}

static void test_a_pool_in_a_pool(void **state)
{
    uint64_t bytes;
    (void)state;
    client_appear(true);
    heapscope_pool *outer = heapscope_pool_create("outer", NULL);
    uint32_t outer_heap = heapscope_pool_heap(outer);
    struct heapscope_pool_options options = {
        .parent = outer_heap,
        .chunk_bytes = 8192,
        .alloc = alloc_outer,
        .free = free_outer,
        .data = outer,
    };
    client_report_count = 0;
    heapscope_pool *inner = heapscope_pool_create("inner", &options);
    uint32_t inner_heap = heapscope_pool_heap(inner);
    for (int i = 0; i < 100; i++) {
        assert_non_null(heapscope_pool_alloc(inner, 500));
    }
    assert_int_equal(reported_live(inner_heap, &bytes), 100);
    assert_int_equal(bytes, 50000);
    size_t chunk_count = reported_live(outer_heap, &bytes);
    assert_in_range(chunk_count, 2, 100);
    assert_true(bytes > 50000);
    heapscope_pool_destroy(inner);
    assert_int_equal(reported_live(inner_heap, &bytes), 0);
    assert_int_equal(reported_live(outer_heap, &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_true(is_valid(outer));
    heapscope_pool_destroy(outer);
}

/* While the pool's blocks are reported, a callback uses the same pool. */
static heapscope_pool *pool_of_callback;

static void use_pool(void *data, uint64_t interval_bytes)
{
    (void)interval_bytes;
    *(void **)data = heapscope_pool_alloc(pool_of_callback, 10);
}

static void test_a_callback_uses_the_pool(void **state)
{
    void *block = NULL;
    (void)state;
    client_appear(false);
    heapscope_heap *heap = heapscope_heap_create("with callback");
    heapscope_heap_set_callbacks(heap, use_pool, NULL, &block);
    struct heapscope_pool_options options = { .heap = heapscope_heap_register(heap) };
    pool_of_callback = heapscope_pool_create(NULL, &options);
    client_session(true);
    hs_heap_table.heaps[options.heap].client_heap = 0; /* so that the report polls */
    assert_non_null(heapscope_pool_alloc(pool_of_callback, 10));
    assert_non_null(block);
    heapscope_pool_destroy(pool_of_callback);
    hs_heap_table.heaps[options.heap].on_enabled = NULL;
}

static void *use_by_thread(void *arg)
{
    heapscope_pool *pool = arg;
    void *blocks[50] = { NULL };
    uint32_t random = (uint32_t)(uintptr_t)blocks | 1;
    for (int i = 0; i < 5000; i++) {
        random = random * 1664525 + 1013904223;
        void **block = &blocks[random >> 16 & 31];
        if (*block) {
            assert_int_equal(*(void ***)*block, block);
            assert_int_equal(heapscope_pool_free(pool, *block), 0);
            *block = NULL;
        } else {
            *block = heapscope_pool_alloc(pool, 8 + (random >> 8 & 2047));
            *(void ***)*block = block;
        }
        if (i % 500 == 0) {
            heapscope_pool_trim(pool);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct below below = { 0 };
    pthread_t threads[4];
    (void)state;
    heapscope_pool *pool = heapscope_pool_create("threads", NULL);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, use_by_thread, pool);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(is_valid(pool));
    heapscope_pool_destroy(pool);
    assert_int_equal(below.live_bytes, 0);
}

static void test_more_pools_than_heaps(void **state)
{
    char name[32];
    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "pool %d", i);
        bool is_full = hs_heap_table.heap_count == HS_API_HEAPS;
        heapscope_pool *pool = heapscope_pool_create(name, NULL);
        assert_non_null(pool);
        assert_int_equal(heapscope_pool_heap(pool) == 0, is_full);
        assert_non_null(heapscope_pool_alloc(pool, 100));
        heapscope_pool_destroy(pool);
    }
    assert_int_equal(hs_heap_table.heap_count, HS_API_HEAPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test_setup(test_options, client_vanish),
        cmocka_unit_test_setup(test_heaps_of_pools, client_vanish),
        cmocka_unit_test_setup(test_blocks, client_vanish),
        cmocka_unit_test_setup(test_where_blocks_lie, client_vanish),
        cmocka_unit_test_setup(test_blocks_are_used_again, client_vanish),
        cmocka_unit_test_setup(test_what_is_no_block, client_vanish),
        cmocka_unit_test_setup(test_failures, client_vanish),
        cmocka_unit_test_setup(test_trim, client_vanish),
        cmocka_unit_test_setup(test_a_pool_in_a_pool, client_vanish),
        cmocka_unit_test_setup(test_a_callback_uses_the_pool, client_vanish),
        cmocka_unit_test_setup(test_threads, client_vanish),
        cmocka_unit_test_setup(test_more_pools_than_heaps, client_vanish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
