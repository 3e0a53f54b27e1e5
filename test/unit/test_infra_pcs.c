/*
 * Addresses in MemoryInfra traces: where their strings are, which maps count, what is no address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "profile/read/infra_pcs.h"

#define DUMP(pid, ts, parts)                                                                       \
    "{\"ph\":\"v\",\"pid\":" pid ",\"ts\":" ts ",\"args\":{\"dumps\":{" parts "}}}"
#define STRINGS(list) "\"heaps_v2\":{\"version\":1,\"maps\":{\"strings\":[" list "]}}"
#define MAPS(list)    "\"process_mmaps\":{\"vm_regions\":[" list "]}"

/* Returns the text of the string of address `i`. */
static const char *text_at(const struct hs_infra_pcs *pcs, size_t i, char *ret_text)
{
    snprintf(ret_text, 64, "%.*s", (int)pcs->pcs[i].text_bytes, pcs->text + pcs->pcs[i].text_off);
    return ret_text;
}

static void find(struct hs_infra_pcs *pcs, const char *text)
{
    assert_int_equal(hs_infra_pcs_find(pcs, text, strlen(text)), 0);
}

static void expect(const struct hs_infra_pcs *pcs, size_t i, const char *text, const char *path,
                   uint64_t pc)
{
    char found[64];
    assert_true(i < pcs->count);
    assert_string_equal(text_at(pcs, i, found), text);
    assert_int_equal(pcs->pcs[i].pc, pc);
    if (path) {
        assert_true(pcs->pcs[i].module != HS_INFRA_NOWHERE);
        assert_string_equal(pcs->modules[pcs->pcs[i].module].path, path);
    } else {
        assert_int_equal(pcs->pcs[i].module, HS_INFRA_NOWHERE);
    }
}

/* The dump with the later time counts, also for strings in front, though it comes first here. */
static void the_latest_map_counts(void **state)
{
    (void)state;
    static const char later[] =
        DUMP("1", "20",
             MAPS("{\"sa\":\"5000\",\"sz\":\"1000\",\"mf\":\"/a b\"},"
                  "{\"sa\":\"7000\",\"sz\":\"1000\",\"mf\":\"/a b\"},"
                  "{\"sa\":\"9000\",\"sz\":\"1000\",\"mf\":\"/lib\",\"fo\":\"400\","
                  "\"build_id\":\"AB01\"},{\"sa\":\"b000\",\"sz\":\"1000\"}"));
    static const char old_map[] =
        DUMP("1", "9", MAPS("{\"sa\":\"5000\",\"sz\":\"9000\",\"mf\":\"/old\"}"));
    static const char earlier[] =
        DUMP("1", "10",
             STRINGS("{\"string\":\"pc:5010\",\"id\":1},{\"id\":2,\"string\" : \"pc:7010\" },"
                     "{\"id\":3,\"string\":\"pc:9010\"},{\"id\":4,\"string\":\"pc:b010\"},"
                     "{\"id\":5,\"string\":\"pc:6000\"}"));
    static const char other[] = DUMP("2", "5", STRINGS("{\"id\":6,\"string\":\"p\\u0063:5010\"}"));
    char text[4096];
    snprintf(text, sizeof(text), "{\"traceEvents\":[%s,%s,%s,%s]}", later, old_map, earlier, other);
    struct hs_infra_pcs pcs;
    find(&pcs, text);
    assert_int_equal(pcs.count, 6);
    expect(&pcs, 0, "\"pc:5010\"", "/a b", 0x10);
    expect(&pcs, 1, "\"pc:7010\"", "/a b", 0x2010); /* from the first region of the file on */
    expect(&pcs, 2, "\"pc:9010\"", "/lib", 0x410);
    expect(&pcs, 3, "\"pc:b010\"", NULL, 0xb010);       /* no file is there */
    expect(&pcs, 4, "\"pc:6000\"", NULL, 0x6000);       /* between regions */
    expect(&pcs, 5, "\"p\\u0063:5010\"", NULL, 0x5010); /* another process */
    const struct hs_infra_module *lib = &pcs.modules[pcs.pcs[2].module];
    assert_int_equal(lib->build_id_bytes, 2);
    assert_memory_equal(lib->build_id, "\xAB\x01", 2);
    assert_false(pcs.is_bad);
    hs_infra_pcs_deinit(&pcs);
}

static void what_is_no_address(void **state)
{
    (void)state;
    static const char strings[] =
        DUMP("1", "1",
             STRINGS("{\"id\":1,\"string\":\"pc:\"},{\"id\":2,\"string\":\"pc:xyz\"},"
                     "{\"id\":3,\"string\":\"pc:10 \"},{\"id\":4,\"string\":\"PC:10\"},"
                     "{\"id\":5,\"string\":7},{\"id\":\"pc:10\"},\"pc:10\","
                     "{\"id\":6,\"string\":\"pc:12345678901234567\"}"));
    static const char event[] =
        "{\"ph\":\"X\",\"pid\":1,\"name\":\"pc:10\",\"args\":"
        "{\"stackFrames\":{\"1\":{\"name\":\"pc:10\"}},\"string\":\"pc:10\"}}";
    char text[4096];
    snprintf(text, sizeof(text), "[%s,%s]", strings, event);
    struct hs_infra_pcs pcs;
    find(&pcs, text);
    assert_int_equal(pcs.count, 0);
    hs_infra_pcs_deinit(&pcs);
}

/* A list of events need not end. */
static void the_older_form(void **state)
{
    (void)state;
    static const char text[] =
        "[{\"ph\":\"M\",\"pid\":3,\"name\":\"stackFrames\",\"args\":{\"stackFrames\":{"
        "\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"pc:1ff\",\"parent\":\"1\"}}}}," DUMP(
            "3", "1", MAPS("{\"sa\":\"100\",\"sz\":\"100\",\"mf\":\"/x\"}"));
    struct hs_infra_pcs pcs;
    find(&pcs, text);
    assert_int_equal(pcs.count, 1);
    expect(&pcs, 0, "\"pc:1ff\"", "/x", 0xff);
    assert_true(pcs.is_cut);
    hs_infra_pcs_deinit(&pcs);
    find(&pcs, "{\"traceEvents\":[{]}");
    assert_true(pcs.is_bad && !pcs.is_cut);
    hs_infra_pcs_deinit(&pcs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_map_counts),
        cmocka_unit_test(what_is_no_address),
        cmocka_unit_test(the_older_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
