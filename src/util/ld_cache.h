/*
 * /etc/ld.so.cache: the dynamic loader's list of libraries in the system's folders.
 *
 *     header     "glibc-ld.so.cache1.1", count u32, string bytes u32, 20 bytes we skip
 *     count *    flags u32, name u32, path u32, 4 bytes, hwcap u64   (name and path: offsets
 *                                                                    from the header)
 *     strings
 *
 * Files in the older format carry this one behind their own. A library built for newer processors
 * (hwcap not 0) is skipped: its plain build is listed too.
 *
 * Ensures   every string that is returned ends inside the bytes.
 * Trust     foreign bytes: offsets are checked, and no order of the entries is assumed.
 * Threads   pure functions.
 * Fails     -EINVAL: the bytes are not in this format.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_ld_cache {
    const char *base; /* the header, in the caller's bytes */
    size_t bytes;
    uint32_t count;
};

/* Checks the header. `bytes` must stay valid as long as the cache is used. Returns 0 or -EINVAL. */
int hs_ld_cache_open(const void *bytes, size_t byte_count, struct hs_ld_cache *ret_cache);

/*
 * Returns the path of the next entry called `name`, searching from entry *at, and moves *at behind
 * it. NULL: there is no further entry.
 */
const char *hs_ld_cache_next(const struct hs_ld_cache *cache, uint32_t *at, const char *name);
