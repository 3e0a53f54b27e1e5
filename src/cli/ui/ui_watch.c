/*
 * Watches a process for the page: updates of the collector as server-sent events.
 *
 * The events end with one of the kind `end`, which says why. The browser closes the connection when
 * it has seen enough; then this process is killed, and the collector ends the watch.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/endpoints.h"
#include "cli/daemon_client/find_recorded.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "cli/ui/watch_events.h"
#include "ctl/ctl.pb-c.h"
#include "util/json.h"
#include "util/write_all.h"
#include "watch/receive/watch_link.h"

#define INTERVAL_MS_MIN     100U
#define INTERVAL_MS_DEFAULT 1000U
#define INTERVAL_MS_MAX     60000U

#define TRIES               25
#define RETRY_MS            200

/* Without news for this long, a comment shows the browser that the connection lives. */
#define QUIET_MS 15000

static void send_text(const char *text, size_t bytes)
{
    if (hs_write_all(STDOUT_FILENO, text, bytes) != 0) {
        _exit(0); /* the browser is gone */
    }
}

/* The last event: a reason, in the words of messages. */
static void send_end(const char *reason)
{
    struct hs_buf out = HS_BUF_INIT;
    struct hs_json json;
    hs_buf_str(&out, "event: end\ndata: ");
    hs_json_init(&json, &out, 0);
    hs_json_open(&json, '{');
    hs_json_kv_string(&json, "reason", reason);
    hs_json_close(&json, '}');
    hs_buf_char(&out, '\n');
    send_text(hs_buf_text(&out), out.bytes);
    hs_buf_deinit(&out);
}

static void send_messages_as_end(void)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_ui_capture_messages(&text);
    send_end(hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* Asks the collector for a connection to a worker. 0, or the exit status after a message. */
static int ask(uint32_t pid, uint32_t interval_ms, int *ret_fd)
{
    Hs__Ctl__Watch request = HS__CTL__WATCH__INIT;
    struct hs_ctl_message answer = { 0 };
    struct hs_endpoint place;
    int status = hs_recorded_find(pid, NULL, &place, &request.pid);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    request.has_pid = request.has_interval_ms = true;
    request.interval_ms = interval_ms;
    int r = hs_endpoint_ask(&place, HS_CTL_WATCH, &request.base, HS_PATIENCE_LONG_MS, &answer);
    status = hs_ask_take(r, HS_CTL_WATCH, &answer, "the process that records it", &answer);
    if (status == HS_EXIT_STATUS_DONE) {
        *ret_fd = hs_ctl_take_fd(&answer, 0);
        hs_ctl_message_deinit(&answer);
        status = *ret_fd >= 0 ? HS_EXIT_STATUS_DONE : HS_EXIT_STATUS_FAILED;
    }
    return status;
}

/* A recording that the page has just started takes a moment to begin. */
static int ask_patiently(uint32_t pid, uint32_t interval_ms, int *ret_fd)
{
    int status = ask(pid, interval_ms, ret_fd);
    for (int i = 0; i < TRIES && status != HS_EXIT_STATUS_DONE; i++) {
        send_text(":\n\n", 3); /* a comment: is the browser still there? */
        poll(NULL, 0, RETRY_MS);
        hs_ui_capture_forget();
        status = ask(pid, interval_ms, ret_fd);
    }
    return status;
}

static int send_update(struct hs_watch_events *events, const struct hs_watch_state *state,
                       struct hs_watch_names *names)
{
    struct hs_buf out = HS_BUF_INIT;
    bool has_names = !state->has_more && hs_watch_names_look_up(names, state->snap);
    int r = hs_watch_events_write(events, state, names, has_names, &out);
    if (r == 0) {
        send_text(hs_buf_text(&out), out.bytes);
    }
    hs_buf_deinit(&out);
    return r;
}

static const char *end_words(const struct hs_watch_state *state, int err)
{
    if (err < 0) {
        return err == -ECONNRESET ? "the process that records it has ended, or ended the watch"
                                  : strerror(-err);
    }
    return state->end == HS_WATCH_END_PROCESS
               ? "the process has ended, executed another program, or is recorded no more"
               : "its recording could not be read";
}

static void watch(int fd)
{
    struct hs_watch_events events = { .err = 0 };
    struct hs_watch_names names = { .count = 0 };
    struct hs_watch_link link;
    int r = hs_watch_link_begin(fd, &link);
    if (r < 0) {
        send_end(strerror(-r));
        return;
    }
    while (r >= 0 && link.state.end == HS_WATCH_GOES_ON) {
        struct pollfd ready = { .fd = link.fd, .events = POLLIN };
        if (poll(&ready, 1, QUIET_MS) == 0) {
            send_text(":\n\n", 3);
            continue;
        }
        r = hs_watch_link_take(&link);
        if (r == 1) {
            r = send_update(&events, &link.state, &names);
            r = r < 0 ? r : hs_watch_link_ask(&link);
        }
    }
    send_end(end_words(&link.state, r));
    hs_watch_link_end(&link);
    hs_watch_names_deinit(&names);
    hs_watch_events_deinit(&events);
}

void hs_ui_get_watch(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    uint64_t pid, interval_ms = INTERVAL_MS_DEFAULT;
    int fd = -1;
    (void)ctx;
    (void)answer;
    if (!hs_http_request_number(request, "pid", INT_MAX, &pid) || pid == 0) {
        send_end("the address has no pid");
        return;
    }
    if (hs_http_request_number(request, "interval_ms", INTERVAL_MS_MAX, &interval_ms) &&
        interval_ms < INTERVAL_MS_MIN) {
        interval_ms = INTERVAL_MS_MIN;
    }
    if (ask_patiently((uint32_t)pid, (uint32_t)interval_ms, &fd) != HS_EXIT_STATUS_DONE) {
        send_messages_as_end();
        return;
    }
    watch(fd);
}
