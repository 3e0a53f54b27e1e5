/*
 * heapscope diff: what changed between two profiles, or two snapshots of one.
 *
 * See       profile/analyse/diff.h, view/diff_view.h, docs/man/heapscope-diff.1
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/dump_name.h"
#include "cli/read/compare.h"
#include "cli/read/filter_options.h"
#include "cli/read/parts_option.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_sources.h"
#include "cli/read/trend_output.h"
#include "profile/analyse/stack_mode.h"
#include "rt/base.h"
#include "util/parse.h"
#include "view/diff_view.h"

#define TOP_DEFAULT 20
/* As in Chrome's script, when no limit is given. */
#define LEAK_COUNT_DEFAULT 1000

static const struct {
    const char *end;
    enum hs_compare_format format;
} file_ends[] = {
    { ".pb.gz", HS_COMPARE_PPROF },   { ".pprof", HS_COMPARE_PPROF },
    { ".folded", HS_COMPARE_FOLDED }, { ".collapsed", HS_COMPARE_FOLDED },
    { ".json", HS_COMPARE_JSON },     { ".svg", HS_COMPARE_SVG },
};

struct diff_args {
    unsigned format, view, stack_mode;
    bool is_tree, is_json, is_normalized, is_trend, is_rss;
    const char *output, *top, *snapshots, *process, *by;
    uint64_t leak_bytes, leak_count;
    struct hs_opt_list heaps;
    struct hs_heap_patterns heap_patterns;
    struct hs_filter_options filters;
    struct hs_compare compare;
};

/* "2,7", "0,last" */
static int parse_snapshots(const struct hs_opts_spec *spec, struct diff_args *args)
{
    struct hs_compare_side *sides = args->compare.sides;
    const char *comma = strchr(args->snapshots, ',');
    char *first = comma ? strndup(args->snapshots, (size_t)(comma - args->snapshots)) : NULL;
    bool is_good = first && hs_dump_name_number(first, &sides[0].select.snapshot) == 0 &&
                   hs_dump_name_number(comma + 1, &sides[1].select.snapshot) == 0;
    free(first);
    if (is_good && (sides[0].has_snapshot || sides[1].has_snapshot)) {
        return hs_args_fail(spec, "--snapshots and FILE@N cannot be combined");
    }
    return is_good ? 0
                   : hs_args_fail(spec,
                                  "--snapshots: '%s' does not name two snapshots: give N,M or "
                                  "N,last, counted from 0, or from -1, the last",
                                  args->snapshots);
}

static int parse_top(const struct hs_opts_spec *spec, struct diff_args *args)
{
    uint64_t number = TOP_DEFAULT;
    args->compare.top_count = HS_DIFF_ALL;
    if (args->top && strcmp(args->top, "all") == 0) {
        return 0;
    }
    if (args->top &&
        (hs_parse_number(args->top, &number) < 0 || number == 0 || number >= HS_DIFF_ALL)) {
        return hs_args_fail(spec, "--top: '%s' is neither a number above 0 nor 'all'", args->top);
    }
    args->compare.top_count = (uint32_t)number;
    return 0;
}

static int choose_format(const struct hs_opts_spec *spec, struct diff_args *args)
{
    if (args->is_tree + args->is_json + (args->format != HS_COMPARE_FORMAT_N) > 1) {
        return hs_args_fail(spec, "--tree, --json and --format cannot be combined");
    }
    if (args->is_tree || args->is_json) {
        args->format = args->is_tree ? HS_COMPARE_TREE : HS_COMPARE_JSON;
    }
    size_t name_bytes = args->output ? strlen(args->output) : 0;
    for (size_t i = 0; i < HS_COUNT_OF(file_ends) && args->format == HS_COMPARE_FORMAT_N; i++) {
        size_t bytes = strlen(file_ends[i].end);
        if (name_bytes > bytes &&
            strcmp(args->output + name_bytes - bytes, file_ends[i].end) == 0) {
            args->format = file_ends[i].format;
        }
    }
    args->format = args->format == HS_COMPARE_FORMAT_N ? HS_COMPARE_TABLE : args->format;
    args->output = args->output ? args->output : "-";
    if (strcmp(args->output, "-") == 0 && args->format == HS_COMPARE_PPROF &&
        isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "pprof is binary and would garble the terminal: use -o FILE");
    }
    args->compare.output = args->output;
    args->compare.format = (enum hs_compare_format)args->format;
    return 0;
}

/* Takes over the operands and options, all but the format. */
static int fill_in(const struct hs_opts_spec *spec, const struct hs_opts_result *result,
                   struct diff_args *args)
{
    struct hs_compare *compare = &args->compare;
    int status = 0;
    for (size_t side = 0; side < HS_DIFF_SIDE_N && status == 0; side++) {
        size_t operand = side == 0 ? 0 : result->operand_count - 1u;
        status = hs_compare_name_side(&compare->sides[side], result->operands[operand]);
        hs_compare_choose_process(&compare->sides[side].select, args->process);
        args->heap_patterns = (struct hs_heap_patterns){ args->heaps.items, args->heaps.count };
        compare->sides[side].select.heaps = &args->heap_patterns;
        compare->sides[side].select.stack_mode = (enum hs_stack_mode)args->stack_mode;
    }
    if (status == 0 && args->snapshots) {
        status = parse_snapshots(spec, args);
    }
    compare->view = (enum hs_view)args->view;
    compare->is_normalized = args->is_normalized;
    compare->is_rss = args->is_rss;
    compare->filters = &args->filters;
    status = status ? status : hs_filter_options_parse(spec, &args->filters);
    return status ? status : parse_top(spec, args);
}

static int run_trend(const struct hs_opts_spec *spec, const struct hs_compare *compare)
{
    if (compare->format != HS_COMPARE_TABLE && compare->format != HS_COMPARE_JSON) {
        return hs_args_fail(spec, "--trend writes a table or JSON, not %s",
                            hs_compare_formats[compare->format]);
    }
    if (compare->sides[HS_DIFF_AFTER].has_snapshot) {
        return hs_args_fail(spec, "--trend covers all snapshots: leave out the @ and the snapshot");
    }
    return hs_trend_output_run(compare);
}

/* Checks that there are as many files as the options need: one or two. */
static int check_operands(const struct hs_opts_spec *spec, size_t count,
                          const struct diff_args *args)
{
    if (args->is_trend && (count != 1 || args->snapshots || args->is_normalized)) {
        return hs_args_fail(spec, "--trend covers all snapshots of one file: give one file, "
                                  "without --snapshots and --normalize");
    }
    if (count == 1 && !args->snapshots && !args->is_trend) {
        return hs_args_fail(
            spec, "only one file was given: give a second one, or --snapshots N,M, or --trend");
    }
    return 0;
}

/* The resident memory is that of whole processes, and is known in bytes only. */
static int check_rss(const struct hs_opts_spec *spec, const struct diff_args *args)
{
    bool is_written =
        args->compare.format == HS_COMPARE_TABLE || args->compare.format == HS_COMPARE_JSON;
    const char *filter = hs_filter_options_given(&args->filters);
    const char *other = args->is_normalized                        ? "--normalize"
                        : filter                                   ? filter
                        : args->heaps.count > 0                    ? "--heap"
                        : args->view != (unsigned)HS_VIEW_AUTO     ? "--view"
                        : args->stack_mode != HS_STACK_MODE_NATIVE ? "--stack-mode"
                        : !is_written ? hs_compare_formats[args->compare.format]
                                      : NULL;
    return args->is_rss && other
               ? hs_args_fail(spec, "--rss cannot be shown together with %s", other)
               : 0;
}

/* --by: which parts are compared. */
static int check_by(const struct hs_opts_spec *spec, struct diff_args *args)
{
    bool is_written =
        args->compare.format == HS_COMPARE_TABLE || args->compare.format == HS_COMPARE_JSON;
    const char *other = args->is_rss          ? "--rss"
                        : args->is_trend      ? "--trend"
                        : args->is_normalized ? "--normalize"
                        : !is_written         ? hs_compare_formats[args->compare.format]
                                              : NULL;
    if (!args->by) {
        return 0;
    }
    return other ? hs_args_fail(spec, "--by cannot be combined with %s", other)
                 : hs_parts_option_parse(spec, args->by, args->compare.view, &args->compare.by);
}

/* Takes over the limits of leaks-json, and checks what it cannot be combined with. */
static int check_leaks(const struct hs_opts_spec *spec, struct diff_args *args)
{
    bool has_limit = args->leak_bytes > 0 || args->leak_count > 0;
    if (args->compare.format != HS_COMPARE_LEAKS) {
        return has_limit ? hs_args_fail(spec, "--threshold and --size-threshold apply to --format "
                                              "leaks-json only")
                         : 0;
    }
    if (args->is_normalized) {
        return hs_args_fail(spec, "leaks-json cannot be combined with --normalize");
    }
    if (strcmp(args->output, "-") == 0) {
        return hs_args_fail(spec, "leaks-json writes several files: use -o FOLDER");
    }
    args->compare.leak_bytes = args->leak_bytes;
    args->compare.leak_count = has_limit ? args->leak_count : LEAK_COUNT_DEFAULT;
    return 0;
}

static int run_diff(const struct hs_opts_spec *spec, const struct hs_opts_result *result,
                    struct diff_args *args)
{
    int status = check_operands(spec, result->operand_count, args);
    status = status ? status : fill_in(spec, result, args);
    status = status ? status : choose_format(spec, args);
    status = status ? status : check_rss(spec, args);
    status = status ? status : check_by(spec, args);
    status = status ? status : check_leaks(spec, args);
    if (status == 0 && args->is_trend) {
        status = run_trend(spec, &args->compare);
    } else if (status == 0) {
        status = hs_compare_run(&args->compare);
    }
    return status;
}

static const char footer[] =
    "A is the profile before, B the profile after. FILE@N is snapshot N of FILE,\n"
    "FILE@-1 the last one, and FILE@NAME the last one that the program took under\n"
    "this name. With one file: heapscope diff FILE@2 FILE@7,\n"
    "heapscope diff FILE --snapshots 2,7, or heapscope diff FILE --trend";

static const char help_view[] =
    "what to compare: space and objects (live at the snapshots),\n"
    "alloc_space and alloc_objects (allocated since the start), peak;\n"
    "default: space, or, when less than a fifth of the peak is live in each\n"
    "of two files, peak (alloc_space in files without peaks)";
static const char help_stack_mode[] =
    "which stacks to compare: native (the default), native-with-thread-names (from\n"
    "the thread's name on), pseudo (the thread's name and the scopes that it\n"
    "had open) or mixed (the scopes, then the functions)";
static const char help_snapshots[] =
    "compare snapshot N of A with snapshot M of B, or of the same FILE; the\n"
    "first is 0, 'last' is the last (the default); A@N B@M means the same";
static const char help_format[] =
    "table, tree, json, folded (stacks with both values, for\n"
    "difference flame graphs), svg (such a graph), pprof (with\n"
    "negative values) or leaks-json (into the folder OUT, a file for each\n"
    "heap, as Chrome's diff_heap_profiler); default: by the name of OUT,\n"
    "else table";

int hs_cmd_diff(int argc, char **argv)
{
    struct diff_args args = { .format = HS_COMPARE_FORMAT_N, .view = HS_VIEW_AUTO };
    const struct hs_opt list[] = {
        HS_OPT_CHOICE(0, "view", "VIEW", &args.view, hs_profile_file_views, help_view),
        HS_OPT_STRING(0, "snapshots", "N,M", &args.snapshots, help_snapshots),
        HS_OPT_STRING(0, "process", "NAME|PID", &args.process,
                      "compare only processes of this name, or only this pid"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps,
                    "compare only these heaps: a glob or a list of them, such as 'pool,gpu*';\n"
                    "may be given more than once (default: all primary heaps)"),
        HS_OPT_CHOICE(0, "stack-mode", "MODE", &args.stack_mode, hs_stack_mode_names,
                      help_stack_mode),
        HS_FILTER_OPTIONS(&args.filters),
        HS_OPT_FLAG(0, "normalize", &args.is_normalized,
                    "scale A to the total of B, to compare shares"),
        HS_OPT_FLAG(0, "trend", &args.is_trend,
                    "show what grows over all snapshots of one FILE, how fast, and whether\n"
                    "it ever fell; as a table or JSON"),
        HS_OPT_FLAG(0, "rss", &args.is_rss,
                    "show what of the resident memory changed, line by line, and why; with\n"
                    "--trend, what of it grows over all snapshots"),
        HS_OPT_STRING(0, "by", "LIST", &args.by,
                      "divide the change by each of these in turn: process, heap, thread, type,\n"
                      "scope, label:KEY, age, stack; such as type,stack; as a table or JSON"),
        HS_OPT_FLAG(0, "tree", &args.is_tree, "show the call tree from main down"),
        HS_OPT_FLAG(0, "json", &args.is_json, "print JSON, without rounding"),
        HS_OPT_CHOICE('f', "format", "FORMAT", &args.format, hs_compare_formats, help_format),
        HS_OPT_STRING('o', "output", "OUT", &args.output, "output file (default: standard output)"),
        HS_OPT_STRING(0, "top", "N", &args.top,
                      "number of rows of each table (default 20), or all"),
        HS_OPT_NUMBER(0, "threshold", "N", &args.leak_count, 0, UINT32_MAX,
                      "leaks-json: only stacks that gained more than N objects (default\n"
                      "1000, or 0 with --size-threshold)"),
        HS_OPT_SIZE(0, "size-threshold", "SIZE", &args.leak_bytes, 0, UINT64_MAX,
                    "leaks-json: only stacks that gained more than this"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "diff",
        .summary = "compare two profiles, and tell changes from sampling error",
        .operands_usage = "A [B]",
        .footer = footer,
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = 2,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON) {
        status = run_diff(&spec, &result, &args);
    }
    hs_compare_deinit(&args.compare);
    hs_opt_list_deinit(&args.heaps);
    hs_filter_options_deinit(&args.filters);
    return status;
}
