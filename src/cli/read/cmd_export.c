/*
 * heapscope export: a profile in the format of another tool.
 *
 * The output appears under its name only when it is complete. For a file, one message line says
 * what was written; standard output gets nothing but the result.
 *
 * See       view/{pprof,folded,speedscope,svg,massif,json_lines,memory_infra}.h,
 *           docs/man/heapscope-export.1
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/dump_name.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/read/compare.h"
#include "cli/read/database_file.h"
#include "cli/read/export_format.h"
#include "cli/read/filter_options.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_sources.h"
#include "cli/read/tables_file.h"
#include "profile/analyse/heap_sums.h"
#include "profile/analyse/other_below.h"
#include "profile/analyse/stack_mode.h"
#include "rt/base.h"
#include "sql/store/table_names.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/parse.h"
#include "util/shell_word.h"
#include "view/folded.h"
#include "view/json_lines.h"
#include "view/massif.h"
#include "view/memory_infra.h"
#include "view/pprof.h"
#include "view/speedscope.h"
#include "view/svg.h"

struct export_args {
    unsigned format;
    unsigned view, stack_mode;
    const char *output, *base;
    const char *snapshot;
    const char *other_below; /* as given */
    struct hs_other_below other_limits;
    const char *labels; /* as given */
    struct hs_pprof_options pprof;
    uint64_t pid;
    bool is_quiet;
    struct hs_opt_list heaps;
    struct hs_filter_options filters;
    struct hs_heap_patterns heap_patterns;
};

static int write_memory_infra(const struct export_args *args, const struct hs_profile *profile,
                              const struct hs_select_spec *select, enum hs_view view,
                              struct hs_buf *buf)
{
    const struct hs_memory_infra_options options = {
        .view = view,
        .is_all_dumps = args->snapshot == NULL,
        .is_compressed = hs_export_name_ends_in(args->output, ".gz"),
        .other_below_bytes = (uint64_t)args->other_limits.bytes,
        .other_below_count = (uint64_t)args->other_limits.count,
    };
    return hs_memory_infra_write(profile, select, &options, buf);
}

static int write_format(const struct export_args *args, const struct hs_profile *profile,
                        const struct hs_select_spec *select, enum hs_view view, struct hs_buf *buf)
{
    switch ((enum hs_export_format)args->format) {
    case HS_EXPORT_PPROF:
        return hs_pprof_write(profile, select, &args->pprof, buf);
    case HS_EXPORT_FOLDED:
        return hs_folded_write(profile, select, view, buf);
    case HS_EXPORT_SPEEDSCOPE:
        return hs_speedscope_write(profile, select, view, buf);
    case HS_EXPORT_SVG:
        return hs_svg_write(profile, select, view, buf);
    case HS_EXPORT_MASSIF:
        return hs_massif_write(profile, select, buf);
    case HS_EXPORT_JSON:
        return hs_json_lines_write(profile, select, buf);
    case HS_EXPORT_MEMORY_INFRA:
        return write_memory_infra(args, profile, select, view, buf);
    case HS_EXPORT_SQLITE: /* not from a profile: export_database() */
    case HS_EXPORT_N:
        break;
    }
    return -EINVAL;
}

/* True: the output does not consist of just the view that --view chose. */
static bool has_all_views(unsigned format)
{
    return format == HS_EXPORT_PPROF || format == HS_EXPORT_MASSIF || format == HS_EXPORT_JSON ||
           format == HS_EXPORT_SQLITE;
}

static bool has_several_views(unsigned format)
{
    return has_all_views(format) || format == HS_EXPORT_SPEEDSCOPE;
}

static void say_done(const struct export_args *args, enum hs_view view, const char *reason,
                     uint64_t bytes)
{
    char size[HS_HUMAN_BYTES];
    hs_human_bytes(size, (double)bytes);
    if (has_all_views(args->format)) {
        hs_message_info("wrote %s (%s)", args->output, size);
    } else {
        hs_message_info("wrote %s (%s), view %s%s%s", args->output, size, hs_views[view].name,
                        reason ? ", because " : "", reason ? reason : "");
    }
}

static int export_database(const char *path, const struct export_args *args)
{
    uint64_t bytes = 0;
    sqlite3 *db = NULL;
    int r = hs_tables_file_open(HS_SQL_PACKETS | HS_SQL_PROFILE, path, &args->heap_patterns, &db);
    if (r != 0) {
        return r;
    }
    hs_progress_expect("heapscope: writing the database ...\n");
    r = hs_database_file_write(db, args->output, &bytes);
    if (r == 0 && strcmp(args->output, "-") != 0) {
        say_done(args, HS_VIEW_SPACE, NULL, bytes);
    }
    hs_progress_over();
    sqlite3_close(db);
    return hs_output_end(args->output, r);
}

struct output {
    const struct export_args *args;
    const struct hs_profile *profile;
    const struct hs_select_spec *select;
    enum hs_view view;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return write_format(output->args, output->profile, output->select, output->view, buf);
}

static int write_output(const struct export_args *args, const struct hs_profile *profile,
                        const struct hs_select_spec *select, enum hs_view view, const char *reason)
{
    struct output output = { .args = args, .profile = profile, .select = select, .view = view };
    uint64_t bytes = 0;
    int err = hs_output_write(args->output, fill_output, &output, &bytes);
    if (err == 0 && strcmp(args->output, "-") != 0) {
        say_done(args, view, reason, bytes);
    }
    return hs_output_end(args->output, err);
}

static struct hs_select_spec select_of(const struct export_args *args)
{
    struct hs_select_spec select = { .pid = (uint32_t)args->pid,
                                     .snapshot = HS_SELECT_LAST,
                                     .heaps = &args->heap_patterns,
                                     .stack_mode = (enum hs_stack_mode)args->stack_mode };
    if (args->snapshot) {
        hs_dump_name_choose(args->snapshot, &select);
    }
    return select;
}

/* Prints which heaps were added up; all other formats say it in the output, or name each heap. */
static void say_heaps(const struct export_args *args, const struct hs_profile *profile,
                      const struct hs_select_spec *select)
{
    struct hs_selection selection;
    struct hs_buf text = HS_BUF_INIT;
    if (args->format == HS_EXPORT_FOLDED && hs_select_dumps(profile, select, &selection) == 0) {
        if (hs_heap_sums_describe(&selection, &text) > 1 && text.err == 0) {
            hs_message_info("%s", hs_buf_text(&text));
        }
        hs_selection_deinit(&selection);
    }
    hs_buf_deinit(&text);
}

static int merge_small(const char *path, const struct export_args *args, struct hs_profile *profile,
                       enum hs_view view)
{
    int err = 0;
    if (args->other_below) {
        err = hs_other_below_apply(profile, &args->other_limits,
                                   has_several_views(args->format) ? HS_VIEW_AUTO : view);
    }
    if (err != 0) {
        hs_message("%s: %s", path, strerror(-err));
    }
    return err ? HS_EXIT_STATUS_FAILED : 0;
}

/* Says what is missing for tags or labels. */
static int check_pprof(const char *path, const struct export_args *args,
                       const struct hs_profile *profile, const struct hs_select_spec *select)
{
    int err = args->format == HS_EXPORT_PPROF ? hs_pprof_check(profile, select, &args->pprof) : 0;
    if (err == -ENODATA && args->pprof.with_tags) {
        hs_message("%s does not list the blocks of the snapshot: record it with --blocks (run, "
                   "attach, start, snapshot), or use --labels thread,type",
                   path);
    } else if (err == -ENODATA) {
        hs_message("%s does not tell what threads, types and ages have of a stack: only traces "
                   "that this version of heapscope recorded do",
                   path);
    }
    return err == -ENODATA ? HS_EXIT_STATUS_FAILED : 0;
}

static int run_export(const char *path, const struct export_args *args)
{
    const struct hs_select_spec select = select_of(args);
    struct hs_profile *profile = NULL;
    enum hs_view view = HS_VIEW_SPACE;
    const char *reason = NULL;
    int status = hs_profile_file_load_view(path, &select, (enum hs_view)args->view, &profile, &view,
                                           &reason);
    if (status == 0) {
        if (args->format == HS_EXPORT_MEMORY_INFRA && args->view == HS_VIEW_AUTO &&
            view == HS_VIEW_PEAK) {
            view = HS_VIEW_SPACE; /* its dumps are of what is live at their times */
            reason = NULL;
        }
        if (hs_profile_file_is_damaged(profile)) {
            char word[HS_SHELL_WORD_BYTES];
            hs_message("%s is damaged or cut off: what can be read is exported; to see what is "
                       "missing: heapscope report %s",
                       path, hs_shell_word(path, word, sizeof(word)));
        }
        say_heaps(args, profile, &select);
        status = check_pprof(path, args, profile, &select);
    }
    if (status == 0) {
        status = hs_filter_options_apply_aloud(path, profile, &args->filters, &select, view);
    }
    if (status == 0) {
        status =
            hs_filter_options_rename(path, profile, &args->filters, args->format == HS_EXPORT_JSON);
    }
    if (status == 0) {
        status = merge_small(path, args, profile, view);
    }
    if (status == 0) {
        status = write_output(args, profile, &select, view, reason);
    }
    hs_profile_free(profile);
    return status;
}

/* Exports the profile minus its base, in formats that can show negative values. */
static int export_difference(const struct hs_opts_spec *spec, const char *path,
                             const struct export_args *args)
{
    const struct hs_select_spec select = select_of(args);
    struct hs_compare compare = {
        .view = (enum hs_view)args->view,
        .output = args->output,
        .top_count = UINT32_MAX,
        .is_telling = true,
        .filters = &args->filters,
    };
    switch ((enum hs_export_format)args->format) {
    case HS_EXPORT_PPROF:
        compare.format = HS_COMPARE_PPROF;
        break;
    case HS_EXPORT_FOLDED:
        compare.format = HS_COMPARE_FOLDED;
        break;
    case HS_EXPORT_SVG:
        compare.format = HS_COMPARE_SVG;
        break;
    default:
        return hs_args_fail(spec,
                            "--base: %s has no negative values; use pprof, folded or svg, or "
                            "heapscope diff for a table, a tree or JSON",
                            hs_export_format_names[args->format]);
    }
    int status = hs_compare_fill_in(&compare, args->base, path, &select);
    status = status ? status : hs_compare_run(&compare);
    hs_compare_deinit(&compare);
    return status;
}

static int export_all(const struct hs_opts_spec *spec, const char *path,
                      const struct export_args *args)
{
    if (args->pid != 0 || args->snapshot || args->view != HS_VIEW_AUTO) {
        return hs_args_fail(spec,
                            "a database contains every process, snapshot and figure: leave out "
                            "--pid, --snapshot and --view");
    }
    if (args->stack_mode != HS_STACK_MODE_NATIVE) {
        return hs_args_fail(spec, "--stack-mode: a database has the stacks that were recorded, and "
                                  "threads and scopes in the table heapscope_parts");
    }
    if (strcmp(args->output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec,
                            "a database is binary and would garble the terminal: use -o FILE");
    }
    return export_database(path, args);
}

static int read_other_below(const struct hs_opts_spec *spec, struct export_args *args)
{
    if (args->format == HS_EXPORT_SQLITE) {
        return hs_args_fail(spec, "--other-below: a database contains every stack; leave the "
                                  "option out, and add stacks up in SQL");
    }
    if (args->base) {
        return hs_args_fail(spec, "--other-below cannot be used together with --base: a stack may "
                                  "be small on one side only");
    }
    return hs_other_below_parse(args->other_below, &args->other_limits)
               ? 0
               : hs_args_fail(spec,
                              "--other-below: '%s' is not SIZE,COUNT, such as 16K,1024, both "
                              "above 0",
                              args->other_below);
}

static int read_pprof_options(const struct hs_opts_spec *spec, struct export_args *args)
{
    const char *bad = NULL;
    const char *given = args->pprof.with_tags ? "--with-tags" : "--labels";
    if (!args->pprof.with_tags && !args->labels) {
        return 0;
    }
    if (args->pprof.with_tags && args->labels) {
        return hs_args_fail(spec, "--with-tags and --labels cannot be combined: blocks have the "
                                  "labels thread and type already");
    }
    if (args->format != HS_EXPORT_PPROF) {
        return hs_args_fail(spec, "%s: only pprof has labels, not %s", given,
                            hs_export_format_names[args->format]);
    }
    if (args->base || args->other_below) {
        return hs_args_fail(spec, "%s cannot be used together with %s", given,
                            args->base ? "--base" : "--other-below");
    }
    return !args->labels || hs_pprof_labels_parse(args->labels, &args->pprof.labels, &bad)
               ? 0
               : hs_args_fail(spec,
                              "--labels: '%.*s' is not one of thread, type, age, scope and label",
                              (int)strcspn(bad, ","), bad);
}

static int export_with(const struct hs_opts_spec *spec, const char *path, struct export_args *args)
{
    hs_message_set_quiet(args->is_quiet);
    if (args->format == HS_EXPORT_N && args->output) {
        args->format = hs_export_format_of_name(args->output);
    }
    if (args->format == HS_EXPORT_N) {
        return hs_args_fail(spec,
                            "no format was given: --format pprof, folded, speedscope, svg, massif, "
                            "json, sqlite or memory-infra");
    }
    args->output = args->output ? args->output : "-";
    int status = read_pprof_options(spec, args);
    if (status == 0 && args->other_below) {
        status = read_other_below(spec, args);
    }
    if (status != 0) {
        return status;
    }
    if (strcmp(args->output, "-") == 0 && args->format == HS_EXPORT_PPROF &&
        isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "pprof is binary and would garble the terminal: use -o FILE");
    }
    const char *filter = hs_filter_options_given(&args->filters);
    filter = filter ? filter : hs_filter_options_names_given(&args->filters);
    if (filter && args->format == HS_EXPORT_SQLITE) {
        return hs_args_fail(spec, "%s cannot be combined with the format sqlite: SQL does it",
                            filter);
    }
    if (args->base) {
        return export_difference(spec, path, args);
    }
    if (args->format == HS_EXPORT_SQLITE) {
        return export_all(spec, path, args);
    }
    return run_export(path, args);
}

static int parse_and_export(const struct hs_opts_spec *spec, const char *path,
                            struct export_args *args)
{
    args->heap_patterns = (struct hs_heap_patterns){ args->heaps.items, args->heaps.count };
    int status = hs_filter_options_parse(spec, &args->filters);
    return status ? status : export_with(spec, path, args);
}

int hs_cmd_export(int argc, char **argv)
{
    struct export_args args = { .format = HS_EXPORT_N, .view = HS_VIEW_AUTO };
    const struct hs_opt list[] = {
        HS_OPT_CHOICE('f', "format", "FORMAT", &args.format, hs_export_format_names,
                      "pprof, folded, speedscope, svg, massif, json, sqlite or memory-infra\n"
                      "(default: by the name of OUT)"),
        HS_OPT_STRING('o', "output", "OUT", &args.output,
                      "output file (default -, standard output)"),
        HS_OPT_CHOICE(0, "view", "VIEW", &args.view, hs_profile_file_views,
                      "what to write: space, objects, alloc_space, alloc_objects, peak or auto\n"
                      "(the default), as for report; pprof and json always contain all views,\n"
                      "speedscope opens with this one, massif has live memory and the peak,\n"
                      "and memory-infra has live memory unless told otherwise"),
        HS_OPT_STRING(0, "snapshot", "N", &args.snapshot,
                      "write snapshot N of each process; the first is 0 (default: the last; for\n"
                      "memory-infra all); or the last that the program took under this name"),
        HS_OPT_NUMBER(0, "pid", "PID", &args.pid, 1, UINT32_MAX, "write only this process"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps,
                    "write only these heaps: a glob or a list of them, such as 'pool,gpu*'; may\n"
                    "be given more than once (default: all primary heaps)"),
        HS_FILTER_OPTIONS(&args.filters),
        HS_OPT_STRING(0, "base", "BASE", &args.base,
                      "subtract this profile, or BASE@N, its snapshot N, or BASE@NAME: pprof then\n"
                      "has negative values, folded two columns, and svg red and blue boxes"),
        HS_OPT_CHOICE(
            0, "stack-mode", "MODE", &args.stack_mode, hs_stack_mode_names,
            "which stacks to write: native (the default), native-with-thread-names (from\n"
            "the thread's name on), pseudo (the thread's name and the scopes that it\n"
            "had open) or mixed (the scopes, then the functions)"),
        HS_OPT_STRING(0, "other-below", "SIZE,COUNT", &args.other_below,
                      "add up stacks with less than both, as <other> with their number; for\n"
                      "pprof, massif and json, if that holds for all of their figures"),
        HS_OPT_FLAG(
            0, "with-tags", &args.pprof.with_tags,
            "for pprof: one sample for each recorded live block, with the labels address,\n"
            "bytes, timestamp, thread and type; FILE must list the blocks, see heapscope-run(1)"),
        HS_OPT_STRING(0, "labels", "LIST", &args.labels,
                      "for pprof: divide stacks by these labels, of thread, type, age, scope and\n"
                      "label, separated by commas; pprof -tagroot and -tagfocus use them"),
        HS_OPT_FLAG('q', "quiet", &args.is_quiet, "print nothing but errors"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "export",
        .summary = "write a profile in the format of another tool",
        .operands_usage = "FILE",
        .footer = "FILE may be - for standard input.",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = 1,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    status = status == HS_ARGS_GO_ON ? parse_and_export(&spec, result.operands[0], &args) : status;
    hs_opt_list_deinit(&args.heaps);
    hs_filter_options_deinit(&args.filters);
    return status;
}
