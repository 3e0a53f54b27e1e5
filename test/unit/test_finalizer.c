/*
 * Tests of daemon/finalizer: the file gets its final name or is removed, a finalizer that has no
 * right to finish ends without a result, and none runs whose result nobody would read.
 */
#include "daemon/finalizer.h"
#include "daemon_fixture.h"
#include "failing_calls.h"

static void on_result(void *of, uint64_t now_ns)
{
    bool *has_come = of;
    (void)now_ns;
    *has_come = true;
}

/* Starts a finalizer for this job, and waits for its result. */
static struct hs_finalizer_result finish(struct parts *parts, const struct hs_recording_job *job,
                                         bool is_empty, struct hs_job_lock lock)
{
    bool has_come = false;
    struct hs_finalizer finalizer;
    struct hs_finalizer_result result = { 0 };
    struct hs_event_source source = { on_result, &has_come };
    const struct hs_finalizer_task task = { .session = job->session,
                                            .file = &job->file,
                                            .rights = &job->rights,
                                            .lock = lock,
                                            .is_empty = is_empty };
    assert_int_equal(hs_finalizer_start(&task, &parts->loop, &source, &finalizer), 0);
    while (!hs_finalizer_receive(&finalizer, &result)) {
        hs_event_loop_turn(&parts->loop, hs_clock_ns(CLOCK_MONOTONIC) + 1000000000);
    }
    hs_event_loop_turn(&parts->loop, 0);
    assert_true(has_come);
    hs_event_loop_remove(&parts->loop, finalizer.result_fd);
    hs_finalizer_close(&finalizer);
    assert_int_equal(finalizer.result_fd, -1);
    hs_finalizer_skip_names(&finalizer); /* nothing: it is over */
    return result;
}

static void test_results(void **state)
{
    (void)state;
    struct parts parts;
    struct hs_job_lock newer;
    parts_init(&parts);
    struct hs_recording_job *full = add_job(&parts, "full"), *empty = add_job(&parts, "empty");
    struct hs_recording_job *taken = add_job(&parts, "taken");
    struct hs_finalizer_result result = finish(&parts, full, false, HS_JOB_LOCK_NONE);
    assert_int_equal(result.error, 0);
    assert_true(result.file_bytes > 0);
    assert_true(has_file(&parts, "full") && !has_file(&parts, ".full"));
    assert_int_equal(finish(&parts, empty, true, HS_JOB_LOCK_NONE).error, -ENODATA);
    assert_true(!has_file(&parts, "empty") && !has_file(&parts, ".empty"));
    assert_int_equal(finish(&parts, empty, false, HS_JOB_LOCK_NONE).error, -ENOENT);

    /* The next daemon has taken the job over. */
    const struct hs_job_lock ours = { .fd = hs_job_lock_new_file(), .number = 1 };
    assert_true(hs_job_lock_claim(ours.fd, 1, &newer));
    assert_int_equal(finish(&parts, taken, false, ours).error, -EIO);
    assert_true(has_file(&parts, ".taken") && !has_file(&parts, "taken"));
    close(ours.fd);
    for (size_t i = 0; i < parts.jobs.count; i++) {
        hs_session_free(parts.jobs.list[i]->session);
        parts.jobs.list[i]->session = NULL;
    }
    parts.hub->session_count = 0;
    remove_file(&parts, "full");
    remove_file(&parts, ".taken");
    parts_deinit(&parts);
}

static void test_none_can_be_started(void **state)
{
    (void)state;
    struct parts parts;
    bool has_come = false;
    struct hs_finalizer finalizer = HS_FINALIZER_NONE;
    struct hs_event_source source = { on_result, &has_come };
    parts_init(&parts);
    const struct hs_recording_job *job = add_job(&parts, "x");
    const struct hs_finalizer_task task = { .session = job->session,
                                            .file = &job->file,
                                            .rights = &job->rights,
                                            .lock = HS_JOB_LOCK_NONE };
    failing_calls.fork_count = 0;
    failing_calls.watch_error = ENOSPC;
    assert_int_equal(hs_finalizer_start(&task, &parts.loop, &source, &finalizer), -ENOSPC);
    assert_int_equal(failing_calls.fork_count, 0); /* no process that nobody would wait for */
    failing_calls.watch_error = 0;
    failing_calls.fork_error = EAGAIN;
    int before = dup(STDIN_FILENO);
    assert_int_equal(hs_finalizer_start(&task, &parts.loop, &source, &finalizer), -EAGAIN);
    failing_calls.fork_error = 0;
    int after = dup(STDIN_FILENO);
    assert_int_equal(after, before + 1); /* both ends of the pipe are closed */
    close(before);
    close(after);
    hs_event_loop_turn(&parts.loop, 0);
    assert_false(has_come);
    assert_int_equal(finalizer.result_fd, -1);
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_none_can_be_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
