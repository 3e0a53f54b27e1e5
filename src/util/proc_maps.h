/*
 * Reads /proc/PID/maps line by line: which files are mapped where.
 *
 *     const char *at = text;
 *     struct hs_proc_map map;
 *     while (hs_proc_maps_next(&at, text + text_bytes, &map)) {
 *
 * Paths are those that the target sees, and the owner of a file chooses its name. The kernel writes
 * a newline in a path as \012, so a line always is one mapping.
 *
 * Ensures   start_va < end_va.
 * Threads   pure functions.
 * Fails     lines of another form are skipped.
 * See       proc(5)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_proc_map {
    uint64_t start_va, end_va;
    uint64_t file_off;
    uint64_t dev;   /* of the file, as st_dev of stat(2) */
    uint64_t inode; /* 0: no file */
    bool is_readable, is_writable, is_executable, is_shared;
    bool is_deleted;  /* the file was deleted; path is its former name */
    const char *path; /* points into the text, not NUL-terminated: a file, "[heap]", ...; "":
                       * none */
    size_t path_bytes;
};

/*
 * Parses the next mapping from *at on and moves *at behind its line. False: there is no further
 * mapping.
 */
bool hs_proc_maps_next(const char **at, const char *end, struct hs_proc_map *ret_map);

/*
 * Copies the path as a string, with \012 decoded. False, and "", when it is longer than
 * `path_bytes` - 1.
 */
bool hs_proc_map_path(const struct hs_proc_map *map, char *ret_path, size_t path_bytes);
