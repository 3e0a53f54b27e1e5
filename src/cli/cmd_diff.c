/*
 * heapscope diff: what changed between two profiles, or two snapshots of one.
 *
 * See       profile/diff.h, view/diff_view.h, docs/man/heapscope-diff.1
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/profile_file.h"
#include "rt/base.h"
#include "util/outfile.h"
#include "util/parse.h"
#include "view/diff_view.h"

#define TOP_DEFAULT   20
#define COLUMNS_PIPED 160

enum format {
    FORMAT_TABLE,
    FORMAT_TREE,
    FORMAT_JSON,
    FORMAT_FOLDED,
    FORMAT_PPROF,
    FORMAT_N,
};

static const char *const format_names[FORMAT_N] = {
    [FORMAT_TABLE] = "table",   [FORMAT_TREE] = "tree",   [FORMAT_JSON] = "json",
    [FORMAT_FOLDED] = "folded", [FORMAT_PPROF] = "pprof",
};

static const struct {
    const char *end;
    enum format format;
} file_ends[] = {
    { ".pb.gz", FORMAT_PPROF },      { ".pprof", FORMAT_PPROF }, { ".folded", FORMAT_FOLDED },
    { ".collapsed", FORMAT_FOLDED }, { ".json", FORMAT_JSON },
};

struct diff_args {
    unsigned format, view;
    bool is_tree, is_json;
    const char *output, *top, *snapshots;
    const char *paths[HS_DIFF_SIDE_N];
    struct hs_select_spec select[HS_DIFF_SIDE_N];
    uint32_t top_count;
};

static int parse_snapshot(const char *text, uint32_t *ret_snapshot)
{
    uint64_t number;
    if (strcmp(text, "last") == 0) {
        *ret_snapshot = HS_SELECT_LAST;
        return 0;
    }
    if (hs_parse_number(text, &number) < 0 || number >= HS_SELECT_LAST) {
        return -EINVAL;
    }
    *ret_snapshot = (uint32_t)number;
    return 0;
}

/* "2,7", "0,last" */
static int parse_snapshots(const struct hs_opts_spec *spec, struct diff_args *args)
{
    args->select[0].snapshot = args->select[1].snapshot = HS_SELECT_LAST;
    if (!args->snapshots) {
        return 0;
    }
    const char *comma = strchr(args->snapshots, ',');
    char *first = comma ? strndup(args->snapshots, (size_t)(comma - args->snapshots)) : NULL;
    bool is_good = first && parse_snapshot(first, &args->select[0].snapshot) == 0 &&
                   parse_snapshot(comma + 1, &args->select[1].snapshot) == 0;
    free(first);
    return is_good ? 0
                   : hs_args_fail(spec,
                                  "--snapshots: '%s' is not two snapshots: N,M or N,last, "
                                  "counted from 0",
                                  args->snapshots);
}

static int parse_top(const struct hs_opts_spec *spec, struct diff_args *args)
{
    uint64_t number = TOP_DEFAULT;
    args->top_count = HS_DIFF_ALL;
    if (args->top && strcmp(args->top, "all") == 0) {
        return 0;
    }
    if (args->top &&
        (hs_parse_number(args->top, &number) < 0 || number == 0 || number >= HS_DIFF_ALL)) {
        return hs_args_fail(spec, "--top: '%s' is neither a number above 0 nor 'all'", args->top);
    }
    args->top_count = (uint32_t)number;
    return 0;
}

static int choose_format(const struct hs_opts_spec *spec, struct diff_args *args)
{
    if (args->is_tree + args->is_json + (args->format != FORMAT_N) > 1) {
        return hs_args_fail(spec, "--tree, --json and --format exclude each other");
    }
    if (args->is_tree || args->is_json) {
        args->format = args->is_tree ? FORMAT_TREE : FORMAT_JSON;
    }
    size_t name_bytes = args->output ? strlen(args->output) : 0;
    for (size_t i = 0; i < HS_COUNT_OF(file_ends) && args->format == FORMAT_N; i++) {
        size_t bytes = strlen(file_ends[i].end);
        if (name_bytes > bytes &&
            strcmp(args->output + name_bytes - bytes, file_ends[i].end) == 0) {
            args->format = file_ends[i].format;
        }
    }
    args->format = args->format == FORMAT_N ? FORMAT_TABLE : args->format;
    args->output = args->output ? args->output : "-";
    if (strcmp(args->output, "-") == 0 && args->format == FORMAT_PPROF &&
        isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "pprof is binary and would garble the terminal: use -o FILE");
    }
    return 0;
}

static int write_format(const struct diff_args *args, const struct hs_diff *diff,
                        const struct hs_selection *selections, struct hs_buf *buf)
{
    bool is_stdout = strcmp(args->output, "-") == 0;
    const struct hs_diff_options options = {
        .names = { args->paths[0], args->paths[1] },
        .selections = { &selections[0], &selections[1] },
        .top_count = args->top_count,
        .columns = is_stdout && (isatty(STDOUT_FILENO) == 1 || getenv("COLUMNS"))
                       ? hs_args_columns(STDOUT_FILENO)
                       : COLUMNS_PIPED,
        .has_colour = is_stdout && hs_args_has_colour(STDOUT_FILENO),
    };
    switch ((enum format)args->format) {
    case FORMAT_TABLE:
        return hs_diff_write_text(diff, &options, buf);
    case FORMAT_TREE:
        return hs_diff_write_tree(diff, &options, buf);
    case FORMAT_JSON:
        return hs_diff_write_json(diff, &options, buf);
    case FORMAT_FOLDED:
        return hs_diff_write_folded(diff, buf);
    case FORMAT_PPROF:
        return hs_diff_write_pprof(diff, &options, buf);
    case FORMAT_N:
        break;
    }
    return -EINVAL;
}

static int write_output(const struct diff_args *args, const struct hs_diff *diff,
                        const struct hs_selection *selections)
{
    struct hs_outfile out;
    struct hs_buf buf;
    bool is_stdout = strcmp(args->output, "-") == 0;
    int err = hs_outfile_open(&out, args->output);
    if (err == 0) {
        hs_buf_init(&buf, hs_outfile_write, &out);
        err = write_format(args, diff, selections, &buf);
        int late_err = hs_buf_finish(&buf);
        err = err ? err : late_err;
        hs_buf_deinit(&buf);
        if (err == 0) {
            err = hs_outfile_commit(&out);
        }
        hs_outfile_abort(&out);
    }
    if (err < 0 && !(is_stdout && err == -EPIPE)) {
        hs_message("cannot write %s: %s", is_stdout ? "standard output" : args->output,
                   strerror(-err));
    }
    return err == 0 ? HS_EXIT_STATUS_DONE : HS_EXIT_STATUS_FAILED;
}

/* Losses that make figures wrong are worth a word before anybody trusts a difference. */
static void warn_of_losses(const char *path, const struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->is_serious && loss->count > 0 && hs_selection_has_loss(selection, loss)) {
            hs_message("%s: %s: %llu", path, hs_profile_string(p, loss->text),
                       (unsigned long long)loss->count);
        }
    }
}

static int compare(const struct diff_args *args, struct hs_profile *const *profiles,
                   enum hs_view view)
{
    struct hs_selection selections[HS_DIFF_SIDE_N] = { 0 };
    struct hs_diff diff;
    int err = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && err == 0; side++) {
        err = hs_select_dumps(profiles[side], &args->select[side], &selections[side]);
        if (err == 0) {
            warn_of_losses(args->paths[side], &selections[side]);
        }
    }
    int status = HS_EXIT_STATUS_FAILED;
    if (err == 0) {
        err = hs_diff_build(&selections[0], &selections[1], view, &diff);
    }
    if (err == 0) {
        status = write_output(args, &diff, selections);
        hs_diff_deinit(&diff);
    } else {
        hs_message("the profiles cannot be compared: %s", strerror(err < 0 ? -err : EINVAL));
    }
    hs_selection_deinit(&selections[0]);
    hs_selection_deinit(&selections[1]);
    return status;
}

static int run_diff(const struct diff_args *args)
{
    struct hs_profile *profiles[HS_DIFF_SIDE_N] = { NULL, NULL };
    bool is_one_file = strcmp(args->paths[0], args->paths[1]) == 0;
    enum hs_view views[HS_DIFF_SIDE_N] = { HS_VIEW_SPACE, HS_VIEW_SPACE };
    const char *reason = NULL;
    int status = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        if (side == 1 && is_one_file) {
            profiles[1] = profiles[0];
        } else {
            status = hs_profile_file_load(args->paths[side], &profiles[side]);
        }
        if (status == 0) {
            status = hs_profile_file_choose(args->paths[side], profiles[side], &args->select[side],
                                            (enum hs_view)args->view, &views[side], &reason);
        }
    }
    /* Two snapshots of one file have one peak, mostly. */
    if (args->view == HS_VIEW_AUTO && (is_one_file || views[0] != views[1])) {
        views[0] = HS_VIEW_SPACE;
    } else if (status == 0 && reason) {
        hs_message_info("view %s, as %s", hs_views[views[0]].name, reason);
    }
    if (status == 0) {
        status = compare(args, profiles, views[0]);
    }
    if (profiles[1] != profiles[0]) {
        hs_profile_free(profiles[1]);
    }
    hs_profile_free(profiles[0]);
    return status;
}

int hs_cmd_diff(int argc, char **argv)
{
    struct diff_args args = { .format = FORMAT_N, .view = HS_VIEW_AUTO };
    const struct hs_opt list[] = {
        HS_OPT_CHOICE(0, "view", "VIEW", &args.view, hs_profile_file_views,
                      "what to compare: space and objects (live at the snapshots),\n"
                      "alloc_space and alloc_objects (since the start), peak; default:\n"
                      "space, or peak if little is live at the end of both"),
        HS_OPT_STRING(0, "snapshots", "N,M", &args.snapshots,
                      "snapshot N with M of one FILE, or N of A with M of B; counted\n"
                      "from 0, or last (the default)"),
        HS_OPT_FLAG(0, "tree", &args.is_tree, "the call tree, main first"),
        HS_OPT_FLAG(0, "json", &args.is_json, "for programs: all digits"),
        HS_OPT_CHOICE('f', "format", "FORMAT", &args.format, format_names,
                      "table, tree, json, folded (stacks with both values, for\n"
                      "difference flame graphs) or pprof (with negative values); by\n"
                      "default what the name of OUT says, or table"),
        HS_OPT_STRING('o', "output", "OUT", &args.output,
                      "where it goes (default: standard output)"),
        HS_OPT_STRING(0, "top", "N", &args.top, "rows of each table (default 20), or all"),
    };
    const struct hs_opts_spec spec = {
        .command = "diff",
        .summary = "show what changed between two profiles, and what is only noise",
        .operands_usage = "A [B]",
        .footer = "A is before, B after. With one file: heapscope diff FILE --snapshots 2,7",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = 2,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (result.operand_count == 1 && !args.snapshots) {
        return hs_args_fail(&spec, "one file alone: give a second one, or --snapshots N,M");
    }
    args.paths[0] = result.operands[0];
    args.paths[1] = result.operands[result.operand_count - 1];
    status = parse_snapshots(&spec, &args);
    status = status ? status : parse_top(&spec, &args);
    status = status ? status : choose_format(&spec, &args);
    return status ? status : run_diff(&args);
}
