/*
 * Checks, names and closes the file of a recording: see recording_file.h.
 */
#include "daemon/recording_file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool hs_recording_file_is_name(const char *name)
{
    return name && name[0] && strlen(name) <= NAME_MAX && !strchr(name, '/') &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool hs_recording_file_set_names(struct hs_recording_file *file, const char *temp_name,
                                 const char *final_name, const char *path)
{
    if (!hs_recording_file_is_name(temp_name) || !hs_recording_file_is_name(final_name) || !path ||
        strlen(path) >= PATH_MAX) {
        return false;
    }
    file->temp_name = strdup(temp_name);
    file->final_name = strdup(final_name);
    file->path = strdup(path);
    for (char *c = file->path; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?'; /* the path is only used in logs and on terminals */
        }
    }
    return file->temp_name && file->final_name && file->path;
}

static const char *check_file(int fd, bool is_system)
{
    struct stat st;
    struct statfs fs;
    int flags = fcntl(fd, F_GETFL);
    if (fd < 0 || flags < 0 || fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0) {
        return "no file came with the request";
    }
    if (!S_ISREG(st.st_mode)) {
        return "the file is not a regular one";
    }
    if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH)) {
        return "the file is not open for writing";
    }
    if (is_system && fs.f_type == FUSE_SUPER_MAGIC) {
        return "the file is on a FUSE file system; choose a local one";
    }
    return NULL;
}

static const char *check_folder(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)
               ? NULL
               : "no folder came with the request";
}

const char *hs_recording_file_check(const struct hs_recording_file *file, bool is_system)
{
    const char *why = check_file(file->file_fd, is_system);
    return why ? why : check_folder(file->folder_fd);
}

bool hs_recording_file_is_in_place(const struct hs_recording_file *file)
{
    struct stat ours, there;
    return fstat(file->file_fd, &ours) == 0 &&
           fstatat(file->folder_fd, file->temp_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void hs_recording_file_close(struct hs_recording_file *file)
{
    int *const fds[] = { &file->file_fd, &file->folder_fd };
    for (int i = 0; i < 2; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

void hs_recording_file_deinit(struct hs_recording_file *file)
{
    hs_recording_file_close(file);
    free(file->temp_name);
    free(file->final_name);
    free(file->path);
    *file = HS_RECORDING_FILE_NONE;
}
