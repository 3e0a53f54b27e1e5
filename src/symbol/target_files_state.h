/*
 * What is open of the files of recorded processes: the state behind target_files.h.
 *
 * Threads   as target_files.h.
 */
#pragma once

#include "symbol/target_files.h"

struct hs_target_file {
    uint64_t dev, inode; /* as /proc/PID/maps states them */
    char *path;          /* in the root of the process */
    int fd;              /* -1: it could not be opened */
};

struct hs_target_root {
    uint64_t dev, inode, mount_ns;
    int fd;
};

struct hs_target_files {
    struct hs_target_file files[HS_TARGET_FILES_MAX];
    size_t file_count;
    struct hs_target_root roots[HS_TARGET_ROOTS_MAX];
    size_t root_count;
    bool is_root_lost; /* there was no room for a root */
    struct hs_target_jit jits[HS_TARGET_JITS_MAX];
    size_t jit_count;
    size_t jit_next; /* the one to replace when all are in use */
};

/* Opens a path below a root, for openat2(2); links do not lead out of it. A descriptor or
 * -errno. */
int hs_target_files_open_below(int root_fd, const char *path, uint64_t flags, uint64_t resolve);
