/*
 * A server under permanent load: workers serve requests for a given time. Live memory stays about
 * the same, but every block is replaced.
 *
 *     soak SECONDS [WORKERS]
 *
 * A request allocates some blocks and frees them at its end, replaces random entries of a cache
 * that all workers share (so another thread frees most of these), and grows a buffer by realloc.
 * From time to time a worker ends and another one starts. Every half second the program prints a
 * line: CLOCK_MONOTONIC in ns, and the bytes and blocks that are live. They are counted before a
 * block is freed and after it was allocated. The last line is that of the moment when all workers
 * have ended and the cache is full.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CACHE_COUNT     60000U
#define REQUESTS_A_LIFE 20000U
#define WORKERS_MAX     64

static _Atomic(void *) cache[CACHE_COUNT];
static atomic_llong live_bytes, live_count;
static atomic_bool is_over;

/* Stores the size in the block. */
static void *counted(void *block, size_t bytes)
{
    if (!block) {
        abort();
    }
    memcpy(block, &bytes, sizeof(bytes));
    atomic_fetch_add_explicit(&live_bytes, (long long)bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
    return block;
}

static size_t uncounted(const void *block)
{
    size_t bytes;
    memcpy(&bytes, block, sizeof(bytes));
    atomic_fetch_sub_explicit(&live_bytes, (long long)bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
    return bytes;
}

static void release(void *block)
{
    if (block) {
        uncounted(block);
        free(block);
    }
}

static uint32_t draw(uint64_t *rng)
{
    *rng = *rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*rng >> 33);
}

static size_t draw_bytes(uint64_t *rng)
{
    uint32_t kind = draw(rng) % 100;
    return kind < 80   ? 16 + draw(rng) % 240
           : kind < 99 ? 256 + draw(rng) % 3840
                       : 4096 + draw(rng) % 61440;
}

/* Makes many different stacks: each bit of `path` selects one of two calls. */
static __attribute__((noinline)) void *allocate_by(unsigned path, unsigned depth, size_t bytes);

static __attribute__((noinline)) void *allocate_left(unsigned path, unsigned depth, size_t bytes)
{
    void *block = allocate_by(path, depth, bytes);
    __asm__ volatile("" : : : "memory");
    return block;
}

static __attribute__((noinline)) void *allocate_right(unsigned path, unsigned depth, size_t bytes)
{
    void *block = allocate_by(path, depth, bytes);
    __asm__ volatile("nop" : : : "memory"); /* differs from the code of the other function */
    return block;
}

static void *allocate_by(unsigned path, unsigned depth, size_t bytes)
{
    if (depth == 0) {
        return counted(malloc(bytes), bytes);
    }
    return path & 1 ? allocate_left(path >> 1, depth - 1, bytes)
                    : allocate_right(path >> 1, depth - 1, bytes);
}

static void serve(uint64_t *rng)
{
    void *blocks[12];
    unsigned count = 1 + draw(rng) % 12;
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = allocate_by(draw(rng) % 1024, 10, draw_bytes(rng));
    }
    for (unsigned i = 0; i < 3; i++) {
        void *entry = allocate_by(draw(rng) % 64, 6, draw_bytes(rng));
        release(atomic_exchange(&cache[draw(rng) % CACHE_COUNT], entry));
    }
    size_t bytes = 64;
    void *text = counted(malloc(bytes), bytes);
    while (bytes < 4096 && draw(rng) % 4 != 0) {
        uncounted(text);
        bytes *= 2;
        text = counted(realloc(text, bytes), bytes);
    }
    release(text);
    for (unsigned i = 0; i < count; i++) {
        release(blocks[i]);
    }
}

static void *work(void *arg)
{
    uint64_t rng = (uintptr_t)arg;
    for (unsigned i = 0; i < REQUESTS_A_LIFE && !is_over; i++) {
        serve(&rng);
    }
    return NULL;
}

/* Runs workers, one after the other. */
static void *employ(void *arg)
{
    uintptr_t seed = (uintptr_t)arg;
    while (!is_over) {
        pthread_t worker;
        seed += 1000;
        if (pthread_create(&worker, NULL, work, (void *)seed) != 0) {
            abort();
        }
        pthread_join(worker, NULL);
    }
    return NULL;
}

static void say(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%lld %lld %lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec,
           (long long)live_bytes, (long long)live_count);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? atol(argv[1]) : 10;
    long count = argc > 2 ? atol(argv[2]) : 4;
    pthread_t employers[WORKERS_MAX];
    uint64_t rng = 7;
    for (unsigned i = 0; i < CACHE_COUNT; i++) {
        cache[i] = allocate_by(draw(&rng) % 64, 6, draw_bytes(&rng));
    }
    for (long i = 0; i < count && i < WORKERS_MAX; i++) {
        pthread_create(&employers[i], NULL, employ, (void *)(i + 1));
    }
    for (long i = 0; i < 2 * seconds; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
        say();
    }
    is_over = true;
    for (long i = 0; i < count && i < WORKERS_MAX; i++) {
        pthread_join(employers[i], NULL);
    }
    say();
    return 0;
}
