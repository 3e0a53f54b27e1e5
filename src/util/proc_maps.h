/*
 * /proc/PID/maps, a line at a time: which files are mapped where.
 *
 *     const char *at = text;
 *     struct hs_proc_map map;
 *     while (hs_proc_maps_next(&at, text + text_bytes, &map)) {
 *
 * Paths are the target's: as it sees them, and named by whoever made the file. The kernel writes a newline in
 * one as \012, so that a line is a line.
 *
 * Holds     start_va < end_va.
 * Threads   pure functions.
 * Fails     lines of another form are passed over.
 * See       proc(5)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_proc_map {
    uint64_t start_va, end_va;
    uint64_t file_off;
    uint64_t inode; /* 0: no file */
    bool is_readable, is_writable, is_executable, is_shared;
    bool is_deleted;  /* the file has no name any more; path is the one it had */
    const char *path; /* into the text, not terminated: a file's, "[heap]" ...; "" none */
    size_t path_bytes;
};

/* The next line from *at on, which is moved behind it. */
bool hs_proc_maps_next(const char **at, const char *end, struct hs_proc_map *ret_map);

/* The path as text, \012 undone. False, and "", when it is longer than `path_bytes` - 1. */
bool hs_proc_map_path(const struct hs_proc_map *map, char *ret_path, size_t path_bytes);
