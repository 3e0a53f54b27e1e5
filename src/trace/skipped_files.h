/*
 * Files whose code is not to be called by its names: skip_symbol_prefix of heapprofd's config.
 *
 * Frames stay, so that sums and stacks are what they are; in such a file each is called FILTERED, as heapprofd
 * calls it, and nobody looks its name up.
 *
 * Threads   none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HS_SKIPPED_NAME "FILTERED"

/* What their paths begin with. Zero-initialised is none. Texts are the owner's. */
struct hs_skipped_files {
    const char *const *prefixes;
    size_t count;
};

static inline bool hs_is_skipped_file(const struct hs_skipped_files *skipped, const char *path)
{
    for (size_t i = 0; path && i < skipped->count; i++) {
        if (strncmp(path, skipped->prefixes[i], strlen(skipped->prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}
