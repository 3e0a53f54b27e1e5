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
    ui->files[ui->file_count++] = (struct hs_ui_file){ .path = copy, .is_given = is_given };
    HS_ASSERT(ui->file_count <= HS_UI_FILES_MAX);
    return 0;
}

void hs_ui_deinit(struct hs_ui *ui)
{
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
