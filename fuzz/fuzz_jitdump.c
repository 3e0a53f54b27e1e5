/*
 * Fuzz target: a jitdump, which the profiled program writes, looked up at a few addresses.
 *
 * Holds     an address has no line, or a line with a name, and the table is valid.
 */
#include <errno.h>
#include <stdint.h>

#include "jit_list.h"
#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool name(struct hs_symbol_builder *builder, int fd)
{
    /* Addresses of jit_list.h, and others. */
    static const struct hs_symbol_pc_time of_pcs[] = { { 0x10, 10 },
                                                       { 0x1000, 500 },
                                                       { 0x2000, 0 } };
    const struct hs_symbol_jit_times times = { 1000, of_pcs, 3 };
    int err = hs_jitdump_names_fd(builder, fd, &times);
    return err == 0 || err == -ENOEXEC;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    jit_list_look_up(data, size, name);
    return 0;
}
