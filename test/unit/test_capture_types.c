/* Given types in a snapshot, from a region that an honest client has written, and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/region/capture.h"
#include "collect/region/record_types.h"
#include "trace/heap_parts.h"

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(4096);
    f->w.header->sections[HS_SECTION_TYPES].count = HS_TYPE_OTHER + 1;
    for (uint32_t i = 0; i < 4; i++) {
        player_birth(&f->p, f->stack + i, 1000, 0);
    }
    *state = f;
    return 0;
}

static void set_type(struct fixture *f, uint32_t number, uint32_t type_id)
{
    struct hs_stack_v1 *stack = region_writer_at(&f->w, HS_SECTION_STACKS, f->stack + number);
    stack->type_id = type_id;
}

static struct hs_snapshot *capture(struct fixture *f, const struct hs_record_types *found)
{
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    region.types = found;
    region.has_blocks = true;
    region.block_epoch_max = UINT64_MAX;
    assert_int_equal(hs_capture(&region, true, 5000, &snap), 0);
    hs_region_close(&region);
    for (uint32_t i = 1; i < snap->type_count; i++) {
        assert_true(snap->types[i - 1].id < snap->types[i].id);
    }
    return snap;
}

static const char *name_of(const struct hs_snapshot *snap, uint16_t id)
{
    for (uint32_t i = 0; i < snap->type_count; i++) {
        if (snap->types[i].id == id) {
            return snap->types[i].name;
        }
    }
    return id == 0 ? "" : NULL;
}

/* The type of the only part and block of a stack. */
static const char *type_of(const struct fixture *f, const struct hs_snapshot *snap, uint32_t number)
{
    const char *name = NULL;
    for (size_t i = 0; i < snap->part_count[HS_PARTS_LIVE]; i++) {
        const struct hs_snap_part *part = &snap->parts[HS_PARTS_LIVE][i];
        if (part->key.stack_id == f->stack + number) {
            name = name_of(snap, part->key.type_id);
        }
    }
    assert_non_null(name);
    for (size_t i = 0; i < snap->block_count; i++) {
        if (snap->blocks[i].stack_id == f->stack + number) {
            assert_string_equal(name_of(snap, snap->blocks[i].type_id), name);
        }
    }
    return name;
}

static void test_given_types(void **state)
{
    struct fixture *f = *state;
    set_type(f, 0, region_writer_type(&f->w, "Node"));
    set_type(f, 1, region_writer_type(&f->w, "bad \xff\tbytes"));
    set_type(f, 2, HS_TYPE_OTHER);
    struct hs_snapshot *snap = capture(f, NULL);
    assert_true(snap->has_types);
    assert_int_equal(snap->bad_count, 0);
    assert_int_equal(snap->block_count, 4);
    assert_string_equal(type_of(f, snap, 0), "Node");
    assert_string_equal(type_of(f, snap, 1), "bad \xef\xbf\xbd bytes");
    assert_string_equal(type_of(f, snap, 2), "(other)");
    assert_string_equal(type_of(f, snap, 3), HS_PART_NOT_READ_NAME);
    hs_snapshot_free(snap);
}

/* A given type has precedence over what was found; what has none keeps it. */
static void test_found_types(void **state)
{
    struct fixture *f = *state;
    const char *names[] = { "", "Found" };
    const struct hs_record_types found = { .names = names, .name_count = 2 };
    set_type(f, 0, region_writer_type(&f->w, "Node"));
    struct hs_snapshot *snap = capture(f, &found);
    assert_string_equal(type_of(f, snap, 0), "Node");
    assert_string_equal(type_of(f, snap, 3), HS_PART_NOT_READ_NAME); /* no record was looked at */
    hs_snapshot_free(snap);
}

static void test_none_is_given(void **state)
{
    struct fixture *f = *state;
    region_writer_type(&f->w, "of no block");
    struct hs_snapshot *snap = capture(f, NULL);
    assert_false(snap->has_types);
    assert_int_equal(snap->type_count, 0);
    assert_string_equal(type_of(f, snap, 0), "");
    hs_snapshot_free(snap);
}

static void test_ids_and_texts_that_do_not_exist(void **state)
{
    struct fixture *f = *state;
    uint32_t type_id = region_writer_type(&f->w, "Node");
    struct hs_name_v2 *type = region_writer_at(&f->w, HS_SECTION_TYPES, type_id);
    set_type(f, 0, type_id);
    set_type(f, 1, type_id + 1);
    set_type(f, 2, UINT32_MAX);
    struct hs_snapshot *snap = capture(f, NULL);
    assert_int_equal(snap->bad_count, 2);
    assert_string_equal(type_of(f, snap, 0), "Node");
    assert_string_equal(type_of(f, snap, 1), HS_PART_NOT_READ_NAME);
    hs_snapshot_free(snap);
    type->name_off = UINT32_MAX;
    snap = capture(f, NULL);
    assert_string_equal(type_of(f, snap, 0), "");
    hs_snapshot_free(snap);
    type->hash = 0; /* not whole */
    snap = capture(f, NULL);
    assert_string_equal(type_of(f, snap, 0), "");
    hs_snapshot_free(snap);
}

/* An older client has no room for types. */
static void test_no_section(void **state)
{
    struct fixture *f = *state;
    f->w.header->sections[HS_SECTION_TYPES].count = 0;
    set_type(f, 0, 1);
    struct hs_snapshot *snap = capture(f, NULL);
    assert_int_equal(snap->bad_count, 1);
    assert_false(snap->has_types);
    hs_snapshot_free(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_given_types, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_found_types, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_none_is_given, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_ids_and_texts_that_do_not_exist, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_no_section, set_up, capture_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
