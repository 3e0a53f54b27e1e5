/*
 * Documents of pages that were made before: see ui_handlers.h and ui_state.h.
 *
 * Reading a profile takes a second or more, and a page asks for its documents one by one. So a job
 * writes all documents of its files, compressed, one behind the other, and behind them a list; the
 * server keeps that, and answers the other requests from it. A file that has changed is read anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/ui_handlers.h"
#include "util/write_all.h"

#define DOCUMENTS_MAX 100000U
#define LIST_MAGIC    UINT64_C(0x317473696c737068)

/* At the end of what a job writes. */
struct list_end {
    uint64_t magic, count;
};

/* --- which files ------------------------------------------------------------------------------ */

static bool take_index(const char **at, uint32_t *ret_idx)
{
    uint32_t idx = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9' && idx < HS_UI_FILES_MAX; (*at)++) {
        idx = idx * 10 + (uint32_t)(**at - '0');
    }
    *ret_idx = idx;
    return *at > start && (**at == ',' || **at == '\0');
}

bool hs_ui_files_key(const struct hs_ui *ui, const struct hs_http_request *request,
                     struct hs_ui_files_key *ret_key)
{
    const char *at = hs_http_request_argument(request, "file");
    struct stat st;
    memset(ret_key, 0, sizeof(*ret_key));
    while (at && *at && ret_key->count < HS_UI_PAGE_FILES_MAX) {
        uint32_t idx;
        if (!take_index(&at, &idx) || idx >= ui->file_count ||
            stat(ui->files[idx].path, &st) != 0) {
            return false;
        }
        at += *at == ',';
        uint32_t i = ret_key->count++;
        ret_key->idx[i] = idx;
        ret_key->stats[i].dev = st.st_dev;
        ret_key->stats[i].ino = st.st_ino;
        ret_key->stats[i].bytes = st.st_size;
        ret_key->stats[i].modified = st.st_mtim;
    }
    return at && *at == '\0' && ret_key->count > 0;
}

static bool is_same_key(const struct hs_ui_files_key *a, const struct hs_ui_files_key *b)
{
    bool is_same = a->count == b->count;
    for (uint32_t i = 0; is_same && i < a->count; i++) {
        is_same = a->idx[i] == b->idx[i] && a->stats[i].dev == b->stats[i].dev &&
                  a->stats[i].ino == b->stats[i].ino && a->stats[i].bytes == b->stats[i].bytes &&
                  a->stats[i].modified.tv_sec == b->stats[i].modified.tv_sec &&
                  a->stats[i].modified.tv_nsec == b->stats[i].modified.tv_nsec;
    }
    return is_same;
}

/* --- the list --------------------------------------------------------------------------------- */

int hs_ui_stored_write_list(const struct hs_ui_document *documents, size_t count)
{
    const struct list_end end = { LIST_MAGIC, count };
    int r = hs_write_all(STDOUT_FILENO, documents, count * sizeof(documents[0]));
    return r ? r : hs_write_all(STDOUT_FILENO, &end, sizeof(end));
}

static bool read_at(int fd, void *data, size_t bytes, uint64_t off)
{
    return pread(fd, data, bytes, (off_t)off) == (ssize_t)bytes;
}

/* Reads the list, and checks that each document lies in front of it. */
static struct hs_ui_document *read_list(int fd, size_t *ret_count)
{
    struct stat st;
    struct list_end end;
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(end) ||
        !read_at(fd, &end, sizeof(end), (uint64_t)st.st_size - sizeof(end)) ||
        end.magic != LIST_MAGIC || end.count == 0 || end.count > DOCUMENTS_MAX) {
        return NULL;
    }
    uint64_t list_bytes = end.count * sizeof(struct hs_ui_document) + sizeof(end);
    struct hs_ui_document *documents = calloc(end.count, sizeof(documents[0]));
    bool is_good = documents && list_bytes <= (uint64_t)st.st_size;
    uint64_t list_off = (uint64_t)st.st_size - list_bytes;
    is_good = is_good && read_at(fd, documents, end.count * sizeof(documents[0]), list_off);
    for (uint64_t i = 0; is_good && i < end.count; i++) {
        documents[i].name[sizeof(documents[i].name) - 1] = '\0';
        is_good = documents[i].off <= list_off && documents[i].bytes <= list_off - documents[i].off;
    }
    if (!is_good) {
        free(documents);
        return NULL;
    }
    *ret_count = end.count;
    return documents;
}

/* --- keeping and finding ---------------------------------------------------------------------- */

static void drop(struct hs_ui_stored *stored)
{
    if (stored->fd >= 0) {
        close(stored->fd);
    }
    free(stored->documents);
    *stored = (struct hs_ui_stored){ .fd = -1 };
}

void hs_ui_store(struct hs_ui *ui, const struct hs_http_request *request, int fd)
{
    struct hs_ui_stored *oldest = &ui->stored[0];
    struct hs_ui_files_key key;
    size_t count = 0;
    struct hs_ui_document *documents =
        hs_ui_files_key(ui, request, &key) ? read_list(fd, &count) : NULL;
    int own_fd = documents ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (own_fd < 0) {
        free(documents);
        return;
    }
    for (size_t i = 0; i < HS_UI_STORED_MAX; i++) {
        bool is_same = ui->stored[i].fd >= 0 && is_same_key(&ui->stored[i].key, &key);
        if (is_same || ui->stored[i].used < oldest->used) {
            oldest = &ui->stored[i];
        }
        if (is_same) {
            break;
        }
    }
    drop(oldest);
    *oldest = (struct hs_ui_stored){
        .key = key, .fd = own_fd, .documents = documents, .count = count, .used = ++ui->use_count
    };
}

bool hs_ui_stored_find(struct hs_ui *ui, const struct hs_http_request *request,
                       struct hs_http_slice *ret_slice)
{
    const char *name = hs_http_request_argument(request, "document");
    struct hs_ui_files_key key;
    if (!name || !hs_http_request_takes_gzip(request) || !hs_ui_files_key(ui, request, &key)) {
        return false;
    }
    for (size_t i = 0; i < HS_UI_STORED_MAX; i++) {
        struct hs_ui_stored *stored = &ui->stored[i];
        if (stored->fd < 0 || !is_same_key(&stored->key, &key)) {
            continue;
        }
        for (size_t j = 0; j < stored->count; j++) {
            if (strcmp(stored->documents[j].name, name) == 0) {
                stored->used = ++ui->use_count;
                *ret_slice = (struct hs_http_slice){ .fd = fcntl(stored->fd, F_DUPFD_CLOEXEC, 3),
                                                     .off = stored->documents[j].off,
                                                     .bytes = stored->documents[j].bytes,
                                                     .is_gzip = true,
                                                     .content_type = HS_HTTP_TYPE_JSON };
                return ret_slice->fd >= 0;
            }
        }
    }
    return false;
}
