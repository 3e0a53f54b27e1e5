/*
 * Finds the folder in which unpacked debug sections are kept between runs: $HEAPSCOPE_CACHE, or a
 * folder below the user's cache folder.
 *
 *     HEAPSCOPE_CACHE=off          none
 *     HEAPSCOPE_CACHE=/a/folder    this one; it is made when its parent belongs to the user
 *     otherwise                    $XDG_CACHE_HOME/heapscope/symbols, ~/.cache/heapscope/symbols
 *
 * Folders are made for their owner alone (0700), and only below a folder that belongs to the
 * effective user. A root process that kept another user's HOME (sudo) therefore leaves nothing in
 * it.
 *
 * Threads   none.
 * Fails     false: there is no such folder. The caller then works without a cache; no message is
 *           needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the folder to ret_path[0 .. path_bytes). False when there is none. */
bool hs_cache_folder_find(char *ret_path, size_t path_bytes);
