/*
 * Which release of the GNU C Library a file is. The answer comes from the sentence that every build
 * of it contains,
 *
 *     GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.
 *
 * because the highest symbol version says only when an interface was last added.
 *
 * Trust     the bytes are foreign: read up to a limit, never mapped.
 * Threads   pure functions, but each thread remembers the last file: a large one takes long to
 *           read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_glibc_version {
    unsigned major, minor; /* 0.0: unknown */
};

/* Finds the release in the bytes. False: the sentence is not there. */
bool hs_glibc_version_parse(const char *bytes, size_t byte_count,
                            struct hs_glibc_version *ret_version);

/* The same for the file at `path`. False also when it cannot be read. */
bool hs_glibc_version_of(const char *path, struct hs_glibc_version *ret_version);
