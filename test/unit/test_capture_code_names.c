/* Names of frames in a snapshot, from a region of an honest client, and from hostile ones. */
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
    *state = capture_fixture_begin(4096);
    return 0;
}

static struct hs_snapshot *capture(struct fixture *f)
{
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_capture(&region, true, 5000, &snap), 0);
    hs_region_close(&region);
    return snap;
}

/* A stack of one frame with this name; returns the frame's id. */
static uint32_t stack_of_name(struct fixture *f, const struct hs_code_name_v2 *name)
{
    uint32_t id = region_writer_code_name(&f->w, name);
    uint32_t frame = region_writer_frame(&f->w, id, HS_MODULE_ID_MARKER, HS_FRAME_NAMED);
    region_writer_stack(&f->w, &frame, 1);
    return frame;
}

static const struct hs_snap_code_name *name_of(const struct hs_snapshot *snap, uint32_t frame)
{
    assert_int_equal(snap->frames[frame].flags, HS_FRAME_NAMED);
    assert_true(snap->frames[frame].pc < snap->code_name_count);
    return &snap->code_names[snap->frames[frame].pc];
}

static void test_names(void **state)
{
    struct fixture *f = *state;
    uint32_t frame = stack_of_name(
        f, &(struct hs_code_name_v2){ .hash = 1,
                                      .function_off = region_writer_text(&f->w, "Shop.b\xc3\xbcy"),
                                      .file_off = region_writer_text(&f->w, "/src/shop.py"),
                                      .line = 70000,
                                      .first_line = 3,
                                      .language = HS_LANGUAGE_PYTHON });
    struct hs_snapshot *snap = capture(f);
    const struct hs_snap_code_name *name = name_of(snap, frame);
    assert_string_equal(name->function, "Shop.b\xc3\xbcy");
    assert_string_equal(name->file, "/src/shop.py");
    assert_int_equal(name->line, 70000);
    assert_int_equal(name->first_line, 3);
    assert_int_equal(name->language, HS_LANGUAGE_PYTHON);
    assert_int_equal(snap->bad_count, 0);
    hs_snapshot_free(snap);
}

/* Interpreters of another version, and those whose structures are others than expected. */
static void test_interpreters_that_are_not_read(void **state)
{
    struct fixture *f = *state;
    f->w.header->script_states[HS_LANGUAGE_PERL] = HS_SCRIPT_STATE_UNKNOWN;
    f->w.header->script_states[HS_LANGUAGE_RUBY] = HS_SCRIPT_STATE_REFUSED;
    f->w.header->script_states[HS_LANGUAGE_PHP] = HS_SCRIPT_STATE_READ;
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->unread_interpreters, 1U << HS_LANGUAGE_PERL | 1U << HS_LANGUAGE_RUBY);
    hs_snapshot_free(snap);
}

static void test_names_that_make_no_sense(void **state)
{
    struct fixture *f = *state;
    static char longest[HS_CODE_FUNCTION_BYTES + 1];
    memset(longest, 'a', HS_CODE_FUNCTION_BYTES);
    uint32_t text = region_writer_text(&f->w, "a\xff\x1b[2J\xc2\x9b");
    uint32_t bad = stack_of_name(f, &(struct hs_code_name_v2){ 1, text, 1U << 30, 1, 1, 77, 0 });
    uint32_t not_whole = stack_of_name(f, &(struct hs_code_name_v2){ 0, text, text, 1, 1, 1, 0 });
    uint32_t too_long = stack_of_name(
        f, &(struct hs_code_name_v2){ 1, region_writer_text(&f->w, longest), 0, 1, 1, 1, 0 });
    struct hs_snapshot *snap = capture(f);
    assert_string_equal(name_of(snap, bad)->function, "a??[2J??");
    assert_string_equal(name_of(snap, bad)->file, "");
    assert_int_equal(name_of(snap, bad)->language, HS_LANGUAGE_OTHER);
    assert_string_equal(name_of(snap, not_whole)->function, "");
    assert_int_equal(name_of(snap, not_whole)->line, 0);
    assert_string_equal(name_of(snap, too_long)->function, "");
    hs_snapshot_free(snap);
}

static void test_frames_that_name_nothing(void **state)
{
    struct fixture *f = *state;
    const uint32_t flags = HS_FRAME_NAMED | HS_FRAME_MARKER | HS_FRAME_EXACT;
    uint32_t name = region_writer_code_name(&f->w, &(struct hs_code_name_v2){ .hash = 1 });
    uint32_t odd = region_writer_frame(&f->w, name, 1000, flags);
    uint32_t beyond = region_writer_frame(&f->w, name + 1, HS_MODULE_ID_MARKER, HS_FRAME_NAMED);
    region_writer_stack(&f->w, (uint32_t[]){ odd, beyond }, 2);
    struct hs_snapshot *snap = capture(f);
    assert_int_equal(snap->frames[odd].flags, HS_FRAME_NAMED);
    assert_int_equal(snap->frames[odd].module_id, HS_MODULE_ID_MARKER);
    assert_int_equal(snap->frames[beyond].flags, HS_FRAME_MARKER);
    assert_int_equal(snap->bad_count, 1);
    hs_snapshot_free(snap);
}

/* Clients before this section wrote shorter headers. */
static void test_older_headers(void **state)
{
    struct fixture *f = *state;
    struct hs_region region;
    stack_of_name(f, &(struct hs_code_name_v2){ .hash = 1 });
    for (unsigned i = 0; i < 3; i++) {
        const struct hs_section_v1 *first_left_out =
            hs_region_section(f->w.header, HS_SECTION_CODE_NAMES - i);
        f->w.header->header_bytes =
            (uint32_t)((const char *)first_left_out - (const char *)f->w.header);
        assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &region, NULL),
                         0);
        assert_int_equal(hs_region_count(&region, HS_SECTION_CODE_NAMES), 0);
        assert_int_equal(hs_region_section_of(&region, HS_SECTION_LIFETIMES)->max_count > 0, i < 2);
        hs_region_close(&region);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_names_that_make_no_sense, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_frames_that_name_nothing, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_interpreters_that_are_not_read, set_up,
                                        capture_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_older_headers, set_up, capture_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
