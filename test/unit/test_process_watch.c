/* Tests of session/process_watch: which processes it reports, and that it reports each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session/process_watch.h"

struct wait {
    pid_t pid;
    unsigned count; /* how often it was reported */
};

static void on_new_process(void *ctx, pid_t pid)
{
    struct wait *wait = ctx;
    wait->count += pid == wait->pid;
}

/* Makes a child that renames itself, and then waits; it executes something when it gets a byte. */
static pid_t make_child(int *ret_fd)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(ends[0], &byte, 1) == 1 && byte == 't') {
            prctl(PR_SET_NAME, "title");
            if (read(ends[0], &byte, 1) == 1) {
                execl("/bin/sleep", "sleep", "600", (char *)NULL);
            }
        }
        _exit(1);
    }
    assert_true(pid > 0);
    close(ends[0]);
    *ret_fd = ends[1];
    return pid;
}

static void end_child(pid_t pid, int fd)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fd);
}

/* Looks `times` times, each time as late as the previous look asked for. */
static void look(struct hs_process_watch *watch, uint64_t *now_ns, unsigned times,
                 struct wait *wait)
{
    for (unsigned i = 0; i < times; i++) {
        *now_ns = hs_process_watch_look(watch, *now_ns, on_new_process, wait);
    }
}

/* Waits until the process is reported, in real time but with our clock. */
static bool is_told(struct hs_process_watch *watch, uint64_t *now_ns, struct wait *wait)
{
    for (unsigned i = 0; i < 3000 && wait->count == 0; i++) {
        look(watch, now_ns, 1, wait);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return wait->count == 1;
}

static void test_who_is_new(void **state)
{
    (void)state;
    uint64_t now_ns = UINT64_C(5000000000);
    int fds[2];
    struct wait old = { .pid = make_child(&fds[0]) };
    struct hs_process_watch *watch = hs_process_watch_new(now_ns);
    assert_non_null(watch);
    struct wait young = { .pid = make_child(&fds[1]) };
    /* It is reported at the second look, and not again. */
    look(watch, &now_ns, 2, &young);
    assert_int_equal(young.count, 0);
    look(watch, &now_ns, 1, &young);
    assert_int_equal(young.count, 1);
    look(watch, &now_ns, 100, &young);
    assert_int_equal(young.count, 1);
    /* A changed name does not make it another program; */
    assert_int_equal(write(fds[0], "t", 1), 1);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    look(watch, &now_ns, 100, &old);
    assert_int_equal(old.count, 0);
    /* executing another program does. */
    assert_int_equal(write(fds[0], "x", 1), 1);
    assert_true(is_told(watch, &now_ns, &old));
    end_child(old.pid, fds[0]);
    end_child(young.pid, fds[1]);
    look(watch, &now_ns, 3, &young);
    assert_int_equal(young.count, 1);
    hs_process_watch_free(watch);
}

/* A process that has gone before the second look is not reported. */
static void test_who_is_gone(void **state)
{
    (void)state;
    uint64_t now_ns = UINT64_C(5000000000);
    int fd;
    struct hs_process_watch *watch = hs_process_watch_new(now_ns);
    assert_non_null(watch);
    struct wait wait = { .pid = make_child(&fd) };
    look(watch, &now_ns, 2, &wait);
    kill(wait.pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)wait.pid, &info, WEXITED | WNOWAIT), 0); /* a zombie */
    look(watch, &now_ns, 100, &wait);
    assert_int_equal(wait.count, 0);
    waitpid(wait.pid, NULL, 0);
    close(fd);
    hs_process_watch_free(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_new),
        cmocka_unit_test(test_who_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
