/*
 * A session of the daemon for as long as `record` runs: see record_session.h.
 */
#include "cli/record/record_session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/endpoints.h"
#include "cli/daemon_client/session_ask.h"
#include "cli/end_signals.h"
#include "cli/message.h"
#include "ctl/ctl.pb-c.h"
#include "rt/clock.h"
#include "session/hub.h"
#include "util/shell_word.h"

/* How long to wait until a killed daemon has been started again, by systemd or by a user. */
#define PATIENCE_S 10
#define RETRY_MS   200

struct waiting {
    char session[HS_SESSION_NAME_MAX + 1];
    int signal_fd;
    int sock;                 /* on which the daemon reports the end; -1: none */
    enum hs_end_request sent; /* the request that the daemon has got */
};

static int take_settings(const struct hs_record_session *record,
                         struct hs_session_settings *settings)
{
    const struct hs_trace_wishes *w = record->schedule;
    int r = 0;
    *settings = (struct hs_session_settings){
        .is_all = w->is_all,
        .min_anon_bytes = w->min_anon_bytes,
        .interval_bytes = w->interval_bytes,
        .heaps = w->heaps,
        .is_taking_startup = w->is_taking_startup,
        .is_taking_running = w->is_taking_running,
        .is_symbolizing = record->is_symbolizing,
        .with_blocks = record->with_blocks,
        .dumps = w->dumps,
        .duration_ns = w->duration_ns,
        .limits = w->limits,
        .sources = record->sources ? *record->sources : hs_sources_default(),
    };
    for (size_t i = 0; r == 0 && i < w->pid_count; i++) {
        r = hs_session_settings_add_pid(settings, (pid_t)w->pids[i]);
    }
    for (size_t i = 0; r == 0 && i < w->name_count; i++) {
        r = hs_session_settings_add_name(settings, w->names[i]);
    }
    for (size_t i = 0; r == 0 && i < w->skipped.count; i++) {
        r = hs_session_settings_add_skipped(settings, w->skipped.prefixes[i]);
    }
    if (r < 0) {
        hs_message("cannot begin: %s", r == -E2BIG ? "too many processes" : strerror(-r));
    }
    return r < 0 ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_DONE;
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Prints which processes that were named by pid cannot be recorded; the trace lists the others. */
static void say_refused(const Hs__Ctl__Started *started)
{
    for (size_t i = 0; i < started->n_verdicts; i++) {
        const Hs__Ctl__Verdict *it = started->verdicts[i];
        if (!it->is_named || it->answer == HS_HUB_RECORDED || it->answer == HS_HUB_ATTACHING) {
            continue;
        }
        if (it->answer == HS_HUB_GONE) {
            hs_message("there is no process %u", it->pid);
        } else if (it->answer == HS_HUB_REJECTED) {
            hs_message("process %u is not recorded: another session records it%s%s", it->pid,
                       it->holder ? ", " : "", it->holder ? it->holder : "");
        } else {
            hs_message("process %u is not recorded: %s", it->pid,
                       it->why ? it->why : "not permitted");
        }
    }
}

static int begin(const struct hs_record_session *record, struct waiting *waiting)
{
    struct hs_session_settings settings;
    struct hs_ctl_message answer = { 0 };
    struct hs_session_ask ask = {
        .settings = &settings, .is_owned = true, .file.fd = -1, .folder_fd = -1
    };
    int status = take_settings(record, &settings);
    snprintf(waiting->session, sizeof(waiting->session), "record.%d", (int)getpid());
    ask.name = waiting->session;
    if (status == HS_EXIT_STATUS_DONE) {
        status = hs_session_ask_open(&ask, record->path);
    }
    if (status == HS_EXIT_STATUS_DONE) {
        int r = hs_outfile_write(&ask.file, record->head, record->head_bytes);
        if (r < 0) {
            hs_message("cannot write %s: %s", record->path, strerror(-r));
            status = HS_EXIT_STATUS_FAILED;
        } else {
            status = hs_session_ask_send(&ask, &answer);
        }
    }
    hs_session_ask_close(&ask);
    hs_session_settings_deinit(&settings);
    ProtobufCMessage *body = status == HS_EXIT_STATUS_DONE
                                 ? hs_ctl_unpack(&answer, &hs__ctl__started__descriptor)
                                 : NULL;
    if (body) {
        const Hs__Ctl__Started *started = (const Hs__Ctl__Started *)(const void *)body;
        say_refused(started);
        hs_session_ask_warn(started, record->with_blocks);
        protobuf_c_message_free_unpacked(body, NULL);
    }
    hs_ctl_message_deinit(&answer);
    return status;
}

/* --- the recording ---------------------------------------------------------------------------- */

/* Asks the daemon to end the session, or, without a signal, only to report its end. */
static int ask_for_end(struct waiting *waiting)
{
    char path[HS_CTL_PATH_MAX + 1];
    Hs__Ctl__Stop request = HS__CTL__STOP__INIT;
    int sock = hs_ask_find_daemon(path);
    int r = sock < 0 ? sock : 0;
    request.session = waiting->session;
    request.has_is_only_waiting = true;
    request.is_only_waiting = waiting->sent == HS_END_NONE;
    request.has_is_without_names = true;
    request.is_without_names = waiting->sent >= HS_END_WITHOUT_NAMES;
    if (r == 0) {
        r = hs_ctl_send(sock, HS_CTL_STOP, &request.base, NULL, 0);
    }
    if (waiting->sock >= 0) {
        close(waiting->sock);
    }
    waiting->sock = r == 0 ? sock : -1;
    if (r < 0 && sock >= 0) {
        close(sock);
    }
    return r;
}

static void ask_for_dump(const struct waiting *waiting)
{
    Hs__Ctl__Dump request = HS__CTL__DUMP__INIT;
    struct hs_ctl_message answer = { 0 };
    request.session = (char *)(uintptr_t)waiting->session;
    if (hs_ask_daemon(HS_CTL_DUMP, &request.base, NULL, 0, HS_ASK_SOON, &answer) ==
        HS_EXIT_STATUS_DONE) {
        hs_ctl_message_deinit(&answer);
    }
}

static void take_signals(struct waiting *waiting)
{
    enum hs_end_request asked = hs_end_signals_read();
    if (hs_end_signals_take_dump()) {
        ask_for_dump(waiting);
    }
    if (asked != waiting->sent) {
        waiting->sent = asked;
        if (asked != HS_END_LEAVE) {
            ask_for_end(waiting);
        }
    }
}

static int look_for_daemon(struct waiting *waiting)
{
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * HS_NS_PER_S;
    int r;
    do {
        struct pollfd fd = { .fd = waiting->signal_fd, .events = POLLIN };
        r = ask_for_end(waiting);
        if (r < 0 && poll(&fd, 1, RETRY_MS) > 0) {
            take_signals(waiting);
        }
    } while (r < 0 && waiting->sent != HS_END_LEAVE && hs_clock_ns(CLOCK_MONOTONIC) < end_ns);
    return r;
}

/* Waits until the daemon reports the end of the session. */
static int wait_for_end(struct waiting *waiting, struct hs_ctl_message *ret_answer)
{
    int r = look_for_daemon(waiting);
    while (r == 0 && waiting->sent != HS_END_LEAVE) {
        struct pollfd fds[] = { { .fd = waiting->sock, .events = POLLIN },
                                { .fd = waiting->signal_fd, .events = POLLIN } };
        if (poll(fds, HS_COUNT_OF(fds), -1) < 0 && errno != EINTR) {
            return -errno;
        }
        if (fds[1].revents) {
            take_signals(waiting);
            bool is_lost = waiting->sock < 0 && waiting->sent != HS_END_LEAVE;
            r = is_lost ? look_for_daemon(waiting) : 0;
        } else if (fds[0].revents) {
            r = hs_ctl_receive(waiting->sock, false, ret_answer);
            if (r == 0) {
                return 0;
            }
            r = r == -ECONNRESET ? look_for_daemon(waiting) : r == -EAGAIN ? 0 : r;
        }
    }
    return r < 0 ? r : -EINTR;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int say_stopped(void *ctx, const ProtobufCMessage *body)
{
    const Hs__Ctl__Stopped *stopped = (const Hs__Ctl__Stopped *)(const void *)body;
    (void)ctx;
    if (stopped->error) {
        hs_message("nothing was recorded: %s", stopped->error);
        return HS_EXIT_STATUS_FAILED;
    }
    if (stopped->heap_note) {
        hs_message("%s", stopped->heap_note);
    }
    if (stopped->note && stopped->process_count > 0) {
        hs_message("%s", stopped->note);
    }
    return HS_EXIT_STATUS_DONE;
}

static int end(struct waiting *waiting, const char *path)
{
    struct hs_ctl_message answer = { 0 };
    int r = wait_for_end(waiting, &answer);
    if (waiting->sock >= 0) {
        close(waiting->sock);
    }
    if (r == -EINTR) {
        char word[HS_SHELL_WORD_BYTES];
        hs_message(
            "interrupted: the daemon still writes %s, and heapscope makes no other files of it\n"
            "When the file is there: heapscope profile %s",
            path, hs_shell_word(path, word, sizeof(word)));
        return HS_EXIT_STATUS_FAILED;
    }
    if (r == -ECONNRESET || r == -ECONNREFUSED || r == -ENOENT || r == -EHOSTDOWN) {
        hs_message("the daemon has ended; its recordings are kept for the next one\n"
                   "Start it again, and end the session: heapscope stop %s",
                   waiting->session);
        return HS_EXIT_STATUS_FAILED;
    }
    int status = hs_ask_take(r, HS_CTL_STOP, &answer, "the daemon", &answer);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    if (waiting->sent >= HS_END_WITHOUT_NAMES) {
        hs_message("interrupted: some functions may have no names in the files");
    }
    return hs_ask_open(&answer, &hs__ctl__stopped__descriptor, say_stopped, NULL);
}

int hs_record_session_run(const struct hs_record_session *record)
{
    struct waiting waiting = { .signal_fd = hs_end_signals_open(), .sock = -1 };
    int status = begin(record, &waiting);
    if (status == HS_EXIT_STATUS_DONE) {
        record->on_active();
        status = end(&waiting, record->path);
        hs_end_signals_begin_end(); /* for the code that makes files of the trace */
    }
    return status;
}
