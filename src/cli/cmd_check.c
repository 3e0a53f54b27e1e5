/*
 * heapscope check: a gate for CI. Does a profile keep within its limits?
 *
 * A figure is an estimate with a 95 % interval. A limit is broken when even the lower end is above it (with
 * --strict: when the upper end is). A profile with losses that make figures wrong, or without any dump,
 * is never passed: what it does not show may be what the limit is for.
 *
 * See       profile/margin.h, profile/diff.h, docs/man/heapscope-check.1
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/profile_file.h"
#include "profile/diff.h"
#include "rt/base.h"
#include "util/outfile.h"
#include "util/parse.h"
#include "util/utf8.h"
#include "view/figure.h"

#define NO_LIMIT UINT64_MAX

struct stack_rule {
    regex_t regex;
    const char *text; /* as typed */
    uint64_t limit_bytes;
};

struct check_args {
    uint64_t max_live_bytes, max_peak_bytes, max_leak_bytes, max_alloc_count;
    struct hs_opt_list stacks;
    struct stack_rule *rules; /* one for each of `stacks` */
    size_t rule_count;
    const char *against, *growth;
    uint64_t growth_bytes;
    double growth_share; /* instead of growth_bytes; below 0: none */
    bool is_strict;
    struct hs_profile *base;
};

/* One file at hand. */
struct check {
    const struct check_args *args;
    const char *path;
    struct hs_selection selection;
    struct hs_buf *out;
    bool has_failed;
};

static void say(struct check *check, const char *verdict, const char *text)
{
    hs_buf_printf(check->out, "%-7s ", verdict);
    hs_utf8_write(check->out, check->path, strlen(check->path));
    hs_buf_str(check->out, ": ");
    hs_utf8_write(check->out, text, strlen(text));
    hs_buf_char(check->out, '\n');
}

/* One rule, one line: the value between low and high against its limit. */
static void judge(struct check *check, const char *what, const char *figure, double low,
                  double high, double limit, bool is_count)
{
    char limit_text[HS_FIGURE_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    /* What is no number, in a file that somebody made up, keeps no limit. */
    bool is_broken = !((check->args->is_strict ? high : low) <= limit);
    bool is_unsure = low <= limit && high > limit;
    hs_figure_value(limit_text, is_count, limit);
    hs_buf_printf(&text, "%s: %s, limit %s%s", what, figure, limit_text,
                  is_unsure ? ", within noise of the limit" : "");
    say(check, is_broken ? "FAILED" : "passed", hs_buf_text(&text));
    check->has_failed |= is_broken || text.err != 0;
    hs_buf_deinit(&text);
}

static void judge_figure(struct check *check, const char *what, const struct hs_figure *figure,
                         uint64_t limit, bool is_count)
{
    char text[HS_FIGURE_BYTES];
    struct hs_margin margin = hs_margin_of(figure);
    if (limit != NO_LIMIT) {
        judge(check, what, hs_figure_both(text, is_count, figure), figure->value - margin.below,
              figure->value + margin.above, (double)limit, is_count);
    }
}

static void fail(struct check *check, const char *text)
{
    say(check, "FAILED", text);
    check->has_failed = true;
}

/* Losses that make figures wrong, and profiles that say nothing. */
static void check_whole(struct check *check)
{
    const struct hs_profile *p = check->selection.profile;
    struct hs_buf text = HS_BUF_INIT;
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->is_serious && loss->count > 0 && hs_selection_has_loss(&check->selection, loss)) {
            text.bytes = 0;
            hs_buf_printf(&text, "cannot be judged, data is missing: %s: %llu",
                          hs_profile_string(p, loss->text), (unsigned long long)loss->count);
            fail(check, hs_buf_text(&text));
        }
    }
    if (check->selection.sample_count == 0) {
        fail(check, "cannot be judged: nothing was recorded");
    }
    hs_buf_deinit(&text);
}

/* What an ended process, seen from its start, did not give back. */
static void check_leak(struct check *check)
{
    const struct hs_profile *p = check->selection.profile;
    struct hs_figure leak = { 0 };
    if (check->args->max_leak_bytes == NO_LIMIT) {
        return;
    }
    for (uint32_t i = 0; i < check->selection.dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[check->selection.dumps[i]];
        const struct hs_profile_process *process = &p->processes[dump->process];
        if (process->end_ns == 0 || !process->is_from_startup || !dump->is_final) {
            fail(check, "leak: cannot be judged: a process was not seen from its start to its end");
            return;
        }
        struct hs_figure live = hs_figure_of(&dump->live, false);
        hs_figure_add(&leak, &live);
    }
    judge_figure(check, "leak", &leak, check->args->max_leak_bytes, false);
}

static int sum_matching(const struct hs_agg *agg, const regex_t *regex, struct hs_figure *sum)
{
    bool *is_match = calloc(agg->function_count + 1u, sizeof(*is_match));
    struct hs_buf name = HS_BUF_INIT;
    if (!is_match) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->function_count; i++) {
        name.bytes = 0;
        hs_agg_write_function(agg, i, &name);
        is_match[i] = regexec(regex, hs_buf_text(&name), 0, NULL, 0) == 0;
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        bool is_in = false;
        for (uint32_t n = agg->selves[i].node; n != HS_NODE_NONE && !is_in;
             n = agg->nodes[n].parent) {
            is_in = is_match[agg->nodes[n].function];
        }
        if (is_in) {
            struct hs_figure live = hs_figure_of(&agg->selves[i].by[HS_QUANTITY_LIVE], false);
            hs_figure_add(sum, &live);
        }
    }
    int err = name.err;
    hs_buf_deinit(&name);
    free(is_match);
    return err;
}

static int check_stacks(struct check *check)
{
    struct hs_agg agg = { 0 };
    int err = check->args->rule_count > 0 ? hs_agg_build(&check->selection, false, &agg) : 0;
    for (size_t i = 0; i < check->args->rule_count && err == 0; i++) {
        const struct stack_rule *rule = &check->args->rules[i];
        struct hs_figure sum = { 0 };
        struct hs_buf what = HS_BUF_INIT;
        err = sum_matching(&agg, &rule->regex, &sum);
        hs_buf_printf(&what, "live in stacks with %.*s",
                      (int)(strrchr(rule->text, '=') - rule->text), rule->text);
        if (err == 0) {
            judge_figure(check, hs_buf_text(&what), &sum, rule->limit_bytes, false);
        }
        hs_buf_deinit(&what);
    }
    hs_agg_deinit(&agg);
    return err;
}

static int check_growth(struct check *check)
{
    const struct check_args *args = check->args;
    struct hs_selection base;
    struct hs_diff diff;
    char delta[HS_FIGURE_BYTES], before[HS_FIGURE_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    if (!args->base) {
        return 0;
    }
    int err =
        hs_select_dumps(args->base, &(struct hs_select_spec){ .snapshot = HS_SELECT_LAST }, &base);
    if (err != 0) {
        fail(check, "growth: cannot be judged: there is nothing in the file it is held against");
        return err < 0 ? err : 0;
    }
    err = hs_diff_build(&base, &check->selection, HS_VIEW_SPACE, &diff);
    if (err == 0) {
        struct hs_diff_change change = hs_diff_change_of(&diff, &diff.total);
        double limit = args->growth_share >= 0 ? args->growth_share * change.before
                                               : (double)args->growth_bytes;
        bool is_growth = change.delta >= 0;
        hs_figure_value(delta, false, is_growth ? change.delta : -change.delta);
        hs_figure_value(before, false, change.before);
        hs_buf_printf(&text, "%s%s, from %s", is_growth ? "+" : "-", delta, before);
        judge(check, "growth", hs_buf_text(&text), change.low, change.high, limit, false);
        hs_diff_deinit(&diff);
    }
    hs_buf_deinit(&text);
    hs_selection_deinit(&base);
    return err;
}

static int check_limits(struct check *check)
{
    const struct check_args *args = check->args;
    const struct hs_selection *s = &check->selection;
    struct hs_figure figure = hs_figure_of(&s->live, false);
    check_whole(check);
    judge_figure(check, "live", &figure, args->max_live_bytes, false);
    figure = hs_figure_of(&s->peak, false);
    if (s->has_peak) {
        judge_figure(check, "peak", &figure, args->max_peak_bytes, false);
    } else if (args->max_peak_bytes != NO_LIMIT) {
        fail(check, "peak: cannot be judged: it was not recorded");
    }
    figure = hs_figure_of(&s->alloc, true);
    judge_figure(check, "allocations", &figure, args->max_alloc_count, true);
    check_leak(check);
    int err = check_stacks(check);
    return err ? err : check_growth(check);
}

static int check_file(const struct check_args *args, const char *path, struct hs_buf *out)
{
    const struct hs_select_spec select = { .snapshot = HS_SELECT_LAST };
    struct check check = { .args = args, .path = path, .out = out };
    struct hs_profile *profile = NULL;
    enum hs_view view;
    const char *reason;
    int status = hs_profile_file_load(path, &profile);
    if (status == 0) {
        status = hs_profile_file_choose(path, profile, &select, HS_VIEW_SPACE, &view, &reason);
    }
    if (status == 0) {
        int err = hs_select_dumps(profile, &select, &check.selection);
        err = err ? err : check_limits(&check);
        if (err != 0) {
            hs_message("%s: %s", path, strerror(err < 0 ? -err : EINVAL));
        }
        status = err != 0 || check.has_failed ? HS_EXIT_STATUS_FAILED : 0;
        hs_selection_deinit(&check.selection);
    }
    hs_profile_free(profile);
    return status;
}

static int check_files(struct check_args *args, char **paths, size_t path_count)
{
    struct hs_outfile file;
    struct hs_buf out;
    int status = args->against ? hs_profile_file_load(args->against, &args->base) : 0;
    if (status != 0) {
        return status;
    }
    int err = hs_outfile_open(&file, "-");
    hs_buf_init(&out, hs_outfile_write, &file);
    for (size_t i = 0; i < path_count && err == 0; i++) {
        status = check_file(args, paths[i], &out) ? HS_EXIT_STATUS_FAILED : status;
    }
    int late_err = hs_buf_finish(&out);
    err = err ? err : late_err;
    hs_buf_deinit(&out);
    late_err = hs_outfile_commit(&file);
    err = err ? err : late_err;
    if (err < 0 && err != -EPIPE) {
        hs_message("standard output: %s", strerror(-err));
    }
    hs_profile_free(args->base);
    return err < 0 ? HS_EXIT_STATUS_FAILED : status;
}

/* "5%" or "10M" */
static int parse_growth(const struct hs_opts_spec *spec, struct check_args *args)
{
    args->growth_share = -1;
    if (!args->against != !args->growth) {
        return hs_args_fail(spec, "--against and --max-growth belong together");
    }
    if (!args->growth || hs_parse_size(args->growth, &args->growth_bytes) == 0) {
        return 0;
    }
    char *end;
    double percent = strtod(args->growth, &end);
    if (args->growth[0] >= '0' && args->growth[0] <= '9' && strcmp(end, "%") == 0 &&
        percent <= 1e9) {
        args->growth_share = percent / 100;
        return 0;
    }
    return hs_args_fail(spec, "--max-growth: '%s' is neither a share, as 5%%, nor a size, as 10M",
                        args->growth);
}

static int parse_stacks(const struct hs_opts_spec *spec, struct check_args *args)
{
    args->rules = calloc(args->stacks.count + 1, sizeof(*args->rules));
    for (size_t i = 0; i < args->stacks.count && args->rules; i++) {
        struct stack_rule *rule = &args->rules[i];
        const char *text = args->stacks.items[i];
        const char *equals = strrchr(text, '=');
        char why[128];
        rule->text = text;
        if (!equals || equals == text || hs_parse_size(equals + 1, &rule->limit_bytes) < 0) {
            return hs_args_fail(spec, "--stack: '%s' is not REGEX=SIZE, as parse.*=10M", text);
        }
        char *pattern = strndup(text, (size_t)(equals - text));
        int error = pattern ? regcomp(&rule->regex, pattern, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
        free(pattern);
        if (error != 0) {
            regerror(error, NULL, why, sizeof(why));
            return hs_args_fail(spec, "--stack: '%.*s' is not a regular expression: %s",
                                (int)(equals - text), text, why);
        }
        args->rule_count++;
    }
    return args->rules ? 0 : HS_EXIT_STATUS_FAILED;
}

static bool has_limit(const struct check_args *args)
{
    return args->max_live_bytes != NO_LIMIT || args->max_peak_bytes != NO_LIMIT ||
           args->max_leak_bytes != NO_LIMIT || args->max_alloc_count != NO_LIMIT ||
           args->rule_count > 0 || args->growth;
}

static int parse_rules(const struct hs_opts_spec *spec, struct check_args *args)
{
    int status = parse_growth(spec, args);
    status = status ? status : parse_stacks(spec, args);
    if (status == 0 && !has_limit(args)) {
        status = hs_args_fail(spec, "no limit was given: --max-live, --max-peak, --max-leak, "
                                    "--max-allocs, --stack or --max-growth");
    }
    return status;
}

int hs_cmd_check(int argc, char **argv)
{
    struct check_args args = { .max_live_bytes = NO_LIMIT,
                               .max_peak_bytes = NO_LIMIT,
                               .max_leak_bytes = NO_LIMIT,
                               .max_alloc_count = NO_LIMIT };
    const struct hs_opt list[] = {
        HS_OPT_SIZE(0, "max-live", "SIZE", &args.max_live_bytes, 0, INT64_MAX,
                    "live memory at the last snapshot"),
        HS_OPT_SIZE(0, "max-peak", "SIZE", &args.max_peak_bytes, 0, INT64_MAX,
                    "memory at the peak"),
        HS_OPT_SIZE(0, "max-leak", "SIZE", &args.max_leak_bytes, 0, INT64_MAX,
                    "memory that ended processes did not give back"),
        HS_OPT_NUMBER(0, "max-allocs", "N", &args.max_alloc_count, 0, INT64_MAX,
                      "allocations since the start"),
        HS_OPT_LIST(0, "stack", "REGEX=SIZE", &args.stacks,
                    "live memory of all stacks with a function that matches;\n"
                    "may be given more than once"),
        HS_OPT_STRING(0, "against", "BASE", &args.against,
                      "profile that --max-growth is held against"),
        HS_OPT_STRING(0, "max-growth", "SIZE|N%", &args.growth,
                      "how much more may be live than in BASE"),
        HS_OPT_FLAG(0, "strict", &args.is_strict,
                    "fail when a limit may be broken, not only when it surely is"),
    };
    const struct hs_opts_spec spec = {
        .command = "check",
        .summary = "hold profiles against limits, for CI",
        .operands_usage = "FILE...",
        .footer = "Exit status: 0 all limits are kept, 1 one is broken or cannot be judged.",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = HS_OPERANDS_ANY,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON) {
        status = parse_rules(&spec, &args);
        status = status ? status : check_files(&args, result.operands, result.operand_count);
    }
    for (size_t i = 0; i < args.rule_count; i++) {
        regfree(&args.rules[i].regex);
    }
    free(args.rules);
    hs_opt_list_deinit(&args.stacks);
    return status;
}
