/*
 * Tests of daemon/store_worker: the file that a snapshot gets, whose it is, and what is logged when
 * it gets none.
 */
#include "daemon/store_worker.h"

#include <sys/stat.h>

#include "daemon_fixture.h"
#include "failing_calls.h"
#include "profile/read/load.h"
#include "region_writer.h"
#include "remove_folder.h"
#include "snapshot_fixture.h"

struct fixture {
    struct parts parts;
    struct log log;
    struct hs_store_workers workers;
    struct hs_session *session;
    struct region_writer w;
    struct hs_target *target;
};

static void open_fixture(struct fixture *fx)
{
    struct hs_session_settings settings = { .interval_bytes = 4096, .is_symbolizing = true };
    *fx = (struct fixture){ .session = NULL };
    parts_init(&fx->parts);
    fx->workers.loop = &fx->parts.loop;
    fx->workers.limits = (struct hs_store_limits){ 10, 1 << 20 };
    snprintf(fx->workers.root, sizeof(fx->workers.root), "%s/store", fx->parts.folder);
    int fd = memfd_create("session", MFD_CLOEXEC);
    assert_int_equal(hs_session_settings_add_pid(&settings, 1), 0);
    assert_int_equal(hs_session_new(&settings, hs_trace_write_fd, (void *)(intptr_t)fd,
                                    hs_clock_ns(CLOCK_MONOTONIC), &fx->session),
                     0);
    region_writer_init(&fx->w, &(struct region_plan){ 64, 4096 });
    fx->w.header->start_boot_ns = UINT64_MAX / 2;
    struct hs_pending_client pending = { .hello = { .magic = HS_HELLO_MAGIC,
                                                    .region_bytes = fx->w.file_bytes },
                                         .region_fd = region_writer_dup(&fx->w),
                                         .pidfd = -1,
                                         .pid = getpid(),
                                         .uid = geteuid() };
    assert_int_equal(hs_target_open(&pending, 1, &fx->target, NULL), 0);
    log_begin(&fx->log);
}

/* Waits for all workers. Returns what was logged. */
static const char *finish(struct fixture *fx)
{
    uint64_t until_ns = hs_clock_ns(CLOCK_MONOTONIC) + UINT64_C(20000000000);
    while (fx->workers.count > 0 && hs_clock_ns(CLOCK_MONOTONIC) < until_ns) {
        hs_event_loop_turn(&fx->parts.loop, until_ns);
    }
    assert_int_equal(fx->workers.count, 0);
    return log_end(&fx->log);
}

static void close_fixture(struct fixture *fx)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/store", fx->parts.folder);
    remove_folder(path);
    hs_target_close(fx->target);
    region_writer_deinit(&fx->w);
    hs_session_free(fx->session);
    parts_deinit(&fx->parts);
}

static void keep_of(struct fixture *fx, const char *name, double bytes, uint64_t at_ns,
                    bool is_second)
{
    struct hs_snapshot *snap = fixture_snapshot(4711, 2000000, 5000000);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t frame = fixture_frame(snap, exe, 0x2100, 0);
    struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ frame }, 1);
    stack->alloc = stack->live = stack->peak = (struct hs_estimate){ bytes, 1, 0, 0 };
    strcpy(snap->name, name);
    snap->time_mono_ns = at_ns;
    snap->is_of_another_collector = is_second;
    fixture_totals(snap);
    hs_store_workers_keep(&fx->workers, fx->session, geteuid(), fx->target, snap);
    hs_snapshot_free(snap);
}

static void keep(struct fixture *fx, const char *name, double bytes)
{
    keep_of(fx, name, bytes, hs_clock_ns(CLOCK_MONOTONIC), false);
}

/* A daemon is killed after it has stored a snapshot, and before it could forget its cut: the next
 * daemon reads the cut, and stores nothing. */
static void test_stored_by_a_daemon_that_was_killed(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_stored_list list;
    open_fixture(&fx);
    uint64_t at_ns = hs_clock_ns(CLOCK_MONOTONIC);
    keep_of(&fx, "first", 300, at_ns, false);
    assert_string_equal(finish(&fx), "");
    log_begin(&fx.log);
    keep_of(&fx, "first", 300, at_ns, true);
    keep_of(&fx, "first", 300, at_ns - 50000000, true); /* of another instant */
    keep_of(&fx, "other", 300, at_ns, true);
    assert_string_equal(finish(&fx), "");
    int folder = hs_store_open(fx.workers.root, geteuid());
    assert_int_equal(hs_store_list(folder, &list), 0);
    assert_int_equal(list.count, 3);
    hs_stored_list_deinit(&list);
    close(folder);
    close_fixture(&fx);
}

static void test_stored(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_stored_list list;
    struct stat st;
    char path[64];
    open_fixture(&fx);
    uint64_t before_ms = hs_clock_ns(CLOCK_REALTIME) / 1000000;
    keep(&fx, "after load", 300);
    keep(&fx, "killed-SIGKILL", 200);
    assert_int_equal(fx.workers.count, 2);
    assert_string_equal(finish(&fx), "");
    int folder = hs_store_open(fx.workers.root, geteuid());
    assert_true(folder >= 0);
    assert_int_equal(hs_store_list(folder, &list), 0);
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < list.count; i++) {
        struct hs_profile *profile = NULL;
        const struct hs_stored *stored = &list.items[i];
        bool is_first = strcmp(stored->name, "after load") == 0;
        assert_true(is_first || strcmp(stored->name, "killed-SIGKILL") == 0);
        assert_true(stored->pid == 4711 && stored->process[0]);
        assert_true(stored->time_ms >= before_ms && stored->time_ms < before_ms + 60000);
        int fd = hs_store_read(folder, stored);
        assert_int_equal(fstat(fd, &st), 0);
        assert_true((st.st_mode & 0777) == 0600 && st.st_uid == geteuid());
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        assert_int_equal(hs_profile_load(path, &profile, NULL), 0);
        assert_int_equal(profile->dump_count, 1);
        assert_string_equal(hs_profile_string(profile, profile->dumps[0].name), stored->name);
        assert_true(profile->dumps[0].live.bytes == (is_first ? 300 : 200));
        hs_profile_free(profile);
        close(fd);
    }
    hs_stored_list_deinit(&list);
    close(folder);
    close_fixture(&fx);
}

static void test_not_stored(void **state)
{
    (void)state;
    struct fixture fx;
    open_fixture(&fx);
    fx.workers.limits.bytes_max = 10;
    keep(&fx, "large", 300);
    const char *said = finish(&fx);
    assert_non_null(strstr(said, "cannot store the snapshot 'large' of process 4711 ("));
    assert_non_null(strstr(said, "): it is larger than the limit (--snapshots-size)\n"));
    log_begin(&fx.log);
    fx.workers.limits.bytes_max = 1 << 20;
    snprintf(fx.workers.root, sizeof(fx.workers.root), "/proc/nowhere/store");
    keep(&fx, "nowhere", 300);
    assert_non_null(strstr(finish(&fx), "'nowhere'"));
    log_begin(&fx.log);
    failing_calls.fork_error = EAGAIN;
    keep(&fx, "unborn", 300);
    failing_calls.fork_error = 0;
    failing_calls.watch_error = ENOSPC;
    keep(&fx, "unseen", 300);
    failing_calls.watch_error = 0;
    assert_int_equal(fx.workers.count, 0);
    said = finish(&fx);
    assert_true(strstr(said, "'unborn'") && strstr(said, "'unseen'"));
    /* Switched off: no folder, no message. */
    log_begin(&fx.log);
    fx.workers.root[0] = '\0';
    keep(&fx, "off", 300);
    assert_string_equal(finish(&fx), "");
    assert_true(hs_store_workers_have_room(&fx.workers));
    close_fixture(&fx);
}

static void test_room(void **state)
{
    (void)state;
    struct fixture fx;
    open_fixture(&fx);
    for (unsigned i = 0; i < HS_STORE_WORKERS_ASKED_MAX; i++) {
        assert_true(hs_store_workers_have_room(&fx.workers));
        keep(&fx, "x", 100);
    }
    assert_false(hs_store_workers_have_room(&fx.workers));
    keep(&fx, "killed-SIGSEGV", 100); /* stored all the same */
    assert_int_equal(fx.workers.count, HS_STORE_WORKERS_ASKED_MAX + 1);
    assert_string_equal(finish(&fx), "");
    assert_true(hs_store_workers_have_room(&fx.workers));
    close_fixture(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_stored_by_a_daemon_that_was_killed),
        cmocka_unit_test(test_not_stored),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
