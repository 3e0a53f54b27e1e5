/*
 * Makes COUNT reports with or without a type, in counted().
 *
 *     typed_heap_cost typed|untyped COUNT
 */
#include <heapscope/heapscope.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t heap;

void counted(long count, const char *type);

__attribute__((noinline)) void counted(long count, const char *type)
{
    if (type) {
        for (long i = 0; i < count; i++) {
            heapscope_report_alloc_of(heap, (uint64_t)i * 16, 100, type);
            heapscope_report_free(heap, (uint64_t)i * 16);
        }
    } else {
        for (long i = 0; i < count; i++) {
            heapscope_report_alloc(heap, (uint64_t)i * 16, 100);
            heapscope_report_free(heap, (uint64_t)i * 16);
        }
    }
}

int main(int argc, char **argv)
{
    struct timespec from, to;
    if (argc < 3) {
        return 2;
    }
    heap = heapscope_heap_register(heapscope_heap_create("cost"));
    clock_gettime(CLOCK_MONOTONIC, &from);
    counted(atol(argv[2]), strcmp(argv[1], "typed") == 0 ? "net::Request" : NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.2f ns a pair\n",
           ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
               (double)atol(argv[2]));
    return 0;
}
