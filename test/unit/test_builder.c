/*
 * The profile builder: equal things get the same id, the invariants of profile.h hold, and wrong
 * ids do no harm.
 */
#include "profile/model/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/check.h"

static struct hs_profile *finish(struct hs_builder *b)
{
    struct hs_profile *p = NULL;
    HS_ASSERT(hs_builder_is_valid(b));
    assert_int_equal(hs_builder_finish(b, &p), 0);
    hs_builder_free(b);
    return p;
}

static struct hs_profile_module module(struct hs_builder *b, const char *path, uint8_t id_byte)
{
    struct hs_profile_module m = { .path = hs_builder_string(b, path), .build_id_bytes = 4 };
    memset(m.build_id, id_byte, 4);
    return m;
}

static void test_strings(void **state)
{
    (void)state;
    struct hs_builder *b = hs_builder_new();
    assert_int_equal(hs_builder_string(b, ""), 0);
    uint32_t one = hs_builder_string(b, "one");
    assert_int_equal(hs_builder_string_n(b, "one more", 3), one);
    assert_int_equal(hs_builder_string_n(b, "one\0more", 8), one);
    assert_int_not_equal(hs_builder_string(b, "One"), one);
    HS_ASSERT(hs_builder_is_valid(b));
    for (int i = 0; i < 5000; i++) {
        char text[16];
        snprintf(text, sizeof(text), "s%d", i);
        hs_builder_string(b, text);
    }
    assert_int_equal(hs_builder_string(b, "one"), one);
    struct hs_profile *p = finish(b);
    assert_int_equal(p->string_count, 5003);
    assert_string_equal(hs_profile_string(p, one), "one");
    assert_string_equal(hs_profile_string(p, 5003), "");
    hs_profile_free(p);
}

static void test_modules_frames_nodes(void **state)
{
    (void)state;
    struct hs_builder *b = hs_builder_new();
    struct hs_profile_module m1 = module(b, "/lib/a", 1), m2 = module(b, "/lib/a", 0xab);
    m1.start_va = 0x1000;
    uint32_t id1 = hs_builder_module(b, &m1), id2 = hs_builder_module(b, &m2);
    m1.start_va = 0x2000; /* another process has it at another address */
    assert_int_equal(hs_builder_module(b, &m1), id1);
    assert_int_not_equal(id1, id2);

    struct hs_builder_frame frame = { .module = id1, .rel_pc = 0x10 };
    uint32_t f1 = hs_builder_frame(b, &frame);
    HS_ASSERT(hs_builder_is_valid(b));
    frame.rel_pc = 0x20;
    uint32_t f2 = hs_builder_frame(b, &frame);
    frame.module = id2;
    uint32_t f3 = hs_builder_frame(b, &frame);
    frame.file = hs_builder_string(b, "x.py");
    frame.name = hs_builder_string(b, "f");
    frame.line = 7;
    frame.kind = HS_FRAME_KIND_INTERPRETED;
    uint32_t f4 = hs_builder_frame(b, &frame);
    frame.line = 8;
    uint32_t f5 = hs_builder_frame(b, &frame);
    assert_int_equal(f1, 0);
    assert_int_equal(f5, 4);
    assert_true(f1 != f2 && f2 != f3 && f3 != f4 && f4 != f5);

    uint32_t n1 = hs_builder_node(b, HS_NODE_NONE, f1);
    uint32_t n2 = hs_builder_node(b, n1, f2);
    uint32_t n3 = hs_builder_node(b, n2, f2); /* recursion */
    assert_int_equal(hs_builder_node(b, n1, f2), n2);
    assert_int_equal(hs_builder_node(b, HS_NODE_NONE, f1), n1);
    assert_true(n1 < n2 && n2 < n3);
    /* A parent that does not exist. */
    HS_ASSERT(hs_builder_is_valid(b));
    uint32_t n4 = hs_builder_node(b, 99, f1);
    HS_ASSERT(hs_builder_is_valid(b));
    assert_int_equal(n4, n1);

    struct hs_profile *p = finish(b);
    assert_int_equal(p->module_count, 2);
    assert_int_equal(p->modules[id1].start_va, 0x1000);
    assert_string_equal(hs_profile_string(p, p->modules[id2].build_id_hex), "abababab");
    assert_int_equal(p->node_count, 3);
    assert_int_equal(p->nodes[n3].depth, 2);
    assert_int_equal(p->nodes[n3].parent, n2);
    assert_int_equal(p->frames[f4].line_count, 1);
    assert_int_equal(p->lines[p->frames[f4].line_first].line, 7);
    assert_int_equal(p->lines[p->frames[f5].line_first].line, 8);
    assert_int_equal(p->frames[f4].kind, HS_FRAME_KIND_INTERPRETED);
    hs_profile_free(p);
}

/* Symbols before and after their frames, of the wrong build id, given twice. */
static void test_symbols(void **state)
{
    (void)state;
    struct hs_builder *b = hs_builder_new();
    struct hs_profile_module m1 = module(b, "/lib/a", 1), m2 = module(b, "/lib/a", 2);
    uint32_t id1 = hs_builder_module(b, &m1), id2 = hs_builder_module(b, &m2);
    struct hs_profile_line lines[2] = { { .function = hs_builder_string(b, "inner"), .line = 1 },
                                        { .function = hs_builder_string(b, "outer"), .line = 2 } };
    struct hs_profile_line later = { .function = hs_builder_string(b, "later"), .line = 3 };
    hs_builder_symbol(b, m1.path, m1.build_id, 4, 0x40, lines, 0); /* before there are any lines */
    hs_builder_symbol(b, m1.path, m1.build_id, 4, 0x10, lines, 2);
    hs_builder_symbol(b, m1.path, m1.build_id, 4, 0x20, lines, 2);
    hs_builder_symbol(b, m1.path, m1.build_id, 4, 0x30, lines, 0);
    struct hs_builder_frame frame = { .module = id1, .rel_pc = 0x10 };
    uint32_t f1 = hs_builder_frame(b, &frame);
    frame.rel_pc = 0x20;
    uint32_t f2 = hs_builder_frame(b, &frame);
    frame.rel_pc = 0x30;
    uint32_t f3 = hs_builder_frame(b, &frame);
    frame.module = id2;
    frame.rel_pc = 0x10;
    uint32_t f4 = hs_builder_frame(b, &frame);
    hs_builder_symbol(b, m1.path, m1.build_id, 4, 0x20, &later, 1);
    struct hs_profile *p = finish(b);
    assert_int_equal(p->frames[f1].line_count, 2);
    assert_int_equal(p->lines[p->frames[f1].line_first + 1].line, 2);
    assert_int_equal(p->frames[f2].line_count, 1);
    assert_int_equal(p->lines[p->frames[f2].line_first].line, 3);
    assert_int_equal(p->frames[f3].line_count, 0);
    assert_int_equal(p->frames[f4].line_count, 0);
    assert_true(p->modules[id1].is_symbolized);
    assert_false(p->modules[id2].is_symbolized);
    hs_profile_free(p);
}

static void test_dumps(void **state)
{
    (void)state;
    struct hs_builder *b = hs_builder_new();
    struct hs_profile_module m = module(b, "/lib/a", 1);
    struct hs_builder_frame frame = { .module = hs_builder_module(b, &m) };
    uint32_t nodes[3], parent = HS_NODE_NONE;
    for (uint32_t i = 0; i < 3; i++) {
        frame.rel_pc = i;
        parent = nodes[i] = hs_builder_node(b, parent, hs_builder_frame(b, &frame));
    }
    uint32_t h0 = hs_builder_heap(b, "libc.malloc"), h1 = hs_builder_heap(b, "mmap");
    assert_int_equal(hs_builder_heap(b, "libc.malloc"), h0);
    struct hs_profile_process process = { .pid = 7, .dump_count = 99 };
    uint32_t pid7 = hs_builder_process(b, &process);
    struct hs_profile_sample samples[] = {
        { .node = nodes[2], .heap = h0, .alloc = { .bytes = 1, .count = 1 } },
        { .node = nodes[0], .heap = h1, .alloc = { .bytes = 2 } },
        { .node = nodes[0], .heap = h0, .alloc = { .bytes = 4 } },
        { .node = nodes[2], .heap = h0, .alloc = { .bytes = 8 }, .live = { .bytes_var = 5 } },
        { .node = 12345, .heap = h0, .alloc = { .bytes = 16 } },
        { .node = nodes[0], .heap = 12345, .alloc = { .bytes = 32 } },
    };
    struct hs_profile_dump dump = { .process = pid7, .index = 5 };
    hs_builder_dump(b, &dump, samples, 6);
    uint32_t second = hs_builder_dump(b, &dump, NULL, 0);
    dump.process = 4;
    hs_builder_dump(b, &dump, NULL, 0); /* the process does not exist: nothing is added */
    hs_builder_loss(b, pid7, "none", "nothing lost", 0, true);
    hs_builder_loss(b, HS_PROFILE_NO_PROCESS, "some", "something lost", 3, true);
    struct hs_profile *p = finish(b);
    assert_int_equal(p->dump_count, 2);
    assert_int_equal(p->dumps[1].index, 1);
    assert_false(p->dumps[1].has_samples);
    assert_int_equal(p->processes[pid7].dump_count, 2);
    assert_int_equal(p->processes[pid7].last_dump, second);
    assert_true(p->dumps[0].has_samples);
    assert_int_equal(p->dumps[0].samples_n, 3);
    const struct hs_profile_sample *s = p->samples + p->dumps[0].sample_first;
    assert_true(s[0].node == nodes[0] && s[0].heap == h0 && s[0].alloc.bytes == 4);
    assert_true(s[1].node == nodes[0] && s[1].heap == h1 && s[1].alloc.bytes == 2);
    assert_true(s[2].node == nodes[2] && s[2].alloc.bytes == 9 && s[2].live.bytes_var == 5);
    assert_int_equal(p->loss_count, 1);
    assert_int_equal(p->losses[0].count, 3);
    hs_profile_free(p);
}

/*
 * Dumps beyond the limit on memory for samples keep their totals, and samples can be added to them
 * at the end.
 */
static void test_sample_limit(void **state)
{
    (void)state;
    enum { STACKS = 1U << 20 };
    struct hs_builder *b = hs_builder_new();
    struct hs_profile_process process = { .pid = 7 };
    struct hs_profile_dump dump = { .process = hs_builder_process(b, &process),
                                    .live = { .bytes = 3 } };
    struct hs_profile_module m = module(b, "/lib/a", 1);
    struct hs_builder_frame frame = { .module = hs_builder_module(b, &m) };
    uint32_t heap = hs_builder_heap(b, "libc.malloc");
    struct hs_profile_sample *samples = calloc(STACKS, sizeof(*samples));
    for (uint32_t i = 0; i < STACKS; i++) {
        samples[i].node =
            hs_builder_node(b, i == 0 ? HS_NODE_NONE : i - 1, hs_builder_frame(b, &frame));
        samples[i].heap = heap;
    }
    for (int i = 0; i < 6; i++) {
        hs_builder_dump(b, &dump, samples, STACKS);
    }
    assert_false(hs_builder_has_room(b, STACKS));
    hs_builder_dump_samples(b, 5, samples, STACKS);
    free(samples);
    struct hs_profile *p = finish(b);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(p->dumps[i].has_samples, i != 4);
        assert_int_equal(p->dumps[i].samples_n, i != 4 ? STACKS : 0);
        assert_true(p->dumps[i].live.bytes == 3);
    }
    hs_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),      cmocka_unit_test(test_modules_frames_nodes),
        cmocka_unit_test(test_symbols),      cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_sample_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
