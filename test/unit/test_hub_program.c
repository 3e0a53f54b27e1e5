/*
 * Tests of what session/hub does for a program that its owner has started: see program_run.h.
 */
#include "collect/region/region_control.h"
#include "hub_fixture.h"

static const struct hs_session_settings announced = { .is_taking_announced = true,
                                                      .is_any_uid = true };

/* No name decides, each process is looked at at once, and those that were left are not taken
 * again. */
static void test_what_announces_itself(void **state)
{
    (void)state;
    struct world world;
    struct process p, child;
    struct trace trace;
    world_init(&world);
    struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
    process_init(&p, "hs-any-name", 4096);
    p.w.header->start_mono_ns = now_ns() - SECOND;
    announce(world.hub, &p);
    assert_true(p.w.control->collector_ms >= 1000);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    assert_int_equal(hs_hub_leave_running(world.hub), 1);
    assert_int_equal(session->dump_count, 1);
    assert_int_equal(p.w.control->interval_bytes, HS_INTERVAL_OFF);

    process_init(&child, "hs-its-child", 0); /* forked afterwards: dormant as its parent */
    child.w.header->forked_from_pid = (uint32_t)p.pid;
    announce(world.hub, &child);
    assert_int_equal(hs_hub_target_count(world.hub, session), 0);
    assert_int_equal(hs_hub_leave_running(world.hub), 1); /* it is forgotten, without a dump */
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 1);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&child);
    process_deinit(&p);
}

/* A client switches itself off when it may make no system calls any more. Its session has to leave
 * it so, when it begins and when a budget changes the interval. */
static void test_a_client_that_has_switched_itself_off(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
    process_init(&p, "hs-strict", 4096);
    p.has_switched_off = true;
    p.w.control->interval_bytes = HS_INTERVAL_OFF;
    announce(world.hub, &p);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    assert_int_equal(p.w.control->interval_bytes, HS_INTERVAL_OFF);
    hs_region_control_set_interval(&world.hub->registry.targets[0]->region, 8192,
                                   &(struct hs_heap_page){ 0 });
    assert_int_equal(p.w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(p.w.control->generation, 0);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_a_target_that_is_kept_back(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    world.is_keeping_back = true;
    struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
    process_init(&p, "hs-kept", 4096);
    announce(world.hub, &p);
    process_end(&p);
    hs_hub_turn(world.hub, now_ns());
    assert_non_null(world.kept);
    assert_int_equal(world.hub->registry.target_count, 0);
    assert_int_equal(session->dump_count, 0);
    world.kept->process.exit_kind = HS_EXIT_CODE;
    world.kept->process.exit_value = 7;
    hs_hub_finish_target(world.hub, world.kept);
    assert_int_equal(session->dump_count, 1);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->processes[0].exit_value, 7);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    region_writer_deinit(&p.w);
}

/* The program that announced itself has executed another one, which has not announced itself: file
 * and name are no longer those of the region. The process's status is not that of the first one. */
static void test_a_silent_program(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    world.is_keeping_back = true;
    struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
    process_init(&p, "hs-silent", 4096);
    memcpy(p.w.header->comm, "hs-before", sizeof("hs-before"));
    announce(world.hub, &p);
    process_end(&p);
    hs_hub_turn(world.hub, now_ns());
    assert_non_null(world.kept);
    world.kept->process.exit_kind = HS_EXIT_CODE;
    world.kept->process.exit_value = 7;
    hs_hub_finish_target(world.hub, world.kept);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->processes[0].exit_kind, HS_EXIT_EXECUTED);
    assert_int_equal(trace.profile->processes[0].exit_value, 0);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    region_writer_deinit(&p.w);
}

/* A process of another PID namespace has no pid here. Only an owner that ends soon takes it. */
static void test_a_process_that_cannot_be_seen(void **state)
{
    (void)state;
    for (int is_taking = 0; is_taking < 2; is_taking++) {
        struct world world;
        struct process p;
        struct trace trace;
        world_init_with(&world, is_taking);
        struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
        process_init(&p, "hs-hidden", 4096);
        assert_int_equal(try_announce(world.hub, &p, 0, 0), is_taking ? 0 : -ESRCH);
        assert_int_equal(hs_hub_leave_running(world.hub), is_taking);
        assert_int_equal(session->dump_count, is_taking);
        hs_hub_stop(world.hub, session, now_ns());
        trace_deinit(&trace);
        hs_hub_free(world.hub);
        process_deinit(&p);
    }
}

/* The dumps that a session does not want are taken, and not written. */
static bool wants_none(void *ctx, const struct hs_snapshot *snap)
{
    (void)ctx;
    (void)snap;
    return false;
}

static void test_dumps_that_are_not_wanted(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    struct hs_session *session = start(&world, &trace, &announced, NULL, 0);
    session->wants = wants_none;
    process_init(&p, "hs-other", 4096);
    announce(world.hub, &p);
    assert_int_equal(hs_hub_leave_running(world.hub), 1);
    assert_int_equal(session->dump_count, 0);
    assert_int_equal(session->process_count, 0);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 0);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* A session that is buffered gives its sink nothing before its buffer is full or its end. */
static void test_a_buffered_session(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    struct hs_session_settings settings = announced;
    settings.is_buffered = true;
    struct hs_session *session = start(&world, &trace, &settings, NULL, 0);
    process_init(&p, "hs-buffered", 4096);
    announce(world.hub, &p);
    hs_hub_dump_all(world.hub, now_ns());
    assert_int_equal(session->dump_count, 1);
    assert_int_equal(trace.bytes.bytes, 0);
    hs_hub_stop(world.hub, session, now_ns());
    assert_true(trace.bytes.bytes > 0);
    assert_int_equal(trace.profile->process_count, 1);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_announces_itself),
        cmocka_unit_test(test_a_client_that_has_switched_itself_off),
        cmocka_unit_test(test_a_target_that_is_kept_back),
        cmocka_unit_test(test_a_silent_program),
        cmocka_unit_test(test_a_process_that_cannot_be_seen),
        cmocka_unit_test(test_dumps_that_are_not_wanted),
        cmocka_unit_test(test_a_buffered_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
