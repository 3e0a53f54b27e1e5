/*
 * MemoryInfra traces: both forms, tables in several events, addresses, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/read/load.h"
#include "rt/base.h"

static struct hs_load_report report;

static struct hs_profile *load(const char *text)
{
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(text, strlen(text), &profile, &report), 0);
    assert_int_equal(report.kind, HS_LOAD_MEMORY_INFRA);
#if HS_HAS_CHECKS
    assert_true(hs_profile_is_valid(profile));
#endif
    return profile;
}

/* The live bytes of the stack with these names, the innermost first and joined by blanks. */
static double bytes_of(const struct hs_profile *p, uint32_t dump_idx, const char *stack)
{
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    double bytes = 0;
    for (uint64_t i = 0; i < dump->samples_n; i++) {
        char names[256] = "";
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        for (uint32_t n = sample->node; n != HS_NODE_NONE && strlen(names) < 200;
             n = p->nodes[n].parent) {
            strcat(names, names[0] ? " " : "");
            strcat(names, hs_profile_string(p, p->frames[p->nodes[n].frame].name));
        }
        bytes += strcmp(names, stack) == 0 ? sample->live.bytes : 0;
    }
    return bytes;
}

/* Later dumps come first in the file, and refer to the tables of earlier ones. */
static const char newer[] =
    "{\"metadata\":{\"x\":[{}]},\"traceEvents\":["
    "{\"ph\":\"X\",\"pid\":3,\"ts\":1,\"name\":\"other\",\"args\":{\"dumps\":7}},"
    "{\"ph\":\"v\",\"pid\":3,\"ts\":2000000.5,\"args\":{\"dumps\":{\"heaps_v2\":{\"version\":1,"
    "\"allocators\":{\"malloc\":{\"nodes\":[5,6],\"types\":[0,0],\"counts\":[1,2],"
    "\"sizes\":[10,20.5]}},\"maps\":{\"nodes\":[{\"parent\":4,\"name_sid\":2,\"id\":6}],"
    "\"types\":[],\"strings\":[]}}}}},"
    "{\"name\":\"periodic_interval\",\"ph\":\"v\",\"ts\":1000000,\"pid\":3,\"args\":{\"dumps\":{"
    "\"process_totals\":{\"resident_set_bytes\":\"1f000\"},"
    "\"heaps_v2\":{\"maps\":{\"nodes\":[{\"id\":4,\"name_sid\":1},"
    "{\"id\":5,\"name_sid\":2,\"parent\":4}],\"types\":[{\"id\":0,\"name_sid\":2},"
    "{\"id\":1,\"name_sid\":1}],\"strings\":[{\"id\":1,\"string\":\"main\"},"
    "{\"id\":2,\"string\":\"a\\u0062\"}]},\"allocators\":{"
    "\"malloc\":{\"counts\":[1,1],\"sizes\":[3,4],\"types\":[0,1],\"nodes\":[5,5]},"
    "\"blink_gc\":{\"counts\":[],\"sizes\":[],\"types\":[],\"nodes\":[]}}}}}},"
    "{\"ph\":\"M\",\"pid\":3,\"name\":\"process_name\",\"args\":{\"name\":\"Browser\"}}]}";

static void newer_form(void **state)
{
    (void)state;
    struct hs_profile *p = load(newer);
    assert_int_equal(p->process_count, 1);
    assert_int_equal(p->processes[0].pid, 3);
    assert_string_equal(hs_profile_string(p, p->processes[0].name), "Browser");
    assert_int_equal(p->dump_count, 2);
    assert_int_equal(p->dumps[0].time_ns, 1000000000);
    assert_int_equal(p->dumps[1].time_ns, 2000000500);
    assert_int_equal(p->dumps[0].rss_bytes, 0x1f000);
    assert_true(p->dumps[0].live.bytes == 7 && p->dumps[0].live.count == 2);
    assert_int_equal(p->dumps[0].samples_n, 1); /* types are added up */
    assert_true(bytes_of(p, 0, "ab main") == 7);
    assert_true(bytes_of(p, 1, "ab main") == 30.5); /* nodes 5 and 6 are the same stack */
    assert_string_equal(hs_profile_string(p, p->heaps[0]), "libc.malloc");
    assert_true(report.has_no_alloc);
    assert_int_equal(report.bad_record_count + report.unresolved_stack_count, 0);
    hs_profile_free(p);
}

static void older_form(void **state)
{
    (void)state;
    struct hs_profile *p = load(
        "[{\"ph\":\"v\",\"pid\":3,\"ts\":5,\"args\":{\"dumps\":{\"heaps\":{\"malloc\":{\"entries\":"
        "["
        "{\"bt\":\"2\",\"type\":\"9\",\"size\":\"1\",\"count\":\"1\"},"
        "{\"size\":\"64\",\"count\":\"a\"},{\"bt\":\"1\",\"size\":\"50\",\"count\":\"8\"},"
        "{\"bt\":\"2\",\"size\":\"20\",\"count\":\"3\"},{\"bt\":\"3\",\"size\":\"10\",\"count\":"
        "\"1\"},{\"bt\":\"1\",\"type\":\"9\",\"size\":\"50\",\"count\":\"8\"},"
        "{\"type\":\"9\",\"size\":\"64\",\"count\":\"a\"}]}}}}},"
        "{\"ph\":\"M\",\"pid\":3,\"name\":\"stackFrames\",\"args\":{\"stackFrames\":{"
        "\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"f\",\"parent\":\"1\"},"
        "\"3\":{\"parent\":1,\"name\":\"g\"}}}}]");
    assert_true(p->dumps[0].live.bytes == 0x64 && p->dumps[0].live.count == 10);
    assert_true(bytes_of(p, 0, "f main") == 0x20);
    assert_true(bytes_of(p, 0, "g main") == 0x10);
    assert_true(bytes_of(p, 0, "main") == 0x50 - 0x20 - 0x10);
    assert_true(bytes_of(p, 0, "<other>") == 0x64 - 0x50);
    hs_profile_free(p);
}

static void addresses(void **state)
{
    (void)state;
    struct hs_profile *p = load(
        "[{\"ph\":\"v\",\"pid\":3,\"ts\":5,\"args\":{\"dumps\":{\"process_mmaps\":{\"vm_regions\":["
        "{\"sa\":\"7000\",\"sz\":\"1000\",\"mf\":\"/no/a.so\",\"bs\":{}},"
        "{\"sa\":\"5000\",\"sz\":\"1000\",\"mf\":\"/no/a.so\",\"bs\":{}},"
        "{\"sa\":\"9000\",\"sz\":\"1000\",\"mf\":\"/no/b.so\",\"fo\":\"2000\",\"bs\":{}},"
        "{\"sa\":\"b000\",\"sz\":\"1000\",\"mf\":\"\",\"bs\":{}}]},"
        "\"heaps_v2\":{\"maps\":{\"strings\":[{\"id\":1,\"string\":\"pc:7010\"},"
        "{\"id\":2,\"string\":\"pc:9020\"},{\"id\":3,\"string\":\"pc:b000\"}],"
        "\"nodes\":[{\"id\":4,\"name_sid\":1},{\"id\":5,\"name_sid\":2,\"parent\":4},"
        "{\"id\":6,\"name_sid\":3,\"parent\":5}],\"types\":[]},\"allocators\":{"
        "\"pool\":{\"counts\":[1],\"sizes\":[3],\"types\":[0],\"nodes\":[6]}}}}}}]");
    uint32_t node = p->samples[0].node;
    assert_string_equal(hs_profile_string(p, p->frames[p->nodes[node].frame].name), "pc:b000");
    const struct hs_profile_frame *b = &p->frames[p->nodes[p->nodes[node].parent].frame];
    assert_int_equal(b->rel_pc, 0x2020);
    assert_string_equal(hs_profile_string(p, p->modules[b->module].path), "/no/b.so");
    assert_int_equal(hs_profile_bias_of(p, 0, b->module), 0x7000);
    const struct hs_profile_frame *a = &p->frames[p->nodes[0].frame];
    assert_int_equal(a->rel_pc, 0x2010); /* the file's first region is its beginning */
    assert_string_equal(hs_profile_string(p, p->modules[a->module].path), "/no/a.so");
    hs_profile_free(p);
}

/* The reader must leave a valid profile, and count what it leaves out. */
static void damage(void **state)
{
    (void)state;
    for (size_t bytes = 30; bytes < strlen(newer); bytes++) {
        struct hs_profile *p = NULL;
        if (hs_profile_load_memory(newer, bytes, &p, &report) == 0) {
            assert_true(report.kind != HS_LOAD_MEMORY_INFRA || report.damage.is_truncated);
#if HS_HAS_CHECKS
            assert_true(hs_profile_is_valid(p));
#endif
            hs_profile_free(p);
        }
    }
    struct hs_profile *p = load(
        "[{\"ph\":\"v\",\"pid\":3,\"ts\":5,\"args\":{\"dumps\":{\"heaps_v2\":{\"maps\":{"
        "\"strings\":[{\"id\":1,\"string\":\"x\"},{\"id\":2}],\"nodes\":["
        "{\"id\":4,\"name_sid\":1,\"parent\":5},{\"id\":5,\"name_sid\":1,\"parent\":4},"
        "{\"id\":6,\"name_sid\":1,\"parent\":7},{\"id\":8,\"name_sid\":9}]},\"allocators\":{"
        "\"malloc\":{\"counts\":[1,1,1,1],\"sizes\":[1,2,4,8,\"q\"],\"nodes\":[4,5,6,8]}}}}}}]");
    assert_true(p->dumps[0].live.bytes == 15);
    assert_true(report.unresolved_stack_count == 3);
    assert_true(bytes_of(p, 0, "x [frame not in the file]") == 4);
    assert_true(bytes_of(p, 0, "[stack not in the file]") == 8);
    assert_int_equal(report.bad_record_count, 3); /* a string, a node, the longer column */
    hs_profile_free(p);
}

/* Each node is a row, the outermost first: no stack becomes deeper than the reader permits. */
static void deep_stacks_are_cut(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    char *text = malloc(COUNT * 80 + 1000), *at = text;
    assert_non_null(text);
    at += sprintf(at, "[{\"ph\":\"v\",\"pid\":3,\"ts\":5,\"args\":{\"dumps\":{\"heaps_v2\":{"
                      "\"maps\":{\"strings\":[{\"id\":1,\"string\":\"x\"}],\"nodes\":["
                      "{\"id\":1,\"name_sid\":1}");
    for (int i = 2; i <= COUNT; i++) {
        at += sprintf(at, ",{\"id\":%d,\"name_sid\":1,\"parent\":%d}", i, i - 1);
    }
    static const char *const columns[] = { "counts", "sizes", "nodes" };
    at += sprintf(at, "]},\"allocators\":{\"malloc\":{");
    for (int k = 0; k < 3; k++) {
        at += sprintf(at, "%s\"%s\":[1", k > 0 ? "," : "", columns[k]);
        for (int i = 2; i <= COUNT; i++) {
            at += sprintf(at, ",%d", i);
        }
        at += sprintf(at, "]");
    }
    strcpy(at, "}}}}}}]");
    struct hs_profile *p = load(text);
    uint32_t depth_max = 0;
    for (uint32_t i = 0; i < p->node_count; i++) {
        depth_max = p->nodes[i].depth > depth_max ? p->nodes[i].depth : depth_max;
    }
    assert_in_range(depth_max, 4000, 4200);
    assert_true(p->dumps[0].live.bytes == COUNT * (COUNT + 1.0) / 2);
    assert_int_equal(report.unresolved_stack_count, 2);
    hs_profile_free(p);
    free(text);
}

static void kinds(void **state)
{
    (void)state;
    static const char *const others[] = { "{\"type\":\"profile\"}\n", "[1,2]\n",
                                          "{\"$schema\":\"https://www.speedscope.app\"}" };
    for (size_t i = 0; i < HS_COUNT_OF(others); i++) {
        enum hs_load_kind kind;
        assert_int_equal(hs_load_find_kind(others[i], strlen(others[i]), &kind), 0);
        assert_int_equal(kind, HS_LOAD_TRACE);
    }
    struct hs_profile *p = load(" \n{\"traceEvents\":[]}");
    assert_int_equal(p->dump_count, 0);
    hs_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newer_form),          cmocka_unit_test(older_form),
        cmocka_unit_test(addresses),           cmocka_unit_test(damage),
        cmocka_unit_test(deep_stacks_are_cut), cmocka_unit_test(kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
