/*
 * heapscope stop: ends a session of the daemon, or an attach of another terminal, and waits until
 * its file is complete.
 *
 * See       daemon/requests.c, session/session_server.h, docs/man/heapscope-stop.1
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/endpoints.h"
#include "cli/empty_words.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "ctl/ctl.pb-c.h"
#include "profile/read/load.h"
#include "util/human.h"
#include "util/shell_word.h"

/* A file of this size is read quickly; a larger one is not empty. */
#define EMPTY_FILE_BYTES_MAX (UINT64_C(256) * 1024)

/* Prints why, when processes were recorded and the file has no sample of them. */
static void say_if_empty(const Hs__Ctl__Stopped *stopped, const char *path)
{
    struct hs_profile *profile = NULL;
    if (stopped->process_count > 0 && stopped->file_bytes <= EMPTY_FILE_BYTES_MAX &&
        hs_profile_load(path, &profile, NULL) == 0) {
        hs_empty_words_say(profile, HS_EMPTY_ASKED);
    }
    hs_profile_free(profile);
}

static int say_stopped(void *ctx, const ProtobufCMessage *body)
{
    const Hs__Ctl__Stopped *stopped = (const Hs__Ctl__Stopped *)(const void *)body;
    const bool *is_quiet = ctx;
    char size[HS_HUMAN_BYTES], word[HS_SHELL_WORD_BYTES];
    const char *path = stopped->path ? stopped->path : "?";
    const char *session = stopped->session ? stopped->session : "?";
    if (stopped->error) {
        hs_message("session %s has ended, but %s was not written: %s", session, path,
                   stopped->error);
        return HS_EXIT_STATUS_FAILED;
    }
    if (stopped->process_count == 0) {
        hs_message("session %s recorded no process%s", session,
                   stopped->rejected_count ? ": those that it names could not be recorded" : "");
    }
    if (stopped->note) {
        hs_message("%s", stopped->note);
    } else if (stopped->rejected_count > 0) {
        hs_message("%" PRIu64 " process%s could not be profiled; the report says why",
                   stopped->rejected_count, stopped->rejected_count == 1 ? "" : "es");
    }
    if (stopped->heap_note) {
        hs_message("%s", stopped->heap_note);
    }
    if (!*is_quiet) {
        say_if_empty(stopped, path);
    }
    hs_message_info("session %s: %" PRIu64 " process%s, %" PRIu64 " snapshot%s, %s\n"
                    "Next: heapscope report %s",
                    session, stopped->process_count, stopped->process_count == 1 ? "" : "es",
                    stopped->dump_count, stopped->dump_count == 1 ? "" : "s",
                    hs_human_bytes(size, (double)stopped->file_bytes),
                    hs_shell_word(path, word, sizeof(word)));
    puts(path);
    return hs_args_finish_output();
}

static bool has_session(struct hs_endpoint *place, const char *session)
{
    Hs__Ctl__List request = HS__CTL__LIST__INIT;
    struct hs_ctl_message answer = { 0 };
    bool is_found = false;
    if (place->is_daemon ||
        hs_endpoint_ask(place, HS_CTL_LIST, &request.base, HS_PATIENCE_SHORT_MS, &answer) < 0) {
        return false;
    }
    Hs__Ctl__Listed *listed = hs__ctl__listed__unpack(
        NULL, answer.kind == HS_CTL_LISTED ? answer.body_bytes : 0, answer.body);
    for (size_t i = 0; listed && i < listed->n_sessions; i++) {
        const char *name = listed->sessions[i]->session;
        is_found |= name && strcmp(name, session) == 0;
    }
    hs__ctl__listed__free_unpacked(listed, NULL);
    hs_ctl_message_deinit(&answer);
    return is_found;
}

/* For attach.PID, as 'heapscope list' calls it: asks that process. False: no such process
 * records. */
static bool stop_recording(const Hs__Ctl__Stop *request, struct hs_ctl_message *answer,
                           int *ret_status)
{
    static struct hs_endpoints endpoints;
    const char *session = request->session;
    if (!session || !strchr(session, '.') || hs_endpoints_find(true, &endpoints) < 0) {
        return false;
    }
    for (size_t i = 0; i < endpoints.count; i++) {
        if (has_session(&endpoints.items[i], session)) {
            int r = hs_endpoint_ask(&endpoints.items[i], HS_CTL_STOP, &request->base,
                                    HS_PATIENCE_FOREVER_MS, answer);
            *ret_status = hs_ask_take(r, HS_CTL_STOP, answer, session, answer);
            return true;
        }
    }
    return false;
}

int hs_cmd_stop(int argc, char **argv)
{
    bool is_quiet = false;
    const struct hs_opt options[] = {
        HS_OPT_FLAG('q', "quiet", &is_quiet, "print nothing but the name of the file, and errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "stop",
        .summary = "end a session, and wait until its file is complete",
        .operands_usage = "[SESSION]",
        .footer = "SESSION can be omitted if the daemon has only one session. The command prints\n"
                  "the name of the file. As SESSION, attach.PID names the 'heapscope attach' with\n"
                  "that process id.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
        .operands_max = 1,
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_message_set_quiet(is_quiet);
    Hs__Ctl__Stop request = HS__CTL__STOP__INIT;
    struct hs_ctl_message answer = { 0 };
    request.session = args.operand_count > 0 ? args.operands[0] : NULL;
    if (!is_quiet) {
        hs_progress_expect(HS_PROGRESS_NAMING);
    }
    if (!stop_recording(&request, &answer, &status)) {
        status = hs_ask_daemon(HS_CTL_STOP, &request.base, NULL, 0, HS_ASK_FOREVER, &answer);
    }
    hs_progress_over();
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    return hs_ask_open(&answer, &hs__ctl__stopped__descriptor, say_stopped, &is_quiet);
}
