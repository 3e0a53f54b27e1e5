/*
 * Files of stored snapshots: see snapshot_store.h. Their names: stored_name.c.
 */
#include "session/snapshot_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/array.h"
#include "util/parse.h"
#include "util/write_all.h"

#define LAST_NAME   ".last"
#define TEMP_PREFIX ".new-"
/* A file with a temporary name is older than this only if its writer was killed. */
#define TEMP_MAX_S 3600
#define MODE_OPEN  0755
#define MODE_OWN   0700

/* --- folders ---------------------------------------------------------------------------------- */

/* The value of a variable if it is an absolute path, else NULL. */
static const char *path_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

/* May this user make folders below it? Not in the home of another user, which sudo leaves in the
 * environment. */
static bool is_own(const char *path, bool may_be_missing)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_uid == geteuid() : may_be_missing && errno == ENOENT;
}

int hs_store_find(bool is_system, char *ret_path, size_t path_bytes)
{
    const char *own = getenv(HS_ENV_STATE), *state = path_variable("XDG_STATE_HOME");
    const char *home = path_variable("HOME");
    int bytes;
    if (own && own[0]) {
        if (strcmp(own, "off") == 0) {
            return -ENOENT;
        }
        if (own[0] != '/') {
            return -EINVAL;
        }
        bytes = snprintf(ret_path, path_bytes, "%s", own);
    } else if (is_system) {
        bytes = snprintf(ret_path, path_bytes, HS_STORE_SYSTEM_FOLDER);
    } else if (state ? is_own(state, true) : home && is_own(home, false)) {
        bytes = snprintf(ret_path, path_bytes, "%s%s/heapscope", state ? state : home,
                         state ? "" : "/.local/state");
    } else {
        return -ENOENT;
    }
    return bytes > 0 && (size_t)bytes < path_bytes ? 0 : -ENAMETOOLONG;
}

/* Makes a folder and the missing ones above it. 0 or -errno. */
static int make_folders(const char *path, mode_t mode)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (mkdir(path, mode) == 0 || errno == EEXIST) {
        return 0;
    }
    if (errno != ENOENT || !slash || slash == path) {
        return -errno;
    }
    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    int r = make_folders(parent, mode);
    return r < 0 ? r : mkdir(path, mode) == 0 || errno == EEXIST ? 0 : -errno;
}

static int open_root(const char *root)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens the folder of a user, which must be the user's own. Returns a descriptor or -errno. */
static int open_user(int root_fd, uid_t uid, gid_t gid, bool is_new)
{
    char name[24];
    struct stat st = { .st_uid = 0 };
    snprintf(name, sizeof(name), "%u", (unsigned)uid);
    int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
    if (r == 0 && is_new && st.st_uid != uid && st.st_uid == geteuid()) {
        r = fchown(fd, uid, gid) != 0 ? -errno : 0;
    } else if (r == 0 && st.st_uid != uid) {
        r = -EPERM;
    }
    if (r < 0 && fd >= 0) {
        close(fd);
    }
    return r < 0 ? r : fd;
}

int hs_store_open(const char *root, uid_t uid)
{
    int root_fd = open_root(root);
    if (root_fd < 0) {
        return root_fd;
    }
    int fd = open_user(root_fd, uid, 0, false);
    close(root_fd);
    return fd;
}

int hs_store_make(const char *root, bool is_system, uid_t uid, gid_t gid)
{
    char name[24];
    int r = make_folders(root, is_system ? MODE_OPEN : MODE_OWN);
    int root_fd = r < 0 ? r : open_root(root);
    if (root_fd < 0) {
        return root_fd;
    }
    snprintf(name, sizeof(name), "%u", (unsigned)uid);
    r = mkdirat(root_fd, name, MODE_OWN) != 0 && errno != EEXIST ? -errno : 0;
    int fd = r < 0 ? r : open_user(root_fd, uid, gid, true);
    close(root_fd);
    return fd;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Numbers are given in the order in which workers end. */
static int by_time(const void *a, const void *b)
{
    const struct hs_stored *x = a, *y = b;
    if (x->time_ms != y->time_ms) {
        return x->time_ms < y->time_ms ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

static void remove_if_left(int folder_fd, const char *name)
{
    struct stat st;
    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_mtime + TEMP_MAX_S < time(NULL)) {
        unlinkat(folder_fd, name, 0);
    }
}

/* Lists the files. `is_cleaning`: removes what killed writers left. 0 or -errno. */
static int list_files(int folder_fd, bool is_cleaning, struct hs_stored_list *list)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int r = folder ? 0 : -errno;
    if (!folder && fd >= 0) {
        close(fd);
    }
    while (folder && r == 0 && (entry = readdir(folder)) != NULL) {
        struct hs_stored stored;
        struct stat st;
        if (is_cleaning && strncmp(entry->d_name, TEMP_PREFIX, sizeof(TEMP_PREFIX) - 1) == 0) {
            remove_if_left(folder_fd, entry->d_name);
        }
        if (!hs_stored_parse_name(entry->d_name, &stored) ||
            fstatat(folder_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode)) {
            continue;
        }
        stored.bytes = (uint64_t)st.st_size;
        r = hs_array_reserve(&list->items, &list->capacity, list->count + 1,
                             sizeof(list->items[0]));
        if (r == 0) {
            list->items[list->count++] = stored;
        }
    }
    if (folder) {
        closedir(folder);
    }
    if (list->items) {
        qsort(list->items, list->count, sizeof(list->items[0]), by_time);
    }
    return r;
}

int hs_store_list(int folder_fd, struct hs_stored_list *ret_list)
{
    struct hs_stored_list list = { 0 };
    int r = list_files(folder_fd, false, &list);
    if (r < 0) {
        hs_stored_list_deinit(&list);
        return r;
    }
    *ret_list = list;
    return 0;
}

void hs_stored_list_deinit(struct hs_stored_list *list)
{
    free(list->items);
    *list = (struct hs_stored_list){ 0 };
}

/* --- files ------------------------------------------------------------------------------------ */

/* Waits for the lock of the folder. Returns a descriptor, whose closing releases it, or -errno. */
static int lock_folder(int folder_fd)
{
    int fd =
        openat(folder_fd, LAST_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    int r = fd < 0 ? -errno : 0;
    while (r == 0 && flock(fd, LOCK_EX) != 0) {
        r = errno == EINTR ? 0 : -errno;
        if (r < 0) {
            close(fd);
        }
    }
    return r < 0 ? r : fd;
}

/* The number after the last one that was given. */
static uint64_t next_id(int lock_fd, const struct hs_stored_list *list)
{
    char text[24] = "";
    uint64_t last = 0;
    ssize_t got = pread(lock_fd, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (hs_parse_number(text, &last) < 0 || last >= UINT64_MAX - 2) {
        last = 0;
    }
    for (size_t i = 0; i < list->count; i++) {
        last = list->items[i].id > last ? list->items[i].id : last;
    }
    return last + 1;
}

static int save_id(int lock_fd, uint64_t id)
{
    char text[24];
    int bytes = snprintf(text, sizeof(text), "%llu", (unsigned long long)id);
    ssize_t put = pwrite(lock_fd, text, (size_t)bytes, 0);
    return put == bytes && ftruncate(lock_fd, bytes) == 0 ? 0 : put < 0 ? -errno : -EIO;
}

/* Writes a file under a temporary name. 0 or -errno. */
static int write_temp(int folder_fd, const void *data, size_t bytes, char ret_name[32])
{
    char name[32];
    snprintf(name, sizeof(name), TEMP_PREFIX "%d", (int)getpid());
    unlinkat(folder_fd, name, 0); /* of another process that had this pid */
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : hs_write_all(fd, data, bytes);
    if (r == 0 && fsync(fd) != 0 && errno != EINVAL && errno != EROFS) {
        r = -errno;
    }
    if (fd >= 0 && close(fd) != 0 && r == 0) {
        r = -errno;
    }
    if (r < 0) {
        unlinkat(folder_fd, name, 0);
        return r;
    }
    memcpy(ret_name, name, sizeof(name));
    return 0;
}

/* Removes the oldest snapshots but `kept` until the rest is within the limits. */
static void keep_limits(int folder_fd, const struct hs_stored_list *list, uint64_t kept,
                        uint64_t more_count, uint64_t more_bytes,
                        const struct hs_store_limits *limits)
{
    uint64_t count = more_count, bytes = more_bytes;
    for (size_t i = 0; i < list->count; i++) {
        bool is_other = list->items[i].id != kept;
        count += is_other;
        bytes += is_other ? list->items[i].bytes : 0;
    }
    for (size_t i = 0; i < list->count && (count > limits->count_max || bytes > limits->bytes_max);
         i++) {
        if (list->items[i].id != kept && hs_store_remove(folder_fd, &list->items[i]) == 0) {
            count--;
            bytes -= list->items[i].bytes;
        }
    }
}

/* Is this snapshot in the list, from the daemon that was killed after it had stored it? */
static bool is_in(const struct hs_stored_list *list, const struct hs_stored *stored)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hs_stored *other = &list->items[i];
        uint64_t apart_ms = other->time_ms > stored->time_ms ? other->time_ms - stored->time_ms
                                                             : stored->time_ms - other->time_ms;
        if (other->pid == stored->pid && apart_ms <= HS_STORE_SAME_MS &&
            strcmp(other->name, stored->name) == 0) {
            return true;
        }
    }
    return false;
}

/* Gives the temporary file its name, under the lock. 0 or -errno. */
static int commit(int folder_fd, int lock_fd, const char *temp_name, bool is_replacing,
                  struct hs_stored *stored, const struct hs_store_limits *limits)
{
    struct hs_stored_list list = { 0 };
    char name[NAME_MAX + 1];
    int r = list_files(folder_fd, true, &list);
    if (r == 0 && !is_replacing && stored->may_be_stored && is_in(&list, stored)) {
        r = -EEXIST;
    }
    if (r == 0 && !is_replacing) {
        stored->id = next_id(lock_fd, &list);
        r = save_id(lock_fd, stored->id);
    }
    if (r == 0 && !hs_stored_write_name(stored, name)) {
        r = -EINVAL;
    }
    if (r == 0 && is_replacing && faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        r = -ENOENT; /* it was removed meanwhile */
    }
    if (r == 0) {
        /* Before the new one has its name: the limits hold at every moment. */
        keep_limits(folder_fd, &list, stored->id, 1, stored->bytes, limits);
        r = renameat(folder_fd, temp_name, folder_fd, name) != 0 ? -errno : 0;
    }
    hs_stored_list_deinit(&list);
    return r;
}

static int put(int folder_fd, bool is_replacing, struct hs_stored *stored, const void *data,
               size_t bytes, const struct hs_store_limits *limits)
{
    struct hs_stored done = *stored;
    char temp_name[32];
    if (bytes > limits->bytes_max || limits->count_max == 0) {
        return -EFBIG;
    }
    int r = write_temp(folder_fd, data, bytes, temp_name);
    if (r < 0) {
        return r;
    }
    done.bytes = bytes;
    int lock_fd = lock_folder(folder_fd);
    r = lock_fd < 0 ? lock_fd : commit(folder_fd, lock_fd, temp_name, is_replacing, &done, limits);
    if (r < 0) {
        unlinkat(folder_fd, temp_name, 0);
    } else {
        fsync(folder_fd);
        *stored = done;
    }
    if (lock_fd >= 0) {
        close(lock_fd);
    }
    return r;
}

int hs_store_put(int folder_fd, struct hs_stored *stored, const void *data, size_t bytes,
                 const struct hs_store_limits *limits)
{
    return put(folder_fd, false, stored, data, bytes, limits);
}

int hs_store_replace(int folder_fd, struct hs_stored *stored, const void *data, size_t bytes,
                     const struct hs_store_limits *limits)
{
    return put(folder_fd, true, stored, data, bytes, limits);
}

int hs_store_remove(int folder_fd, const struct hs_stored *stored)
{
    char name[NAME_MAX + 1];
    if (!hs_stored_write_name(stored, name)) {
        return -EINVAL;
    }
    return unlinkat(folder_fd, name, 0) != 0 ? -errno : 0;
}

int hs_store_read(int folder_fd, const struct hs_stored *stored)
{
    char name[NAME_MAX + 1];
    struct stat st;
    if (!hs_stored_write_name(stored, name)) {
        return -EINVAL;
    }
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EPERM;
    }
    return fd;
}
