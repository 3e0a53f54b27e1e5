/*
 * Threads that are always inside malloc or free, while the first thread waits for them to end:
 *
 *     joined THREADS
 *
 * Prints "ready"; runs until it is killed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 16
#define BLOCKS      64U

static void *churn(void *arg)
{
    void *blocks[BLOCKS] = { NULL };
    for (uint32_t word = 1;;) {
        word = word * 1103515245 + 12345;
        uint32_t i = word >> 26;
        free(blocks[i]);
        blocks[i] = malloc(16 + (word >> 16 & 255));
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    if (count < 1 || count > THREADS_MAX) {
        return 2;
    }
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, churn, NULL) != 0) {
            return 1;
        }
    }
    puts("ready");
    fflush(stdout);
    for (long i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
