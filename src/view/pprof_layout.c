/* Names of the values of a sample: see pprof_layout.h. */
#include "view/pprof_layout.h"

#include <string.h>

/* Go's names; without a recorded peak only the first four are used. */
const struct hs_pprof_layout hs_pprof_layout_go = {
    .types = { { "alloc_objects", "count" },
               { "alloc_space", "bytes" },
               { "inuse_objects", "count" },
               { "inuse_space", "bytes" },
               { "peak_objects", "count" },
               { "peak_space", "bytes" } },
    .values = { HS_PPROF_VALUE_ALLOC_COUNT, HS_PPROF_VALUE_ALLOC_BYTES, HS_PPROF_VALUE_LIVE_COUNT,
                HS_PPROF_VALUE_LIVE_BYTES, HS_PPROF_VALUE_PEAK_COUNT, HS_PPROF_VALUE_PEAK_BYTES },
    .count = HS_PPROF_VALUES_MAX,
    .default_type = "inuse_space",
    .heap = HS_PPROF_HEAP_ALL,
};

const struct hs_pprof_layout hs_pprof_layout_blocks = {
    .types = { { "inuse_objects", "count" }, { "inuse_space", "bytes" } },
    .values = { HS_PPROF_VALUE_LIVE_COUNT, HS_PPROF_VALUE_LIVE_BYTES },
    .count = 2,
    .default_type = "inuse_space",
    .heap = HS_PPROF_HEAP_ALL,
};

static const struct hs_pprof_layout malloc_layout = {
    .types = { { "Total malloc count", "count" },
               { "Total malloc size", "bytes" },
               { "Unreleased malloc count", "count" },
               { "Unreleased malloc size", "bytes" } },
    .values = { HS_PPROF_VALUE_ALLOC_COUNT, HS_PPROF_VALUE_ALLOC_BYTES, HS_PPROF_VALUE_LIVE_COUNT,
                HS_PPROF_VALUE_LIVE_BYTES },
    .count = 4,
    .default_type = "Unreleased malloc size",
};

static const struct hs_pprof_layout art_layout = {
    .types = { { "Total allocation count", "count" }, { "Total allocation size", "bytes" } },
    .values = { HS_PPROF_VALUE_ALLOC_COUNT, HS_PPROF_VALUE_ALLOC_BYTES },
    .count = 2,
    .default_type = "Total allocation size",
};

static const struct hs_pprof_layout custom_layout = {
    .types = { { "Total count", "count" },
               { "Total size", "bytes" },
               { "Unreleased count", "count" },
               { "Unreleased size", "bytes" } },
    .values = { HS_PPROF_VALUE_ALLOC_COUNT, HS_PPROF_VALUE_ALLOC_BYTES, HS_PPROF_VALUE_LIVE_COUNT,
                HS_PPROF_VALUE_LIVE_BYTES },
    .count = 4,
    .default_type = "Unreleased size",
};

const struct hs_pprof_layout *hs_pprof_layout_of_heap(const char *heap)
{
    return strcmp(heap, "libc.malloc") == 0       ? &malloc_layout
           : strcmp(heap, "com.android.art") == 0 ? &art_layout
                                                  : &custom_layout;
}

void hs_pprof_layout_at_max(struct hs_pprof_layout *layout, bool has_total)
{
    for (size_t i = 0; i < layout->count; i++) {
        uint8_t *value = &layout->values[i];
        if (*value == HS_PPROF_VALUE_LIVE_COUNT ||
            (*value == HS_PPROF_VALUE_ALLOC_COUNT && !has_total)) {
            *value = HS_PPROF_VALUE_PEAK_COUNT;
        } else if (*value == HS_PPROF_VALUE_LIVE_BYTES ||
                   (*value == HS_PPROF_VALUE_ALLOC_BYTES && !has_total)) {
            *value = HS_PPROF_VALUE_PEAK_BYTES;
        }
    }
}
