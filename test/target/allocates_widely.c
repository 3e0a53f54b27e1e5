/*
 * Allocates 100 MiB in small blocks and 100 MiB in blocks of 5 MiB, in four threads, prints
 * "ready", and waits for the end of its input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB     (1ul << 20)
#define THREADS 4

static pthread_barrier_t is_done, may_end;

static void *allocate(void *unused)
{
    for (unsigned i = 0; i < 25 * MIB / 1024; i++) {
        memset(malloc(1024), 1, 1024);
    }
    for (unsigned i = 0; i < 5; i++) {
        memset(malloc(5 * MIB), 1, 5 * MIB);
    }
    pthread_barrier_wait(&is_done);
    pthread_barrier_wait(&may_end);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&is_done, NULL, THREADS + 1);
    pthread_barrier_init(&may_end, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, allocate, NULL);
    }
    pthread_barrier_wait(&is_done);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    pthread_barrier_wait(&may_end);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
