/*
 * Tests of watch/receive/watch_state: updates that no worker sends are refused, and leave a state
 * that can be used.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "watch/receive/watch_state.h"
#include "watch/receive/watched_types.h"

/* An update with a heap, a module, two frames and a stack of both, which a test changes. */
struct good {
    Hs__Ctl__Update update;
    Hs__Ctl__WatchedProcess process;
    Hs__Ctl__WatchedHeap heap, *heaps[1];
    Hs__Ctl__WatchedModule module, *modules[1];
    Hs__Ctl__WatchedCodeName name, *names[1];
    Hs__Ctl__WatchedFrames frames;
    Hs__Ctl__WatchedStacks stacks;
    Hs__Ctl__WatchedRows rows;
    Hs__Ctl__WatchedTypes types;
    Hs__Ctl__WatchedType type[2], *type_items[2];
    Hs__Ctl__WatchedParts parts;
    uint32_t part_stack[2], part_type[2];
    double part_figures[4][2];
    Hs__Ctl__WatchedLedger ledger;
    Hs__Ctl__WatchedLedgerLine line, *lines[1];
    uint64_t rel_pc[2];
    uint32_t module_id[2], flags[2];
    uint32_t id[1], heap_id[1], end[1], frame_count[1], frame_id[2];
    uint32_t row_id[1];
    double figures[8];
};

static void fill_columns(struct good *g)
{
    hs__ctl__watched_frames__init(&g->frames);
    hs__ctl__watched_stacks__init(&g->stacks);
    hs__ctl__watched_rows__init(&g->rows);
    g->frames.n_rel_pc = g->frames.n_module_id = g->frames.n_flags = 2;
    g->frames.rel_pc = g->rel_pc;
    g->frames.module_id = g->module_id;
    g->frames.flags = g->flags;
    g->stacks.n_id = g->stacks.n_heap_id = g->stacks.n_end = g->stacks.n_frame_count = 1;
    g->stacks.n_frame_id = 2;
    g->stacks.id = g->id;
    g->stacks.heap_id = g->heap_id;
    g->stacks.end = g->end;
    g->stacks.frame_count = g->frame_count;
    g->stacks.frame_id = g->frame_id;
    g->rows.n_stack_id = g->rows.n_live_bytes = g->rows.n_live_count = g->rows.n_live_bytes_var =
        g->rows.n_live_count_var = g->rows.n_alloc_bytes = g->rows.n_alloc_count =
            g->rows.n_alloc_bytes_var = g->rows.n_alloc_count_var = 1;
    g->rows.stack_id = g->row_id;
    double **const columns[] = { &g->rows.live_bytes,      &g->rows.live_count,
                                 &g->rows.live_bytes_var,  &g->rows.live_count_var,
                                 &g->rows.alloc_bytes,     &g->rows.alloc_count,
                                 &g->rows.alloc_bytes_var, &g->rows.alloc_count_var };
    for (unsigned i = 0; i < 8; i++) {
        *columns[i] = &g->figures[i];
    }
}

/* Two types, of which the stack holds 600 and 300 bytes. */
static void fill_types(struct good *g)
{
    static char first[] = "Foo", second[] = "Bar";
    hs__ctl__watched_types__init(&g->types);
    hs__ctl__watched_parts__init(&g->parts);
    for (unsigned i = 0; i < 2; i++) {
        hs__ctl__watched_type__init(&g->type[i]);
        g->type[i].id = 4 - i;
        g->type[i].name = i == 0 ? second : first;
        g->type_items[i] = &g->type[i];
        g->part_stack[i] = 5;
        g->part_type[i] = 3 + i;
        g->part_figures[0][i] = i == 0 ? 600 : 300;
        g->part_figures[1][i] = i == 0 ? 6 : 3;
    }
    g->types.n_types = 2;
    g->types.types = g->type_items;
    g->types.has_mono_ns = true;
    g->parts.n_stack_id = g->parts.n_type_id = g->parts.n_live_bytes = g->parts.n_live_count =
        g->parts.n_live_bytes_var = g->parts.n_live_count_var = 2;
    g->parts.stack_id = g->part_stack;
    g->parts.type_id = g->part_type;
    g->parts.live_bytes = g->part_figures[0];
    g->parts.live_count = g->part_figures[1];
    g->parts.live_bytes_var = g->part_figures[2];
    g->parts.live_count_var = g->part_figures[3];
    g->update.types = &g->types;
    g->update.parts = &g->parts;
}

static void fill_ledger(struct good *g)
{
    static char name[] = "worker";
    hs__ctl__watched_ledger__init(&g->ledger);
    hs__ctl__watched_ledger_line__init(&g->line);
    g->line.kind = HS_LEDGER_STACK;
    g->line.name = name;
    g->line.rss_bytes = 8192;
    g->lines[0] = &g->line;
    g->ledger.rss_bytes = 10000;
    g->ledger.n_lines = 1;
    g->ledger.lines = g->lines;
    g->update.ledger = &g->ledger;
}

static void fill_good(struct good *g)
{
    static char heap_name[] = "libc.malloc", path[] = "/bin/x", comm[] = "a name that is too long";
    *g = (struct good){ .rel_pc = { 0x100, 0x200 },
                        .id = { 5 },
                        .frame_count = { 2 },
                        .frame_id = { 1, 0 },
                        .row_id = { 5 },
                        .figures = { 1000, 10, 0, 0, 2000, 20, 0, 0 } };
    hs__ctl__update__init(&g->update);
    hs__ctl__watched_process__init(&g->process);
    hs__ctl__watched_heap__init(&g->heap);
    hs__ctl__watched_module__init(&g->module);
    hs__ctl__watched_code_name__init(&g->name);
    fill_columns(g);
    g->process.comm = comm;
    g->heap.name = heap_name;
    g->module.path = path;
    g->module.bias_va = 0x1000;
    g->heaps[0] = &g->heap;
    g->modules[0] = &g->module;
    g->names[0] = &g->name;
    g->update.process = &g->process;
    g->update.n_heaps = g->update.n_modules = g->update.n_code_names = 1;
    g->update.heaps = g->heaps;
    g->update.modules = g->modules;
    g->update.code_names = g->names;
    g->update.frames = &g->frames;
    g->update.stacks = &g->stacks;
    g->update.rows = &g->rows;
    fill_types(g);
    fill_ledger(g);
}

static void test_a_good_one(void **unused)
{
    struct hs_watch_state state;
    struct good g;
    (void)unused;
    fill_good(&g);
    assert_int_equal(hs_watch_state_init(&state), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    const struct hs_snap_stack *stack = &state.snap->stacks[5];
    assert_true(stack->live.bytes == 1000 && stack->alloc.count == 20);
    assert_true(state.snap->live.bytes == 1000 && state.snap->heaps[0].alloc.bytes == 2000);
    assert_true(state.snap->frames[stack->frame_ids[0]].pc == 0x200 + 0x1000 + 1);
    assert_string_equal(state.snap->comm, "a name that is ");
    assert_int_equal(state.snap->stacks[4].frame_count, 0);
    assert_int_equal(state.part_count, 2);
    assert_string_equal(hs_watched_type_name(state.snap, state.parts[0].key.type_id), "Foo");
    assert_true(state.parts[1].amount.bytes == 300);
    assert_int_equal(state.snap->ledger->line_count, 1);
    assert_string_equal(state.snap->ledger->lines[0].name, "worker");
    assert_true(state.snap->ledger->lines[0].rss_bytes == 8192 && state.has_new_ledger);
    hs_watch_state_deinit(&state);
}

/* Parts that are more than their stack are no parts of it. */
static void test_parts_that_do_not_add_up(void **unused)
{
    struct hs_watch_state state;
    struct good g;
    (void)unused;
    fill_good(&g);
    assert_int_equal(hs_watch_state_init(&state), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    assert_int_equal(hs_watched_types_fill(&state), 0);
    assert_int_equal(state.snap->part_count[HS_PARTS_LIVE], 3);
    assert_true(state.snap->parts[HS_PARTS_LIVE][2].amount.bytes == 100);
    g.update.stacks = NULL;
    g.update.frames = NULL;
    g.update.types = NULL;
    g.update.ledger = NULL;
    g.part_figures[0][1] = 401;
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    assert_int_equal(hs_watched_types_fill(&state), 0);
    assert_int_equal(state.snap->part_count[HS_PARTS_LIVE], 1);
    assert_true(state.snap->parts[HS_PARTS_LIVE][0].amount.bytes == 1000);
    assert_false(state.has_new_ledger);
    /* And those of nothing are gone. */
    g.part_figures[0][0] = g.part_figures[1][0] = 0;
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    assert_int_equal(state.part_count, 1);
    hs_watch_state_deinit(&state);
}

/* --- bad ones --------------------------------------------------------------------------------- */

static void unknown_module(struct good *g)
{
    g->module_id[1] = 1;
}
static void unknown_code_name(struct good *g)
{
    g->flags[0] = HS_FRAME_NAMED;
}
static void two_kinds_of_frame(struct good *g)
{
    g->rel_pc[0] = 0;
    g->flags[0] = HS_FRAME_NAMED | HS_FRAME_MARKER;
}
static void short_column_of_frames(struct good *g)
{
    g->frames.n_flags = 1;
}
static void unknown_frame(struct good *g)
{
    g->frame_id[0] = 2;
}
static void unknown_heap(struct good *g)
{
    g->heap_id[0] = 1;
}
static void unknown_end(struct good *g)
{
    g->end[0] = HS_STACK_END_N;
}
static void no_frames(struct good *g)
{
    g->stacks.n_frame_id = g->frame_count[0] = 0;
}
static void too_few_frame_ids(struct good *g)
{
    g->stacks.n_frame_id = 1;
}
static void short_column_of_stacks(struct good *g)
{
    g->stacks.n_end = 0;
}
static void row_of_no_stack(struct good *g)
{
    g->row_id[0] = 4;
}
static void row_beyond(struct good *g)
{
    g->row_id[0] = 6;
}
static void short_column_of_rows(struct good *g)
{
    g->rows.n_alloc_count_var = 0;
}
static void wrong_heap_id(struct good *g)
{
    g->heap.id = 1;
}
static void wrong_parent(struct good *g)
{
    g->heap.parent = HS_REGION_HEAPS + 1;
}
static void wrong_kind(struct good *g)
{
    g->module.kind = HS_MODULE_MARKER + 1;
}
static void type_without_id(struct good *g)
{
    g->type[0].id = 0;
}
static void type_twice(struct good *g)
{
    g->type[0].id = 3;
}
static void part_of_no_stack(struct good *g)
{
    g->part_stack[1] = 6;
}
static void part_of_no_type(struct good *g)
{
    g->part_type[1] = 5;
}
static void parts_out_of_order(struct good *g)
{
    g->part_type[0] = 4;
    g->part_type[1] = 3;
}
static void part_twice(struct good *g)
{
    g->part_type[0] = 4;
}
static void short_column_of_parts(struct good *g)
{
    g->parts.n_live_count_var = 1;
}
static void wrong_last(struct good *g)
{
    g->update.end = HS_WATCH_END_N;
}
static void long_build_id(struct good *g)
{
    static uint8_t id[HS_BUILD_ID_BYTES + 1];
    g->module.build_id = (ProtobufCBinaryData){ sizeof(id), id };
}

static void test_bad_ones(void **unused)
{
    static const struct {
        void (*spoil)(struct good *g);
        bool is_named; /* the update has no name of code */
    } cases[] = {
        { unknown_module, false },
        { unknown_code_name, true },
        { two_kinds_of_frame, false },
        { short_column_of_frames, false },
        { unknown_frame, false },
        { unknown_heap, false },
        { unknown_end, false },
        { no_frames, false },
        { too_few_frame_ids, false },
        { short_column_of_stacks, false },
        { row_of_no_stack, false },
        { row_beyond, false },
        { wrong_heap_id, false },
        { wrong_parent, false },
        { wrong_kind, false },
        { long_build_id, false },
        { wrong_last, false },
        { short_column_of_rows, false },
        { type_without_id, false },
        { type_twice, false },
        { part_of_no_stack, false },
        { part_of_no_type, false },
        { parts_out_of_order, false },
        { part_twice, false },
        { short_column_of_parts, false },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_watch_state state;
        struct good g;
        fill_good(&g);
        cases[i].spoil(&g);
        g.update.n_code_names = cases[i].is_named ? 0 : 1;
        assert_int_equal(hs_watch_state_init(&state), 0);
        assert_int_equal(hs_watch_state_apply(&state, &g.update), -EPROTO);
        assert_true(hs_snapshot_is_valid(state.snap));
        hs_watch_state_deinit(&state);
    }
}

static void test_too_much(void **unused)
{
    struct hs_watch_state state;
    struct good g;
    (void)unused;
    fill_good(&g);
    g.id[0] = HS_WATCH_STACKS_MAX;
    assert_int_equal(hs_watch_state_init(&state), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), -EFBIG);
    hs_watch_state_deinit(&state);
}

/* A stack is defined once, and nothing comes after the last update. */
static void test_twice(void **unused)
{
    struct hs_watch_state state;
    struct good g;
    (void)unused;
    fill_good(&g);
    assert_int_equal(hs_watch_state_init(&state), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), -EPROTO);
    g.update.stacks = NULL;
    g.update.types = NULL;
    g.figures[0] = 1500;
    g.update.end = HS_WATCH_END_PROCESS;
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    assert_true(state.snap->live.bytes == 1500);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), -EPROTO);
    hs_watch_state_deinit(&state);
}

static void test_figures_that_make_no_sense(void **unused)
{
    struct hs_watch_state state;
    struct good g;
    (void)unused;
    fill_good(&g);
    g.figures[0] = 3000; /* more than was ever allocated */
    g.figures[1] = NAN;
    g.figures[2] = -1;
    g.figures[5] = INFINITY;
    assert_int_equal(hs_watch_state_init(&state), 0);
    assert_int_equal(hs_watch_state_apply(&state, &g.update), 0);
    const struct hs_snap_stack *stack = &state.snap->stacks[5];
    assert_true(stack->live.bytes == 3000 && stack->alloc.bytes == 3000);
    assert_true(stack->live.count == 0 && stack->live.bytes_var == 0 && stack->alloc.count == 0);
    hs_watch_state_deinit(&state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_one), cmocka_unit_test(test_parts_that_do_not_add_up),
        cmocka_unit_test(test_bad_ones),   cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_twice),      cmocka_unit_test(test_figures_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
