/*
 * A heap with an invariant that holds at every instant: each thread holds the last WINDOW blocks it
 * allocated, and block n of a thread has n bytes. At any moment, the blocks of a thread therefore
 * are WINDOW or WINDOW + 1 consecutive sizes. A snapshot that mixes two moments breaks this.
 *
 *     windows SECONDS [THREADS] [causal | moves | hangs]
 *
 * Each thread allocates at a site of its own: site_0 .. site_3. With `causal` the thread of site_1
 * allocates block n only after the thread of site_0 has its block n. With `moves` each thread has
 * WINDOW blocks of 64 bytes. Once all threads have theirs, each repeatedly frees one and allocates
 * it at another site.
 *
 * With `hangs` the thread that gets SIGUSR1 never leaves the place where it is, which may be inside
 * malloc; it then holds malloc's lock against all other threads. With SIGUSR2 it spins there. All
 * signals are blocked meanwhile.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
static bool is_causal, is_moving;
static pthread_barrier_t filled; /* every thread has its first WINDOW blocks */
static uint64_t published;       /* blocks that the thread of site_0 has allocated */

static bool is_over(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec);
}

static void move(uintptr_t no)
{
    static __thread void *blocks[WINDOW];
    for (uint64_t n = 0; n < WINDOW; n++) {
        blocks[n] = sites[no](64);
    }
    pthread_barrier_wait(&filled);
    for (uint64_t n = 1; !is_over(); n++) {
        uint64_t random = n * UINT64_C(0x9e3779b97f4a7c15);
        void **block = &blocks[(random >> 32) % WINDOW];
        free(*block);
        *block = sites[random >> 62](64);
    }
}

static void *play(void *arg)
{
    static __thread void *blocks[WINDOW + 1];
    void *(*site)(size_t) = sites[(uintptr_t)arg];
    if (is_moving) {
        move((uintptr_t)arg);
        return NULL;
    }
    for (uint64_t n = 0; !is_over(); n++) {
        while (is_causal && arg == (void *)1 &&
               __atomic_load_n(&published, __ATOMIC_ACQUIRE) <= n) {
            if (is_over()) {
                return NULL;
            }
        }
        blocks[n % (WINDOW + 1)] = site(n % 100000 + 1);
        if (n >= WINDOW) {
            free(blocks[(n - WINDOW) % (WINDOW + 1)]);
            blocks[(n - WINDOW) % (WINDOW + 1)] = NULL;
        }
        if (arg == (void *)0) {
            __atomic_store_n(&published, n + 1, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

static void hang(int sig)
{
    for (;;) {
        if (sig == SIGUSR1) {
            pause();
        }
    }
}

static void prepare_to_hang(void)
{
    struct sigaction action = { .sa_handler = hang };
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    mallopt(M_ARENA_MAX, 1); /* one arena, and therefore one lock for all threads */
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    uintptr_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : THREADS;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    is_causal = argc > 3 && strcmp(argv[3], "causal") == 0;
    is_moving = argc > 3 && strcmp(argv[3], "moves") == 0;
    if (count > THREADS || count == 0) {
        return 2;
    }
    if (argc > 3 && strcmp(argv[3], "hangs") == 0) {
        prepare_to_hang();
    }
    pthread_barrier_init(&filled, NULL, (unsigned)count);
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
