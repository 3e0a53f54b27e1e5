/*
 * Options of attach: see attach_options.h.
 */
#include "cli/record/attach_options.h"

#include <limits.h>
#include <string.h>

#include "cli/args.h"
#include "cli/budget_opts.h"
#include "cli/heap_opts.h"
#include "cli/message.h"
#include "cli/session_options.h"
#include "cli/source_opts.h"
#include "collect/inspect/allocator_names.h"
#include "util/parse.h"

#define HS_DURATION_MIN_NS UINT64_C(1000000)
#define HS_TIME_MAX_NS     (UINT64_C(10000) * 3600 * UINT64_C(1000000000))

static int take_operands(struct hs_attach_options *o, const struct hs_opts_spec *spec,
                         const struct hs_opts_result *args, const struct hs_opt_list *names)
{
    for (size_t i = 0; i < args->operand_count; i++) {
        uint64_t pid;
        if (hs_parse_number(args->operands[i], &pid) < 0 || pid == 0 || pid > INT_MAX) {
            return hs_args_fail(spec, "'%s' is not a process id; for a name, use -n %s",
                                args->operands[i], args->operands[i]);
        }
        if (hs_session_settings_add_pid(&o->settings, (pid_t)pid) < 0) {
            return hs_args_fail(spec, "too many processes");
        }
    }
    for (size_t i = 0; i < names->count; i++) {
        if (hs_session_settings_add_name(&o->settings, names->items[i]) < 0) {
            return hs_args_fail(spec, "too many names");
        }
    }
    if (o->settings.pid_count == 0 && o->settings.name_count == 0) {
        return hs_args_fail(spec, "no process was named");
    }
    const char *wrong = hs_session_settings_check(&o->settings);
    return wrong ? hs_args_fail(spec, "%s", wrong) : HS_ARGS_GO_ON;
}

static int check_allocator(const struct hs_opts_spec *spec, const char *prefix)
{
    if (!prefix) {
        return HS_ARGS_GO_ON;
    }
    const char *carved = strstr(prefix, HS_ALLOCATOR_CARVED);
    bool is_end = carved && carved[strlen(HS_ALLOCATOR_CARVED)] == '\0';
    const char *end = is_end ? carved : prefix + strlen(prefix);
    size_t bytes = (size_t)(end - prefix);
    bool is_name = bytes > 0 && bytes <= HS_ALLOCATOR_PREFIX_MAX && !strchr("0123456789", *prefix);
    for (const char *c = prefix; c < end; c++) {
        is_name &= *c == '_' || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                   (*c >= '0' && *c <= '9');
    }
    return is_name ? HS_ARGS_GO_ON
                   : hs_args_fail(spec,
                                  "--allocator: '%s' cannot be the beginning of a function's name",
                                  prefix);
}

static const struct hs_attach_options defaults = {
    .settings = { .is_taking_running = true,
                  .is_any_uid = true,
                  .is_symbolizing = true,
                  .is_compressing = true },
    .is_following = true,
    .stack_count = 3,
};

/* Options that other commands have, too, as written. */
struct parts {
    struct hs_opt_list names;
    struct hs_budget_opts budget;
    struct hs_source_opts sources;
    struct hs_heap_opts heaps;
};

/* Checks the values after the options were parsed. */
static int take_all(struct hs_attach_options *o, const struct hs_opts_spec *spec,
                    const struct hs_opts_result *args, const struct parts *parts)
{
    hs_message_set_quiet(o->is_quiet);
    int status = hs_budget_opts_take(spec, &parts->budget, &o->settings.limits);
    if (status == HS_ARGS_GO_ON) {
        status = hs_source_opts_take(spec, &parts->sources, &o->settings.sources);
    }
    if (status == HS_ARGS_GO_ON) {
        status =
            hs_heap_opts_take(spec, &parts->heaps, &o->settings.heaps, &o->settings.interval_bytes);
    }
    if (status == HS_ARGS_GO_ON) {
        status = check_allocator(spec, o->allocator);
    }
    return status == HS_ARGS_GO_ON ? take_operands(o, spec, args, &parts->names) : status;
}

int hs_attach_options_parse(int argc, char **argv, struct hs_attach_options *ret_options)
{
    struct hs_attach_options *o = ret_options;
    struct hs_session_settings *s = &o->settings;
    struct parts parts = { 0 };
    *o = defaults;
    const struct hs_opt options[] = {
        HS_OPT_LIST('n', "name", "NAME", &parts.names,
                    "attach to processes whose name is this or matches this glob; may be given "
                    "more than once"),
        HS_OPT_INTERVAL(&s->interval_bytes),
        HS_HEAP_OPTIONS(&parts.heaps),
        HS_OPT_STRING('o', "output", "FILE", &o->output,
                      "file for the trace (default heapscope.NAME.PID.pftrace)"),
        HS_OPT_DURATION('d', "duration", "DURATION", &s->duration_ns, HS_DURATION_MIN_NS,
                        HS_TIME_MAX_NS,
                        "record for this time (default: until Ctrl-C, or until the processes end)"),
        HS_OPT_STRING(0, "allocator", "PREFIX", &o->allocator,
                      "also record the program's allocator with the functions PREFIXmalloc,\n"
                      "PREFIXfree ..., as a heap of that name; je_, _rjem_, mi_, tc_ and sn_ are\n"
                      "found without this option; PREFIX,carved: it takes its memory from malloc;\n"
                      "'none': record malloc only"),
        HS_OPT_FLAG('q', "quiet", &o->is_quiet, "print no summary; errors are still printed"),
        HS_OPTS_DUMPS(&s->dumps),
        HS_OPT_FLAG(0, "children", &s->is_taking_children,
                    "also record the children that the processes already have, and their children"),
        HS_OPT_FLAG_OFF(
            0, "no-follow", &o->is_following,
            "record neither the children that the processes fork nor the programs that they "
            "execute"),
        HS_OPT_BLOCKS(&s->with_blocks),
        HS_OPT_NO_SYMBOLIZE(&s->is_symbolizing),
        HS_OPT_NO_COMPRESS(&s->is_compressing),
        HS_SOURCE_OPTIONS(&parts.sources),
        HS_BUDGET_OPTIONS(&parts.budget),
        HS_OPT_NUMBER(0, "top", "N", &o->stack_count, 0, 1000,
                      "number of call stacks in the summary (default 3)"),
    };
    const struct hs_opts_spec spec = {
        .command = "attach",
        .summary = "profile processes that are already running",
        .operands_usage = "PID... | -n NAME",
        .footer =
            "SIGUSR1 to heapscope takes a snapshot. Blocks that a process allocated before\n"
            "the attach are not recorded, and freeing them is ignored. 'heapscope doctor PID'\n"
            "says whether heapscope can attach, and if not, why.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .operands_max = HS_OPERANDS_ANY,
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status == HS_ARGS_GO_ON) {
        status = take_all(o, &spec, &args, &parts);
    }
    hs_opt_list_deinit(&parts.names);
    hs_heap_opts_deinit(&parts.heaps);
    return status;
}
