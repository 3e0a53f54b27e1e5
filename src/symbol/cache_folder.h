/*
 * Where unpacked debug sections are kept between runs: $HEAPSCOPE_CACHE, else below the user's cache folder.
 *
 *     HEAPSCOPE_CACHE=off          nowhere
 *     HEAPSCOPE_CACHE=/a/folder    there; it is made when its parent is ours
 *     otherwise                    $XDG_CACHE_HOME/heapscope/symbols, ~/.cache/heapscope/symbols
 *
 * Folders are made for their owner alone (0700), and only below one that belongs to the effective user: root
 * who kept another user's HOME (sudo) leaves nothing in it.
 *
 * Threads   none.
 * Fails     false: there is no such place, and one does without. Not worth a word.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool hs_cache_folder_find(char *ret_path, size_t path_bytes);
