/*
 * Tests of daemon/recording_job: names and numbers, which finished jobs are remembered, and how a
 * job ends, also without a finalizer or without its command.
 */
#include <sys/wait.h>

#include "daemon_fixture.h"
#include "failing_calls.h"

#define SECOND UINT64_C(1000000000)

static struct hs_recording_job *new_job(uid_t uid, const char *name)
{
    const struct hs_user_rights rights = { .uid = uid, .gid = 1 };
    struct hs_recording_job *job = hs_recording_job_new(&rights);
    assert_non_null(job);
    snprintf(job->name, sizeof(job->name), "%s", name);
    return job;
}

static void test_names_and_numbers(void **state)
{
    (void)state;
    struct parts parts;
    parts_init(&parts);
    struct hs_recording_job *one = new_job(0, ""), *two = new_job(7, "mine");
    struct hs_recording_job *same = new_job(7, "mine"), *other = new_job(8, "mine");
    assert_int_equal(hs_recording_job_add(&parts.jobs, one), 0);
    assert_string_equal(one->name, "1");
    assert_int_equal(hs_recording_job_add(&parts.jobs, two), 0);
    assert_int_equal(two->number, one->number + 1);
    assert_int_equal(hs_recording_job_add(&parts.jobs, same), -EEXIST);
    two->state = HS_RECORDING_JOB_DONE;
    two->done_number = ++parts.jobs.last_done;
    assert_int_equal(hs_recording_job_add(&parts.jobs, other), -EEXIST); /* another user's */
    uint64_t number = two->number;
    assert_int_equal(hs_recording_job_add(&parts.jobs, same), 0);
    assert_null(hs_recording_job_find(&parts.jobs, number));
    assert_ptr_equal(hs_recording_job_find(&parts.jobs, number + 1), same);
    snprintf(other->name, sizeof(other->name), "x");
    other->number = 40; /* of a previous daemon */
    assert_int_equal(hs_recording_job_add(&parts.jobs, other), 0);
    struct hs_recording_job *last = new_job(0, "");
    assert_int_equal(hs_recording_job_add(&parts.jobs, last), 0);
    assert_int_equal(last->number, 41);
    parts_deinit(&parts);
}

static void test_limits(void **state)
{
    (void)state;
    struct parts parts;
    int r = 0;
    unsigned count = 0;
    parts_init(&parts);
    for (; r == 0; count += r == 0) {
        struct hs_recording_job *job = new_job(7, "");
        r = hs_recording_job_add(&parts.jobs, job);
        if (r < 0) {
            hs_recording_job_free(job);
        }
    }
    assert_int_equal(r, -E2BIG);
    assert_int_equal(count, 128);
    for (r = 0; r == 0; count += r == 0) {
        struct hs_recording_job *job = new_job(0, "");
        r = hs_recording_job_add(&parts.jobs, job);
        if (r < 0) {
            hs_recording_job_free(job);
        }
    }
    assert_int_equal(r, -E2BIG);
    assert_int_equal(count, HS_RECORDING_JOBS_MAX);
    parts_deinit(&parts);
}

/* Ends a job whose finalizer cannot be started. */
static void end_badly(struct parts *parts, const char *name)
{
    char temp_name[64];
    const struct hs_recording_job *job = add_job(parts, name);
    failing_calls.fork_error = EAGAIN;
    stop_job(parts, job);
    failing_calls.fork_error = 0;
    snprintf(temp_name, sizeof(temp_name), ".%s", name);
    remove_file(parts, temp_name);
}

/* Adds a job that goes on while 20 younger ones begin and end. */
static struct hs_recording_job *add_oldest(struct parts *parts)
{
    char name[16];
    struct hs_recording_job *oldest = add_job(parts, "oldest");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "young-%d", i);
        end_badly(parts, name);
    }
    return oldest;
}

/* A job that has just become done stays in the list, however long it lasted and however many
 * younger ones are done: its command may ask for it the next moment. */
static void test_which_are_remembered(void **state)
{
    (void)state;
    struct parts parts;
    parts_init(&parts);
    struct hs_recording_job *oldest = add_oldest(&parts);
    oldest->session->process_count = 1;
    uint64_t number = oldest->number;
    stop_job(&parts, oldest);
    wait_for_done(&parts, 21);
    assert_ptr_equal(hs_recording_job_find(&parts.jobs, number), oldest);
    assert_int_equal(parts.jobs.count, 16);
    assert_null(hs_recording_job_find(&parts.jobs, number + 5));
    assert_non_null(hs_recording_job_find(&parts.jobs, number + 6));
    assert_null(hs_recording_job_why(oldest));
    remove_file(&parts, "oldest");
    parts_deinit(&parts);
}

/* The caller of hs_hub_stop() still uses the job. */
static void test_no_finalizer(void **state)
{
    (void)state;
    struct parts parts;
    parts_init(&parts);
    struct hs_recording_job *oldest = add_oldest(&parts);
    failing_calls.fork_count = 0;
    failing_calls.watch_error = ENOSPC;
    uint64_t number = oldest->number;
    stop_job(&parts, oldest);
    failing_calls.watch_error = 0;
    assert_ptr_equal(hs_recording_job_find(&parts.jobs, number), oldest);
    assert_int_equal(oldest->state, HS_RECORDING_JOB_DONE);
    assert_string_equal(hs_recording_job_why(oldest), strerror(ENOSPC));
    assert_int_equal(failing_calls.fork_count, 0);
    assert_int_equal(parts.done_count, 21);
    assert_null(oldest->session);
    assert_int_equal(oldest->settings.pid_count, 1);
    assert_int_equal(hs_recording_jobs_finishing(&parts.jobs), 0);
    remove_file(&parts, ".oldest");
    parts_deinit(&parts);
}

static void test_nothing_was_recorded(void **state)
{
    (void)state;
    struct parts parts;
    parts_init(&parts);
    struct hs_recording_job *job = add_job(&parts, "none");
    stop_job(&parts, job);
    assert_int_equal(hs_recording_jobs_finishing(&parts.jobs), 1);
    wait_for_done(&parts, 1);
    assert_int_equal(job->result.error, -ENODATA);
    assert_non_null(strstr(hs_recording_job_why(job), "no process was recorded"));
    strcpy(job->note, "why");
    assert_string_equal(hs_recording_job_why(job), "why");
    parts_deinit(&parts);
}

static void test_the_command_is_gone(void **state)
{
    (void)state;
    struct parts parts;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    parts_init(&parts);
    struct hs_recording_job *job = add_job(&parts, "left"), *other = add_job(&parts, "waited-for");
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    hs_recording_job_expect_owner(job, pid, now_ns);
    hs_recording_job_expect_owner(other, 0, now_ns);
    hs_recording_job_add_waiting(other);
    assert_true(hs_recording_jobs_end_left(&parts.jobs, now_ns) < UINT64_MAX);
    assert_true(job->state == HS_RECORDING_JOB_RUNNING);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(hs_recording_jobs_end_left(&parts.jobs, now_ns), UINT64_MAX);
    assert_int_equal(job->state, HS_RECORDING_JOB_FINISHING);
    assert_int_equal(other->state, HS_RECORDING_JOB_RUNNING);
    /* Another connection of the command has a second to come. */
    hs_recording_job_drop_waiting(other, now_ns);
    hs_recording_jobs_end_left(&parts.jobs, now_ns + SECOND / 2);
    assert_int_equal(other->state, HS_RECORDING_JOB_RUNNING);
    hs_recording_jobs_end_left(&parts.jobs, now_ns + SECOND + 1);
    assert_int_equal(other->state, HS_RECORDING_JOB_FINISHING);
    wait_for_done(&parts, 2);
    parts_deinit(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_numbers),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_which_are_remembered), cmocka_unit_test(test_no_finalizer),
        cmocka_unit_test(test_nothing_was_recorded), cmocka_unit_test(test_the_command_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
