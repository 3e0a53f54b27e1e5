/*
 * What the values of a pprof file are called: Go's names, or those that traceconv gives the heap.
 *
 * Threads   constants.
 * See       pprof.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_PPROF_VALUES_MAX 6
#define HS_PPROF_HEAP_ALL   UINT32_MAX

struct hs_pprof_value_type {
    const char *name, *unit;
};

/* What a sample says, and under which names. */
struct hs_pprof_layout {
    struct hs_pprof_value_type types[HS_PPROF_VALUES_MAX];
    uint8_t values[HS_PPROF_VALUES_MAX]; /* enum hs_pprof_value */
    size_t count;
    const char *default_type;
    uint32_t heap; /* only this one, or HS_PPROF_HEAP_ALL */
    bool is_annotated;
};

enum hs_pprof_value {
    HS_PPROF_VALUE_ALLOC_COUNT,
    HS_PPROF_VALUE_ALLOC_BYTES,
    HS_PPROF_VALUE_LIVE_COUNT,
    HS_PPROF_VALUE_LIVE_BYTES,
    HS_PPROF_VALUE_PEAK_COUNT,
    HS_PPROF_VALUE_PEAK_BYTES,
};

/* Without its last two values where no peak was recorded. */
extern const struct hs_pprof_layout hs_pprof_layout_go;

const struct hs_pprof_layout *hs_pprof_layout_of_heap(const char *heap);

/* For a dump at the maximum: what was not released is what lived then; so is the total, of a recorder that told no other. */
void hs_pprof_layout_at_max(struct hs_pprof_layout *layout, bool has_total);
