/*
 * Fuzz target: the section UNWIND_TABLES on hostile bytes: the client opens each table in it, finds
 * entries, and makes rules of them; the collector's pass over a section reads all of it.
 *
 * Input: the section, copied to memory of its exact size.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/eh_find.h"
#include "unwind/rule_make.h"
#include "unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_fde(void *ctx, uint64_t start_sva, uint64_t length_bytes, uint64_t fde_off)
{
    (void)start_sva;
    (void)length_bytes;
    if (fde_off >= *(const uint64_t *)ctx) {
        abort();
    }
    return 0;
}

static void use(const struct hs_unwind_table *table)
{
    struct hs_unwind_module module = { .end_va = UINT64_MAX, .table = table };
    uint64_t size_bytes = table->cfi.size_bytes;
    for (uint64_t i = 0; i < table->entry_count && i < 64; i++) {
        struct hs_unwind_entry_v2 entry;
        memcpy(&entry, table->entries + i * sizeof(entry), sizeof(entry));
        uint64_t pc = table->code_va + (uint64_t)(int64_t)entry.start_off;
        hs_rule_make(&module, pc, true);
        hs_rule_make(&module, pc + 5, false);
    }
    hs_rule_make(&module, 0, true);
    hs_rule_make(&module, UINT64_MAX, false);
    hs_eh_each(&table->cfi, table->is_debug, take_fde, &size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *section = malloc(size + 1);
    struct hs_unwind_table_v2 head;
    struct hs_unwind_table table;
    if (section) {
        memcpy(section, data, size);
        for (uint64_t off = 0; hs_unwind_table_head(section, size, off, &head);
             off += head.table_bytes) {
            if (hs_unwind_table_open(section + off, &head, &table)) {
                use(&table);
            }
        }
    }
    free(section);
    return 0;
}
