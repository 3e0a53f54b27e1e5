/*
 * Measures the longest time of a single allocation while the client's tables grow from nothing.
 *
 *     pauses [THREADS] [BLOCKS]
 *
 * Each thread allocates BLOCKS blocks (1,000,000) and keeps them, except that it frees one in eight
 * on the way. Each operation is timed by the wall clock and by the thread's own CPU clock. The
 * first includes the rest of the machine and waiting for locks of the kernel; the second includes
 * only the thread's own work.
 *
 * Prints one line: operations; how many took more than 1 ms by each clock; the longest by each in
 * microseconds; how often all threads were in such an operation at the same moment, and for how
 * long at most.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64
#define LONG_NS     1000000
#define PAUSES_MAX  10000U

struct pause {
    uint64_t begin_ns;
    uint64_t end_ns;
};

struct worker {
    pthread_t thread;
    uint64_t block_count;
    void **blocks;
    uint64_t op_count;
    uint64_t long_cpu_count;
    uint64_t longest_ns;
    uint64_t longest_cpu_ns;
    uint32_t pause_count; /* longer than 1 ms of wall time */
    struct pause pauses[PAUSES_MAX];
};

static pthread_barrier_t barrier;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *must(void *ptr)
{
    if (!ptr) {
        abort();
    }
    return ptr;
}

static void note(struct worker *w, uint64_t begin_ns, uint64_t end_ns, uint64_t cpu_ns)
{
    uint64_t took_ns = end_ns - begin_ns;
    w->op_count++;
    w->long_cpu_count += cpu_ns > LONG_NS;
    w->longest_ns = took_ns > w->longest_ns ? took_ns : w->longest_ns;
    w->longest_cpu_ns = cpu_ns > w->longest_cpu_ns ? cpu_ns : w->longest_cpu_ns;
    if (took_ns > LONG_NS && w->pause_count < PAUSES_MAX) {
        w->pauses[w->pause_count++] = (struct pause){ begin_ns, end_ns };
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t random = (uint64_t)(uintptr_t)w;
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < w->block_count; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
        if (i % 8 == 7) {
            free(w->blocks[i - (random >> 60) % 7 - 1]);
            w->blocks[i - (random >> 60) % 7 - 1] = NULL;
        } else {
            w->blocks[i] = must(malloc(16 + (random >> 56)));
        }
        uint64_t end_ns = now_ns(CLOCK_MONOTONIC);
        note(w, begin_ns, end_ns, now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
    }
    return NULL;
}

/* Finds the moments at which every thread is in a long operation. */
static void find_common(const struct worker *workers, unsigned count, uint64_t *ret_count,
                        uint64_t *ret_longest_ns)
{
    uint64_t found = 0, longest_ns = 0;
    for (uint32_t i = 0; i < workers[0].pause_count; i++) {
        uint64_t begin_ns = workers[0].pauses[i].begin_ns, end_ns = workers[0].pauses[i].end_ns;
        for (unsigned t = 1; t < count && begin_ns < end_ns; t++) {
            const struct worker *w = &workers[t];
            uint32_t k = 0;
            while (k < w->pause_count && w->pauses[k].end_ns <= begin_ns) {
                k++;
            }
            uint64_t from = k < w->pause_count ? w->pauses[k].begin_ns : UINT64_MAX;
            uint64_t to = k < w->pause_count ? w->pauses[k].end_ns : 0;
            begin_ns = from > begin_ns ? from : begin_ns;
            end_ns = to < end_ns ? to : end_ns;
        }
        if (begin_ns < end_ns) {
            found++;
            longest_ns = end_ns - begin_ns > longest_ns ? end_ns - begin_ns : longest_ns;
        }
    }
    *ret_count = found;
    *ret_longest_ns = longest_ns;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    uint64_t blocks = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    uint64_t ops = 0, longs = 0, long_cpus = 0, longest_ns = 0, longest_cpu_ns = 0;
    uint64_t common, common_ns;
    if (threads < 1 || threads > THREADS_MAX || blocks < 8) {
        fputs("usage: pauses [THREADS] [BLOCKS]\n", stderr);
        return 2;
    }
    struct worker *workers = must(calloc(threads, sizeof(*workers)));
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].block_count = blocks;
        workers[i].blocks = must(malloc(blocks * sizeof(void *)));
        /*
         * Touches its own pages first, so that their page faults are not counted for the allocator.
         */
        for (uint64_t k = 0; k < blocks; k++) {
            ((void *volatile *)workers[i].blocks)[k] = NULL;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            perror("pauses: pthread_create");
            return 1;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        const struct worker *w = &workers[i];
        pthread_join(w->thread, NULL);
        ops += w->op_count;
        longs += w->pause_count;
        long_cpus += w->long_cpu_count;
        longest_ns = w->longest_ns > longest_ns ? w->longest_ns : longest_ns;
        longest_cpu_ns = w->longest_cpu_ns > longest_cpu_ns ? w->longest_cpu_ns : longest_cpu_ns;
    }
    find_common(workers, threads, &common, &common_ns);
    printf("%llu %llu %llu %.0f %.0f %llu %.0f\n", (unsigned long long)ops,
           (unsigned long long)longs, (unsigned long long)long_cpus, (double)longest_ns / 1e3,
           (double)longest_cpu_ns / 1e3, (unsigned long long)common, (double)common_ns / 1e3);
    return 0;
}
