/*
 * What the page asks of recordings that run: their end, and a snapshot.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "session/session.h"
#include "util/json.h"
#include "util/json_read.h"
#include "util/write_all.h"

#define PID_MAX_NUMBER INT_MAX

/* What the body may contain. */
struct asked {
    char session[HS_SESSION_NAME_MAX + 1];
    double pid;
    bool has_session, with_blocks, is_moment, is_bad;
};

static void take_session(struct asked *asked, struct hs_json_reader *reader)
{
    struct hs_json_text text;
    if (!hs_json_read_text(reader, &text) || text.bytes > HS_SESSION_NAME_MAX) {
        asked->is_bad = true;
        return;
    }
    memcpy(asked->session, text.text, text.bytes);
    asked->session[text.bytes] = '\0';
    asked->has_session = true;
    asked->is_bad |= !hs_session_is_name(asked->session);
}

/* False: the body is not such an object. */
static bool read_body(const struct hs_http_request *request, struct asked *ret_asked)
{
    struct hs_json_reader reader;
    struct hs_json_text key;
    *ret_asked = (struct asked){ .pid = 0 };
    hs_json_begin(&reader, request->body, request->body + request->body_bytes);
    bool is_object = hs_json_peek(&reader) == '{' && hs_json_enter(&reader, '{');
    while (is_object && !ret_asked->is_bad && hs_json_next_key(&reader, &key)) {
        if (hs_json_text_is(&key, "session")) {
            take_session(ret_asked, &reader);
        } else if (hs_json_text_is(&key, "pid")) {
            ret_asked->is_bad |= !hs_json_read_number(&reader, &ret_asked->pid) ||
                                 !(ret_asked->pid >= 1 && ret_asked->pid <= PID_MAX_NUMBER);
        } else if (hs_json_text_is(&key, "blocks")) {
            ret_asked->with_blocks = hs_json_peek(&reader) == 't';
            hs_json_skip(&reader);
        } else if (hs_json_text_is(&key, "moment")) {
            ret_asked->is_moment = hs_json_peek(&reader) == 't';
            hs_json_skip(&reader);
        } else {
            ret_asked->is_bad = true;
        }
    }
    bool is_good = is_object && !reader.is_bad && !ret_asked->is_bad;
    hs_json_end(&reader);
    return is_good;
}

/* Answers with the path of a file, which the server adds to the list. */
static void answer_path(struct hs_buf *printed, const char *path, struct hs_http_answer *answer)
{
    struct hs_buf out = HS_BUF_INIT;
    struct hs_json json;
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    if (path) {
        hs_json_kv_string(&json, "path", path);
        snprintf(answer->note, sizeof(answer->note), "%s", path);
    } else {
        const char *text = hs_buf_text(printed);
        hs_ui_capture_put_line(&json, "path", printed);
        snprintf(answer->note, sizeof(answer->note), "%.*s", (int)strcspn(text, "\n"), text);
    }
    hs_ui_capture_write_messages(&json);
    hs_json_close(&json, '}');
    if (out.err || hs_write_all(STDOUT_FILENO, out.data, out.bytes) != 0) {
        hs_ui_fail(answer, 500, "out of memory");
    }
    hs_buf_deinit(&out);
}

void hs_ui_post_stop(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    char name[] = "stop", end[] = "--";
    struct hs_buf printed = HS_BUF_INIT;
    struct asked asked;
    (void)ctx;
    if (!read_body(request, &asked) || !asked.has_session) {
        hs_ui_fail(answer, 400, "the body is not {\"session\": NAME}");
        return;
    }
    char *line[] = { name, end, asked.session, NULL };
    int status = hs_ui_capture(hs_cmd_stop, 3, line, &printed);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(status, answer);
    } else {
        answer_path(&printed, NULL, answer);
    }
    hs_buf_deinit(&printed);
}

/* A name that no file has. */
static void name_snapshot(const struct hs_ui *ui, const struct asked *asked, char *ret_path,
                          size_t bytes)
{
    const char *folder = asked->is_moment ? ui->moment_folder : ui->folder;
    const char *kind = asked->is_moment ? "moment" : "snapshot";
    int first =
        asked->is_moment ? (int)ui->file_count : 1; /* numbers of deleted ones stay unused */
    snprintf(ret_path, bytes, "%s/heapscope.%d.%s-%d.pftrace", folder, (int)asked->pid, kind,
             first);
    for (int i = first + 1; access(ret_path, F_OK) == 0 && i < 10000; i++) {
        snprintf(ret_path, bytes, "%s/heapscope.%d.%s-%d.pftrace", folder, (int)asked->pid, kind,
                 i);
    }
}

void hs_ui_post_snapshot(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer)
{
    const struct hs_ui *ui = ctx;
    char name[] = "snapshot", blocks[] = "--blocks", pid[32], output[PATH_MAX + 96];
    char path[PATH_MAX + 64];
    struct hs_buf printed = HS_BUF_INIT;
    struct asked asked;
    if (!read_body(request, &asked) || asked.pid < 1) {
        hs_ui_fail(answer, 400, "the body is not {\"pid\": PID}");
        return;
    }
    if (asked.is_moment && ui->moment_folder[0] == '\0') {
        hs_ui_fail(answer, 409, "no folder for moments could be made: see XDG_RUNTIME_DIR, TMPDIR");
        return;
    }
    name_snapshot(ui, &asked, path, sizeof(path));
    snprintf(pid, sizeof(pid), "--pid=%d", (int)asked.pid);
    snprintf(output, sizeof(output), "--output=%s", path);
    char *line[] = { name, pid, output, asked.with_blocks ? blocks : NULL, NULL };
    int status = hs_ui_capture(hs_cmd_snapshot, asked.with_blocks ? 4 : 3, line, &printed);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(status, answer);
    } else {
        answer_path(&printed, path, answer);
    }
    hs_buf_deinit(&printed);
}
