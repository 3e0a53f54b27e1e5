/*
 * A program with an allocator of its own, step by step: what it has to do so that heapscope shows
 * who uses that allocator's memory.
 *
 *     make arena && ./arena
 *     heapscope run -i 1 -- ./arena        with a profiler
 *
 * The allocator is an arena: it maps memory from the kernel, hands out blocks one after the other,
 * and frees all of them at once. malloc is not involved, so without the reports a profiler of
 * malloc would see nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <heapscope/heapscope.h>

#define ARENA_BYTES ((size_t)1 << 20)
#define BLOCKS_MAX  4096

struct arena {
    char *memory;
    size_t used_bytes;
    void *blocks[BLOCKS_MAX]; /* so that each can be reported as freed */
    size_t block_count;
};

/* 1. One heap for all arenas of this kind. Until it is registered the id is 0, and reports do
 *    nothing. */
static uint32_t arena_heap;

static void register_arena_heap(void)
{
    heapscope_heap *heap = heapscope_heap_create("arena");
    /* 2. The arena's memory comes from mmap: no other heap contains it. An arena in a block of
     *    malloc would leave this out. */
    heapscope_heap_set_primary(heap, true);
    arena_heap = heapscope_heap_register(heap);
}

static int arena_open(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->memory =
        mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return arena->memory == MAP_FAILED ? -1 : 0;
}

static void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    size_t rounded_bytes = (size_bytes + 15) & ~(size_t)15;
    if (rounded_bytes > ARENA_BYTES - arena->used_bytes || arena->block_count == BLOCKS_MAX) {
        return NULL;
    }
    void *block = arena->memory + arena->used_bytes;
    arena->used_bytes += rounded_bytes;
    arena->blocks[arena->block_count++] = block;
    /* 3. The block is the caller's: report it, with the size that was asked for. */
    heapscope_report_alloc(arena_heap, (uintptr_t)block, size_bytes);
    return block;
}

static void arena_close(struct arena *arena)
{
    /* 4. Every block, before its memory may be used again. */
    for (size_t i = 0; i < arena->block_count; i++) {
        heapscope_report_free(arena_heap, (uintptr_t)arena->blocks[i]);
    }
    munmap(arena->memory, ARENA_BYTES);
}

/* What the program does with it. */
static char *copy_of(struct arena *arena, const char *text)
{
    size_t size_bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, size_bytes);
    return copy ? memcpy(copy, text, size_bytes) : NULL;
}

static int load_names(struct arena *arena)
{
    char name[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "name of the object with the number %d", i);
        if (!copy_of(arena, name)) {
            return -1;
        }
    }
    return 0;
}

int main(void)
{
    struct arena names;
    register_arena_heap();
    if (arena_open(&names) != 0 || load_names(&names) != 0) {
        return 1;
    }
    /* 5. If a profiler is there, it keeps this moment under a name. */
    int err = heapscope_take_snapshot("names are loaded");
    printf("heap %u, snapshot: %s\n", arena_heap, err == 0 ? "taken" : strerror(-err));
    arena_close(&names);
    return 0;
}
