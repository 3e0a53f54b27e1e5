/*
 * large_heap COUNT MIB SIZE PATTERN: makes COUNT mappings, and a heap of so many MiB with blocks of
 * SIZE bytes. "comb" frees 7 of 8, "end" frees most of them from the end on, "full" none. It prints
 * the free bytes that glibc knows, and ends with its standard input.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void map_many(size_t count)
{
    char *memory =
        mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < count; i += 2) {
        memory[i * 4096] = 1;
        mprotect(memory + (i + 1) * 4096, 4096, PROT_READ);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 2;
    }
    size_t bytes = strtoul(argv[2], NULL, 10) << 20, size_bytes = strtoul(argv[3], NULL, 10);
    size_t count = bytes / (size_bytes + 16);
    map_many(strtoul(argv[1], NULL, 10));
    char **blocks = mmap(NULL, count * sizeof(blocks[0]), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(size_bytes);
        memset(blocks[i], 1, size_bytes);
    }
    for (size_t i = count - 1; i-- > 0;) {
        if ((!strcmp(argv[4], "comb") && i % 8 != 0) ||
            (!strcmp(argv[4], "end") && i > count / 8)) {
            free(blocks[i]);
        }
    }
    printf("ready %zu\n", mallinfo2().fordblks);
    fflush(stdout);
    return getchar() == 'x';
}
