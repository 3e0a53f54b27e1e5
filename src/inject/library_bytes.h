/*
 * The bytes of a library that its loader needs, out of its file: what its segments show, and nothing behind that.
 *
 * The rest (debug information, names for debuggers) may be most of the file, and would stay in the target's
 * memory for as long as the library is loaded. The section headers lie there too, so the copy says that it has none.
 *
 * Threads   no state.
 * Fails     -errno of reading; -EINVAL: no library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_library_bytes {
    uint8_t *bytes; /* NULL: none */
    size_t size_bytes;
};

int hs_library_bytes_load(const char *path, struct hs_library_bytes *ret_library);
void hs_library_bytes_deinit(struct hs_library_bytes *library);
