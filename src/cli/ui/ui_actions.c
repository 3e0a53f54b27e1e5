/*
 * What the page asks of recordings that run: their end, and a snapshot.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/ui/ui_asked.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "util/json.h"
#include "util/write_all.h"

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
    struct hs_ui_asked asked;
    (void)ctx;
    if (!hs_ui_asked_read(request->body, request->body_bytes, &asked) || asked.session[0] == '\0') {
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
static void name_snapshot(const struct hs_ui *ui, const struct hs_ui_asked *asked, char *ret_path,
                          size_t bytes)
{
    const char *folder = asked->is_moment ? ui->moment_folder : ui->folder;
    const char *kind = asked->is_moment ? "moment" : "snapshot";
    int first =
        asked->is_moment ? (int)ui->file_count : 1; /* numbers of deleted ones stay unused */
    snprintf(ret_path, bytes, "%s/heapscope.%d.%s-%d.pftrace", folder, asked->pid, kind, first);
    for (int i = first + 1; access(ret_path, F_OK) == 0 && i < 10000; i++) {
        snprintf(ret_path, bytes, "%s/heapscope.%d.%s-%d.pftrace", folder, asked->pid, kind, i);
    }
}

void hs_ui_post_snapshot(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer)
{
    const struct hs_ui *ui = ctx;
    char name[] = "snapshot", blocks[] = "--blocks", pid[32], output[PATH_MAX + 96];
    char path[PATH_MAX + 64];
    struct hs_buf printed = HS_BUF_INIT;
    struct hs_ui_asked asked;
    if (!hs_ui_asked_read(request->body, request->body_bytes, &asked) || asked.pid == 0) {
        hs_ui_fail(answer, 400, "the body is not {\"pid\": PID}");
        return;
    }
    if (asked.is_moment && ui->moment_folder[0] == '\0') {
        hs_ui_fail(answer, 409, "no folder for moments could be made: see XDG_RUNTIME_DIR, TMPDIR");
        return;
    }
    name_snapshot(ui, &asked, path, sizeof(path));
    snprintf(pid, sizeof(pid), "--pid=%d", asked.pid);
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
