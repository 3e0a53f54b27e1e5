/*
 * The folder for contents of blocks: see contents_folder.h.
 */
#include "cli/daemon_client/contents_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "util/write_all.h"

#define PART_NAME ".part"

/* -ENOTEMPTY: there is something in the folder. */
static int check_empty(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        int r = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return r;
    }
    int r = 0;
    for (struct dirent *it = readdir(dir); it; it = readdir(dir)) {
        if (strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0) {
            r = -ENOTEMPTY;
        }
    }
    closedir(dir);
    return r;
}

/* Only root and its owner may change a folder's mode: the folder of another user is refused. */
static int open_folder(struct hs_contents_folder *folder)
{
    if (mkdir(folder->path, 0700) == 0) {
        folder->is_ours = true;
    } else if (errno != EEXIST) {
        return -errno;
    }
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd < 0) {
        return -errno;
    }
    int r = check_empty(folder->fd);
    if (r == 0 && fchmod(folder->fd, 0700) != 0) {
        r = -errno;
    }
    return r == 0 && faccessat(folder->fd, ".", W_OK | X_OK, AT_EACCESS) != 0 ? -errno : r;
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

int hs_contents_folder_open(struct hs_contents_folder *folder, const char *path)
{
    *folder = (struct hs_contents_folder){ .fd = -1, .part_fd = -1 };
    size_t bytes = strlen(path);
    if (bytes == 0 || bytes >= sizeof(folder->path)) {
        hs_message("--output-contents-dir: %s", strerror(bytes ? ENAMETOOLONG : ENOENT));
        return HS_EXIT_STATUS_FAILED;
    }
    memcpy(folder->path, path, bytes + 1);
    while (bytes > 1 && folder->path[bytes - 1] == '/') {
        folder->path[--bytes] = '\0'; /* "link/" would follow the link */
    }
    int r = open_folder(folder);
    if (r == -ENOTEMPTY) {
        hs_message("%s is not empty: give a folder that is empty, or a new one", folder->path);
    } else if (r < 0 && is_link(folder->path)) {
        hs_message("%s is a symbolic link: give the folder itself", folder->path);
    } else if (r < 0) {
        hs_message("cannot use the folder %s: %s", folder->path, strerror(-r));
    }
    if (r < 0) {
        hs_contents_folder_close(folder);
    }
    return r < 0 ? HS_EXIT_STATUS_FAILED : 0;
}

void hs_contents_folder_close(struct hs_contents_folder *folder)
{
    hs_contents_folder_drop(folder);
    if (folder->fd >= 0) {
        close(folder->fd);
        folder->fd = -1;
    }
    if (folder->is_ours && folder->file_count == 0) {
        rmdir(folder->path);
    }
}

int hs_contents_folder_begin(struct hs_contents_folder *folder)
{
    folder->part_fd =
        openat(folder->fd, PART_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return folder->part_fd < 0 ? -errno : 0;
}

int hs_contents_folder_add(struct hs_contents_folder *folder, const void *data, size_t bytes)
{
    return hs_write_all(folder->part_fd, data, bytes);
}

int hs_contents_folder_end(struct hs_contents_folder *folder, uint64_t block_va, uint64_t bytes)
{
    char name[32];
    snprintf(name, sizeof(name), "0x%" PRIx64, block_va);
    int r = close(folder->part_fd) == 0 ? 0 : -errno;
    folder->part_fd = -1;
    if (r == 0 && renameat2(folder->fd, PART_NAME, folder->fd, name, RENAME_NOREPLACE) != 0) {
        /* Some file systems do not have this flag. */
        r = errno == EINVAL && renameat(folder->fd, PART_NAME, folder->fd, name) == 0 ? 0 : -errno;
    }
    if (r < 0) {
        unlinkat(folder->fd, PART_NAME, 0);
        return r;
    }
    folder->file_count++;
    folder->byte_count += bytes;
    return 0;
}

void hs_contents_folder_drop(struct hs_contents_folder *folder)
{
    if (folder->part_fd >= 0) {
        close(folder->part_fd);
        folder->part_fd = -1;
        unlinkat(folder->fd, PART_NAME, 0);
    }
}
