/*
 * Which file below some folders has a build id, however it is called: Perfetto's "index" mode of searching.
 *
 * All files are looked at once, at the first question; so it is asked by the processes that look names up, where a file
 * that harms its reader costs one module. Symbolic links are followed, and none twice in a circle.
 *
 * Threads   one user; the index is the process's.
 * Fails     what cannot be read is left out, and so is what is beyond HS_FOLDER_INDEX_FILES_MAX.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HS_FOLDER_INDEX_FILES_MAX 200000U

/* The first file that was found, valid until other folders are asked for; NULL: there is none. */
const char *hs_folder_index_find(const char *const *roots, size_t root_count, const uint8_t *id,
                                 size_t id_bytes);
