/* Fuzz target: the counters that a JVM publishes, in a buffer of exact size, and the rows of
 * mappings that are looked for by them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/jvm_memory.h"
#include "collect/ledger/jvm_perf_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char maps[] = "687400000-68f200000 rw-p 00000000 00:00 0 \n"
                           "68f200000-800000000 ---p 00000000 00:00 0 \n"
                           "7f1093000000-7f10931b0000 rw-p 00000000 00:00 0 \n"
                           "7f10931b0000-7f1097000000 ---p 00000000 00:00 0 \n"
                           "7f1098000000-7f1098040000 rw-p 00000000 00:00 0 \n"
                           "7f1098040000-7f10d8000000 ---p 00000000 00:00 0 \n"
                           "7f1101400000-7f1101670000 rwxp 00000000 00:00 0 \n"
                           "ffffffffff600000-fffffffffffff000 rw-p 00000000 00:00 0 \n";

static void check_ranges(const struct hs_owned_ranges *owned, const struct hs_address_space *space)
{
    for (size_t i = 0; i < owned->count; i++) {
        const struct hs_owned_range *range = &owned->items[i];
        if (range->start_va >= range->end_va || !hs_address_space_find(space, range->start_va) ||
            (i > 0 && range->start_va < owned->items[i - 1].end_va)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_jvm_perf_data perf;
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    const struct hs_jvm_spaces none = { 0 };
    struct hs_owned_ranges owned = { 0 };
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || hs_address_space_parse(maps, sizeof(maps) - 1, &space) < 0) {
        free(bytes);
        return 0;
    }
    if (hs_mapping_rows_init(&space, &rows) < 0) {
        abort();
    }
    memcpy(bytes, data, size);
    if (hs_jvm_perf_data_parse(bytes, size, &perf) &&
        hs_jvm_memory_match(&perf, &none, &rows, &owned) == 0) {
        check_ranges(&owned, &space);
    }
    hs_owned_ranges_deinit(&owned);
    hs_mapping_rows_deinit(&rows);
    hs_address_space_deinit(&space);
    free(bytes);
    return 0;
}
