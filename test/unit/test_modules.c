/*
 * The module table when a thread stops in the middle of adding a module. Usually the scheduler does
 * this; here a child of the test traces the thread up to the system call that asks for the
 * executable's path.
 */
#include "client_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "client/tables/modules.h"
#include "rt/check.h"

#define BRIEFLY_MS 60  /* longer than a thousand checks take */
#define LONG_MS    600 /* longer than any thread waits */

static int to_adder[2], to_main[2], to_tracer[2];

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void put(int fd, int32_t word)
{
    assert_int_equal(write(fd, &word, sizeof(word)), sizeof(word));
}

static int32_t take(int fd)
{
    int32_t word = -1;
    assert_int_equal(read(fd, &word, sizeof(word)), sizeof(word));
    return word;
}

static bool find(const void *code)
{
    const struct hs_unwind_module *module = NULL;
    uint32_t id = 0;
    return hs_modules_find((uint64_t)(uintptr_t)code, &module, &id) && module != NULL &&
           id > HS_MODULE_ID_ANON;
}

/* Adds the executable on command. */
static void *add(void *arg)
{
    put(to_main[1], (int32_t)syscall(SYS_gettid));
    take(to_adder[0]);
    return find((const void *)(uintptr_t)add) ? arg : NULL;
}

static bool is_asking_for_path(pid_t tid)
{
    struct __ptrace_syscall_info info;
    return ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) > 0 &&
           info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_readlinkat;
}

/* Runs in the child. Returns 0 if the thread was held. */
static int hold(pid_t tid, int for_ms)
{
    const struct timespec pause = { .tv_sec = for_ms / 1000, .tv_nsec = for_ms % 1000 * 1000000L };
    int status;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0 ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) {
        return 1;
    }
    put(to_adder[1], 1);
    for (int i = 0; i < 1000; i++) {
        if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
            return 2;
        }
        if (is_asking_for_path(tid)) {
            put(to_main[1], 1);
            nanosleep(&pause, NULL);
            return ptrace(PTRACE_DETACH, tid, NULL, NULL) == 0 ? 0 : 3;
        }
        ptrace(PTRACE_SYSCALL, tid, NULL, NULL);
    }
    return 4;
}

struct held {
    pthread_t adder;
    pid_t tracer;
};

static void begin(struct held *held, int for_ms)
{
    assert_int_equal(pipe(to_adder), 0);
    assert_int_equal(pipe(to_main), 0);
    assert_int_equal(pipe(to_tracer), 0);
    assert_true(hs_modules_init());
    assert_int_equal(pthread_create(&held->adder, NULL, add, held), 0);
    pid_t tid = take(to_main[0]);
    held->tracer = fork();
    assert_true(held->tracer >= 0);
    if (held->tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        take(to_tracer[0]);
        _exit(hold(tid, for_ms));
    }
    prctl(PR_SET_PTRACER, held->tracer);
    put(to_tracer[1], 1);
    assert_int_equal(take(to_main[0]), 1);
}

static void end(struct held *held)
{
    int status = -1;
    void *is_found = NULL;
    assert_int_equal(waitpid(held->tracer, &status, 0), held->tracer);
    assert_int_equal(status, 0);
    pthread_join(held->adder, &is_found);
    assert_ptr_equal(is_found, held);
    HS_ASSERT(hs_modules_is_valid());
    for (int i = 0; i < 2; i++) {
        close(to_adder[i]);
        close(to_main[i]);
        close(to_tracer[i]);
    }
}

static int set_up(void **state)
{
    (void)state;
    return fixture_region();
}

static void test_a_thread_waits_for_the_adder(void **state)
{
    (void)state;
    struct held held;
    uint64_t begin_ms = now_ms();
    begin(&held, BRIEFLY_MS);
    assert_true(find((const void *)(uintptr_t)nanosleep));
    assert_true(now_ms() - begin_ms >= BRIEFLY_MS);
    end(&held);
}

static void test_but_not_for_ever(void **state)
{
    (void)state;
    struct held held;
    begin(&held, LONG_MS);
    assert_false(find((const void *)(uintptr_t)nanosleep));
    end(&held);
    assert_true(find((const void *)(uintptr_t)nanosleep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_thread_waits_for_the_adder, set_up),
        cmocka_unit_test_setup(test_but_not_for_ever, set_up),
    };
    alarm(60); /* a tracer that fails would not report it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
