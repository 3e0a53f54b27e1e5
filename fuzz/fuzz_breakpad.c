/*
 * Fuzz target: any bytes as a Breakpad symbol file, looked up at a few addresses.
 *
 * Holds     an address has no line, or a line with a name, and the table is valid.
 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/breakpad.h"
#include "symbol/symbol_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t pcs[] = { 0, 0x10, 0x1000, 0x1008, 0x1130, 0x7f0000000000, UINT64_MAX };
    const size_t count = sizeof(pcs) / sizeof(pcs[0]);
    const char *text = (const char *)data;
    struct hs_breakpad_head head;
    struct hs_symbol_builder builder;
    struct hs_symbol_table table;
    if (hs_breakpad_head(text, size, &head) &&
        (head.name < text || head.name + head.name_bytes > text + size)) {
        abort();
    }
    if (hs_symbol_builder_init(&builder, pcs, count) != 0 ||
        hs_breakpad_names(&builder, 0, text, size) != 0 ||
        hs_symbol_builder_finish(&builder, pcs, count, &table) != 0 ||
        !hs_symbol_table_is_valid(&table)) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        if (table.spans[i].line_count > 65) {
            abort(); /* a function and the calls inlined in it */
        }
    }
    hs_symbol_table_deinit(&table);
    hs_symbol_builder_deinit(&builder);
    return 0;
}
