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
#include "profile/read/never_written.h"
#include "util/write_all.h"

#define PART_NAME   ".part"
#define RANGES_NAME ".ranges"

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
    *folder = (struct hs_contents_folder){ .fd = -1, .part_fd = -1, .ranges.fd = -1 };
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

static void drop_ranges(struct hs_contents_folder *folder)
{
    if (folder->ranges.fd >= 0) {
        close(folder->ranges.fd);
        folder->ranges.fd = -1;
        unlinkat(folder->fd, RANGES_NAME, 0);
    }
    hs_buf_deinit(&folder->ranges.lines);
}

void hs_contents_folder_close(struct hs_contents_folder *folder)
{
    hs_contents_folder_drop(folder);
    drop_ranges(folder);
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
    folder->has_holes = false;
    return folder->part_fd < 0 ? -errno : 0;
}

int hs_contents_folder_add(struct hs_contents_folder *folder, const void *data, size_t bytes)
{
    return hs_write_all(folder->part_fd, data, bytes);
}

int hs_contents_folder_skip(struct hs_contents_folder *folder, uint64_t bytes)
{
    folder->has_holes = true;
    return lseek(folder->part_fd, (off_t)bytes, SEEK_CUR) < 0 ? -errno : 0;
}

/* Gives a file its name, under which there is none. 0 or -errno. */
static int name_file(const struct hs_contents_folder *folder, const char *part, const char *name)
{
    if (renameat2(folder->fd, part, folder->fd, name, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    /* Some file systems do not have this flag. */
    return errno == EINVAL && renameat(folder->fd, part, folder->fd, name) == 0 ? 0 : -errno;
}

int hs_contents_folder_end(struct hs_contents_folder *folder, uint64_t block_va, uint64_t bytes)
{
    char name[32];
    snprintf(name, sizeof(name), "0x%" PRIx64, block_va);
    int r = folder->has_holes && ftruncate(folder->part_fd, (off_t)bytes) != 0 ? -errno : 0;
    r = close(folder->part_fd) == 0 || r < 0 ? r : -errno;
    folder->part_fd = -1;
    r = r == 0 ? name_file(folder, PART_NAME, name) : r;
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

/* --- never written ---------------------------------------------------------------------------- */

static int write_lines(void *ctx, const void *data, size_t bytes)
{
    const struct hs_contents_folder *folder = ctx;
    return hs_write_all(folder->ranges.fd, data, bytes);
}

int hs_contents_folder_ranges_begin(struct hs_contents_folder *folder)
{
    folder->ranges.fd =
        openat(folder->fd, RANGES_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (folder->ranges.fd < 0) {
        return -errno;
    }
    hs_buf_init(&folder->ranges.lines, write_lines, folder);
    hs_buf_str(&folder->ranges.lines, HS_NEVER_WRITTEN_HEAD);
    return folder->ranges.lines.err;
}

/* Writes the line of the last range. */
static void write_range(struct hs_folder_ranges *ranges)
{
    if (ranges->bytes > 0) {
        hs_buf_printf(&ranges->lines, "0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", ranges->block_va,
                      ranges->off_bytes, ranges->bytes);
        ranges->count++;
        ranges->bytes = 0;
    }
}

int hs_contents_folder_ranges_add(struct hs_contents_folder *folder, uint64_t block_va,
                                  uint64_t off_bytes, uint64_t bytes)
{
    struct hs_folder_ranges *ranges = &folder->ranges;
    if (ranges->bytes > 0 && ranges->block_va == block_va &&
        ranges->off_bytes + ranges->bytes == off_bytes) {
        ranges->bytes += bytes;
        return 0;
    }
    write_range(ranges);
    ranges->block_va = block_va;
    ranges->off_bytes = off_bytes;
    ranges->bytes = bytes;
    return ranges->lines.err;
}

int hs_contents_folder_ranges_end(struct hs_contents_folder *folder)
{
    struct hs_folder_ranges *ranges = &folder->ranges;
    write_range(ranges);
    hs_buf_printf(&ranges->lines, "end %" PRIu64 "\n", ranges->count);
    int r = hs_buf_finish(&ranges->lines);
    r = r == 0 ? name_file(folder, RANGES_NAME, HS_NEVER_WRITTEN_NAME) : r;
    if (r == 0) {
        close(ranges->fd);
        ranges->fd = -1;
    }
    drop_ranges(folder);
    return r;
}
