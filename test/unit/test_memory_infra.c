/*
 * The MemoryInfra export: ids, addresses, names, joined dumps. test/e2e/infra_checker.py reads
 * whole files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "util/buf.h"
#include "view/memory_infra.h"

#define SECOND_NS UINT64_C(1000000000)

static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
static const struct hs_memory_infra_options all = { .view = HS_VIEW_SPACE, .is_all_dumps = true };

static void write_text(const struct fixture *fx, const struct hs_memory_infra_options *options,
                       struct hs_buf *buf)
{
    buf->bytes = 0;
    assert_int_equal(hs_memory_infra_write(&fx->p, &last, options, buf), 0);
}

static uint32_t count_of(struct hs_buf *buf, const char *text)
{
    uint32_t count = 0;
    for (const char *at = hs_buf_text(buf); (at = strstr(at, text)); at++) {
        count++;
    }
    return count;
}

static void add(struct fixture *fx, uint32_t node, double bytes, double count)
{
    struct hs_amount amount = fixture_exact(bytes, count);
    fixture_sample(fx, node, amount, amount, amount);
}

/* A dump of the last process with one sample; fixture_dump() leaves has_samples unset. */
static struct hs_profile_dump *dump_at(struct fixture *fx, uint64_t ns, uint32_t node)
{
    struct hs_profile_dump *dump = fixture_dump(fx, 0);
    dump->time_ns = ns;
    dump->has_samples = true;
    add(fx, node, 10, 1);
    return dump;
}

static void rows_are_merged_by_name(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t a = fixture_call(&fx, main_, "a");
    uint32_t again = fixture_call(&fx, main_, "a"); /* another address of the same function */
    const char *const inlined[] = { "inner", "outer" };
    uint32_t b = fixture_node(&fx, main_, fixture_frame(&fx, inlined, 2));
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 1)->has_samples = true;
    add(&fx, a, 100, 1);
    add(&fx, again, 20, 2);
    add(&fx, b, 3, 1);
    add(&fx, b, 0, 0);
    write_text(&fx, &all, &buf);
    const char *text = hs_buf_text(&buf);
    assert_non_null(strstr(text, "\"nodes\":[{\"id\":2,\"name_sid\":1},"
                                 "{\"id\":4,\"name_sid\":3,\"parent\":2},"
                                 "{\"id\":6,\"name_sid\":5,\"parent\":2},"
                                 "{\"id\":8,\"name_sid\":7,\"parent\":6}]"));
    assert_non_null(
        strstr(text, "{\"id\":5,\"string\":\"outer\"},{\"id\":7,\"string\":\"inner\"}"));
    assert_non_null(strstr(text, "\"malloc\":{\"counts\":[3,1],\"sizes\":[120,3],"
                                 "\"types\":[0,0],\"nodes\":[4,8]}"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void dumps_are_joined(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 5, "prog");
    dump_at(&fx, 10 * SECOND_NS, main_);
    dump_at(&fx, 10 * SECOND_NS + 5, main_); /* the same process: another id */
    fixture_process(&fx, 6, "prog");
    dump_at(&fx, 11 * SECOND_NS + 5, main_); /* a second after the previous one */
    fixture_process(&fx, 7, "prog");
    dump_at(&fx, 11 * SECOND_NS + 6, main_); /* one nanosecond more */
    fixture_process(&fx, 7, "next");         /* executed by the one before */
    dump_at(&fx, 11 * SECOND_NS + 6, main_);
    write_text(&fx, &all, &buf);
    char ids[5][24], pids[5][24];
    const char *at = hs_buf_text(&buf);
    for (int i = 0; i < 5; i++) {
        at = strstr(at, "\"ph\":\"v\"");
        assert_non_null(at);
        assert_int_equal(sscanf(strstr(at, "\"pid\":"), "\"pid\":%20[0-9]", pids[i]), 1);
        assert_int_equal(sscanf(strstr(at, "\"id\":\""), "\"id\":\"%20[^\"]", ids[i]), 1);
        at++;
    }
    assert_string_not_equal(ids[0], ids[1]);
    assert_string_equal(ids[1], ids[2]);
    assert_string_not_equal(ids[2], ids[3]);
    assert_string_equal(ids[3], ids[4]);
    assert_string_equal(pids[3], "7");
    assert_string_equal(pids[4], "12582919");
    assert_non_null(strstr(hs_buf_text(&buf), "\"args\":{\"labels\":\"pid 7\"}"));
    /* The second dump of a process has nothing new. */
    assert_int_equal(count_of(&buf, "\"string\":\"main\""), 4);
    assert_int_equal(count_of(&buf, "\"strings\":[],\"nodes\":[],\"types\":[]"), 1);
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void heaps_have_names_of_their_own(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    static const char *const names[] = { "malloc", "a/b/c", "a:b:c", "global", "a/b:c", "a:b/c" };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        fx.p.heaps = fixture_grow(fx.p.heaps, fx.p.heap_count, sizeof(*fx.p.heaps));
        fx.p.heaps[fx.p.heap_count++] = fixture_string(&fx, names[i]);
    }
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 5, "prog");
    fixture_dump(&fx, 1)->has_samples = true;
    for (uint32_t i = 0; i < fx.p.heap_count; i++) {
        add(&fx, main_, 1 + i, 1);
        fx.p.samples[i].heap = i;
    }
    write_text(&fx, &all, &buf);
    const char *text = hs_buf_text(&buf);
    static const char *const shown[] = { "malloc",  "malloc~", "a:b:c",  "a:b:c~",
                                         "global~", "a:b:c~5", "a:b:c~6" };
    for (uint32_t i = 0; i < HS_COUNT_OF(shown); i++) {
        char want[64];
        snprintf(want, sizeof(want), "\"%s\":{\"counts\":[1],\"sizes\":[%u]", shown[i], 1 + i);
        assert_non_null(strstr(text, want));
    }
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

/* A frame without a name in the current module. */
static uint32_t nameless(struct fixture *fx, uint32_t parent)
{
    return fixture_node(fx, parent, fixture_frame(fx, NULL, 0));
}

static void addresses_are_those_of_the_process(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t own = nameless(&fx, HS_NODE_NONE);
    fixture_module(&fx, "/lib/overlaps.so", 0x480000);
    uint32_t other = nameless(&fx, own);
    fixture_process(&fx, 5, "prog");
    dump_at(&fx, SECOND_NS, other);
    fixture_process(&fx, 6, "prog");
    dump_at(&fx, 5 * SECOND_NS, own);
    struct hs_profile_place place = { .process = 1, .module = 0, .bias_va = 0x7000000 };
    fx.p.places = &place;
    fx.p.place_count = 1;
    write_text(&fx, &all, &buf);
    const char *text = hs_buf_text(&buf);
    assert_non_null(strstr(text, "\"string\":\"pc:401000\""));
    assert_non_null(strstr(text, "\"string\":\"pc:7001000\""));
    assert_non_null(strstr(text, "{\"sa\":\"7000000\",\"sz\":\"100000\",\"pf\":5,"
                                 "\"mf\":\"/usr/bin/prog\",\"fo\":\"0\",\"bs\":{}}"));
    /* A reader would find the other module there. */
    assert_non_null(strstr(text, "\"string\":\"overlaps.so+0x1010\""));
    assert_int_equal(count_of(&buf, "\"mf\":\"/lib/overlaps.so\""), 0);
    fx.p.places = NULL;
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

/* Adds a part of the last sample to the last dump. */
static void add_part(struct fixture *fx, enum hs_part_view view, const char *type, bool is_others,
                     double bytes, double count)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    const struct hs_profile_sample *sample = &p->samples[p->sample_count - 1];
    p->parts = fixture_grow(p->parts, p->part_count, sizeof(*p->parts));
    p->parts[p->part_count] = (struct hs_profile_part){ .node = sample->node,
                                                        .heap = sample->heap,
                                                        .type = fixture_string(fx, type),
                                                        .is_others = is_others,
                                                        .amount = fixture_exact(bytes, count) };
    dump->part_first[view] =
        dump->parts_n[view] == 0 ? (uint32_t)p->part_count : dump->part_first[view];
    dump->parts_n[view]++;
    dump->has_parts = dump->has_types = true;
    p->part_count++;
}

/* A row for each stack and type. Ids of types are given once in the file, except that of the one
 * that is not known. */
static void rows_have_types(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    for (uint32_t pid = 5; pid < 7; pid++) {
        fixture_process(&fx, pid, "prog");
        dump_at(&fx, pid * 10 * SECOND_NS, main_);
        add_part(&fx, HS_PARTS_LIVE, "Node", false, 3, 0.25);
        add_part(&fx, HS_PARTS_LIVE, "", false, 2, 0.25);
        add_part(&fx, HS_PARTS_LIVE, "", true, 4, 0.25);
        add_part(&fx, HS_PARTS_LIVE, "Node", false, 1, 0.25); /* of another thread */
        add_part(&fx, HS_PARTS_PEAK, "Peak", false, 10, 1);
    }
    write_text(&fx, &all, &buf);
    const char *text = hs_buf_text(&buf);
    assert_non_null(strstr(text, "{\"id\":3,\"string\":\"Node\"},"
                                 "{\"id\":5,\"string\":\"(others)\"},"
                                 "{\"id\":7,\"string\":\"[unknown]\"}"));
    assert_non_null(strstr(text, "\"types\":[{\"id\":4,\"name_sid\":3},"
                                 "{\"id\":6,\"name_sid\":5},{\"id\":0,\"name_sid\":7}]"));
    assert_non_null(strstr(text, "\"malloc\":{\"counts\":[0.25,0.5,0.25],\"sizes\":[2,4,4],"
                                 "\"types\":[0,4,6],\"nodes\":[2,2,2]}"));
    assert_non_null(strstr(text, "\"types\":[{\"id\":11,\"name_sid\":10},"
                                 "{\"id\":13,\"name_sid\":12},{\"id\":0,\"name_sid\":14}]"));
    assert_int_equal(count_of(&buf, "Peak"), 0);
    struct hs_memory_infra_options options = all;
    options.view = HS_VIEW_PEAK;
    write_text(&fx, &options, &buf);
    assert_int_equal(count_of(&buf, "Peak"), 2);
    assert_non_null(strstr(hs_buf_text(&buf), "\"sizes\":[10],\"types\":[4]"));
    options.view = HS_VIEW_ALLOC_SPACE;
    write_text(&fx, &options, &buf);
    assert_int_equal(count_of(&buf, "\"sizes\":[10],\"types\":[0]"), 2);
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_merged_by_name),
        cmocka_unit_test(dumps_are_joined),
        cmocka_unit_test(heaps_have_names_of_their_own),
        cmocka_unit_test(addresses_are_those_of_the_process),
        cmocka_unit_test(rows_have_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
