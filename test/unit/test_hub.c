/*
 * Tests of session/hub: which session gets which process, and when sessions end.
 */
#include "hub_fixture.h"
#include "profile/model/loss.h"

/* --- tests ------------------------------------------------------------------------------------ */

static void test_a_dormant_process_is_recorded_from_a_session_on(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-one", 0);
    announce(world.hub, &p);
    assert_int_equal(p.w.control->generation, 0);
    uint64_t begin = now_ns();
    struct hs_session *session = start(&world, &trace, &everything, "hs-one", 0);
    assert_int_equal(world.answers[HS_HUB_RECORDED], 1);
    assert_int_equal(p.w.control->interval_bytes, 4096);
    assert_int_equal(p.w.control->generation, 1);
    assert_true(p.w.control->floor_bytes == HS_FLOOR_STEP);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    hs_hub_dump_all(world.hub, now_ns());
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(world.over_count, 1);
    assert_int_equal(p.w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(trace.profile->process_count, 1);
    assert_int_equal(trace.profile->dump_count, 2);
    assert_false(trace.profile->processes[0].is_from_startup);
    assert_true(trace.profile->processes[0].start_ns >= begin);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_startup(void **state)
{
    (void)state;
    struct world world;
    struct process ours, others;
    struct trace trace;
    world_init(&world);
    assert_int_equal(startup_interval(&world), 0);
    struct hs_session *session = start(&world, &trace, &everything, "hs-ours", 0);
    assert_int_equal(startup_interval(&world), 4096);
    process_init(&ours, "hs-ours", 4096);
    process_init(&others, "hs-others", 4096);
    announce(world.hub, &ours);
    announce(world.hub, &others);
    assert_int_equal(ours.w.control->generation, 0); /* it continues as it began */
    assert_int_equal(others.w.control->interval_bytes, HS_INTERVAL_OFF);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(startup_interval(&world), 0);
    assert_int_equal(trace.profile->process_count, 1);
    assert_true(trace.profile->processes[0].is_from_startup);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&ours);
    process_deinit(&others);
}

static void test_the_first_session_keeps_it(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace first_trace, second_trace, third_trace;
    world_init(&world);
    process_init(&p, "hs-wanted", 0);
    announce(world.hub, &p);
    struct hs_session *first = start(&world, &first_trace, &everything, "hs-want*", 0);
    struct hs_session_settings settings = everything;
    settings.interval_bytes = 1;
    struct hs_session *second = start(&world, &second_trace, &settings, "hs-wanted", 0);
    assert_int_equal(world.answers[HS_HUB_REJECTED], 1);
    assert_int_equal(p.w.control->interval_bytes, 4096);
    assert_int_equal(second->rejected_count, 1);
    assert_int_equal(startup_interval(&world), 1);
    /* By pid: there is nothing to do, and the session is over at once. */
    struct hs_session *third = start(&world, &third_trace, &everything, NULL, p.pid);
    assert_int_equal(third->rejected_count, 1);
    hs_hub_turn(world.hub, now_ns());
    assert_int_equal(world.over_count, 1);
    hs_hub_stop(world.hub, second, now_ns());
    assert_int_equal(p.w.control->interval_bytes, 4096);
    hs_hub_stop(world.hub, first, now_ns());
    assert_int_equal(first_trace.profile->processes[0].pid, p.pid);
    assert_int_equal(second_trace.profile->processes[0].pid, p.pid);
    assert_int_equal(first_trace.profile->loss_count, 0);
    assert_int_equal(second_trace.profile->loss_count, 1);
    assert_true(
        strstr(hs_profile_string(second_trace.profile, second_trace.profile->losses[0].name),
               "rejected") != NULL);
    trace_deinit(&first_trace);
    trace_deinit(&second_trace);
    trace_deinit(&third_trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_users(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-root", 0);
    announce(world.hub, &p);
    struct hs_session_settings settings = everything;
    settings.is_any_uid = false;
    settings.uid = 12345;
    struct hs_session *session = start(&world, &trace, &settings, "hs-*", 0);
    assert_int_equal(world.answers[HS_HUB_RECORDED], 0);
    assert_int_equal(p.w.control->generation, 0);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    session = start(&world, &trace, &settings, NULL, p.pid);
    assert_int_equal(world.answers[HS_HUB_NOT_ALLOWED], 1);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* Refuses processes of user 12345 with its own text. */
static enum hs_refusal authorize(void *ctx, const struct hs_session *session,
                                 const struct hs_process_facts *process, struct hs_target *target,
                                 struct hs_refusal_words *ret_words)
{
    const struct world *world = ctx;
    (void)session;
    (void)target;
    if (process->facts.uid != world->forbidden_uid) {
        return HS_REFUSAL_NONE;
    }
    *ret_words = (struct hs_refusal_words){ .what = "so it is", .remedy = "bear it" };
    return HS_REFUSAL_POLICY;
}

static void test_what_the_owner_forbids(void **state)
{
    (void)state;
    struct world world;
    struct process may, may_not, late;
    struct trace trace;
    world_init(&world);
    world.hub->config.authorize = authorize;
    world.forbidden_uid = 5;
    process_init(&may, "hs-authorized", 0);
    process_init(&may_not, "hs-authorized", 0);
    announce_as(world.hub, &may, 4);
    announce_as(world.hub, &may_not, 5);
    struct hs_session *session = start(&world, &trace, &everything, "hs-authorized", 0);
    assert_int_equal(world.answers[HS_HUB_RECORDED], 1);
    assert_int_equal(world.answers[HS_HUB_NOT_ALLOWED], 1);
    process_init(&late, "hs-authorized", 4096);
    announce_as(world.hub, &late, 5);
    assert_int_equal(late.w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    /* And then it answers something else. */
    hs_hub_review(world.hub, now_ns());
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    world.forbidden_uid = 4;
    hs_hub_review(world.hub, now_ns());
    assert_int_equal(hs_hub_target_count(world.hub, session), 0);
    assert_int_equal(may.w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(session->rejected_count, 3);
    assert_int_equal(session->process_count, 1);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 4); /* one process is listed twice */
    for (uint32_t i = 0; i < 4; i++) {
        const struct hs_profile_process *it = &trace.profile->processes[i];
        if (it->pid == (uint32_t)may_not.pid) {
            assert_int_equal(it->refusal, HS_REFUSAL_POLICY);
            assert_string_equal(hs_profile_string(trace.profile, it->refusal_text), "so it is");
        }
    }
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&may);
    process_deinit(&may_not);
    process_deinit(&late);
}

static void test_many_refused(void **state)
{
    (void)state;
    struct world world;
    struct trace trace;
    world_init(&world);
    struct hs_session *session = start(&world, &trace, &everything, "hs-none", 0);
    struct hs_process_facts facts = { 0 };
    for (pid_t pid = 1; pid <= 40; pid++) {
        facts.facts.pid = pid;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(hs_session_refuse(session, &facts, HS_REFUSAL_POLICY, NULL, now_ns()),
                             0);
        }
    }
    facts.facts.pid = 41;
    hs_session_refuse(session, &facts, HS_REFUSAL_GONE, NULL, now_ns());
    assert_int_equal(session->rejected_count, 40);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 32);
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace.profile->loss_count; i++) {
        count += trace.profile->losses[i].count;
    }
    assert_int_equal(count, 41);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
}

static void test_no_client_can_be_brought_in(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    world.attach_result = 0;
    process_init(&p, "hs-bare", 0);
    struct hs_session *session = start(&world, &trace, &everything, NULL, p.pid);
    assert_int_equal(world.attach_pid, p.pid);
    hs_hub_refuse(world.hub, p.pid, false, "it is stopped; let it go on", now_ns());
    hs_hub_give_up(world.hub, p.pid);
    assert_int_equal(session->rejected_count, 1);
    hs_hub_stop(world.hub, session, now_ns());
    const struct hs_profile_process *it = &trace.profile->processes[0];
    assert_int_equal(it->refusal, HS_REFUSAL_NO_CLIENT);
    assert_string_equal(hs_profile_string(trace.profile, it->refusal_text), "it is stopped");
    assert_string_equal(hs_profile_string(trace.profile, it->refusal_remedy), "let it go on");
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_a_forked_child_goes_with_its_parent(void **state)
{
    (void)state;
    struct world world;
    struct process parent, child, stranger;
    struct trace trace;
    world_init(&world);
    process_init(&parent, "hs-parent", 0);
    announce(world.hub, &parent);
    struct process before; /* dormant like its parent */
    process_init(&before, "hs-before", 0);
    before.w.header->forked_from_pid = (uint32_t)parent.pid;
    announce(world.hub, &before);
    struct hs_session *session = start(&world, &trace, &everything, NULL, parent.pid);
    assert_int_equal(world.answers[HS_HUB_RECORDED], 2);
    process_init(&child, "hs-child", 4096);
    child.w.header->forked_from_pid = (uint32_t)parent.pid;
    process_init(&stranger, "hs-stranger", 4096);
    stranger.w.header->forked_from_pid = (uint32_t)parent.pid;
    process_end(&parent); /* a daemon may see this before the children announce themselves */
    hs_hub_turn(world.hub, now_ns());
    announce(world.hub, &child);
    assert_int_equal(child.w.control->interval_bytes, 4096);
    struct process
        heir; /* dormant, with what its parent had recorded for another session: it must begin
               * anew */
    process_init(&heir, "hs-heir", 0);
    heir.w.header->interval_count = 2;
    heir.w.header->forked_from_pid = (uint32_t)parent.pid;
    announce(world.hub, &heir);
    assert_int_equal(heir.w.control->session, 1);
    process_deinit(&heir);
    hs_session_settings_deinit(&session->settings);
    session->settings = everything;
    session->settings.interval_bytes = 4096;
    session->settings.is_any_uid = false;
    announce_as(world.hub, &stranger, 12345);
    assert_int_equal(stranger.w.control->interval_bytes, HS_INTERVAL_OFF);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct hs_profile_process *it = &trace.profile->processes[i];
        bool is_stranger = it->pid == (uint32_t)stranger.pid;
        assert_int_equal(it->refusal, is_stranger ? HS_REFUSAL_OTHER_USER : HS_REFUSAL_NONE);
        assert_false(trace.profile->processes[i].is_from_startup); /* as for its parent */
    }
    process_deinit(&before);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&parent);
    process_deinit(&child);
    process_deinit(&stranger);
}

/*
 * The same pid again with another region: the first image is final, and the session includes the
 * second one too.
 */
static void test_a_process_that_executes_another_program(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-shell", 0);
    announce(world.hub, &p);
    struct hs_session *session = start(&world, &trace, &everything, NULL, p.pid);
    struct process next = p;
    region_writer_init(&next.w, &(struct region_plan){ 64, 4096 });
    next.w.control->interval_bytes = 1; /* as a startup hint requested */
    next.w.header->is_from_startup = 1;
    next.w.header->start_boot_ns = UINT64_MAX / 2;
    next.w.header->start_mono_ns = now_ns() + 1;
    announce(world.hub, &next);
    assert_int_equal(session->process_count, 1);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    assert_int_equal(next.w.control->interval_bytes, 4096);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 2);
    assert_true(trace.profile->processes[0].pid == trace.profile->processes[1].pid);
    assert_false(trace.profile->processes[0].is_from_startup);
    assert_true(trace.profile->processes[1].is_from_startup);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    region_writer_deinit(&next.w);
    process_deinit(&p);
}

static void test_ends(void **state)
{
    (void)state;
    struct world world;
    struct process p, q;
    struct trace by_pid, timed;
    world_init(&world);
    process_init(&p, "hs-p", 0);
    process_init(&q, "hs-q", 0);
    announce(world.hub, &p);
    announce(world.hub, &q);
    start(&world, &by_pid, &everything, NULL, p.pid);
    struct hs_session_settings settings = everything;
    settings.duration_ns = 10 * SECOND;
    settings.dumps.every_ns = 2 * SECOND;
    settings.dumps.phase_ns = SECOND;
    start(&world, &timed, &settings, "hs-q", 0);
    uint64_t begin = now_ns();
    assert_true(hs_hub_turn(world.hub, begin) <= begin + SECOND);
    assert_int_equal(world.over_count, 0);
    process_end(&p);
    hs_hub_turn(world.hub, now_ns());
    assert_int_equal(world.over_count, 0); /* one of its children may still announce itself */
    hs_hub_turn(world.hub, now_ns() + SECOND);
    assert_int_equal(world.over_count, 1);
    /* Another process waited for it before: only newer kernels tell the exit status then. */
    assert_true(by_pid.profile->processes[0].exit_kind == HS_EXIT_UNKNOWN ||
                by_pid.profile->processes[0].exit_value == SIGKILL);
    hs_hub_turn(world.hub, begin + SECOND + SECOND / 2); /* dump at 1 s */
    hs_hub_turn(world.hub, begin + 2 * SECOND);
    hs_hub_turn(world.hub, begin + 7 * SECOND + SECOND / 2); /* dumps at 3, 5, 7 s were due: one
                                                              * for all */
    hs_hub_turn(world.hub, begin + 8 * SECOND);
    assert_int_equal(world.over_count, 1);
    hs_hub_turn(world.hub, begin + 11 * SECOND);
    assert_int_equal(world.over_count, 2);
    assert_int_equal(timed.profile->dump_count, 3);
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(timed.profile->dumps[i].start_ns >= timed.profile->dumps[i - 1].time_ns);
    }
    trace_deinit(&by_pid);
    trace_deinit(&timed);
    hs_hub_free(world.hub);
    process_deinit(&p);
    process_deinit(&q);
}

static void test_time_runs_from_the_first_recording(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    world.attach_result = 0;
    process_init(&p, "hs-slow", 4096);
    struct hs_session_settings settings = everything;
    settings.duration_ns = 2 * SECOND;
    settings.dumps.every_ns = SECOND;
    struct hs_session *session = start(&world, &trace, &settings, NULL, p.pid);
    assert_int_equal(world.answers[HS_HUB_ATTACHING], 1);
    uint64_t asked_ns = session->start_ns;
    hs_hub_turn(world.hub, asked_ns + 5 * SECOND);
    assert_int_equal(world.over_count, 0); /* the attach is still in progress */
    p.w.header->is_from_startup = 0;
    uint64_t begin_ns = now_ns();
    announce(world.hub, &p);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    assert_true(session->end_ns >= begin_ns + settings.duration_ns);
    assert_true(session->next_dump_ns >= begin_ns + SECOND);
    assert_int_equal(session->start_ns, asked_ns);
    hs_hub_turn(world.hub, begin_ns + 2 * SECOND - 1);
    assert_int_equal(world.over_count, 0);
    hs_hub_turn(world.hub, session->end_ns);
    assert_int_equal(world.over_count, 1);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_processes_without_a_client(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-bare", 4096);
    struct hs_session *session = start(&world, &trace, &everything, NULL, p.pid);
    assert_int_equal(world.answers[HS_HUB_NO_CLIENT], 1);
    hs_hub_turn(world.hub, now_ns());
    assert_int_equal(world.over_count, 1);
    trace_deinit(&trace);
    world.attach_result = 0;
    struct hs_session_settings settings = everything;
    settings.is_taking_startup = false;
    session = start(&world, &trace, &settings, "hs-bare", 0);
    assert_int_equal(world.answers[HS_HUB_ATTACHING], 1);
    assert_int_equal(world.attach_pid, p.pid);
    hs_hub_turn(world.hub, now_ns());
    assert_int_equal(world.over_count, 1); /* it is expected to arrive */
    p.w.header->is_from_startup = 0;
    announce(world.hub, &p);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    hs_hub_stop(world.hub, session, now_ns());
    assert_int_equal(trace.profile->process_count, 1);
    trace_deinit(&trace);
    session = start(&world, &trace, &settings, "hs-bare", 0);
    assert_int_equal(world.answers[HS_HUB_ATTACHING], 1); /* another region is requested from it */
    assert_int_equal(p.w.control->session, 1);
    hs_hub_turn(world.hub, now_ns());
    assert_int_equal(world.over_count, 2);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_dumps_at_limits(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-grows", 0);
    announce(world.hub, &p);
    struct hs_session_settings settings = everything;
    settings.dumps.above_bytes = 1 << 20;
    struct hs_session *session = start(&world, &trace, &settings, "hs-grows", 0);
    uint64_t t = now_ns();
    const struct {
        int64_t live_bytes;
        uint64_t dumps;
    } steps[] = { { 100, 0 },     { 2 << 20, 1 }, { 3 << 20, 1 }, { (1 << 20) - 5, 1 },
                  { 2 << 20, 1 }, { 1000, 1 },    { 2 << 20, 2 } };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        p.w.control->live_bytes = steps[i].live_bytes;
        hs_hub_turn(world.hub, t += SECOND);
        assert_int_equal(session->dump_count, steps[i].dumps);
    }
    session->settings.dumps.above_bytes = 0;
    session->settings.dumps.is_at_peak = true;
    p.w.control->peak_bytes = 5 << 20;
    hs_hub_turn(world.hub, t += SECOND);
    assert_int_equal(session->dump_count, 3);
    p.w.control->peak_bytes += 1 << 10; /* only slightly higher */
    hs_hub_turn(world.hub, t += 2 * SECOND);
    assert_int_equal(session->dump_count, 3);
    p.w.control->peak_bytes = 6 << 20;
    hs_hub_turn(world.hub, t += 2 * SECOND);
    assert_int_equal(session->dump_count, 4);
    p.w.control->live_bytes =
        9 << 20; /* it grows and has not fallen yet: the client reports no peak */
    hs_hub_turn(world.hub, t += 2 * SECOND);
    assert_int_equal(session->dump_count, 5);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* A session that had no process to watch when it began. */
static void test_a_process_that_comes_later_is_looked_at(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    struct hs_session_settings settings = everything;
    settings.dumps.above_bytes = 1 << 20;
    struct hs_session *session = start(&world, &trace, &settings, "hs-later", 0);
    assert_true(hs_hub_turn(world.hub, now_ns()) == UINT64_MAX);
    process_init(&p, "hs-later", 4096);
    announce(world.hub, &p);
    uint64_t t = now_ns();
    assert_true(hs_hub_turn(world.hub, t) <= t + SECOND / 4);
    p.w.control->live_bytes = 2 << 20;
    hs_hub_turn(world.hub, t + SECOND);
    assert_int_equal(session->dump_count, 1);
    assert_true(p.w.control->collector_ms > 0);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* One dump serves all occasions: one that is due on a schedule also shows the new peak. */
static void test_occasions_that_coincide(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-once", 0);
    announce(world.hub, &p);
    struct hs_session_settings settings = everything;
    settings.dumps = (struct hs_dump_schedule){ .every_ns = SECOND, .above_bytes = 1 << 20 };
    struct hs_session *session = start(&world, &trace, &settings, "hs-once", 0);
    p.w.control->live_bytes = 2 << 20;
    hs_hub_turn(world.hub, now_ns() + SECOND + SECOND / 4);
    assert_int_equal(session->dump_count, 1);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* Trying to read a region that cannot be read costs CPU time, too, which the budget must see. */
static void test_the_cost_of_an_unreadable_region(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-broken", 0);
    announce(world.hub, &p);
    struct hs_session *session = start(&world, &trace, &everything, "hs-broken", 0);
    p.w.control->epoch = UINT64_MAX; /* no cut can be opened */
    uint64_t before_ns = session->cpu_used_ns;
    hs_hub_dump_all(world.hub, now_ns());
    assert_int_equal(session->dump_count, 0);
    assert_int_equal(world.hub->unreadable_count, 1);
    assert_true(session->cpu_used_ns > before_ns);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void test_settings_that_make_no_sense(void **state)
{
    (void)state;
    const struct hs_session_settings good = { .interval_bytes = 1,
                                              .is_all = true,
                                              .is_taking_running = true };
    struct hs_session_settings s = good;
    assert_null(hs_session_settings_check(&s));
    s.interval_bytes = 0;
    assert_non_null(hs_session_settings_check(&s));
    s = good;
    s.is_all = false;
    assert_non_null(hs_session_settings_check(&s));
    s = good;
    s.is_taking_running = false;
    assert_non_null(hs_session_settings_check(&s));
    s = good;
    strcpy(s.name, "a/b");
    assert_non_null(hs_session_settings_check(&s));
    s = good;
    s.dumps.phase_ns = 5;
    assert_non_null(hs_session_settings_check(&s));
    s = good;
    hs_session_settings_add_pid(&s, -1);
    assert_non_null(hs_session_settings_check(&s));
    hs_session_settings_deinit(&s);
    assert_true(hs_session_is_name("nightly.2_x-1"));
    assert_false(hs_session_is_name("-x") || hs_session_is_name("") || hs_session_is_name("a b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dormant_process_is_recorded_from_a_session_on),
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_the_first_session_keeps_it),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_what_the_owner_forbids),
        cmocka_unit_test(test_many_refused),
        cmocka_unit_test(test_no_client_can_be_brought_in),
        cmocka_unit_test(test_a_forked_child_goes_with_its_parent),
        cmocka_unit_test(test_a_process_that_executes_another_program),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_time_runs_from_the_first_recording),
        cmocka_unit_test(test_processes_without_a_client),
        cmocka_unit_test(test_dumps_at_limits),
        cmocka_unit_test(test_a_process_that_comes_later_is_looked_at),
        cmocka_unit_test(test_occasions_that_coincide),
        cmocka_unit_test(test_the_cost_of_an_unreadable_region),
        cmocka_unit_test(test_settings_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
