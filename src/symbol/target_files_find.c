/*
 * Finds what is open: see target_files.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/text.h"
#include "symbol/target_files_state.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define KEPT_MAX   8U
#define FDS_MAX                                                                                    \
    (HS_TARGET_FILES_MAX + HS_TARGET_ROOTS_MAX + 2 * HS_TARGET_JITS_MAX + (size_t)KEPT_MAX)

int hs_target_files_open_below(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = { .flags = flags, .resolve = RESOLVE_IN_ROOT | resolve };
    long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

bool hs_target_files_has_roots(const struct hs_target_files *files)
{
    return files && (files->root_count > 0 || files->is_root_lost);
}

int hs_target_files_next(const struct hs_target_files *files, const char *path, size_t *at)
{
    const char *base = hs_text_base_name(path);
    for (; files && *at < files->file_count; (*at)++) {
        const struct hs_target_file *file = &files->files[*at];
        if (file->fd >= 0 && strcmp(hs_text_base_name(file->path), base) == 0) {
            (*at)++;
            return file->fd;
        }
    }
    return -1;
}

int hs_target_files_only(const struct hs_target_files *files, const char *path)
{
    const struct hs_target_file *only = NULL;
    for (size_t i = 0; files && i < files->file_count; i++) {
        const struct hs_target_file *file = &files->files[i];
        if (strcmp(file->path, path) != 0) {
            continue;
        }
        if (only && (file->inode != only->inode || file->dev != only->dev)) {
            return -1;
        }
        only = file;
    }
    return only ? only->fd : -1;
}

bool hs_target_files_has(const struct hs_target_files *files, const char *path)
{
    size_t i = 0;
    while (files && i < files->file_count && strcmp(files->files[i].path, path) != 0) {
        i++;
    }
    return files && i < files->file_count;
}

int hs_target_files_open_in_root(const struct hs_target_files *files, size_t idx, const char *path)
{
    if (!files || idx >= files->root_count) {
        return -ERANGE;
    }
    return hs_target_files_open_below(files->roots[idx].fd, path, OPEN_FLAGS,
                                      RESOLVE_NO_MAGICLINKS);
}

const struct hs_target_jit *hs_target_files_jit(const struct hs_target_files *files, uint32_t pid)
{
    for (size_t i = 0; files && i < files->jit_count; i++) {
        if (files->jits[i].pid == pid) {
            return &files->jits[i];
        }
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void hs_target_files_close_others(const struct hs_target_files *files, int first_fd,
                                  const int *kept, size_t kept_count)
{
    int fds[FDS_MAX];
    size_t count = kept_count < KEPT_MAX ? kept_count : KEPT_MAX;
    unsigned from = (unsigned)first_fd;
    memcpy(fds, kept, count * sizeof(fds[0]));
    for (size_t i = 0; files && i < files->file_count; i++) {
        fds[count++] = files->files[i].fd;
    }
    for (size_t i = 0; files && i < files->root_count; i++) {
        fds[count++] = files->roots[i].fd;
    }
    for (size_t i = 0; files && i < files->jit_count; i++) {
        fds[count++] = files->jits[i].map_fd;
        fds[count++] = files->jits[i].dump_fd;
    }
    qsort(fds, count, sizeof(fds[0]), by_value);
    for (size_t i = 0; i < count; i++) {
        if (fds[i] > (int)from) {
            close_range(from, (unsigned)fds[i] - 1, 0);
        }
        from = fds[i] >= (int)from ? (unsigned)fds[i] + 1 : from;
    }
    close_range(from, ~0U, 0);
}
