/*
 * The files of `ui`: see ui_state.h.
 */
#include "cli/ui/ui_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/check.h"

/* --- moments ---------------------------------------------------------------------------------- */

void hs_ui_make_moment_folder(struct hs_ui *ui)
{
    const char *names[] = { "XDG_RUNTIME_DIR", "TMPDIR" };
    const char *parent = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !parent; i++) {
        const char *value = getenv(names[i]);
        parent = value && value[0] == '/' && access(value, W_OK) == 0 ? value : NULL;
    }
    snprintf(ui->moment_folder, sizeof(ui->moment_folder), "%s/heapscope-ui.XXXXXX",
             parent ? parent : "/tmp");
    if (!mkdtemp(ui->moment_folder)) {
        ui->moment_folder[0] = '\0';
    }
}

static bool is_moment_path(const struct hs_ui *ui, const char *path)
{
    size_t bytes = strlen(ui->moment_folder);
    return bytes > 0 && strncmp(path, ui->moment_folder, bytes) == 0 && path[bytes] == '/';
}

/* Deletes all but the newest `kept_count` moments. */
static void delete_moments(struct hs_ui *ui, size_t kept_count)
{
    for (size_t i = ui->file_count; i > 0; i--) {
        if (ui->files[i - 1].is_moment && kept_count-- == 0) {
            unlink(ui->files[i - 1].path);
            kept_count = 0;
        }
    }
}

/* --- files ------------------------------------------------------------------------------------ */

int hs_ui_add_file(struct hs_ui *ui, const char *path, bool is_given)
{
    for (size_t i = 0; i < ui->file_count; i++) {
        if (strcmp(ui->files[i].path, path) == 0) {
            return 0;
        }
    }
    if (ui->file_count == HS_UI_FILES_MAX) {
        return -ENOSPC;
    }
    char *copy = strdup(path);
    if (!copy) {
        return -ENOMEM;
    }
    bool is_moment = is_moment_path(ui, path);
    ui->files[ui->file_count++] =
        (struct hs_ui_file){ .path = copy, .is_given = is_given, .is_moment = is_moment };
    HS_ASSERT(ui->file_count <= HS_UI_FILES_MAX);
    if (is_moment) {
        delete_moments(ui, HS_UI_MOMENTS_MAX);
    }
    return 0;
}

void hs_ui_deinit(struct hs_ui *ui)
{
    delete_moments(ui, 0);
    if (ui->moment_folder[0]) {
        rmdir(ui->moment_folder);
    }
    for (size_t i = 0; i < ui->file_count; i++) {
        free(ui->files[i].path);
    }
    for (size_t i = 0; i < HS_UI_STORED_MAX; i++) {
        if (ui->stored[i].fd >= 0) {
            close(ui->stored[i].fd);
        }
        free(ui->stored[i].documents);
    }
    const int kept[] = { ui->processes.fd, ui->sessions.fd };
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (kept[i] >= 0) {
            close(kept[i]);
        }
    }
}

const struct hs_ui_file *hs_ui_file_of(const struct hs_ui *ui,
                                       const struct hs_http_request *request,
                                       struct hs_http_answer *answer)
{
    uint64_t idx;
    if (!hs_http_request_number(request, "file", HS_UI_FILES_MAX, &idx) || idx >= ui->file_count) {
        answer->status = 404;
        snprintf(answer->error, sizeof(answer->error), "there is no such file");
        return NULL;
    }
    return &ui->files[idx];
}
