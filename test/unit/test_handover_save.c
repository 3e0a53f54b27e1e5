/*
 * Tests of daemon/handover: what a daemon keeps is what the next one finds; names and messages
 * survive the way there and back, and invalid ones are refused.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include "daemon/handover/handover_v1.h"
#include "daemon_fixture.h"
#include "util/fd_message.h"

/* A store whose messages arrive at *ret_sock, as an fd holder gets them. */
static struct hs_fdstore make_store(int *ret_sock)
{
    int socks[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks), 0);
    *ret_sock = socks[1];
    return hs_fdstore_open(socks[0], false);
}

/* Does with the messages what an fd holder does. */
static void receive_items(int sock, struct hs_fdstore_items *items)
{
    char text[512], name[HS_FDSTORE_NAME_MAX + 1];
    int fds[HS_FDSTORE_FDS_MAX];
    size_t fd_count;
    ssize_t got;
    while ((got = hs_fd_message_receive(sock, text, sizeof(text) - 1, fds, HS_FDSTORE_FDS_MAX,
                                        &fd_count, MSG_DONTWAIT)) > 0) {
        text[got] = '\0';
        enum hs_fdstore_verb verb = hs_fdstore_parse(text, name);
        if (verb == HS_FDSTORE_PUT) {
            hs_fdstore_items_add(items, name, fds, fd_count);
        } else if (verb == HS_FDSTORE_REMOVE) {
            hs_fdstore_items_remove(items, name);
        }
    }
}

static void put_target(struct hs_handover *handover, uint64_t number, uint64_t job)
{
    Hs__Ctl__KeptTarget target = HS__CTL__KEPT_TARGET__INIT;
    target.has_number = target.has_pid = target.has_job = true;
    target.number = number;
    target.pid = 7;
    target.job = job;
    assert_int_equal(hs_handover_put_target(handover, &target, STDIN_FILENO, STDERR_FILENO), 0);
}

/* What one daemon keeps, the next one finds, and it numbers on from there. */
static void test_from_daemon_to_daemon(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    struct hs_handover first, second;
    Hs__Ctl__KeptState *kept;
    int sock;
    const struct hs_fdstore store = make_store(&sock);
    assert_int_equal(hs_handover_open(&store, &items, &first), 0);
    assert_true(hs_handover_is_open(&first));

    Hs__Ctl__Start start = HS__CTL__START__INIT;
    uint8_t request[64];
    start.path = (char *)(uintptr_t) "/x";
    gid_t groups[] = { 8, 5 };
    const struct hs_user_rights rights = { 4, 5, groups, 1 };
    const struct hs_recording_file file = { STDIN_FILENO, STDOUT_FILENO, NULL, NULL, NULL };
    struct hs_handover_job job = { .number = 3, .name = "mine", .rights = &rights, .file = &file };
    job.request = request;
    job.request_bytes = hs__ctl__start__pack(&start, request);
    struct hs_session_progress progress = { .bytes = 10, .dump_count = 1 };
    assert_int_equal(hs_handover_save_job(&first, &job, &progress), 0);
    job.number = 4;
    job.name = "other";
    assert_int_equal(hs_handover_save_job(&first, &job, &progress), 0);
    progress.dump_count = 2;
    assert_int_equal(hs_handover_update_job(&first, 3, true, &progress), 0);
    put_target(&first, 1, 0);
    put_target(&first, 2, 4);
    put_target(&first, 1, 3);
    hs_handover_drop_kept(&first, 2);
    hs_handover_drop_job(&first, 4);
    receive_items(sock, &items);

    assert_true(hs_handover_has_state(&items));
    assert_int_equal(hs_fdstore_items_find(&items, "hs1-files-3")->fd_count, 2);
    assert_int_equal(hs_fdstore_items_find(&items, "hs1-region-1")->fd_count, 2);
    assert_null(hs_fdstore_items_find(&items, "hs1-files-4"));
    assert_null(hs_fdstore_items_find(&items, "hs1-region-2"));
    const struct hs_fdstore none = HS_FDSTORE_NONE;
    assert_int_equal(hs_handover_open(&none, &items, &second), 0);
    assert_int_equal(second.last_job, 4);
    assert_int_equal(second.last_target, 2);
    assert_true(second.locks_fd >= 0);
    assert_int_equal(hs_kept_state_read(&second.state, &kept), 0);
    assert_int_equal(kept->n_jobs, 1);
    assert_string_equal(kept->jobs[0]->session, "mine");
    assert_string_equal(kept->jobs[0]->start->path, "/x");
    assert_true(kept->jobs[0]->uid == 4 && kept->jobs[0]->gid == 5 && kept->jobs[0]->n_group == 1 &&
                kept->jobs[0]->group[0] == 8);
    assert_true(kept->jobs[0]->progress->is_over && kept->jobs[0]->progress->dump_count == 2 &&
                kept->jobs[0]->progress->file_bytes == 10);
    assert_int_equal(kept->n_targets, 1);
    assert_int_equal(kept->targets[0]->job, 3);
    hs__ctl__kept_state__free_unpacked(kept, NULL);
    hs_handover_close(&second);
    hs_handover_close(&first);
    hs_fdstore_items_deinit(&items);
    close(sock);
}

/* A state that grows is compacted, and the store gets the new one before it loses the old one. */
static void test_a_long_life(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    struct hs_handover handover;
    const struct hs_session_progress progress = { .bytes = UINT64_MAX };
    int sock;
    const struct hs_fdstore store = make_store(&sock);
    assert_int_equal(hs_handover_open(&store, &items, &handover), 0);
    put_target(&handover, 1, 0);
    uint64_t largest = 0;
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(hs_handover_update_job(&handover, 1, false, &progress), 0);
        largest = handover.state.bytes > largest ? handover.state.bytes : largest;
        receive_items(sock, &items);
        assert_true(hs_handover_has_state(&items));
    }
    assert_true(largest < 100000);
    assert_true(handover.state_number > 5);
    size_t states = 0;
    for (size_t i = 0; i < items.count; i++) {
        states += strncmp(items.items[i].name, "hs1-state-", 10) == 0;
    }
    assert_int_equal(states, 1);
    struct hs_handover next;
    const struct hs_fdstore none = HS_FDSTORE_NONE;
    assert_int_equal(hs_handover_open(&none, &items, &next), 0);
    assert_int_equal(next.state_number, handover.state_number);
    assert_int_equal(next.last_target, 1);
    hs_handover_close(&next);
    hs_handover_close(&handover);
    hs_fdstore_items_deinit(&items);
    close(sock);
}

/* A newer state that cannot be read leaves the older one in its place, and in the store. */
static void test_a_broken_state(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    struct hs_handover first, second;
    int first_sock, second_sock;
    struct hs_fdstore store = make_store(&first_sock);
    assert_int_equal(hs_handover_open(&store, &items, &first), 0);
    put_target(&first, 1, 0);
    receive_items(first_sock, &items);
    int broken = open("/dev/null", O_RDONLY);
    assert_true(broken >= 0);
    hs_fdstore_items_add(&items, "hs1-state-9", &broken, 1);

    store = make_store(&second_sock);
    assert_int_equal(hs_handover_open(&store, &items, &second), 0);
    assert_int_equal(second.state_number, first.state_number);
    assert_int_equal(second.last_target, 1);
    receive_items(second_sock, &items);
    assert_non_null(hs_fdstore_items_find(&items, "hs1-state-1"));
    assert_null(hs_fdstore_items_find(&items, "hs1-state-9"));
    hs_handover_close(&second);
    hs_handover_close(&first);
    hs_fdstore_items_deinit(&items);
    close(first_sock);
    close(second_sock);
}

/* A target that could not be written is logged, and the next call tries again. */
static void test_a_change_that_cannot_be_written(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    struct hs_handover handover;
    struct hs_target target;
    struct log log;
    Hs__Ctl__KeptState *kept;
    char path[64];
    int sock;
    const struct hs_fdstore store = make_store(&sock);
    assert_int_equal(hs_handover_open(&store, &items, &handover), 0);
    memset(&target, 0, sizeof(target));
    target.process.pid = 7;
    target.process.pidfd = -1;
    target.region.fd = STDIN_FILENO;
    int fd = handover.state.fd;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    handover.state.fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(handover.state.fd >= 0);
    log_begin(&log);
    hs_handover_save_target(&handover, &target, 0);
    hs_handover_save_target(&handover, &target, 0);
    const char *text = log_end(&log);
    assert_non_null(strstr(text, "cannot write what the next daemon needs (Bad file descriptor)"));
    assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text)); /* once */
    close(handover.state.fd);
    handover.state.fd = fd;
    hs_handover_save_target(&handover, &target, 0);
    assert_int_equal(hs_kept_state_read(&handover.state, &kept), 0);
    assert_int_equal(kept->n_targets, 1);
    assert_int_equal(kept->targets[0]->pid, 7);
    hs__ctl__kept_state__free_unpacked(kept, NULL);
    hs_handover_close(&handover);
    hs_fdstore_items_deinit(&items);
    close(sock);
}

/* --- older versions --------------------------------------------------------------------------- */

static void test_a_target_in_a_name(void **state)
{
    (void)state;
    Hs__Ctl__KeptTarget got;
    assert_true(hs_handover_v1_parse_target(
        "hs1-target-2147483647-4294967295-4294967294-18446744073709551613-18446744073709551612-7-"
        "18446744073709551611-18446744073709551610-18446744073709551609-1",
        &got));
    assert_true(got.pid == INT32_MAX && got.uid == UINT32_MAX &&
                got.hello_flags == UINT32_MAX - 1 && got.region_bytes == UINT64_MAX - 2 &&
                got.job == UINT64_MAX - 3 && !got.is_pending);
    assert_true(got.is_dormant && got.has_recorded && got.is_late);
    assert_true(got.session_start_ns == UINT64_MAX - 4 &&
                got.session_interval_bytes == UINT64_MAX - 5 &&
                got.rss_start_bytes == UINT64_MAX - 6);
    for (unsigned bits = 0; bits < 8; bits++) {
        char name[64];
        snprintf(name, sizeof(name), "hs1-target-1-2-3-4-0-%u-6-7-8-9", bits);
        assert_true(hs_handover_v1_parse_target(name, &got));
        assert_true(got.is_dormant == ((bits & 1) != 0) && got.has_recorded == ((bits & 2) != 0) &&
                    got.is_late == ((bits & 4) != 0) && !got.has_job);
    }
    assert_true(
        hs_handover_v1_parse_target("hs1-target-1-2-3-4-18446744073709551615-0-0-0-0-9", &got));
    assert_true(got.is_pending && !got.has_job);
}

static void test_what_is_no_name_of_a_target(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "hs1-target-",
        "hs1-target-1-2-3-4-5-6-7-8-9",
        "hs1-target-1-2-3-4-5-6-7-8-9-",
        "hs1-target-1-2-3-4-5-6-7-8-9-10-11",
        "hs1-target-0-2-3-4-5-6-7-8-9-10",
        "hs1-target--1-2-3-4-5-6-7-8-9-10",
        "hs1-target-+1-2-3-4-5-6-7-8-9-10",
        "hs1-target- 1-2-3-4-5-6-7-8-9-10",
        "hs1-target-2147483648-2-3-4-5-6-7-8-9-10",
        "hs1-target-1-4294967296-3-4-5-6-7-8-9-10",
        "hs1-target-1-2-3-18446744073709551616-5-6-7-8-9-10",
        "hs2-target-1-2-3-4-5-6-7-8-9-10",
    };
    Hs__Ctl__KeptTarget got;
    for (size_t i = 0; i < HS_COUNT_OF(wrong); i++) {
        assert_false(hs_handover_v1_parse_target(wrong[i], &got));
    }
    assert_true(hs_handover_v1_parse_target("hs1-target-1-2-3-4-5-6-7-8-9-10", &got));
}

/* The numbers of an older daemon's jobs are used, also those of jobs that cannot continue. */
static void test_numbers_of_an_older_version(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    struct hs_handover handover;
    int about[2] = { memfd_create("about", MFD_CLOEXEC), memfd_create("about", MFD_CLOEXEC) };
    int files[2] = { memfd_create("file", MFD_CLOEXEC), open("/", O_RDONLY | O_DIRECTORY) }, sock;
    Hs__Ctl__KeptJob job = HS__CTL__KEPT_JOB__INIT;
    uint8_t body[16];
    job.has_number = true;
    job.number = 6;
    struct hs_handover_v1_head head = { .version = 1, .body_bytes = 2 };
    assert_int_equal(hs__ctl__kept_job__pack(&job, body), head.body_bytes);
    assert_int_equal(pwrite(about[0], &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(pwrite(about[0], body, 2, sizeof(head)), 2);
    hs_fdstore_items_add(&items, "hs1-about-6", &about[0], 1);
    hs_fdstore_items_add(&items, "hs1-order-6", files, 2);
    const struct hs_fdstore store = make_store(&sock);
    assert_int_equal(hs_handover_open(&store, &items, &handover), 0);
    hs_handover_v1_convert(&handover, &items);
    assert_int_equal(handover.last_job, 6);
    assert_non_null(hs_fdstore_items_find(&items, "hs1-files-6"));
    hs_fdstore_items_add(&items, "hs1-about-9", &about[1], 1); /* too little to continue it */
    hs_handover_v1_convert(&handover, &items);
    assert_int_equal(handover.last_job, 9);
    hs_handover_close(&handover);
    hs_fdstore_items_deinit(&items);
    close(sock);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void test_messages(void **state)
{
    (void)state;
    int socks[2], fds[HS_FDSTORE_FDS_MAX];
    char text[512], name[HS_FDSTORE_NAME_MAX + 1], longest[HS_FDSTORE_NAME_MAX + 1];
    size_t fd_count;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks), 0);
    struct hs_fdstore store = { .sock = socks[0], .is_fd_holder = true };
    memset(longest, 'x', HS_FDSTORE_NAME_MAX);
    longest[HS_FDSTORE_NAME_MAX] = '\0';

    hs_fdstore_put(&store, longest, (const int[]){ STDIN_FILENO, STDERR_FILENO }, 2);
    ssize_t got = hs_fd_message_receive(socks[1], text, sizeof(text), fds, 2, &fd_count, 0);
    text[got] = '\0';
    assert_int_equal(fd_count, 2);
    assert_int_equal(hs_fdstore_parse(text, name), HS_FDSTORE_PUT);
    assert_string_equal(name, longest);
    close(fds[0]);
    close(fds[1]);

    hs_fdstore_remove(&store, "a");
    got = hs_fd_message_receive(socks[1], text, sizeof(text), fds, 2, &fd_count, 0);
    text[got] = '\0';
    assert_string_equal(text, "FDSTOREREMOVE=1\nFDNAME=a");
    assert_int_equal(hs_fdstore_parse(text, name), HS_FDSTORE_REMOVE);
    assert_string_equal(name, "a");

    shutdown(socks[1], SHUT_WR); /* as if it had ended already */
    hs_fdstore_close(&store);
    got = hs_fd_message_receive(socks[1], text, sizeof(text), fds, 2, &fd_count, 0);
    text[got] = '\0';
    assert_int_equal(hs_fdstore_parse(text, name), HS_FDSTORE_BYE);
    assert_int_equal(store.sock, -1);
    close(socks[1]);
    hs_fdstore_put(&store, "nobody", fds, 0); /* no fd holder is running: allowed */

    static const char *const wrong[] = { "",        "FDSTORE=1",           "FDSTORE=1\nFDNAME=",
                                         "BYE=1\n", "FDNAME=a\nFDSTORE=1", "FDSTORE=1\nFDNAME=\n" };
    for (size_t i = 0; i < HS_COUNT_OF(wrong); i++) {
        assert_int_equal(hs_fdstore_parse(wrong[i], name), HS_FDSTORE_UNKNOWN);
    }
    snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%sx", longest);
    assert_int_equal(hs_fdstore_parse(text, name), HS_FDSTORE_UNKNOWN);
}

/* The fd holder has ended when the daemon's last call returns. */
static void test_close_waits(void **state)
{
    (void)state;
    const struct timespec while_it_ends = { .tv_nsec = 50000000 };
    int socks[2], ends[2];
    char text[64];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(socks[0]);
        ssize_t got = recv(socks[1], text, sizeof(text), 0);
        nanosleep(&while_it_ends, NULL);
        _exit(got == 5 && write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    close(socks[1]);
    struct hs_fdstore store = hs_fdstore_open(socks[0], true);
    hs_fdstore_close(&store);
    assert_int_equal(read(ends[0], text, 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_items(void **state)
{
    (void)state;
    struct hs_fdstore_items items = { 0 };
    int fds[5];
    for (size_t i = 0; i < HS_COUNT_OF(fds); i++) {
        fds[i] = dup(STDERR_FILENO);
    }
    hs_fdstore_items_add(&items, "a", fds, 1);
    hs_fdstore_items_add(&items, "b", fds + 1, 1);
    hs_fdstore_items_add(&items, "a", fds + 2, 2); /* room for one more */
    assert_int_equal(items.count, 2);
    assert_true(is_open(fds[2]) && !is_open(fds[3]));
    struct hs_fdstore_item *a = hs_fdstore_items_find(&items, "a");
    assert_int_equal(a->fd_count, 2);
    assert_int_equal(hs_fdstore_item_take(a, 0), fds[0]);
    assert_int_equal(hs_fdstore_item_take(a, 0), -1);
    assert_int_equal(hs_fdstore_item_take(a, 7), -1);
    hs_fdstore_items_remove(&items, "a");
    assert_true(is_open(fds[0]) && !is_open(fds[2]));
    assert_null(hs_fdstore_items_find(&items, "a"));
    hs_fdstore_items_remove(&items, "a");
    hs_fdstore_items_deinit(&items);
    assert_false(is_open(fds[1]));
    close(fds[0]);
    close(fds[4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_daemon_to_daemon),
        cmocka_unit_test(test_a_long_life),
        cmocka_unit_test(test_a_broken_state),
        cmocka_unit_test(test_a_change_that_cannot_be_written),
        cmocka_unit_test(test_a_target_in_a_name),
        cmocka_unit_test(test_what_is_no_name_of_a_target),
        cmocka_unit_test(test_numbers_of_an_older_version),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_close_waits),
        cmocka_unit_test(test_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
