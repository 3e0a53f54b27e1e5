/*
 * Any bytes as a pprof profile: reading must neither crash nor take memory or time out of proportion.
 */
#include "read_foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_with(hs_load_pprof, data, bytes);
    (void)hs_load_kind_of(data, bytes, true);
    return 0;
}
