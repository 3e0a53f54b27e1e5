/*
 * Tests of session/hub_named: who gets a snapshot of itself, what its session and its owner get,
 * and what a killed process leaves.
 */
#include "hub_fixture.h"

#include <sys/socket.h>

#include "collect/named_request.h"
#include "session/hub_targets.h"

static const struct hs_session_settings starting = { .is_taking_startup = true,
                                                     .is_any_uid = true };

/* What an owner was given. */
struct kept {
    struct world world;
    bool cannot_keep;
    unsigned count;
    char name[64];
    pid_t pid;
    double live_bytes;
    bool is_final;
};

static void on_keep(void *ctx, struct hs_target *target, const struct hs_snapshot *snap)
{
    struct kept *kept = ctx;
    kept->count++;
    kept->pid = target->process.pid;
    kept->live_bytes = snap->live.bytes;
    kept->is_final = snap->is_final;
    strcpy(kept->name, snap->name);
}

static bool can_keep(void *ctx, const struct hs_target *target)
{
    const struct kept *kept = ctx;
    (void)target;
    return !kept->cannot_keep;
}

static void kept_init(struct kept *kept)
{
    *kept = (struct kept){ .count = 0 };
    const struct hs_hub_config config = {
        .listener.fd = -1, .on_over = on_over, .on_keep = on_keep, .can_keep = can_keep, .ctx = kept
    };
    assert_int_equal(hs_hub_new(&config, &kept->world.hub), 0);
}

/* The answer to a request of the first target; 1: none. */
static int ask_as(struct hs_hub *hub, const char *name, bool is_waiting, bool is_stranger)
{
    int ends[2];
    struct hs_named_answer_v1 answer;
    struct hs_named_request request = { .pidfd = -1 };
    strcpy(request.name, name);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    if (!is_waiting) {
        close(ends[1]);
    }
    request.connection_fd = ends[0];
    hs_hub_on_named(hub, is_stranger ? NULL : hub->registry.targets[0], &request);
    close(ends[0]);
    bool is_there = is_waiting && recv(ends[1], &answer, sizeof(answer), 0) == sizeof(answer);
    if (is_waiting) {
        close(ends[1]);
    }
    return is_there ? answer.error : 1;
}

static int ask(struct hs_hub *hub, const char *name, bool is_waiting)
{
    return ask_as(hub, name, is_waiting, false);
}

static void test_a_process_asks(void **state)
{
    (void)state;
    struct kept kept;
    struct process p;
    struct player player;
    struct trace trace;
    kept_init(&kept);
    process_init_with_block(&p, &player);
    struct hs_session *session = start(&kept.world, &trace, &starting, "prog", 0);
    announce(kept.world.hub, &p);
    assert_int_equal(ask_as(kept.world.hub, "no target yet", true, true), -EAGAIN);
    assert_int_equal(ask(kept.world.hub, "after load", true), 0);
    assert_int_equal(kept.count, 1);
    assert_true(kept.pid == p.pid && kept.live_bytes == 5000 && !kept.is_final);
    assert_string_equal(kept.name, "after load");
    kept.cannot_keep = true;
    assert_int_equal(ask(kept.world.hub, "too many", true), -EAGAIN);
    kept.cannot_keep = false;
    ask(kept.world.hub, "given up", false);
    assert_int_equal(kept.count, 1);
    assert_int_equal(p.w.control->snapshot_epoch, 0);
    hs_hub_stop(kept.world.hub, session, now_ns());
    assert_int_equal(ask(kept.world.hub, "late", true), -ENOTCONN);
    assert_int_equal(ask_as(kept.world.hub, "nothing begins", true, true), -ENOTCONN);
    assert_int_equal(kept.count, 1);
    const struct hs_profile *profile = trace.profile;
    assert_int_equal(profile->dump_count, 2);
    assert_string_equal(hs_profile_string(profile, profile->dumps[0].name), "after load");
    assert_true(profile->dumps[0].live.bytes == 5000 && !profile->dumps[0].is_final);
    assert_true(profile->dumps[1].name == 0 && profile->dumps[1].is_final);
    hs_hub_free(kept.world.hub);
    trace_deinit(&trace);
    player_deinit(&player);
    process_deinit(&p);
}

static void test_a_region_that_cannot_be_read(void **state)
{
    (void)state;
    struct kept kept;
    struct process p;
    struct player player;
    struct trace trace;
    kept_init(&kept);
    process_init_with_block(&p, &player);
    struct hs_session *session = start(&kept.world, &trace, &starting, "prog", 0);
    announce(kept.world.hub, &p);
    p.w.control->epoch = UINT64_MAX;
    assert_int_equal(ask(kept.world.hub, "x", true), -EPROTO);
    assert_int_equal(kept.count, 0);
    hs_hub_stop(kept.world.hub, session, now_ns());
    hs_hub_free(kept.world.hub);
    trace_deinit(&trace);
    player_deinit(&player);
    process_deinit(&p);
}

static void test_what_an_end_leaves(void **state)
{
    (void)state;
    static const struct {
        enum hs_exit_kind kind;
        int value;
        const char *name; /* NULL: nothing is left */
    } cases[] = {
        { HS_EXIT_SIGNAL, SIGKILL, "killed-SIGKILL" },
        { HS_EXIT_SIGNAL, SIGSEGV, "killed-SIGSEGV" },
        { HS_EXIT_SIGNAL, 40, "killed-40" },
        { HS_EXIT_CODE, 9, NULL },
        { HS_EXIT_UNKNOWN, 0, NULL },
        { HS_EXIT_EXECUTED, 0, NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kept kept;
        struct process p;
        struct player player;
        struct trace trace;
        kept_init(&kept);
        process_init_with_block(&p, &player);
        struct hs_session *session = start(&kept.world, &trace, &starting, "prog", 0);
        announce(kept.world.hub, &p);
        hs_registry_end(&kept.world.hub->registry, p.pid, now_ns(), cases[i].kind, cases[i].value);
        assert_int_equal(kept.count, cases[i].name ? 1 : 0);
        assert_string_equal(kept.name, cases[i].name ? cases[i].name : "");
        assert_true(!cases[i].name || (kept.is_final && kept.live_bytes == 5000));
        hs_hub_stop(kept.world.hub, session, now_ns());
        /* In the session's own file it is the last snapshot, which needs no name. */
        assert_true(trace.profile->dump_count == 1 && trace.profile->dumps[0].name == 0);
        hs_hub_free(kept.world.hub);
        trace_deinit(&trace);
        player_deinit(&player);
        process_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_asks),
        cmocka_unit_test(test_a_region_that_cannot_be_read),
        cmocka_unit_test(test_what_an_end_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
