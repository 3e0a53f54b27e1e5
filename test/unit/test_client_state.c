/* Tests of collect/client: what a control page says, in a folder that replaces /proc. */
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

#include "collect/inspect/client_state.h"
#include "fmt/region_layout.h"

#define CONTROL_VA    0x5000
#define COLLECTOR_PID 9
#define STARTED       4321

static char folder[] = "/tmp/hs-client-XXXXXX";

static void put(const char *name, const void *data, size_t bytes, off_t off)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, bytes, off), bytes);
    close(fd);
}

static void put_collector(char state, unsigned long start_ticks)
{
    char text[128];
    int len = snprintf(text, sizeof(text), "9 (x) %c 1 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %lu 1 1",
                       state, start_ticks);
    put("9/stat", text, (size_t)len, 0);
}

static int make_folder(void **state)
{
    char path[128];
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/7", folder);
    int r = mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/9", folder);
    return r | mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    static const char *const names[] = { "7/mem", "9/stat", "7", "9", "" };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        remove(path);
    }
    return 0;
}

static struct hs_client_activity look(const struct hs_region_control_v1 *control,
                                      bool is_in_our_pid_ns)
{
    const struct hs_loaded_runtimes runtimes = { .has_client = true, .control_va = CONTROL_VA };
    struct hs_client_activity client;
    put("7/mem", control, sizeof(*control), CONTROL_VA);
    hs_client_state_look(folder, "7", &runtimes, is_in_our_pid_ns, &client);
    return client;
}

static void test_states(void **state)
{
    (void)state;
    static const struct {
        uint64_t interval_bytes;
        uint32_t collector_pid;
        bool is_there;
        enum hs_client_state state;
    } cases[] = {
        { 4096, COLLECTOR_PID, true, HS_CLIENT_ACTIVE },
        { 4096, COLLECTOR_PID, false, HS_CLIENT_ORPHANED },
        { 4096, 0, true, HS_CLIENT_ACTIVE }, /* no collector has come yet */
        { HS_INTERVAL_OFF, COLLECTOR_PID, true, HS_CLIENT_WAITING },
        { HS_INTERVAL_OFF, COLLECTOR_PID, false, HS_CLIENT_ASLEEP },
        { HS_INTERVAL_OFF, 0, true, HS_CLIENT_ASLEEP },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hs_region_control_v1 control = {
            .magic = HS_REGION_MAGIC,
            .interval_bytes = cases[i].interval_bytes,
            .collector_pid = cases[i].collector_pid,
            .collector_start_ticks = STARTED,
        };
        /*
         * Another process has the pid since; or it has ended, and its parent has not waited for it.
         */
        const struct {
            char state;
            unsigned long start_ticks;
        } gone[] = { { 'S', STARTED + 1 }, { 'Z', STARTED } };
        for (size_t k = 0; k < 2; k++) {
            put_collector(cases[i].is_there ? 'S' : gone[k].state,
                          cases[i].is_there ? STARTED : gone[k].start_ticks);
            struct hs_client_activity client = look(&control, true);
            assert_int_equal(client.state, cases[i].state);
            assert_int_equal(client.collector_pid, cases[i].collector_pid);
        }
    }
}

static void test_numbers_of_another_namespace_say_nothing(void **state)
{
    (void)state;
    const struct hs_region_control_v1 control = { .magic = HS_REGION_MAGIC,
                                                  .interval_bytes = 4096,
                                                  .collector_pid = 12345 };
    assert_int_equal(look(&control, true).state, HS_CLIENT_ORPHANED);
    assert_int_equal(look(&control, false).state, HS_CLIENT_ACTIVE);
}

/* A bound process records for itself, also when its daemon is gone: attaching would throw away what
 * it has recorded. */
static void test_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags;
        bool is_there, is_kept;
    } cases[] = {
        { HS_CONTROL_BOUND, true, false },
        { HS_CONTROL_BOUND, false, true },
        { HS_CONTROL_BOUND | HS_CONTROL_KEPT, true, true },
        { HS_CONTROL_BOUND | HS_CONTROL_KEPT, false, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_region_control_v1 control = { .magic = HS_REGION_MAGIC,
                                                .interval_bytes = 4096,
                                                .flags = cases[i].flags,
                                                .collector_pid = COLLECTOR_PID,
                                                .collector_start_ticks = STARTED };
        put_collector('S', cases[i].is_there ? STARTED : STARTED + 1);
        struct hs_client_activity client = look(&control, true);
        assert_int_equal(client.state, HS_CLIENT_ACTIVE);
        assert_int_equal(client.is_kept, cases[i].is_kept);
        control.interval_bytes = HS_INTERVAL_OFF;
        assert_false(look(&control, true).is_kept);
    }
}

static void test_what_cannot_be_read_counts_as_recording(void **state)
{
    (void)state;
    const struct hs_region_control_v1 other = { .magic = 1 };
    const struct hs_loaded_runtimes runtimes = { .has_client = true, .control_va = CONTROL_VA };
    struct hs_client_activity client;
    assert_int_equal(look(&other, true).state, HS_CLIENT_ACTIVE);
    hs_client_state_look(folder, "8", &runtimes, true, &client);
    assert_int_equal(client.state, HS_CLIENT_ACTIVE);
}

static void test_no_client_and_no_region(void **state)
{
    (void)state;
    struct hs_loaded_runtimes runtimes = { .control_va = CONTROL_VA }; /* the control page of a
                                                                        * collector */
    struct hs_client_activity client;
    hs_client_state_look(folder, "7", &runtimes, true, &client);
    assert_int_equal(client.state, HS_CLIENT_NONE);
    runtimes = (struct hs_loaded_runtimes){ .has_client = true };
    hs_client_state_look(folder, "7", &runtimes, true, &client);
    assert_int_equal(client.state, HS_CLIENT_ASLEEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_numbers_of_another_namespace_say_nothing),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_what_cannot_be_read_counts_as_recording),
        cmocka_unit_test(test_no_client_and_no_region),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
