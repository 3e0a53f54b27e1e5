/*
 * See compare.h.
 */
#include "cli/read/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/dump_name.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/filter_options.h"
#include "cli/read/leaks_output.h"
#include "cli/read/parts_option.h"
#include "cli/read/profile_file.h"
#include "profile/model/loss.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/parse.h"
#include "view/diff_view.h"

#define COLUMNS_PIPED 160

const char *const hs_compare_formats[HS_COMPARE_FORMAT_N] = {
    [HS_COMPARE_TABLE] = "table",      [HS_COMPARE_TREE] = "tree",   [HS_COMPARE_JSON] = "json",
    [HS_COMPARE_FOLDED] = "folded",    [HS_COMPARE_PPROF] = "pprof", [HS_COMPARE_SVG] = "svg",
    [HS_COMPARE_LEAKS] = "leaks-json",
};

int hs_compare_name_side(struct hs_compare_side *side, const char *operand)
{
    side->name = operand;
    int err = hs_dump_name_split(operand, &side->path, &side->select, &side->has_snapshot);
    if (err < 0) {
        hs_message("%s: %s", operand, strerror(-err));
    }
    return err < 0 ? HS_EXIT_STATUS_FAILED : 0;
}

void hs_compare_choose_process(struct hs_select_spec *select, const char *process)
{
    uint64_t pid;
    bool is_pid = process && hs_parse_number(process, &pid) == 0 && pid > 0 && pid <= UINT32_MAX;
    select->pid = is_pid ? (uint32_t)pid : HS_SELECT_ANY_PID;
    select->name = is_pid ? NULL : process;
}

int hs_compare_fill_in(struct hs_compare *compare, const char *base, const char *path,
                       const struct hs_select_spec *select)
{
    struct hs_compare_side *before = &compare->sides[HS_DIFF_BEFORE];
    struct hs_compare_side *after = &compare->sides[HS_DIFF_AFTER];
    int status = hs_compare_name_side(before, base);
    *after = (struct hs_compare_side){ .name = path, .path = strdup(path), .select = *select };
    before->select.stack_mode = select->stack_mode;
    /* A pid belongs to one run: in a base of another run, all processes are meant. */
    if (select->pid != HS_SELECT_ANY_PID && strcmp(before->path ? before->path : "", path) == 0) {
        before->select.pid = select->pid;
    }
    return status || after->path ? status : HS_EXIT_STATUS_FAILED;
}

struct hs_filter_texts hs_compare_filter_texts(const struct hs_compare *compare)
{
    return compare->filters ? hs_filter_options_texts(compare->filters)
                            : (struct hs_filter_texts){ 0 };
}

/* Writes the parts, or the whole comparison with them as JSON. */
static int write_by(const struct hs_compare *compare, const struct hs_diff *diff,
                    const struct hs_diff_options *options, struct hs_buf *buf)
{
    struct hs_part_diff parts;
    int err = hs_part_diff_build(options->selections[0], options->selections[1], diff, &compare->by,
                                 &parts);
    if (err == 0) {
        err = compare->format == HS_COMPARE_JSON ? hs_diff_write_json(diff, &parts, options, buf)
                                                 : hs_diff_write_by(diff, &parts, options, buf);
        hs_part_diff_deinit(&parts);
    }
    return err;
}

static int write_format(const struct hs_compare *compare, const struct hs_diff *diff,
                        const struct hs_selection *selections, struct hs_buf *buf)
{
    bool is_stdout = strcmp(compare->output, "-") == 0;
    const struct hs_diff_options options = {
        .names = { compare->sides[0].name, compare->sides[1].name },
        .selections = { &selections[0], &selections[1] },
        .top_count = compare->top_count,
        .columns = compare->has_columns ? compare->columns
                   : is_stdout && (isatty(STDOUT_FILENO) == 1 || getenv("COLUMNS"))
                       ? hs_args_columns(STDOUT_FILENO)
                       : COLUMNS_PIPED,
        .has_colour = is_stdout && hs_args_has_colour(STDOUT_FILENO),
        .filters = hs_compare_filter_texts(compare),
    };
    if (compare->is_rss) {
        return compare->format == HS_COMPARE_JSON ? hs_diff_write_rss_json(&options, buf)
                                                  : hs_diff_write_rss(&options, buf);
    }
    if (compare->by.by_count > 0) {
        return write_by(compare, diff, &options, buf);
    }
    switch (compare->format) {
    case HS_COMPARE_TABLE:
        return hs_diff_write_text(diff, &options, buf);
    case HS_COMPARE_TREE:
        return hs_diff_write_tree(diff, &options, buf);
    case HS_COMPARE_JSON:
        return hs_diff_write_json(diff, NULL, &options, buf);
    case HS_COMPARE_FOLDED:
        return hs_diff_write_folded(diff, buf);
    case HS_COMPARE_PPROF:
        return hs_diff_write_pprof(diff, &options, buf);
    case HS_COMPARE_SVG:
        return hs_diff_write_svg(diff, &options, buf);
    case HS_COMPARE_LEAKS: /* several files: hs_leaks_output_write() */
    case HS_COMPARE_FORMAT_N:
        break;
    }
    return -EINVAL;
}

struct output {
    const struct hs_compare *compare;
    const struct hs_diff *diff;
    const struct hs_selection *selections;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return write_format(output->compare, output->diff, output->selections, buf);
}

static int write_output(const struct hs_compare *compare, const struct hs_diff *diff,
                        const struct hs_selection *selections)
{
    char size[HS_HUMAN_BYTES];
    struct output output = { .compare = compare, .diff = diff, .selections = selections };
    uint64_t bytes = 0;
    int err = hs_output_write(compare->output, fill_output, &output, &bytes);
    if (err == 0 && strcmp(compare->output, "-") != 0 && compare->is_telling) {
        hs_message_info("wrote %s (%s): view %s, with %s subtracted", compare->output,
                        hs_human_bytes(size, (double)bytes), hs_views[diff->view].name,
                        compare->sides[HS_DIFF_BEFORE].name);
    }
    return hs_output_end(compare->output, err);
}

/*
 * Prints the losses that make figures wrong, because they make the difference wrong, too; and
 * whether the file contains the figures of this view at all.
 */
static void warn_of_losses(const char *path, const struct hs_selection *selection,
                           enum hs_view view)
{
    enum hs_load_loss lack =
        hs_views[view].quantity == HS_QUANTITY_ALLOC ? HS_LOAD_LOSS_NO_ALLOC : HS_LOAD_LOSS_NO_LIVE;
    const struct hs_profile *p = selection->profile;
    if (hs_loss_is_of_file(p, lack)) {
        hs_message("%s: %s", path, hs_loss_of_load(lack).text);
    }
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->is_serious && loss->count > 0 && hs_selection_has_loss(selection, loss)) {
            struct hs_buf text = HS_BUF_INIT;
            hs_loss_describe(p, loss, NULL, &text);
            hs_message("%s: %s", path, hs_buf_text(&text));
            hs_buf_deinit(&text);
        }
    }
}

/* Chooses heaps: each must be in one of the profiles at least. */
static int choose_heaps(const struct hs_compare *compare, struct hs_profile *const *profiles)
{
    int status = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        if (side == 0 || profiles[1] != profiles[0]) {
            status = hs_profile_file_choose_heaps(compare->sides[side].path, profiles[side],
                                                  compare->sides[HS_DIFF_AFTER].select.heaps,
                                                  profiles[1 - side]);
        }
    }
    return status;
}

static int compare_profiles(const struct hs_compare *compare, struct hs_profile *const *profiles,
                            enum hs_view view)
{
    struct hs_selection selections[HS_DIFF_SIDE_N] = { 0 };
    struct hs_diff diff;
    int err = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && err == 0; side++) {
        err = hs_select_dumps(profiles[side], &compare->sides[side].select, &selections[side]);
        if (err == 0) {
            warn_of_losses(compare->sides[side].path, &selections[side], view);
        }
    }
    int status = HS_EXIT_STATUS_FAILED;
    if (err == 0 && compare->format == HS_COMPARE_LEAKS) {
        status = hs_leaks_output_write(compare, &selections[0], &selections[1], view);
        goto out;
    }
    if (err == 0) {
        err = hs_diff_build(&selections[0], &selections[1], view, &diff);
    }
    if (err == 0 && compare->is_normalized) {
        err = hs_diff_normalize(&diff);
        if (err < 0) {
            hs_diff_deinit(&diff);
        }
    }
    if (err == 0) {
        status = write_output(compare, &diff, selections);
        hs_diff_deinit(&diff);
    } else if (err == -EDOM) {
        hs_message("one of the profiles is empty and cannot be scaled: leave out --normalize");
    } else {
        hs_message("cannot compare the profiles: %s", strerror(err < 0 ? -err : EINVAL));
    }
out:
    hs_selection_deinit(&selections[0]);
    hs_selection_deinit(&selections[1]);
    return status;
}

int hs_compare_filter(const struct hs_compare *compare, int side, struct hs_profile *profile,
                      enum hs_view view)
{
    const struct hs_compare_side *of = &compare->sides[side];
    bool is_data = compare->format == HS_COMPARE_JSON || compare->format == HS_COMPARE_LEAKS;
    if (!compare->filters) {
        return 0;
    }
    int status =
        hs_filter_options_apply_aloud(of->path, profile, compare->filters, &of->select, view);
    return status ? status : hs_filter_options_rename(of->path, profile, compare->filters, is_data);
}

int hs_compare_run(const struct hs_compare *compare)
{
    struct hs_profile *profiles[HS_DIFF_SIDE_N] = { NULL, NULL };
    bool is_one_file = strcmp(compare->sides[0].path, compare->sides[1].path) == 0;
    enum hs_view views[HS_DIFF_SIDE_N] = { HS_VIEW_SPACE, HS_VIEW_SPACE };
    const char *reason = NULL;
    int status = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        if (side == 1 && is_one_file) {
            profiles[1] = profiles[0];
        } else {
            status = hs_profile_file_load(compare->sides[side].path, &profiles[side]);
        }
    }
    status = status ? status : choose_heaps(compare, profiles);
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        status = hs_profile_file_choose(compare->sides[side].path, profiles[side],
                                        &compare->sides[side].select, compare->view, &views[side],
                                        &reason);
    }
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        if (side == 0 || !is_one_file) {
            status = hs_profile_file_change_stacks(compare->sides[side].path, profiles[side],
                                                   &compare->sides[side].select);
        }
    }
    /* Two snapshots of one file mostly have the same peak, so their live memory is compared. */
    if (compare->view == HS_VIEW_AUTO &&
        (is_one_file || views[0] != views[1] || compare->format == HS_COMPARE_LEAKS)) {
        views[0] = HS_VIEW_SPACE;
    } else if (status == 0 && reason) {
        hs_message_info("view %s, because %s", hs_views[views[0]].name, reason);
    }
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0 && compare->by.by_count > 0; side++) {
        status = hs_parts_option_check(compare->sides[side].path, profiles[side],
                                       &compare->sides[side].select, views[0], &compare->by);
    }
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        if (side == HS_DIFF_AFTER || !is_one_file) {
            status = hs_compare_filter(compare, side, profiles[side], views[0]);
        }
    }
    if (status == 0) {
        status = compare_profiles(compare, profiles, views[0]);
    }
    if (profiles[1] != profiles[0]) {
        hs_profile_free(profiles[1]);
    }
    hs_profile_free(profiles[0]);
    return status;
}

void hs_compare_deinit(struct hs_compare *compare)
{
    free(compare->sides[HS_DIFF_BEFORE].path);
    free(compare->sides[HS_DIFF_AFTER].path);
    *compare = (struct hs_compare){ 0 };
}
