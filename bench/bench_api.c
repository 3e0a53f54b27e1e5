/*
 * What a report to libheapscope.so costs while no heap is recorded, compared with a call of an
 * empty function.
 *
 *     bench_api [ROUNDS]      prints nanoseconds per call: the lowest of all rounds
 *     bench_api count CALLS   makes CALLS calls of each report, in counted_reports: for callgrind
 *
 * With a client preloaded and no session, the same program measures the dormant cost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <heapscope/heapscope.h>

#define CALLS 1000000

static uint32_t heap;

bool empty(uint32_t heap_id, uint64_t id, uint64_t size_bytes);
void counted_reports(long count);

__attribute__((noinline)) bool empty(uint32_t heap_id, uint64_t id, uint64_t size_bytes)
{
    (void)heap_id;
    (void)id;
    (void)size_bytes;
    __asm__ volatile(""); /* or the calls would be removed */
    return false;
}

__attribute__((noinline)) void counted_reports(long count)
{
    for (long i = 0; i < count; i++) {
        heapscope_report_alloc(heap, (uint64_t)i, 100);
        heapscope_report_free(heap, (uint64_t)i);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double call_empty(void)
{
    double start_ns = now_ns();
    for (uint64_t i = 0; i < CALLS; i++) {
        empty(heap, i, 100);
    }
    return (now_ns() - start_ns) / CALLS;
}

static double call_alloc(void)
{
    double start_ns = now_ns();
    for (uint64_t i = 0; i < CALLS; i++) {
        heapscope_report_alloc(heap, i, 100);
    }
    return (now_ns() - start_ns) / CALLS;
}

static double call_free(void)
{
    double start_ns = now_ns();
    for (uint64_t i = 0; i < CALLS; i++) {
        heapscope_report_free(heap, i);
    }
    return (now_ns() - start_ns) / CALLS;
}

static double lower(double a, double b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    heap = heapscope_heap_register(heapscope_heap_create("bench"));
    if (argc == 3 && strcmp(argv[1], "count") == 0) {
        counted_reports(strtol(argv[2], NULL, 10));
        return 0;
    }
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    double empty_ns = 1e9, alloc_ns = 1e9, free_ns = 1e9;
    for (long i = 0; i < rounds; i++) {
        empty_ns = lower(empty_ns, call_empty());
        alloc_ns = lower(alloc_ns, call_alloc());
        free_ns = lower(free_ns, call_free());
    }
    printf("empty function %.2f\nreport_alloc   %.2f\nreport_free    %.2f\n", empty_ns, alloc_ns,
           free_ns);
    return 0;
}
