/*
 * A program that holds memory in one of several ways, beside work that every program does.
 *
 *     leaks cache|leak|table|thread SEED MILLISECONDS
 *
 * cache    keeps a random set of 300 entries, each for as long as chance wants
 * leak     forgets to free one block of eight
 * table    grows until a random moment between 30 % and 80 % of the time
 * thread   eight threads make blocks and free them, but one of them forgets every fourth
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES 300
#define THREADS 8

static double seconds, start;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* How much of the time has passed, from 0 to 1. */
static double passed(void)
{
    return (now() - start) / seconds;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

__attribute__((noinline)) static void *load_settings(size_t bytes)
{
    return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *put_in_cache(size_t bytes)
{
    return memset(malloc(bytes), 2, bytes);
}

__attribute__((noinline)) static void *forget(size_t bytes)
{
    return memset(malloc(bytes), 3, bytes);
}

__attribute__((noinline)) static void *add_to_table(size_t bytes)
{
    return memset(malloc(bytes), 4, bytes);
}

__attribute__((noinline)) static void *handle(size_t bytes)
{
    return memset(malloc(bytes), 5, bytes);
}

/* Everything that is kept stays reachable: a leak is not what no pointer refers to. */
static void keep(void *block)
{
    static _Thread_local struct list {
        struct list *next;
    } * kept;
    struct list *item = block;
    item->next = kept;
    kept = item;
}

static void run_cache(uint64_t state)
{
    static void *entries[ENTRIES];
    while (passed() < 1) {
        for (int i = 0; i < 8; i++) {
            void **entry = &entries[next(&state) % ENTRIES];
            free(*entry);
            *entry = put_in_cache(100 + next(&state) % 400);
        }
        rest();
    }
}

static void run_leak(uint64_t state)
{
    while (passed() < 1) {
        void *block = forget(100 + next(&state) % 400);
        if (next(&state) % 8 == 0) {
            keep(block);
        } else {
            free(block);
        }
        rest();
    }
}

static void run_table(uint64_t state)
{
    double end = 0.3 + 0.5 * (double)(next(&state) % 1000) / 1000;
    while (passed() < 1) {
        if (passed() < end) {
            keep(add_to_table(100 + next(&state) % 400));
        }
        rest();
    }
}

struct worker {
    pthread_t thread;
    uint64_t state;
    int forgets;
};

static void *run_worker(void *ctx)
{
    struct worker *worker = ctx;
    while (passed() < 1) {
        void *block = handle(100 + next(&worker->state) % 400);
        if (worker->forgets && next(&worker->state) % 4 == 0) {
            keep(block);
        } else {
            rest();
            free(block);
        }
    }
    return NULL;
}

static void run_threads(uint64_t state)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .state = state + (uint64_t)i * 77, .forgets = i == 3 };
        pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    uint64_t state = strtoull(argv[2], NULL, 10) * 2654435761U + 1;
    seconds = atof(argv[3]) / 1000;
    start = now();
    for (int i = 0; i < 2000; i++) {
        keep(load_settings(100 + next(&state) % 100));
    }
    if (strcmp(argv[1], "cache") == 0) {
        run_cache(state);
    } else if (strcmp(argv[1], "leak") == 0) {
        run_leak(state);
    } else if (strcmp(argv[1], "table") == 0) {
        run_table(state);
    } else {
        run_threads(state);
    }
    return 0;
}
