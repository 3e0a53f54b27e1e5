/*
 * A client of libheapscope.so for tests, to be preloaded: it records every heap, exactly as
 * src/fmt/api_layout.h asks, and prints each call of the library to standard error.
 *
 * API_CLIENT=dormant: no heap is recorded until a snapshot is taken; the name of the snapshot is
 * then "on" or "off".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmt/api_layout.h"

static struct hs_api_v1 *table;
static uint32_t generation = 1;
static bool is_on;

/* The object that has the function above the client's on the stack. */
static const char *caller(void *ret)
{
    Dl_info info;
    const char *path = dladdr((char *)ret - 1, &info) ? info.dli_fname : "?";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *name_of(uint32_t heap)
{
    return table->heaps[heap - 1000].name;
}

static bool report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    fprintf(stderr, "alloc %s %#lx %lu from %s\n", name_of(heap), id, size_bytes,
            caller(__builtin_return_address(0)));
    return is_on;
}

static bool report_sample(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    fprintf(stderr, "sample %s %#lx %lu from %s\n", name_of(heap), id, size_bytes,
            caller(__builtin_return_address(0)));
    return is_on;
}

static void report_free(uint32_t heap, uint64_t id)
{
    fprintf(stderr, "free %s %#lx from %s\n", name_of(heap), id,
            caller(__builtin_return_address(0)));
}

static void poll(void)
{
    for (uint32_t id = 1; id < table->heap_count; id++) {
        struct hs_api_heap_v1 *heap = &table->heaps[id];
        struct hs_api_callback_info_v1 info = { is_on ? 512 : 0 };
        if (!(heap->flags & HS_API_HEAP_REGISTERED)) {
            continue;
        }
        if (heap->client_heap == 0) {
            fprintf(stderr, "heap %u %s flags %u parent %u\n", id, heap->name, heap->flags,
                    heap->parent);
        }
        heap->client_heap = 1000 + id;
        bool changes = heap->told_interval_bytes != info.interval_bytes;
        heap->told_interval_bytes = info.interval_bytes;
        if (changes && is_on && heap->on_enabled) {
            heap->on_enabled(heap->enabled_data, &info);
        } else if (changes && !is_on && heap->on_disabled) {
            heap->on_disabled(heap->disabled_data, &info);
        }
    }
    __atomic_store_n(&table->quiet, is_on ? HS_API_NEVER_QUIET : generation, __ATOMIC_RELAXED);
}

static int take_snapshot(const char *name)
{
    fprintf(stderr, "snapshot %s\n", name);
    is_on = strcmp(name, "on") == 0;
    generation++;
    return 0;
}

static int get_stats(struct hs_api_stats_v1 *global, struct hs_api_stats_v1 *local)
{
    (void)global;
    (void)local;
    return -EIO;
}

static const struct hs_api_calls_v1 calls = {
    HS_API_VERSION, sizeof(calls), report_alloc,  report_sample,
    report_free,    poll,          take_snapshot, get_stats,
};

void heapscope_api_found_v1(struct hs_api_v1 *found);
void heapscope_api_found_v1(struct hs_api_v1 *found)
{
    const char *mode = getenv("API_CLIENT");
    table = found;
    is_on = !(mode && strcmp(mode, "dormant") == 0);
    fprintf(stderr, "found %.8s of version %u\n", (const char *)&found->magic, found->version);
    __atomic_store_n(&found->calls, &calls, __ATOMIC_RELEASE);
    __atomic_store_n(&found->generation_off, (char *)&generation - (char *)found, __ATOMIC_RELAXED);
    poll();
}
