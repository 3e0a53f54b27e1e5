/*
 * Processes that were refused, from trace_writer.h through load.h to report.h: empty dumps with a
 * reason, and counts of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "profile/model/loss.h"
#include "profile/read/load.h"
#include "snapshot_fixture.h"
#include "trace/trace_writer.h"
#include "util/buf.h"
#include "view/report.h"

struct world {
    struct hs_buf trace;
    struct hs_trace_writer *writer;
};

static int keep(void *ctx, const void *data, size_t bytes)
{
    struct world *world = ctx;
    hs_buf_add(&world->trace, data, bytes);
    return world->trace.err;
}

static void world_init(struct world *world)
{
    *world = (struct world){ .trace = HS_BUF_INIT };
    const struct hs_trace_writer_config config = { .sink = keep, .sink_ctx = world };
    assert_int_equal(hs_trace_writer_new(&config, &world->writer), 0);
    assert_int_equal(hs_trace_writer_begin(world->writer), 0);
}

static void put_refused(struct world *world, uint32_t pid, uint32_t refusal, const char *what,
                        const char *remedy)
{
    struct hs_refusal_words words;
    struct hs_snapshot *snap = fixture_snapshot(pid, 1000 + pid, 1000 + pid);
    snprintf(words.what, sizeof(words.what), "%s", what);
    snprintf(words.remedy, sizeof(words.remedy), "%s", remedy);
    snap->refusal = (enum hs_refusal)refusal;
    snap->words = what[0] ? &words : NULL;
    snap->is_final = true;
    assert_int_equal(hs_trace_writer_dump(world->writer, snap), 0);
    hs_snapshot_free(snap);
}

static void put_profiled(struct world *world, uint32_t pid)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, 1000, 2000);
    snap->sample_count = 1;
    assert_int_equal(hs_trace_writer_dump(world->writer, snap), 0);
    hs_snapshot_free(snap);
}

static struct hs_profile *finish(struct world *world)
{
    struct hs_profile *profile;
    assert_int_equal(hs_trace_writer_finish(world->writer), 0);
    assert_int_equal(hs_profile_load_memory(world->trace.data, world->trace.bytes, &profile, NULL),
                     0);
    hs_trace_writer_free(world->writer);
    hs_buf_deinit(&world->trace);
    return profile;
}

/* The text is valid until the next call. */
static const char *report(const struct hs_profile *profile, enum hs_report_form form, uint32_t pid)
{
    static struct hs_buf buf;
    const struct hs_report_options options = {
        .form = form,
        .view = HS_VIEW_AUTO,
        .select = { .pid = pid, .snapshot = HS_SELECT_LAST },
    };
    hs_buf_deinit(&buf);
    buf = (struct hs_buf)HS_BUF_INIT;
    assert_int_equal(hs_report_write(profile, &options, &buf), 0);
    return hs_buf_text(&buf);
}

static void test_reasons_arrive(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    put_profiled(&world, 1);
    put_refused(&world, 2, HS_REFUSAL_OTHER_USER, "it belongs to user 5", "ask root");
    put_refused(&world, 3, HS_REFUSAL_CONCURRENT, "", "");
    put_refused(&world, 4, 77, "it is of the future", "");
    struct hs_profile *p = finish(&world);
    assert_int_equal(p->process_count, 4);
    assert_int_equal(p->processes[0].refusal, HS_REFUSAL_NONE);
    assert_int_equal(p->processes[1].refusal, HS_REFUSAL_OTHER_USER);
    assert_string_equal(hs_profile_string(p, p->processes[1].refusal_text), "it belongs to user 5");
    assert_string_equal(hs_profile_string(p, p->processes[1].refusal_remedy), "ask root");
    assert_int_equal(p->processes[2].refusal, HS_REFUSAL_CONCURRENT);
    assert_int_equal(p->processes[3].refusal, HS_REFUSAL_N);
    const char *text = report(p, HS_REPORT_TEXT, HS_SELECT_ANY_PID);
    assert_non_null(strstr(text, "PID 2 (prog2) was not profiled: it belongs to user 5; ask root"));
    assert_non_null(
        strstr(text, "PID 3 (prog3) was not profiled: another session was profiling it"));
    assert_non_null(strstr(text, "PID 4 (prog4) was not profiled: it is of the future\n"));
    assert_null(strstr(text, "more process")); /* there is only one process */
    assert_null(strstr(text, "belong to other users: 1"));
    text = report(p, HS_REPORT_JSON, HS_SELECT_ANY_PID);
    assert_non_null(strstr(text, "\"reason\": \"refused_other_user\""));
    assert_non_null(strstr(text, "\"remedy\": \"ask root\""));
    text = report(p, HS_REPORT_TEXT, 2);
    assert_non_null(strstr(text, "(pid 2) was not profiled"));
    assert_null(strstr(text, "PID 3"));
    text = report(p, HS_REPORT_HEALTH, HS_SELECT_ANY_PID);
    assert_non_null(strstr(text, "refused_other_user"));
    hs_profile_free(p);
}

static void test_nobody_else(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    put_refused(&world, 2, HS_REFUSAL_POLICY, "policy.conf:3 forbids it", "");
    struct hs_profile *p = finish(&world);
    const char *text = report(p, HS_REPORT_TEXT, HS_SELECT_ANY_PID);
    assert_non_null(strstr(text, "(pid 2) was not profiled"));
    assert_non_null(strstr(text, "PID 2 (prog2) was not profiled: policy.conf:3 forbids it\n"));
    hs_profile_free(p);
}

static void test_many(void **state)
{
    (void)state;
    struct world world;
    uint64_t unlisted[HS_REFUSAL_N] = { [HS_REFUSAL_POLICY] = 300, [HS_REFUSAL_OPTED_OUT] = 2 };
    world_init(&world);
    put_profiled(&world, 1);
    for (uint32_t i = 2; i < 12; i++) {
        put_refused(&world, i, HS_REFUSAL_POLICY, "a rule", "");
    }
    assert_int_equal(hs_trace_writer_unlisted(world.writer, unlisted), 0);
    struct hs_profile *p = finish(&world);
    const char *text = report(p, HS_REPORT_TEXT, HS_SELECT_ANY_PID);
    assert_non_null(strstr(text, "PID 9 (prog9)"));
    assert_null(strstr(text, "PID 10 (prog10)"));
    assert_non_null(strstr(text, "the daemon's policy does not permit it): 310"));
    assert_non_null(strstr(text, "HEAPSCOPE_PROFILEABLE=0): 2"));
    assert_non_null(strstr(report(p, HS_REPORT_JSON, HS_SELECT_ANY_PID), "\"pid\": 11"));
    hs_profile_free(p);
}

static void test_every_reason_has_words(void **state)
{
    (void)state;
    for (uint32_t i = HS_REFUSAL_CONCURRENT; i <= HS_REFUSAL_N; i++) {
        struct hs_loss_text text = hs_loss_of_refusal(i);
        assert_true(text.name && text.text && text.is_serious);
        for (uint32_t k = HS_REFUSAL_CONCURRENT; k < i; k++) {
            assert_string_not_equal(text.name, hs_loss_of_refusal(k).name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_arrive),
        cmocka_unit_test(test_nobody_else),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_every_reason_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
