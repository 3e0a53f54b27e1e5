/*
 * heapscope report: where the memory went, in text, as JSON or as a page.
 *
 * See       view/report.h, docs/man/heapscope-report.1
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/dump_name.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/compare.h"
#include "cli/read/filter_options.h"
#include "cli/read/page_output.h"
#include "cli/read/parts_option.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_sources.h"
#include "profile/analyse/leak_score.h"
#include "profile/analyse/lifetime_sums.h"
#include "profile/analyse/other_below.h"
#include "profile/analyse/stack_mode.h"
#include "util/buf.h"
#include "util/parse.h"
#include "view/report.h"

#define TOP_DEFAULT    10
#define STACKS_DEFAULT 5
#define FRAMES_DEFAULT 12
/* Width for a pipe or a file: names may be longer there, but not without a limit. */
#define COLUMNS_PIPED 160

struct report_args {
    unsigned view, stack_mode;
    bool is_tree, is_json, is_health, is_rss, is_leaks, is_html;
    const char *output;      /* of --html */
    const char *other_below; /* as given */
    struct hs_other_below other_limits;
    const char *top, *frames, *base, *snapshot, *by;
    bool has_lifetimes;
    uint64_t between_count; /* --temporary; UINT64_MAX: not given */
    uint64_t pid;
    uint64_t columns;
    struct hs_opt_list heaps;
    struct hs_filter_options filters;
    struct hs_heap_patterns heap_patterns;
};

/* --by: how parts are grouped. */
static int parse_by(const struct hs_opts_spec *spec, const struct report_args *args,
                    struct hs_report_options *options)
{
    if (!args->by) {
        return 0;
    }
    if (args->is_health || args->is_rss) {
        return hs_args_fail(spec, "--by cannot be shown together with %s",
                            args->is_health ? "--health" : "--rss");
    }
    int status = hs_parts_option_parse(spec, args->by, options->view, &options->by);
    if (status != 0) {
        return status;
    }
    for (uint32_t i = 0; i < options->by.by_count && args->is_tree; i++) {
        if (options->by.by[i] == HS_PART_BY_STACK) {
            return hs_args_fail(spec, "--by: with --tree, stacks are in the tree: leave out stack");
        }
    }
    options->form = args->is_json || args->is_tree ? options->form : HS_REPORT_BY;
    return 0;
}

/* --focus, --from, --hide: which stacks are shown, and what of them. */
static int parse_filters(const struct hs_opts_spec *spec, struct report_args *args,
                         struct hs_report_options *options)
{
    struct hs_filter_options *filters = &args->filters;
    const char *given = hs_filter_options_given(filters);
    bool is_changed = filters->from.count + filters->hide.count > 0;
    int status = hs_filter_options_parse(spec, filters);
    if (status == 0 && given && (args->is_health || args->is_rss)) {
        status = hs_args_fail(spec, "%s cannot be combined with %s", given,
                              args->is_health ? "--health" : "--rss");
    }
    if (status == 0 && is_changed && (args->is_leaks || args->has_lifetimes)) {
        status = hs_args_fail(spec, "--from and --hide cannot be combined with %s",
                              args->is_leaks ? "--leaks" : "--lifetimes");
    }
    options->filters = hs_filter_options_texts(filters);
    return status;
}

/* Leaks and lifetimes are forms of their own, and are recorded by stack alone. */
static int refuse_others(const struct hs_opts_spec *spec, const struct report_args *args,
                         const char *option)
{
    const char *other = args->is_tree                              ? "--tree"
                        : args->is_health                          ? "--health"
                        : args->is_rss                             ? "--rss"
                        : args->by                                 ? "--by"
                        : args->is_leaks && args->has_lifetimes    ? "--lifetimes"
                        : args->stack_mode != HS_STACK_MODE_NATIVE ? "--stack-mode"
                                                                   : NULL;
    return other ? hs_args_fail(spec, "%s cannot be shown together with %s", option, other) : 0;
}

/* --leaks: of what lives. */
static int parse_leaks(const struct hs_opts_spec *spec, const struct report_args *args,
                       struct hs_report_options *options)
{
    if (!args->is_leaks) {
        return 0;
    }
    if (options->view != HS_VIEW_AUTO && options->view != HS_VIEW_SPACE) {
        return hs_args_fail(spec, "--leaks is about what lives: it needs --view space");
    }
    options->view = HS_VIEW_SPACE;
    options->has_leaks = true;
    options->form = args->is_json ? options->form : HS_REPORT_LEAKS;
    return refuse_others(spec, args, "--leaks");
}

/* --lifetimes and --temporary. */
static int parse_lifetimes(const struct hs_opts_spec *spec, const struct report_args *args,
                           struct hs_report_options *options)
{
    bool is_given = args->between_count != UINT64_MAX;
    if (is_given && !args->has_lifetimes) {
        return hs_args_fail(spec, "--temporary is for --lifetimes");
    }
    if (!args->has_lifetimes) {
        return 0;
    }
    if (is_given && !hs_between_is_known(args->between_count)) {
        return hs_args_fail(spec, "--temporary: numbers are recorded in classes: give 0, 1, 3, 7, "
                                  "15, 31, 63 or 127");
    }
    options->has_lifetimes = true;
    options->between_count = is_given ? (uint32_t)args->between_count : 0;
    options->form = args->is_json ? options->form : HS_REPORT_LIFETIMES;
    return refuse_others(spec, args, "--lifetimes");
}

/* A number, or "all". */
static int parse_count(const struct hs_opts_spec *spec, const char *option, const char *text,
                       uint32_t *ret_count)
{
    uint64_t number;
    if (strcmp(text, "all") == 0) {
        *ret_count = HS_REPORT_ALL;
        return 0;
    }
    if (hs_parse_number(text, &number) < 0 || number == 0 || number >= UINT32_MAX) {
        return hs_args_fail(spec, "%s: '%s' is neither a number above 0 nor 'all'", option, text);
    }
    *ret_count = (uint32_t)number;
    return 0;
}

/* Checks which forms of the report are asked for together. */
static int check_forms(const struct hs_opts_spec *spec, struct report_args *args,
                       const struct hs_report_options *options)
{
    if (args->is_health && (args->is_json || args->is_tree)) {
        return hs_args_fail(spec, "--health cannot be shown together with --tree or --json");
    }
    if (args->is_rss && (args->is_json || args->is_tree || args->is_health)) {
        return hs_args_fail(spec, "--rss cannot be shown together with %s",
                            args->is_json ? "--json, which contains it" : "--tree or --health");
    }
    if (args->is_rss && options->view != HS_VIEW_AUTO) {
        return hs_args_fail(spec, "--rss cannot be shown together with --view");
    }
    if (args->stack_mode != HS_STACK_MODE_NATIVE && (args->is_health || args->is_rss)) {
        return hs_args_fail(spec, "--stack-mode cannot be combined with %s",
                            args->is_health ? "--health" : "--rss");
    }
    if (args->other_below && (!args->is_tree || args->base)) {
        return hs_args_fail(spec, "--other-below is for --tree%s",
                            args->base ? ", and not together with --base" : "");
    }
    if (args->other_below && !hs_other_below_parse(args->other_below, &args->other_limits)) {
        return hs_args_fail(spec,
                            "--other-below: '%s' is not SIZE,COUNT, such as 16K,1024, both above 0",
                            args->other_below);
    }
    return 0;
}

static int fill_options(const struct hs_opts_spec *spec, struct report_args *args,
                        struct hs_report_options *options)
{
    int status = 0;
    bool has_columns = args->columns != UINT64_MAX;
    args->heap_patterns = (struct hs_heap_patterns){ args->heaps.items, args->heaps.count };
    *options = (struct hs_report_options){
        .form = args->is_json     ? (args->is_tree ? HS_REPORT_JSON_TREE : HS_REPORT_JSON)
                : args->is_health ? HS_REPORT_HEALTH
                : args->is_rss    ? HS_REPORT_RSS
                : args->is_tree   ? HS_REPORT_TREE
                                  : HS_REPORT_TEXT,
        .view = (enum hs_view)args->view,
        .top_count = TOP_DEFAULT,
        .stack_count = args->is_json ? TOP_DEFAULT : STACKS_DEFAULT,
        .frame_count = FRAMES_DEFAULT,
        .select = { .pid = (uint32_t)args->pid,
                    .snapshot = HS_SELECT_LAST,
                    .heaps = &args->heap_patterns,
                    .stack_mode = (enum hs_stack_mode)args->stack_mode },
        .columns = has_columns ? (unsigned)args->columns
                   : isatty(STDOUT_FILENO) == 1 || getenv("COLUMNS")
                       ? hs_args_columns(STDOUT_FILENO)
                       : COLUMNS_PIPED,
        .has_colour = hs_args_has_colour(STDOUT_FILENO),
    };
    if (args->snapshot) {
        hs_dump_name_choose(args->snapshot, &options->select);
    }
    status = check_forms(spec, args, options);
    options->view = args->is_rss ? HS_VIEW_SPACE : options->view;
    if (status == 0 && args->top) {
        status = parse_count(spec, "--top", args->top, &options->top_count);
        options->stack_count = options->top_count;
    }
    if (status == 0 && args->frames) {
        status = parse_count(spec, "--frames", args->frames, &options->frame_count);
    }
    status = status ? status : parse_by(spec, args, options);
    status = status ? status : parse_leaks(spec, args, options);
    status = status ? status : parse_lifetimes(spec, args, options);
    return status ? status : parse_filters(spec, args, options);
}

struct output {
    const struct hs_profile *profile;
    const struct hs_report_options *options;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return hs_report_write(output->profile, output->options, buf);
}

static int write_report(const struct hs_profile *profile, const struct hs_report_options *options)
{
    struct output output = { .profile = profile, .options = options };
    return hs_output_end("-", hs_output_write("-", fill_output, &output, NULL));
}

/* Are there lifetimes, and is known what --temporary asks for? */
static int check_lifetimes(const char *path, const struct hs_profile *profile,
                           const struct hs_report_options *options)
{
    struct hs_selection selection;
    if (hs_select_dumps(profile, &options->select, &selection) != 0) {
        return 0; /* the report says why */
    }
    bool is_there = hs_lifetimes_are_there(&selection);
    bool is_exact = hs_lifetimes_are_exact(&selection);
    hs_selection_deinit(&selection);
    if (!is_there) {
        hs_message("%s: lifetimes were not recorded: record with --lifetimes", path);
        return HS_EXIT_STATUS_FAILED;
    }
    if (options->between_count > 0 && !is_exact) {
        hs_message("%s: --temporary %u: how many allocations lie in between is known only if each "
                   "one is recorded: record with -i 1, or ask for --temporary 0",
                   path, options->between_count);
        return HS_EXIT_STATUS_FAILED;
    }
    return 0;
}

static int run_report(const char *path, const struct report_args *args,
                      struct hs_report_options *options)
{
    struct hs_profile *profile = NULL;
    enum hs_view view;
    const char *reason;
    /* The view is chosen only to report an error: the report itself chooses it again, and prints
     * its reason. */
    int status =
        hs_profile_file_load_view(path, &options->select, options->view, &profile, &view, &reason);
    if (status == 0 && options->by.by_count > 0) {
        status = hs_parts_option_check(path, profile, &options->select, view, &options->by);
    }
    if (status == 0 && args->is_leaks && !hs_leaks_is_known(profile, &options->select)) {
        hs_message("%s: --leaks needs a trace of this version of heapscope: this file does not say "
                   "when the blocks were allocated that live",
                   path);
        status = HS_EXIT_STATUS_FAILED;
    }
    status = status ? status : hs_filter_options_apply(path, profile, &args->filters);
    status =
        status ? status : hs_filter_options_rename(path, profile, &args->filters, args->is_json);
    if (status == 0 && args->has_lifetimes) {
        status = check_lifetimes(path, profile, options);
    }
    if (status == 0 && args->other_below) {
        int err = hs_other_below_apply(profile, &args->other_limits, view);
        if (err != 0) {
            hs_message("%s: %s", path, strerror(-err));
            status = HS_EXIT_STATUS_FAILED;
        }
    }
    if (status == 0) {
        options->file = path;
        status = write_report(profile, options);
    }
    hs_profile_free(profile);
    return status;
}

/* --base: prints a comparison, as `diff` does. */
static int run_compare(const struct hs_opts_spec *spec, const char *path,
                       const struct report_args *args, const struct hs_report_options *options)
{
    if (args->is_health || args->frames || args->is_leaks || args->has_lifetimes ||
        (args->is_tree && (args->is_json || args->by))) {
        return hs_args_fail(spec, "--base cannot be shown together with %s",
                            args->is_health       ? "--health"
                            : args->frames        ? "--frames"
                            : args->is_leaks      ? "--leaks"
                            : args->has_lifetimes ? "--lifetimes"
                            : args->by            ? "--tree and --by at once"
                                                  : "--tree and --json at once");
    }
    struct hs_compare compare = {
        .view = options->view,
        .format = args->is_json   ? HS_COMPARE_JSON
                  : args->is_tree ? HS_COMPARE_TREE
                                  : HS_COMPARE_TABLE,
        .output = "-",
        .top_count = options->top_count,
        .is_rss = args->is_rss,
        .by = options->by,
        .filters = &args->filters,
        .has_columns = true,
        .columns = options->columns,
    };
    int status = hs_compare_fill_in(&compare, args->base, path, &options->select);
    status = status ? status : hs_compare_run(&compare);
    hs_compare_deinit(&compare);
    return status;
}

/* --html: the page, of one file or several. */
static int run_html(const struct hs_opts_spec *spec, const struct hs_opts_result *files,
                    const struct report_args *args, const struct hs_report_options *options)
{
    const char *other = args->is_json                     ? "--json"
                        : args->top                       ? "--top"
                        : args->frames                    ? "--frames"
                        : args->base                      ? "--base; give both files"
                        : args->is_leaks                  ? "--leaks, which it contains"
                        : args->has_lifetimes             ? "--lifetimes, which it contains"
                        : options->form != HS_REPORT_TEXT ? "another form of the report"
                                                          : NULL;
    if (other) {
        return hs_args_fail(spec, "--html cannot be combined with %s", other);
    }
    if (!args->output && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "--html writes a file: name it with -o, as in -o page.html");
    }
    const struct hs_page_output page = {
        .paths = (const char *const *)files->operands,
        .count = files->operand_count,
        .output = args->output ? args->output : "-",
        .options = options,
        .filters = &args->filters,
    };
    return hs_page_output_run(&page);
}

static int parse_and_run(const struct hs_opts_spec *spec, int argc, char **argv,
                         struct report_args *args)
{
    struct hs_opts_result result;
    struct hs_report_options options;
    int status = hs_args_parse(spec, argc, argv, &result);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    status = fill_options(spec, args, &options);
    if (status == 0 && args->is_html) {
        return run_html(spec, &result, args, &options);
    }
    if (status == 0 && (args->output || result.operand_count > 1)) {
        status = hs_args_fail(spec, args->output ? "-o is for --html"
                                                 : "several files can be shown with --html only");
    }
    return status != 0  ? status
           : args->base ? run_compare(spec, result.operands[0], args, &options)
                        : run_report(result.operands[0], args, &options);
}

static const char help_view[] =
    "what to show: space and objects (live at the snapshot),\n"
    "alloc_space and alloc_objects (allocated since the start, freed or\n"
    "not), peak (live at the peak), or auto (the default): space, or,\n"
    "when less than a fifth of the peak is live, peak (alloc_space in a\n"
    "file without peaks)";
static const char help_stack_mode[] =
    "which stacks to show: native (the default), native-with-thread-names (from\n"
    "the thread's name on), pseudo (the thread's name and the scopes that it\n"
    "had open) or mixed (the scopes, then the functions)";
static const char help_tree[] =
    "show the call tree from main down; with --json, as nested objects; with\n"
    "--by, a tree for each thread, type and so on";
static const char help_snapshot[] =
    "show snapshot N of each process; the first is 0 (default: the last); or\n"
    "the last snapshot that the program took under this name";
static const char help_heap[] =
    "show only these heaps: a glob or a list of them, such as 'pool,gpu*'; may\n"
    "be given more than once (default: all primary heaps)";
static const char help_base[] = "show what changed since this profile, or since BASE@N, its\n"
                                "snapshot N, or BASE@NAME, as heapscope diff BASE FILE does";

static const char help_lifetimes[] =
    "show how long freed blocks lived, which were temporary, and which share of\n"
    "all blocks lived for 1 s, 1 min and 1 h, by stack; of a recording with\n"
    "--lifetimes";
static const char help_temporary[] =
    "with --lifetimes: temporary are blocks that their thread frees with at\n"
    "most N other allocations in between (default 0); above 0: 1, 3, 7, ... 127,\n"
    "and only of a recording with -i 1";

int hs_cmd_report(int argc, char **argv)
{
    struct report_args args = { .view = HS_VIEW_AUTO,
                                .columns = UINT64_MAX,
                                .between_count = UINT64_MAX };
    const struct hs_opt list[] = {
        HS_OPT_CHOICE(0, "view", "VIEW", &args.view, hs_profile_file_views, help_view),
        HS_OPT_FLAG(0, "tree", &args.is_tree, help_tree),
        HS_OPT_STRING(0, "other-below", "SIZE,COUNT", &args.other_below,
                      "in the tree, add up stacks with less than both, as <other> with their\n"
                      "number"),
        HS_OPT_STRING(0, "top", "N", &args.top,
                      "number of functions and stacks to list (default 10 and 5), or all"),
        HS_OPT_STRING(0, "frames", "N", &args.frames,
                      "number of frames to show of each stack (default 12), or all"),
        HS_OPT_STRING(0, "snapshot", "N", &args.snapshot, help_snapshot),
        HS_OPT_NUMBER(0, "pid", "PID", &args.pid, 1, UINT32_MAX, "show only this process"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps, help_heap),
        HS_OPT_STRING(0, "base", "BASE", &args.base, help_base),
        HS_OPT_FLAG(0, "rss", &args.is_rss,
                    "show what the resident memory consists of: blocks, free memory of malloc's,\n"
                    "stacks, code, files and other mappings"),
        HS_OPT_CHOICE(0, "stack-mode", "MODE", &args.stack_mode, hs_stack_mode_names,
                      help_stack_mode),
        HS_OPT_STRING(0, "by", "LIST", &args.by,
                      "divide the memory by each of these in turn: process, heap, thread, type,\n"
                      "scope, label:KEY, age, stack; such as thread,stack or type,age"),
        HS_OPT_FLAG(0, "leaks", &args.is_leaks,
                    "show the stacks whose blocks are not freed while new ones keep coming, how\n"
                    "fast they grow, and how sure that is"),
        HS_FILTER_OPTIONS(&args.filters),
        HS_OPT_FLAG(0, "lifetimes", &args.has_lifetimes, help_lifetimes),
        HS_OPT_NUMBER(0, "temporary", "N", &args.between_count, 0, UINT32_MAX, help_temporary),
        HS_OPT_FLAG(0, "health", &args.is_health,
                    "show the counters of everything that can be missing from the profile"),
        HS_OPT_FLAG(0, "html", &args.is_html,
                    "write a page for a browser, which needs nothing else; of several files, with\n"
                    "the snapshots of all"),
        HS_OPT_STRING('o', "output", "PAGE", &args.output,
                      "with --html: write this file (default: standard output)"),
        HS_OPT_FLAG(0, "json", &args.is_json, "print JSON, with all figures and without rounding"),
        HS_OPT_NUMBER(0, "width", "COLUMNS", &args.columns, 0, 10000,
                      "shorten names to fit into this many columns (0: do not shorten)"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "report",
        .summary = "show where the memory went",
        .operands_usage = "FILE...",
        .footer = "FILE may be - for standard input.",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = HS_PAGE_FILES_MAX,
        .operand_missing = "no file was given",
    };
    int status = parse_and_run(&spec, argc, argv, &args);
    hs_opt_list_deinit(&args.heaps);
    hs_filter_options_deinit(&args.filters);
    return status;
}
