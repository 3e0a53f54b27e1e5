/* glibc's heap in another process, read from outside, compared with what glibc says there. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/glibc_heap.h"

#define BLOCKS       40000
#define THREAD_COUNT 4

static void *blocks[BLOCKS];
static pthread_barrier_t barrier;

/* What the child says of itself. */
struct said {
    struct mallinfo2 info;
    uint64_t cached_count; /* of blocks that it put into the lists of threads */
};

static void fill(size_t count, size_t size_bytes)
{
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(size_bytes);
        memset(blocks[i], 1, size_bytes);
    }
}

static void make_nothing(struct said *said)
{
    (void)said;
}

/* Blocks between those that are freed keep their pages. */
static void make_comb(struct said *said)
{
    (void)said;
    fill(BLOCKS, 200);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (i % 8 != 0) {
            free(blocks[i]);
        }
    }
}

static void make_fast(struct said *said)
{
    (void)said;
    fill(3000, 40);
    for (size_t i = 0; i < 3000; i += 2) {
        free(blocks[i]);
    }
}

static void make_top(struct said *said)
{
    (void)said;
    fill(1000, 2000);
    for (size_t i = 0; i < 1000; i++) {
        free(blocks[i]);
    }
}

static void make_mmapped(struct said *said)
{
    (void)said;
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    for (size_t i = 0; i < 20; i++) {
        blocks[i] = malloc((200 << 10) + i * 5000);
        memset(blocks[i], 1, 5000 * i);
    }
    free(blocks[5]);
    blocks[5] = realloc(blocks[7], 3 << 20);
}

static void *work(void *arg)
{
    size_t size_bytes = 100 + 50 * (size_t)arg;
    void *own[2000];
    for (size_t i = 0; i < 2000; i++) {
        own[i] = malloc(size_bytes + i);
        memset(own[i], 1, size_bytes);
    }
    for (size_t i = 0; i < 2000; i += 3) {
        free(own[i]);
    }
    pthread_barrier_wait(&barrier);
    pause();
    return NULL;
}

static void make_arenas(struct said *said)
{
    pthread_t thread;
    (void)said;
    pthread_barrier_init(&barrier, NULL, THREAD_COUNT + 1);
    for (size_t i = 0; i < THREAD_COUNT; i++) {
        pthread_create(&thread, NULL, work, (void *)i);
    }
    pthread_barrier_wait(&barrier);
}

static void *work_large(void *arg)
{
    for (size_t i = 0; i < 1000; i++) {
        memset(malloc(100000), 1, 1000);
    }
    return work(arg);
}

/* An arena of more than one heap. */
static void make_heaps(struct said *said)
{
    pthread_t thread;
    (void)said;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, work_large, NULL);
    pthread_barrier_wait(&barrier);
}

static void make_cached(struct said *said)
{
    fill(64, 300);
    for (size_t i = 0; i < 5; i++) {
        free(blocks[i * 2]);
    }
    said->cached_count = 5;
}

/* Whole pages between blocks that stay. */
static void make_holes(struct said *said)
{
    (void)said;
    fill(2000, 8000);
    for (size_t i = 0; i < 2000; i++) {
        if (i % 5 != 0) {
            free(blocks[i]);
        }
    }
}

/* Blocks of several pages. */
static void make_large(struct said *said)
{
    (void)said;
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    fill(2000, 20000);
    for (size_t i = 0; i < 2000; i += 4) {
        free(blocks[i]);
    }
}

/* Overwrites the head of a chunk in the middle. */
static void make_broken(struct said *said)
{
    (void)said;
    fill(1000, 1000);
    memset((char *)blocks[500] - 16, 0xff, 16);
}

struct child {
    pid_t pid;
    int said_fd;
    int trim_fd; /* a byte here makes it call malloc_trim(0), and say what that released */
};

/* Without the pages of files. */
static int64_t resident_bytes(void)
{
    char text[128] = "";
    long resident = 0, shared = 0;
    int fd = open("/proc/self/statm", O_RDONLY);
    if (read(fd, text, sizeof(text) - 1) > 0) {
        char *end;
        strtol(text, &end, 10);
        resident = strtol(end, &end, 10);
        shared = strtol(end, &end, 10);
    }
    close(fd);
    return (int64_t)(resident - shared) * 4096;
}

static struct child start(void (*make)(struct said *said), struct said *ret_said)
{
    int ends[2], trim[2];
    struct child child;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(trim), 0);
    child.pid = fork();
    if (child.pid == 0) {
        struct said said = { 0 };
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make(&said);
        said.info = make == make_broken ? (struct mallinfo2){ 0 } : mallinfo2();
        if (write(ends[1], &said, sizeof(said)) == sizeof(said) && read(trim[0], &byte, 1) == 1) {
            int64_t released_bytes = resident_bytes();
            malloc_trim(0);
            released_bytes -= resident_bytes();
            if (write(ends[1], &released_bytes, sizeof(released_bytes)) > 0) {
                pause();
            }
        }
        _exit(1);
    }
    close(ends[1]);
    close(trim[0]);
    child.said_fd = ends[0];
    child.trim_fd = trim[1];
    assert_int_equal(read(ends[0], ret_said, sizeof(*ret_said)), sizeof(*ret_said));
    return child;
}

static void end(const struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->said_fd);
    close(child->trim_fd);
}

static void read_heap(pid_t pid, struct hs_glibc_heap *ret_heap)
{
    struct hs_address_space space;
    assert_int_equal(hs_address_space_read(pid, &space), 0);
    struct hs_glibc_place place;
    assert_true(hs_glibc_place_find(pid, &space, &place));
    assert_int_equal(hs_glibc_heap_read(pid, &space, &place, NULL, NULL, ret_heap), 0);
    hs_address_space_deinit(&space);
}

static void print(const struct hs_malloc_space *space)
{
    static const char *const names[] = { "in use", "mmapped", "binned",   "fast",
                                         "cached", "top",     "internal", "unreadable" };
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *sum = &space->sums[i];
        print_message("%-10s %8llu chunks %12llu bytes %12llu resident\n", names[i],
                      (unsigned long long)sum->count, (unsigned long long)sum->bytes,
                      (unsigned long long)sum->resident_bytes);
    }
}

static void check(void (*make)(struct said *said))
{
    struct said said;
    struct hs_glibc_heap heap;
    struct child child = start(make, &said);
    read_heap(child.pid, &heap);
    end(&child);
    const struct hs_malloc_sum *sums = heap.space.sums;
    print(&heap.space);
    uint64_t free_bytes =
        sums[HS_MALLOC_BINNED].bytes + sums[HS_MALLOC_FAST].bytes + sums[HS_MALLOC_TOP].bytes;
    assert_int_equal(sums[HS_MALLOC_UNREADABLE].bytes, 0);
    assert_int_equal(free_bytes, said.info.fordblks);
    assert_int_equal(sums[HS_MALLOC_FAST].bytes, said.info.fsmblks);
    assert_int_equal(sums[HS_MALLOC_FAST].count, said.info.smblks);
    assert_int_equal(sums[HS_MALLOC_MMAPPED].bytes, said.info.hblkhd);
    assert_int_equal(sums[HS_MALLOC_MMAPPED].count, said.info.hblks);
    assert_int_equal(sums[HS_MALLOC_IN_USE].bytes + sums[HS_MALLOC_CACHED].bytes +
                         sums[HS_MALLOC_INTERNAL].bytes,
                     said.info.uordblks);
    assert_true(sums[HS_MALLOC_CACHED].count >= said.cached_count);
    assert_false(heap.is_free_cut);
    hs_glibc_heap_deinit(&heap);
}

/* A sanitizer serves malloc itself. */
static bool has_glibc_heap(void)
{
    free(malloc(100));
    bool has_heap = mallinfo2().arena > 0;
    if (!has_heap) {
        print_message("glibc does not serve malloc here\n");
    }
    return has_heap;
}

static void test_equals_mallinfo(void **state)
{
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    check(make_nothing);
    check(make_cached);
    check(make_fast);
    check(make_comb);
    check(make_top);
    check(make_mmapped);
    check(make_arenas);
    check(make_heaps);
    check(make_large);
}

static void check_trim(void (*make)(struct said *said))
{
    struct said said;
    struct hs_glibc_heap heap;
    struct child child = start(make, &said);
    int64_t released_bytes;
    read_heap(child.pid, &heap);
    assert_int_equal(write(child.trim_fd, "x", 1), 1);
    assert_int_equal(read(child.said_fd, &released_bytes, sizeof(released_bytes)),
                     sizeof(released_bytes));
    end(&child);
    print_message("malloc_trim released %lld bytes; %llu were predicted\n",
                  (long long)released_bytes, (unsigned long long)heap.space.trim_bytes);
    double error = (double)heap.space.trim_bytes - (double)released_bytes;
    double most = 0.05 * (double)(released_bytes > 0 ? released_bytes : 0) + 32 * 1024;
    assert_true(error < most && error > -most);
    hs_glibc_heap_deinit(&heap);
}

static void test_predicts_malloc_trim(void **state)
{
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    check_trim(make_holes);
    check_trim(make_comb);
    check_trim(make_fast);
    check_trim(make_top);
    check_trim(make_arenas);
    check_trim(make_nothing);
}

/* One broken head makes one chunk unreadable: those behind it make sense. */
static void test_broken(void **state)
{
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    struct said said;
    struct hs_glibc_heap heap;
    struct child child = start(make_broken, &said);
    read_heap(child.pid, &heap);
    end(&child);
    const struct hs_malloc_sum *sums = heap.space.sums;
    print(&heap.space);
    assert_in_range(sums[HS_MALLOC_UNREADABLE].bytes, 1000, 3 * 1024);
    assert_in_range(sums[HS_MALLOC_IN_USE].count, 990, 1200);
    uint64_t bytes = 0, range_bytes = 0;
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        bytes += i == HS_MALLOC_MMAPPED ? 0 : sums[i].bytes;
    }
    for (size_t i = 0; i < heap.arenas.count; i++) {
        range_bytes += heap.arenas.items[i].end_va - heap.arenas.items[i].start_va;
    }
    assert_int_equal(bytes, range_bytes);
    hs_glibc_heap_deinit(&heap);
}

/* Only the heads of chunks are copied where they are far apart, and all else once. */
static void test_copies_little(void **state)
{
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    static const struct {
        void (*make)(struct said *said);
        double share_max; /* of the heap */
    } cases[] = { { make_large, 0.05 }, { make_comb, 1.1 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct said said;
        struct hs_glibc_heap heap;
        struct child child = start(cases[i].make, &said);
        read_heap(child.pid, &heap);
        end(&child);
        print_message("%llu bytes were copied of a heap of %zu\n",
                      (unsigned long long)heap.copied_bytes, said.info.arena);
        assert_true((double)heap.copied_bytes < cases[i].share_max * (double)said.info.arena);
        hs_glibc_heap_deinit(&heap);
    }
}

static void make_busy(struct said *said)
{
    (void)said;
    for (unsigned i = 0; i < 3; i++) {
        fill(BLOCKS / 4, 5000);
        for (size_t k = 0; k < BLOCKS / 4; k++) {
            free(blocks[k]);
        }
    }
}

/* A child that allocates and frees without a pause, in address order. */
static pid_t start_busy(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make_busy(NULL);
        for (bool is_told = false;; is_told = true) {
            if (!is_told && write(ends[1], "", 1) != 1) {
                _exit(1);
            }
            make_busy(NULL);
        }
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

/* A heap that grows, shrinks and is trimmed while it is read can be read, but for a small part. */
static void test_busy(void **state)
{
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    double bytes = 0, unread_bytes = 0;
    pid_t pid = start_busy();
    for (unsigned i = 0; i < 100; i++) {
        struct hs_glibc_heap heap;
        read_heap(pid, &heap);
        for (size_t k = 0; k < HS_MALLOC_STATE_N; k++) {
            bytes += (double)heap.space.sums[k].bytes;
        }
        unread_bytes += (double)heap.space.sums[HS_MALLOC_UNREADABLE].bytes;
        hs_glibc_heap_deinit(&heap);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    print_message("%.2f %% of %.0f bytes were unreadable\n", 100 * unread_bytes / bytes, bytes);
    /* A few per cent; more where other processes take the processor away in the middle. */
    assert_true(unread_bytes < 0.3 * bytes);
}

static uint64_t proportional_bytes(pid_t pid)
{
    struct hs_address_space space;
    uint64_t bytes = 0;
    assert_int_equal(hs_address_space_read(pid, &space), 0);
    for (size_t i = 0; i < space.count; i++) {
        bytes += space.items[i].pss_bytes;
    }
    hs_address_space_deinit(&space);
    return bytes;
}

/* Reading the heap of a forked process does not make it have pages of its own. */
static void test_shares(void **state)
{
    (void)state;
    struct said said;
    struct hs_glibc_heap heap;
    if (!has_glibc_heap()) {
        skip();
    }
    for (size_t block_bytes = 200; block_bytes <= 9000; block_bytes += 8800) {
        fill(BLOCKS / 10, block_bytes);
        struct child child = start(make_nothing, &said);
        uint64_t before_bytes = proportional_bytes(child.pid);
        read_heap(child.pid, &heap);
        uint64_t after_bytes = proportional_bytes(child.pid);
        end(&child);
        hs_glibc_heap_deinit(&heap);
        for (size_t i = 0; i < BLOCKS / 10; i++) {
            free(blocks[i]);
        }
        print_message("%llu bytes before, %llu after\n", (unsigned long long)before_bytes,
                      (unsigned long long)after_bytes);
        assert_true(after_bytes < before_bytes + 65536);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_mallinfo),
        cmocka_unit_test(test_predicts_malloc_trim),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_copies_little),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
