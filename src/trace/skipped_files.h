/*
 * Files whose functions are not shown by name: skip_symbol_prefix of heapprofd's configuration.
 *
 * The frames of such a file stay in the stacks, so that sums and stacks do not change. Each of
 * these frames has the name FILTERED, as in heapprofd, and heapscope does not look up its real
 * name.
 *
 * Threads   plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HS_SKIPPED_NAME "FILTERED"

/* Prefixes of the files' paths. A zero-initialized structure skips no file. The texts belong to the
 * creator of the structure. */
struct hs_skipped_files {
    const char *const *prefixes;
    size_t count;
};

/* Does the path begin with one of the prefixes? A NULL path does not. */
static inline bool hs_is_skipped_file(const struct hs_skipped_files *skipped, const char *path)
{
    for (size_t i = 0; path && i < skipped->count; i++) {
        if (strncmp(path, skipped->prefixes[i], strlen(skipped->prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}
