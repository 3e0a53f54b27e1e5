/*
 * heapscope start: begins a session of the daemon, and returns.
 *
 * See       session_ask.h, docs/man/heapscope-start.1
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/args.h"
#include "cli/budget_opts.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/session_ask.h"
#include "cli/heap_opts.h"
#include "cli/message.h"
#include "cli/session_options.h"
#include "cli/source_opts.h"
#include "ctl/ctl.pb-c.h"
#include "rt/text.h"
#include "session/hub.h"
#include "session/session.h"
#include "util/parse.h"
#include "util/shell_word.h"

#define HS_TIME_MIN_NS UINT64_C(10000000)
#define HS_TIME_MAX_NS (UINT64_C(100000) * 3600 * UINT64_C(1000000000))
#define HS_TOLD_MAX    20 /* processes of one answer */

struct start {
    struct hs_opt_list names, pid_texts;
    struct hs_session_settings settings;
    const char *output;
    const char *session;
    bool is_quiet;
    struct hs_budget_opts budget;
    struct hs_source_opts source_opts;
    struct hs_heap_opts heap_opts;
    char default_path[160];
    struct hs_session_ask ask;
};

/* --- options ---------------------------------------------------------------------------------- */

static const struct hs_opts_spec *make_spec(struct start *s)
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

static int take_processes(struct start *s, const struct hs_opts_spec *spec)
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

static int parse(struct start *s, int argc, char **argv)
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

/* --- the file --------------------------------------------------------------------------------- */

/* Makes the file's name, with a glob or path escaped. */
static void name_file(struct start *s)
{
    char name[64] = "all", date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (s->session) {
        snprintf(name, sizeof(name), "%s", s->session);
    } else if (s->names.count > 0) {
        snprintf(name, sizeof(name), "%s", hs_text_base_name(s->names.items[0]));
    } else if (s->pid_texts.count > 0) {
        snprintf(name, sizeof(name), "%d", (int)s->settings.pids[0]);
    }
    hs_shell_escape(name);
    if (localtime_r(&now, &tm)) {
        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
    }
    snprintf(s->default_path, sizeof(s->default_path), "heapscope.%s.%s.pftrace", name, date);
}

/* --- the answer ------------------------------------------------------------------------------- */

static const char *const answer_words[HS_HUB_ANSWER_N] = {
    [HS_HUB_RECORDED] = "recorded from now on",
    [HS_HUB_ATTACHING] = "about to be recorded",
    [HS_HUB_REJECTED] = "not recorded: another session records it",
    [HS_HUB_NO_CLIENT] = "not recorded: another attempt to attach to it is under way; try again",
    [HS_HUB_NOT_ALLOWED] = "not recorded: not permitted",
    [HS_HUB_GONE] = "there is no such process",
};

static void say_verdict(const Hs__Ctl__Verdict *verdict)
{
    const char *words = verdict->answer < HS_HUB_ANSWER_N ? answer_words[verdict->answer]
                                                          : "not known to this version";
    const char *why = verdict->why;
    hs_message_info("  %u %s: %s%s%s", verdict->pid,
                    verdict->process && verdict->answer != HS_HUB_GONE ? verdict->process : "",
                    why ? "not recorded: " : words, verdict->holder ? ", " : "",
                    why               ? why
                    : verdict->holder ? verdict->holder
                                      : "");
}

/* False: with --all, for a process without the recorder: most processes are like that. */
static bool is_worth_telling(const struct start *s, const Hs__Ctl__Verdict *verdict)
{
    return verdict->is_named || !s->settings.is_all || verdict->answer != HS_HUB_NO_CLIENT;
}

static void say_verdicts(const struct start *s, const Hs__Ctl__Started *started)
{
    uint64_t told = 0, all = 0;
    for (size_t i = 0; i < started->n_verdicts; i++) {
        const Hs__Ctl__Verdict *verdict = started->verdicts[i];
        if (is_worth_telling(s, verdict) && (verdict->is_named || told < HS_TOLD_MAX)) {
            told++;
            say_verdict(verdict);
        }
    }
    for (size_t i = 0; i < started->n_answer_count; i++) {
        all += started->answer_count[i];
    }
    if (all > told) {
        hs_message_info("  %s%" PRIu64 " more%s", told ? "and " : "", all - told,
                        s->settings.is_all ? ", most of them without libheapscope_preload.so" : "");
    }
}

static uint64_t count_of(const Hs__Ctl__Started *started, enum hs_hub_answer answer)
{
    return started->n_answer_count > (size_t)answer ? started->answer_count[answer] : 0;
}

static int say_started(void *ctx, const ProtobufCMessage *body)
{
    const struct start *s = ctx;
    const Hs__Ctl__Started *started = (const Hs__Ctl__Started *)(const void *)body;
    uint64_t recorded = count_of(started, HS_HUB_RECORDED) + count_of(started, HS_HUB_ATTACHING);
    const char *session = started->session ? started->session : "?";
    bool is_empty = recorded == 0 && !started->is_waiting;
    if (is_empty) {
        hs_message_set_quiet(false);
    }
    hs_message_info("session %s records %llu process%s%s", session, (unsigned long long)recorded,
                    recorded == 1 ? "" : "es",
                    started->is_waiting ? ", and those that start from now on" : "");
    say_verdicts(s, started);
    hs_session_ask_warn(started, s->settings.with_blocks);
    if (is_empty) {
        hs_message("the session has no process to record, and has ended");
        if (count_of(started, HS_HUB_NOT_ALLOWED) + count_of(started, HS_HUB_REJECTED) > 0) {
            char word[HS_SHELL_WORD_BYTES];
            hs_message("the reasons are also in %s: heapscope report %s", s->output,
                       hs_shell_word(s->output, word, sizeof(word)));
        }
        return HS_EXIT_STATUS_FAILED;
    }
    hs_message_info("The recording goes to %s. To end it: heapscope stop %s", s->output, session);
    puts(session);
    return hs_args_finish_output();
}

/* --- asking ----------------------------------------------------------------------------------- */

static int ask(struct start *s)
{
    struct hs_ctl_message answer = { 0 };
    int status = hs_session_ask_send(&s->ask, &answer);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    return hs_ask_open(&answer, &hs__ctl__started__descriptor, say_started, s);
}

int hs_cmd_start(int argc, char **argv)
{
    struct start s = { .settings = { .is_taking_running = true,
                                     .is_taking_startup = true,
                                     .is_symbolizing = true,
                                     .is_compressing = true },
                       .ask = { .file.fd = -1, .folder_fd = -1 } };
    int status = parse(&s, argc, argv);
    if (status == HS_ARGS_GO_ON) {
        s.ask.settings = &s.settings;
        s.ask.name = s.session;
        if (!s.output) {
            name_file(&s);
            s.output = s.default_path;
        }
        status = hs_session_ask_open(&s.ask, s.output);
        if (status == HS_EXIT_STATUS_DONE) {
            status = ask(&s);
        }
    }
    hs_session_ask_close(&s.ask);
    hs_session_settings_deinit(&s.settings);
    hs_opt_list_deinit(&s.names);
    hs_opt_list_deinit(&s.pid_texts);
    hs_heap_opts_deinit(&s.heap_opts);
    return status;
}
