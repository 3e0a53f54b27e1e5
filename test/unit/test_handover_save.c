/*
 * Tests of daemon/handover: names and messages survive the way there and back, and invalid ones are
 * refused.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/handover/handover_save.h"
#include "util/fd_message.h"

static void test_a_target_in_a_name(void **state)
{
    (void)state;
    const struct hs_handover_target largest = {
        .pid = INT32_MAX,
        .uid = UINT32_MAX,
        .hello_flags = UINT32_MAX,
        .region_bytes = UINT64_MAX,
        .job_number = UINT64_MAX,
        .state = { true, true, true, UINT64_MAX, UINT64_MAX, UINT64_MAX },
    };
    struct hs_handover_target got;
    char name[HS_FDSTORE_NAME_MAX + 1];
    hs_handover_name_target(&largest, UINT64_MAX, name);
    assert_true(strlen(name) < HS_FDSTORE_NAME_MAX);
    assert_null(strpbrk(name, ":\n"));
    assert_true(hs_handover_parse_target(name, &got));
    assert_true(got.pid == largest.pid && got.uid == largest.uid &&
                got.hello_flags == largest.hello_flags && got.region_bytes == UINT64_MAX &&
                got.job_number == UINT64_MAX);
    assert_true(got.state.is_dormant && got.state.has_recorded && got.state.is_late);
    assert_true(got.state.session_start_ns == UINT64_MAX &&
                got.state.session_interval_bytes == UINT64_MAX &&
                got.state.rss_start_bytes == UINT64_MAX);
    for (unsigned bit = 0; bit < 3; bit++) {
        struct hs_handover_target one = { .pid = 1 };
        one.state.is_dormant = bit == 0;
        one.state.has_recorded = bit == 1;
        one.state.is_late = bit == 2;
        hs_handover_name_target(&one, 5, name);
        assert_true(hs_handover_parse_target(name, &got));
        assert_true(got.state.is_dormant == (bit == 0) && got.state.has_recorded == (bit == 1) &&
                    got.state.is_late == (bit == 2));
    }
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
    struct hs_handover_target got;
    for (size_t i = 0; i < HS_COUNT_OF(wrong); i++) {
        assert_false(hs_handover_parse_target(wrong[i], &got));
    }
    assert_true(hs_handover_parse_target("hs1-target-1-2-3-4-5-6-7-8-9-10", &got));
}

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
        cmocka_unit_test(test_a_target_in_a_name),
        cmocka_unit_test(test_what_is_no_name_of_a_target),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
