/* Fuzz target: the dynamic loader's cache, in a buffer of exact size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_ld_cache cache;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes) {
        return 0;
    }
    memcpy(bytes, data, size);
    if (hs_ld_cache_open(bytes, size, &cache) == 0) {
        uint32_t at = 0;
        size_t found_bytes = 0;
        const char *path;
        while ((path = hs_ld_cache_next(&cache, &at, "libc.so.6")) != NULL) {
            found_bytes += strlen(path);
        }
        if (at != cache.count || (cache.count == 0 && found_bytes > 0)) {
            abort();
        }
    }
    free(bytes);
    return 0;
}
