/*
 * Twenty sites of known size, from 8 bytes to 100 KiB, interleaved at random, of which a part stays
 * live. Nothing else allocates, so an estimate of any site can be compared with the truth.
 *
 *   stats THREADS         compiled with -DALLOCATE='calloc(1, n)', it allocates with that function
 *
 * Each site allocates about as many bytes as the others, so that at the default interval each can
 * expect hundreds of samples; four sites have few: 10 to 40.
 */
#include <pthread.h>

#include "truth.h"

#define SIZES(X)                                                                                   \
    X(8, 80000)                                                                                    \
    X(16, 60000)                                                                                   \
    X(17, 50000)                                                                                   \
    X(24, 40000)                                                                                   \
    X(40, 30000)                                                                                   \
    X(64, 20000)                                                                                   \
    X(100, 16000)                                                                                  \
    X(128, 10000)                                                                                  \
    X(200, 6000)                                                                                   \
    X(333, 4000)                                                                                   \
    X(512, 2000)                                                                                   \
    X(1000, 1500)                                                                                  \
    X(2048, 1000)                                                                                  \
    X(4095, 500)                                                                                   \
    X(4096, 300)                                                                                   \
    X(102400, 20)                                                                                  \
    X(32, 1280)                                                                                    \
    X(48, 1700)                                                                                    \
    X(700, 120)                                                                                    \
    X(3000, 55)

#ifndef ALLOCATE
#define ALLOCATE malloc(n)
#endif
#define DECLARE(bytes, count) SITE(site_##bytes, ALLOCATE)
SIZES(DECLARE)

struct kind {
    void *(*site)(size_t n);
    struct truth_site **slot;
    size_t bytes;
    unsigned count;
};

#define KIND(bytes, count) { site_##bytes, &site_##bytes##_slot, bytes, count },
static const struct kind kinds[] = { SIZES(KIND) };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *run(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    unsigned left[KINDS];
    unsigned total = 0;
    for (unsigned k = 0; k < KINDS; k++) {
        left[k] = kinds[k].count;
        total += left[k];
    }
    while (total > 0) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned at = (unsigned)(random >> 33) % total;
        unsigned k = 0;
        while (at >= left[k]) {
            at -= left[k];
            k++;
        }
        left[k]--;
        total--;
        void *p = kinds[k].site(kinds[k].bytes);
        if (random >> 60 & 1) {
            truth_note(*kinds[k].slot, TRUTH_LOST, kinds[k].bytes);
            free(p);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    pthread_t threads[16];
    for (unsigned i = 0; i < count && i < 16; i++) {
        pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1));
    }
    run((void *)77);
    for (unsigned i = 0; i < count && i < 16; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
