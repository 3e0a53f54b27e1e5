/*
 * A primary heap whose memory the program maps itself: two arenas, of which one has blocks, and a
 * mapping that is the program's own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <heapscope/heapscope.h>

#define MIB     (1ul << 20)

#define SITE    __attribute__((noinline))
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static char *touch(char *at, size_t bytes)
{
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memset(at, 1, bytes);
}

SITE static char *site_arena(void)
{
    return touch(mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, PRIVATE, -1, 0), 8 * MIB);
}

SITE static char *site_empty_arena(void)
{
    return touch(mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, PRIVATE, -1, 0), 3 * MIB);
}

SITE static char *site_mapped(void)
{
    return touch(mmap(NULL, 5 * MIB, PROT_READ | PROT_WRITE, PRIVATE, -1, 0), 5 * MIB);
}

int main(void)
{
    heapscope_heap *heap = heapscope_heap_create("arena");
    heapscope_heap_set_primary(heap, true);
    uint32_t id = heapscope_heap_register(heap);
    char *arena = site_arena();
    site_empty_arena();
    char *own = site_mapped();
    for (uint64_t i = 0; i < 1000; i++) {
        heapscope_report_alloc(id, (uint64_t)(uintptr_t)arena + i * 4096, 4000);
    }
    heapscope_report_alloc(id, 12345, 777); /* no address */
    /* Larger than what is mapped there: no block of memory. */
    heapscope_report_alloc(id, (uint64_t)(uintptr_t)own, 64 * MIB);
    /* What the arena's addresses are used for next is the program's again. */
    munmap(arena, 8 * MIB);
    for (uint64_t i = 0; i < 1000; i++) {
        heapscope_report_free(id, (uint64_t)(uintptr_t)arena + i * 4096);
    }
    touch(mmap(arena, 2 * MIB, PROT_READ | PROT_WRITE, PRIVATE | MAP_FIXED, -1, 0), 2 * MIB);
    return 0;
}
