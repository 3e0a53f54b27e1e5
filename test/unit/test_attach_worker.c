/*
 * Tests of daemon/attach_worker: a worker that cannot be started or watched leaves nothing behind,
 * and tasks for one process run one after the other.
 */
#include <sys/wait.h>

#include "daemon/attach_worker.h"
#include "daemon_fixture.h"
#include "failing_calls.h"

static struct hs_attach_workers workers_of(struct parts *parts)
{
    return (struct hs_attach_workers){
        .loop = &parts->loop, .hub = parts->hub, .jobs = &parts->jobs, .collector = "/tmp/none"
    };
}

/* The pid of a process that has ended, and that is still a zombie. */
static pid_t make_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

static void wait_for_workers(struct parts *parts, const struct hs_attach_workers *workers)
{
    uint64_t until_ns = hs_clock_ns(CLOCK_MONOTONIC) + UINT64_C(60000000000);
    while (hs_attach_workers_busy(workers) > 0 && hs_clock_ns(CLOCK_MONOTONIC) < until_ns) {
        hs_event_loop_turn(&parts->loop, until_ns);
    }
    assert_int_equal(hs_attach_workers_busy(workers), 0);
}

static void test_none_can_be_started(void **state)
{
    (void)state;
    struct parts parts;
    parts_init(&parts);
    struct hs_attach_workers workers = workers_of(&parts);
    const struct hs_recording_job *job = add_job(&parts, "x");
    pid_t pid = make_zombie();
    int before = dup(STDIN_FILENO);
    failing_calls.fork_count = 0;
    failing_calls.socketpair_error = EMFILE;
    assert_int_equal(hs_attach_worker_release(&workers, job->session, pid), -EMFILE);
    failing_calls.socketpair_error = 0;
    failing_calls.watch_error = ENOSPC;
    assert_int_equal(hs_attach_worker_release(&workers, job->session, pid), -ENOSPC);
    failing_calls.watch_error = 0;
    assert_int_equal(failing_calls.fork_count, 0);
    failing_calls.fork_error = EAGAIN;
    assert_int_equal(hs_attach_worker_refresh(&workers, job->session, pid), -EAGAIN);
    failing_calls.fork_error = 0;
    int after = dup(STDIN_FILENO);
    assert_int_equal(after, before + 1); /* no descriptor is left open */
    close(before);
    close(after);
    assert_int_equal(hs_attach_workers_busy(&workers), 0);
    hs_event_loop_turn(&parts.loop, 0); /* no event of a worker that is gone */
    waitpid(pid, NULL, 0);
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

static void test_one_after_the_other(void **state)
{
    (void)state;
    struct parts parts;
    struct log log;
    parts_init(&parts);
    struct hs_attach_workers workers = workers_of(&parts);
    const struct hs_recording_job *job = add_job(&parts, "x");
    pid_t pid = make_zombie();
    assert_int_equal(hs_attach_worker_refresh(&workers, job->session, pid), 0);
    assert_int_equal(hs_attach_worker_refresh(&workers, job->session, pid), -EBUSY);
    assert_int_equal(hs_attach_worker_release(&workers, job->session, pid), 0);
    assert_int_equal(hs_attach_worker_release(&workers, job->session, pid), -EBUSY);
    assert_int_equal(hs_attach_workers_busy(&workers), 1);
    log_begin(&log);
    wait_for_workers(&parts, &workers);
    const char *text = log_end(&log);
    const char *first = strstr(text, "cannot be searched for new libraries");
    assert_non_null(first);
    assert_non_null(strstr(first, "cannot be detached from"));
    assert_true(job->note[0] == '\0'); /* only a failed attach becomes the job's note */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all workers were waited for */
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

static void test_ourselves(void **state)
{
    (void)state;
    struct parts parts;
    const struct hs_process_facts process = { .facts.pid = getpid() };
    parts_init(&parts);
    struct hs_attach_workers workers = workers_of(&parts);
    const struct hs_recording_job *job = add_job(&parts, "x");
    assert_int_equal(hs_attach_worker_bring(&workers, job->session, &process), -EBUSY);
    hs_attach_workers_forget_all(&workers);
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_can_be_started),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_ourselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
