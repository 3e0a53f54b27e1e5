/*
 * Filters of stacks: which stacks are kept, where they begin, and what hidden functions leave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/stack_filters.h"
#include "profile/model/builder.h"
#include "rt/base.h"
#include "util/buf.h"

/* Stacks with their bytes. "inner<outer" is one frame: inner was inlined into outer. A name that
 * begins with a '+' is one of a frame without a name, in module "lib". */
static const struct {
    const char *frames[6];
    double bytes;
} stacks[] = {
    { { "main", "load", "parse", "alloc" }, 1 },
    { { "main", "load", "parse" }, 2 },
    { { "main", "load" }, 4 },
    { { "main", "save", "put<flush", "alloc" }, 8 },
    { { "main", "save", "load", "+10" }, 16 },
    { { "alloc" }, 32 },
};

static uint32_t frame_of(struct hs_builder *builder, const char *name, uint64_t rel_pc)
{
    struct hs_profile_module lib = { .path = hs_builder_string(builder, "/x/lib") };
    struct hs_builder_frame frame = { .module = hs_builder_module(builder, &lib),
                                      .rel_pc = rel_pc,
                                      .is_by_address = true };
    const char *outer = strchr(name, '<');
    if (name[0] == '+') {
        frame.rel_pc = strtoull(name, NULL, 16);
    } else if (outer) {
        char inner[32];
        snprintf(inner, sizeof(inner), "%.*s", (int)(outer - name), name);
        const struct hs_profile_line lines[] = {
            { .function = hs_builder_string(builder, inner), .line = 7 },
            { .function = hs_builder_string(builder, outer + 1), .line = 9 },
        };
        hs_builder_symbol(builder, lib.path, NULL, 0, rel_pc, lines, 2);
    } else {
        frame.name = hs_builder_string(builder, name);
    }
    return hs_builder_frame(builder, &frame);
}

static struct hs_profile *make_profile(void)
{
    struct hs_builder *builder = hs_builder_new();
    struct hs_profile *profile = NULL;
    struct hs_profile_process process = { .pid = 7 };
    struct hs_profile_sample samples[HS_COUNT_OF(stacks)];
    struct hs_profile_dump dump = { .process = hs_builder_process(builder, &process),
                                    .time_ns = 1 };
    uint32_t heap = hs_builder_heap(builder, "a");
    for (size_t i = 0; i < HS_COUNT_OF(stacks); i++) {
        uint32_t node = HS_NODE_NONE;
        for (size_t k = 0; stacks[i].frames[k]; k++) {
            const char *name = stacks[i].frames[k];
            uint64_t pc = 0x1000 + (uint64_t)(name[0] * 256 + name[1]);
            node = hs_builder_node(builder, node, frame_of(builder, name, pc));
        }
        samples[i] = (struct hs_profile_sample){ .node = node, .heap = heap };
        samples[i].live = samples[i].alloc =
            (struct hs_amount){ .bytes = stacks[i].bytes, .count = 1 };
        hs_amount_add(&dump.live, &samples[i].live);
    }
    hs_builder_dump(builder, &dump, samples, HS_COUNT_OF(stacks));
    assert_int_equal(hs_builder_finish(builder, &profile), 0);
    hs_builder_free(builder);
    return profile;
}

static void write_stack(const struct hs_profile *p, uint32_t node, struct hs_buf *text)
{
    const struct hs_profile_frame *frame = &p->frames[p->nodes[node].frame];
    if (p->nodes[node].parent != HS_NODE_NONE) {
        write_stack(p, p->nodes[node].parent, text);
    }
    for (uint32_t i = frame->line_count; i > 0; i--) {
        hs_buf_printf(text, " %s",
                      hs_profile_string(p, p->lines[frame->line_first + i - 1].function));
    }
    if (frame->line_count == 0) {
        const char *name = hs_profile_string(p, frame->name);
        hs_buf_printf(text, " %s", name[0] ? name : "?");
    }
}

static int compare_lines(const void *left, const void *right)
{
    long left_bytes = strtol(*(char *const *)left, NULL, 10);
    long right_bytes = strtol(*(char *const *)right, NULL, 10);
    return (left_bytes > right_bytes) - (left_bytes < right_bytes);
}

/* The stacks of the dump, "bytes frame frame ...", by their bytes. */
static void write_stacks(const struct hs_profile *p, struct hs_buf *text)
{
    char *lines[HS_COUNT_OF(stacks)];
    uint32_t count = p->dumps[0].samples_n;
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_profile_sample *sample = &p->samples[p->dumps[0].sample_first + i];
        struct hs_buf line = HS_BUF_INIT;
        hs_buf_printf(&line, "%.0f", sample->live.bytes);
        write_stack(p, sample->node, &line);
        lines[i] = strdup(hs_buf_text(&line));
        hs_buf_deinit(&line);
    }
    qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (uint32_t i = 0; i < count; i++) {
        hs_buf_printf(text, "%s%s", i > 0 ? ", " : "", lines[i]);
        free(lines[i]);
    }
}

static const struct {
    const char *focus, *from, *hide, *left;
} cases[] = {
    { NULL, NULL, "none such",
      "1 main load parse alloc, 2 main load parse, 4 main load, 8 main save flush put alloc, "
      "16 main save load ?, 32 alloc" },
    /* what parse allocated itself is load's */
    { NULL, NULL, "^parse$",
      "1 main load alloc, 6 main load, 8 main save flush put alloc, 16 main save load ?, "
      "32 alloc" },
    /* an inlined function, and the one that it was inlined into */
    { NULL, NULL, "^put$|^load$",
      "1 main parse alloc, 2 main parse, 4 main, 8 main save flush alloc, 16 main save ?, "
      "32 alloc" },
    { NULL, NULL, "flush|put|parse",
      "1 main load alloc, 6 main load, 8 main save alloc, "
      "16 main save load ?, 32 alloc" },
    /* a stack without any function left */
    { NULL, NULL, "alloc",
      "3 main load parse, 4 main load, 8 main save flush put, 16 main save load ?" },
    { NULL, "load", NULL, "1 load parse alloc, 2 load parse, 4 load, 16 load ?" },
    { NULL, "put", NULL, "8 put alloc" },
    { NULL, "flush", NULL, "8 flush put alloc" },
    /* the outermost one counts */
    { NULL, "alloc|save", NULL, "8 save flush put alloc, 16 save load ?, 33 alloc" },
    /* a hidden function is none to begin at */
    { NULL, "load|parse", "load", "1 parse alloc, 2 parse" },
    { "save", NULL, "save", "8 main flush put alloc, 16 main load ?" },
    { "save", "load", NULL, "16 load ?" },
    { NULL, "lib\\+0x10", NULL, "16 ?" },
    { NULL, NULL, "lib\\+0x10",
      "1 main load parse alloc, 2 main load parse, 4 main load, "
      "8 main save flush put alloc, 16 main save load, 32 alloc" },
    { NULL, "nothing", NULL, "" },
};

static void add(struct hs_focus *focus, const char *pattern)
{
    struct hs_buf why = HS_BUF_INIT;
    if (pattern) {
        assert_int_equal(hs_focus_add(focus, pattern, &why), 0);
    }
    hs_buf_deinit(&why);
}

static void what_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_profile *profile = make_profile();
        struct hs_stack_filters filters = { 0 };
        struct hs_buf text = HS_BUF_INIT;
        add(&filters.focus, cases[i].focus);
        add(&filters.from, cases[i].from);
        add(&filters.hide, cases[i].hide);
        assert_int_equal(hs_stack_filters_apply(profile, &filters), 0);
        write_stacks(profile, &text);
        assert_string_equal(hs_buf_text(&text), cases[i].left);
        assert_true(profile->dumps[0].live.bytes == 63);
        hs_buf_deinit(&text);
        hs_stack_filters_deinit(&filters);
        hs_profile_free(profile);
    }
}

static void where_a_pattern_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        unsigned place;
    } wrong[] = { { "a(", 2 }, { "(a)(b|c", 4 }, { "[x", 1 }, { "ab\\", 3 }, { "main|[z-a]b", 6 } };
    for (size_t i = 0; i < HS_COUNT_OF(wrong); i++) {
        struct hs_focus focus = { 0 };
        struct hs_buf why = HS_BUF_INIT;
        char place[32];
        snprintf(place, sizeof(place), ", at character %u", wrong[i].place);
        assert_true(hs_focus_add(&focus, wrong[i].pattern, &why) != 0);
        assert_non_null(strstr(hs_buf_text(&why), place));
        hs_buf_deinit(&why);
        hs_focus_deinit(&focus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left),
        cmocka_unit_test(where_a_pattern_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
