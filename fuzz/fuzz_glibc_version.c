/* Fuzz target: the sentence in a C library that names its release, in a buffer of exact size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/inspect/glibc_version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_glibc_version version = { 0 };
    char *bytes = malloc(size ? size : 1);
    if (!bytes) {
        return 0;
    }
    memcpy(bytes, data, size);
    bool is_found = hs_glibc_version_parse(bytes, size, &version);
    if (version.major > 9999 || version.minor > 9999 ||
        (!is_found && (version.major || version.minor))) {
        abort();
    }
    free(bytes);
    return 0;
}
