/*
 * heapscope check: a gate for CI. Does a profile keep within its limits?
 *
 * Options and files of limits are merged into one set of limits (check/limits.h). Each profile is
 * judged by it (check/judge.h). The verdicts go to standard output, as text or JSON, and to a file
 * in JUnit's XML.
 *
 * Exit status: 0 all limits are kept; 1 one is broken, or cannot be judged; 2 wrong usage, also of
 * a file of limits; 3 a file could not be read or written, and no limit is known to be broken.
 *
 * See       docs/man/heapscope-check.1
 */
#include <errno.h>
#include <string.h>

#include "check/check_view.h"
#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/check_files.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_sources.h"
#include "rt/base.h"
#include "util/outfile.h"

struct check_args {
    struct hs_opt_list limit_files, stacks, suppressions, heaps;
    const char *values[HS_LIMIT_N]; /* as typed; NULL: not given */
    const char *against, *junit_path;
    bool is_strict, is_json;
};

/* The state while files are judged. */
struct checks {
    struct hs_limits limits;
    struct hs_suppressions suppressions;
    struct hs_profile *base;
    struct hs_select_spec base_select;
    struct hs_heap_patterns heaps;
    bool is_json;
    bool is_silent; /* standard output is for JUnit's XML */
    struct hs_json json;
    struct hs_check_junit junit;
    struct hs_buf *out;
    int status;
};

/* --- limits ----------------------------------------------------------------------------------- */

static int set_limit(const struct hs_opts_spec *spec, struct hs_limits *limits, const char *name,
                     const char *value)
{
    struct hs_text_error error;
    int err = value ? hs_limits_set(limits, name, value, &error) : 0;
    if (err == -EINVAL) {
        return hs_args_fail(spec, "--%s: %s", name, error.text);
    }
    if (err < 0) {
        hs_message("--%s: %s", name, strerror(-err));
    }
    return err < 0 ? HS_EXIT_STATUS_FAILED : 0;
}

static int set_all(const struct hs_opts_spec *spec, struct hs_limits *limits, const char *name,
                   const struct hs_opt_list *values)
{
    int status = 0;
    for (size_t i = 0; i < values->count && status == 0; i++) {
        status = set_limit(spec, limits, name, values->items[i]);
    }
    return status;
}

/* Reads files of limits first, because options override them. */
static int collect_limits(const struct hs_opts_spec *spec, const struct check_args *args,
                          struct checks *checks)
{
    struct hs_limits *limits = &checks->limits;
    struct hs_text_error error;
    int status = 0;
    for (size_t i = 0; i < args->limit_files.count && status == 0; i++) {
        status = hs_check_files_limits(args->limit_files.items[i], limits);
    }
    for (unsigned kind = 0; kind < HS_LIMIT_N && status == 0; kind++) {
        status = set_limit(spec, limits, hs_limit_names[kind], args->values[kind]);
    }
    status = status ? status : set_all(spec, limits, "stack", &args->stacks);
    status = status ? status : set_all(spec, limits, "suppressions", &args->suppressions);
    status = status ? status : set_limit(spec, limits, "against", args->against);
    status = status ? status : set_limit(spec, limits, "strict", args->is_strict ? "" : NULL);
    if (status == 0 && hs_limits_are_whole(limits, &error) < 0) {
        return hs_args_fail(spec, "%s", error.text);
    }
    for (size_t i = 0; i < limits->suppression_count && status == 0; i++) {
        status = hs_check_files_suppressions(limits->suppression_paths[i], &checks->suppressions);
    }
    return status;
}

/* Heaps of the command line replace those of files of limits. */
static void choose_heaps(const struct check_args *args, struct checks *checks)
{
    const struct hs_limits *limits = &checks->limits;
    checks->heaps =
        args->heaps.count > 0
            ? (struct hs_heap_patterns){ args->heaps.items, args->heaps.count }
            : (struct hs_heap_patterns){ (const char *const *)limits->heaps, limits->heap_count };
}

static int load_base(struct checks *checks)
{
    struct hs_buf why = HS_BUF_INIT;
    const char *path = checks->limits.against;
    /* A heap may be newer than the base. */
    int status = path ? hs_profile_file_open(path, &checks->heaps, true, &checks->base_select,
                                             &checks->base, &why)
                      : 0;
    if (status != 0) {
        hs_message("%s: %s", path, hs_buf_text(&why));
    }
    hs_buf_deinit(&why);
    return status ? HS_EXIT_STATUS_NO_FILE : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A broken limit decides the exit status, before a file that is missing. */
static void put_status(struct checks *checks, int status)
{
    if (checks->status == 0 || status == HS_EXIT_STATUS_FAILED) {
        checks->status = status;
    }
}

static int judge_file(struct checks *checks, struct hs_check *check, struct hs_profile **profile)
{
    struct hs_buf why = HS_BUF_INIT;
    int err;
    check->base_select = checks->base_select;
    if (hs_profile_file_open(check->path, &checks->heaps, false, &check->select, profile, &why) ==
        0) {
        err = hs_check_judge(check, *profile, checks->base);
    } else {
        hs_message("%s: %s", check->path, hs_buf_text(&why));
        err = hs_check_put_unreadable(check, hs_buf_text(&why));
    }
    hs_buf_deinit(&why);
    return err;
}

static void check_file(struct checks *checks, const char *path)
{
    struct hs_check check;
    struct hs_profile *profile = NULL;
    hs_check_init(&check, path, &checks->limits, &checks->suppressions);
    int err = judge_file(checks, &check, &profile);
    if (err != 0) {
        hs_message("%s: %s", path, strerror(err < 0 ? -err : EINVAL));
        put_status(checks, HS_EXIT_STATUS_FAILED);
    } else if (!check.is_kept) {
        put_status(checks, check.is_readable ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_NO_FILE);
    }
    if (checks->is_json) {
        hs_check_json_file(&checks->json, &check);
    } else if (!checks->is_silent) {
        hs_check_write_text(&check, checks->out);
    }
    hs_check_junit_file(&checks->junit, &check);
    hs_check_deinit(&check);
    hs_profile_free(profile);
}

/* --- output ----------------------------------------------------------------------------------- */

/* A reader that went away (`| head`) is not an error. */
static int say_output(const char *path, int err)
{
    if (err < 0 && err != -EPIPE) {
        hs_message("%s: %s", strcmp(path, "-") == 0 ? "standard output" : path, strerror(-err));
    }
    return err;
}

static int fill_junit(void *ctx, struct hs_buf *buf)
{
    hs_check_junit_write(ctx, buf);
    return 0;
}

static int write_junit(const struct hs_check_junit *junit, const char *path)
{
    return say_output(path, hs_output_write(path, fill_junit, (void *)(uintptr_t)junit, NULL));
}

static void check_all(struct checks *checks, char **paths, size_t path_count)
{
    if (checks->is_json) {
        hs_json_init(&checks->json, checks->out, 2);
        hs_check_json_begin(&checks->json, &checks->limits);
    }
    for (size_t i = 0; i < path_count; i++) {
        check_file(checks, paths[i]);
    }
    if (!checks->is_json && !checks->is_silent) {
        hs_check_write_suppressions(&checks->suppressions, checks->out);
    }
}

/* Writes JUnit's file first: its failure changes the exit status, which the JSON contains. */
static int run_checks(struct checks *checks, const char *junit_path, char **paths,
                      size_t path_count)
{
    struct hs_outfile file;
    struct hs_buf out;
    int err = hs_outfile_open(&file, "-");
    hs_buf_init(&out, hs_outfile_write, &file);
    checks->out = &out;
    check_all(checks, paths, path_count);
    if (junit_path && write_junit(&checks->junit, junit_path) < 0) {
        put_status(checks, HS_EXIT_STATUS_NO_FILE);
    }
    if (checks->is_json) {
        hs_check_json_end(&checks->json, &checks->suppressions, checks->status);
    }
    int late_err = hs_buf_finish(&out);
    err = err ? err : late_err;
    hs_buf_deinit(&out);
    checks->out = NULL;
    late_err = hs_outfile_commit(&file);
    err = err ? err : late_err;
    if (say_output("-", err) < 0) {
        put_status(checks, HS_EXIT_STATUS_NO_FILE);
    }
    return checks->status;
}

/* --- the command ------------------------------------------------------------------------------ */

static int run_check(const struct hs_opts_spec *spec, const struct check_args *args,
                     const struct hs_opts_result *result)
{
    bool is_silent = args->junit_path && strcmp(args->junit_path, "-") == 0;
    struct checks checks = { .is_json = args->is_json, .is_silent = is_silent };
    if (args->is_json && is_silent) {
        return hs_args_fail(spec, "--json and --junit - cannot both write to standard output");
    }
    int status = collect_limits(spec, args, &checks);
    choose_heaps(args, &checks);
    status = status ? status : load_base(&checks);
    if (status == 0) {
        status = run_checks(&checks, args->junit_path, result->operands, result->operand_count);
    }
    hs_profile_free(checks.base);
    hs_check_junit_deinit(&checks.junit);
    hs_suppressions_deinit(&checks.suppressions);
    hs_limits_deinit(&checks.limits);
    return status;
}

static const char footer[] =
    "FILE and BASE are files for heapscope report; FILE may be - for standard input.\n\n"
    "Exit status: 0 all limits are kept, 1 a limit is broken or cannot be judged,\n"
    "2 wrong usage, 3 a file could not be read or written.";

static void deinit_args(struct check_args *args)
{
    hs_opt_list_deinit(&args->limit_files);
    hs_opt_list_deinit(&args->stacks);
    hs_opt_list_deinit(&args->suppressions);
    hs_opt_list_deinit(&args->heaps);
}

int hs_cmd_check(int argc, char **argv)
{
    struct check_args args = { 0 };
    const struct hs_opt list[] = {
        HS_OPT_STRING(0, "max-live", "SIZE", &args.values[HS_LIMIT_LIVE],
                      "limit of the live memory at the last snapshot"),
        HS_OPT_STRING(0, "max-peak", "SIZE", &args.values[HS_LIMIT_PEAK],
                      "limit of the live memory at the peak"),
        HS_OPT_STRING(0, "max-rss", "SIZE", &args.values[HS_LIMIT_RSS],
                      "limit of the resident memory (RSS) at its highest"),
        HS_OPT_STRING(0, "max-unexplained", "SIZE|N%", &args.values[HS_LIMIT_UNEXPLAINED],
                      "limit of the resident memory that the profile does not explain"),
        HS_OPT_STRING(0, "max-leak", "SIZE", &args.values[HS_LIMIT_LEAK],
                      "limit of the memory that processes had not freed when they ended"),
        HS_OPT_STRING(0, "max-leak-stack", "SIZE", &args.values[HS_LIMIT_LEAK_STACK],
                      "the same limit for each stack separately"),
        HS_OPT_STRING(0, "max-leak-growth", "SIZE/h", &args.values[HS_LIMIT_LEAK_GROWTH],
                      "limit of how fast all stacks that leak grow together, by hour; SIZE/m\n"
                      "and SIZE/d: by minute, by day"),
        HS_OPT_LIST(0, "suppressions", "FILE", &args.suppressions,
                    "known leaks, in LeakSanitizer's syntax; may be given more than once"),
        HS_OPT_STRING(0, "max-allocs", "N", &args.values[HS_LIMIT_ALLOCS],
                      "limit of the number of allocations since the start"),
        HS_OPT_LIST(0, "stack", "REGEX=SIZE", &args.stacks,
                    "limit of the live memory of all stacks with a function that matches\n"
                    "REGEX; may be given more than once"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps,
                    "apply the limits to these heaps only: a glob or a list of them, such as\n"
                    "'pool,gpu*'; may be given more than once (default: all primary heaps)"),
        HS_OPT_STRING(0, "against", "BASE", &args.against,
                      "the profile with which --max-growth compares"),
        HS_OPT_STRING(0, "max-growth", "SIZE|N%", &args.values[HS_LIMIT_GROWTH],
                      "the most by which live memory may exceed that of BASE"),
        HS_OPT_FLAG(0, "strict", &args.is_strict,
                    "also fail when the limit lies within the confidence interval of a figure"),
        HS_OPT_LIST(0, "limits", "FILE", &args.limit_files,
                    "read limits from a file, one in each line, such as \"max-live 200M\";\n"
                    "options on the command line override them"),
        HS_OPT_FLAG(0, "json", &args.is_json, "print JSON, with all limits and without rounding"),
        HS_OPT_STRING(0, "junit", "FILE", &args.junit_path,
                      "also write the verdicts as JUnit's XML; with -, standard output\n"
                      "gets the XML instead of the text"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "check",
        .summary = "check profiles against limits, for CI",
        .operands_usage = "FILE...",
        .footer = footer,
        .options = list,
        .option_count = HS_COUNT_OF(list),
        .operands_min = 1,
        .operands_max = HS_OPERANDS_ANY,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    status = status == HS_ARGS_GO_ON ? run_check(&spec, &args, &result) : status;
    deinit_args(&args);
    return status;
}
