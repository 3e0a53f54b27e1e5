/* Reads the loader's cache: see ld_cache.h. */
#include "util/ld_cache.h"

#include <errno.h>
#include <string.h>

#define MAGIC        "glibc-ld.so.cache1.1"
#define HEADER_BYTES 48U
#define ENTRY_BYTES  24U
#define COUNT_OFF    20U
#define NAME_OFF     4U
#define PATH_OFF     8U
#define HWCAP_OFF    16U

static uint32_t read_u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

int hs_ld_cache_open(const void *bytes, size_t byte_count, struct hs_ld_cache *ret_cache)
{
    const char *base = memmem(bytes, byte_count, MAGIC, strlen(MAGIC));
    if (!base) {
        return -EINVAL;
    }
    size_t left = byte_count - (size_t)(base - (const char *)bytes);
    if (left < HEADER_BYTES) {
        return -EINVAL;
    }
    uint32_t count = read_u32(base + COUNT_OFF);
    if (count > (left - HEADER_BYTES) / ENTRY_BYTES) {
        return -EINVAL;
    }
    *ret_cache = (struct hs_ld_cache){ .base = base, .bytes = left, .count = count };
    return 0;
}

static const char *string_at(const struct hs_ld_cache *cache, uint32_t off)
{
    if (off >= cache->bytes || !memchr(cache->base + off, '\0', cache->bytes - off)) {
        return NULL;
    }
    return cache->base + off;
}

const char *hs_ld_cache_next(const struct hs_ld_cache *cache, uint32_t *at, const char *name)
{
    while (*at < cache->count) {
        const char *entry = cache->base + HEADER_BYTES + (size_t)*at * ENTRY_BYTES;
        uint64_t hwcap;
        memcpy(&hwcap, entry + HWCAP_OFF, sizeof(hwcap));
        (*at)++;
        const char *found = hwcap == 0 ? string_at(cache, read_u32(entry + NAME_OFF)) : NULL;
        const char *path = found ? string_at(cache, read_u32(entry + PATH_OFF)) : NULL;
        if (path && strcmp(found, name) == 0) {
            return path;
        }
    }
    return NULL;
}
