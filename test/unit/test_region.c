/*
 * The client's region: a file that nobody can cut off under a reader, and views that grow under
 * threads that use them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client_fixture.h"
#include "client/region.h"

static int region_fd;

static int set_up(void **state)
{
    (void)state;
    return hs_region_create(&region_fd);
}

/* A mapping of the collector never faults, whatever the target does with the descriptor. */
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
    /* No seal can be added either: one against writing would keep the collector out. */
    assert_int_equal(fcntl(region_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(errno, EPERM);
    /* Pages can be taken out. They read as zeros. */
    struct hs_thread_v1 *thread = hs_region_at(HS_SECTION_THREADS, 100);
    uint64_t off = hs_region.header->sections[HS_SECTION_THREADS].file_off;
    thread->tid = 7;
    assert_int_equal(
        fallocate(region_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, 65536), 0);
    assert_int_equal(thread->tid, 0);
}

/* A longer view shows the same memory, and the shorter one stays. */
static void test_old_pointers_stay_good(void **state)
{
    (void)state;
    uint64_t *first = hs_region_at(HS_SECTION_STACKS, 5);
    *first = 42;
    const struct hs_region_view *before = hs_region.current[HS_SECTION_STACKS];
    assert_non_null(hs_region_at(HS_SECTION_STACKS, 1000000));
    assert_ptr_not_equal(hs_region.current[HS_SECTION_STACKS], before);
    uint64_t *second = hs_region_at(HS_SECTION_STACKS, 5);
    assert_ptr_not_equal(first, second);
    assert_int_equal(*second, 42);
    *first = 43;
    assert_int_equal(*second, 43);
    /* Behind the end there is nothing. */
    uint64_t max_count = hs_region.header->sections[HS_SECTION_STACKS].max_count;
    assert_null(hs_region_at(HS_SECTION_STACKS, max_count));
    assert_null(hs_region_at(HS_SECTION_STACKS, UINT64_MAX));
}

#define THREADS 4
#define RECORDS 700000U /* of all threads: the third view */
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
            bad += !record || record->addr != 0; /* nobody else has it */
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
    assert_int_equal(hs_region.header->sections[HS_SECTION_RECORDS].count,
                     RECORDS / BATCH / THREADS * THREADS * BATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_cannot_shrink),
        cmocka_unit_test(test_old_pointers_stay_good),
        cmocka_unit_test(test_threads_make_it_grow),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
