/*
 * The client's region: a file that cannot be truncated under a reader, and mappings that grow under
 * the threads that use them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/tables/region.h"
#include "client_fixture.h"

static int region_fd;

static int set_up(void **state)
{
    (void)state;
    return hs_region_create(&region_fd);
}

/* A collector's mapping never faults, whatever the target does with the descriptor. */
static void test_it_cannot_shrink(void **state)
{
    (void)state;
    struct stat st;
    int seals = fcntl(region_fd, F_GET_SEALS);
    assert_int_equal(seals, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    assert_int_equal(fstat(region_fd, &st), 0);
    assert_int_equal(st.st_size, hs_region.file_bytes);
    assert_int_equal(ftruncate(region_fd, 4096), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(region_fd, st.st_size + 4096), -1);
    assert_int_equal(errno, EPERM);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", region_fd);
    int again = open(path, O_RDWR | O_TRUNC);
    assert_int_equal(again, -1);
    assert_int_equal(errno, EPERM);
    /* No seal can be added either: a seal against writing would exclude the collector. */
    assert_int_equal(fcntl(region_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(errno, EPERM);
    /* Pages can be removed from the file. They then read as zeros. */
    struct hs_thread_v1 *thread = hs_region_at(HS_SECTION_THREADS, 100);
    uint64_t off = hs_region.header->sections[HS_SECTION_THREADS].file_off;
    thread->tid = 7;
    assert_int_equal(
        fallocate(region_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, 65536), 0);
    assert_int_equal(thread->tid, 0);
}

/* A longer mapping shows the same memory, and the shorter one stays. */
static void test_old_pointers_stay_good(void **state)
{
    (void)state;
    uint64_t *first = hs_region_at(HS_SECTION_STACKS, 5);
    *first = 42;
    HS_ASSERT(hs_region_is_valid());
    const struct hs_region_view *before = hs_region.current[HS_SECTION_STACKS];
    assert_non_null(hs_region_at(HS_SECTION_STACKS, 1000000));
    assert_ptr_not_equal(hs_region.current[HS_SECTION_STACKS], before);
    uint64_t *second = hs_region_at(HS_SECTION_STACKS, 5);
    assert_ptr_not_equal(first, second);
    assert_int_equal(*second, 42);
    *first = 43;
    assert_int_equal(*second, 43);
    HS_ASSERT(hs_region_is_valid());
    /* Behind the end there is nothing. */
    uint64_t max_count = hs_region.header->sections[HS_SECTION_STACKS].max_count;
    assert_null(hs_region_at(HS_SECTION_STACKS, max_count));
    assert_null(hs_region_at(HS_SECTION_STACKS, UINT64_MAX));
}

#define THREADS 4
#define RECORDS 700000U /* of all threads: reaches the third mapping */
#define BATCH   64U

static uint32_t errors;

static void *take_records(void *arg)
{
    uint64_t mine = (uint64_t)(uintptr_t)arg, bad = 0;
    static uint64_t firsts[THREADS][RECORDS / BATCH / THREADS];
    uint32_t count = RECORDS / BATCH / THREADS;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = hs_region_take(HS_SECTION_RECORDS, BATCH);
        firsts[mine][i] = first;
        for (uint64_t id = first; id < first + BATCH; id++) {
            struct hs_record_v1 *record = hs_region_record((uint32_t)id);
            bad += !record || record->addr != 0; /* no other thread has this record */
            record->addr = mine + 1;
        }
        bad += hs_region_record((uint32_t)firsts[mine][i / 2])->addr != mine + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        bad += hs_region_record((uint32_t)firsts[mine][i])->addr != mine + 1;
    }
    hs_add_relaxed(&errors, (uint32_t)bad);
    return NULL;
}

static void test_threads_make_it_grow(void **state)
{
    (void)state;
    fixture_threads(THREADS, take_records);
    assert_int_equal(errors, 0);
    HS_ASSERT(hs_region_is_valid());
    assert_int_equal(hs_region.header->sections[HS_SECTION_RECORDS].count,
                     RECORDS / BATCH / THREADS * THREADS * BATCH);
}

/*
 * In a region with a limit: takes entries until it is refused. Entries that were handed out are
 * kept.
 */
static uint64_t fill(enum hs_section_id section, uint64_t count)
{
    uint64_t all = 0;
    uint64_t first;
    while ((first = hs_region_take(section, count)) != UINT64_MAX) {
        /* Touches the entry as its user does, so that its page exists. */
        *(volatile char *)hs_region_at(section, first + count - 1) = 1;
        all += count;
        assert_true(all < UINT64_C(1) << 26);
    }
    return all;
}

static uint64_t file_pages_bytes(void)
{
    struct stat st;
    assert_int_equal(fstat(region_fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* The other tests have mapped the sections to their ends: the pages they touched exist. */
static void test_a_limit_holds(void **state)
{
    (void)state;
    static const uint64_t limits[] = { UINT64_C(1) << 20, UINT64_C(5) << 20,
                                       (UINT64_C(24) << 20) + 1234 };
    for (unsigned i = 0; i < 3; i++) {
        int fd;
        assert_int_equal(hs_region_renew(&fd), 0);
        close(region_fd);
        region_fd = fd;
        assert_false(hs_region.is_at_limit);
        uint64_t before_bytes = file_pages_bytes();
        assert_true(before_bytes < limits[0]);
        hs_control_page.control.region_limit_bytes = limits[i];
        /* Each table takes some first, and then another one takes the rest. */
        for (unsigned k = 0; k < 2000; k++) {
            hs_region_take(HS_SECTION_FRAMES, 3);
            hs_region_take(HS_SECTION_STACKS, 1);
            hs_region_take(HS_SECTION_FRAME_IDS, 7);
        }
        uint64_t count = fill(HS_SECTION_RECORDS, 64);
        assert_true(hs_region.is_at_limit);
        assert_true(file_pages_bytes() <= limits[i]);
        assert_true(file_pages_bytes() > limits[i] - limits[i] / 4);
        assert_int_equal(count, hs_region.header->sections[HS_SECTION_RECORDS].count);
        fill(HS_SECTION_STACKS, 1);
        fill(HS_SECTION_FRAMES, 1);
        HS_ASSERT(hs_region_is_valid());
        fill(HS_SECTION_FRAME_IDS, 9);
        HS_ASSERT(hs_region_is_valid());
        assert_true(file_pages_bytes() <= limits[i]);
        /* Threads and modules are no samples, so the limit does not apply to them. */
        assert_int_not_equal(hs_region_take(HS_SECTION_MODULES, 1), UINT64_MAX);
        assert_int_not_equal(hs_region_take(HS_SECTION_BLOCKS, 1), UINT64_MAX);
        /* Without the limit it continues. */
        hs_control_page.control.region_limit_bytes = 0;
        assert_int_not_equal(hs_region_take(HS_SECTION_RECORDS, 64), UINT64_MAX);
    }
}

#define GREEDY_MAX 70000U

/*
 * Every second thread takes so much that it is soon refused. The others take one by one until that
 * is refused too.
 */
static void *take_greedily(void *arg)
{
    uint32_t mine = (uint32_t)(uintptr_t)arg + 1, refused = 0, bad = 0;
    static uint32_t ids[THREADS][GREEDY_MAX];
    uint32_t n = 0;
    while (refused < (mine & 1 ? 1000 : 100000) && n < GREEDY_MAX) {
        uint32_t count = mine & 1 ? 1 : 4096;
        uint64_t first = hs_region_take(HS_SECTION_RECORDS, count);
        refused += first == UINT64_MAX;
        for (uint64_t id = first; first != UINT64_MAX && id < first + count && n < GREEDY_MAX;
             id++) {
            struct hs_record_v1 *record = hs_region_record((uint32_t)id);
            bad += !record || record->stack_id != 0; /* no other thread has it */
            record->stack_id = mine;
            ids[mine - 1][n++] = (uint32_t)id;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        bad += hs_region_record(ids[mine - 1][i])->stack_id != mine;
    }
    hs_add_relaxed(&errors, bad + (refused == 0));
    return NULL;
}

/* A thread that is refused takes nothing away from one that is not. */
static void test_threads_at_the_limit(void **state)
{
    (void)state;
    int fd;
    assert_int_equal(hs_region_renew(&fd), 0);
    close(region_fd);
    region_fd = fd;
    hs_control_page.control.region_limit_bytes = UINT64_C(2) << 20;
    errors = 0;
    fixture_threads(THREADS, take_greedily);
    assert_int_equal(errors, 0);
    assert_true(file_pages_bytes() <= UINT64_C(2) << 20);
    hs_control_page.control.region_limit_bytes = 0;
}

/* Without address space for a longer mapping, the count stays at what was handed out: the collector
 * refuses a region that claims more than it holds. */
static void test_no_address_space(void **state)
{
    (void)state;
    const struct hs_section_v1 *records = &hs_region.header->sections[HS_SECTION_RECORDS];
    struct rlimit no_more = { 1, RLIM_INFINITY };
    assert_int_equal(setrlimit(RLIMIT_AS, &no_more), 0);
    while (hs_region_take(HS_SECTION_RECORDS, BATCH) != UINT64_MAX) {
    }
    uint64_t count = records->count;
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(hs_region_take(HS_SECTION_RECORDS, BATCH), UINT64_MAX);
    }
    assert_int_equal(records->count, count);
    assert_non_null(hs_region_record((uint32_t)count - 1));
    assert_in_range(count, 1, hs_region.current[HS_SECTION_RECORDS]->count);
    no_more.rlim_cur = RLIM_INFINITY;
    assert_int_equal(setrlimit(RLIMIT_AS, &no_more), 0);
    assert_int_equal(hs_region_take(HS_SECTION_RECORDS, BATCH), count);
    int fd;
    assert_int_equal(hs_region_renew(&fd), 0);
    close(region_fd);
    region_fd = fd;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_address_space), /* the first: others have long mappings */
        cmocka_unit_test(test_it_cannot_shrink),     cmocka_unit_test(test_old_pointers_stay_good),
        cmocka_unit_test(test_threads_make_it_grow), cmocka_unit_test(test_a_limit_holds),
        cmocka_unit_test(test_threads_at_the_limit),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
