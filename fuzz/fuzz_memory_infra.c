/*
 * Fuzz target: any bytes as a MemoryInfra trace of Chrome. Reading must not crash, and its memory
 * and time must stay in proportion to the input.
 */
#include "read_foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_with(hs_load_memory_infra, data, bytes);
    (void)hs_load_kind_of(data, bytes, true);
    return 0;
}
