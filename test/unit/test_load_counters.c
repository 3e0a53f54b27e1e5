/*
 * Tests of profile/load_counters: to which process counters belong, their times, and how many are
 * kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/read/load.h"
#include "trace/trace_counters.h"
#include "trace_bytes.h"

#define SECOND_NS UINT64_C(1000000000)

static struct hs_profile *load(struct hs_buf *buf)
{
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(buf->data, buf->bytes, &profile, NULL), 0);
    hs_buf_deinit(buf);
    return profile;
}

static void put(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_ns, int64_t rss_bytes)
{
    struct hs_counters counters = { 0 };
    hs_counters_set(&counters, HS_COUNTER_RSS, rss_bytes);
    assert_int_equal(hs_trace_writer_counters(writer, pid, time_ns, &counters), 0);
}

static void dump(struct hs_trace_writer *writer, uint32_t pid, uint64_t start_ns, uint64_t time_ns)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, start_ns, time_ns);
    dump_and_free(writer, snap);
}

static const struct hs_profile_track *find(const struct hs_profile *p, uint32_t process,
                                           const char *name)
{
    for (uint32_t i = 0; i < p->track_count; i++) {
        if (p->tracks[i].process == process &&
            strcmp(hs_profile_string(p, p->tracks[i].name), name) == 0) {
            return &p->tracks[i];
        }
    }
    return NULL;
}

/* A pid of two programs, one after the other; and a process whose heap is not in the file. */
static void test_whose_they_are(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    put(writer, 10, 1 * SECOND_NS, 1024);
    put(writer, 10, 2 * SECOND_NS, 2048);
    dump(writer, 10, 1 * SECOND_NS, 3 * SECOND_NS);
    put(writer, 10, 5 * SECOND_NS, 4096);
    put(writer, 11, 5 * SECOND_NS, 8192);
    dump(writer, 10, 4 * SECOND_NS, 6 * SECOND_NS);
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_int_equal(p->process_count, 2);
    assert_int_equal(p->track_count, 3);
    const struct hs_profile_track *first = find(p, 0, "mem.rss"), *second = find(p, 1, "mem.rss");
    const struct hs_profile_track *other = find(p, HS_PROFILE_NO_PROCESS, "mem.rss");
    assert_int_equal(first->counters_n, 2);
    assert_int_equal(p->counters[first->counter_first].time_ns, 1 * SECOND_NS);
    assert_int_equal(p->counters[first->counter_first + 1].value, 2048);
    assert_int_equal(second->counters_n, 1);
    assert_int_equal(p->counters[second->counter_first].value, 4096);
    assert_int_equal(other->pid, 11);
    hs_profile_free(p);
}

static void test_every_counter_comes_back(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    struct hs_counters counters = { 0 };
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        hs_counters_set(&counters, i, 1024 * (int64_t)(i + 1));
    }
    hs_counters_set(&counters, HS_COUNTER_OOM_SCORE_ADJ, -1000);
    assert_int_equal(hs_trace_writer_counters(writer, 10, SECOND_NS, &counters), 0);
    struct hs_meminfo meminfo = { .has_mask = UINT64_C(1) << 3, .values_bytes[3] = 4096 };
    struct hs_pressures pressures = { .has_mask = 1U << HS_PRESSURE_IO_FULL,
                                      .total_ns[HS_PRESSURE_IO_FULL] = 77 };
    assert_int_equal(hs_trace_writer_system(writer, SECOND_NS, &meminfo, &pressures), 0);
    assert_int_equal(hs_trace_writer_unread(writer, 10, SECOND_NS, "smaps", "because"), 0);
    dump(writer, 10, SECOND_NS, 2 * SECOND_NS);
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_int_equal(p->track_count, HS_COUNTER_N + 2);
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        const struct hs_profile_track *track = find(p, 0, hs_counter_name(i));
        assert_non_null(track);
        assert_int_equal(track->unit, hs_counter_unit(i));
        assert_int_equal(p->counters[track->counter_first].value, counters.values[i]);
    }
    const struct hs_profile_track *machine = find(p, HS_PROFILE_NO_PROCESS, "MemAvailable");
    assert_int_equal(machine->pid, 0);
    assert_int_equal(p->counters[machine->counter_first].value, 4096);
    machine = find(p, HS_PROFILE_NO_PROCESS, "psi.io.full");
    assert_int_equal(p->counters[machine->counter_first].value, 77);
    assert_int_equal(p->loss_count, 1);
    assert_string_equal(hs_profile_string(p, p->losses[0].text),
                        "counters left out: smaps of the process could not be read: because");
    assert_int_equal(p->losses[0].process, 0);
    assert_false(p->losses[0].is_serious);
    hs_profile_free(p);
}

/* Writes all counters of a process. */
static void put_all(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_ns, int64_t value)
{
    struct hs_counters counters = { 0 };
    for (unsigned i = 0; i < HS_COUNTER_N; i++) {
        hs_counters_set(&counters, i, value);
    }
    assert_int_equal(hs_trace_writer_counters(writer, pid, time_ns, &counters), 0);
}

/* Of too many points, some are kept, from the first to nearly the last. */
static void test_too_many(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    const uint32_t count = 60000; /* 1.2 million */
    for (uint32_t i = 0; i < count; i++) {
        put_all(writer, 10 + i % 2, SECOND_NS + i * 1000, 1024 * (int64_t)i);
    }
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_int_equal(p->track_count, 2 * HS_COUNTER_N);
    assert_in_range(p->counter_count, count * HS_COUNTER_N / 3, 1 << 20);
    for (uint32_t i = 0; i < p->track_count; i++) {
        const struct hs_profile_track *track = &p->tracks[i];
        const struct hs_profile_counter *points = &p->counters[track->counter_first];
        assert_in_range(points[0].time_ns, SECOND_NS, SECOND_NS + 1000);
        assert_true(points[track->counters_n - 1].time_ns > SECOND_NS + (count - 20) * 1000);
        for (uint32_t k = 1; k < track->counters_n; k++) {
            assert_true(points[k].time_ns > points[k - 1].time_ns);
        }
    }
    hs_profile_free(p);
}

/*
 * Each track has a process of its own: there is nothing to thin out, and trying must not take long.
 */
static void test_too_many_tracks(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    for (uint32_t i = 0; i < 60000; i++) {
        put_all(writer, 10 + i, SECOND_NS, 1024);
    }
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_in_range(p->counter_count, 1 << 19, 1 << 20);
    hs_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whose_they_are),
        cmocka_unit_test(test_every_counter_comes_back),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_too_many_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
