/*
 * Tests of collect/region/heap_selection, and of the client that reads its two forms
 * (client/tables/heaps).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/tables/heaps.h"
#include "collect/region/heap_selection.h"

#define OFF  HS_INTERVAL_OFF
#define SAME HS_INTERVAL_SAME

struct rule {
    const char *name;
    uint64_t interval_bytes;
};

static struct hs_heap_selection select_heaps(const struct rule *rules, bool is_without_others,
                                             uint64_t *interval_bytes)
{
    struct hs_heap_selection s = { .is_without_others = is_without_others };
    for (size_t i = 0; rules[i].name; i++) {
        assert_null(hs_heap_selection_add(&s, rules[i].name, strlen(rules[i].name),
                                          rules[i].interval_bytes));
    }
    hs_heap_selection_settle(&s, interval_bytes);
    return s;
}

static const struct {
    struct rule rules[4];
    bool is_without_others;
    uint64_t session_bytes;                         /* that becomes of 4096 */
    uint64_t malloc_bytes, arena_bytes, pool_bytes; /* of these heaps */
    const char *text;
} cases[] = {
    { { { NULL, 0 } }, false, 4096, SAME, SAME, SAME, "" },
    { { { NULL, 0 } }, true, 4096, OFF, OFF, OFF, "libc.malloc=0,*=0" },
    { { { "libc.malloc", SAME } }, true, 4096, SAME, OFF, OFF, "libc.malloc,*=0" },
    { { { "libc.malloc", OFF } }, false, 4096, OFF, SAME, SAME, "libc.malloc=0" },
    { { { "arena", 1 }, { "po?l*", SAME } },
      true,
      4096,
      OFF,
      1,
      SAME,
      "libc.malloc=0,arena=1,po?l*,*=0" },
    /* malloc's interval becomes the session's; -i is that of the others. */
    { { { "libc.malloc", 64 }, { "arena", SAME }, { "pool", 64 } },
      false,
      64,
      SAME,
      4096,
      SAME,
      "libc.malloc,arena=4096,pool,*=4096" },
    { { { "libc.malloc", 4096 }, { "arena", 4096 } },
      false,
      4096,
      SAME,
      SAME,
      SAME,
      "libc.malloc,arena" },
    { { { "libc.malloc", 64 }, { "arena", SAME } },
      true,
      64,
      SAME,
      4096,
      OFF,
      "libc.malloc,arena=4096,*=0" },
    /* The first that matches counts, and nothing behind * does. */
    { { { "arena", OFF }, { "*", 7 }, { "pool", 9 } },
      true,
      7,
      SAME,
      OFF,
      SAME,
      "libc.malloc,arena=0" },
    { { { "libc.malloc", SAME }, { "l*", OFF }, { "*", 8 } },
      false,
      4096,
      SAME,
      8,
      8,
      "libc.malloc,l*=0,*=8" },
    { { { "*", OFF } }, false, 4096, OFF, OFF, OFF, "libc.malloc=0,*=0" },
    { { { "a,r=a", 3 } }, false, 4096, SAME, SAME, SAME, "libc.malloc,a?r?a=3" },
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[HS_CTL_HEAPS_BYTES];
        uint64_t interval_bytes = 4096;
        struct hs_heap_selection s =
            select_heaps(cases[i].rules, cases[i].is_without_others, &interval_bytes);
        print_message("  %s\n", cases[i].text);
        assert_int_equal(interval_bytes, cases[i].session_bytes);
        assert_int_equal(hs_heap_selection_interval(&s, "libc.malloc"), cases[i].malloc_bytes);
        assert_int_equal(hs_heap_selection_interval(&s, "arena"), cases[i].arena_bytes);
        assert_int_equal(hs_heap_selection_interval(&s, "pool"), cases[i].pool_bytes);
        hs_heap_selection_text(&s, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(hs_heap_selection_is_all(&s), text[0] == '\0');
        bool is_any = cases[i].malloc_bytes != OFF || cases[i].arena_bytes != OFF ||
                      cases[i].pool_bytes != OFF;
        assert_int_equal(hs_heap_selection_check(&s) == NULL, is_any);
    }
}

/* What the client makes of the text is what the collector would write. */
static void test_client_agrees(void **state)
{
    (void)state;
    struct hs_region_control_v1 *control = &hs_control_page.control;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[HS_CTL_HEAPS_BYTES];
        struct hs_heap_page page;
        uint64_t interval_bytes = 4096;
        struct hs_heap_selection s =
            select_heaps(cases[i].rules, cases[i].is_without_others, &interval_bytes);
        hs_heap_selection_text(&s, text);
        if (strchr(text, '?')) {
            continue; /* what cannot be in the text became a pattern */
        }
        print_message("  %s\n", text);
        memset(control, 0, sizeof(*control));
        /* of an earlier selection */
        memset(control->heap_selection.rules, 'x', sizeof(control->heap_selection.rules));
        hs_heaps_select(text);
        hs_heap_selection_page(&s, interval_bytes, interval_bytes, &page);
        assert_int_equal(control->flags, page.is_without_malloc ? HS_CONTROL_NO_MALLOC : 0);
        /* All of it, so that the collector sees that it has nothing to change. */
        assert_memory_equal(&control->heap_selection, &page.selection, sizeof(page.selection));
    }
}

static void test_text_of_a_user(void **state)
{
    (void)state;
    struct hs_region_control_v1 *control = &hs_control_page.control;
    static const struct {
        const char *text;
        uint32_t rule_count, flags;
        uint64_t others;
    } texts[] = {
        { "arena=1", 1, 0, SAME },
        { "libc.*=0", 1, HS_CONTROL_NO_MALLOC, SAME },
        { "libc.malloc=5,*=0", 0, 0, OFF },
        { "*=0,libc.malloc", 0, HS_CONTROL_NO_MALLOC, OFF },
        { ",,=,a=b,", 4, 0, SAME },
        { "a=99999999999999999999999999", 1, 0, SAME },
        { "*=1K", 0, 0, 1 },
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        print_message("  %s\n", texts[i].text);
        memset(control, 0xFF, sizeof(*control)); /* of the session before */
        control->flags = HS_CONTROL_NO_MALLOC;
        hs_heaps_select(texts[i].text);
        assert_int_equal(control->flags, texts[i].flags);
        assert_int_equal(control->heap_selection.rule_count, texts[i].rule_count);
        assert_int_equal(control->heap_selection.other_interval_bytes, texts[i].others);
    }
    char many[40 * 3 + 1] = "";
    for (int i = 0; i < 40; i++) {
        strcat(many, "a=,");
    }
    hs_heaps_select(many);
    assert_int_equal(control->heap_selection.rule_count, HS_REGION_HEAP_RULES);
}

static void test_wrong(void **state)
{
    (void)state;
    char name[HS_HEAP_NAME_BYTES + 1];
    uint64_t interval_bytes = 4096;
    struct hs_heap_selection s = { 0 };
    memset(name, 'x', sizeof(name));
    assert_non_null(hs_heap_selection_add(&s, "", 0, SAME));
    assert_non_null(hs_heap_selection_add(&s, name, HS_HEAP_NAME_BYTES, SAME));
    for (uint32_t i = 0; i < HS_REGION_HEAP_RULES; i++) {
        assert_null(hs_heap_selection_add(&s, name, HS_HEAP_NAME_BYTES - 1, 1 + i));
    }
    assert_non_null(hs_heap_selection_add(&s, "y", 1, SAME));
    hs_heap_selection_settle(&s, &interval_bytes);
    assert_null(hs_heap_selection_check(&s));
    assert_int_equal(hs_heap_selection_interval_count(&s), HS_REGION_HEAP_RULES);
    char text[HS_CTL_HEAPS_BYTES];
    s.other_interval_bytes = HS_INTERVAL_BYTES_MAX;
    for (uint32_t i = 0; i < HS_REGION_HEAP_RULES; i++) {
        s.rules[i].interval_bytes = HS_INTERVAL_BYTES_MAX;
    }
    hs_heap_selection_text(&s, text); /* the longest */
    assert_true(strlen(text) > HS_REGION_HEAP_RULES * HS_HEAP_NAME_BYTES);
    assert_int_equal(hs_heap_selection_interval_count(&s), 1);
    s.rules[3].interval_bytes = HS_INTERVAL_BYTES_MAX + 1;
    assert_non_null(hs_heap_selection_check(&s));
    s.rules[3].interval_bytes = 1;
    s.other_interval_bytes = HS_INTERVAL_BYTES_MAX + 1;
    assert_non_null(hs_heap_selection_check(&s));
    s.other_interval_bytes = 0;
    memset(s.rules[3].pattern, 'x', sizeof(s.rules[3].pattern));
    assert_non_null(hs_heap_selection_check(&s));
    s.rules[3].pattern[0] = '\0';
    assert_non_null(hs_heap_selection_check(&s));
    s.rule_count = HS_REGION_HEAP_RULES + 1;
    assert_non_null(hs_heap_selection_check(&s));
}

/* A budget widens all intervals by one factor. */
static void test_factor(void **state)
{
    (void)state;
    static const struct rule rules[] = { { "arena", 16 },
                                         { "off", OFF },
                                         { "same", SAME },
                                         { "most", HS_INTERVAL_BYTES_MAX / 2 },
                                         { NULL, 0 } };
    uint64_t interval_bytes = 4096;
    struct hs_heap_page page;
    struct hs_heap_selection s = select_heaps(rules, false, &interval_bytes);
    s.other_interval_bytes = 100;
    hs_heap_selection_page(&s, 4096, 16384, &page);
    assert_int_equal(page.selection.rules[0].interval_bytes, 64);
    assert_int_equal(page.selection.rules[1].interval_bytes, OFF);
    assert_int_equal(page.selection.rules[2].interval_bytes, SAME);
    assert_int_equal(page.selection.rules[3].interval_bytes, HS_INTERVAL_BYTES_MAX);
    assert_int_equal(page.selection.other_interval_bytes, 400);
    hs_heap_selection_page(&s, 4096, 4096, &page); /* back */
    assert_int_equal(page.selection.rules[0].interval_bytes, 16);
    assert_int_equal(page.selection.rules[3].interval_bytes, HS_INTERVAL_BYTES_MAX / 2);
    hs_heap_selection_page(&s, 4096, 1, &page); /* what a target may have written */
    assert_int_equal(page.selection.rules[0].interval_bytes, 16);
}

static uint64_t python_bytes(const struct rule *rules, bool is_without_others)
{
    uint64_t interval_bytes = HS_INTERVAL_BYTES_DEFAULT;
    struct hs_heap_selection s = { .is_without_others = is_without_others };
    for (size_t i = 0; rules[i].name; i++) {
        assert_null(hs_heap_selection_add(&s, rules[i].name, strlen(rules[i].name),
                                          rules[i].interval_bytes));
    }
    hs_heap_selection_add_defaults(&s);
    hs_heap_selection_settle(&s, &interval_bytes);
    assert_int_equal(hs_heap_selection_interval(&s, "arena"),
                     is_without_others ? OFF : SAME); /* no rule here names it */
    return hs_heap_selection_interval(&s, "python.obj");
}

/* What is said of Python's objects, and that nobody asked for them to be there. */
static void test_default_of_python(void **state)
{
    (void)state;
    const uint64_t usual = HS_INTERVAL_BYTES_DEFAULT_PYTHON;
    assert_int_equal(python_bytes((struct rule[]){ { NULL, 0 } }, false), usual);
    assert_int_equal(python_bytes((struct rule[]){ { "python.obj", 1 }, { NULL, 0 } }, false), 1);
    assert_int_equal(python_bytes((struct rule[]){ { "python*", OFF }, { NULL, 0 } }, false), OFF);
    assert_int_equal(python_bytes((struct rule[]){ { "python*", SAME }, { NULL, 0 } }, true),
                     usual);
    assert_int_equal(python_bytes((struct rule[]){ { "libc.malloc", SAME }, { NULL, 0 } }, true),
                     OFF);
    struct hs_heap_selection full = { .rule_count = HS_REGION_HEAP_RULES };
    hs_heap_selection_add_defaults(&full);
    assert_int_equal(full.rule_count, HS_REGION_HEAP_RULES);
}

static void test_asked(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        { "python.obj", SAME }, { "mmap", OFF }, { "arena", OFF }, { NULL, 0 }
    };
    uint64_t interval_bytes = 4096;
    struct hs_heap_selection s = select_heaps(rules, false, &interval_bytes);
    assert_false(hs_heap_selection_is_asked(&s, 0));
    assert_false(hs_heap_selection_is_asked(&s, 1));
    assert_true(hs_heap_selection_is_asked(&s, 2));
    s = select_heaps(rules, true, &interval_bytes);
    assert_true(hs_heap_selection_is_asked(&s, 0));
    assert_false(hs_heap_selection_is_asked(&s, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),          cmocka_unit_test(test_client_agrees),
        cmocka_unit_test(test_text_of_a_user), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_factor),         cmocka_unit_test(test_default_of_python),
        cmocka_unit_test(test_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
