/*
 * A heap that adds up at every instant: each thread holds the last WINDOW blocks it allocated, and
 * block n of a thread is n bytes long. So at any moment the blocks of a thread are WINDOW or WINDOW + 1
 * neighbours in size, from whatever side one looks, and a snapshot that mixes two moments shows.
 *
 *     windows SECONDS [THREADS]
 *
 * Each thread allocates at a site of its own: site_0 .. site_3.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define WINDOW  3000
#define THREADS 4

#define SITE(i)                                                                                    \
    __attribute__((noinline)) void *site_##i(size_t n);                                            \
    void *site_##i(size_t n)                                                                       \
    {                                                                                              \
        void *volatile block = malloc(n);                                                          \
        return block;                                                                              \
    }
SITE(0)
SITE(1)
SITE(2)
SITE(3)

static void *(*const sites[THREADS])(size_t) = { site_0, site_1, site_2, site_3 };
static struct timespec end;

static void *play(void *arg)
{
    static __thread void *blocks[WINDOW + 1];
    void *(*site)(size_t) = sites[(uintptr_t)arg];
    for (uint64_t n = 0;; n++) {
        struct timespec now;
        blocks[n % (WINDOW + 1)] = site(n % 100000 + 1);
        if (n >= WINDOW) {
            free(blocks[(n - WINDOW) % (WINDOW + 1)]);
            blocks[(n - WINDOW) % (WINDOW + 1)] = NULL;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec)) {
            break;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    uintptr_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : THREADS;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (count > THREADS || count == 0) {
        return 2;
    }
    for (uintptr_t i = 1; i < count; i++) {
        if (pthread_create(&threads[i], NULL, play, (void *)i) != 0) {
            return 1;
        }
    }
    play((void *)0);
    for (uintptr_t i = 1; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
