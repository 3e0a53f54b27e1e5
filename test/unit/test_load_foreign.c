/*
 * Files of other tools: how their kind is detected, what is read from them, and what remains of a
 * damaged one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture_profile.h"
#include "profile/read/load_foreign.h"
#include "profile/read/pprof_values.h"
#include "profile/read/unbias.h"
#include "rt/base.h"
#include "util/buf.h"
#include "view/pprof.h"

static struct hs_profile *load(const char *data, size_t bytes, struct hs_load_report *ret_report)
{
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(data, bytes, &profile, ret_report), 0);
    return profile;
}

static struct hs_profile *load_text(const char *text, struct hs_load_report *ret_report)
{
    return load(text, strlen(text), ret_report);
}

/* "main;f" with inlined calls, outermost first. */
static const char *path_of(const struct hs_profile *p, uint32_t node)
{
    static char out[1024];
    char rest[1024] = "";
    out[0] = '\0';
    for (; node != HS_NODE_NONE; node = p->nodes[node].parent) {
        const struct hs_profile_frame *frame = &p->frames[p->nodes[node].frame];
        uint32_t count = frame->line_count ? frame->line_count : 1;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t name =
                frame->line_count ? p->lines[frame->line_first + i].function : frame->name;
            char address[32];
            snprintf(address, sizeof(address), "+%lx", (unsigned long)frame->rel_pc);
            snprintf(out, sizeof(out), "%.400s%s%.500s",
                     name ? hs_profile_string(p, name) : address, rest[0] ? ";" : "", rest);
            memcpy(rest, out, sizeof(rest));
        }
    }
    return out;
}

static const struct hs_profile_sample *find(const struct hs_profile *p, const char *path)
{
    for (uint64_t i = 0; i < p->sample_count; i++) {
        if (strcmp(path_of(p, p->samples[i].node), path) == 0) {
            return &p->samples[i];
        }
    }
    fail_msg("no stack %s", path);
    return NULL;
}

/* --- kinds --- */

static void kinds(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t bytes;
        enum hs_load_kind kind;
    } files[] = {
        { "", 0, HS_LOAD_TRACE },
        { "heap_v2/524288\n", 15, HS_LOAD_HEAP_TEXT },
        { "\n\nheap profile: 1: 2 [ 1: 2] @ heapprofile\n", 43, HS_LOAD_HEAP_TEXT },
        { "--- symbol\nbinary=x\n", 20, HS_LOAD_HEAP_TEXT },
        { "a;b;c 12\n", 9, HS_LOAD_FOLDED },
        { "# remark\na b;c -12.5\n", 21, HS_LOAD_FOLDED },
        { "a;b;c\n", 6, HS_LOAD_TRACE },
        { "12\n", 3, HS_LOAD_TRACE },
        { "a;b 1\0c 2\n", 10, HS_LOAD_TRACE },
        /* sample_type { 1 2 }: the beginning of Go's files */
        { "\x0a\x04\x08\x01\x10\x02", 6, HS_LOAD_PPROF },
        /* string_table "", then period */
        { "\x32\x00\x60\x05", 4, HS_LOAD_PPROF },
        /* a trace: a packet with a timestamp */
        { "\x0a\x04\x40\x01\x50\x02", 6, HS_LOAD_TRACE },
        /* packets without contents */
        { "\x0a\x00\x0a\x00", 4, HS_LOAD_TRACE },
        /* field 2 as a number */
        { "\x10\x01\x32\x00", 4, HS_LOAD_TRACE },
    };
    for (size_t i = 0; i < HS_COUNT_OF(files); i++) {
        assert_int_equal(hs_load_kind_of((const uint8_t *)files[i].data, files[i].bytes, true),
                         files[i].kind);
    }
}

/* --- scaling --- */

static void samples_stand_for_more(void **state)
{
    (void)state;
    struct hs_amount a = hs_unbias(HS_UNBIAS_V2, 524288, 3, 3000);
    double scale = 1 / (1 - exp(-1000.0 / 524288));
    assert_true(fabs(a.bytes - 3000 * scale) < 1e-6 * a.bytes);
    assert_true(fabs(a.count - 3 * scale) < 1e-6 * a.count);
    assert_true(fabs(a.count_var - 3 * scale * (scale - 1)) < 1e-6 * a.count_var);
    a = hs_unbias(HS_UNBIAS_V1, 4096, 2, 2048);
    assert_true(a.bytes == 8192 && a.count == 8);
    a = hs_unbias(HS_UNBIAS_V1, 4096, 1, 100000);
    assert_true(a.bytes == 100000 && a.count == 1 && a.bytes_var == 0);
    a = hs_unbias(HS_UNBIAS_ALL, 4096, 5, 50);
    assert_true(a.bytes == 50 && a.count == 5 && a.bytes_var == 0);
    /* Blocks of size zero, bytes without blocks, and the largest numbers. */
    a = hs_unbias(HS_UNBIAS_V2, 4096, 5, 0);
    assert_true(a.bytes == 0 && a.count == 5);
    a = hs_unbias(HS_UNBIAS_V2, UINT64_MAX, UINT64_MAX, 1);
    assert_true(isfinite(a.bytes) && isfinite(a.count_var));
}

/* --- meanings of values --- */

static void values_by_name_and_unit(void **state)
{
    (void)state;
    static const struct {
        struct hs_pprof_type types[6];
        size_t count;
        const char *first;
        int want[HS_PPROF_ROLE_N]; /* live bytes, count, allocated, peak */
        double factor;
        bool is_memory;
    } rows[] = {
        { { { "alloc_objects", "count" },
            { "alloc_space", "bytes" },
            { "inuse_objects", "count" },
            { "inuse_space", "bytes" } },
          4,
          "inuse_space",
          { 3, 2, 1, 0, -1, -1 },
          1,
          true },
        { { { "Total malloc count", "count" },
            { "Total malloc size", "bytes" },
            { "Unreleased malloc count", "count" },
            { "Unreleased malloc size", "bytes" } },
          4,
          "",
          { 3, 2, 1, 0, -1, -1 },
          1,
          true },
        { { { "Total allocation count", "count" }, { "Total allocation size", "bytes" } },
          2,
          "",
          { -1, -1, 1, 0, -1, -1 },
          1,
          true },
        { { { "objects", "count" }, { "space", "bytes" }, { "resident_space", "bytes" } },
          3,
          "",
          { 1, 0, -1, -1, -1, -1 },
          1,
          true },
        { { { "space", "kilobytes" } }, 1, "", { 0, -1, -1, -1, -1, -1 }, 1024, true },
        { { { "peak_space", "bytes" }, { "inuse-space", "bytes" } },
          2,
          "",
          { 1, -1, -1, -1, 0, -1 },
          1,
          true },
        { { { "frob", "bytes" }, { "nicate", "bytes" } },
          2,
          "frob",
          { 0, -1, -1, -1, -1, -1 },
          1,
          true },
        { { { "frob", "bytes" }, { "nicate", "count" } },
          2,
          "",
          { -1, 1, -1, -1, -1, -1 },
          1,
          true },
        { { { "samples", "count" }, { "cpu", "nanoseconds" } }, 2, "", { 0 }, 1, false },
        { { { "contentions", "count" }, { "delay", "nanoseconds" } }, 2, "", { 0 }, 1, false },
        { { { "goroutine", "count" } }, 1, "", { 0 }, 1, false },
        { { { "", "" } }, 0, "", { 0 }, 1, false },
    };
    for (size_t i = 0; i < HS_COUNT_OF(rows); i++) {
        struct hs_pprof_roles roles;
        bool is_memory = hs_pprof_find_roles(rows[i].types, rows[i].count, rows[i].first, &roles);
        assert_int_equal(is_memory, rows[i].is_memory);
        for (int k = 0; is_memory && k < HS_PPROF_ROLE_N; k++) {
            assert_int_equal(roles.type[k], rows[i].want[k]);
        }
        if (is_memory && roles.type[HS_PPROF_LIVE_BYTES] >= 0) {
            assert_true(roles.factor[HS_PPROF_LIVE_BYTES] == rows[i].factor);
        }
    }
}

/* --- texts --- */

static void jemalloc_text(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_profile *p = load_text("heap_v2/524288\n"
                                     "  t*: 3: 2000 [0: 0]\n"
                                     "  t0: 1: 1000 [0: 0] main thread\n"
                                     "  t7: 2: 1000 [0: 0]\n"
                                     "@ 0x401010 0x401021\n"
                                     "  t*: 3: 3000 [0: 0]\n"
                                     "  t0: 1: 1000 [0: 0]\n"
                                     "  t7: 2: 2000 [0: 0]\n"
                                     "@ 0x7f0000002010 0x401021\n"
                                     "  t*: 1: 1048576 [0: 0]\n"
                                     "  nonsense\n"
                                     "\nMAPPED_LIBRARIES:\n"
                                     "00400000-00401000 r--p 00000000 fe:00 1 /opt/p\n"
                                     "00401000-00402000 r-xp 00001000 fe:00 1 /opt/p\n"
                                     "7f0000000000-7f0000009000 r-xp 00003000 fe:00 2 /opt/l.so\n",
                                     &report);
    double scale = 1 / (1 - exp(-1000.0 / 524288));
    assert_int_equal(report.kind, HS_LOAD_HEAP_TEXT);
    assert_int_equal(report.bad_line_count, 1);
    assert_true(report.has_no_alloc);
    assert_false(report.damage.is_truncated);
    /* The innermost address stays, the callers' are one byte less. */
    const struct hs_profile_sample *s = find(p, "+1020;+1010");
    assert_true(fabs(s->live.bytes - 3000 * scale) < 1);
    assert_true(s->alloc.bytes == s->live.bytes);
    s = find(p, "+1020;+5010");
    scale = 1 / (1 - exp(-2.0));
    assert_true(fabs(s->live.bytes - 1048576 * scale) < 1);
    assert_int_equal(p->dumps[0].interval_bytes, 524288);
    assert_int_equal(p->thread_count, 2);
    assert_string_equal(hs_profile_string(p, p->threads[0].name), "main thread");
    assert_string_equal(hs_profile_string(p, p->processes[0].exe), "/opt/p");
    hs_profile_free(p);
}

static void gperftools_texts(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        double bytes, count;
    } rows[] = {
        { "@ heapprofile", 2048, 2 },
        { "@ growthz/1", 2048, 2 },
        { "@ heap/8192", 8192, 8 },
        { "@ heap_v2/1024", 2048 / (1 - 0.36787944117144233), 2 / (1 - 0.36787944117144233) },
        { "@ heap_v2", 2048 / (1 - 0.9922179382602435), 2 / (1 - 0.9922179382602435) },
        { "", 2048, 2 },
    };
    for (size_t i = 0; i < HS_COUNT_OF(rows); i++) {
        char text[256];
        struct hs_load_report report;
        snprintf(text, sizeof(text),
                 "heap profile: 2: 2048 [ 4: 4096] %s\n 2: 2048 [ 4: 4096] @ 0x10 0x21\n"
                 "MAPPED_LIBRARIES:\n",
                 rows[i].head);
        struct hs_profile *p = load_text(text, &report);
        const struct hs_profile_sample *s = find(p, "+20;+10");
        assert_true(fabs(s->live.bytes - rows[i].bytes) < 1e-6 * rows[i].bytes);
        assert_true(fabs(s->live.count - rows[i].count) < 1e-6 * rows[i].count);
        assert_true(s->alloc.bytes >= s->live.bytes);
        assert_false(report.has_no_alloc);
        hs_profile_free(p);
    }
}

static void text_with_symbols(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_profile *p = load_text("--- symbol\nbinary=/opt/prog\n"
                                     "0x0000000000000010 alloc--make\n"
                                     "0x0000000000000020 main\n---\n--- heap\n"
                                     "heap profile: 1: 10 [ 1: 10] @ heapprofile\r\n"
                                     "  1: 10 [ 1: 10] @ 0x10 0x21\r\n",
                                     &report);
    assert_true(find(p, "main;make;alloc")->live.bytes == 10);
    assert_string_equal(hs_profile_string(p, p->processes[0].name), "prog");
    assert_false(report.damage.is_truncated);
    hs_profile_free(p);
}

/*
 * Go writes twice its rate. Its stacks are in comments and contain inlined functions; the file ends
 * without mappings.
 */
static void text_of_go(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_profile *p = load_text("heap profile: 3: 3072 [4: 4096] @ heap/2048\n"
                                     "1: 1024 [1: 1024] @ 0x21 0x31\n"
                                     "#\t0x20\tmain.grow[...]+0x1\t/a b/m.go:17\n"
                                     "#\t0x20\tmain.outer+0x2\t\t/a b/m.go:3\n"
                                     "#\t0x30\truntime.main+0xd3\t/go/proc.go:9\n\n"
                                     "2: 2048 [2: 2048] @ 0x41 0x51\n\n"
                                     "0: 0 [1: 1024] @ 0x61\n"
                                     "#\t0x60\tc++ by name\n"
                                     "\n# runtime.MemStats\n# Alloc = 3072\n# MaxRSS = 1",
                                     &report);
    const double scale = 1 / (1 - exp(-1));
    assert_int_equal(report.bad_line_count, 0);
    assert_false(report.damage.is_truncated);
    assert_int_equal(p->loss_count, 0);
    const struct hs_profile_sample *s = find(p, "runtime.main;main.outer;main.grow[...]");
    assert_true(fabs(s->live.bytes - 1024 * scale) < 1e-6);
    const struct hs_profile_frame *frame = &p->frames[p->nodes[s->node].frame];
    assert_int_equal(frame->line_count, 1);
    assert_string_equal(hs_profile_string(p, p->lines[frame->line_first].file), "/a b/m.go");
    assert_int_equal(p->lines[frame->line_first].line, 17);
    assert_true(fabs(find(p, "+50;+41")->live.count - 2 * scale) < 1e-6);
    assert_true(find(p, "c++ by name")->live.bytes == 0);
    hs_profile_free(p);
}

static void text_that_ends_early(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_profile *p = load_text("heap_v2/1\n  t*: 1: 2 [3: 4]\n@ 0x10\n  t*: 1: 2 [3: 4]\n"
                                     "@ 0x30\n  t*: 7: 7",
                                     &report);
    assert_true(report.damage.is_truncated);
    assert_true(find(p, "+10")->live.bytes > 1.9);
    assert_int_equal(p->dumps[0].samples_n, 1);
    assert_true(p->loss_count > 0);
    hs_profile_free(p);
}

static void collapsed_stacks(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_profile *p = load_text("# remark\nmain;a b;c 12\nmain;x -3\nmain 1.5\n\n", &report);
    assert_int_equal(report.kind, HS_LOAD_FOLDED);
    assert_true(find(p, "main;a b;c")->live.bytes == 12);
    assert_true(find(p, "main;x")->live.bytes == -3);
    assert_true(p->dumps[0].live.bytes == 10.5);
    hs_profile_free(p);
    p = load_text("main;a 10 4\nmain;b 0 7\n", &report);
    assert_true(find(p, "main;a")->live.bytes == -6);
    assert_true(find(p, "main;b")->live.bytes == 7);
    hs_profile_free(p);
    p = load_text("main;a 10\nmain;b 1.2.3\n;;; 4\n", &report);
    assert_int_equal(report.bad_line_count, 2);
    assert_true(p->dumps[0].live.bytes == 10);
    hs_profile_free(p);
}

/* --- pprof --- */

static struct hs_buf our_pprof(void)
{
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    struct fixture fx = fixture_new();
    const char *inlined[] = { "inner", "outer" };
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t leaf = fixture_node(&fx, main_, fixture_frame(&fx, inlined, 2));
    uint32_t bare = fixture_node(&fx, main_, fixture_frame(&fx, NULL, 0));
    fixture_process(&fx, 5, "prog");
    fx.p.processes[0].exe = fx.p.modules[0].path;
    fixture_dump(&fx, 3);
    fixture_sample(&fx, leaf, fixture_exact(100, 2), fixture_exact(1000, 10),
                   fixture_exact(500, 5));
    fixture_sample(&fx, bare, fixture_exact(0, 0), fixture_exact(7, 1), fixture_exact(0, 0));
    fx.p.real_minus_mono_ns = UINT64_C(1700000000000000000);
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_pprof_write(&fx.p, &last, &(struct hs_pprof_options){ 0 }, &buf), 0);
    fixture_deinit(&fx);
    return buf;
}

static void pprof_comes_back(void **state)
{
    (void)state;
    struct hs_load_report report;
    struct hs_buf buf = our_pprof();
    struct hs_profile *p = load(buf.data, buf.bytes, &report);
    assert_int_equal(report.kind, HS_LOAD_PPROF);
    assert_int_equal(report.bad_record_count, 0);
    assert_int_equal(report.unresolved_stack_count, 0);
    const struct hs_profile_sample *s = find(p, "main;outer;inner");
    assert_true(s->live.bytes == 100 && s->live.count == 2);
    assert_true(s->alloc.bytes == 1000 && s->alloc.count == 10);
    assert_true(s->peak.bytes == 500 && s->peak.count == 5);
    assert_true(p->dumps[0].has_peak && p->dumps[0].alloc.bytes == 1007);
    assert_string_equal(hs_profile_string(p, p->processes[0].name), "prog");
    assert_int_equal(p->dumps[0].time_ns - p->dumps[0].start_ns, 3000000000);
    assert_int_equal(p->dumps[0].interval_bytes, 4096);
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

/* Cut at any place: the part before the cut is read, and the loss is reported. */
static void pprof_cut_off(void **state)
{
    (void)state;
    struct hs_buf buf = our_pprof();
    unsigned read_count = 0;
    for (size_t bytes = 60; bytes < buf.bytes; bytes++) {
        struct hs_profile *p = NULL;
        struct hs_load_report report;
        int err = hs_profile_load_memory(buf.data, bytes, &p, &report);
        if (err == 0) {
            read_count++;
            assert_true(report.damage.is_truncated || report.damage.has_bad_compression);
            assert_true(p->loss_count > 0);
        }
        hs_profile_free(p);
    }
    assert_true(read_count > 0);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(samples_stand_for_more),
        cmocka_unit_test(values_by_name_and_unit),
        cmocka_unit_test(jemalloc_text),
        cmocka_unit_test(gperftools_texts),
        cmocka_unit_test(text_with_symbols),
        cmocka_unit_test(text_of_go),
        cmocka_unit_test(text_that_ends_early),
        cmocka_unit_test(collapsed_stacks),
        cmocka_unit_test(pprof_comes_back),
        cmocka_unit_test(pprof_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
