/*
 * Tests of what session/hub does for bound processes, see session/hub_named.c: they record without
 * a session, may be forbidden to, are lent to sessions, and leave what other processes leave.
 */
#include "hub_fixture.h"

#include <sys/socket.h>

#include "collect/named_request.h"
#include "session/hub_targets.h"

/* A hub, and what it may do. */
struct bound {
    struct world world;
    bool may_not_bind;
    unsigned kept_count;
    char kept_name[64];
    double kept_bytes;
    struct process process;
    struct player player;
};

static bool may_bind(void *ctx, const struct hs_process_facts *process, struct hs_target *target)
{
    const struct bound *bound = ctx;
    assert_int_equal(process->facts.pid, target->process.pid);
    return !bound->may_not_bind;
}

static void on_keep(void *ctx, struct hs_target *target, const struct hs_snapshot *snap)
{
    struct bound *bound = ctx;
    assert_null(hs_hub_session_of(target));
    bound->kept_count++;
    bound->kept_bytes = snap->live.bytes;
    strcpy(bound->kept_name, snap->name);
}

/* A process of 5000 live bytes announces itself as bound. */
static void announce_bound(struct bound *bound)
{
    const struct process *p = &bound->process;
    assert_int_equal(announce_with(bound->world.hub, p, p->pid, 0, HS_HELLO_BOUND), 0);
}

static void bound_init(struct bound *bound, bool has_policy)
{
    *bound = (struct bound){ .may_not_bind = false };
    const struct hs_hub_config config = { .listener.fd = -1,
                                          .on_over = on_over,
                                          .on_keep = on_keep,
                                          .may_bind = has_policy ? may_bind : NULL,
                                          .ctx = bound };
    assert_int_equal(hs_hub_new(&config, &bound->world.hub), 0);
    process_init_with_block(&bound->process, &bound->player);
}

static void bound_deinit(struct bound *bound)
{
    hs_hub_free(bound->world.hub);
    player_deinit(&bound->player);
    process_deinit(&bound->process);
}

static struct hs_target *target_of(const struct bound *bound)
{
    return bound->world.hub->registry.targets[0];
}

static uint64_t interval_of(const struct bound *bound)
{
    return bound->process.w.control->interval_bytes;
}

static void test_only_an_owner_that_allows_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct bound bound;
        bound_init(&bound, i > 0);
        bound.may_not_bind = i == 1;
        announce_bound(&bound);
        assert_int_equal(interval_of(&bound), i == 2 ? 4096 : HS_INTERVAL_OFF);
        assert_true(hs_target_is_bound(target_of(&bound)) == (i == 2));
        assert_true(target_of(&bound)->state.is_dormant == (i != 2));
        bound_deinit(&bound);
    }
}

static void test_policy_changes(void **state)
{
    (void)state;
    struct bound bound;
    bound_init(&bound, true);
    announce_bound(&bound);
    hs_hub_review(bound.world.hub, now_ns());
    assert_int_equal(interval_of(&bound), 4096);
    bound.may_not_bind = true;
    hs_hub_review(bound.world.hub, now_ns());
    assert_int_equal(interval_of(&bound), HS_INTERVAL_OFF);
    bound_deinit(&bound);
}

static void test_lent_to_sessions(void **state)
{
    (void)state;
    struct bound bound;
    struct trace traces[2];
    bound_init(&bound, true);
    announce_bound(&bound);
    for (unsigned i = 0; i < 2; i++) {
        const struct hs_session_settings settings = { .is_taking_running = true,
                                                      .is_any_uid = true,
                                                      .interval_bytes = 512,
                                                      .limits.memory_bytes = 1 << 20 };
        struct hs_session *session =
            start(&bound.world, &traces[i], &settings, NULL, bound.process.pid);
        assert_int_equal(bound.world.answers[HS_HUB_RECORDED], 1);
        assert_ptr_equal(hs_hub_session_of(target_of(&bound)), session);
        assert_int_equal(interval_of(&bound), 512);
        assert_int_equal(bound.process.w.control->region_limit_bytes, 1 << 20);
        hs_hub_stop(bound.world.hub, session, now_ns());
        assert_int_equal(interval_of(&bound), 4096);
        assert_int_equal(bound.process.w.control->region_limit_bytes, 0);
        assert_null(hs_hub_session_of(target_of(&bound)));
        assert_false(target_of(&bound)->state.is_dormant);
        const struct hs_profile_dump *dump = &traces[i].profile->dumps[0];
        assert_true(dump->live.bytes == 5000 && dump->orig_interval_bytes == 4096);
        trace_deinit(&traces[i]);
    }
    bound_deinit(&bound);
}

/* The process selects heaps itself, and a session selects others; snapshots are then not
 * complete. */
static void test_heaps_are_given_back(void **state)
{
    (void)state;
    struct bound bound;
    struct trace trace;
    bound_init(&bound, true);
    struct hs_region_control_v1 *control = bound.process.w.control;
    control->heap_selection.rule_count = 1;
    strcpy(control->heap_selection.rules[0].pattern, "arena");
    const struct hs_heap_selection_v2 own = control->heap_selection;
    announce_bound(&bound);
    const struct hs_session_settings settings = { .is_taking_running = true,
                                                  .is_any_uid = true,
                                                  .heaps.is_without_others = true };
    struct hs_session *session = start(&bound.world, &trace, &settings, NULL, bound.process.pid);
    assert_memory_not_equal(&control->heap_selection, &own, sizeof(own));
    hs_hub_stop(bound.world.hub, session, now_ns());
    assert_memory_equal(&control->heap_selection, &own, sizeof(own));
    assert_int_equal(interval_of(&bound), 4096);
    assert_false(hs_target_is_from_startup(target_of(&bound)));
    /* The next daemon knows it, too. */
    hs_registry_drop(&bound.world.hub->registry, target_of(&bound));
    announce_bound(&bound);
    assert_true(hs_target_is_bound(target_of(&bound)));
    assert_false(hs_target_is_from_startup(target_of(&bound)));
    trace_deinit(&trace);
    bound_deinit(&bound);
}

/* A session's end is also when the owner may refuse. */
static void test_forbidden_during_a_session(void **state)
{
    (void)state;
    struct bound bound;
    struct trace trace;
    bound_init(&bound, true);
    announce_bound(&bound);
    struct hs_session *session =
        start(&bound.world, &trace, &everything, "prog", bound.process.pid);
    bound.may_not_bind = true;
    hs_hub_stop(bound.world.hub, session, now_ns());
    assert_int_equal(interval_of(&bound), HS_INTERVAL_OFF);
    trace_deinit(&trace);
    bound_deinit(&bound);
}

static void test_named_snapshots(void **state)
{
    (void)state;
    struct bound bound;
    struct hs_named_request request = { .pidfd = -1, .name = "loaded" };
    struct hs_named_answer_v1 answer;
    int ends[2];
    bound_init(&bound, true);
    announce_bound(&bound);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    request.connection_fd = ends[0];
    hs_hub_on_named(bound.world.hub, target_of(&bound), &request);
    assert_int_equal(recv(ends[1], &answer, sizeof(answer), 0), sizeof(answer));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(answer.error, 0);
    assert_true(bound.kept_count == 1 && bound.kept_bytes == 5000);
    assert_string_equal(bound.kept_name, "loaded");
    hs_registry_end(&bound.world.hub->registry, bound.process.pid, now_ns(), HS_EXIT_SIGNAL,
                    SIGKILL);
    assert_true(bound.kept_count == 2 && bound.kept_bytes == 5000);
    assert_string_equal(bound.kept_name, "killed-SIGKILL");
    bound_deinit(&bound);
}

static void test_exit_leaves_nothing(void **state)
{
    (void)state;
    struct bound bound;
    bound_init(&bound, true);
    announce_bound(&bound);
    hs_registry_end(&bound.world.hub->registry, bound.process.pid, now_ns(), HS_EXIT_CODE, 0);
    assert_int_equal(bound.kept_count, 0);
    bound_deinit(&bound);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_an_owner_that_allows_it),
        cmocka_unit_test(test_policy_changes),
        cmocka_unit_test(test_lent_to_sessions),
        cmocka_unit_test(test_heaps_are_given_back),
        cmocka_unit_test(test_forbidden_during_a_session),
        cmocka_unit_test(test_named_snapshots),
        cmocka_unit_test(test_exit_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
