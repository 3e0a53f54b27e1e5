/* The tables of scopes and types, on a real region: interning, what has no room, and threads. */
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

/* --- types --- */

static const struct hs_name_v2 *type(uint32_t id)
{
    return hs_region_at(HS_SECTION_TYPES, id);
}

static const char *type_text(uint32_t id)
{
    return hs_region_at(HS_SECTION_BYTES, type(id)->name_off);
}

static void test_types(void **state)
{
    (void)state;
    char name[] = "Node";
    uint32_t node = hs_type_intern(name);
    assert_true(node > HS_TYPE_OTHER);
    memset(name, 'x', sizeof(name) - 1);
    assert_int_equal(hs_type_intern("Node"), node);
    assert_int_not_equal(hs_type_intern("Nodes"), node);
    assert_string_equal(type_text(node), "Node");
    assert_int_equal(type(node)->parent, 0);
    assert_int_equal(hs_type_intern(""), 0);
    /* They are not the scopes. */
    uint64_t scope_count = hs_region.header->sections[HS_SECTION_SCOPES].count;
    hs_type_intern("not a scope");
    assert_int_equal(hs_region.header->sections[HS_SECTION_SCOPES].count, scope_count);
}

/* What is too long ends with a whole character. */
static void test_long_types(void **state)
{
    (void)state;
    char name[1000], expected[HS_SCOPE_NAME_BYTES] = { 0 };
    for (unsigned blanks = 0; blanks < 3; blanks++) {
        memset(name, ' ', sizeof(name));
        for (unsigned i = blanks; i + 3 < sizeof(name); i += 3) {
            memcpy(name + i, "\xe2\x82\xac", 3); /* the sign of the euro */
        }
        name[sizeof(name) - 1] = '\0';
        memset(expected, 0, sizeof(expected));
        memcpy(expected, name, (HS_SCOPE_NAME_BYTES - 1 - blanks) / 3 * 3 + blanks);
        assert_string_equal(type_text(hs_type_intern(name)), expected);
    }
    memset(name, 0x80, sizeof(name) - 1); /* no UTF-8 at all */
    assert_int_equal(strlen(type_text(hs_type_intern(name))), HS_SCOPE_NAME_BYTES - 1);
}

static void test_too_many_types(void **state)
{
    (void)state;
    char name[32];
    uint64_t bytes = 0;
    uint32_t known = hs_type_intern("known");
    for (uint32_t i = 0; i < 2 * HS_TYPES_MAX; i++) {
        snprintf(name, sizeof(name), "of many %u", i);
        uint32_t id = hs_type_intern(name);
        assert_true(id < HS_TYPES_MAX);
        assert_true(id == HS_TYPE_OTHER || strcmp(type_text(id), name) == 0);
        bytes = i == HS_TYPES_MAX ? hs_region.header->sections[HS_SECTION_BYTES].count : bytes;
    }
    assert_int_equal(hs_type_intern(name), HS_TYPE_OTHER);
    assert_int_equal(hs_type_intern("known"), known);
    /* The texts of the others are not stored either. */
    assert_int_equal(hs_region.header->sections[HS_SECTION_BYTES].count, bytes);
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
        cmocka_unit_test(test_interning),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_section_is_full), cmocka_unit_test(test_types),
        cmocka_unit_test(test_long_types),      cmocka_unit_test(test_clear),
        cmocka_unit_test(test_too_many_types),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
