/*
 * Commands inside handlers: see ui_capture.h.
 */
#include "cli/ui/ui_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "rt/text.h"
#include "util/json.h"

static void read_all(int fd, struct hs_buf *out)
{
    char block[65536];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, block, sizeof(block), at)) > 0) {
        hs_buf_add(out, block, (size_t)got);
        at += got;
    }
}

int hs_ui_capture(hs_ui_command_fn *command, int argc, char **argv, struct hs_buf *out)
{
    int file = memfd_create("heapscope-command", MFD_CLOEXEC);
    fflush(stdout);
    int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (file < 0 || before < 0 || dup2(file, STDOUT_FILENO) < 0) {
        fprintf(stderr, "%s\n", strerror(errno));
        return HS_EXIT_STATUS_FAILED;
    }
    int status = command(argc, argv);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    read_all(file, out);
    close(before);
    close(file);
    return out->err ? HS_EXIT_STATUS_FAILED : status;
}

void hs_ui_capture_put_line(struct hs_json *json, const char *key, struct hs_buf *printed)
{
    struct hs_buf line = HS_BUF_INIT;
    const char *text = hs_buf_text(printed);
    hs_buf_add(&line, text, strcspn(text, "\n"));
    hs_json_kv_string(json, key, hs_buf_text(&line));
    hs_buf_deinit(&line);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Takes a line without its end; false: there is none. */
static bool next_line(const char **at, const char **ret_line, size_t *ret_bytes)
{
    static const char prefix[] = "heapscope: ";
    const char *line = *at;
    if (!*line) {
        return false;
    }
    size_t bytes = strcspn(line, "\n");
    *at = line + bytes + (line[bytes] ? 1 : 0);
    if (hs_text_starts_with(line, prefix)) {
        line += sizeof(prefix) - 1;
        bytes -= sizeof(prefix) - 1;
    }
    *ret_line = line;
    *ret_bytes = bytes;
    return true;
}

/* "Try 'heapscope start --help'." */
static bool is_hint(const char *line)
{
    return hs_text_starts_with(line, "Try 'heapscope ");
}

void hs_ui_capture_messages(struct hs_buf *out)
{
    struct hs_buf text = HS_BUF_INIT;
    const char *line;
    size_t bytes;
    read_all(STDERR_FILENO, &text);
    for (const char *at = hs_buf_text(&text); next_line(&at, &line, &bytes);) {
        if (!is_hint(line)) {
            hs_buf_printf(out, "%s%.*s", out->bytes ? "\n" : "", (int)bytes, line);
        }
    }
    hs_buf_deinit(&text);
}

void hs_ui_capture_forget(void)
{
    if (ftruncate(STDERR_FILENO, 0) == 0) {
        lseek(STDERR_FILENO, 0, SEEK_SET);
    }
}

void hs_ui_capture_write_messages(struct hs_json *json)
{
    struct hs_buf text = HS_BUF_INIT;
    const char *line;
    size_t bytes;
    hs_ui_capture_messages(&text);
    hs_json_key(json, "messages");
    hs_json_open(json, '[');
    for (const char *at = hs_buf_text(&text); next_line(&at, &line, &bytes);) {
        struct hs_buf one = HS_BUF_INIT;
        hs_buf_add(&one, line, bytes);
        hs_json_string(json, hs_buf_text(&one));
        hs_buf_deinit(&one);
    }
    hs_json_close(json, ']');
    hs_buf_deinit(&text);
}

void hs_ui_fail(struct hs_http_answer *answer, unsigned status, const char *text)
{
    answer->status = status;
    snprintf(answer->error, sizeof(answer->error), "%s", text);
}

void hs_ui_capture_fail(int exit_status, struct hs_http_answer *answer)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_ui_capture_messages(&text);
    hs_ui_fail(answer, exit_status == HS_EXIT_STATUS_USAGE ? 400 : 409,
               text.bytes ? hs_buf_text(&text) : "no reason was given");
    hs_buf_deinit(&text);
}
