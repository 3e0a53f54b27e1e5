/*
 * The folder of `snapshot --output-contents-dir`: one file for each block, named by its address.
 *
 * The folder is empty or new, not a symbolic link, and only its user can enter it. A file gets its
 * name when it is whole. The file never-written.txt says which bytes were never written.
 *
 * Threads   main thread only.
 * Fails     hs_contents_folder_open() with the exit status, after a message; others -errno.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct hs_contents_folder {
    char path[PATH_MAX];
    int fd;
    int part_fd;    /* of the file that is being written; -1: none */
    bool is_ours;   /* it is new */
    bool has_holes; /* the file that is being written */
    uint64_t file_count, byte_count;
    struct hs_folder_ranges {
        int fd; /* of never-written.txt; -1: not begun */
        struct hs_buf lines;
        uint64_t count, block_va, off_bytes, bytes; /* the last range, not yet in the lines */
    } ranges;
};

/* Makes or opens the folder, with the mode 0700. 0, or the exit status, after a message. */
int hs_contents_folder_open(struct hs_contents_folder *folder, const char *path);
/* Closes it, and removes it again if it is new and empty. */
void hs_contents_folder_close(struct hs_contents_folder *folder);

/* Writes a file in pieces: begin, add and end, which gives it its name. 0 or -errno; after a
 * failure, and in place of the end, drop removes it. */
int hs_contents_folder_begin(struct hs_contents_folder *folder);
int hs_contents_folder_add(struct hs_contents_folder *folder, const void *data, size_t bytes);
/* Adds zeros, as a hole. */
int hs_contents_folder_skip(struct hs_contents_folder *folder, uint64_t bytes);
int hs_contents_folder_end(struct hs_contents_folder *folder, uint64_t block_va, uint64_t bytes);
void hs_contents_folder_drop(struct hs_contents_folder *folder);

/* Writes never-written.txt: begin, a call for each range, sorted by block and offset, and end,
 * which gives it its name. Ranges that touch become one. 0 or -errno. */
int hs_contents_folder_ranges_begin(struct hs_contents_folder *folder);
int hs_contents_folder_ranges_add(struct hs_contents_folder *folder, uint64_t block_va,
                                  uint64_t off_bytes, uint64_t bytes);
int hs_contents_folder_ranges_end(struct hs_contents_folder *folder);
