/* Allocates blocks that a test knows: prints "ADDRESS SIZE THREAD" of each, then waits for its
 * standard input to end. With an argument, it frees every other block after each line of input. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define BLOCKS  200

static char *blocks[THREADS][BLOCKS];

__attribute__((noinline)) static char *make(size_t bytes)
{
    char *block = malloc(bytes);
    memset(block, (int)bytes, bytes);
    return block;
}

static void *work(void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    char name[16];
    snprintf(name, sizeof(name), "maker-%d", (int)n);
    pthread_setname_np(pthread_self(), name);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[n][i] = make(100 + 10 * n + i % 10);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    char line[64];
    for (uintptr_t n = 0; n < THREADS; n++) {
        pthread_create(&threads[n], NULL, work, (void *)n);
        pthread_join(threads[n], NULL);
    }
    for (size_t n = 0; n < THREADS; n++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            printf("%lu %zu maker-%zu\n", (unsigned long)(uintptr_t)blocks[n][i],
                   100 + 10 * n + i % 10, n);
        }
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        for (size_t i = 0; i < BLOCKS && argc > 1; i += 2) {
            free(blocks[0][i]);
            blocks[0][i] = NULL;
        }
        puts("freed");
        fflush(stdout);
    }
    (void)argv;
    return 0;
}
