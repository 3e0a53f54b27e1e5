/*
 * Fuzz target: a perf map, which any user can leave in /tmp, looked up at a few addresses.
 *
 * Holds     an address has no line, or a line with a name, and the table is valid.
 */
#include <stdint.h>

#include "jit_list.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool name(struct hs_symbol_builder *builder, int fd)
{
    return hs_perf_map_names_fd(builder, fd) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    jit_list_look_up(data, size, name);
    return 0;
}
