/*
 * Fuzz target: a zip file of which the stored members are listed.
 *
 * Holds     names and contents lie within the file, and are readable to their end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbol/zip_members.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_zip zip;
    struct hs_zip_member member;
    volatile uint8_t last = 0; /* the bytes are read */
    bool is_zip = hs_zip_begin(&zip, data, size);
    while (is_zip && hs_zip_next(&zip, &member)) {
        if (member.off > size || member.bytes > size - member.off ||
            (const uint8_t *)member.name < data ||
            member.name_bytes > size - (size_t)((const uint8_t *)member.name - data)) {
            abort();
        }
        for (size_t i = 0; i < member.bytes && i < 64; i++) {
            last = data[member.off + i];
        }
    }
    (void)last;
    return 0;
}
