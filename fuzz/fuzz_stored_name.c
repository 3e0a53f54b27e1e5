/*
 * Fuzz target: the name of a stored snapshot's file. A name that is valid is the only one of what
 * it says.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/snapshot_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    char again[NAME_MAX + 1];
    struct hs_stored stored;
    if (!name) {
        return 0;
    }
    memcpy(name, data, size);
    name[size] = '\0';
    if (hs_stored_parse_name(name, &stored) &&
        (!hs_stored_write_name(&stored, again) || strcmp(again, name) != 0)) {
        abort();
    }
    free(name);
    return 0;
}
