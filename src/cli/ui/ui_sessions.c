/*
 * Sessions: the list, their settings as a TraceConfig, and a new one.
 *
 * A session belongs to the daemon, as with `heapscope start`. Without a daemon, a
 * `heapscope attach` records (ui_attach.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/endpoints.h"
#include "cli/daemon_client/start_options.h"
#include "cli/message.h"
#include "cli/ui/ui_attach.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "cli/ui/ui_settings.h"
#include "config/trace_config_write.h"
#include "ctl/ctl_socket.h"
#include "rt/text.h"
#include "util/json.h"
#include "util/shell_word.h"
#include "util/write_all.h"

static void send_out(struct hs_buf *out, struct hs_http_answer *answer)
{
    if (out->err || hs_write_all(STDOUT_FILENO, out->data, out->bytes) != 0) {
        hs_ui_fail(answer, 500, "out of memory");
    }
    hs_buf_deinit(out);
}

/* --- the list --------------------------------------------------------------------------------- */

void hs_ui_get_sessions(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer)
{
    char name[] = "list", option[] = "--json";
    char *line[] = { name, option, NULL };
    struct hs_buf out = HS_BUF_INIT;
    (void)ctx;
    (void)request;
    if (hs_ui_capture(hs_cmd_list, 2, line, &out) != HS_EXIT_STATUS_DONE) {
        /* No daemon, and nothing is recorded: the list is empty, and the messages say why. */
        struct hs_json json;
        hs_buf_clear(&out);
        hs_json_init(&json, &out, 2);
        hs_json_open(&json, '{');
        hs_json_key(&json, "daemon");
        hs_json_null(&json);
        static const char *const lists[] = { "sessions", "clients", "other_daemons", "recordings" };
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
            hs_json_key(&json, lists[i]);
            hs_json_open(&json, '[');
            hs_json_close(&json, ']');
        }
        hs_ui_capture_write_messages(&json);
        hs_json_close(&json, '}');
    }
    send_out(&out, answer);
}

/* --- the config ------------------------------------------------------------------------------- */

static struct hs_trace_wishes wishes_of(const struct hs_session_settings *settings, uint64_t *pids)
{
    for (size_t i = 0; i < settings->pid_count; i++) {
        pids[i] = (uint64_t)settings->pids[i];
    }
    return (struct hs_trace_wishes){ .interval_bytes = settings->interval_bytes,
                                     .heaps = settings->heaps,
                                     .names = settings->names,
                                     .name_count = settings->name_count,
                                     .pids = pids,
                                     .pid_count = settings->pid_count,
                                     .is_all = settings->is_all,
                                     .is_taking_startup = settings->is_taking_startup,
                                     .is_taking_running = settings->is_taking_running,
                                     .min_anon_bytes = settings->min_anon_bytes,
                                     .duration_ns = settings->duration_ns,
                                     .dumps = settings->dumps,
                                     .limits = settings->limits };
}

static void write_missing(const struct hs_ui_settings *settings, struct hs_buf *out)
{
    if (settings->has_blocks) {
        hs_trace_config_write_missing(out, "the list of live blocks (--blocks)");
    }
    if (settings->has_children) {
        hs_trace_config_write_missing(out, "children that run already (--children)");
    }
    if (settings->is_nameless) {
        hs_trace_config_write_missing(out, "to leave out names (--no-symbolize)");
    }
    if (settings->is_not_following) {
        hs_trace_config_write_missing(out, "to leave out children that it forks, and programs that "
                                           "it executes (--no-follow)");
    }
}

/* A session of the daemon gets the children of its processes with them. */
static bool is_possible(const struct hs_ui_settings *settings)
{
    char socket_path[HS_CTL_PATH_MAX + 1] = "";
    if (!settings->is_not_following || hs_ask_is_daemon_there(socket_path) != 0) {
        return true;
    }
    hs_message("a session of the daemon cannot leave out children (--no-follow)\n"
               "Use 'heapscope attach --no-follow PID' in a terminal.");
    return false;
}

/* Writes the config of the settings. Returns the exit status that `start` would have. */
static int write_config(const struct hs_ui_settings *settings, struct hs_buf *out)
{
    struct hs_start_options options;
    int count = 0;
    if (!is_possible(settings)) {
        return HS_EXIT_STATUS_FAILED;
    }
    char **line = hs_ui_settings_line(settings, "start", NULL, &count);
    hs_start_options_init(&options);
    int status = line ? hs_start_options_parse(&options, count, line) : HS_EXIT_STATUS_FAILED;
    uint64_t *pids = calloc(options.settings.pid_count + 1, sizeof(pids[0]));
    if (status == HS_ARGS_GO_ON && pids) {
        struct hs_trace_wishes wishes = wishes_of(&options.settings, pids);
        write_missing(settings, out);
        hs_trace_config_write(&wishes, &options.settings.sources, out);
    }
    free(pids);
    hs_start_options_deinit(&options);
    free(line); /* the parser has moved its arguments: the process ends soon */
    return status == HS_ARGS_GO_ON ? HS_EXIT_STATUS_DONE : status;
}

static void put_settings(struct hs_json *json, const struct hs_ui_settings *settings,
                         bool is_attach, struct hs_buf *config)
{
    struct hs_buf command = HS_BUF_INIT;
    hs_ui_settings_write_command(settings, is_attach, &command);
    hs_json_kv_string(json, "config", hs_buf_text(config));
    hs_json_kv_string(json, "command", hs_buf_text(&command));
    hs_buf_deinit(&command);
}

/* Would a recording be made by `heapscope attach`? See begin(). */
static bool is_for_attach(const struct hs_ui_settings *settings)
{
    char socket_path[HS_CTL_PATH_MAX + 1] = "";
    return hs_ui_attach_has_all(settings) && !hs_endpoints_is_one_named() &&
           hs_ask_is_daemon_there(socket_path) != 0;
}

void hs_ui_get_config(void *ctx, const struct hs_http_request *request,
                      struct hs_http_answer *answer)
{
    struct hs_ui_settings settings = { .count = 0 };
    struct hs_buf config = HS_BUF_INIT, out = HS_BUF_INIT;
    struct hs_json json;
    (void)ctx;
    if (hs_ui_settings_read_arguments(&settings, request) != 0) {
        hs_ui_fail(answer, 400, settings.error[0] ? settings.error : "out of memory");
        return;
    }
    int status = write_config(&settings, &config);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(status, answer);
        return;
    }
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    put_settings(&json, &settings, is_for_attach(&settings), &config);
    hs_json_close(&json, '}');
    send_out(&out, answer);
}

/* --- a new session ---------------------------------------------------------------------------- */

/* A name for the file, from the first process that is named. */
static void name_file(const struct hs_ui *ui, const struct hs_ui_settings *settings, char *ret_path,
                      size_t bytes)
{
    char name[64] = "all", date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    for (size_t i = settings->count; i > 0; i--) {
        const char *option = settings->options[i - 1];
        if (hs_text_starts_with(option, "--pid=") || hs_text_starts_with(option, "--name=")) {
            snprintf(name, sizeof(name), "%s", hs_text_base_name(strchr(option, '=') + 1));
        }
    }
    hs_shell_escape(name);
    if (localtime_r(&now, &tm)) {
        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
    }
    snprintf(ret_path, bytes, "%s/heapscope.%s.%s.pftrace", ui->folder, name, date);
    for (int i = 2; access(ret_path, F_OK) == 0 && i < 1000; i++) {
        snprintf(ret_path, bytes, "%s/heapscope.%s.%s-%d.pftrace", ui->folder, name, date, i);
    }
}

/* Asks the daemon. The session's name is what `start` prints. */
static int ask_daemon(const struct hs_ui_settings *settings, const char *path,
                      struct hs_buf *session)
{
    char output[PATH_MAX + 192];
    int count = 0;
    snprintf(output, sizeof(output), "--output=%s", path);
    char **line = hs_ui_settings_line(settings, "start", output, &count);
    int status = line ? hs_ui_capture(hs_cmd_start, count, line, session) : HS_EXIT_STATUS_FAILED;
    free(line);
    return status;
}

/* Without a daemon, attach records; a daemon that the user has named must be there. */
static int begin(const struct hs_ui_settings *settings, const char *path, struct hs_buf *session)
{
    char socket_path[HS_CTL_PATH_MAX + 1] = "";
    int r = hs_ask_is_daemon_there(socket_path);
    if (r == 0) {
        return ask_daemon(settings, path, session);
    }
    if (hs_endpoints_is_one_named()) {
        return socket_path[0] ? hs_ask_say_nobody(socket_path, r) : hs_ask_say_bad_socket();
    }
    return hs_ui_attach(settings, path, session);
}

void hs_ui_post_start(void *ctx, const struct hs_http_request *request,
                      struct hs_http_answer *answer)
{
    const struct hs_ui *ui = ctx;
    struct hs_ui_settings settings = { .count = 0 };
    struct hs_buf config = HS_BUF_INIT, session = HS_BUF_INIT, out = HS_BUF_INIT;
    struct hs_json json;
    char path[PATH_MAX + 160];
    if (hs_ui_settings_read_json(&settings, request->body, request->body_bytes) != 0) {
        hs_ui_fail(answer, 400, settings.error[0] ? settings.error : "out of memory");
        return;
    }
    name_file(ui, &settings, path, sizeof(path));
    int status = write_config(&settings, &config);
    status = status ? status : begin(&settings, path, &session);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(status, answer);
        return;
    }
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    hs_ui_capture_put_line(&json, "session", &session);
    hs_json_kv_string(&json, "path", path);
    put_settings(&json, &settings, hs_text_starts_with(hs_buf_text(&session), "attach."), &config);
    hs_ui_capture_write_messages(&json);
    hs_json_close(&json, '}');
    snprintf(answer->note, sizeof(answer->note), "%s", path);
    send_out(&out, answer);
}
