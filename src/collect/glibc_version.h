/*
 * Which release of the GNU C Library a file is: from the sentence that every build of it carries,
 *
 *     GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.
 *
 * since the highest symbol version says only when an interface was last added.
 *
 * Trust     the bytes are foreign: read up to a limit, never mapped.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_glibc_version {
    unsigned major, minor; /* 0.0: unknown */
};

/* False when the sentence is not in the bytes. */
bool hs_glibc_version_parse(const char *bytes, size_t byte_count,
                            struct hs_glibc_version *ret_version);

/* The same for the file at `path`; false also when it cannot be read. */
bool hs_glibc_version_of(const char *path, struct hs_glibc_version *ret_version);
