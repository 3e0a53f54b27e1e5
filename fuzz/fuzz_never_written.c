/*
 * Fuzz target: never-written.txt of a folder of contents. Ranges that are accepted are sorted,
 * apart and found again, and their text is the only one of what it says.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/never_written.h"
#include "util/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hs_never_written *never, size_t i)
{
    const struct hs_never_written_range *range = &never->ranges[i];
    size_t count;
    const struct hs_never_written_range *found =
        hs_never_written_find(never, range->block_va, &count);
    if (range < found || range >= found + count || range->bytes == 0 ||
        (range > found && range[-1].off_bytes + range[-1].bytes >= range->off_bytes)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_never_written never;
    struct hs_buf again = HS_BUF_INIT;
    if (hs_never_written_parse((const char *)data, size, &never) != 0) {
        return 0;
    }
    hs_buf_str(&again, HS_NEVER_WRITTEN_HEAD);
    for (size_t i = 0; i < never.count; i++) {
        const struct hs_never_written_range *range = &never.ranges[i];
        hs_buf_printf(&again, "0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", range->block_va,
                      range->off_bytes, range->bytes);
        if (i < 100 || i + 1 == never.count) {
            check(&never, i);
        }
    }
    hs_buf_printf(&again, "end %zu\n", never.count);
    if (again.err == 0 && (again.bytes != size || memcmp(again.data, data, size) != 0)) {
        abort();
    }
    hs_buf_deinit(&again);
    hs_never_written_deinit(&never);
    return 0;
}
