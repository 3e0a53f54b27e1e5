/*
 * Two heaps that several threads use at once, and what they hold.
 *
 *     api_churn THREADS COUNT [fork] [stats] [kill]
 *
 * Each thread makes COUNT blocks in each heap; the ids are equal in both heaps, and far above all
 * addresses. It frees two of three, some of them in another thread's range. Sizes are 1 to 2,000
 * bytes. At the end the program prints for each heap: live bytes, live count, allocated bytes,
 * allocated count.
 *
 *     fork   a child inherits the blocks, frees half of them and makes some more, and prints the
 *            same behind the word "child"
 *     stats  prints what heapscope_get_stats says before and after a block of 1,000 bytes
 *     kill   the program kills itself at its end
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heapscope/heapscope.h>

#define HEAPS       2
#define THREADS_MAX 16
#define BASE        (UINT64_C(1) << 60)

static uint32_t heaps[HEAPS];
static const char *const names[HEAPS] = { "churn.carved", "churn.own" };
static unsigned thread_count;
static uint64_t block_count; /* of a thread */
static pthread_barrier_t barrier;
static uint64_t sums[HEAPS][4];

static uint64_t size_of(uint64_t n)
{
    return 1 + n * 7919 % 2000;
}

static void count(unsigned h, uint64_t n, int is_new)
{
    __atomic_fetch_add(&sums[h][0], is_new ? size_of(n) : -size_of(n), __ATOMIC_RELAXED);
    __atomic_fetch_add(&sums[h][1], is_new ? 1 : -UINT64_C(1), __ATOMIC_RELAXED);
    __atomic_fetch_add(&sums[h][2], is_new ? size_of(n) : 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sums[h][3], is_new ? 1 : 0, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void site_make(unsigned h, uint64_t n)
{
    heapscope_report_alloc(heaps[h], BASE + n, size_of(n));
    count(h, n, 1);
}

static void drop(unsigned h, uint64_t n)
{
    heapscope_report_free(heaps[h], BASE + n);
    count(h, n, 0);
}

static void *work(void *arg)
{
    uint64_t me = (uintptr_t)arg, first = me * block_count;
    uint64_t other = (me + 1) % thread_count * block_count;
    for (uint64_t i = 0; i < block_count; i++) {
        for (unsigned h = 0; h < HEAPS; h++) {
            site_make(h, first + i);
            if (i % 3 == 0) {
                drop(h, first + i);
            }
        }
    }
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 1; i < block_count; i += 3) {
        for (unsigned h = 0; h < HEAPS; h++) {
            drop(h, other + i);
        }
    }
    return NULL;
}

static void tell(const char *word)
{
    for (unsigned h = 0; h < HEAPS; h++) {
        printf("%s%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", word, names[h], sums[h][0],
               sums[h][1], sums[h][2], sums[h][3]);
    }
    fflush(stdout);
}

static void be_child(void)
{
    for (unsigned h = 0; h < HEAPS; h++) {
        /* What it inherited counts as allocated in the child. */
        sums[h][2] = sums[h][0];
        sums[h][3] = sums[h][1];
        for (uint64_t i = 2; i < block_count; i += 6) {
            drop(h, i);
        }
        for (uint64_t i = 0; i < 100; i++) {
            site_make(h, UINT64_C(1) << 40 | i);
        }
    }
    tell("child ");
}

static void tell_stats(void)
{
    struct heapscope_stats before, after, mine, mine_after;
    if (heapscope_get_stats(&before, &mine) == 0) {
        heapscope_report_alloc(heaps[0], 1, 1000);
        heapscope_get_stats(&after, &mine_after);
        heapscope_report_free(heaps[0], 1);
        printf("stats %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               after.allocated_bytes - before.allocated_bytes,
               after.deallocated_bytes - before.deallocated_bytes,
               mine_after.allocated_bytes - mine.allocated_bytes, after.is_exact);
        sums[0][2] += 1000;
        sums[0][3]++;
    }
}

static int has_word(int argc, char **argv, const char *word)
{
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], word) == 0) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    thread_count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    block_count = argc > 2 ? (uint64_t)atoll(argv[2]) : 1000;
    pthread_barrier_init(&barrier, NULL, thread_count);
    for (unsigned h = 0; h < HEAPS; h++) {
        heapscope_heap *heap = heapscope_heap_create(names[h]);
        heapscope_heap_set_primary(heap, h == 1);
        heaps[h] = heapscope_heap_register(heap);
    }
    for (uintptr_t i = 0; i < thread_count; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (unsigned i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    if (has_word(argc, argv, "stats")) {
        tell_stats();
    }
    tell("");
    if (has_word(argc, argv, "fork")) {
        pid_t pid = fork();
        if (pid == 0) {
            be_child();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    if (has_word(argc, argv, "kill")) {
        raise(SIGKILL);
    }
    return 0;
}
