/*
 * Many stacks, again and again: 2048 paths through a chain of calls, one after the other.
 *
 *     paths ROUNDS THREADS
 *
 * At each of eleven levels a path takes one of two calls, whose frames differ in size, so that no
 * two paths end at the same stack address.
 */
#include <pthread.h>

#include "truth.h"

#define LEVELS 11U

SITE(site_leaf, malloc(n))

static NOINLINE void step(unsigned path, unsigned level)
{
    if (level == LEVELS) {
        void *p = site_leaf(16 + path % 64);
        SITE_FREE(site_leaf, p, 16 + path % 64);
        return;
    }
    if (path >> level & 1) {
        volatile char *room = __builtin_alloca((size_t)16 << level);
        room[0] = 1;
        step(path, level + 1);
        room[1] = 1;
    } else {
        step(path, level + 1);
        __asm__ volatile("");
    }
}

static unsigned rounds;

static void *walk_all(void *arg)
{
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned path = 0; path < 1U << LEVELS; path++) {
            step(path, 0);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    pthread_t threads[64];
    for (unsigned i = 1; i < count && i < 64; i++) {
        pthread_create(&threads[i], NULL, walk_all, NULL);
    }
    walk_all(NULL);
    for (unsigned i = 1; i < count && i < 64; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
