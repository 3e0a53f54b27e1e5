/* The scheduling boost of a thread, and that the thread's settings are restored afterwards. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/ptrace/sched_boost.h"

#define NOBODY 65534

static struct hs_sched_attr look(void)
{
    struct hs_sched_attr attr = { 0 };
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
    return attr;
}

static void set(const struct hs_sched_attr *attr)
{
    assert_int_equal(syscall(SYS_sched_setattr, 0, attr, 0), 0);
}

/* Boosts and restores, starting from the caller's settings. */
static void hurry_and_rest(uint32_t policy_then)
{
    struct hs_sched_boost boost;
    struct hs_sched_attr before = look();
    hs_sched_boost_look(0, &boost);
    assert_true(boost.is_on);
    hs_sched_boost_begin(0, HS_SCHED_BOOST_BORROWED, &boost);
    assert_int_equal(look().policy, policy_then);
    if (policy_then == before.policy && boost.has_slices) {
        assert_int_equal(look().runtime_ns, 100000);
    }
    hs_sched_boost_relax(0, &boost);
    assert_int_equal(look().policy, before.policy);
    assert_int_equal(look().nice, before.nice);
    hs_sched_boost_end(0, &boost);
    struct hs_sched_attr after = look();
    assert_memory_equal(&after, &before, sizeof(after));
}

/* Runs it in a process of its own, because children inherit scheduling settings. */
static void in_child(void (*run)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool may_be_real_time(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        const struct sched_param param = { 1 };
        _exit(sched_setscheduler(0, SCHED_FIFO, &param) == 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return status == 0;
}

static void hurry_as_nobody(void)
{
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_RTPRIO, &none);
    assert_int_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
    hurry_and_rest(SCHED_OTHER);
}

static void hurry_nicely(void)
{
    assert_int_equal(setpriority(PRIO_PROCESS, 0, 7), 0);
    hurry_and_rest(SCHED_FIFO);
}

static void hurry_in_batches(void)
{
    struct hs_sched_attr attr = look();
    attr.policy = SCHED_BATCH;
    attr.flags = 1; /* SCHED_FLAG_RESET_ON_FORK */
    set(&attr);
    hurry_and_rest(SCHED_FIFO);
}

static void hurry_with_a_slice(void)
{
    struct hs_sched_attr attr = look();
    attr.runtime_ns = 3000000;
    set(&attr);
    hurry_and_rest(SCHED_FIFO);
}

static void leave_real_time_alone(void)
{
    struct hs_sched_boost boost;
    struct hs_sched_attr attr = look();
    attr.policy = SCHED_RR;
    attr.priority = 3;
    attr.runtime_ns = 0;
    set(&attr);
    attr = look();
    hs_sched_boost_look(0, &boost);
    assert_false(boost.is_on);
    hs_sched_boost_begin(0, HS_SCHED_BOOST_BORROWED, &boost);
    hs_sched_boost_relax(0, &boost);
    hs_sched_boost_end(0, &boost);
    struct hs_sched_attr after = look();
    assert_memory_equal(&after, &attr, sizeof(attr));
}

static void need_rights(void)
{
    if (!may_be_real_time()) {
        skip(); /* this user may not set real-time priorities, or the control group has no
                 * real-time budget */
    }
}

static void test_without_rights(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can change the user */
    }
    in_child(hurry_as_nobody);
}

static void test_nice(void **state)
{
    (void)state;
    need_rights();
    in_child(hurry_nicely);
}

static void test_batch_and_reset(void **state)
{
    (void)state;
    need_rights();
    in_child(hurry_in_batches);
}

static void test_slice_of_its_own(void **state)
{
    (void)state;
    need_rights();
    in_child(hurry_with_a_slice);
}

static void test_real_time_stays(void **state)
{
    (void)state;
    need_rights();
    in_child(leave_real_time_alone);
}

static void test_gone(void **state)
{
    struct hs_sched_boost boost;
    (void)state;
    hs_sched_boost_look(-1, &boost);
    assert_false(boost.is_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_rights),  cmocka_unit_test(test_nice),
        cmocka_unit_test(test_batch_and_reset), cmocka_unit_test(test_slice_of_its_own),
        cmocka_unit_test(test_real_time_stays), cmocka_unit_test(test_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
