/*
 * Fuzz target: any bytes as a profile, shown in every view and format.
 *
 * Whatever the file makes of the profile (names that are not text, trees a hundred thousand levels
 * deep, figures near infinity), each view must end and must write nothing that could control a
 * terminal. Its output must have the right format, as far as that is quick to check.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "page/page.h"
#include "profile/analyse/focus.h"
#include "profile/analyse/heap_choice.h"
#include "profile/analyse/other_below.h"
#include "profile/analyse/stack_mode.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "util/buf.h"
#include "view/diff_leaks.h"
#include "view/diff_view.h"
#include "view/dupes_view.h"
#include "view/folded.h"
#include "view/json_lines.h"
#include "view/massif.h"
#include "view/memory_infra.h"
#include "view/pprof.h"
#include "view/report.h"
#include "view/speedscope.h"
#include "view/svg.h"
#include "view/trend_view.h"

/* Counts the bytes and checks each: text may contain no control characters except line breaks. */
static int look(void *ctx, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; ctx && i < bytes; i++) {
        if ((at[i] < 0x20 && at[i] != '\n') || at[i] == 0x7F) {
            abort();
        }
    }
    return 0;
}

static void finish(struct hs_buf *buf)
{
    (void)hs_buf_finish(buf);
    hs_buf_deinit(buf);
}

static void report(const struct hs_profile *profile, enum hs_report_form form, enum hs_view view,
                   uint32_t count)
{
    static int text;
    struct hs_buf buf;
    const struct hs_report_options options = {
        .form = form,
        .view = view,
        .top_count = count,
        .stack_count = count,
        .frame_count = count,
        .select = { .snapshot = HS_SELECT_LAST },
        .columns = count == HS_REPORT_ALL ? 0 : 80,
        .by = { .by = { HS_PART_BY_THREAD, HS_PART_BY_TYPE, HS_PART_BY_SCOPE, HS_PART_BY_LABEL,
                        HS_PART_BY_STACK, HS_PART_BY_AGE, HS_PART_BY_HEAP, HS_PART_BY_PROCESS },
                .by_count = HS_PART_BY_N,
                .label_key = "a" },
        .has_leaks = true,
    };
    hs_buf_init(&buf, look, &text);
    (void)hs_report_write(profile, &options, &buf);
    finish(&buf);
}

/* pprof with a sample for each block, and with all labels. */
static void labels(const struct hs_profile *profile)
{
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    static const struct hs_pprof_options options[] = { { .with_tags = true }, { .labels = 0x1f } };
    struct hs_buf buf;
    hs_buf_init(&buf, look, NULL);
    for (size_t i = 0; i < HS_COUNT_OF(options); i++) {
        (void)hs_pprof_check(profile, &last, &options[i]);
        (void)hs_pprof_write(profile, &last, &options[i], &buf);
    }
    finish(&buf);
}

/* Blocks of which every third is equal. */
static void dupes_of(const struct hs_selection *selection, const struct hs_agg *agg)
{
    static int text;
    const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[0]];
    uint32_t count = dump->has_blocks && dump->blocks_n < 1000 ? (uint32_t)dump->blocks_n : 0;
    struct hs_dupe_block *blocks = calloc(count + 1U, sizeof(blocks[0]));
    struct hs_dupes dupes;
    struct hs_buf buf;
    for (uint32_t i = 0; blocks && i < count; i++) {
        blocks[i] = (struct hs_dupe_block){
            .block = dump->block_first + i,
            .group = i % 3,
            .never_written_bytes = i % 5,
            .sparse_bytes = i % 7,
        };
    }
    if (blocks &&
        hs_dupes_build(selection, agg, blocks, count, count < 3 ? count : 3, &dupes) == 0) {
        const struct hs_dupes_view view = {
            .selection = selection,
            .agg = agg,
            .dupes = &dupes,
            .top_count = 5,
            .columns = 80,
            .is_never_written_known = count % 2 == 0,
        };
        hs_buf_init(&buf, look, &text);
        (void)hs_dupes_write_text(&view, &buf);
        (void)hs_dupes_write_json(&view, &buf);
        finish(&buf);
        hs_dupes_deinit(&dupes);
    }
    free(blocks);
}

static void dupes(const struct hs_profile *profile)
{
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    struct hs_selection selection;
    struct hs_agg agg;
    if (hs_select_dumps(profile, &last, &selection) != 0) {
        return;
    }
    if (hs_agg_build(&selection, true, &agg) == 0) {
        dupes_of(&selection, &agg);
        hs_agg_deinit(&agg);
    }
    hs_selection_deinit(&selection);
}

/* Chooses the heaps that have a name with this letter. */
static void choose(struct hs_profile *profile, uint8_t letter)
{
    const char pattern[] = { '*', letter > ' ' && letter < 0x7F ? (char)letter : 'l', '*', '\0' };
    const char *const texts[] = { pattern };
    const struct hs_heap_patterns patterns = { texts, 1 };
    static int text;
    struct hs_buf missing;
    hs_buf_init(&missing, NULL, NULL);
    if (hs_heap_choice_apply(profile, &patterns, NULL, &missing) == 0 && missing.bytes > 0) {
        look(&text, missing.data, missing.bytes);
    }
    hs_buf_deinit(&missing);
    report(profile, HS_REPORT_TEXT, HS_VIEW_AUTO, 5);
    report(profile, HS_REPORT_JSON, HS_VIEW_PEAK, 5);
}

/* What the first and the last snapshots differ in, and the trend of the first process. */
static void resident_trend(const struct hs_profile *profile, uint32_t process_count,
                           struct hs_buf *buf)
{
    static const uint32_t processes[] = { 0, 1 };
    struct hs_rss_trend trend;
    if (hs_rss_trend_build(profile, processes, process_count, &trend) == 0) {
        const struct hs_trend_options options = { .name = "a", .profile = profile, .top_count = 5 };
        (void)hs_trend_write_rss(&trend, &options, buf);
        (void)hs_trend_write_rss_json(&trend, &options, buf);
        hs_rss_trend_deinit(&trend);
    }
}

static void leaks(const struct hs_selection *before, const struct hs_selection *after,
                  struct hs_buf *buf)
{
    const struct hs_diff_leak_limits limits = { 1, 0 };
    struct hs_diff_leaks found;
    if (hs_diff_leaks_build(before, after, HS_VIEW_SPACE, &limits, &found) == 0) {
        for (size_t i = 0; i < found.list_count; i++) {
            (void)hs_diff_leaks_write(&found, i, buf);
        }
        hs_diff_leaks_deinit(&found);
    }
}

/* What changed between two dumps, by all that parts are grouped by. */
static void changes(const struct hs_selection *before, const struct hs_selection *after,
                    const struct hs_diff_options *options, struct hs_buf *buf)
{
    static const struct hs_part_groups by = { .by = { HS_PART_BY_STACK, HS_PART_BY_THREAD,
                                                      HS_PART_BY_SCOPE, HS_PART_BY_AGE },
                                              .by_count = 4 };
    struct hs_diff diff;
    struct hs_part_diff parts;
    if (hs_diff_build(before, after, HS_VIEW_SPACE, &diff) != 0) {
        return;
    }
    if (hs_part_diff_build(before, after, &diff, &by, &parts) == 0) {
        (void)hs_diff_write_by(&diff, &parts, options, buf);
        (void)hs_diff_write_json(&diff, &parts, options, buf);
        hs_part_diff_deinit(&parts);
    }
    hs_diff_deinit(&diff);
}

static void resident(const struct hs_profile *profile)
{
    static int text;
    static const struct hs_select_spec specs[HS_DIFF_SIDE_N] = { { .snapshot = 0 },
                                                                 { .snapshot = HS_SELECT_LAST } };
    struct hs_selection selections[HS_DIFF_SIDE_N] = { 0 };
    struct hs_buf buf;
    hs_buf_init(&buf, look, &text);
    if (hs_select_dumps(profile, &specs[0], &selections[0]) == 0 &&
        hs_select_dumps(profile, &specs[1], &selections[1]) == 0) {
        const struct hs_diff_options options = { .names = { "a", "b" },
                                                 .selections = { &selections[0], &selections[1] },
                                                 .top_count = HS_DIFF_ALL };
        (void)hs_diff_write_rss(&options, &buf);
        (void)hs_diff_write_rss_json(&options, &buf);
        leaks(&selections[0], &selections[1], &buf);
        changes(&selections[0], &selections[1], &options, &buf);
    }
    if (profile->process_count > 0) {
        resident_trend(profile, 1, &buf);
    }
    if (profile->process_count > 1) {
        resident_trend(profile, 2, &buf);
    }
    hs_selection_deinit(&selections[0]);
    hs_selection_deinit(&selections[1]);
    finish(&buf);
}

/* Adds small stacks up, in one view and then in all, and shows what is left. */
static void long_tail(struct hs_profile *profile)
{
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    static const struct hs_other_below limits = { 64, 2 };
    struct hs_buf buf;
    for (enum hs_view view = HS_VIEW_SPACE; view <= HS_VIEW_AUTO; view += HS_VIEW_AUTO) {
        if (hs_other_below_apply(profile, &limits, view) != 0) {
            abort();
        }
        report(profile, HS_REPORT_JSON_TREE, HS_VIEW_AUTO, HS_REPORT_ALL);
        hs_buf_init(&buf, look, NULL);
        (void)hs_pprof_write(profile, &last, &(struct hs_pprof_options){ 0 }, &buf);
        finish(&buf);
    }
}

/* Gives the profile stacks of threads or scopes, whatever they are, and shows them. */
static void other_stacks(struct hs_profile *profile, uint8_t choice)
{
    enum hs_stack_mode mode = (enum hs_stack_mode)(choice % HS_STACK_MODE_N);
    if (hs_stack_mode_apply(profile, mode) != 0) {
        abort();
    }
    report(profile, HS_REPORT_BY, HS_VIEW_AUTO, HS_REPORT_ALL);
    report(profile, HS_REPORT_TREE, HS_VIEW_PEAK, HS_REPORT_ALL);
    report(profile, HS_REPORT_JSON, HS_VIEW_ALLOC_SPACE, 5);
}

/* Keeps the stacks with a function that has this letter. */
static void focus(struct hs_profile *profile, uint8_t letter)
{
    const char pattern[] = { letter >= 'a' && letter <= 'z' ? (char)letter : 'm', '\0' };
    struct hs_focus of = { .count = 0 };
    struct hs_buf why = HS_BUF_INIT;
    if (hs_focus_add(&of, pattern, &why) != 0 || hs_focus_apply(profile, &of) != 0) {
        abort();
    }
    hs_focus_deinit(&of);
    hs_buf_deinit(&why);
    report(profile, HS_REPORT_BY, HS_VIEW_AUTO, HS_REPORT_ALL);
    report(profile, HS_REPORT_TREE, HS_VIEW_PEAK, HS_REPORT_ALL);
}

/* The page of the profile, twice, as of two files. */
static void page(const struct hs_profile *profile)
{
    static const struct hs_report_options options = { .view = HS_VIEW_AUTO,
                                                      .select = { .snapshot = HS_SELECT_LAST } };
    const struct hs_page_file files[] = { { profile, &options }, { profile, &options } };
    static int text;
    struct hs_page *it;
    struct hs_buf buf;
    if (hs_page_new(files, HS_COUNT_OF(files), &it) != 0) {
        return;
    }
    hs_buf_init(&buf, look, &text);
    for (uint32_t i = 0; i < hs_page_document_count(it); i++) {
        (void)hs_page_write_document(it, i, &buf);
    }
    (void)hs_page_write_html(it, "<title>heapscope</title><!--heapscope-data-->", &buf);
    finish(&buf);
    hs_page_free(it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static int text;
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    struct hs_profile *profile = NULL;
    if (hs_profile_load_memory(data, bytes, &profile, NULL) != 0) {
        return 0;
    }
    for (enum hs_report_form form = HS_REPORT_TEXT; form <= HS_REPORT_JSON_TREE; form++) {
        report(profile, form, HS_VIEW_AUTO, 5);
        report(profile, form, HS_VIEW_ALLOC_OBJECTS, HS_REPORT_ALL);
    }
    struct hs_buf buf;
    hs_buf_init(&buf, look, NULL);
    (void)hs_pprof_write(profile, &last, &(struct hs_pprof_options){ 0 }, &buf);
    finish(&buf);
    labels(profile);
    dupes(profile);
    hs_buf_init(&buf, look, &text);
    (void)hs_folded_write(profile, &last, HS_VIEW_ALLOC_SPACE, &buf);
    (void)hs_speedscope_write(profile, &last, HS_VIEW_AUTO, &buf);
    (void)hs_svg_write(profile, &last, HS_VIEW_ALLOC_SPACE, &buf);
    (void)hs_massif_write(profile, &last, &buf);
    (void)hs_json_lines_write(profile, &last, &buf);
    static const struct hs_memory_infra_options all = {
        .view = HS_VIEW_AUTO, .is_all_dumps = true, .other_below_bytes = 64, .other_below_count = 2
    };
    (void)hs_memory_infra_write(profile, &last, &all, &buf);
    finish(&buf);
    resident(profile);
    page(profile);
    long_tail(profile);
    choose(profile, bytes > 0 ? data[bytes - 1] : 0);
    other_stacks(profile, bytes > 1 ? data[bytes - 2] : 0);
    focus(profile, bytes > 2 ? data[bytes - 3] : 0);
    hs_profile_free(profile);
    return 0;
}
