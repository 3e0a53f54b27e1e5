/*
 * /etc/ld.so.cache: the dynamic loader's list of libraries in the system's folders.
 *
 *     header     "glibc-ld.so.cache1.1", count u32, string bytes u32, 20 bytes we skip
 *     count *    flags u32, name u32, path u32, 4 bytes, hwcap u64      name and path: offsets from the header
 *     strings
 *
 * Files of an older kind carry this one behind their own. A library built for newer processors (hwcap not 0) is
 * passed over: its plain build is listed too.
 *
 * Holds     every string handed out ends inside the bytes.
 * Trust     foreign bytes: offsets are checked, nothing is believed to be sorted.
 * Threads   pure functions.
 * Fails     -EINVAL: not of this form.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_ld_cache {
    const char *base; /* of the header, in the caller's bytes */
    size_t bytes;
    uint32_t count;
};

int hs_ld_cache_open(const void *bytes, size_t byte_count, struct hs_ld_cache *ret_cache);

/* The path of the next entry called `name`, from *at on, which moves behind it; NULL: no more. */
const char *hs_ld_cache_next(const struct hs_ld_cache *cache, uint32_t *at, const char *name);
