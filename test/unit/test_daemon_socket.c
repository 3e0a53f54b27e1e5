/* Tests of daemon/daemon_socket: stale sockets, live ones, and the startup hint file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/ctl_socket.h"
#include "daemon/daemon_socket.h"

static char folder[] = "/tmp/test-socket-XXXXXX";
static char path[64], hint_path[80];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test-socket-XXXXXX");
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/sock", folder);
    snprintf(hint_path, sizeof(hint_path), "%s" HS_STARTUP_HINT_SUFFIX, path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(hint_path);
    return rmdir(folder);
}

static uint64_t read_hint(void)
{
    struct hs_startup_hint_v1 hint;
    int fd = open(hint_path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &hint, sizeof(hint)), sizeof(hint));
    close(fd);
    assert_true(hint.magic == HS_STARTUP_HINT_MAGIC && hint.hint_bytes == sizeof(hint));
    return hint.startup_interval_bytes;
}

static int write_hint(struct hs_daemon_socket *daemon_socket, uint64_t interval_bytes,
                      const char *heaps)
{
    struct hs_startup startup = { .interval_bytes = interval_bytes };
    strcpy(startup.heaps, heaps);
    return hs_daemon_socket_write_hint(daemon_socket, &startup);
}

static void test_hint(void **state)
{
    (void)state;
    struct hs_daemon_socket opened;
    struct stat st;
    assert_int_equal(hs_daemon_socket_open(path, false, &opened), 0);
    assert_int_equal(read_hint(), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(write_hint(&opened, 4096, ""), 0);
    assert_int_equal(read_hint(), 4096);
    /* There are no hints, so the file is left unchanged. */
    unlink(hint_path);
    assert_int_equal(write_hint(&opened, 4096, ""), 0);
    assert_int_not_equal(access(hint_path, F_OK), 0);
    assert_int_equal(write_hint(&opened, 4096, "arena"), 0);
    assert_int_equal(read_hint(), 4096);
    assert_int_equal(stat(hint_path, &st), 0);
    assert_int_equal(st.st_size, sizeof(struct hs_startup_hint_v1) + strlen("arena"));
    assert_int_equal(write_hint(&opened, 0, ""), 0);
    assert_int_equal(read_hint(), 0);
    hs_daemon_socket_close(&opened);
    assert_int_not_equal(access(hint_path, F_OK), 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_who_was_there_before(void **state)
{
    (void)state;
    struct hs_daemon_socket first, second;
    assert_int_equal(hs_daemon_socket_open(path, false, &first), 0);
    assert_int_equal(hs_daemon_socket_open(path, false, &second), -EADDRINUSE);
    close(first.fd); /* killed */
    assert_int_equal(hs_ctl_socket_connect(path), -ECONNREFUSED);
    assert_int_equal(hs_daemon_socket_open(path, false, &second), 0);
    int fd = hs_ctl_socket_connect(path);
    assert_true(fd >= 0);
    close(fd);
    hs_daemon_socket_close(&second);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(hs_daemon_socket_open(path, false, &second), -EEXIST);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(hs_daemon_socket_open("relative", false, &second), -EINVAL);
    char long_path[300];
    memset(long_path, '/', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(hs_daemon_socket_open(long_path, false, &second), -ENAMETOOLONG);
}

/*
 * A listening socket from a dead daemon, whose startup hint file stays until there are new hints,
 * or from a supervisor.
 */
static void test_taken_over(void **state)
{
    (void)state;
    struct hs_daemon_socket first, second;
    for (int is_from_supervisor = 0; is_from_supervisor < 2; is_from_supervisor++) {
        assert_int_equal(hs_daemon_socket_open(path, false, &first), 0);
        assert_int_equal(write_hint(&first, 4096, ""), 0);
        assert_int_equal(hs_daemon_socket_take(dup(first.fd), is_from_supervisor, &second), 0);
        assert_string_equal(second.path, path);
        assert_int_equal(read_hint(), 4096);
        assert_int_equal(write_hint(&second, 0, ""), 0);
        assert_int_equal(read_hint(), 0);
        close(first.fd);
        int fd = hs_ctl_socket_connect(path);
        assert_true(fd >= 0);
        close(fd);
        hs_daemon_socket_close(&second);
        assert_int_equal(access(path, F_OK) == 0, is_from_supervisor);
        unlink(path);
    }
    assert_true(hs_daemon_socket_take(open("/dev/null", O_RDONLY), false, &second) < 0);
}

static void test_where_it_is(void **state)
{
    (void)state;
    char paths[2][HS_CTL_PATH_MAX + 1];
    setenv(HS_ENV_SOCKET, "/x/y", 1);
    assert_int_equal(hs_ctl_socket_paths(paths), 1);
    assert_string_equal(paths[0], "/x/y");
    setenv(HS_ENV_SOCKET, "x", 1);
    assert_int_equal(hs_ctl_socket_paths(paths), -EINVAL);
    unsetenv(HS_ENV_SOCKET);
    setenv(HS_ENV_RUNTIME_FOLDER, "/run/user/7", 1);
    assert_int_equal(hs_ctl_socket_paths(paths), 2);
    assert_string_equal(paths[0], "/run/user/7/heapscope.sock");
    assert_string_equal(paths[1], HS_CTL_SYSTEM_SOCKET);
    setenv(HS_ENV_RUNTIME_FOLDER, "", 1);
    assert_int_equal(hs_ctl_socket_paths(paths), 1);
    assert_string_equal(paths[0], HS_CTL_SYSTEM_SOCKET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_was_there_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_over, set_up, tear_down),
        cmocka_unit_test(test_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
