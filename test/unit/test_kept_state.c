/*
 * Tests of daemon/handover/kept_state and job_lock: of what was appended the last holds, a write
 * that was interrupted changes nothing, and one process alone finishes a job.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/handover/job_lock.h"
#include "daemon/handover/kept_state.h"

static void append_target(struct hs_kept_state *state, uint64_t number, uint32_t pid)
{
    Hs__Ctl__KeptTarget target = HS__CTL__KEPT_TARGET__INIT;
    Hs__Ctl__KeptTarget *targets[1] = { &target };
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    target.has_number = target.has_pid = true;
    target.number = number;
    target.pid = pid;
    change.n_targets = 1;
    change.targets = targets;
    assert_int_equal(hs_kept_state_append(state, &change), 0);
}

static void drop_target(struct hs_kept_state *state, uint64_t number)
{
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    change.n_dropped_targets = 1;
    change.dropped_targets = &number;
    assert_int_equal(hs_kept_state_append(state, &change), 0);
}

static void assert_targets(const struct hs_kept_state *state, const uint64_t (*rows)[2],
                           size_t count, uint64_t last)
{
    Hs__Ctl__KeptState *kept;
    assert_int_equal(hs_kept_state_read(state, &kept), 0);
    assert_int_equal(kept->n_targets, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kept->targets[i]->number, rows[i][0]);
        assert_int_equal(kept->targets[i]->pid, rows[i][1]);
    }
    assert_int_equal(kept->last_target, last);
    hs__ctl__kept_state__free_unpacked(kept, NULL);
}

static void test_the_last_holds(void **state)
{
    (void)state;
    struct hs_kept_state kept, compact;
    assert_int_equal(hs_kept_state_new(&kept), 0);
    assert_targets(&kept, NULL, 0, 0);
    append_target(&kept, 3, 30);
    append_target(&kept, 1, 10);
    append_target(&kept, 9, 90);
    drop_target(&kept, 9);
    append_target(&kept, 1, 11);
    append_target(&kept, 2, 20);
    drop_target(&kept, 2);
    static const uint64_t rows[][2] = { { 1, 11 }, { 3, 30 } };
    assert_targets(&kept, rows, 2, 9);
    /* The numbers of dropped ones stay used when nothing else reminds of them. */
    assert_int_equal(hs_kept_state_compact(&kept, &compact), 0);
    assert_true(compact.bytes < kept.bytes);
    assert_targets(&compact, rows, 2, 9);
    append_target(&compact, 10, 100);
    drop_target(&compact, 1);
    static const uint64_t more[][2] = { { 3, 30 }, { 10, 100 } };
    assert_targets(&compact, more, 2, 10);
    hs_kept_state_close(&compact);
    hs_kept_state_close(&kept);
}

static void test_progress(void **state)
{
    (void)state;
    struct hs_kept_state kept, compact;
    Hs__Ctl__KeptState *read;
    Hs__Ctl__KeptJob job = HS__CTL__KEPT_JOB__INIT, *jobs[1] = { &job };
    Hs__Ctl__KeptProgress progress = HS__CTL__KEPT_PROGRESS__INIT, *all[1] = { &progress };
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    assert_int_equal(hs_kept_state_new(&kept), 0);
    job.has_number = progress.has_job = progress.has_dump_count = true;
    job.progress = &progress;
    change.n_jobs = 1;
    change.jobs = jobs;
    for (uint64_t number = 1; number <= 3; number++) {
        job.number = progress.job = number;
        assert_int_equal(hs_kept_state_append(&kept, &change), 0);
    }
    change = (Hs__Ctl__KeptState)HS__CTL__KEPT_STATE__INIT;
    change.n_progress = 1;
    change.progress = all;
    for (uint64_t i = 1; i <= 100; i++) {
        progress.job = 2 + i % 3; /* 4 is no job */
        progress.dump_count = i;
        assert_int_equal(hs_kept_state_append(&kept, &change), 0);
    }
    assert_int_equal(hs_kept_state_compact(&kept, &compact), 0);
    for (int is_compact = 0; is_compact < 2; is_compact++) {
        assert_int_equal(hs_kept_state_read(is_compact ? &compact : &kept, &read), 0);
        assert_int_equal(read->n_jobs, 3);
        assert_int_equal(read->n_progress, 0);
        assert_int_equal(read->jobs[0]->progress->dump_count, 0);
        assert_int_equal(read->jobs[1]->progress->dump_count, 99);
        assert_int_equal(read->jobs[2]->progress->dump_count, 100);
        hs__ctl__kept_state__free_unpacked(read, NULL);
    }
    hs_kept_state_close(&compact);
    hs_kept_state_close(&kept);
}

/* A number that is used again after it was dropped is another job or target: what was written
 * before the drop is over, and what is written after it holds. */
static void test_a_number_that_is_used_again(void **state)
{
    (void)state;
    struct hs_kept_state kept, compact;
    Hs__Ctl__KeptState *read;
    Hs__Ctl__KeptJob job = HS__CTL__KEPT_JOB__INIT, *jobs[1] = { &job };
    Hs__Ctl__KeptProgress progress = HS__CTL__KEPT_PROGRESS__INIT, *all[1] = { &progress };
    Hs__Ctl__KeptState with_job = HS__CTL__KEPT_STATE__INIT, with_progress = with_job,
                       with_drop = with_job;
    uint64_t number = 5;
    job.has_number = job.has_uid = progress.has_job = progress.has_dump_count = true;
    job.number = progress.job = number;
    with_job.n_jobs = with_progress.n_progress = with_drop.n_dropped_jobs = 1;
    with_job.jobs = jobs;
    with_progress.progress = all;
    with_drop.dropped_jobs = &number;
    assert_int_equal(hs_kept_state_new(&kept), 0);
    job.uid = 1;
    progress.dump_count = 300; /* a varint of two bytes */
    assert_int_equal(hs_kept_state_append(&kept, &with_job), 0);
    assert_int_equal(hs_kept_state_append(&kept, &with_progress), 0);
    assert_int_equal(hs_kept_state_append(&kept, &with_drop), 0);
    append_target(&kept, 7, 70);
    drop_target(&kept, 7);
    assert_int_equal(hs_kept_state_read(&kept, &read), 0);
    assert_true(read->n_jobs == 0 && read->n_targets == 0 && read->last_job == 5);
    hs__ctl__kept_state__free_unpacked(read, NULL);

    job.uid = 2;
    assert_int_equal(hs_kept_state_append(&kept, &with_job), 0);
    append_target(&kept, 7, 71);
    static const uint64_t rows[][2] = { { 7, 71 } };
    assert_targets(&kept, rows, 1, 7);
    assert_int_equal(hs_kept_state_compact(&kept, &compact), 0);
    for (int is_compact = 0; is_compact < 2; is_compact++) {
        assert_int_equal(hs_kept_state_read(is_compact ? &compact : &kept, &read), 0);
        assert_int_equal(read->n_jobs, 1);
        assert_int_equal(read->jobs[0]->uid, 2);
        assert_null(read->jobs[0]->progress); /* that of the first job is over, too */
        hs__ctl__kept_state__free_unpacked(read, NULL);
    }
    drop_target(&kept, 7);
    assert_targets(&kept, NULL, 0, 7);
    hs_kept_state_close(&compact);
    hs_kept_state_close(&kept);
}

static void test_a_write_that_was_interrupted(void **state)
{
    (void)state;
    struct hs_kept_state kept, next;
    static const uint64_t rows[][2] = { { 1, 10 } };
    assert_int_equal(hs_kept_state_new(&kept), 0);
    append_target(&kept, 1, 10);
    /* The daemon was killed before it wrote the head. */
    static const char half[] = "\x12\x7f half of a message";
    off_t end = (off_t)(sizeof(struct hs_kept_state_head) + kept.bytes);
    assert_int_equal(pwrite(kept.fd, half, sizeof(half), end), sizeof(half));
    assert_int_equal(hs_kept_state_open(dup(kept.fd), &next), 0);
    assert_targets(&next, rows, 1, 1);
    append_target(&next, 2, 20);
    static const uint64_t more[][2] = { { 1, 10 }, { 2, 20 } };
    assert_targets(&next, more, 2, 2);
    hs_kept_state_close(&next);
    hs_kept_state_close(&kept);
}

static void test_what_is_no_state(void **state)
{
    (void)state;
    struct hs_kept_state kept, next;
    Hs__Ctl__KeptState *read;
    assert_int_equal(hs_kept_state_new(&kept), 0);
    struct hs_kept_state_head head = { .version = HS_KEPT_STATE_VERSION + 1 };
    assert_int_equal(pwrite(kept.fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(hs_kept_state_open(kept.fd, &next), -EPROTONOSUPPORT);
    head.version = HS_KEPT_STATE_VERSION;
    head.bytes = 1;
    assert_int_equal(pwrite(kept.fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(hs_kept_state_open(kept.fd, &next), -EBADMSG); /* longer than the file */
    assert_int_equal(pwrite(kept.fd, "\xff", 1, sizeof(head)), 1);
    assert_int_equal(hs_kept_state_open(kept.fd, &next), 0);
    assert_int_equal(hs_kept_state_read(&next, &read), -EBADMSG);
    assert_int_equal(ftruncate(kept.fd, 3), 0);
    assert_int_equal(hs_kept_state_open(kept.fd, &next), -EBADMSG);
    assert_int_equal(hs_kept_state_open(-1, &next), -EBADMSG);
    hs_kept_state_close(&kept);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Calls hs_job_lock_take() in another process, which lives until `go_on` is closed. Returns whether
 * it got the lock. */
static bool take_in_child(const struct hs_job_lock *lock, int *ret_go_on, pid_t *ret_pid)
{
    int out[2], in[2];
    char answer = 0;
    assert_true(pipe(out) == 0 && pipe(in) == 0);
    *ret_pid = fork();
    if (*ret_pid == 0) {
        close(in[1]);
        answer = hs_job_lock_take(lock) ? 'y' : 'n';
        _exit(write(out[1], &answer, 1) == 1 && read(in[0], &answer, 1) == 0 ? 0 : 1);
    }
    close(out[1]);
    close(in[0]);
    assert_int_equal(read(out[0], &answer, 1), 1);
    close(out[0]);
    *ret_go_on = in[1];
    return answer == 'y';
}

static void end_child(int go_on, pid_t pid)
{
    int status;
    close(go_on);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_one_process_finishes(void **state)
{
    (void)state;
    struct hs_job_lock claimed, other;
    int fd = hs_job_lock_new_file(), go_on, go_on_2;
    pid_t child, child_2;
    const struct hs_job_lock first = { .fd = fd, .number = 5 };
    assert_true(fd >= 0);
    /* The finalizer works: the next daemon leaves it the job, and may have others. */
    assert_true(take_in_child(&first, &go_on, &child));
    assert_false(hs_job_lock_claim(fd, 5, &claimed));
    assert_true(hs_job_lock_claim(fd, 4, &other) && hs_job_lock_claim(fd, 6, &other));
    end_child(go_on, child);
    /* The finalizer comes later than the next daemon. */
    assert_true(hs_job_lock_claim(fd, 5, &claimed));
    assert_int_equal(claimed.epoch, 1);
    assert_false(take_in_child(&first, &go_on, &child));
    end_child(go_on, child);
    assert_true(take_in_child(&claimed, &go_on, &child));
    assert_false(take_in_child(&claimed, &go_on_2, &child_2));
    end_child(go_on_2, child_2);
    end_child(go_on, child);
    assert_true(hs_job_lock_claim(fd, 5, &claimed));
    assert_int_equal(claimed.epoch, 2);
    assert_false(hs_job_lock_claim(fd, UINT64_MAX, &claimed) || hs_job_lock_claim(-1, 1, &claimed));
    const struct hs_job_lock none = HS_JOB_LOCK_NONE;
    assert_true(hs_job_lock_take(&none));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_holds),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_a_number_that_is_used_again),
        cmocka_unit_test(test_a_write_that_was_interrupted),
        cmocka_unit_test(test_what_is_no_state),
        cmocka_unit_test(test_one_process_finishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
