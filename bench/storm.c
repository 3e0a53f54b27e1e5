/*
 * Allocation storms: programs that only allocate, in the patterns that cost a profiler most.
 *
 *     storm KIND [-t THREADS] [-d DEPTH] [-l LIVE] [-p PATHS] [-r ROUNDS] [-m MILLISECONDS] [-s]
 *
 * With -s, a line before the result says how much memory the process has then, in bytes: private
 * memory, and the client's region.
 *
 * Prints one line: nanoseconds of thread CPU time per operation, of the fastest and of the median
 * round of all threads. An operation is one allocation and its free. The overhead of a profiler is
 * the difference between a line with it and a line without it; bench/run interleaves the two.
 *
 *     pair    malloc(64), free: the allocator's fastest path, so that overhead shows most
 *     live    LIVE blocks of 16..271 bytes; each operation replaces a random one
 *     large   64..192 KiB blocks (below the mmap threshold), first page touched
 *     grow    a block that doubles from 16 bytes to 64 KiB by realloc; an operation is one realloc
 *     cross   each thread allocates 4096 blocks, then frees those of its neighbour
 *
 * The call chain: operations run in tens, at the end of a chain of DEPTH functions, which are all
 * different, with frames of different sizes and without frame pointers, as in a large C++ program.
 * Each function has two call sites, which a bit of the path selects. PATHS is the number of
 * different stacks; each walk down the chain selects one at random.
 *
 * A round is a batch of operations that takes about MILLISECONDS. The program finds the batch's
 * size by trying, so a slow profiler makes fewer operations, not a longer run.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEPTH_MAX   120
#define THREADS_MAX 64
#define BURST       10U /* operations per walk down the chain */
#define GROW_MAX    65536U
#define CROSS_COUNT 4096U /* blocks handed over at once */
#define CROSS_TIMES 10U   /* how often in a round */

struct worker;
typedef void (*burst_fn)(struct worker *worker);

struct worker {
    burst_fn burst;
    uint64_t rng;
    void **blocks; /* of `live` and `cross` */
    uint64_t block_count;
    uint64_t next;                  /* block that `cross` allocates next */
    const struct worker *neighbour; /* the worker whose blocks it frees */
    void *growing;
    size_t growing_bytes;
    unsigned depth;
    uint64_t path_mask;
    unsigned round_count;
    double round_ns;
    double *ret_ns; /* ns per operation, one value per round */
    pthread_barrier_t *barrier;
};

/* Makes the compiler assume that the block is used. */
static inline void use(void *ptr)
{
    __asm__ volatile("" : : "r"(ptr) : "memory");
}

static uint64_t draw(struct worker *worker)
{
    uint64_t x = worker->rng;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    worker->rng = x;
    return x * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static void *must(void *ptr)
{
    if (!ptr) {
        abort();
    }
    return ptr;
}

/* --- kinds: BURST operations each ------------------------------------------------------------- */

static void burst_pair(struct worker *worker)
{
    (void)worker;
    for (unsigned i = 0; i < BURST; i++) {
        void *ptr = malloc(64);
        use(ptr);
        free(ptr);
    }
}

static void burst_live(struct worker *worker)
{
    for (unsigned i = 0; i < BURST; i++) {
        uint64_t random = draw(worker);
        void **slot = &worker->blocks[(random >> 8) % worker->block_count];
        free(*slot);
        *slot = must(malloc(16 + (random & 255)));
        *(char *)*slot = 1;
    }
}

static void burst_large(struct worker *worker)
{
    for (unsigned i = 0; i < BURST; i++) {
        char *ptr = must(malloc(65536 + (draw(worker) & 131071)));
        ptr[0] = 1;
        use(ptr);
        free(ptr);
    }
}

static void burst_grow(struct worker *worker)
{
    for (unsigned i = 0; i < BURST; i++) {
        if (worker->growing_bytes >= GROW_MAX) {
            free(worker->growing);
            worker->growing = NULL;
            worker->growing_bytes = 8;
        }
        worker->growing_bytes *= 2;
        worker->growing = must(realloc(worker->growing, worker->growing_bytes));
        *(char *)worker->growing = 1;
    }
}

static void burst_fill(struct worker *worker)
{
    for (unsigned i = 0; i < BURST; i++) {
        void *ptr = must(malloc(64));
        use(ptr);
        worker->blocks[worker->next++ % worker->block_count] = ptr;
    }
}

/* --- the chain -------------------------------------------------------------------------------- */

typedef uint64_t (*level_fn)(struct worker *worker, uint64_t path);

static __attribute__((noinline)) uint64_t level_0(struct worker *worker, uint64_t path)
{
    worker->burst(worker);
    return path;
}

/* The additions after the calls prevent tail calls; the `asm` keeps the two call sites apart. */
#define LEVEL(n, below)                                                                            \
    static __attribute__((noinline)) uint64_t level_##n(struct worker *worker, uint64_t path)      \
    {                                                                                              \
        volatile uint64_t local[1 + (n) % 7];                                                      \
        local[0] = path;                                                                           \
        uint64_t result;                                                                           \
        if (path & 1) {                                                                            \
            result = level_##below(worker, path >> 1);                                             \
            __asm__ volatile("nopl 0(%%rax)" : : : "memory");                                      \
        } else {                                                                                   \
            result = level_##below(worker, path >> 1) + (n);                                       \
        }                                                                                          \
        return result ^ local[0];                                                                  \
    }

#define TEN(t, b9)                                                                                 \
    LEVEL(t##0, b9)                                                                                \
    LEVEL(t##1, t##0)                                                                              \
    LEVEL(t##2, t##1)                                                                              \
    LEVEL(t##3, t##2)                                                                              \
    LEVEL(t##4, t##3)                                                                              \
    LEVEL(t##5, t##4)                                                                              \
    LEVEL(t##6, t##5)                                                                              \
    LEVEL(t##7, t##6)                                                                              \
    LEVEL(t##8, t##7)                                                                              \
    LEVEL(t##9, t##8)

LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
TEN(1, 9)
TEN(2, 19)
TEN(3, 29)
TEN(4, 39)
TEN(5, 49)
TEN(6, 59)
TEN(7, 69)
TEN(8, 79)
TEN(9, 89)
TEN(10, 99)
TEN(11, 109)

#define TEN_NAMES(t)                                                                               \
    level_##t##0, level_##t##1, level_##t##2, level_##t##3, level_##t##4, level_##t##5,            \
        level_##t##6, level_##t##7, level_##t##8, level_##t##9

static const level_fn levels[DEPTH_MAX] = {
    level_0,      level_1,       level_2,       level_3,      level_4,      level_5,
    level_6,      level_7,       level_8,       level_9,      TEN_NAMES(1), TEN_NAMES(2),
    TEN_NAMES(3), TEN_NAMES(4),  TEN_NAMES(5),  TEN_NAMES(6), TEN_NAMES(7), TEN_NAMES(8),
    TEN_NAMES(9), TEN_NAMES(10), TEN_NAMES(11),
};

/* --- rounds ----------------------------------------------------------------------------------- */

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double run_bursts(struct worker *worker, uint64_t count)
{
    level_fn enter = levels[worker->depth];
    double before = thread_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t path = worker->path_mask ? draw(worker) & worker->path_mask : 0;
        __asm__ volatile("" : : "r"(enter(worker, path)));
    }
    return thread_ns() - before;
}

static void run_rounds(struct worker *worker)
{
    for (uint64_t i = 0; i < worker->block_count; i++) {
        worker->blocks[i] = must(malloc(16 + (draw(worker) & 255)));
    }
    pthread_barrier_wait(worker->barrier);
    uint64_t count = 1000;
    double took_ns = run_bursts(worker, count);
    for (int tries = 0; tries < 3; tries++) {
        double wanted = (double)count * worker->round_ns / (took_ns > 1000 ? took_ns : 1000);
        count = wanted < 10 ? 10 : (uint64_t)wanted;
        took_ns = run_bursts(worker, count);
    }
    for (unsigned round = 0; round < worker->round_count; round++) {
        worker->ret_ns[round] = run_bursts(worker, count) / (double)(count * BURST);
    }
}

/* Waiting for the other threads is not measured. */
static void run_cross_rounds(struct worker *worker)
{
    for (unsigned round = 0; round < worker->round_count; round++) {
        double took_ns = 0;
        for (unsigned times = 0; times < CROSS_TIMES; times++) {
            took_ns += run_bursts(worker, CROSS_COUNT / BURST);
            pthread_barrier_wait(worker->barrier);
            double before = thread_ns();
            for (unsigned i = 0; i < CROSS_COUNT / BURST * BURST; i++) {
                free(worker->neighbour->blocks[i]);
            }
            took_ns += thread_ns() - before;
            worker->next = 0;
            pthread_barrier_wait(worker->barrier);
        }
        worker->ret_ns[round] = took_ns / (CROSS_TIMES * (CROSS_COUNT / BURST * BURST));
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    if (worker->neighbour) {
        run_cross_rounds(worker);
    } else {
        run_rounds(worker);
    }
    return NULL;
}

/* --- command line ----------------------------------------------------------------------------- */

enum option {
    OPTION_THREADS,
    OPTION_DEPTH,
    OPTION_LIVE,
    OPTION_PATHS,
    OPTION_ROUNDS,
    OPTION_MILLISECONDS,
    OPTION_MEMORY,
    OPTION_N,
};

static const char option_letters[] = "tdlprms";

static const struct {
    const char *name;
    burst_fn burst;
} kinds[] = {
    { "pair", burst_pair }, { "live", burst_live },  { "large", burst_large },
    { "grow", burst_grow }, { "cross", burst_fill },
};

static burst_fn find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].burst;
        }
    }
    return NULL;
}

static int parse(int argc, char **argv, long *value)
{
    int letter;
    optind = 2;
    while ((letter = getopt(argc, argv, "t:d:l:p:r:m:s")) != -1) {
        const char *found = strchr(option_letters, letter);
        if (!found) {
            return -1;
        }
        value[found - option_letters] = letter == 's' ? 1 : strtol(optarg, NULL, 10);
    }
    bool is_good = optind == argc && value[OPTION_THREADS] >= 1 && value[OPTION_DEPTH] >= 0 &&
                   value[OPTION_DEPTH] < DEPTH_MAX && value[OPTION_LIVE] >= 1 &&
                   value[OPTION_PATHS] >= 1 && value[OPTION_ROUNDS] >= 1 &&
                   value[OPTION_MILLISECONDS] >= 1;
    return is_good ? 0 : -1;
}

static void prepare(struct worker *worker, burst_fn burst, const long *value, double *ret_ns,
                    pthread_barrier_t *barrier)
{
    uint64_t paths = 1;
    while (paths < (uint64_t)value[OPTION_PATHS]) {
        paths *= 2;
    }
    worker->burst = burst;
    worker->rng = (uint64_t)(uintptr_t)ret_ns * UINT64_C(0x9e3779b97f4a7c15) | 1;
    worker->depth = (unsigned)value[OPTION_DEPTH];
    worker->path_mask = paths - 1;
    worker->growing_bytes = GROW_MAX;
    worker->round_count = (unsigned)value[OPTION_ROUNDS];
    worker->round_ns = (double)value[OPTION_MILLISECONDS] * 1e6;
    worker->ret_ns = ret_ns;
    worker->barrier = barrier;
    if (burst == burst_live || burst == burst_fill) {
        worker->block_count = burst == burst_live ? (uint64_t)value[OPTION_LIVE] : CROSS_COUNT;
        worker->blocks = must(calloc(worker->block_count, sizeof(void *)));
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sums all mappings. Counts each page of the region once, however often it is mapped. */
static void print_memory(void)
{
    char line[512];
    unsigned long kib, anon_kib = 0, region_kib = 0;
    bool is_region = false;
    FILE *smaps = must(fopen("/proc/self/smaps", "r"));
    while (fgets(line, sizeof(line), smaps)) {
        unsigned long lo, hi;
        if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2) {
            is_region = strstr(line, "memfd:heapscope") != NULL;
        } else if (sscanf(line, "Pss: %lu", &kib) == 1) {
            region_kib += is_region ? kib : 0;
        } else if (sscanf(line, "Anonymous: %lu", &kib) == 1) {
            anon_kib += kib;
        }
    }
    fclose(smaps);
    printf("memory %lu %lu\n", anon_kib * 1024, region_kib * 1024);
}

int main(int argc, char **argv)
{
    long value[OPTION_N] = { 1, 0, 100000, 1, 40, 5, 0 };
    burst_fn burst = argc > 1 ? find_kind(argv[1]) : NULL;
    if (!burst || parse(argc, argv, value) != 0) {
        fputs("usage: storm pair|live|large|grow|cross [-t THREADS] [-d DEPTH] [-l LIVE] "
              "[-p PATHS] [-r ROUNDS] [-m MILLISECONDS] [-s]\n",
              stderr);
        return 2;
    }
    size_t thread_count = (size_t)value[OPTION_THREADS];
    size_t round_count = (size_t)value[OPTION_ROUNDS];
    struct worker *workers = must(calloc(thread_count, sizeof(*workers)));
    pthread_t *threads = must(calloc(thread_count, sizeof(*threads)));
    double *ns = must(calloc(thread_count * round_count, sizeof(*ns)));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count);
    for (size_t i = 0; i < thread_count; i++) {
        prepare(&workers[i], burst, value, ns + i * round_count, &barrier);
        workers[i].neighbour = burst == burst_fill ? &workers[(i + 1) % thread_count] : NULL;
    }
    if (thread_count == 1) {
        work(&workers[0]); /* lets the allocator know that there is only one thread */
    }
    for (size_t i = 0; i < thread_count && thread_count > 1; i++) {
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            perror("storm: pthread_create");
            return 1;
        }
    }
    for (size_t i = 0; i < thread_count && thread_count > 1; i++) {
        pthread_join(threads[i], NULL);
    }
    if (value[OPTION_MEMORY]) {
        print_memory();
    }
    qsort(ns, thread_count * round_count, sizeof(*ns), compare);
    printf("%.3f %.3f\n", ns[0], ns[thread_count * round_count / 2]);
    return 0;
}
