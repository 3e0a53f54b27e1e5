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
#include "fmt/ctl_layout.h"

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static int listener = -1;

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

static bool is_flag_set(void)
{
    return (hs_control_page.control.flags & HS_CONTROL_KEPT) != 0;
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
    assert_true(hs_bind_is_kept() && is_flag_set());
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

/* The inode of the file that came with the hello; 0: no hello. */
static uint64_t receive(void)
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
    assert_true((hello.flags & HS_HELLO_BOUND) != 0 && (hello.flags & HS_HELLO_DORMANT) == 0);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    uint64_t inode = inode_of(fd);
    close(fd);
    return inode;
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
    assert_int_equal(receive(), 0);
    assert_true(hs_bind_is_kept());
    assert_int_equal(hs_bind_change(&nothing), 0); /* tries at once */
    assert_int_equal(receive(), inode);
    assert_false(hs_bind_is_kept() || is_flag_set());
    assert_int_equal(find_copy(0, inode), -1);
    assert_string_equal(hs_bind_daemon(), addr.sun_path);
    hs_bind_try();
    assert_int_equal(receive(), 0);
    close(listener);
    unlink(addr.sun_path);
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
    assert_int_equal(receive(), 0);
    assert_false(hs_bind_is_kept() || is_flag_set());
    assert_int_equal(inode_of(copy), inode_of(other));
    close(other);
    close(copy);
    close(listener);
    unlink(addr.sun_path);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_bound),          cmocka_unit_test(test_kept_and_handed_over),
        cmocka_unit_test(test_socket_of_the_program), cmocka_unit_test(test_closed_by_the_program),
        cmocka_unit_test(test_forked_child),
    };
    snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/heapscope-test-bind-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
