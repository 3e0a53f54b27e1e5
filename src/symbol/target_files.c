/*
 * Opens files of processes, and keeps them open: see target_files.h.
 *
 * A file is known by the device and the inode that /proc/PID/maps states. So a library that a
 * thousand processes have mapped is opened once: the inode cannot be used again while it is open.
 */
#include "symbol/target_files_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "rt/base.h"
#include "rt/text.h"
#include "util/buf.h"
#include "util/proc.h"
#include "util/proc_maps.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
/* A look at one process. */
struct look {
    struct hs_target_files *files;
    pid_t pid;
    uint32_t own_pid; /* as the process sees it */
    uid_t uid;
    gid_t gid;
    int root_fd;         /* O_PATH */
    char root[PATH_MAX]; /* where its root is for us; "": at / or not to be told */
    bool is_in_own_root; /* its root and mount namespace are ours */
    int root_idx;        /* of its root among those that are held; -1: none */
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void hs_target_files_free(struct hs_target_files *files)
{
    if (!files) {
        return;
    }
    for (size_t i = 0; i < files->file_count; i++) {
        close_fd(&files->files[i].fd);
        free(files->files[i].path);
    }
    for (size_t i = 0; i < files->root_count; i++) {
        close_fd(&files->roots[i].fd);
    }
    for (size_t i = 0; i < files->jit_count; i++) {
        close_fd(&files->jits[i].map_fd);
        close_fd(&files->jits[i].dump_fd);
    }
    free(files);
}

/* Half of the descriptors are left to recordings. */
static int fd_max(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT_MAX
               ? (int)(limit.rlim_cur / 2)
               : INT_MAX;
}

/* Without root's rights, the kernel has checked this. */
static bool may_read(const struct look *look, const struct stat *st)
{
    return geteuid() != 0 || look->uid == 0 || (st->st_mode & S_IROTH) != 0 ||
           (st->st_uid == look->uid && (st->st_mode & S_IRUSR) != 0) ||
           (st->st_gid == look->gid && (st->st_mode & S_IRGRP) != 0);
}

/* A descriptor for reading of what `path_fd` (O_PATH) refers to, if it is a plain file that the
 * user of the process may read. Closes path_fd. */
static int open_plain(const struct look *look, int path_fd, struct stat *ret_st)
{
    char name[32];
    int fd = -1;
    if (path_fd < 0) {
        return -1;
    }
    if (fstat(path_fd, ret_st) == 0 && S_ISREG(ret_st->st_mode) && may_read(look, ret_st)) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
        fd = open(name, OPEN_FLAGS);
    }
    close(path_fd);
    if (fd > fd_max()) {
        close_fd(&fd);
    }
    return fd;
}

/* Of some file systems, /proc/PID/maps states another device than stat() does. */
static bool has_other_devices(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 &&
           (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_mapped_file(const struct hs_proc_map *map, const struct stat *st, int fd)
{
    return st->st_ino == map->inode && (st->st_dev == map->dev || has_other_devices(fd));
}

/* Opens the file of a mapping. `path` is its path in the process's root. */
static int open_mapped(const struct look *look, const struct hs_proc_map *map, const char *path)
{
    char name[96];
    struct stat st;
    snprintf(name, sizeof(name), "/proc/%d/map_files/%llx-%llx", (int)look->pid,
             (unsigned long long)map->start_va, (unsigned long long)map->end_va);
    int fd = open_plain(look, open(name, O_PATH | O_CLOEXEC), &st);
    if (fd >= 0) {
        return fd;
    }
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)look->pid);
    fd = open_plain(look, open(name, O_PATH | O_CLOEXEC), &st);
    if (fd >= 0 && is_mapped_file(map, &st, fd)) {
        return fd;
    }
    close_fd(&fd);
    if (!map->is_deleted && look->root_fd >= 0) {
        fd = open_plain(
            look, hs_target_files_open_below(look->root_fd, path, O_PATH | O_CLOEXEC, 0), &st);
    }
    if (fd >= 0 && !is_mapped_file(map, &st, fd)) {
        close_fd(&fd);
    }
    return fd;
}

/* The path in the process's root. A path that the kernel states from outside of a chroot begins
 * with the path of that root. */
static const char *path_in_root(const struct look *look, const char *path)
{
    size_t bytes = strlen(look->root);
    bool is_below = bytes > 0 && strncmp(path, look->root, bytes) == 0 && path[bytes] == '/';
    return is_below ? path + bytes : path;
}

static bool has_file(const struct hs_target_files *files, const struct hs_proc_map *map,
                     const char *path)
{
    for (size_t i = 0; i < files->file_count; i++) {
        const struct hs_target_file *file = &files->files[i];
        if (file->inode == map->inode && file->dev == map->dev && strcmp(file->path, path) == 0) {
            return true;
        }
    }
    return false;
}

static void hold_mapping(const struct look *look, const struct hs_proc_map *map)
{
    struct hs_target_files *files = look->files;
    char stated[PATH_MAX];
    if (files->file_count == HS_TARGET_FILES_MAX || !map->is_executable || map->inode == 0 ||
        map->path_bytes == 0 || map->path[0] != '/' ||
        !hs_proc_map_path(map, stated, sizeof(stated))) {
        return;
    }
    const char *path = path_in_root(look, stated);
    if (has_file(files, map, path)) {
        return;
    }
    char *own_path = strdup(path);
    if (!own_path) {
        return;
    }
    int fd = open_mapped(look, map, path);
    files->files[files->file_count++] =
        (struct hs_target_file){ .dev = map->dev, .inode = map->inode, .path = own_path, .fd = fd };
}

static uint64_t mount_ns_of(const char *process)
{
    char name[64], text[64];
    snprintf(name, sizeof(name), "/proc/%s/ns/mnt", process);
    ssize_t bytes = readlink(name, text, sizeof(text) - 1);
    if (bytes <= 0) {
        return 0;
    }
    text[bytes] = '\0';
    return hs_text_starts_with(text, "mnt:[") ? strtoull(text + strlen("mnt:["), NULL, 10) : 0;
}

/* Opens the root of the process, and holds it if it is not ours. */
static void look_at_root(struct look *look)
{
    struct hs_target_files *files = look->files;
    char process[16], name[64];
    struct stat st, own;
    snprintf(process, sizeof(process), "%d", (int)look->pid);
    snprintf(name, sizeof(name), "/proc/%d/root", (int)look->pid);
    look->root_fd = open(name, O_PATH | O_CLOEXEC | O_DIRECTORY);
    look->is_in_own_root = true;
    if (look->root_fd < 0 || fstat(look->root_fd, &st) != 0 || stat("/", &own) != 0) {
        return;
    }
    uint64_t mount_ns = mount_ns_of(process);
    ssize_t bytes = readlink(name, look->root, sizeof(look->root) - 1);
    look->root[bytes > 1 ? bytes : 0] = '\0';
    look->is_in_own_root =
        st.st_dev == own.st_dev && st.st_ino == own.st_ino && mount_ns == mount_ns_of("self");
    for (size_t i = 0; i < files->root_count && !look->is_in_own_root; i++) {
        const struct hs_target_root *root = &files->roots[i];
        if (root->dev == st.st_dev && root->inode == st.st_ino && root->mount_ns == mount_ns) {
            look->root_idx = (int)i;
            return;
        }
    }
    int fd = look->is_in_own_root ? -1 : fcntl(look->root_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || fd > fd_max() || files->root_count == HS_TARGET_ROOTS_MAX) {
        files->is_root_lost |= !look->is_in_own_root;
        close_fd(&fd);
        return;
    }
    look->root_idx = (int)files->root_count;
    files->roots[files->root_count++] = (struct hs_target_root){
        .dev = st.st_dev, .inode = st.st_ino, .mount_ns = mount_ns, .fd = fd
    };
}

/* The entry of the process; the oldest one is replaced if there is no room. */
static struct hs_target_jit *jit_of(const struct look *look)
{
    struct hs_target_files *files = look->files;
    uint32_t pid = (uint32_t)look->pid;
    for (size_t i = 0; i < files->jit_count; i++) {
        if (files->jits[i].pid == pid) {
            return &files->jits[i];
        }
    }
    struct hs_target_jit *jit;
    if (files->jit_count < HS_TARGET_JITS_MAX) {
        jit = &files->jits[files->jit_count++];
    } else {
        jit = &files->jits[files->jit_next++ % HS_TARGET_JITS_MAX];
        close_fd(&jit->map_fd);
        close_fd(&jit->dump_fd);
    }
    *jit = (struct hs_target_jit){ .pid = pid,
                                   .own_pid = look->own_pid,
                                   .uid = look->uid,
                                   .map_fd = -1,
                                   .dump_fd = -1,
                                   .is_elsewhere = !look->is_in_own_root || look->own_pid != pid,
                                   .root_idx = look->root_idx };
    return jit;
}

/* Every user can write to /tmp. */
static bool is_trusted(uid_t uid, const struct stat *st)
{
    return st->st_uid == uid || st->st_uid == 0 || st->st_uid == geteuid();
}

/* Keeps a list of code, in place of an older file. Takes `fd` over. */
static void keep_list(const struct look *look, int fd, const struct stat *st, bool is_dump)
{
    if (fd < 0 || !is_trusted(look->uid, st)) {
        close_fd(&fd);
        return;
    }
    struct hs_target_jit *jit = jit_of(look);
    int *held = is_dump ? &jit->dump_fd : &jit->map_fd;
    close_fd(held);
    *held = fd;
}

static bool is_held(int fd, const struct stat *st)
{
    struct stat held;
    return fd >= 0 && fstat(fd, &held) == 0 && held.st_dev == st->st_dev &&
           held.st_ino == st->st_ino;
}

/* Opens the perf map of a process (O_PATH). */
static int open_perf_map(int root_fd, uint32_t own_pid)
{
    char path[64];
    snprintf(path, sizeof(path), "tmp/perf-%u.map", own_pid);
    return hs_target_files_open_below(root_fd, path, O_PATH | O_CLOEXEC | O_NOFOLLOW,
                                      RESOLVE_NO_MAGICLINKS);
}

static void look_at_perf_map(const struct look *look)
{
    struct stat st;
    int path_fd = open_perf_map(look->root_fd, look->own_pid);
    if (path_fd < 0) {
        return;
    }
    const struct hs_target_jit *jit = hs_target_files_jit(look->files, (uint32_t)look->pid);
    if (fstat(path_fd, &st) == 0 && jit && is_held(jit->map_fd, &st)) {
        close(path_fd);
        return;
    }
    int fd = open_plain(look, path_fd, &st);
    keep_list(look, fd, &st, false);
}

/* The process has mapped a page of its jitdump, so that its name can be found. */
static void look_for_jitdump(const struct look *look, const struct hs_proc_map *map)
{
    char path[PATH_MAX], name[32];
    struct stat st;
    snprintf(name, sizeof(name), "jit-%u.dump", look->own_pid);
    if (map->inode == 0 || !hs_proc_map_path(map, path, sizeof(path)) ||
        strcmp(hs_text_base_name(path), name) != 0) {
        return;
    }
    int fd = open_mapped(look, map, path_in_root(look, path));
    if (fd >= 0 && fstat(fd, &st) == 0) {
        keep_list(look, fd, &st, true);
    }
}

static void look_at_mappings(const struct look *look)
{
    char folder[32];
    struct hs_buf text;
    struct hs_proc_map map;
    hs_buf_init(&text, NULL, NULL);
    snprintf(folder, sizeof(folder), "/proc/%d", (int)look->pid);
    if (hs_proc_read_whole(folder, "maps", &text) == 0) {
        const char *at = text.data;
        while (hs_proc_maps_next(&at, (const char *)text.data + text.bytes, &map)) {
            hold_mapping(look, &map);
            look_for_jitdump(look, &map);
        }
    }
    hs_buf_deinit(&text);
}

void hs_target_files_look(struct hs_target_files **files, pid_t pid, uid_t uid, bool is_mapping_new)
{
    struct hs_proc_status status;
    if (!*files) {
        *files = calloc(1, sizeof(**files));
    }
    if (!*files || hs_proc_read_status(pid, &status) != 0) {
        return;
    }
    struct look look = { .files = *files,
                         .pid = pid,
                         .own_pid = status.own_pid != 0 ? status.own_pid : (uint32_t)pid,
                         .uid = uid,
                         .gid = status.gid.effective,
                         .root_fd = -1,
                         .root_idx = -1 };
    look_at_root(&look);
    if (!look.is_in_own_root || look.own_pid != (uint32_t)pid) {
        jit_of(&look); /* a map that it writes when it ends is looked for there */
    }
    if (look.root_fd >= 0) {
        look_at_perf_map(&look);
    }
    if (is_mapping_new) {
        look_at_mappings(&look);
    }
    close_fd(&look.root_fd);
}

int hs_target_files_open_perf_map(const struct hs_target_files *files,
                                  const struct hs_target_jit *jit)
{
    struct stat st;
    if (jit->root_idx < 0 || (size_t)jit->root_idx >= files->root_count) {
        return -ENOENT;
    }
    const struct look look = { .uid = jit->uid, .gid = (gid_t)-1 };
    int path_fd = open_perf_map(files->roots[jit->root_idx].fd, jit->own_pid);
    int fd = path_fd < 0 ? path_fd : open_plain(&look, path_fd, &st);
    if (fd >= 0 && !is_trusted(jit->uid, &st)) {
        close_fd(&fd);
        return -EACCES;
    }
    return fd == -1 ? -EACCES : fd;
}
