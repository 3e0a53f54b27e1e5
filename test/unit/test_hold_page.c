/*
 * The page that makes forks wait, mapped from a file as in another process.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/hold_page.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

#define FAR_NS       INT64_C(3600000000000)
#define LONGEST_NS   UINT64_C(1000000000) /* the longest wait */
#define SHORT_NS     50000000
#define FILE_OFF     (2 * HS_HOLD_PAGE_BYTES)
#define SIGNAL_COUNT 200

struct world {
    int fd;
    uint8_t *page;
};

typedef void handler_fn(void);

static int set_up(void **state)
{
    static struct world world;
    world.fd = memfd_create("hold", MFD_CLOEXEC);
    if (world.fd < 0 || pwrite(world.fd, hs_hold_page, hs_hold_page_bytes, FILE_OFF) < 0) {
        return -1;
    }
    world.page =
        mmap(NULL, HS_HOLD_PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, world.fd, FILE_OFF);
    *state = &world;
    return world.page == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    return munmap(world->page, HS_HOLD_PAGE_BYTES) + close(world->fd);
}

static int64_t now_ns(void)
{
    return (int64_t)hs_sys_clock_ns(CLOCK_REALTIME);
}

static void set_until(const struct world *world, int64_t until_ns)
{
    assert_int_equal(pwrite(world->fd, &until_ns, sizeof(until_ns), FILE_OFF + HS_HOLD_UNTIL_OFF),
                     sizeof(until_ns));
}

/* Calls the handler, and returns how long that took. */
static uint64_t call(const struct world *world)
{
    handler_fn *handler = (handler_fn *)(void *)(world->page + HS_HOLD_HANDLER_OFF);
    uint64_t begin_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
    handler();
    return hs_sys_clock_ns(CLOCK_MONOTONIC) - begin_ns;
}

static void test_fits(void **state)
{
    (void)state;
    assert_in_range(hs_hold_page_bytes, HS_HOLD_HANDLER_OFF + 1, HS_HOLD_PAGE_BYTES);
}

static void test_does_not_wait_without_a_time(void **state)
{
    const struct world *world = *state;
    for (unsigned i = 0; i < 1000; i++) {
        call(world); /* if each of them waited, the test would not end in time */
    }
}

static void test_does_not_wait_after_the_time(void **state)
{
    const struct world *world = *state;
    set_until(world, now_ns() - 1);
    for (unsigned i = 0; i < 1000; i++) {
        call(world);
    }
}

static void test_waits_until_the_time(void **state)
{
    const struct world *world = *state;
    int64_t until_ns = now_ns() + SHORT_NS;
    set_until(world, until_ns);
    call(world);
    assert_true(now_ns() >= until_ns);
}

static void test_waits_no_longer_than_a_second(void **state)
{
    const struct world *world = *state;
    set_until(world, now_ns() + FAR_NS);
    assert_true(call(world) >= LONGEST_NS);
    set_until(world, INT64_MAX);
    assert_true(call(world) >= LONGEST_NS);
}

struct waiter {
    const struct world *world;
    pthread_t thread;
    uint32_t is_back;
};

static void *wait_in_page(void *arg)
{
    struct waiter *waiter = arg;
    call(waiter->world);
    hs_store_relaxed(&waiter->is_back, 1);
    return NULL;
}

static void test_is_ended_by_a_write(void **state)
{
    struct waiter waiter = { .world = *state };
    const struct timespec pause = { .tv_nsec = 1000000 };
    int64_t until_ns = now_ns() + FAR_NS;
    unsigned ended_count = 0;
    /* A thread that has no processor for half a second may have ended its wait by itself. */
    for (unsigned i = 0; i < 10; i++) {
        waiter.is_back = 0;
        set_until(waiter.world, until_ns);
        assert_int_equal(pthread_create(&waiter.thread, NULL, wait_in_page, &waiter), 0);
        nanosleep(&pause, NULL);
        bool was_waiting = !hs_load_relaxed(&waiter.is_back);
        set_until(waiter.world, 0);
        uint64_t begin_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        pthread_join(waiter.thread, NULL);
        ended_count += was_waiting && hs_sys_clock_ns(CLOCK_MONOTONIC) - begin_ns < LONGEST_NS / 2;
    }
    assert_true(ended_count > 0);
}

/* The write reaches a child that was forked before it. */
static void test_is_ended_in_a_child(void **state)
{
    const struct world *world = *state;
    int ends[2], status = -1;
    char byte;
    set_until(world, now_ns() + FAR_NS);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        while (read(ends[0], &byte, 1) == 1) {
            call(world);
        }
        _exit(7);
    }
    set_until(world, 0);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(write(ends[1], "x", 1), 1);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 7 << 8);
}

/* The registers that a function must preserve, around a call that waits. */
static bool preserves_registers(const struct world *world)
{
    uint64_t bad = 1;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* below what a leaf function keeps there */
                     "push %%rbp\n\t"
                     "mov %%rsp, %%r12\n\t"
                     "mov $0x1111, %%rbx\n\t"
                     "mov $0x2222, %%rbp\n\t"
                     "mov $0x3333, %%r13\n\t"
                     "mov $0x4444, %%r14\n\t"
                     "mov $0x5555, %%r15\n\t"
                     "and $-16, %%rsp\n\t"
                     "call *%%rax\n\t"
                     "mov %%r12, %%rsp\n\t"
                     "mov $1, %%eax\n\t"
                     "cmp $0x1111, %%rbx\n\t"
                     "jne 1f\n\t"
                     "cmp $0x2222, %%rbp\n\t"
                     "jne 1f\n\t"
                     "cmp $0x3333, %%r13\n\t"
                     "jne 1f\n\t"
                     "cmp $0x4444, %%r14\n\t"
                     "jne 1f\n\t"
                     "cmp $0x5555, %%r15\n\t"
                     "jne 1f\n\t"
                     "xor %%eax, %%eax\n\t"
                     "1: pop %%rbp\n\t"
                     "lea 128(%%rsp), %%rsp\n\t"
                     : "=a"(bad)
                     : "0"(world->page + HS_HOLD_HANDLER_OFF)
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
                       "r14", "r15", "memory", "cc");
    return bad == 0;
}

static void test_preserves_registers_and_errno(void **state)
{
    const struct world *world = *state;
    const int64_t times_ns[] = { 0, now_ns() - 1, now_ns() + SHORT_NS };
    for (unsigned i = 0; i < HS_COUNT_OF(times_ns); i++) {
        set_until(world, times_ns[i]);
        errno = EXDEV;
        assert_true(preserves_registers(world));
        assert_int_equal(errno, EXDEV);
    }
}

static const struct world *seen_by_handler;
static uint32_t signal_count;

static void on_signal(int number)
{
    (void)number;
    if (hs_add_relaxed(&signal_count, 1) % 50 == 0) {
        call(seen_by_handler); /* a handler that forks */
    }
}

static void test_signals_interrupt_it(void **state)
{
    const struct world *world = *state;
    const struct sigaction action = { .sa_handler = on_signal };
    struct waiter waiter = { .world = world };
    seen_by_handler = world;
    signal_count = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    int64_t until_ns = now_ns() + SHORT_NS;
    set_until(world, until_ns);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_in_page, &waiter), 0);
    for (unsigned i = 0; i < SIGNAL_COUNT && !hs_load_relaxed(&waiter.is_back); i++) {
        pthread_kill(waiter.thread, SIGUSR1);
        hs_sys_yield();
    }
    pthread_join(waiter.thread, NULL);
    assert_true(hs_load_relaxed(&signal_count) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test_setup_teardown(test_does_not_wait_without_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_does_not_wait_after_the_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waits_until_the_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waits_no_longer_than_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_is_ended_by_a_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_is_ended_in_a_child, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_preserves_registers_and_errno, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signals_interrupt_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
