/*
 * Reads the client's list: see client_ranges.h.
 */
#include "collect/ledger/client_ranges.h"

#include <stdbool.h>

#include "fmt/region_layout.h"
#include "trace/ledger.h"

/* Each has room for 255 ranges, and a thread needs one or two. */
#define PARTS_MAX  1024U
#define PAGE_BYTES UINT64_C(4096)
#define VA_END     (UINT64_C(1) << 47)

static bool is_range(const struct hs_own_range_v2 *range)
{
    return range->start_va > 0 && range->start_va < range->end_va && range->end_va < VA_END &&
           range->start_va % PAGE_BYTES == 0 && range->end_va % PAGE_BYTES == 0;
}

int hs_client_ranges_read(const struct hs_remote_window *window, uint64_t first_va,
                          struct hs_owned_ranges *owned)
{
    struct hs_own_ranges_v2 part;
    uint64_t va = first_va;
    int r = 0;
    for (unsigned left = PARTS_MAX; va != 0 && left > 0 && r == 0; left--) {
        if (!hs_remote_window_peek(window, va, &part, sizeof(part))) {
            return 0;
        }
        for (unsigned i = 0; i < HS_OWN_RANGES && r == 0; i++) {
            if (is_range(&part.ranges[i])) {
                r = hs_owned_ranges_add(
                    owned, &(struct hs_owned_range){ .start_va = part.ranges[i].start_va,
                                                     .end_va = part.ranges[i].end_va,
                                                     .kind = HS_LEDGER_RECORDER,
                                                     .name = "" });
            }
        }
        va = part.next_va;
    }
    return r;
}
