/*
 * Reads from a library's file the bytes that the loader needs: its segments, and nothing after
 * them.
 *
 * The rest (debug information, the symbol table for debuggers) may be most of the file, and would
 * stay in the target's memory for as long as the library is loaded. The section headers lie in that
 * part too, so the copy's ELF header says that there are none.
 *
 * Threads   no state.
 * Fails     -errno of reading; -EINVAL: the file is not a library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_library_bytes {
    uint8_t *bytes; /* NULL: none */
    size_t size_bytes;
};

/* Reads the file at `path`. 0 or -errno; after success the caller calls hs_library_bytes_deinit. */
int hs_library_bytes_load(const char *path, struct hs_library_bytes *ret_library);
/* Frees the bytes. */
void hs_library_bytes_deinit(struct hs_library_bytes *library);
