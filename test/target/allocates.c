/*
 * Allocates 60 MiB in small blocks, and maps 3 MiB by itself.
 *
 *     allocates [wait]    prints "ready", and waits for the end of its input
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (1ul << 20)

__attribute__((noinline)) static void *site_mapped(void)
{
    return mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < 30000; i++) {
        memset(malloc(2048), 1, 2048);
    }
    void *mapped = site_mapped();
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF) {
        }
    }
    return mapped == MAP_FAILED;
}
