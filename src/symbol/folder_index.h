/*
 * Finds the file below some folders that has a build id, whatever its name: Perfetto's "index" mode
 * of searching.
 *
 * The first call reads all files below the folders. It should be made in the processes that look up
 * names, where a file that makes its reader crash costs only one module. Symbolic links are
 * followed; circles of links are not followed twice.
 *
 * Threads   one user; the index belongs to the process.
 * Fails     files that cannot be read are left out, and so are files beyond
 *           HS_FOLDER_INDEX_FILES_MAX.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HS_FOLDER_INDEX_FILES_MAX 200000U

/*
 * The path of the first file with this build id, valid until other folders are asked for; NULL:
 * there is none.
 */
const char *hs_folder_index_find(const char *const *roots, size_t root_count, const uint8_t *id,
                                 size_t id_bytes);
