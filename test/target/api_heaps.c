/*
 * Allocators of many kinds in one process, each a heap of its own, beside malloc. What they
 * allocate and free is known exactly; the program prints it in the end:
 *
 *     heap live_bytes live_count allocated_bytes allocated_count
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

#define KINDS 5

struct truth {
    const char *name;
    uint32_t heap;
    uint64_t live_bytes, live_count, allocated_bytes, allocated_count;
};

static struct truth truths[KINDS] = { { .name = "ids" },
                                      { .name = "equal" },
                                      { .name = "slab" },
                                      { .name = "outer" },
                                      { .name = "inner" } };
static int enabled_count;

static void on_enabled(void *data, uint64_t interval_bytes)
{
    (void)data;
    (void)interval_bytes;
    free(malloc(100)); /* a callback may allocate */
    enabled_count++;
}

static void allocated(struct truth *truth, uint64_t size_bytes)
{
    truth->live_bytes += size_bytes;
    truth->live_count++;
    truth->allocated_bytes += size_bytes;
    truth->allocated_count++;
}

static void freed(struct truth *truth, uint64_t size_bytes)
{
    truth->live_bytes -= size_bytes;
    truth->live_count--;
}

__attribute__((noinline)) static void report_alloc(struct truth *truth, uint64_t id,
                                                   uint64_t size_bytes)
{
    heapscope_report_alloc(truth->heap, id, size_bytes);
    allocated(truth, size_bytes);
}

__attribute__((noinline)) static void report_free(struct truth *truth, uint64_t id,
                                                  uint64_t size_bytes)
{
    heapscope_report_free(truth->heap, id);
    freed(truth, size_bytes);
}

/* Numbers that are no addresses, above 2^47, and the same ones in two heaps. */
static void use_ids(void)
{
    for (uint64_t i = 0; i < 100; i++) {
        report_alloc(&truths[0], UINT64_MAX - i, 1000 + i);
        report_alloc(&truths[1], UINT64_MAX - i, 10);
    }
    for (uint64_t i = 0; i < 60; i++) {
        report_free(&truths[0], UINT64_MAX - i, 1000 + i);
    }
    for (uint64_t i = 0; i < 7; i++) { /* never allocated */
        heapscope_report_free(truths[1].heap, 12345 + i);
    }
}

/* Objects in a block of malloc's, whose first object has the block's own address. */
static void use_slab(void)
{
    char *slab = malloc(1 << 20);
    for (uint64_t i = 0; i < 1000; i++) {
        report_alloc(&truths[2], (uintptr_t)slab + i * 1000, 1000);
    }
    for (uint64_t i = 0; i < 900; i++) {
        report_free(&truths[2], (uintptr_t)slab + i * 1000, 1000);
    }
}

static void *alloc_outer(void *pool, size_t size_bytes)
{
    allocated(&truths[3], size_bytes);
    return heapscope_pool_alloc(pool, size_bytes);
}

static void free_outer(void *pool, void *memory, size_t size_bytes)
{
    freed(&truths[3], size_bytes);
    heapscope_pool_free(pool, memory);
}

/* A pool in a pool; half of what the inner one has is freed with it. */
static void use_pools(heapscope_pool **ret_outer, heapscope_pool **ret_inner)
{
    heapscope_pool *outer = heapscope_pool_create("outer", NULL);
    struct heapscope_pool_options options = {
        .parent = heapscope_pool_heap(outer),
        .alloc = alloc_outer,
        .free = free_outer,
        .data = outer,
    };
    heapscope_pool *inner = heapscope_pool_create("inner", &options);
    for (int i = 0; i < 1000; i++) {
        heapscope_pool_alloc(inner, 300);
        allocated(&truths[4], 300);
    }
    heapscope_pool_destroy(inner);
    truths[4].live_bytes = truths[4].live_count = 0;
    inner = heapscope_pool_create("inner", &options);
    heapscope_pool_alloc(inner, 77);
    allocated(&truths[4], 77);
    *ret_outer = outer;
    *ret_inner = inner;
}

int main(void)
{
    heapscope_pool *outer, *inner;
    for (int i = 0; i < 3; i++) {
        heapscope_heap *heap = heapscope_heap_create(truths[i].name);
        heapscope_heap_set_callbacks(heap, on_enabled, NULL, NULL);
        truths[i].heap = heapscope_heap_register(heap);
    }
    use_ids();
    use_slab();
    use_pools(&outer, &inner);
    for (int i = 0; i < KINDS; i++) {
        printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", truths[i].name,
               truths[i].live_bytes, truths[i].live_count, truths[i].allocated_bytes,
               truths[i].allocated_count);
    }
    printf("enabled %d\n", enabled_count);
    return 0;
}
