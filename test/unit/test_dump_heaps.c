/*
 * Heaps from a snapshot through a file to a profile: what each is, and which figures contain it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "heaps_fixture.h"
#include "profile/analyse/heap_choice.h"
#include "profile/analyse/heap_sums.h"
#include "profile/model/builder.h"
#include "profile/model/dump_heaps.h"
#include "profile/read/load.h"
#include "rt/check.h"
#include "trace_bytes.h"

static struct hs_profile *load(struct hs_buf *buf)
{
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(buf->data, buf->bytes, &profile, NULL), 0);
    hs_buf_deinit(buf);
    return profile;
}

static struct hs_profile *written(struct hs_snapshot *snap)
{
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    dump_and_free(writer, snap);
    finish_writer(writer);
    return load(&buf);
}

static const struct hs_profile_dump_heap *heap_of(const struct hs_profile *p, const char *name)
{
    const struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    for (uint32_t i = 0; i < p->heap_count; i++) {
        if (strcmp(hs_profile_string(p, p->heaps[i]), name) == 0) {
            return hs_profile_dump_heap(p, dump, i);
        }
    }
    return NULL;
}

static void choose(struct hs_profile *p, const char *names)
{
    bool is_chosen[64] = { false };
    for (uint32_t i = 0; i < p->heap_count; i++) {
        char word[80];
        snprintf(word, sizeof(word), ",%s,", hs_profile_string(p, p->heaps[i]));
        is_chosen[i] = strstr(names, word) != NULL;
    }
    hs_profile_choose_heaps(p, is_chosen);
#if HS_HAS_CHECKS
    assert_true(hs_profile_is_valid(p));
#endif
}

/* The sum of the samples that views see. */
static double seen_bytes(const struct hs_profile *p)
{
    const struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    double sum = 0;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        sum += p->samples[dump->sample_first + i].live.bytes;
    }
    return sum;
}

static void test_what_heaps_are(void **state)
{
    (void)state;
    struct hs_profile *p = written(fixture_heaps(42, 5000000));
    const struct hs_profile_dump *dump = &p->dumps[0];
    assert_true(p->heap_count == 6 && dump->heaps_n == 6 && dump->samples_n == 3);
    assert_int_equal(dump->aside_n, 3);
    /* Figures are those of libc.malloc and gpu. */
    assert_true(dump->live.bytes == 400000 && seen_bytes(p) == 400000);
    assert_true(dump->alloc.bytes == 500000 && dump->peak.bytes == 350000);

    const struct hs_profile_dump_heap *heap = heap_of(p, "libc.malloc");
    assert_true(!heap->is_carved && heap->is_counted && heap->live.bytes == 100000);
    assert_true(heap->interval_bytes == 1 && heap->parent == HS_PROFILE_NO_HEAP);
    assert_true(heap->peak_time_ns == 5000000 - 1000 && heap->has_peak);
    heap = heap_of(p, "pool");
    assert_true(heap->is_carved && !heap->is_counted && heap->alloc.bytes == 60000);
    assert_string_equal(hs_profile_string(p, p->heaps[heap->parent]), "libc.malloc");
    assert_true(heap->peak.bytes == 50000 && heap->peak_time_ns == 5000000 - 1100);
    assert_true(heap->peak.peak_short_bytes == 7);
    heap = heap_of(p, "slab/inner");
    assert_string_equal(hs_profile_string(p, p->heaps[heap->parent]), "pool");
    heap = heap_of(p, "lost pool");
    assert_true(heap->is_carved && heap->parent == HS_PROFILE_NO_HEAP && heap->has_own_samples);
    assert_true(heap->live.has_sample_counts);
    heap = heap_of(p, "gpu");
    assert_true(heap->interval_bytes == 65536 && heap->interval_widest_bytes == 65536);
    assert_true(heap->live.interval_bytes == 65536 && !heap->has_own_samples);
    /* Its own interval says which part was sampled. */
    assert_true(fabs(heap->live.sampled_bytes - 100000) < 1);
    assert_true(heap_of(p, "idle")->alloc.bytes == 0 && heap_of(p, "idle")->is_counted);
    /* Samples have the interval of their heap. */
    for (uint32_t i = 0; i < 3; i++) {
        const struct hs_profile_sample *s = &p->samples[dump->sample_first + i];
        bool is_gpu = s->live.bytes == 300000;
        assert_true(s->live.interval_bytes == (is_gpu ? 65536 : 1));
        assert_true(fabs(s->live.sampled_bytes - (is_gpu ? 100000 : 0)) < 100);
    }
    assert_true(dump->interval_bytes == 1 && dump->interval_widest_bytes == 65536);
    hs_profile_free(p);
}

static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        double live, alloc, peak;
        uint32_t aside_n;
        uint64_t before_end_ns; /* the peak's time; 0: several heaps have their own */
        uint64_t interval_bytes;
    } cases[] = {
        { ",libc.malloc,", 100000, 200000, 150000, 4, 1000, 1 },
        { ",gpu,", 300000, 300000, 200000, 5, 1000, 65536 },
        { ",pool,", 40000, 60000, 50000, 5, 1100, 1 },
        { ",slab/inner,", 10000, 10000, 10000, 5, 1200, 1 },
        /* libc.malloc contains pool, which contains slab/inner. */
        { ",libc.malloc,slab/inner,", 100000, 200000, 150000, 4, 1000, 1 },
        { ",pool,slab/inner,", 40000, 60000, 50000, 5, 1100, 1 },
        { ",pool,lost pool,", 45000, 65000, 55000, 4, 0, 1 },
        /* Lost pool may lie in gpu, pool does not. */
        { ",gpu,pool,lost pool,", 340000, 360000, 250000, 4, 0, 1 },
        { ",libc.malloc,pool,slab/inner,lost pool,gpu,idle,", 400000, 500000, 350000, 3, 1000, 1 },
        { ",idle,", 0, 0, 0, 6, 1000, 1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_profile *p = written(fixture_heaps(42, 5000000));
        choose(p, cases[i].names);
        const struct hs_profile_dump *dump = &p->dumps[0];
        assert_true(dump->live.bytes == cases[i].live && seen_bytes(p) == cases[i].live);
        assert_true(dump->alloc.bytes == cases[i].alloc && dump->peak.bytes == cases[i].peak);
        assert_int_equal(dump->aside_n, cases[i].aside_n);
        assert_int_equal(dump->samples_n + dump->aside_n, 6);
        assert_int_equal(dump->peak_time_ns,
                         cases[i].before_end_ns ? 5000000 - cases[i].before_end_ns : 0);
        assert_true(dump->is_peak_of_heaps == (cases[i].before_end_ns == 0) && dump->has_peak);
        assert_int_equal(dump->interval_bytes, cases[i].interval_bytes);
        hs_profile_free(p);
    }
}

/* Removing heaps: only the chosen ones are left, and the figures stay those of the choice. */
static void test_kept(void **state)
{
    (void)state;
    const struct hs_heap_patterns two = { (const char *const[]){ "pool,slab/inner" }, 1 };
    const struct hs_heap_patterns wrong = { (const char *const[]){ "pool,nope" }, 1 };
    struct hs_profile *p = written(fixture_heaps(42, 5000000));
    struct hs_buf missing = HS_BUF_INIT;
    assert_int_equal(hs_heap_choice_keep(p, &wrong, &missing), 0);
    assert_string_equal(hs_buf_text(&missing), "nope");
    assert_true(p->dumps[0].heaps_n == 6 && !p->has_removed_heaps);
    hs_buf_clear(&missing);
    assert_int_equal(hs_heap_choice_keep(p, &two, &missing), 0);
    const struct hs_profile_dump *dump = &p->dumps[0];
    assert_true(dump->samples_n == 1 && dump->aside_n == 1 && dump->live.bytes == 40000);
    assert_true(p->samples[dump->sample_first].live.bytes == 40000);
    assert_true(p->samples[dump->sample_first + 1].live.bytes == 10000);
    assert_true(dump->heaps_n == 2 && heap_of(p, "pool")->is_counted && p->has_removed_heaps);
    assert_true(heap_of(p, "slab/inner")->is_inside && !heap_of(p, "gpu"));
#if HS_HAS_CHECKS
    assert_true(hs_profile_is_valid(p));
#endif
    hs_profile_free(p);
    hs_buf_deinit(&missing);
}

static void check_missing(struct hs_profile *p, const struct hs_profile *other, const char *glob,
                          const char *words)
{
    const struct hs_heap_patterns patterns = { &glob, 1 };
    struct hs_buf missing = HS_BUF_INIT, text = HS_BUF_INIT;
    assert_int_equal(hs_heap_choice_apply(p, &patterns, other, &missing), 0);
    if (missing.bytes > 0) {
        hs_heap_choice_write_missing(p, &missing, &text);
    }
    assert_string_equal(hs_buf_text(&text), words);
    hs_buf_deinit(&missing);
    hs_buf_deinit(&text);
}

/* Figures of a heap that was not recorded are not 0, but unknown: it cannot be chosen. */
static void test_choosing_what_was_left_out(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_heaps(42, 5000000);
    snap->heaps[5].is_left_out = true;
    struct hs_profile *p = written(snap), *other = written(fixture_heaps(43, 5000000));
    const char *words = "the heap 'i*' was not recorded; recorded were libc.malloc, pool, "
                        "slab/inner, lost pool and gpu";
    check_missing(p, NULL, "i*", words);
    check_missing(p, other, "i*", words); /* also if it is in the other one of a comparison */
    check_missing(other, p, "idle", "");
    check_missing(p, NULL, "nope",
                  "there is no heap 'nope'; there are libc.malloc, pool, slab/inner, lost pool, "
                  "gpu and idle");
    check_missing(p, NULL, "*", "");
    assert_true(p->dumps[0].live.bytes == 400000 && !heap_of(p, "idle")->is_counted);
    hs_profile_free(p);
    hs_profile_free(other);
}

/* A heap that the process has, and that the session did not select. */
static void test_left_out(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_heaps(42, 5000000);
    snap->heaps[5].is_left_out = true;
    struct hs_profile *p = written(snap);
    assert_true(heap_of(p, "idle")->is_left_out && !heap_of(p, "pool")->is_left_out);
    struct hs_selection selection;
    uint32_t *heaps, count;
    struct hs_buf text = HS_BUF_INIT;
    assert_int_equal(hs_select_dump(p, 0, &selection), 0);
    assert_int_equal(hs_heap_sums_left_out(&selection, &heaps, &count), 0);
    assert_true(count == 1 && heaps[0] == 5);
    assert_int_equal(hs_heap_sums_describe(&selection, &text), 6);
    assert_non_null(strstr(hs_buf_text(&text), "are not added; not recorded: idle"));
    free(heaps);
    hs_buf_deinit(&text);
    hs_selection_deinit(&selection);
    hs_profile_free(p);
}

/* Only malloc's heap is in the file with a plain interval, and the other was not recorded. */
static void test_one_of_two_left_out(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_snapshot(42, 2000000, 5000000);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t frame = fixture_frame(snap, exe, 0x2100, 0);
    struct hs_snap_stack *stack = fixture_stack(snap, 0, &frame, 1);
    stack->alloc = stack->live = stack->peak = fixture_amount(8192, 2);
    fixture_totals(snap);
    snap->heap_count = 2;
    strcpy(snap->heaps[1].name, "arena");
    snap->heaps[1].is_left_out = true;
    struct hs_profile *p = written(snap);
    struct hs_selection selection;
    struct hs_buf text = HS_BUF_INIT;
    assert_int_equal(hs_select_dump(p, 0, &selection), 0);
    assert_int_equal(hs_heap_sums_describe(&selection, &text), 2);
    assert_string_equal(
        hs_buf_text(&text),
        "only the heap libc.malloc (8.00 KiB allocated) is counted; not recorded: arena");
    hs_buf_deinit(&text);
    hs_selection_deinit(&selection);
    hs_profile_free(p);
}

/* Leaves out a heap of the fixture: it keeps its name, and loses its figures. */
static void leave_out(struct hs_snapshot *snap, uint32_t heap)
{
    snap->heaps[heap].is_left_out = true;
    snap->is_without_malloc |= heap == 0;
    snap->heaps[heap].live = snap->heaps[heap].alloc = snap->heaps[heap].peak =
        (struct hs_estimate){ 0 };
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        struct hs_snap_stack *stack = &snap->stacks[i];
        if (stack->heap_id == heap) {
            stack->alloc = stack->live = stack->peak = (struct hs_estimate){ 0 };
        }
    }
    fixture_totals(snap);
}

/* A sampled process, of which only heaps with intervals of their own were recorded: the process's
 * interval says nothing of the figures. */
static void test_intervals_without_malloc(void **state)
{
    (void)state;
    const struct hs_heap_patterns none = { 0 };
    struct hs_snapshot *snap = fixture_heaps(42, 5000000);
    const uint32_t others[] = { 0, 2, 3, 5 };
    snap->interval_bytes = snap->orig_interval_bytes = 4096;
    snap->heaps[1].interval_bytes = snap->heaps[4].interval_bytes = 1;
    snap->stacks[5].live.bytes_var = snap->stacks[5].alloc.bytes_var = 0;
    for (uint32_t i = 0; i < 4; i++) {
        leave_out(snap, others[i]);
    }
    snap->threads = calloc(2, sizeof(*snap->threads));
    snap->thread_count = 1;
    snap->threads[0] = (struct hs_snap_thread){ .tid = 42, .live = { .bytes = 300000 } };
    struct hs_profile *p = written(snap);
    assert_int_equal(hs_heap_choice_apply(p, &none, NULL, NULL), 0);
    const struct hs_profile_dump *dump = &p->dumps[0];
    /* Pool's parent was left out, so that nothing contains it. */
    assert_true(heap_of(p, "pool")->is_counted && heap_of(p, "gpu")->is_counted);
    assert_true(!heap_of(p, "libc.malloc")->is_counted && !heap_of(p, "idle")->is_counted);
    assert_true(dump->live.bytes == 340000 && seen_bytes(p) == 340000);
    assert_true(dump->interval_bytes == 1 && hs_dump_widest_bytes(dump) == 1);
    assert_true(dump->orig_interval_bytes == 1 && dump->live.interval_bytes <= 1);
    assert_int_equal(dump->sample_count, 360);
    assert_true(p->thread_count == 1 && p->threads[0].live.interval_bytes <= 1);
    struct hs_selection selection;
    assert_int_equal(hs_select_dump(p, 0, &selection), 0);
    assert_true(selection.interval_max_bytes == 1 && !selection.is_sampled);
    hs_selection_deinit(&selection);
    hs_profile_free(p);

    /* With malloc's heap, figures may lack what no sample of it hit, and the pool lies inside. */
    snap = fixture_heaps(42, 5000000);
    snap->interval_bytes = snap->orig_interval_bytes = 4096;
    snap->heaps[1].interval_bytes = 1;
    leave_out(snap, 4);
    p = written(snap);
    assert_int_equal(hs_heap_choice_apply(p, &none, NULL, NULL), 0);
    dump = &p->dumps[0];
    assert_true(dump->live.bytes == 100000 && dump->live.interval_bytes == 4096);
    assert_true(dump->interval_bytes == 4096 && dump->orig_interval_bytes == 4096);
    assert_int_equal(dump->sample_count, 6);
    assert_true(!heap_of(p, "pool")->is_counted && heap_of(p, "pool")->is_inside);
    hs_profile_free(p);
}

/* Each heap's variance says by its own interval how much of it was sampled. */
static void test_sampled_part_of_totals(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_heaps(42, 5000000);
    snap->interval_bytes = snap->orig_interval_bytes = 65536;
    snap->heaps[4].interval_bytes = 16;
    snap->stacks[5].live.bytes_var = snap->stacks[5].alloc.bytes_var = 16.0 * 300000;
    fixture_totals(snap);
    struct hs_profile *p = written(snap);
    assert_true(fabs(p->dumps[0].live.sampled_bytes - 300000) < 1);
    struct hs_selection selection;
    assert_int_equal(hs_select_dump(p, 0, &selection), 0);
    assert_true(selection.interval_min_bytes == 16 && selection.interval_max_bytes == 65536);
    hs_selection_deinit(&selection);
    hs_profile_free(p);
}

/* A file without HsHeap, as before, and one process of which is plain. */
static void test_plain(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_snapshot(42, 2000000, 5000000);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t frame = fixture_frame(snap, exe, 0x2100, 0);
    snap->peak_time_mono_ns = 4000000;
    struct hs_snap_stack *stack = fixture_stack(snap, 0, &frame, 1);
    stack->alloc = stack->live = stack->peak = fixture_amount(8192, 2);
    struct hs_profile *p = written(snap);
    assert_true(p->dump_heap_count == 1 && p->dumps[0].heaps_n == 1);
    const struct hs_profile_dump_heap *heap = heap_of(p, "libc.malloc");
    assert_true(heap->is_counted && heap->live.bytes == 8192 && heap->interval_bytes == 4096);
    assert_true(heap->has_peak && heap->peak_time_ns == 4000000 && p->dumps[0].aside_n == 0);
    hs_profile_free(p);
}

/* Later dumps of a process: a heap may be new, and have other intervals than before. */
static void test_intervals_over_time(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    dump_and_free(writer, fixture_heaps(42, 5000000));
    struct hs_snapshot *snap = fixture_heaps(42, 6000000);
    snap->heaps[4].interval_bytes = 32768; /* the user has set it */
    strcpy(snap->heaps[6].name, "late");
    snap->heap_count = 7;
    dump_and_free(writer, snap);
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_true(p->dump_count == 2 && p->dumps[0].heaps_n == 6 && p->dumps[1].heaps_n == 7);
    assert_true(heap_of(p, "gpu")->interval_bytes == 32768 && !heap_of(p, "late")->is_carved);
    /* var / 32768, the narrower of both: never too small a part */
    assert_true(fabs(heap_of(p, "gpu")->live.sampled_bytes - 200000) < 1);
    hs_profile_free(p);

    snap = fixture_heaps(42, 5000000);
    snap->interval_bytes = 4;
    snap->heaps[4].interval_bytes = 65536 * 2;
    snap->heaps[1].interval_bytes = 8; /* was that of the process before */
    snap->changes = calloc(2, sizeof(*snap->changes));
    snap->change_count = 2;
    snap->changes[0] = (struct hs_snap_change){ .from_bytes = 1, .to_bytes = 8, .rarity = 1 };
    snap->changes[1] = (struct hs_snap_change){ .from_bytes = 8, .to_bytes = 16, .rarity = 1 };
    p = written(snap);
    assert_int_equal(heap_of(p, "gpu")->interval_widest_bytes, 65536 * 2);
    assert_true(fabs(heap_of(p, "gpu")->live.sampled_bytes - 50000) < 1);
    assert_int_equal(heap_of(p, "pool")->interval_widest_bytes, 16);
    assert_int_equal(heap_of(p, "libc.malloc")->interval_widest_bytes, 16);
    hs_profile_free(p);
}

/* Two heaps of one name: of one kind they are one; a carved one stays apart from a primary one. */
static void test_names_that_occur_twice(void **state)
{
    (void)state;
    struct hs_snapshot *snap = fixture_heaps(42, 5000000);
    strcpy(snap->heaps[2].name, "pool");
    strcpy(snap->heaps[3].name, "gpu");
    struct hs_profile *p = written(snap);
    assert_true(p->dumps[0].heaps_n == 5 && p->dumps[0].samples_n + p->dumps[0].aside_n == 6);
    assert_true(heap_of(p, "pool")->live.bytes == 50000);
    assert_string_equal(hs_profile_string(p, p->heaps[heap_of(p, "pool")->parent]), "libc.malloc");
    assert_true(heap_of(p, "gpu")->live.bytes == 300000 && !heap_of(p, "gpu")->is_carved);
    const struct hs_profile_dump_heap *heap = heap_of(p, "gpu (carved)");
    assert_true(heap->live.bytes == 5000 && heap->is_carved && p->dumps[0].live.bytes == 400000);
    hs_profile_free(p);
}

/* 900 names in a file: the first 510 are listed, all bytes are there. */
static void test_many_names(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    for (uint32_t k = 0; k < 4; k++) {
        struct hs_snapshot *snap = fixture_heaps(42 + k, 5000000 + k);
        for (uint32_t i = 6; i < 231; i++) {
            memset(snap->heaps[i].name, 'n', sizeof(snap->heaps[i].name) - 1);
            snprintf(snap->heaps[i].name, 10, "%03u", k * 225 + i - 6);
            snap->heaps[i].name[3] = 'n';
            snap->heaps[i].is_carved = i % 2 == 1;
            fixture_heap_stack(snap, (uint8_t)i, 1, 10, 10, 10);
        }
        snap->heap_count = 231;
        dump_and_free(writer, snap);
    }
    finish_writer(writer);
    struct hs_profile *p = load(&buf);
    assert_int_equal(p->heap_count, 512);
    const struct hs_profile_dump *dump = &p->dumps[3];
    assert_true(dump->live.bytes == 400000 + 113 * 10 && seen_bytes(p) == dump->live.bytes);
    assert_true(heap_of(p, "other heaps")->live.bytes == 113 * 10);
    assert_true(heap_of(p, "other carved heaps")->live.bytes == 112 * 10);
    assert_true(heap_of(p, "other carved heaps")->is_carved);
    const char *name = hs_profile_string(p, p->heaps[100]);
    assert_true(strlen(name) == 63 && strncmp(name, "094n", 4) == 0);
    hs_profile_free(p);
}

/* A cycle of parents, a heap twice, ids out of range: as a broken file may have it. */
static void test_broken_heaps(void **state)
{
    (void)state;
    struct hs_builder *b = hs_builder_new();
    uint32_t one = hs_builder_heap(b, "one"), two = hs_builder_heap(b, "two");
    struct hs_profile_process process = { .pid = 42 };
    struct hs_profile_dump dump = { .process = hs_builder_process(b, &process) };
    struct hs_profile_module module = { .path = hs_builder_string(b, "prog") };
    struct hs_builder_frame frame = { .module = hs_builder_module(b, &module) };
    uint32_t node = hs_builder_node(b, HS_NODE_NONE, hs_builder_frame(b, &frame));
    struct hs_profile_sample samples[] = { { .node = node, .heap = one, .live = { .bytes = 1 } },
                                           { .node = node, .heap = two, .live = { .bytes = 2 } } };
    uint32_t id = hs_builder_dump(b, &dump, samples, 2);
    struct hs_profile_dump_heap heaps[] = {
        { .heap = two, .parent = one, .is_carved = true, .live = { .bytes = 1 } },
        { .heap = one, .parent = two, .is_carved = true, .live = { .bytes = 1 } },
        { .heap = 77, .parent = one },
        { .heap = two, .parent = 99, .is_carved = true, .live = { .bytes = 1 } },
    };
    hs_builder_dump_heaps(b, id, heaps, 4);
    struct hs_profile *p = NULL;
    assert_int_equal(hs_builder_finish(b, &p), 0);
    hs_builder_free(b);
    assert_true(p->dumps[0].heaps_n == 2 && p->dumps[0].samples_n == 0 && p->dumps[0].aside_n == 2);
    choose(p, ",two,");
    assert_true(p->dumps[0].live.bytes == 2 && p->dumps[0].samples_n == 1);
    hs_profile_free(p);
}

/* What --heap accepts, and what it says of names that no heap has. */
static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *texts[2];
        size_t count;
        double live;
        const char *missing;
    } cases[] = {
        { { "pool" }, 1, 40000, "" },
        { { "p?ol,gpu" }, 1, 340000, "" },
        { { "pool", "g*" }, 2, 340000, "" },
        { { "*" }, 1, 400000, "" },
        { { "slab*" }, 1, 10000, "" },
        { { "[op]ool,slab[/]inner" }, 1, 40000, "" },
        { { "", NULL }, 0, 400000, "" },
        { { "nope,pool" }, 1, 400000, "nope" },
        { { "pool", "a*,b" }, 2, 400000, "a*" },
        { { "pool," }, 1, 400000, "(no name)" },
        { { "POOL" }, 1, 400000, "POOL" },
        { { "a\x1b" }, 1, 400000, "a\xef\xbf\xbd" }, /* no escape sequence */
    };
    struct hs_profile *other = written(fixture_heaps(43, 5000000));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hs_heap_patterns patterns = { cases[i].texts, cases[i].count };
        struct hs_profile *p = written(fixture_heaps(42, 5000000));
        struct hs_buf missing = HS_BUF_INIT;
        assert_int_equal(hs_heap_choice_apply(p, &patterns, NULL, &missing), 0);
        assert_string_equal(hs_buf_text(&missing), cases[i].missing);
        assert_true(p->dumps[0].live.bytes == cases[i].live);
        hs_buf_deinit(&missing);
        hs_profile_free(p);
    }
    /* A heap of another profile only: nothing of this one. */
    struct hs_profile *p = written(fixture_snapshot(42, 2000000, 5000000));
    const struct hs_heap_patterns pool = { (const char *const[]){ "pool" }, 1 };
    struct hs_buf text = HS_BUF_INIT;
    assert_int_equal(hs_heap_choice_apply(p, &pool, other, &text), 0);
    assert_int_equal(text.bytes, 0);
    assert_int_equal(hs_heap_choice_apply(p, &pool, NULL, NULL), 0);
    hs_heap_choice_list(other, &text);
    assert_string_equal(hs_buf_text(&text),
                        "libc.malloc, pool, slab/inner, lost pool, gpu and idle");
    hs_buf_deinit(&text);
    hs_profile_free(p);
    hs_profile_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_heaps_are),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_choosing_what_was_left_out),
        cmocka_unit_test(test_one_of_two_left_out),
        cmocka_unit_test(test_intervals_without_malloc),
        cmocka_unit_test(test_sampled_part_of_totals),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_intervals_over_time),
        cmocka_unit_test(test_names_that_occur_twice),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_broken_heaps),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
