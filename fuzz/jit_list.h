/*
 * Looks a few addresses up in a list of code that was made at run time, and checks what is found: a
 * valid table, in which an address has no line, or one with a name.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbol_builder.h"

/* Names the builder's addresses from the list in `fd`. False: the answer is none that it may
 * give. */
typedef bool (*jit_list_fn)(struct hs_symbol_builder *builder, int fd);

static inline void jit_list_look_up(const uint8_t *data, size_t size, jit_list_fn name)
{
    static const uint64_t pcs[] = { 0, 0x10, 0x1000, 0x1001, 0x7f0000000000, UINT64_MAX };
    const size_t count = sizeof(pcs) / sizeof(pcs[0]);
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    int fd = memfd_create("list", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
        hs_symbol_builder_init(&builder, pcs, count) != 0) {
        abort();
    }
    if (!name(&builder, fd) || hs_symbol_builder_finish(&builder, pcs, count, &table) != 0 ||
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
}
