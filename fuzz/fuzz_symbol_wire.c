/*
 * Fuzz target: the messages of a worker process, which a hostile file may have taken over.
 *
 * Holds     a message that is accepted makes a valid table.
 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/symbol_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t bytes;
    while ((bytes = hs_symbol_wire_message_bytes(data, size)) > 0 && (uint64_t)bytes <= size) {
        struct hs_symbol_table table;
        if (hs_symbol_wire_take_table(data, (size_t)bytes, &table) == 0) {
            if (!hs_symbol_table_is_valid(&table)) {
                abort();
            }
            hs_symbol_table_deinit(&table);
        }
        data += bytes;
        size -= (size_t)bytes;
    }
    return 0;
}
