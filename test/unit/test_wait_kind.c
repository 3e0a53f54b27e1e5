/* What a line of /proc/PID/task/TID/syscall says about a thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/ptrace/wait_kind.h"

static enum hs_wait_kind kind_of(long number, const char *arguments)
{
    char line[256];
    struct hs_wait wait;
    snprintf(line, sizeof(line), "%ld %s 0x7ffe1000 0x7f0000001234\n", number, arguments);
    hs_wait_parse(getpid(), line, &wait);
    assert_int_equal(wait.number, number);
    assert_int_equal(wait.sp, 0x7ffe1000);
    assert_int_equal(wait.pc, 0x7f0000001234);
    return wait.kind;
}

static void test_calls(void **state)
{
    static const struct {
        long number;
        const char *arguments;
        enum hs_wait_kind kind;
    } cases[] = {
        { SYS_ppoll, "0x1 0x2 0x3 0x0 0x0 0x0", HS_WAIT_SURE },
        { SYS_clock_nanosleep, "0x0 0x1 0x3 0x0 0x0 0x0", HS_WAIT_SURE },
        { SYS_epoll_pwait, "0x5 0x7ff0 0x10 0xffffffff 0x0 0x8", HS_WAIT_SURE },
        { SYS_epoll_pwait, "0x5 0x7ff0 0x10 0xffffffffffffffff 0x0 0x8", HS_WAIT_SURE },
        { SYS_epoll_pwait, "0x5 0x7ff0 0x10 0x0 0x0 0x8", HS_WAIT_SURE },
        { SYS_epoll_pwait, "0x5 0x7ff0 0x10 0x1 0x0 0x8", HS_WAIT_TIMED },
        { SYS_epoll_pwait, "0x5 0x7ff0 0x10 0x64 0x0 0x8", HS_WAIT_TIMED },
        { SYS_rt_sigtimedwait, "0x5 0x0 0x0 0x8 0x0 0x0", HS_WAIT_SURE },
        { SYS_rt_sigtimedwait, "0x5 0x0 0x7ff0 0x8 0x0 0x0", HS_WAIT_TIMED },
        { SYS_wait4, "0xffffffff 0x0 0x0 0x0 0x0 0x0", HS_WAIT_SURE },
        { SYS_futex, "0x7f00 0x80 0x2 0x0 0x0 0x0", HS_WAIT_FUTEX },
        { SYS_mmap, "0x0 0x1000 0x3 0x22 0xffffffff 0x0", HS_WAIT_OTHER },
        { SYS_munmap, "0x0 0x1000 0x3 0x22 0xffffffff 0x0", HS_WAIT_OTHER },
        { SYS_madvise, "0x0 0x1000 0x4 0x22 0xffffffff 0x0", HS_WAIT_OTHER },
        { SYS_openat, "0x0 0x1000 0x4 0x22 0xffffffff 0x0", HS_WAIT_OTHER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %ld %s\n", cases[i].number, cases[i].arguments);
        assert_int_equal(kind_of(cases[i].number, cases[i].arguments), cases[i].kind);
    }
}

static enum hs_wait_kind kind_of_read(int fd)
{
    char arguments[64];
    snprintf(arguments, sizeof(arguments), "0x%x 0x7ff0 0x1 0x0 0x0 0x0", (unsigned)fd);
    return kind_of(SYS_read, arguments);
}

/* A read is a wait when it reads something that has to arrive. */
static void test_reads(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    FILE *file = tmpfile();
    int event_fd = eventfd(0, EFD_CLOEXEC);
    assert_non_null(file);
    assert_int_equal(kind_of_read(fds[0]), HS_WAIT_SURE);
    assert_int_equal(kind_of_read(event_fd), HS_WAIT_SURE);
    assert_int_equal(kind_of_read(fileno(file)), HS_WAIT_OTHER);
    assert_int_equal(kind_of_read(9999), HS_WAIT_OTHER);
    fclose(file);
    close(event_fd);
    close(fds[0]);
    close(fds[1]);
}

static void test_other_lines(void **state)
{
    static const char *const lines[] = { "running\n", "-1 0x7ffe1000 0x7f0000001234\n", "", "x" };
    struct hs_wait wait;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        hs_wait_parse(getpid(), lines[i], &wait);
        assert_int_equal(wait.kind, HS_WAIT_RUNNING);
        assert_int_equal(wait.number, -1);
    }
    hs_wait_parse(getpid(), "7", &wait); /* cut off: arguments are 0 */
    assert_int_equal(wait.number, 7);
    assert_int_equal(wait.sp, 0);
}

static void test_restartable(void **state)
{
    (void)state;
    assert_true(hs_wait_is_restartable(SYS_epoll_pwait));
    assert_true(hs_wait_is_restartable(SYS_recvfrom));
    assert_false(hs_wait_is_restartable(SYS_close));
    assert_false(hs_wait_is_restartable(-1));
    assert_true(hs_wait_has_timeout_ms(SYS_epoll_pwait));
    assert_false(hs_wait_has_timeout_ms(SYS_epoll_pwait2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_restartable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
