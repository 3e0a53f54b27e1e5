/*
 * Changes code of another process: all of it or none, and not while a thread is inside it, whether
 * the thread runs there or a signal has interrupted it there.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/ptrace/text_patch.h"

#define MS UINT64_C(1000000)

/* Shared with the child. */
struct shared {
    volatile int is_inside;
    volatile int may_go_on;
    volatile int result;
};

static struct shared *shared;
static uint8_t *code; /* at the same address in both processes; each has its own copy once it is
                       * changed */

/* nop; ud2; nop; nop; mov $1,%eax; ret */
static const uint8_t trapping[] = { 0x90, 0x0f, 0x0b, 0x90, 0x90, 0xb8, 1, 0, 0, 0, 0xc3 };
/* nop; 1: cmpl $0,(%rdi) ; je 1b; mov $1,%eax; ret */
static const uint8_t spinning[] = { 0x90, 0x83, 0x3f, 0, 0x74, 0xfb, 0xb8, 1, 0, 0, 0, 0xc3 };
/* mov $2,%eax */
static const uint8_t changed[] = { 0xb8, 2, 0, 0, 0 };

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    const struct timespec pause = { .tv_nsec = 1000000 };
    (void)number;
    (void)info;
    shared->is_inside = 1;
    while (!shared->may_go_on) {
        nanosleep(&pause, NULL);
    }
    at->uc_mcontext.gregs[REG_RIP] += 2;
}

static void run_child(int (*run)(const volatile int *))
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    const struct timespec pause = { .tv_nsec = 1000000 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGILL, &action, NULL);
    if (run) {
        shared->is_inside =
            run == (int (*)(const volatile int *))(uintptr_t)code && code[1] == 0x83;
        shared->result = run(&shared->may_go_on);
    }
    while (!shared->may_go_on) {
        nanosleep(&pause, NULL);
    }
    _exit(run ? shared->result : ((int (*)(void))(uintptr_t)code)());
}

static pid_t start(const uint8_t *bytes, size_t size_bytes, int is_run)
{
    mprotect(code, 4096, PROT_READ | PROT_WRITE);
    memcpy(code, bytes, size_bytes);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    *shared = (struct shared){ 0, 0, 0 };
    pid_t pid = fork();
    if (pid == 0) {
        run_child(is_run ? (int (*)(const volatile int *))(uintptr_t)code : NULL);
    }
    const struct timespec pause = { .tv_nsec = 1000000 };
    while (is_run && !shared->is_inside) {
        nanosleep(&pause, NULL);
    }
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    return pid;
}

static int finish(pid_t pid)
{
    int status = -1;
    shared->may_go_on = 1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct hs_text_change change_of(const uint8_t *was)
{
    struct hs_text_change change = { .va = (uint64_t)(uintptr_t)code,
                                     .size_bytes = sizeof(changed) };
    memcpy(change.was, was, sizeof(changed));
    memcpy(change.now, changed, sizeof(changed));
    return change;
}

static int patch(pid_t pid, const struct hs_text_change *changes, size_t count,
                 struct hs_text_patch_result *ret_result)
{
    const struct hs_text_patch_request request = { .pid = pid,
                                                   .changes = changes,
                                                   .count = count,
                                                   .may_be_inside = true,
                                                   .patience_ns = 50 * MS };
    int r = hs_text_patch(&request, ret_result);
    if (r == HS_INJECT_NOT_PERMITTED || r == HS_INJECT_YAMA || r == HS_INJECT_NO_CAPABILITY ||
        r == HS_INJECT_OUR_SANDBOX) {
        finish(pid);
        skip(); /* ptrace is not available here */
    }
    return r;
}

static void test_changed(void **state)
{
    struct hs_text_patch_result result;
    struct hs_text_change change = change_of(trapping);
    (void)state;
    /* Its five bytes end where the old function's own "mov $1" begins. */
    static const uint8_t waiting[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 };
    memcpy(change.was, waiting, sizeof(changed));
    pid_t pid = start(waiting, sizeof(waiting), 0);
    assert_int_equal(patch(pid, &change, 1, &result), HS_INJECT_DONE);
    assert_int_equal(result.changed_count, 1);
    assert_int_equal(result.thread_count, 1);
    assert_true(result.stopped_ns > 0);
    assert_int_equal(patch(pid, &change, 1, &result), HS_INJECT_DONE);
    assert_int_equal(result.changed_count, 0);
    assert_int_equal(finish(pid), 2);
}

static void test_all_or_none(void **state)
{
    struct hs_text_patch_result result;
    struct hs_text_change changes[2];
    (void)state;
    static const uint8_t waiting[] = { 0xb8, 7, 0, 0, 0, 0xc3 };
    changes[0] = change_of(waiting);
    changes[1] = change_of(waiting);
    changes[1].va += 64; /* where other bytes are */
    pid_t pid = start(waiting, sizeof(waiting), 0);
    assert_int_equal(patch(pid, changes, 2, &result), HS_INJECT_BAD_MEMORY);
    assert_non_null(strstr(result.detail, "has changed"));
    assert_int_equal(finish(pid), 7);
}

static void stays_out(const uint8_t *bytes, size_t size_bytes)
{
    struct hs_text_patch_result result;
    struct hs_text_change change = change_of(bytes);
    pid_t pid = start(bytes, size_bytes, 1);
    assert_int_equal(patch(pid, &change, 1, &result), HS_INJECT_NO_PAUSE);
    assert_true(result.try_count > 0);
    assert_non_null(strstr(result.detail, "is in code"));
    assert_int_equal(finish(pid), 1);
}

static void test_not_while_a_thread_runs_there(void **state)
{
    (void)state;
    stays_out(spinning, sizeof(spinning));
}

static void test_not_below_a_signal(void **state)
{
    (void)state;
    stays_out(trapping, sizeof(trapping));
}

static void test_nobody(void **state)
{
    struct hs_text_patch_result result;
    struct hs_text_change change = change_of(trapping);
    const struct hs_text_patch_request request = { .pid = 0x7ffffff0,
                                                   .changes = &change,
                                                   .count = 1 };
    (void)state;
    assert_int_equal(hs_text_patch(&request, &result), HS_INJECT_NO_PROCESS);
}

static int set_up(void **state)
{
    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED || code == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_all_or_none),
        cmocka_unit_test(test_not_while_a_thread_runs_there),
        cmocka_unit_test(test_not_below_a_signal),
        cmocka_unit_test(test_nobody),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
