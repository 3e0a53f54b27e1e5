/*
 * lifetimes known MS: allocates through functions whose blocks have known lifetimes; what it does
 * to them is in each function. The blocks of hold() live for about MS milliseconds; it prints the
 * sum of their lifetimes in ms, as it has measured them, and their number.
 *
 * lifetimes churn THREADS ROUNDS: threads that allocate, free the blocks of others, and reallocate.
 *
 * lifetimes serve: at each line of standard input, what at_once() does; prints "done".
 *
 * lifetimes mixed MS: blocks of many sizes, of which some are temporary, some live for a while,
 * some for at least MS milliseconds, and some until the end. Prints how many blocks it has freed
 * and how many at once, the mean lifetime of those freed in ms, and which share of all lived for a
 * second.
 *
 * lifetimes phases ROUNDS: computes, and holds blocks for a quarter and a half of the time.
 *
 * lifetimes fork: a child frees blocks that it has inherited, and blocks of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD     100
#define NOINLINE __attribute__((noinline))

static void *volatile sink;

/* A block that the compiler cannot leave out. */
static inline __attribute__((always_inline)) void *made(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    sink = block;
    return block;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* 1000 blocks, each freed at once. */
NOINLINE static void at_once(void)
{
    for (int i = 0; i < 1000; i++) {
        free(made(100));
    }
}

/* 500 blocks, each freed after one other allocation, whose block follows with none in between. */
NOINLINE static void behind_one(void)
{
    for (int i = 0; i < 500; i++) {
        void *a = made(40);
        void *b = made(50);
        free(a);
        free(b);
    }
}

/* 400 blocks, of which the last 10 are kept: each is freed after 10 others. */
NOINLINE static void queue(void)
{
    void *blocks[10] = { NULL };
    for (int i = 0; i < 400; i++) {
        void *block = made(60);
        free(blocks[i % 10]);
        blocks[i % 10] = block;
    }
    sink = blocks[0];
}

/* One block that grows 200 times: 200 have ended, each with no other allocation in between. */
NOINLINE static void grow(void)
{
    char *block = made(8);
    for (size_t i = 1; i <= 200; i++) {
        block = realloc(block, 8 + i * 16);
        sink = block;
    }
}

/* A realloc that fails leaves the block as it is. */
NOINLINE static void fail(void)
{
    void *block = made(4321);
    volatile size_t too_much = SIZE_MAX / 4;
    for (int i = 0; i < 20; i++) {
        if (realloc(block, too_much)) {
            abort();
        }
    }
    sink = block;
}

/* HELD blocks, which live for so long. */
NOINLINE static void hold(unsigned ms)
{
    void *blocks[HELD];
    double born_ms[HELD], sum_ms = 0;
    for (int i = 0; i < HELD; i++) {
        blocks[i] = made(200);
        born_ms[i] = now_ms();
    }
    usleep(ms * 1000);
    for (int i = 0; i < HELD; i++) {
        free(blocks[i]);
        sum_ms += now_ms() - born_ms[i];
    }
    printf("%.0f %d\n", sum_ms, HELD);
}

/* --- mixed --- */

#define AT_ONCE    20000
#define QUEUED     20000
#define QUEUE      500
#define LONG       4000
#define KEPT       1000
#define SIZE_OF(i) (16 + (size_t)(i) % 37 * 13)

struct timed {
    void *block;
    double born_ms;
};

static double freed_ms;
static unsigned freed_count, old_count;

static void release(struct timed *timed)
{
    if (timed->block) {
        double ms = now_ms() - timed->born_ms;
        free(timed->block);
        freed_ms += ms;
        freed_count++;
        old_count += ms >= 1000;
        timed->block = NULL;
    }
}

static inline __attribute__((always_inline)) struct timed begin(size_t size_bytes)
{
    return (struct timed){ made(size_bytes), now_ms() };
}

NOINLINE static int mix(unsigned ms)
{
    static struct timed queued[QUEUE], lasting[LONG], kept[KEPT];
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    for (unsigned i = 0; i < AT_ONCE + QUEUED + LONG + KEPT; i++) {
        struct timed timed;
        size_t size_bytes = SIZE_OF(i);
        if (i < KEPT) {
            kept[i] = begin(size_bytes);
        } else if (i < KEPT + LONG) {
            lasting[i - KEPT] = begin(size_bytes);
        } else if (i % 2) {
            timed = begin(size_bytes);
            release(&timed);
        } else {
            release(&queued[i / 2 % QUEUE]);
            queued[i / 2 % QUEUE] = begin(size_bytes);
        }
    }
    usleep(ms * 1000);
    for (unsigned i = 0; i < QUEUE; i++) {
        release(&queued[i]);
    }
    for (unsigned i = 0; i < LONG; i++) {
        release(&lasting[i]);
    }
    printf("%u %u %f %f\n", freed_count, AT_ONCE, freed_ms / freed_count,
           (double)(old_count + KEPT) / (freed_count + KEPT));
    sink = kept[0].block;
    return 0;
}

/* --- phases --- */

NOINLINE static uint64_t compute(uint64_t rounds)
{
    uint64_t x = rounds;
    for (uint64_t i = 0; i < rounds; i++) {
        x = (x ^ i) * UINT64_C(0x9e3779b97f4a7c15);
        __asm__ volatile("" : "+r"(x)); /* two calls are two computations */
    }
    return x;
}

NOINLINE static int run_phases(uint64_t rounds)
{
    void *halves[50], *quarters[50];
    uint64_t x = 0;
    for (int i = 0; i < 50; i++) {
        halves[i] = made(100);
    }
    x += compute(rounds);
    for (int i = 0; i < 50; i++) {
        quarters[i] = made(70);
    }
    x += compute(rounds);
    for (int i = 0; i < 50; i++) {
        free(quarters[i]);
        free(halves[i]);
    }
    x += compute(2 * rounds);
    return x == 1;
}

static int serve(void)
{
    char line[16];
    while (read(0, line, sizeof(line)) > 0) {
        at_once();
        if (write(1, "done\n", 5) != 5) {
            return 1;
        }
    }
    return 0;
}

/* --- threads --- */

#define SLOTS 512

static void *slots[SLOTS];

NOINLINE static void *churn(void *arg)
{
    uint64_t random = 88172645463325252 + (uintptr_t)arg;
    for (uint64_t left = (uint64_t)(uintptr_t)arg; left > 0; left--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        void *block = random & 3 ? made(1 + random % 300) : realloc(made(64), 1 + random % 900);
        free(__atomic_exchange_n(&slots[(random >> 20) % SLOTS], block, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

static int run_threads(unsigned count, uint64_t rounds)
{
    pthread_t threads[64];
    for (unsigned i = 0; i < count && i < 64; i++) {
        pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(rounds + i));
    }
    for (unsigned i = 0; i < count && i < 64; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

/* --- fork --- */

NOINLINE static void *inherited(void)
{
    return made(1000);
}

NOINLINE static void *own(void)
{
    return made(2000);
}

static int run_fork(void)
{
    void *blocks[20];
    for (int i = 0; i < 20; i++) {
        blocks[i] = inherited();
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 10; i++) {
            free(own());
            free(blocks[i]);
        }
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "known") == 0) {
        static char buffer[BUFSIZ];
        setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* stdio allocates nothing */
        at_once();
        behind_one();
        queue();
        grow();
        fail();
        hold((unsigned)atoi(argv[2]));
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "churn") == 0) {
        return run_threads((unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 10));
    }
    if (argc == 3 && strcmp(argv[1], "mixed") == 0) {
        return mix((unsigned)atoi(argv[2]));
    }
    if (argc == 3 && strcmp(argv[1], "phases") == 0) {
        return run_phases(strtoull(argv[2], NULL, 10));
    }
    if (argc == 2 && strcmp(argv[1], "serve") == 0) {
        return serve();
    }
    return argc == 2 && strcmp(argv[1], "fork") == 0 ? run_fork() : 2;
}
