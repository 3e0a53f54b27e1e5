/*
 * A program with a heap of its own that has been running for a while. It executes commands, one per
 * line on standard input, and answers with what happened and "ok".
 *
 *     alloc N   reports N blocks of 100 bytes
 *     free N    reports that the first N live blocks are freed
 *     poll      lets callbacks run
 *     plugin    loads the library $PLUGIN, which registers a heap with callbacks
 *     unload    unloads it
 *     fork      a child reports 5 blocks, and ends
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heapscope/heapscope.h>

static uint32_t heap;
static uint64_t first_live = 1, next_id = 1;
static void *plugin;

static void on_enabled(void *data, uint64_t interval_bytes)
{
    (void)data;
    printf("enabled %" PRIu64 "\n", interval_bytes);
}

static void on_disabled(void *data)
{
    (void)data;
    printf("disabled\n");
}

__attribute__((noinline)) static void alloc_blocks(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        heapscope_report_alloc(heap, next_id++, 100);
    }
}

static void free_blocks(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        heapscope_report_free(heap, first_live++);
    }
}

static void load_plugin(void)
{
    uint32_t (*start)(void);
    plugin = dlopen(getenv("PLUGIN"), RTLD_NOW);
    *(void **)&start = dlsym(plugin, "plugin_start");
    printf("plugin's heap %u\n", start());
}

static void fork_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alloc_blocks(5);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void)
{
    char line[64];
    heapscope_heap *made = heapscope_heap_create("resident");
    heapscope_heap_set_callbacks(made, on_enabled, on_disabled, NULL);
    heap = heapscope_heap_register(made);
    while (fgets(line, sizeof(line), stdin)) {
        uint64_t count = strtoull(strchr(line, ' ') ? strchr(line, ' ') : "0", NULL, 10);
        switch (line[0]) {
        case 'a':
            alloc_blocks(count);
            break;
        case 'f':
            if (line[1] == 'o') {
                fork_child();
            } else {
                free_blocks(count);
            }
            break;
        case 'm':
            for (uint64_t i = 0; i < count; i++) {
                __asm__ volatile("" : : "r"(malloc(64)) : "memory");
            }
            break;
        case 'p':
            if (line[1] == 'o') {
                heapscope_poll();
            } else {
                load_plugin();
            }
            break;
        case 'u':
            dlclose(plugin);
            printf("unloaded %d\n", dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_NOLOAD) == NULL);
            break;
        }
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
