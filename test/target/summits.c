/*
 * Heaps whose peak is known to the byte, because only the two sites allocate. Prints the most bytes
 * that were live at once.
 *
 *   summits twins MORE       two peaks of 4 MB from two sites; the second is MORE bytes higher
 *   summits random COUNT     COUNT random allocations and frees, as in a parser: a rise and a slow
 *                            fall
 *   summits threads N COUNT  N threads allocate COUNT blocks each and free a third at once; all
 *                            wait at the peak
 *   summits churn BYTES AGES   BYTES bytes live in blocks of 100, replaced AGES times over in
 *                            random order; then the end
 *   summits hold BYTES       BYTES bytes for 0.1 s, twice; a child of fork(2) holds as many at the
 *                            same time
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE(name)                                                                                 \
    static __attribute__((noinline)) void *name(size_t bytes)                                      \
    {                                                                                              \
        void *block = malloc(bytes);                                                               \
        __asm__ volatile("" ::"r"(block) : "memory");                                              \
        return block;                                                                              \
    }
SITE(site_first)
SITE(site_second)

#define BLOCKS_MAX 1048576
static void *blocks[BLOCKS_MAX];
static uint32_t sizes[BLOCKS_MAX];
static size_t live, most;
static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

static void hold(unsigned i, size_t bytes, void *(*site)(size_t))
{
    blocks[i] = site(bytes);
    sizes[i] = (uint32_t)bytes;
    live += bytes;
    most = live > most ? live : most;
}

static void drop(unsigned i)
{
    free(blocks[i]);
    live -= sizes[i];
    blocks[i] = NULL;
}

static void twins(size_t more)
{
    for (unsigned i = 0; i < 1000; i++) {
        hold(i, 4000, site_first);
    }
    for (unsigned i = 0; i < 1000; i++) {
        drop(i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        hold(i, i == 999 ? 4000 + more : 4000, site_second);
    }
    for (unsigned i = 0; i < 1000; i++) {
        drop(i);
    }
}

static void random_walk(unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        unsigned i = draw(20000);
        if (blocks[i]) {
            drop(i);
        } else if (draw(10) < (n < count / 2 ? 9 : 3)) {
            hold(i, 1 + draw(400), draw(2) ? site_first : site_second);
        }
    }
}

static pthread_barrier_t top;
static unsigned thread_blocks;

static void *climb(void *arg)
{
    void **mine = arg;
    for (unsigned i = 0; i < thread_blocks; i++) {
        mine[i] = site_first(48);
        if (i % 2) {
            free(site_second(24));
        }
    }
    pthread_barrier_wait(&top);
    for (unsigned i = 0; i < thread_blocks; i++) {
        free(mine[i]);
    }
    return NULL;
}

static void threads(unsigned count, unsigned each)
{
    pthread_t ids[64];
    thread_blocks = each;
    pthread_barrier_init(&top, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        pthread_create(&ids[i], NULL, climb, &blocks[(size_t)i * each]);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(ids[i], NULL);
    }
    most = (size_t)count * each * 48;
}

static void churn(size_t bytes, unsigned ages)
{
    unsigned count = (unsigned)(bytes / 100);
    for (unsigned i = 0; i < count; i++) {
        hold(i, 100, i % 10 < 3 ? site_first : site_second);
    }
    for (uint64_t n = 0; n < (uint64_t)ages * count; n++) {
        unsigned i = draw(count);
        drop(i);
        hold(i, 100, i % 10 < 3 ? site_first : site_second);
    }
    for (unsigned i = 0; i < count; i++) {
        drop(i);
    }
}

static void hold_twice(size_t bytes)
{
    pid_t child = fork();
    hold(0, bytes, site_first);
    usleep(300000);
    drop(0);
    if (child == 0) {
        exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    unsigned number = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned more = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (!strcmp(what, "twins")) {
        twins(number);
    } else if (!strcmp(what, "random")) {
        seed = more;
        random_walk(number);
    } else if (!strcmp(what, "threads") && number <= 64 && (size_t)number * more <= BLOCKS_MAX) {
        threads(number, more);
    } else if (!strcmp(what, "churn") && number / 100 <= BLOCKS_MAX) {
        seed = 7;
        churn(number, more);
    } else if (!strcmp(what, "hold")) {
        hold_twice(number);
    } else {
        return 2;
    }
    char text[32];
    int length = snprintf(text, sizeof(text), "%zu\n", most);
    return write(1, text, (size_t)length) == length ? 0 : 1;
}
