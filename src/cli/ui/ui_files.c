/*
 * The list of files, as JSON.
 */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "rt/text.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/write_all.h"

static void put_file(struct hs_json *json, const struct hs_ui_file *file, size_t idx)
{
    struct stat st;
    bool is_there = stat(file->path, &st) == 0;
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "file", idx);
    hs_json_kv_string(json, "name", hs_text_base_name(file->path));
    hs_json_kv_string(json, "path", file->path);
    hs_json_kv_bool(json, "is_given", file->is_given);
    hs_json_kv_bool(json, "is_moment", file->is_moment);
    /* A recording's file appears when it is complete. */
    hs_json_kv_bool(json, "is_complete", is_there);
    if (is_there) {
        hs_json_kv_uint(json, "bytes", (uint64_t)st.st_size);
        hs_json_kv_double(json, "modified_unix_ms",
                          (double)st.st_mtim.tv_sec * 1e3 +
                              round((double)st.st_mtim.tv_nsec / 1e6));
    }
    hs_json_close(json, '}');
}

void hs_ui_get_files(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    const struct hs_ui *ui = ctx;
    struct hs_buf out = HS_BUF_INIT;
    struct hs_json json;
    (void)request;
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    hs_json_kv_string(&json, "folder", ui->folder);
    hs_json_key(&json, "files");
    hs_json_open(&json, '[');
    for (size_t i = 0; i < ui->file_count; i++) {
        bool is_deleted = ui->files[i].is_moment && access(ui->files[i].path, F_OK) != 0;
        if (!is_deleted) {
            put_file(&json, &ui->files[i], i);
        }
    }
    hs_json_close(&json, ']');
    hs_json_close(&json, '}');
    if (out.err || hs_write_all(STDOUT_FILENO, out.data, out.bytes) != 0) {
        hs_ui_fail(answer, 500, "out of memory");
    }
    hs_buf_deinit(&out);
}
