/*
 * Functions that an interpreter runs: from a snapshot, through trace/writer_intern.c, to a profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/model/symbol_packets.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "trace_bytes.h"

/* A stack: main calls a function of an interpreter, at two lines. */
static struct hs_snapshot *scripted(uint32_t pid, uint64_t time_ns)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, 2000000, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t main_frame = fixture_frame(snap, exe, 0x2100, 0);
    snap->code_names = calloc(3, sizeof(snap->code_names[0]));
    snap->code_name_count = 3;
    for (uint32_t i = 1; i < 3; i++) {
        snap->code_names[i] = (struct hs_snap_code_name){
            .function = "Shop.buy",
            .file = "/src/shop.py",
            .line = 10 + i,
            .first_line = 3,
            .language = HS_LANGUAGE_PYTHON,
        };
        uint32_t frame = fixture_frame(snap, 0, i, HS_FRAME_NAMED);
        struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ frame, main_frame }, 2);
        stack->alloc = stack->live = fixture_amount(1000 * i, 10);
    }
    return snap;
}

/* Their names, files and lines are in the file, and no symbolizer looks for them. */
static void test_functions_of_an_interpreter(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    struct hs_symbol_wanted wanted = { 0 };
    const struct hs_skipped_files skipped = { 0 };
    struct hs_snapshot *snap = scripted(42, 5000000);
    assert_int_equal(hs_symbol_packets_add_snapshot(&wanted, snap, &skipped, NULL), 0);
    assert_int_equal(wanted.pc_ids.count, 1); /* main */
    hs_symbol_wanted_deinit(&wanted);
    dump_and_free(writer, snap);
    dump_and_free(writer, scripted(43, 6000000));
    finish_writer(writer);
    struct hs_profile *p = NULL;
    assert_int_equal(hs_profile_load_memory(buf.data, buf.bytes, &p, NULL), 0);
    uint32_t lines[2], count = 0;
    for (uint32_t i = 0; i < p->frame_count; i++) {
        const struct hs_profile_frame *frame = &p->frames[i];
        if (frame->kind == HS_FRAME_KIND_INTERPRETED) {
            assert_true(count < 2 && frame->line_count == 1);
            const struct hs_profile_line *line = &p->lines[frame->line_first];
            assert_string_equal(hs_profile_string(p, p->modules[frame->module].path), "[python]");
            assert_string_equal(hs_profile_string(p, line->function), "Shop.buy");
            assert_string_equal(hs_profile_string(p, line->file), "/src/shop.py");
            lines[count++] = line->line;
        }
    }
    assert_int_equal(count, 2);
    assert_true(lines[0] == 11 && lines[1] == 12);
    assert_int_equal(hs_profile_wanted(p, &wanted), 0);
    assert_int_equal(wanted.pc_ids.count, 1);
    hs_symbol_wanted_deinit(&wanted);
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_of_an_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
