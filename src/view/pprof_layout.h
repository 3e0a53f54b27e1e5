/*
 * Names of the values of a pprof file: Go's names, or those that traceconv gives a heap.
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

/* Which values a sample has, and their names. */
struct hs_pprof_layout {
    struct hs_pprof_value_type types[HS_PPROF_VALUES_MAX];
    uint8_t values[HS_PPROF_VALUES_MAX]; /* enum hs_pprof_value */
    size_t count;
    const char *default_type;
    uint32_t heap; /* index of the only heap, or HS_PPROF_HEAP_ALL */
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

/* Go's layout. The last two values are not used when no peak was recorded. */
extern const struct hs_pprof_layout hs_pprof_layout_go;
/* Of samples that are one block each: what lives, in Go's names. */
extern const struct hs_pprof_layout hs_pprof_layout_blocks;

/* The layout of traceconv for the heap of this name. */
const struct hs_pprof_layout *hs_pprof_layout_of_heap(const char *heap);

/*
 * For a dump at the maximum, the unreleased blocks are those that lived then. The total is too, if
 * the recorder did not record any other (has_total is false).
 */
void hs_pprof_layout_at_max(struct hs_pprof_layout *layout, bool has_total);
