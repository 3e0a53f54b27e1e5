/* Tests of util/fd_message: what is sent arrives once, and no descriptor stays open. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/fd_message.h"

static int open_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

static int setup(void **state)
{
    static int socks[2];
    *state = socks;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks);
}

static int teardown(void **state)
{
    const int *socks = *state;
    close(socks[0]);
    close(socks[1]);
    return 0;
}

static void test_bytes_and_descriptors_arrive(void **state)
{
    const int *socks = *state;
    char text[16] = "", byte = 0;
    int pipe_fds[2], fds[2] = { -1, -1 };
    size_t count = 9;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(hs_fd_message_send(socks[0], "both", 4, pipe_fds, 2, 0), 0);
    assert_int_equal(hs_fd_message_receive(socks[1], text, sizeof(text), fds, 2, &count, 0), 4);
    assert_string_equal(text, "both");
    assert_int_equal(count, 2);
    assert_int_equal(write(fds[1], "!", 1), 1);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    assert_int_equal(byte, '!');
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
        close(pipe_fds[i]);
    }
    assert_int_equal(hs_fd_message_send(socks[0], "x", 1, NULL, 0, 0), 0);
    assert_int_equal(hs_fd_message_receive(socks[1], text, sizeof(text), fds, 2, &count, 0), 1);
    assert_int_equal(count, 0);
}

static void test_what_there_is_no_room_for_is_closed(void **state)
{
    const int *socks = *state;
    char byte;
    int fds[HS_FD_MESSAGE_FDS_MAX + 1], got[1];
    size_t count;
    int before = open_count();
    for (size_t i = 0; i <= HS_FD_MESSAGE_FDS_MAX; i++) {
        fds[i] = STDERR_FILENO;
    }
    assert_int_equal(hs_fd_message_send(socks[0], "x", 1, fds, HS_FD_MESSAGE_FDS_MAX, 0), 0);
    assert_int_equal(hs_fd_message_receive(socks[1], &byte, 1, got, 1, &count, 0), 1);
    assert_int_equal(count, 1);
    assert_int_equal(open_count(), before + 1);
    close(got[0]);
    assert_int_equal(hs_fd_message_send(socks[0], "x", 1, fds, HS_FD_MESSAGE_FDS_MAX + 1, 0),
                     -EMSGSIZE);
}

static void test_the_other_end_may_be_silent_or_gone(void **state)
{
    int *socks = *state;
    char byte;
    size_t count = 9;
    assert_int_equal(hs_fd_message_receive(socks[1], &byte, 1, NULL, 0, &count, MSG_DONTWAIT),
                     -EAGAIN);
    assert_int_equal(count, 0);
    close(socks[0]);
    assert_int_equal(hs_fd_message_receive(socks[1], &byte, 1, NULL, 0, &count, 0), 0);
    assert_int_equal(hs_fd_message_send(socks[1], "x", 1, NULL, 0, 0), -ECONNRESET);
    socks[0] = dup(socks[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes_and_descriptors_arrive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_there_is_no_room_for_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_other_end_may_be_silent_or_gone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
