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

/* Where the name leads: renaming over a symlink would replace the link, not what it points to. */
static char *final_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

int hs_outfile_open(struct hs_outfile *file, const char *path)
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
        /* rename() would replace a file that its owner protected from writing. */
        if (access(path, W_OK) != 0) {
            return -errno;
        }
    }
    file->path = final_path(path);
    if (!file->path) {
        return -ENOMEM;
    }
    const char *name = hs_text_base_name(file->path);
    /* The name may be as long as a name can be: the temporary one keeps only its start. */
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
    file->fd = open(file->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0 && errno == EEXIST) {
        /* Left by a process of the same number that was killed. */
        unlink(file->temp_path);
        file->fd = open(file->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file->fd < 0) {
        int err = -errno;
        free(file->temp_path);
        file->temp_path = NULL;
        hs_outfile_abort(file);
        return err;
    }
    return 0;
}

int hs_outfile_write(void *ctx, const void *data, size_t bytes)
{
    struct hs_outfile *file = ctx;
    return hs_write_all(file->fd, data, bytes);
}

int hs_outfile_commit(struct hs_outfile *file)
{
    int err = 0;
    /* A network file system may report a full disk only here. */
    if (close(file->fd) != 0) {
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
    if (file->temp_path) {
        unlink(file->temp_path);
    }
    free(file->temp_path);
    free(file->path);
    *file = (struct hs_outfile){ .fd = -1 };
}
