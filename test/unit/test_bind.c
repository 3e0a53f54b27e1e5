/*
 * Which processes are bound, and how the client keeps a region and hands it to a daemon: the test
 * is the daemon. The client's state is that of one process, so the tests build on each other.
 */
#include "client/life/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/host/real.h"
#include "client/tables/region.h"
#include "collect/region/region_lock.h"
#include "fmt/ctl_layout.h"

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static int listener = -1;
static int taken = -1; /* the region that came with the last hello */

static void test_who_is_bound(void **state)
{
    (void)state;
    struct hs_env env = { .is_profileable = true };
    assert_false(hs_bind_takes(&env)); /* this program is not linked with the library */
    env.interval_bytes = 512;
    env.collector = "heapscope-0";
    assert_false(hs_bind_takes(&env));
    env.collector = NULL;
    env.is_profileable = false;
    assert_false(hs_bind_takes(&env));
    assert_false(hs_bind_is_on());
    assert_int_equal(hs_bind_flags(), 0);
    env.is_profileable = true;
    env.socket = addr.sun_path;
    assert_true(hs_bind_takes(&env));
    assert_true(hs_bind_is_on());
    assert_int_equal(hs_bind_interval(), 512);
    assert_int_equal(hs_bind_flags(), HS_HELLO_BOUND);
    env.interval_bytes = UINT64_MAX;
    assert_true(hs_bind_takes(&env));
    assert_true(hs_bind_interval() < HS_FLOOR_STEP);
    hs_bind_give_up();
    assert_false(hs_bind_is_on());
    /* The other library is loaded: the program is linked with it. */
    hs_real.other_client = (const struct link_map *)(const void *)&env;
    env.interval_bytes = 0;
    assert_true(hs_bind_takes(&env));
    assert_int_equal(hs_bind_interval(), HS_INTERVAL_BOUND_BYTES);
    hs_real.other_client = NULL;
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The descriptor from `first` on that is this file; -1: none. */
static int find_copy(int first, uint64_t inode)
{
    for (int fd = first; fd < 1100; fd++) {
        if (inode_of(fd) == inode) {
            return fd;
        }
    }
    return -1;
}

static bool has_flag(uint32_t flag)
{
    return (hs_control_page.control.flags & flag) != 0;
}

/* Makes a region that no daemon takes; returns its inode. */
static uint64_t keep_region(void)
{
    struct hs_collector_connect collector;
    int fd;
    hs_bind_find(&collector);
    assert_int_equal(collector.sock, -1);
    assert_string_equal(collector.name, "");
    if (hs_region.header) {
        assert_int_equal(hs_region_renew(&fd), 0);
    } else {
        assert_int_equal(hs_region_create(&fd), 0);
    }
    hs_region_set_interval(collector.interval_bytes);
    hs_bind_announce(&collector, fd);
    uint64_t inode = inode_of(fd);
    close(fd);
    assert_true(hs_bind_is_kept() && has_flag(HS_CONTROL_KEPT) && has_flag(HS_CONTROL_BOUND));
    assert_string_equal(hs_bind_daemon(), "");
    return inode;
}

static void listen_now(void)
{
    unlink(addr.sun_path);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(listener, 8), 0);
}

static void stop_listening(void)
{
    close(listener);
    unlink(addr.sun_path);
}

/* The daemon ends. */
static void drop_taken(void)
{
    close(taken);
    taken = -1;
}

/* The inode of the file that came with the hello, which the daemon takes; 0: no hello. */
static uint64_t receive(uint32_t flags)
{
    struct hs_hello_v1 hello;
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = { &hello, sizeof(hello) };
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    int fd, connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0) {
        return 0;
    }
    ssize_t got = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    close(connection);
    if (got != (ssize_t)sizeof(hello)) {
        return 0;
    }
    assert_int_equal(hello.flags & (HS_HELLO_BOUND | HS_HELLO_DORMANT), flags);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    hs_region_lock(&fd);
    assert_int_equal(taken, -1);
    taken = fd;
    return inode_of(fd);
}

static void test_kept_and_handed_over(void **state)
{
    (void)state;
    static const struct hs_api_bind_v1 nothing;
    uint64_t inode = keep_region();
    int copy = find_copy(900, inode);
    assert_true(copy >= 900 && (fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
    listen_now();
    hs_bind_try(); /* less than a second after the last attempt */
    assert_int_equal(receive(HS_HELLO_BOUND), 0);
    assert_true(hs_bind_is_kept());
    assert_int_equal(hs_bind_change(&nothing), 0); /* tries at once */
    assert_int_equal(receive(HS_HELLO_BOUND), inode);
    assert_false(hs_bind_is_kept() || has_flag(HS_CONTROL_KEPT));
    assert_true(has_flag(HS_CONTROL_BOUND));
    assert_string_equal(hs_bind_daemon(), addr.sun_path);
    assert_int_equal(find_copy(900, inode), copy);
    assert_true(hs_region_lock_is_taken(copy));
    assert_false(hs_bind_look()); /* the daemon has it */
    assert_int_equal(receive(HS_HELLO_BOUND), 0);
}

/* What a daemon that was killed has left of its session is undone. */
static void test_next_daemon(void **state)
{
    (void)state;
    struct hs_region_control_v1 *control = &hs_control_page.control;
    int kept = fcntl(taken, F_DUPFD_CLOEXEC, 0); /* as the fd holder does */
    uint64_t inode = inode_of(taken);
    uint64_t interval_bytes = hs_bind_interval();
    drop_taken();
    assert_false(hs_bind_look());
    close(kept);
    control->interval_bytes = 1000000;
    control->region_limit_bytes = 1;
    control->heap_selection.rule_count = 1;
    control->flags |= HS_CONTROL_NO_MALLOC | HS_CONTROL_PARTIAL;
    assert_true(hs_bind_look());
    assert_int_equal(receive(HS_HELLO_BOUND), inode);
    assert_int_equal(control->interval_bytes, interval_bytes);
    assert_int_equal(control->region_limit_bytes, 0);
    assert_int_equal(control->heap_selection.rule_count, 0);
    assert_false(has_flag(HS_CONTROL_NO_MALLOC));
    assert_true(has_flag(HS_CONTROL_PARTIAL)); /* heaps have been left out */
    stop_listening();
    drop_taken();
    assert_false(hs_bind_look());
    assert_true(hs_bind_is_kept() && has_flag(HS_CONTROL_KEPT));
    listen_now();
    assert_true(hs_bind_look());
    assert_int_equal(receive(HS_HELLO_BOUND), inode);
    assert_false(hs_bind_is_kept());
    stop_listening();
}

/* A policy has switched the process off: the next daemon gets it as one that does not record. */
static void test_next_daemon_of_one_switched_off(void **state)
{
    (void)state;
    hs_region_set_interval(HS_INTERVAL_OFF);
    uint64_t inode = inode_of(taken);
    drop_taken();
    listen_now();
    assert_true(hs_bind_look());
    assert_int_equal(receive(HS_HELLO_BOUND | HS_HELLO_DORMANT), inode);
    assert_int_equal(hs_control_page.control.interval_bytes, HS_INTERVAL_OFF);
    hs_region_set_interval(hs_bind_interval());
    stop_listening();
}

static void test_socket_of_the_program(void **state)
{
    (void)state;
    const struct hs_api_bind_v1 same = { .socket = addr.sun_path };
    const struct hs_api_bind_v1 other = { .socket = "/nowhere" };
    const struct hs_api_bind_v1 bad = { .socket = "relative" };
    assert_int_equal(hs_bind_change(&same), 0);
    assert_int_equal(hs_bind_change(&other), -EISCONN);
    assert_int_equal(hs_bind_change(&bad), -EINVAL);
    const struct hs_api_bind_v1 slower = { .interval_bytes = 8192 };
    assert_int_equal(hs_bind_change(&slower), 0);
    assert_int_equal(hs_control_page.control.interval_bytes, 8192);
    hs_region_set_interval(HS_INTERVAL_OFF); /* as a daemon does whose policy forbids it */
    assert_int_equal(hs_bind_change(&slower), -EPERM);
    assert_int_equal(hs_control_page.control.interval_bytes, HS_INTERVAL_OFF);
    drop_taken();
}

/* Another file has the number of the descriptor: it is neither sent nor closed. */
static void test_closed_by_the_program(void **state)
{
    (void)state;
    static const struct hs_api_bind_v1 nothing;
    int copy = find_copy(900, keep_region());
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup3(other, copy, O_CLOEXEC), copy);
    listen_now();
    assert_int_equal(hs_bind_change(&nothing), 0);
    assert_int_equal(receive(HS_HELLO_BOUND), 0);
    assert_false(hs_bind_is_kept() || has_flag(HS_CONTROL_KEPT) || has_flag(HS_CONTROL_BOUND));
    assert_int_equal(inode_of(copy), inode_of(other));
    close(other);
    close(copy);
    stop_listening();
}

static void test_forked_child(void **state)
{
    (void)state;
    uint64_t inode = keep_region();
    hs_bind_follow_fork();
    assert_false(hs_bind_is_kept());
    assert_int_equal(find_copy(0, inode), -1);
    assert_true(hs_bind_is_on());
}

static void test_give_up(void **state)
{
    (void)state;
    uint64_t inode = keep_region();
    hs_bind_give_up();
    assert_int_equal(find_copy(0, inode), -1);
    assert_false(hs_bind_is_on() || has_flag(HS_CONTROL_KEPT) || has_flag(HS_CONTROL_BOUND));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_bound),
        cmocka_unit_test(test_kept_and_handed_over),
        cmocka_unit_test(test_next_daemon),
        cmocka_unit_test(test_next_daemon_of_one_switched_off),
        cmocka_unit_test(test_socket_of_the_program),
        cmocka_unit_test(test_closed_by_the_program),
        cmocka_unit_test(test_forked_child),
        cmocka_unit_test(test_give_up),
    };
    snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/heapscope-test-bind-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
