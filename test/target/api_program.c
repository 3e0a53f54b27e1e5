/*
 * A program with an allocator of its own, which reports to libheapscope.so. With HEAPSCOPE_WEAK it
 * is not linked with it.
 *
 *     api_program [plugin LIBRARY]
 *
 * Prints what the library answered. With a plugin: loads it, has it register a heap, unloads it,
 * and goes on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

static uint32_t heap;

/* Registered before main, as a global object of C++ would. */
__attribute__((constructor)) static void register_heap(void)
{
    heap = heapscope_heap_register(heapscope_heap_create("arena"));
}

static void on_enabled(void *data, uint64_t interval_bytes)
{
    printf("%s enabled, %" PRIu64 "\n", (const char *)data, interval_bytes);
}

static void on_disabled(void *data)
{
    printf("%s disabled\n", (const char *)data);
}

/* The program's own allocator. */
__attribute__((noinline)) static void *arena_alloc(size_t size_bytes)
{
    static char arena[4096];
    static size_t used_bytes;
    void *block = arena + used_bytes;
    used_bytes += size_bytes;
    bool is_recorded = heapscope_report_alloc(heap, (uintptr_t)block, size_bytes);
    printf("recorded: %d\n", is_recorded);
    return block;
}

__attribute__((noinline)) static void arena_free(void *block)
{
    heapscope_report_free(heap, (uintptr_t)block);
}

#ifndef HEAPSCOPE_WEAK
static void use_plugin(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return;
    }
    uint32_t (*start)(void);
    *(void **)&start = dlsym(plugin, "plugin_start");
    printf("plugin's heap: %u\n", start());
    heapscope_take_snapshot("on");
    heapscope_poll();
    heapscope_take_snapshot("off");
    heapscope_poll();
    dlclose(plugin);
    printf("unloaded: %d\n", dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
    heapscope_take_snapshot("on");
    heapscope_poll();
    printf("still here\n");
}
#endif

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("heap: %u\n", heap);
    arena_free(arena_alloc(100));
    AHeapInfo *info = AHeapInfo_create("second");
    heapscope_heap_set_callbacks(info, on_enabled, on_disabled, (char[]){ "second" });
    uint32_t second = AHeapProfile_registerHeap(info);
    printf("second: %u\n", second);
    printf("sample: %d\n", AHeapProfile_reportSample(second, UINT64_C(1) << 63, 1000));
    AHeapProfile_reportFree(second, UINT64_C(1) << 63);
    printf("interval: %" PRIu64 "\n", heapscope_interval(second));
    printf("poll: %d\n", heapscope_poll());
    struct heapscope_stats stats;
    printf("stats: %d\n", heapscope_get_stats(&stats, NULL));
    printf("snapshot: %d\n", heapscope_take_snapshot("off"));
    heapscope_poll();
    heapscope_pool *pool = heapscope_pool_create("pool", NULL);
    void *block = heapscope_pool_alloc(pool, 50);
    printf("pool: %d, block: %d, free: %d\n", pool != NULL, block != NULL,
           heapscope_pool_free(pool, block));
    heapscope_pool_destroy(pool);
#ifndef HEAPSCOPE_WEAK
    if (argc == 3 && strcmp(argv[1], "plugin") == 0) {
        use_plugin(argv[2]);
    }
#else
    (void)argc;
    (void)argv;
#endif
    return 0;
}
