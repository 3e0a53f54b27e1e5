/*
 * Tests of watch/send/watch_worker and watch/receive/watch_link: a worker of a region of the test's
 * own, its updates, its pace and its ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "ctl/ctl_message.h"
#include "rt/clock.h"
#include "watch/receive/watch_link.h"
#include "watch/send/watches.h"

static struct hs_region region;
static struct hs_watch_worker worker;
static struct hs_watch_link watch_link;

static int settle(const void *ctx, const int *fds, size_t count)
{
    (void)fds;
    (void)count;
    return ctx ? -EPERM : 0;
}

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(4096);
    *state = f;
    f->w.header->sections[HS_SECTION_BLOCKS].count = 1;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    hs_region_close(&region);
    return capture_fixture_tear_down(state);
}

static void begin(uint32_t interval_ms)
{
    const struct hs_watch_task task = {
        .region = &region, .pid = getpid(), .interval_ms = interval_ms, .settle = settle
    };
    int fd = -1;
    assert_int_equal(hs_watch_worker_start(&task, &worker, &fd), 0);
    assert_int_equal(hs_watch_link_begin(fd, &watch_link), 0);
}

static void end(void)
{
    hs_watch_link_end(&watch_link);
    for (unsigned i = 0; i < 2000 && worker.page; i++) {
        if (!hs_watch_worker_reap(&worker)) {
            poll(NULL, 0, 5);
        }
    }
    assert_null(worker.page);
}

static void birth(struct fixture *f, uint32_t stack, uint64_t size_bytes)
{
    struct hs_thread_block_v1 *block = region_writer_at(&f->w, HS_SECTION_BLOCKS, 0);
    player_birth(&f->p, stack, size_bytes, 0);
    block->sample_count++;
}

/* Waits for an update; its result. */
static int take(int patience_ms)
{
    struct pollfd fd = { .fd = watch_link.fd, .events = POLLIN };
    return poll(&fd, 1, patience_ms) == 1 ? hs_watch_link_take(&watch_link) : 0;
}

/* Asks until the viewer knows of so many live bytes. */
static void wait_for_live(double bytes)
{
    for (unsigned i = 0; i < 100 && watch_link.state.snap->live.bytes != bytes; i++) {
        assert_int_equal(hs_watch_link_ask(&watch_link), 0);
        assert_int_equal(take(20000), 1);
    }
    assert_true(watch_link.state.snap->live.bytes == bytes);
}

static void test_updates(void **state)
{
    struct fixture *f = *state;
    birth(f, f->stack, 10000);
    begin(100);
    assert_int_equal(take(20000), 1);
    assert_int_equal(watch_link.state.host_pid, getpid());
    assert_true(watch_link.state.rss_bytes > 0);
    wait_for_live(10000);
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    birth(f, f->stack + 1, 20000);
    wait_for_live(30000);
    birth(f, f->stack + 1, 20000);
    wait_for_live(50000);
    assert_true(hs_clock_ns(CLOCK_MONOTONIC) - begin_ns > 90000000); /* not faster than asked for */
    end();
}

static void test_the_end_of_the_process(void **state)
{
    struct fixture *f = *state;
    begin(3600000);
    assert_int_equal(take(20000), 1);
    assert_int_equal(hs_watch_link_ask(&watch_link), 0);
    birth(f, f->stack, 10000);
    hs_watch_worker_end(&worker); /* what has happened until then comes, without the interval */
    assert_int_equal(take(20000), 1);
    assert_int_equal(watch_link.state.end, HS_WATCH_END_PROCESS);
    assert_true(watch_link.state.snap->live.bytes == 10000);
    assert_int_equal(take(20000), -ECONNRESET);
    assert_int_equal(hs_watch_link_ask(&watch_link), 0); /* nothing is sent */
    end();
}

static void test_a_worker_that_is_killed(void **state)
{
    (void)state;
    begin(100);
    assert_int_equal(take(20000), 1);
    kill(worker.pid, SIGKILL);
    assert_int_equal(take(20000), -ECONNRESET);
    end();
}

/* A viewer whose requests are none is left, and so is one that is gone. */
static void test_bad_viewers(void **state)
{
    Hs__Ctl__List list = HS__CTL__LIST__INIT;
    (void)state;
    begin(100);
    assert_int_equal(take(20000), 1);
    assert_int_equal(hs_ctl_send(watch_link.fd, HS_CTL_LIST, &list.base, NULL, 0), 0);
    assert_int_equal(take(20000), -ECONNRESET);
    end();
    begin(100);
    end();
}

/* A worker that cannot give up its rights ends. */
static void test_rights(void **state)
{
    const struct hs_watch_task task = { .region = &region,
                                        .pid = getpid(),
                                        .interval_ms = 100,
                                        .settle = settle,
                                        .settle_ctx = "refuse" };
    int fd = -1;
    (void)state;
    assert_int_equal(hs_watch_worker_start(&task, &worker, &fd), 0);
    watch_link = (struct hs_watch_link){ .fd = fd };
    assert_int_equal(hs_watch_state_init(&watch_link.state), 0);
    assert_int_equal(take(20000), -ECONNRESET);
    end();
}

static void test_intervals(void **state)
{
    (void)state;
    assert_int_equal(hs_watch_interval_ms(0), HS_WATCH_INTERVAL_MS);
    assert_int_equal(hs_watch_interval_ms(1), HS_WATCH_INTERVAL_MIN_MS);
    assert_int_equal(hs_watch_interval_ms(UINT32_MAX), HS_WATCH_INTERVAL_MAX_MS);
    assert_int_equal(hs_watch_interval_ms(250), 250);
}

/* --- the collector's list --------------------------------------------------------------------- */

static struct hs_target target;

static const struct hs_target *target_of(const void *ctx, const struct hs_watch *watch)
{
    return watch->pid == *(const pid_t *)ctx ? &target : NULL;
}

static void turn_until(struct hs_watches *watches, size_t count, pid_t pid)
{
    for (unsigned i = 0; i < 2000 && watches->count != count; i++) {
        hs_watches_turn(watches, target_of, &pid, hs_clock_ns(CLOCK_MONOTONIC));
        poll(NULL, 0, 5);
    }
    assert_int_equal(watches->count, count);
}

static void test_shares(void **state)
{
    struct hs_watch_order order = {
        .target = &target, .session = "s", .process = "p", .viewer_uid = 1000, .settle = settle
    };
    static struct hs_watches watches;
    int fds[HS_WATCHES_MAX];
    size_t count = 0;
    (void)state;
    target = (struct hs_target){ .region = region, .process.pid = getpid() };
    for (; count < HS_WATCHES_OF_USER_MAX; count++) {
        assert_int_equal(hs_watches_begin(&watches, &order, &fds[count]), 0);
        fcntl(fds[count], F_SETFD, FD_CLOEXEC);
    }
    assert_int_equal(hs_watches_begin(&watches, &order, &fds[count]), -EAGAIN);
    order.viewer_uid = 1001;
    assert_int_equal(hs_watches_begin(&watches, &order, &fds[count++]), 0);
    order.viewer_uid = 0;
    for (; count < HS_WATCHES_MAX; count++) {
        assert_int_equal(hs_watches_begin(&watches, &order, &fds[count]), 0);
    }
    assert_int_equal(hs_watches_begin(&watches, &order, &fds[0]), -EAGAIN);
    assert_int_equal(watches.count, HS_WATCHES_MAX);
    /* The process is gone: workers that nobody asks end by themselves after a while; those whose
     * viewers are gone, at once. */
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
    turn_until(&watches, 0, 0);
    assert_int_equal(hs_watches_turn(&watches, target_of, &(pid_t){ 0 }, 1) == UINT64_MAX, true);
    order.viewer_uid = 1000;
    assert_int_equal(hs_watches_begin(&watches, &order, &fds[0]), 0);
    hs_watches_deinit(&watches);
    close(fds[0]);
}

/* A ledger that the collector has read reaches the viewer, once. */
static void test_ledgers(void **state)
{
    static char name[] = "a \xff name";
    struct hs_ledger_line line = { .kind = HS_LEDGER_STACK, .name = name, .rss_bytes = 4096 };
    struct hs_ledger ledger = {
        .time_mono_ns = 5, .rss_bytes = 10000, .lines = &line, .line_count = 1
    };
    struct hs_watch_order order = {
        .target = &target, .session = "s", .process = "p", .asked_ms = 100, .settle = settle
    };
    static struct hs_watches watches;
    pid_t pid = getpid();
    int fd = -1;
    (void)state;
    target = (struct hs_target){ .region = region, .process.pid = pid };
    target.session.ledgers.last = &ledger;
    assert_int_equal(hs_watches_begin(&watches, &order, &fd), 0);
    assert_int_equal(hs_watch_link_begin(fd, &watch_link), 0);
    for (unsigned i = 0; i < 200 && !watch_link.state.snap->ledger; i++) {
        hs_watches_turn(&watches, target_of, &pid, hs_clock_ns(CLOCK_MONOTONIC));
        assert_int_equal(hs_watch_link_ask(&watch_link), 0);
        take(100);
    }
    assert_non_null(watch_link.state.snap->ledger);
    assert_int_equal(watch_link.state.snap->ledger->lines[0].rss_bytes, 4096);
    assert_string_equal(watch_link.state.snap->ledger->lines[0].name, name);
    assert_int_equal(watches.list[0].ledger_ns, 5);
    target.session.ledgers.last = NULL;
    hs_watch_link_end(&watch_link);
    turn_until(&watches, 0, pid);
    hs_watches_deinit(&watches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_updates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_of_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_that_is_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_viewers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rights, set_up, tear_down),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test_setup_teardown(test_shares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ledgers, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
