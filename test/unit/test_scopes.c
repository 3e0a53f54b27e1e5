/* The table of scopes, on a real region: interning, what has no room, and several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/tables/scopes.h"
#include "client_fixture.h"

#define NAMES 2000U

static int set_up(void **state)
{
    (void)state;
    return fixture_region() == 0 && hs_scopes_init() ? 0 : -1;
}

static uint32_t intern(uint32_t parent, const char *text)
{
    /* The hash of the text may be any: a table must also tell names with equal hashes apart. */
    const struct hs_scope_text name = { text, (uint32_t)strlen(text), 7 };
    return hs_scope_intern(parent, &name);
}

static const struct hs_name_v2 *scope(uint32_t id)
{
    return hs_region_at(HS_SECTION_SCOPES, id);
}

static const char *text_of(uint32_t id)
{
    return hs_region_at(HS_SECTION_BYTES, scope(id)->name_off);
}

static void test_interning(void **state)
{
    (void)state;
    uint32_t a = intern(0, "a"), ab = intern(a, "b"), b = intern(0, "b"), ba = intern(b, "a");
    assert_true(a > HS_SCOPE_OTHER);
    assert_int_equal(intern(0, "a"), a);
    assert_int_equal(intern(a, "b"), ab);
    assert_int_equal(intern(b, "a"), ba);
    assert_int_not_equal(ab, b);
    assert_int_not_equal(intern(ab, "b"), ab);
    assert_int_not_equal(intern(0, "ab"), a);
    assert_int_equal(scope(a)->parent, 0);
    assert_int_equal(scope(ab)->parent, a);
    assert_string_equal(text_of(a), "a");
    assert_string_equal(text_of(ab), "b");
    /* A text is stored once. */
    assert_int_equal(scope(ab)->name_off, scope(b)->name_off);
    assert_int_equal(scope(ba)->name_off, scope(a)->name_off);
}

static uint32_t found[FIXTURE_THREADS_MAX][NAMES];

static void *intern_all(void *arg)
{
    uintptr_t number = (uintptr_t)arg;
    for (uint32_t i = 0; i < NAMES; i++) {
        char text[32];
        snprintf(text, sizeof(text), "of threads %u", i % 50);
        uint32_t parent = i < 50 ? 0 : found[number][i - 50];
        const struct hs_scope_text name = { text, (uint32_t)strlen(text), i % 50 + 1 };
        found[number][i] = hs_scope_intern(parent, &name);
    }
    return NULL;
}

/* Two threads may store a new scope twice; each scope that they get is the right one. */
static void test_threads(void **state)
{
    (void)state;
    fixture_threads(4, intern_all);
    for (uintptr_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < NAMES; i++) {
            char text[32];
            snprintf(text, sizeof(text), "of threads %u", i % 50);
            assert_string_equal(text_of(found[k][i]), text);
            assert_int_equal(scope(found[k][i])->parent, i < 50 ? 0 : found[k][i - 50]);
        }
    }
}

static void test_section_is_full(void **state)
{
    (void)state;
    struct hs_section_v1 *section = &hs_region.header->sections[HS_SECTION_SCOPES];
    uint64_t max_count = section->max_count;
    uint32_t known = intern(0, "known");
    section->max_count = section->count;
    assert_int_equal(intern(0, "no room"), HS_SCOPE_OTHER);
    assert_int_equal(intern(known, "known"), HS_SCOPE_OTHER);
    assert_int_equal(intern(0, "known"), known);
    section->max_count = max_count;
    assert_true(intern(0, "no room") > HS_SCOPE_OTHER);
}

/* Ids mean nothing in the next region. */
static void test_clear(void **state)
{
    (void)state;
    uint32_t before = intern(0, "cleared");
    hs_scopes_clear();
    uint32_t after = intern(0, "cleared");
    assert_int_not_equal(after, before);
    assert_int_equal(intern(0, "cleared"), after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interning),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_section_is_full),
        cmocka_unit_test(test_clear),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
