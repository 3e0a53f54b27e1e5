/*
 * Downloads: the file itself, and what `export`, `report` and `query` make of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "rt/base.h"
#include "rt/text.h"

#define OPTIONS_MAX 8

static char csv_sql[] =
    "SELECT p.pid, p.name AS process, n.name AS function, n.module, n.source_file, n.line_number, "
    "s.heap_name, s.live_bytes, s.live_count, s.alloc_bytes, s.alloc_count, s.peak_bytes, "
    "s.peak_count FROM heapscope_processes p "
    "JOIN heapscope_samples s ON s.dump_id = p.last_dump_id AND s.is_counted "
    "JOIN heapscope_nodes n ON n.id = s.node_id ORDER BY s.live_bytes DESC";

/* What a download is made by. Export takes --view, --snapshot and --heap, if `is_selecting`. */
static const struct format {
    const char *name, *end, *content_type;
    hs_ui_command_fn *command;
    const char *option; /* before the file */
    bool is_selecting;
    char *operand; /* behind the file */
} formats[] = {
    { "pprof", ".pb.gz", "application/gzip", hs_cmd_export, "--format=pprof", true, NULL },
    { "folded", ".folded", "text/plain; charset=utf-8", hs_cmd_export, "--format=folded", true,
      NULL },
    { "speedscope", ".speedscope.json", HS_HTTP_TYPE_JSON, hs_cmd_export, "--format=speedscope",
      true, NULL },
    { "svg", ".svg", "image/svg+xml", hs_cmd_export, "--format=svg", true, NULL },
    { "massif", ".massif", "text/plain; charset=utf-8", hs_cmd_export, "--format=massif", true,
      NULL },
    { "jsonl", ".jsonl", "application/x-ndjson", hs_cmd_export, "--format=json", true, NULL },
    { "sqlite", ".sqlite", "application/vnd.sqlite3", hs_cmd_export, "--format=sqlite", false,
      NULL },
    { "json", ".json", HS_HTTP_TYPE_JSON, hs_cmd_report, "--json", true, NULL },
    { "html", ".html", "application/octet-stream", hs_cmd_report, "--html", false, NULL },
    { "csv", ".csv", "text/csv; charset=utf-8", hs_cmd_query, "--format=csv", false, csv_sql },
};

static const struct format *format_of(const struct hs_http_request *request)
{
    const char *name = hs_http_request_argument(request, "format");
    for (size_t i = 0; name && i < HS_COUNT_OF(formats); i++) {
        if (strcmp(name, formats[i].name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

/* The name of the file without the end that says its kind, and the end of the format. */
static void name_download(const char *path, const char *end, char *ret_name)
{
    const char *base = hs_text_base_name(path);
    size_t bytes = strlen(base), kind_bytes = strlen(".pftrace");
    if (bytes > kind_bytes && strcmp(base + bytes - kind_bytes, ".pftrace") == 0) {
        bytes -= kind_bytes;
    }
    size_t room = HS_HTTP_NAME_BYTES - 1 - strlen(end);
    snprintf(ret_name, HS_HTTP_NAME_BYTES, "%.*s%s", (int)(bytes < room ? bytes : room), base, end);
}

bool hs_ui_download_find(const struct hs_ui *ui, const struct hs_http_request *request,
                         struct hs_http_slice *ret_slice)
{
    const char *format = hs_http_request_argument(request, "format");
    struct hs_http_answer answer;
    struct stat st;
    const struct hs_ui_file *file =
        format && strcmp(format, "trace") == 0 ? hs_ui_file_of(ui, request, &answer) : NULL;
    int fd = file ? open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    *ret_slice = (struct hs_http_slice){ .fd = fd,
                                         .bytes = (uint64_t)st.st_size,
                                         .content_type = "application/octet-stream" };
    snprintf(ret_slice->download_name, sizeof(ret_slice->download_name), "%.*s",
             HS_HTTP_NAME_BYTES - 1, hs_text_base_name(file->path));
    return true;
}

/* Adds "--view=VALUE" for the argument "view", and so on. */
static int add_selection(const struct hs_http_request *request, char **line, int count)
{
    static const char *const names[] = { "view", "snapshot", "heap", "pid" };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        const char *value = hs_http_request_argument(request, names[i]);
        if (value && asprintf(&line[count], "--%s=%s", names[i], value) > 0) {
            count++;
        }
    }
    return count;
}

void hs_ui_get_download(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer)
{
    const struct format *format = format_of(request);
    const struct hs_ui_file *file = hs_ui_file_of(ctx, request, answer);
    char *line[OPTIONS_MAX + 4] = { NULL };
    char name[] = "export", end[] = "--";
    int count = 0;
    if (!file) {
        return;
    }
    if (!format) {
        hs_ui_fail(answer, 404, "the file is not there, or there is no such format");
        return;
    }
    line[count++] = name;
    line[count++] = (char *)(uintptr_t)format->option;
    if (format->is_selecting) {
        count = add_selection(request, line, count);
    }
    line[count++] = end;
    line[count++] = file->path;
    if (format->operand) {
        line[count++] = format->operand;
    }
    snprintf(answer->content_type, sizeof(answer->content_type), "%s", format->content_type);
    name_download(file->path, format->end, answer->download_name);
    int status = format->command(count, line);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_ui_capture_fail(status, answer);
    }
}
