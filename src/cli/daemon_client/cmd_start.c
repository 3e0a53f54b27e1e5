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
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/session_ask.h"
#include "cli/daemon_client/start_options.h"
#include "cli/message.h"
#include "ctl/ctl.pb-c.h"
#include "rt/text.h"
#include "session/hub.h"
#include "session/session.h"
#include "util/shell_word.h"

#define HS_TOLD_MAX 20 /* processes of one answer */

struct start {
    struct hs_start_options options;
    const char *output;
    char default_path[160];
    struct hs_session_ask ask;
};

/* --- the file --------------------------------------------------------------------------------- */

/* Makes the file's name, with a glob or path escaped. */
static void name_file(struct start *s)
{
    char name[64] = "all", date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (s->options.session) {
        snprintf(name, sizeof(name), "%s", s->options.session);
    } else if (s->options.names.count > 0) {
        snprintf(name, sizeof(name), "%s", hs_text_base_name(s->options.names.items[0]));
    } else if (s->options.pid_texts.count > 0) {
        snprintf(name, sizeof(name), "%d", (int)s->options.settings.pids[0]);
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
    return verdict->is_named || !s->options.settings.is_all || verdict->answer != HS_HUB_NO_CLIENT;
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
        hs_message_info(
            "  %s%" PRIu64 " more%s", told ? "and " : "", all - told,
            s->options.settings.is_all ? ", most of them without libheapscope_preload.so" : "");
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
    hs_session_ask_warn(started, s->options.settings.with_blocks);
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
    struct start s = { .ask = { .file.fd = -1, .folder_fd = -1 } };
    hs_start_options_init(&s.options);
    int status = hs_start_options_parse(&s.options, argc, argv);
    if (status == HS_ARGS_GO_ON) {
        s.ask.settings = &s.options.settings;
        s.ask.name = s.options.session;
        s.output = s.options.output;
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
    hs_start_options_deinit(&s.options);
    return status;
}
