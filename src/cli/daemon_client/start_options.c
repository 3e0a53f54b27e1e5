/*
 * Reads the options of `start`: see start_options.h.
 */
#include "cli/daemon_client/start_options.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "cli/args.h"
#include "cli/message.h"
#include "cli/session_options.h"
#include "rt/base.h"
#include "util/parse.h"

#define HS_TIME_MIN_NS UINT64_C(10000000)
#define HS_TIME_MAX_NS (UINT64_C(100000) * 3600 * UINT64_C(1000000000))

static const struct hs_opts_spec *make_spec(struct hs_start_options *s)
{
    struct hs_session_settings *settings = &s->settings;
    static struct hs_opt
        options[18 + HS_HEAP_OPTION_COUNT + HS_SOURCE_OPTION_COUNT + HS_BUDGET_OPTION_COUNT];
    static struct hs_opts_spec spec;
    const struct hs_opt list[] = {
        HS_OPT_LIST(
            'n', "name", "NAME", &s->names,
            "record processes whose name is this or matches this glob: running ones and those that "
            "start later"),
        HS_OPT_LIST('p', "pid", "PID", &s->pid_texts,
                    "record this running process, and the children that it forks later"),
        HS_OPT_FLAG(
            0, "all", &settings->is_all,
            "record all processes that have loaded heapscope's library, and those that will"),
        HS_OPT_SIZE(
            0, "min-memory", "SIZE", &settings->min_anon_bytes, 0, UINT64_MAX,
            "of the running processes, record only those with at least this much anonymous memory"),
        HS_OPT_INTERVAL(&settings->interval_bytes),
        HS_HEAP_OPTIONS(&s->heap_opts),
        HS_OPT_STRING('o', "output", "FILE", &s->output,
                      "file for the trace (default heapscope.NAME.DATE-TIME.pftrace)"),
        HS_OPT_DURATION('d', "duration", "DURATION", &settings->duration_ns, HS_TIME_MIN_NS,
                        HS_TIME_MAX_NS, "record for this time (default: until 'heapscope stop')"),
        HS_OPTS_DUMPS(&settings->dumps),
        HS_OPT_FLAG(0, "children", &settings->is_taking_children,
                    "also record the children that the processes already have, and their children"),
        HS_OPT_FLAG_OFF(0, "no-running", &settings->is_taking_running,
                        "do not record processes that are already running"),
        HS_OPT_FLAG_OFF(0, "no-startup", &settings->is_taking_startup,
                        "do not record processes that start later"),
        HS_OPT_BLOCKS(&settings->with_blocks),
        HS_OPT_NO_SYMBOLIZE(&settings->is_symbolizing),
        HS_SOURCE_OPTIONS(&s->source_opts),
        HS_BUDGET_OPTIONS(&s->budget),
        HS_OPT_STRING(0, "session", "NAME", &s->session, "name of the session (default: a number)"),
        HS_OPT_FLAG('q', "quiet", &s->is_quiet,
                    "print nothing but the name of the session, and errors"),
    };
    _Static_assert(sizeof(list) == sizeof(options), "all of them");
    memcpy(options, list, sizeof(list));
    spec = (struct hs_opts_spec){
        .command = "start",
        .summary = "begin to profile processes, by name or pid, through the daemon",
        .operands_usage = "",
        .footer = "A process that is already running is recorded from now on. A process that\n"
                  "starts later is recorded from its first allocation if its LD_PRELOAD contains\n"
                  "libheapscope_preload.so; otherwise, if -n names it, the daemon attaches to it\n"
                  "about 0.1 s after its start, and records it from then on.\n"
                  "'heapscope stop' ends the session; the file is complete when it returns.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    return &spec;
}

static int take_processes(struct hs_start_options *s, const struct hs_opts_spec *spec)
{
    for (size_t i = 0; i < s->pid_texts.count; i++) {
        uint64_t pid = 0;
        if (hs_parse_number(s->pid_texts.items[i], &pid) < 0 || pid == 0 || pid > INT_MAX) {
            return hs_args_fail(spec, "--pid: '%s' is not a process id", s->pid_texts.items[i]);
        }
        if (hs_session_settings_add_pid(&s->settings, (pid_t)pid) < 0) {
            return hs_args_fail(spec, "too many processes");
        }
    }
    for (size_t i = 0; i < s->names.count; i++) {
        if (hs_session_settings_add_name(&s->settings, s->names.items[i]) < 0) {
            return hs_args_fail(spec, "too many names");
        }
    }
    return HS_ARGS_GO_ON;
}

int hs_start_options_parse(struct hs_start_options *s, int argc, char **argv)
{
    const struct hs_opts_spec *spec = make_spec(s);
    struct hs_opts_result args;
    int status = hs_args_parse(spec, argc, argv, &args);
    if (status == HS_ARGS_GO_ON) {
        status = take_processes(s, spec);
    }
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_message_set_quiet(s->is_quiet);
    status = hs_budget_opts_take(spec, &s->budget, &s->settings.limits);
    if (status == HS_ARGS_GO_ON) {
        status = hs_source_opts_take(spec, &s->source_opts, &s->settings.sources);
    }
    if (status == HS_ARGS_GO_ON) {
        status =
            hs_heap_opts_take(spec, &s->heap_opts, &s->settings.heaps, &s->settings.interval_bytes);
    }
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (s->names.count == 0 && s->pid_texts.count == 0 && !s->settings.is_all) {
        return hs_args_fail(spec, "nothing to profile was named: -n NAME, -p PID, or --all");
    }
    if (!s->settings.is_taking_running && !s->settings.is_taking_startup) {
        return hs_args_fail(spec, "--no-running and --no-startup leave nothing to profile");
    }
    const char *wrong = hs_dump_schedule_check(&s->settings.dumps);
    if (wrong) {
        return hs_args_fail(spec, "%s", wrong);
    }
    if (s->session && !hs_session_is_name(s->session)) {
        return hs_args_fail(spec, "--session: a name is at most 63 letters, digits, '.', '_', '-'");
    }
    return HS_ARGS_GO_ON;
}

void hs_start_options_init(struct hs_start_options *options)
{
    *options = (struct hs_start_options){ .settings = { .is_taking_running = true,
                                                        .is_taking_startup = true,
                                                        .is_symbolizing = true,
                                                        .is_compressing = true } };
}

void hs_start_options_deinit(struct hs_start_options *options)
{
    hs_session_settings_deinit(&options->settings);
    hs_opt_list_deinit(&options->names);
    hs_opt_list_deinit(&options->pid_texts);
    hs_heap_opts_deinit(&options->heap_opts);
}
