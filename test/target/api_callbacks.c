/*
 * Callbacks that do what a program may do anywhere: allocate, report, register a heap, take a
 * snapshot; more heaps than there is room for; snapshots by name at known moments.
 *
 *     api_callbacks callbacks   prints what the callbacks found
 *     api_callbacks many        300 heaps of two blocks each, or as many as there may be
 *     api_callbacks twice       two heaps of one name
 *     api_callbacks sizes       a block of 2^63 bytes, freed again, and one of 2^40
 *     api_callbacks snapshots   three snapshots: 10 blocks of 100 bytes, 5 of them, none
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heapscope/heapscope.h>

static uint32_t outer, inner;
static int depth, calls;

static void on_enabled(void *data, uint64_t interval_bytes)
{
    (void)data;
    (void)interval_bytes;
    calls++;
    depth++;
    if (depth == 1) {
        free(malloc(1000));
        heapscope_heap *heap = heapscope_heap_create("inner");
        heapscope_heap_set_callbacks(heap, on_enabled, NULL, NULL);
        inner = heapscope_heap_register(heap); /* calls the callback of the new heap */
        heapscope_report_alloc(inner, 1, 77);
        printf("snapshot %d\n", heapscope_take_snapshot("in a callback"));
    }
    depth--;
}

static void use_callbacks(void)
{
    heapscope_heap *heap = heapscope_heap_create("outer");
    heapscope_heap_set_callbacks(heap, on_enabled, NULL, NULL);
    outer = heapscope_heap_register(heap);
    heapscope_poll();
    heapscope_report_alloc(outer, 1, 33);
    printf("calls %d\n", calls);
}

static void use_many(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof(name), "heap %u", i);
        uint32_t heap = heapscope_heap_register(heapscope_heap_create(name));
        count += heap != 0;
        heapscope_report_alloc(heap, 5, 10 + i);
        heapscope_report_alloc(heap, 6, 1000);
        heapscope_report_free(heap, 6);
    }
    printf("heaps %u\n", count);
}

static void use_twice(void)
{
    uint32_t a = heapscope_heap_register(heapscope_heap_create("same"));
    uint32_t b = heapscope_heap_register(heapscope_heap_create("same"));
    heapscope_report_alloc(a, 5, 100);
    heapscope_report_alloc(b, 5, 1000);
    heapscope_report_free(a, 5);
    heapscope_report_free(a, 5);
    heapscope_report_free(200, 5);
    heapscope_report_free(b, 6);
}

static void use_sizes(void)
{
    uint32_t heap = heapscope_heap_register(heapscope_heap_create("large"));
    heapscope_report_alloc(heap, 1, UINT64_C(1) << 63);
    heapscope_report_free(heap, 1);
    heapscope_report_alloc(heap, 2, UINT64_C(1) << 40);
    struct heapscope_stats stats;
    heapscope_get_stats(NULL, &stats);
    printf("allocated %" PRIu64 "\n", stats.allocated_bytes >> 40);
}

static void use_snapshots(void)
{
    uint32_t heap = heapscope_heap_register(heapscope_heap_create("arena"));
    for (uint64_t i = 0; i < 10; i++) {
        heapscope_report_alloc(heap, i, 100);
    }
    printf("snapshot %d\n", heapscope_take_snapshot("ten"));
    for (uint64_t i = 0; i < 5; i++) {
        heapscope_report_free(heap, i);
    }
    printf("snapshot %d\n", heapscope_take_snapshot("five"));
    for (uint64_t i = 5; i < 10; i++) {
        heapscope_report_free(heap, i);
    }
    printf("snapshot %d\n", heapscope_take_snapshot("none"));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "callbacks") == 0) {
        use_callbacks();
    } else if (strcmp(what, "many") == 0) {
        use_many();
    } else if (strcmp(what, "twice") == 0) {
        use_twice();
    } else if (strcmp(what, "sizes") == 0) {
        use_sizes();
    } else if (strcmp(what, "snapshots") == 0) {
        use_snapshots();
    }
    return 0;
}
