/*
 * Tests of daemon/handover/handover_restore: what cannot be taken over is named with its reason, is
 * not counted, and does not stay in the store.
 */
#include <sys/socket.h>

#include "daemon/handover/handover_restore.h"
#include "daemon_fixture.h"

/* What a killed daemon left: a state, and in it a job and a target. */
static void leave(struct hs_fdstore_items *items, const char *final_name)
{
    struct hs_kept_state kept;
    char temp_name[] = ".x", path[] = "/x", session[] = "mine", name[32];
    Hs__Ctl__KeptState change = HS__CTL__KEPT_STATE__INIT;
    Hs__Ctl__Start start = HS__CTL__START__INIT;
    Hs__Ctl__KeptProgress progress = HS__CTL__KEPT_PROGRESS__INIT;
    Hs__Ctl__KeptJob job = HS__CTL__KEPT_JOB__INIT, *jobs[1] = { &job };
    Hs__Ctl__KeptTarget target = HS__CTL__KEPT_TARGET__INIT, *targets[1] = { &target };
    snprintf(name, sizeof(name), "%s", final_name);
    start.temp_name = temp_name;
    start.final_name = name;
    start.path = path;
    job.has_number = true;
    job.number = 3;
    job.session = session;
    job.start = &start;
    job.progress = &progress;
    target.has_number = target.has_pid = target.has_job = true;
    target.number = 4;
    target.pid = (uint32_t)getpid();
    target.job = 3;
    change.n_jobs = change.n_targets = 1;
    change.jobs = jobs;
    change.targets = targets;
    assert_int_equal(hs_kept_state_new(&kept), 0);
    assert_int_equal(hs_kept_state_append(&kept, &change), 0);
    *items = (struct hs_fdstore_items){ 0 };
    hs_fdstore_items_add(items, HS_HANDOVER_STATE "1", &kept.fd, 1);
}

/* Restores, and returns what was logged. */
static const char *restore(struct parts *parts, struct hs_fdstore_items *items, int store_sock,
                           struct log *log)
{
    const struct hs_fdstore store = hs_fdstore_open(store_sock, false);
    assert_int_equal(hs_handover_open(&store, items, &parts->handover), 0);
    const struct hs_handover_parts taking = {
        .handover = &parts->handover, .jobs = &parts->jobs, .hub = parts->hub, .uid = getuid()
    };
    log_begin(log);
    hs_handover_restore(&taking, items);
    return log_end(log);
}

static void assert_is_logged(const char *log, const char *words)
{
    if (!strstr(log, words)) {
        fail_msg("'%s' is not in the log: %s", words, log);
    }
}

static void test_a_job_without_its_folder(void **state)
{
    (void)state;
    struct parts parts;
    struct hs_fdstore_items items;
    struct log log;
    int socks[2], file = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    parts_init(&parts);
    leave(&items, "x");
    hs_fdstore_items_add(&items, HS_HANDOVER_FILES "3", &file, 1);
    const char *text = restore(&parts, &items, socks[0], &log);
    assert_is_logged(text, "session mine cannot continue: Bad file descriptor");
    assert_is_logged(text, "took over 0 sessions and 0 processes");
    assert_int_equal(parts.jobs.last_number, 3);
    parts_deinit(&parts);
    hs_fdstore_items_deinit(&items);
    close(socks[1]);
}

static void test_a_job_with_a_bad_name(void **state)
{
    (void)state;
    struct parts parts;
    struct hs_fdstore_items items;
    struct log log;
    int socks[2], files[2] = { memfd_create("file", MFD_CLOEXEC), open("/", O_RDONLY) };
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    parts_init(&parts);
    leave(&items, "../x");
    hs_fdstore_items_add(&items, HS_HANDOVER_FILES "3", files, 2);
    assert_is_logged(restore(&parts, &items, socks[0], &log),
                     "session mine cannot continue: Bad message");
    parts_deinit(&parts);
    hs_fdstore_items_deinit(&items);
    close(socks[1]);
}

/* The region is no region: the process is not among those that were taken over. */
static void test_a_target_that_is_lost(void **state)
{
    (void)state;
    struct parts parts;
    struct hs_fdstore_items items;
    struct log log;
    int socks[2], region = memfd_create("region", MFD_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    parts_init(&parts);
    leave(&items, "x");
    hs_fdstore_items_add(&items, HS_HANDOVER_REGION "4", &region, 1);
    const char *text = restore(&parts, &items, socks[0], &log);
    assert_is_logged(text, "is no longer recorded");
    assert_is_logged(text, "took over 0 sessions and 0 processes");
    parts_deinit(&parts);
    hs_fdstore_items_deinit(&items);
    close(socks[1]);
}

/* No state says what the descriptors are: the store must not keep them. */
static void test_descriptors_without_a_state(void **state)
{
    (void)state;
    struct parts parts;
    struct hs_fdstore_items items = { 0 };
    struct log log;
    char text[256];
    bool is_removed = false;
    ssize_t got;
    int socks[2], region = memfd_create("region", MFD_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    parts_init(&parts);
    hs_fdstore_items_add(&items, HS_HANDOVER_REGION "4", &region, 1);
    const struct hs_fdstore store = hs_fdstore_open(socks[0], false);
    assert_int_equal(hs_handover_open(&store, &items, &parts.handover), 0);
    hs_kept_state_close(&parts.handover.state);
    const struct hs_handover_parts taking = { .handover = &parts.handover,
                                              .jobs = &parts.jobs,
                                              .hub = parts.hub };
    log_begin(&log);
    hs_handover_restore(&taking, &items);
    assert_is_logged(log_end(&log), "what the previous daemon kept is lost");
    while ((got = recv(socks[1], text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
        text[got] = '\0';
        is_removed |= strstr(text, "FDSTOREREMOVE=1") && strstr(text, HS_HANDOVER_REGION "4");
    }
    assert_true(is_removed);
    parts_deinit(&parts);
    hs_fdstore_items_deinit(&items);
    close(socks[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_without_its_folder),
        cmocka_unit_test(test_a_job_with_a_bad_name),
        cmocka_unit_test(test_a_target_that_is_lost),
        cmocka_unit_test(test_descriptors_without_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
