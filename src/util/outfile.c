/*
 * See outfile.h.
 */
#include "util/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/text.h"
#include "util/write_all.h"

static int open_direct(struct hs_outfile *file, const char *path)
{
    file->fd = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                      : open(path, O_WRONLY | O_CLOEXEC);
    file->is_direct = true;
    return file->fd < 0 ? -errno : 0;
}

/* Resolves symlinks: rename() onto a symlink would replace the link, not the file it points to. */
static char *final_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

/* False where that is impossible; without /proc the file could not be given a name later. */
static bool open_nameless(struct hs_outfile *file)
{
    const char *name = hs_text_base_name(file->path);
    char *folder = strndup(file->path, (size_t)(name - file->path));
    if (folder && access("/proc/self/fd", X_OK) == 0) {
        file->fd = open(folder[0] ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
        file->is_nameless = file->fd >= 0;
    }
    free(folder);
    return file->is_nameless;
}

static int open_temporary(struct hs_outfile *file)
{
    file->fd = open(file->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0 && errno == EEXIST) {
        /* A process with the same pid was killed and left this file. */
        unlink(file->temp_path);
        file->fd = open(file->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return file->fd < 0 ? -errno : 0;
}

static int open_any(struct hs_outfile *file, const char *path, bool is_named)
{
    *file = (struct hs_outfile){ .fd = -1 };
    struct stat st;
    if (strcmp(path, "-") == 0) {
        return open_direct(file, path);
    }
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            return -EISDIR;
        }
        if (!S_ISREG(st.st_mode)) {
            return open_direct(file, path);
        }
        /* Refuse a file that its owner has write-protected: rename() would replace it. */
        if (access(path, W_OK) != 0) {
            return -errno;
        }
    }
    file->path = final_path(path);
    if (!file->path) {
        return -ENOMEM;
    }
    const char *name = hs_text_base_name(file->path);
    /*
     * The name may already have the greatest length: the temporary name contains only its
     * beginning.
     */
    if (*name == '\0') {
        hs_outfile_abort(file);
        return -EISDIR;
    }
    if (asprintf(&file->temp_path, "%.*s.%.200s.%d.tmp", (int)(name - file->path), file->path, name,
                 (int)getpid()) < 0) {
        file->temp_path = NULL;
        hs_outfile_abort(file);
        return -ENOMEM;
    }
    if (!is_named && open_nameless(file)) {
        return 0;
    }
    int err = open_temporary(file);
    if (err < 0) {
        free(file->temp_path);
        file->temp_path = NULL;
        hs_outfile_abort(file);
    }
    return err;
}

int hs_outfile_open(struct hs_outfile *file, const char *path)
{
    return open_any(file, path, false);
}

int hs_outfile_open_named(struct hs_outfile *file, const char *path)
{
    return open_any(file, path, true);
}

int hs_outfile_write(void *ctx, const void *data, size_t bytes)
{
    struct hs_outfile *file = ctx;
    return hs_write_all(file->fd, data, bytes);
}

/* Gives the file its temporary name. */
static int take_name(struct hs_outfile *file)
{
    char fd_path[40];
    snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", file->fd);
    int r = linkat(AT_FDCWD, fd_path, AT_FDCWD, file->temp_path, AT_SYMLINK_FOLLOW);
    if (r < 0 && errno == EEXIST) {
        unlink(file->temp_path);
        r = linkat(AT_FDCWD, fd_path, AT_FDCWD, file->temp_path, AT_SYMLINK_FOLLOW);
    }
    if (r < 0) {
        return -errno;
    }
    file->is_nameless = false;
    return 0;
}

int hs_outfile_commit(struct hs_outfile *file)
{
    int err = file->is_nameless ? take_name(file) : 0;
    /* A network file system may report a full disk only here. */
    if (close(file->fd) != 0 && err == 0) {
        err = -errno;
    }
    file->fd = -1;
    if (err == 0 && !file->is_direct) {
        if (rename(file->temp_path, file->path) == 0) {
            free(file->temp_path);
            file->temp_path = NULL;
        } else {
            err = -errno;
        }
    }
    hs_outfile_abort(file);
    return err;
}

void hs_outfile_abort(struct hs_outfile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->temp_path && !file->is_nameless) {
        unlink(file->temp_path);
    }
    free(file->temp_path);
    free(file->path);
    *file = (struct hs_outfile){ .fd = -1 };
}
