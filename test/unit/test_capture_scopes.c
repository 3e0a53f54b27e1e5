/* Scopes in a snapshot, from a region that an honest client has written, and from hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/region/capture.h"

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(4096);
    f->w.header->sections[HS_SECTION_SCOPES].count = HS_SCOPE_OTHER + 1;
    *state = f;
    return 0;
}

static struct hs_stack_v1 *stack_of(struct fixture *f, uint32_t number)
{
    return region_writer_at(&f->w, HS_SECTION_STACKS, f->stack + number);
}

static struct hs_snapshot *capture(struct fixture *f)
{
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_capture(&region, true, 5000, &snap), 0);
    hs_region_close(&region);
    for (uint32_t i = 0; i < snap->scope_count; i++) {
        assert_true(snap->scopes[i].parent < i || snap->scopes[i].parent == 0);
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        assert_true(snap->stacks[i].scope_id < snap->scope_count || snap->stacks[i].scope_id == 0);
    }
    return snap;
}

static void test_scopes(void **state)
{
    struct fixture *f = *state;
    uint32_t outer = region_writer_scope(&f->w, "outer", 0);
    uint32_t inner = region_writer_scope(&f->w, "tenant=a", outer);
    struct hs_thread_block_v1 *block = region_writer_at(&f->w, HS_SECTION_BLOCKS, 0);
    f->w.header->sections[HS_SECTION_BLOCKS].count = 1;
    block->lost_scope_count = 3;
    stack_of(f, 0)->scope_id = inner;
    stack_of(f, 1)->scope_id = HS_SCOPE_OTHER;
    player_birth(&f->p, f->stack, 5000, 0);
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->bad_count, 0);
    assert_int_equal(snap->scope_count, inner + 1);
    assert_string_equal(snap->scopes[0].name, "");
    assert_string_equal(snap->scopes[HS_SCOPE_OTHER].name, "(other)");
    assert_string_equal(snap->scopes[outer].name, "outer");
    assert_string_equal(snap->scopes[inner].name, "tenant=a");
    assert_int_equal(snap->scopes[outer].parent, 0);
    assert_int_equal(snap->scopes[inner].parent, outer);
    assert_int_equal(snap->stacks[f->stack].scope_id, inner);
    assert_int_equal(snap->stacks[f->stack + 1].scope_id, HS_SCOPE_OTHER);
    assert_int_equal(snap->stacks[f->stack + 2].scope_id, 0);
    assert_int_equal(snap->lost_scope_count, 3);
    hs_snapshot_free(snap);
}

static void test_parents_that_make_a_circle(void **state)
{
    struct fixture *f = *state;
    uint32_t a = region_writer_scope(&f->w, "a", 0);
    uint32_t b = region_writer_scope(&f->w, "b", a);
    struct hs_name_v2 *scope = region_writer_at(&f->w, HS_SECTION_SCOPES, a);
    scope->parent = b;
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->scopes[a].parent, 0);
    assert_int_equal(snap->scopes[b].parent, a);
    assert_int_equal(snap->bad_count, 1);
    hs_snapshot_free(snap);
    scope->parent = a; /* itself */
    snap = capture(f);
    assert_int_equal(snap->scopes[a].parent, 0);
    hs_snapshot_free(snap);
    scope->parent = UINT32_MAX;
    snap = capture(f);
    assert_int_equal(snap->scopes[a].parent, 0);
    hs_snapshot_free(snap);
}

static void test_ids_that_do_not_exist(void **state)
{
    struct fixture *f = *state;
    stack_of(f, 0)->scope_id = HS_SCOPE_OTHER + 1;
    stack_of(f, 1)->scope_id = UINT32_MAX;
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->stacks[f->stack].scope_id, 0);
    assert_int_equal(snap->stacks[f->stack + 1].scope_id, 0);
    assert_int_equal(snap->bad_count, 2);
    hs_snapshot_free(snap);
}

/* A client of version 1, or an older one of version 2, has no scopes at all. */
static void test_no_section(void **state)
{
    struct fixture *f = *state;
    f->w.header->sections[HS_SECTION_SCOPES].count = 0;
    stack_of(f, 0)->scope_id = 1;
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->scope_count, 0);
    assert_int_equal(snap->stacks[f->stack].scope_id, 0);
    hs_snapshot_free(snap);
}

static void test_names(void **state)
{
    struct fixture *f = *state;
    char longest[1000];
    memset(longest, 'n', sizeof(longest));
    longest[999] = '\0';
    uint32_t cut = region_writer_scope(&f->w, longest, 0);
    uint32_t bad = region_writer_scope(&f->w, "bell\a tab\t bad \xff end", 0);
    uint32_t nowhere = region_writer_scope(&f->w, "moved", 0);
    ((struct hs_name_v2 *)region_writer_at(&f->w, HS_SECTION_SCOPES, nowhere))->name_off =
        UINT32_MAX;
    uint32_t torn = region_writer_scope(&f->w, "not whole", cut);
    ((struct hs_name_v2 *)region_writer_at(&f->w, HS_SECTION_SCOPES, torn))->hash = 0;
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(strlen(snap->scopes[cut].name), HS_SCOPE_NAME_BYTES - 1);
    assert_string_equal(snap->scopes[bad].name, "bell\xef\xbf\xbd tab  bad \xef\xbf\xbd end");
    assert_string_equal(snap->scopes[nowhere].name, "");
    assert_string_equal(snap->scopes[torn].name, "");
    assert_int_equal(snap->scopes[torn].parent, 0);
    hs_snapshot_free(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scopes, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_parents_that_make_a_circle, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ids_that_do_not_exist, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_no_section, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, capture_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
