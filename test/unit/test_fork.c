/* Forked children that begin a region of their own, and what a collector reads in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "client/life/fork.h"
#include "client/tables/fork_ring.h"
#include "client/tables/live.h"
#include "client/tables/modules.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/thread.h"
#include "client_fixture.h"
#include "fork_reader.h"

#define BLOCKS 3000U

static const char *collector_name;
static uint32_t stack_id;
static bool is_child_told, is_child_torn;

static bool always(void)
{
    return true;
}

static void be_told(void)
{
    is_child_told = true;
}

static void be_torn(void)
{
    is_child_torn = true;
    hs_region_abandon();
}

static const struct hs_fork_callbacks callbacks = { always, be_told, be_torn };

static int set_up(void **state)
{
    (void)state;
    if (fixture_region() != 0 || !hs_modules_init() || !hs_stacks_init() || !hs_live_init() ||
        !hs_call_stack_init() || !hs_fork_watch(&callbacks) ||
        !(collector_name = fork_reader_open())) {
        return -1;
    }
    hs_control_page.control.interval_bytes = 1;
    uint32_t frame_id = hs_frame_intern(HS_FRAME_PC_END, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
    struct hs_stack_key key = { .frame_ids = &frame_id, .frame_count = 1 };
    stack_id = hs_stack_intern(&key);
    return 0;
}

static uintptr_t addr_of(uintptr_t i)
{
    return 0x100000 + i * 64;
}

static void insert(uintptr_t i, uint64_t size_bytes)
{
    struct hs_live_block block = { .addr = addr_of(i),
                                   .size_bytes = size_bytes,
                                   .weight_bytes = size_bytes,
                                   .stack_id = stack_id,
                                   .epoch = hs_load_acquire(&hs_control_page.control.epoch) };
    assert_int_equal(hs_live_insert(hs_thread_self(), &block), HS_LOSS_N);
}

static void take(uintptr_t i)
{
    assert_true(hs_live_remove(hs_thread_self(), addr_of(i), NULL));
}

static void fill(void)
{
    for (uintptr_t i = 0; i < BLOCKS; i++) {
        insert(i, 100 + i);
    }
}

static void clear(void)
{
    HS_ASSERT(hs_live_is_valid() && hs_stacks_is_valid() && hs_modules_is_valid());
    for (uintptr_t i = 0; i < BLOCKS; i++) {
        take(i);
    }
    HS_ASSERT(hs_live_is_valid() && hs_region_is_valid());
}

/* A token by which parent and child wait for each other. */
static int baton[2];

static void pass(void)
{
    assert_int_equal(write(baton[1], "x", 1), 1);
}

static void await(void)
{
    char byte;
    assert_int_equal(read(baton[0], &byte, 1), 1);
}

/* Starts a child that runs `work` when it gets the token. */
static pid_t start_child(int (*work)(void))
{
    assert_int_equal(pipe(baton), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        await();
        _exit(work());
    }
    return pid;
}

static int end_child(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    close(baton[0]);
    close(baton[1]);
    return WEXITSTATUS(status);
}

/* Passes the token to the child, whose work must succeed. */
static void finish_child(pid_t pid)
{
    pass();
    assert_int_equal(end_child(pid), 0);
}

static double sum_of_sizes(uintptr_t first, uintptr_t step)
{
    double sum = 0;
    for (uintptr_t i = first; i < BLOCKS; i += step) {
        sum += (double)(100 + i);
    }
    return sum;
}

static int begin(void)
{
    if (!is_child_told || !hs_fork_begin(collector_name)) {
        return 1;
    }
    const struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, 0);
    HS_ASSERT(hs_stacks_is_valid() && hs_region_is_valid() && hs_record_pool_is_valid());
    /* The index goes on naming blocks whose record was not recovered. */
    HS_ASSERT(block->lost_count[HS_LOSS_INHERITED] != 0 || hs_live_is_valid());
    return 0;
}

/* --- ------------------------------------------------------------------------------------------ */

static void test_as_it_was(void **state)
{
    (void)state;
    fill();
    pid_t pid = start_child(begin);
    /*
     * Before the child begins, each record is reused for another block; many of these have the same
     * address.
     */
    clear();
    for (uintptr_t i = 0; i < BLOCKS; i++) {
        insert(i, 7);
    }
    finish_child(pid);
    struct hs_snapshot *snap = fork_reader_receive();
    assert_true(snap->live.count == BLOCKS && snap->alloc.count == BLOCKS);
    assert_true(snap->live.bytes == sum_of_sizes(0, 1) && snap->alloc.bytes == snap->live.bytes);
    assert_int_equal(snap->lost_count[HS_LOSS_INHERITED], 0);
    hs_snapshot_free(snap);
    clear();
}

static int free_and_begin(void)
{
    for (uintptr_t i = 0; i < BLOCKS; i += 20) {
        if (!hs_fork_note_free(addr_of(i))) {
            return 2;
        }
    }
    if (!hs_fork_take_note(addr_of(0)) || hs_fork_take_note(addr_of(0)) || begin() != 0) {
        return 3;
    }
    hs_fork_forget_noted();
    take(1);
    insert(1, 500000);
    return 0;
}

static void test_goes_on(void **state)
{
    (void)state;
    fill();
    pid_t pid = start_child(free_and_begin);
    finish_child(pid);
    struct hs_snapshot *snap = fork_reader_receive();
    assert_int_equal((uint64_t)snap->live.count, BLOCKS - BLOCKS / 20 + 1);
    assert_true(snap->live.bytes == sum_of_sizes(0, 1) - sum_of_sizes(0, 20) + 100 - 101 + 500000);
    assert_true(snap->peak.bytes == snap->live.bytes);
    hs_snapshot_free(snap);
    clear(); /* the parent had none of this */
}

static int note_too_many(void)
{
    unsigned count = 0;
    while (count < 10000 && hs_fork_note_free(addr_of(count))) {
        count++;
    }
    return count == 256 ? 0 : 1;
}

static void test_notes_have_an_end(void **state)
{
    (void)state;
    pid_t pid = start_child(note_too_many);
    finish_child(pid);
}

static int fork_and_begin(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(begin());
    }
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static void test_grandchild_of_one_that_never_began(void **state)
{
    (void)state;
    fill();
    pid_t pid = start_child(fork_and_begin);
    clear();
    finish_child(pid);
    struct hs_snapshot *snap = fork_reader_receive();
    assert_true(snap->live.bytes == sum_of_sizes(0, 1));
    hs_snapshot_free(snap);
}

static int begin_nowhere(void)
{
    return hs_fork_begin("no such collector") ? 1 : 0;
}

static void test_without_a_collector(void **state)
{
    (void)state;
    fill();
    pid_t pid = start_child(begin_nowhere);
    finish_child(pid);
    clear();
}

static void test_torn(void **state)
{
    (void)state;
    fill();
    /* As in a handler that interrupted the client's code. */
    struct hs_frame_marker mark;
    hs_reentry_guard_set(&mark);
    pid_t pid = fork();
    if (pid == 0) {
        hs_reentry_guard_leave();
        for (uint32_t id = 0; id < BLOCKS; id++) {
            hs_region_record(id)->addr = 1;
        }
        _exit(is_child_torn && !is_child_told ? 0 : 1);
    }
    hs_reentry_guard_leave();
    assert_int_equal(pipe(baton), 0);
    assert_int_equal(end_child(pid), 0);
    clear();
}

static int end_at_once(void)
{
    return 0;
}

/*
 * A thread has seen that deaths are written down, but does so only when the session is over. It
 * neither crashes nor disturbs the next session.
 */
static void test_late_death(void **state)
{
    (void)state;
    fill();
    pid_t pid = start_child(end_at_once);
    struct hs_record_v1 record = *hs_region_record(0);
    hs_fork_forget();
    hs_fork_ring_add(&record, record.word);
    finish_child(pid);
    pid = start_child(begin);
    clear();
    finish_child(pid);
    struct hs_snapshot *snap = fork_reader_receive();
    assert_int_equal(snap->lost_count[HS_LOSS_INHERITED], 0);
    hs_snapshot_free(snap);
}

/* More blocks die than can be written down: missing ones are counted, and the others are right. */
static void test_too_many_deaths(void **state)
{
    (void)state;
    const uintptr_t many = 200000;
    for (uintptr_t i = 0; i < many; i++) {
        insert(i, 10);
    }
    pid_t pid = start_child(begin);
    for (uintptr_t i = 0; i < many; i++) {
        take(i);
    }
    finish_child(pid);
    struct hs_snapshot *snap = fork_reader_receive();
    uint64_t lost_count = snap->lost_count[HS_LOSS_INHERITED];
    assert_true(lost_count > 0 && lost_count < many / 2);
    assert_true(snap->live.count == (double)(many - lost_count));
    assert_int_equal(snap->sample_count, many - lost_count);
    assert_true(snap->live.bytes == snap->live.count * 10);
    hs_snapshot_free(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_it_was),
        cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_notes_have_an_end),
        cmocka_unit_test(test_grandchild_of_one_that_never_began),
        cmocka_unit_test(test_without_a_collector),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_late_death),
        cmocka_unit_test(test_too_many_deaths),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
