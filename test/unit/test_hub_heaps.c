/*
 * Tests of session/hub.h and session/heaps_seen.h: a session's selection of heaps in the control
 * page and in the dumps, and when a budget widens the intervals.
 */
#include "collect/region/region_control.h"
#include "fmt/region_layout_v1.h"
#include "hub_fixture.h"

static struct hs_session_settings settings_of(const char *heap, uint64_t heap_bytes,
                                              bool is_without_others)
{
    struct hs_session_settings settings = everything;
    settings.interval_bytes = 4096;
    settings.heaps.is_without_others = is_without_others;
    assert_null(hs_heap_selection_add(&settings.heaps, heap, strlen(heap), heap_bytes));
    hs_heap_selection_settle(&settings.heaps, &settings.interval_bytes);
    return settings;
}

static const struct hs_heap_selection_v2 *page_of(const struct process *p)
{
    return &p->w.control->heap_selection;
}

static void test_page(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    world_init(&world);
    process_init(&p, "hs-page", 0);
    announce(world.hub, &p);
    p.w.control->flags = HS_CONTROL_NO_MALLOC; /* its environment left malloc out */
    const struct hs_session_settings first = settings_of("arena", 64, true);
    uint32_t generation = p.w.control->generation;
    struct hs_session *session = start(&world, &trace, &first, "hs-page", 0);
    assert_int_equal(p.w.control->flags, HS_CONTROL_NO_MALLOC);
    assert_int_equal(p.w.control->generation, generation + 1);
    assert_int_equal(p.w.control->interval_bytes, 4096);
    assert_int_equal(page_of(&p)->other_interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(page_of(&p)->rule_count, 1);
    assert_string_equal(page_of(&p)->rules[0].pattern, "arena");
    assert_int_equal(page_of(&p)->rules[0].interval_bytes, 64);
    hs_hub_stop(world.hub, session, now_ns());
    /* Clean for who comes next. */
    assert_int_equal(p.w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(p.w.control->flags, 0);
    assert_int_equal(page_of(&p)->other_interval_bytes, HS_INTERVAL_SAME);
    assert_int_equal(page_of(&p)->rule_count, 0);
    assert_int_equal(page_of(&p)->rules[0].pattern[0], '\0');
    assert_true(trace.profile->processes[0].is_without_malloc);
    assert_int_equal(trace.profile->asked_heap_count, 1);
    assert_string_equal(hs_profile_string(trace.profile, trace.profile->asked_heaps[0]), "arena");
    trace_deinit(&trace);

    /* The client has to make another region, and finds its selection in the page of this one. */
    const struct hs_session_settings second = settings_of("libc.malloc", HS_INTERVAL_SAME, true);
    session = start(&world, &trace, &second, "hs-page", 0);
    assert_int_equal(world.answers[HS_HUB_ATTACHING], 1);
    assert_int_equal(p.w.control->session, 1);
    assert_int_equal(p.w.control->flags, 0);
    assert_int_equal(page_of(&p)->other_interval_bytes, HS_INTERVAL_OFF);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* Programs that start record what all sessions that wait for them agree on. */
static void test_startup(void **state)
{
    (void)state;
    struct world world;
    struct trace traces[3];
    struct hs_startup startup;
    world_init(&world);
    hs_hub_find_startup(world.hub, NULL, &startup);
    assert_true(startup.interval_bytes == 0 && startup.heaps[0] == '\0');
    struct hs_session_settings settings = settings_of("arena", 64, true);
    start(&world, &traces[0], &settings, "hs-one", 0);
    hs_hub_find_startup(world.hub, NULL, &startup);
    assert_int_equal(startup.interval_bytes, 4096);
    assert_string_equal(startup.heaps, "libc.malloc=0,arena=64,*=0");
    settings.interval_bytes = 512;
    start(&world, &traces[1], &settings, "hs-two", 0);
    hs_hub_find_startup(world.hub, NULL, &startup);
    assert_int_equal(startup.interval_bytes, 512);
    assert_string_equal(startup.heaps, "libc.malloc=0,arena=64,*=0");
    struct hs_session *other = start(&world, &traces[2], &everything, "hs-three", 0);
    hs_hub_find_startup(world.hub, NULL, &startup);
    assert_true(startup.interval_bytes == 512 && startup.heaps[0] == '\0');
    hs_hub_stop(world.hub, other, now_ns());
    hs_hub_find_startup(world.hub, NULL, &startup);
    assert_string_equal(startup.heaps, "libc.malloc=0,arena=64,*=0");
    for (unsigned i = 0; i < 2; i++) {
        hs_hub_stop(world.hub, world.hub->sessions[0], now_ns());
    }
    for (unsigned i = 0; i < 3; i++) {
        trace_deinit(&traces[i]);
    }
    hs_hub_free(world.hub);
}

/* A program that has just started with an older client, or while sessions disagree, records all
 * heaps, until it reads the page. */
static void test_what_was_recorded_too_early(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct player player;
    struct trace trace;
    world_init(&world);
    const struct hs_session_settings settings = settings_of("arena", HS_INTERVAL_SAME, true);
    struct hs_session *session = start(&world, &trace, &settings, "hs-early", 0);
    static const char *const names[] = { "arena", "pool", "carved" };
    uint32_t first = process_init_playing(&p, &player, "hs-early", 4);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t heap_id =
            region_writer_heap(&p.w, names[i], HS_HEAP_NAMED | (i == 2 ? HS_HEAP_CARVED : 0U));
        struct hs_stack_v1 *stack = region_writer_at(&p.w, HS_SECTION_STACKS, first + 1 + i);
        stack->heap_id = heap_id;
    }
    for (uint32_t i = 0; i < 4; i++) {
        player_birth(&player, first + i, 1000 * (i + 1), 0);
    }
    announce(world.hub, &p);
    assert_int_equal(hs_hub_target_count(world.hub, session), 1);
    hs_hub_stop(world.hub, session, now_ns());
    const struct hs_profile *profile = trace.profile;
    const struct hs_profile_dump *dump = &profile->dumps[profile->dump_count - 1];
    assert_int_equal(dump->live.bytes, 2000);
    assert_int_equal(dump->alloc.bytes, 2000);
    assert_int_equal(dump->peak.bytes, 2000);
    for (uint64_t i = 0; i < profile->sample_count; i++) {
        const struct hs_profile_sample *sample = &profile->samples[i];
        assert_true(sample->live.bytes == 2000 || sample->live.bytes == 0);
    }
    player_deinit(&player);
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

/* malloc's counters say nothing about a session without malloc. */
static void test_no_loss_of_what_was_left_out(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct world world;
        struct process p;
        struct trace trace;
        world_init(&world);
        const struct hs_session_settings settings =
            settings_of("libc.malloc", round ? HS_INTERVAL_OFF : HS_INTERVAL_SAME, false);
        struct hs_session *session = start(&world, &trace, &settings, "hs-losses", 0);
        process_init(&p, "hs-losses", 4096);
        struct hs_thread_block_v1 *block = region_writer_at(&p.w, HS_SECTION_BLOCKS, 0);
        block->lost_count[HS_LOSS_UNSEEN_SYMBOLS] = 1;
        block->lost_count[HS_LOSS_UNSEEN_ALLOCATOR] = 1;
        block->lost_count[HS_LOSS_UNSEEN_NAMESPACE] = 1;
        if (p.w.header->sections[HS_SECTION_BLOCKS].count == 0) {
            p.w.header->sections[HS_SECTION_BLOCKS].count = 1;
        }
        announce(world.hub, &p);
        hs_hub_stop(world.hub, session, now_ns());
        assert_int_equal(trace.profile->loss_count, round ? 0 : 3);
        trace_deinit(&trace);
        hs_hub_free(world.hub);
        process_deinit(&p);
    }
}

/* The intervals of all heaps grow together, and those of a forked child begin where its parent's
 * are. */
static void test_budget(void **state)
{
    (void)state;
    struct world world;
    struct process p, child;
    struct trace trace;
    const struct hs_cpu_budget cpu = { .limit_ns = 1, .rarity = 4 };
    world_init(&world);
    struct hs_session_settings settings = settings_of("arena", 100, false);
    settings.limits.cpu_ns = SECOND;
    struct hs_session *session = start(&world, &trace, &settings, "hs-budget", 0);
    process_init(&p, "hs-budget", 4096);
    announce(world.hub, &p);
    assert_int_equal(page_of(&p)->rules[0].interval_bytes, 100);
    hs_target_spare_collector(world.hub->registry.targets[0], &cpu, now_ns());
    assert_int_equal(p.w.control->interval_bytes, 8192);
    assert_int_equal(page_of(&p)->rules[0].interval_bytes, 200);
    assert_int_equal(page_of(&p)->other_interval_bytes, HS_INTERVAL_SAME);
    process_init(&child, "hs-budget-child", 8192);
    child.w.header->forked_from_pid = (uint32_t)p.pid;
    announce(world.hub, &child);
    assert_int_equal(child.w.control->interval_bytes, 8192);
    assert_int_equal(page_of(&child)->rules[0].interval_bytes, 200);
    hs_target_spare_collector(world.hub->registry.targets[1], &cpu, now_ns());
    assert_int_equal(child.w.control->interval_bytes, 16384);
    assert_int_equal(page_of(&child)->rules[0].interval_bytes, 400);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&child);
    process_deinit(&p);
}

/* A change takes places in the region's table of intervals for each heap with its own. */
static void test_budget_without_room(void **state)
{
    (void)state;
    struct world world;
    struct process p;
    struct trace trace;
    const struct hs_cpu_budget cpu = { .limit_ns = 1, .rarity = 4 };
    world_init(&world);
    struct hs_session_settings settings = settings_of("arena", 100, false);
    settings.limits.cpu_ns = SECOND;
    struct hs_session *session = start(&world, &trace, &settings, "hs-room", 0);
    process_init(&p, "hs-room", 4096);
    p.w.header->interval_count = HS_REGION_INTERVALS - 1;
    announce(world.hub, &p);
    hs_target_spare_collector(world.hub->registry.targets[0], &cpu, now_ns());
    assert_int_equal(p.w.control->interval_bytes, 4096);
    p.w.header->interval_count = HS_REGION_INTERVALS - 2;
    hs_target_spare_collector(world.hub->registry.targets[0], &cpu, now_ns());
    assert_int_equal(p.w.control->interval_bytes, 8192);
    hs_hub_stop(world.hub, session, now_ns());
    trace_deinit(&trace);
    hs_hub_free(world.hub);
    process_deinit(&p);
}

static void make_version_1(struct region_writer *w)
{
    struct hs_region_header_v1 *old = (void *)w->header;
    for (unsigned i = HS_SECTION_N_V1; i < HS_SECTION_N; i++) {
        *hs_region_section(w->header, i) = (struct hs_section_v1){ .elem_bytes = 0 };
    }
    w->header->sections[HS_SECTION_BLOCKS].file_off += 4096;
    w->header->sections[HS_SECTION_BLOCKS].max_count = 8;
    w->header->version = 1;
    w->header->header_bytes = sizeof(*old);
    memset(old->heaps, 0, sizeof(old->heaps));
    memcpy(old->heaps[0].name, "libc.malloc", 12);
}

/* A client of version 1 has no other heaps, and does not know that malloc can be left out. */
static void test_old_client(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct world world;
        struct process p;
        struct trace trace;
        world_init(&world);
        const struct hs_session_settings settings =
            settings_of(round ? "arena" : "libc.malloc", HS_INTERVAL_SAME, true);
        process_init(&p, "hs-old", 0);
        make_version_1(&p.w);
        announce(world.hub, &p);
        struct hs_session *session = start(&world, &trace, &settings, "hs-old", 0);
        assert_int_equal(world.answers[HS_HUB_RECORDED], !round);
        assert_int_equal(world.answers[HS_HUB_NOT_ALLOWED], round);
        assert_int_equal(p.w.control->interval_bytes, round ? HS_INTERVAL_OFF : 4096);
        assert_int_equal(p.w.control->flags, 0);
        assert_int_equal(page_of(&p)->rule_count, 0); /* not part of its layout */
        hs_hub_stop(world.hub, session, now_ns());
        const struct hs_profile_process *process = &trace.profile->processes[0];
        const char *why = hs_profile_string(trace.profile, process->refusal_text);
        assert_int_equal(process->refusal, round ? HS_REFUSAL_NO_CLIENT : HS_REFUSAL_NONE);
        assert_int_equal(strstr(why, "older version, which records libc.malloc only") != NULL,
                         round);
        trace_deinit(&trace);
        hs_hub_free(world.hub);
        process_deinit(&p);
    }
}

static void test_words(void **state)
{
    (void)state;
    struct hs_heaps_seen seen = { 0 };
    struct hs_buf text = HS_BUF_INIT;
    const struct hs_session_settings settings = settings_of("arena", HS_INTERVAL_SAME, true);
    struct hs_snap_heap heaps[20] = { { .name = "libc.malloc" }, { .name = "pool\n" } };
    struct hs_snapshot snap = { .heaps = heaps, .heap_count = 2 };
    hs_heaps_seen_add(&seen, &settings.heaps, &snap);
    hs_heaps_seen_words(&seen, &settings.heaps, &text);
    assert_string_equal(hs_buf_text(&text),
                        "no process registered a heap named 'arena'; registered were pool?");
    for (unsigned i = 0; i < 20; i++) {
        snprintf(heaps[i].name, sizeof(heaps[i].name), "h%u", i);
    }
    hs_buf_clear(&text);
    snap.heap_count = 20;
    hs_heaps_seen_add(&seen, &settings.heaps, &snap);
    hs_heaps_seen_words(&seen, &settings.heaps, &text);
    assert_non_null(strstr(hs_buf_text(&text), "pool?, h0, h1, h2, h3, h4, h5, h6 and 7 more"));
    memset(heaps[0].name, 'x', sizeof(heaps[0].name)); /* without an end */
    snprintf(heaps[19].name, sizeof(heaps[19].name), "arena");
    hs_heaps_seen_add(&seen, &settings.heaps, &snap);
    hs_buf_clear(&text);
    hs_heaps_seen_words(&seen, &settings.heaps, &text);
    assert_int_equal(text.bytes, 0);
    hs_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_what_was_recorded_too_early),
        cmocka_unit_test(test_no_loss_of_what_was_left_out),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_without_room),
        cmocka_unit_test(test_old_client),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
