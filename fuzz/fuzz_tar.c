/*
 * Fuzz target: any bytes as a bundle. Its members lie in the file, one behind the other, and the
 * trace that is made of them is read as a profile.
 *
 * Holds     joining changes nothing in the members, and finds the same ones again in a copy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_profile.h"
#include "profile/read/load.h"
#include "trace/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_tar_part parts[HS_TAR_MEMBERS_MAX];
    size_t count = hs_tar_find(data, size, parts), end = 0;
    check(count <= HS_TAR_MEMBERS_MAX);
    for (size_t i = 0; i < count; i++) {
        check(parts[i].off >= end + HS_TAR_BLOCK_BYTES && parts[i].bytes > 0);
        check(parts[i].off <= size && parts[i].bytes <= size - parts[i].off);
        end = parts[i].off + parts[i].bytes;
    }
    uint8_t *copy = malloc(size + 1);
    check(copy != NULL);
    memcpy(copy, data, size);
    struct hs_tar_part whole = hs_tar_join(copy, size, NULL);
    check((count > 0) == (whole.bytes > 0));
    for (size_t i = 0; i < count; i++) {
        check(memcmp(copy + parts[i].off, data + parts[i].off, parts[i].bytes) == 0);
    }
    if (count > 0) {
        struct hs_profile *profile = NULL;
        check(whole.off == parts[0].off && whole.off + whole.bytes == end);
        if (hs_profile_load_memory(copy + whole.off, whole.bytes, &profile, NULL) == 0) {
            check_profile(profile);
        }
        hs_profile_free(profile);
    }
    free(copy);
    return 0;
}
