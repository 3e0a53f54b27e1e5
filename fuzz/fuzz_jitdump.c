/*
 * Fuzz target: a jitdump, which the profiled program writes, looked up at a few addresses.
 *
 * Holds     an address has no line, or a line with a name, and the table is valid.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t pcs[] = { 0, 0x10, 0x1000, 0x1001, 0x7f0000000000, UINT64_MAX };
    const size_t count = sizeof(pcs) / sizeof(pcs[0]);
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    int fd = memfd_create("dump", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
        hs_symbol_builder_init(&builder, pcs, count) != 0) {
        abort();
    }
    int err = hs_jitdump_names_fd(&builder, fd, 1000);
    if ((err != 0 && err != -ENOEXEC) ||
        hs_symbol_builder_finish(&builder, pcs, count, &table) != 0 ||
        !hs_symbol_table_is_valid(&table)) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        if (table.spans[i].line_count > 1 ||
            (table.spans[i].line_count == 1 &&
             table.lines[table.spans[i].line_first].function_off == 0)) {
            abort();
        }
    }
    hs_symbol_table_deinit(&table);
    hs_symbol_builder_deinit(&builder);
    close(fd);
    return 0;
}
