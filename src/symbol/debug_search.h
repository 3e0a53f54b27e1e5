/*
 * A search for the files of one module: which candidates count, and which of them is kept.
 *
 * debug_files.c has the places to search; each makes paths and passes them to
 * hs_debug_search_try(), which opens, checks and keeps the file.
 *
 * Threads   none.
 * Fails     never: a file that does not count is closed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"
#include "symbol/debug_files.h"

/* The longest build id that is shown or looked for. */
#define HS_DEBUG_SEARCH_ID_BYTES_MAX 64U

/* How a candidate proves that it belongs to the module when there is no build id. */
enum hs_debug_proof { HS_DEBUG_PROOF_NONE, HS_DEBUG_PROOF_CRC, HS_DEBUG_PROOF_GIVEN };

struct hs_debug_search {
    const struct hs_symbol_options *options;
    const struct hs_symbol_request *request;
    struct hs_debug_files *files;
    char module_path[PATH_MAX]; /* without "(deleted)" */
    char real_folder[PATH_MAX]; /* the module's folder without symbolic links; "": the same */
    bool is_deleted;
    const uint8_t *wanted_id;
    size_t wanted_id_bytes;
};

/* Remembers a file that was expected to be of the module, and is not. */
void hs_debug_search_note_other(struct hs_debug_search *search, const struct hs_elf_file *file);

bool hs_debug_search_has_id(const struct hs_elf_file *file, const uint8_t *id, size_t id_bytes);

/* Is there nothing better to find? */
bool hs_debug_search_is_done(const struct hs_debug_search *search);

/* Opens the path that `format` makes, and keeps the file when it is useful. */
HS_PRINTF(4, 5)
void hs_debug_search_try(struct hs_debug_search *search, enum hs_debug_proof proof, uint32_t crc,
                         const char *format, ...);

/* The same in the roots of the recorded processes. */
HS_PRINTF(4, 5)
void hs_debug_search_try_in_roots(struct hs_debug_search *search, enum hs_debug_proof proof,
                                  uint32_t crc, const char *format, ...);

/* Keeps a file that was opened when it is useful; otherwise closes it. */
void hs_debug_search_take(struct hs_debug_search *search, enum hs_debug_proof proof, uint32_t crc,
                          struct hs_elf_file *file);
