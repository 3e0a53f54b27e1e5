/* How processes ended, and which cgroup's counters show it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inspect/exit_cause.h"

static pid_t start(int status, int with_signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (with_signal) {
            raise(with_signal);
        }
        _exit(status);
    }
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    return pid;
}

static void test_zombies(void **state)
{
    static const struct {
        int status, signal;
    } ends[] = { { 0, 0 }, { 7, 0 }, { 255, 0 }, { 0, SIGKILL }, { 0, SIGTERM }, { 0, SIGUSR2 } };
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int value = -1;
        pid_t pid = start(ends[i].status, ends[i].signal);
        assert_int_equal(hs_exit_cause_find(pid, -1, &value),
                         ends[i].signal ? HS_EXIT_SIGNAL : HS_EXIT_CODE);
        assert_int_equal(value, ends[i].signal ? ends[i].signal : ends[i].status);
        waitpid(pid, NULL, 0);
        assert_int_equal(hs_exit_cause_find(pid, -1, &value), HS_EXIT_UNKNOWN);
    }
}

/* Another process waited for it first. */
static void test_gone(void **state)
{
    (void)state;
    int value = -1;
    pid_t pid = start(9, 0);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    waitpid(pid, NULL, 0);
    enum hs_exit_kind kind = hs_exit_cause_find(pid, pidfd, &value);
    close(pidfd);
    if (kind == HS_EXIT_UNKNOWN) {
        print_message("this kernel does not tell (PIDFD_GET_INFO came with Linux 6.15)\n");
        skip();
    }
    assert_int_equal(kind, HS_EXIT_CODE);
    assert_int_equal(value, 9);
}

static void test_cgroups(void **state)
{
    static const char both[] =
        "12:pids:/a\n4:cpu,memory:/docker/0123\n1:name=systemd:/x\n0::/y z\n";
    (void)state;
    char folder[32];
    assert_true(hs_oom_watch_parse_cgroup(both, false, folder, sizeof(folder)));
    assert_string_equal(folder, "/docker/0123");
    assert_true(hs_oom_watch_parse_cgroup(both, true, folder, sizeof(folder)));
    assert_string_equal(folder, "/y z");
    assert_false(hs_oom_watch_parse_cgroup("0::/a\n", false, folder, sizeof(folder)));
    assert_false(
        hs_oom_watch_parse_cgroup("4:memory:/docker/0123\n", true, folder, sizeof(folder)));
    assert_false(hs_oom_watch_parse_cgroup(both, false, folder, 5));
    static const char *const broken[] = { "",    "\n",   ":",           "::",
                                          "0::", "0::a", "4:memory:\n", "\n\n::/" };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        hs_oom_watch_parse_cgroup(broken[i], i % 2, folder, sizeof(folder));
    }
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(
        hs_oom_watch_parse_count("low 0\nhigh 0\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
    assert_int_equal(hs_oom_watch_parse_count("oom_kill_disable 0\nunder_oom 0\noom_kill 17\n"),
                     17);
    assert_int_equal(hs_oom_watch_parse_count("oom_kill_disable 1\n"), 0);
    assert_int_equal(hs_oom_watch_parse_count(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zombies),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_cgroups),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
