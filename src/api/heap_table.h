/*
 * The library's table, and the question that every report asks first: does a client record any of
 * the program's heaps?
 *
 * Ensures   without a client, or while the client records none of the heaps, a report loads three
 *           words, compares two, and returns.
 * Threads   any.
 * See       fmt/api_layout.h: what the client does with the table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/api_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* The library exports it under another name: this one needs no global offset table. */
extern struct hs_api_v1 hs_heap_table HS_HIDDEN;

/* Tells a client that the process has the library. The loader calls it. */
void hs_heap_table_announce(void);

/* What the client does for the library; NULL: no client has found the table. */
static inline const struct hs_api_calls_v1 *hs_heap_table_calls(void)
{
    /* ORDER api-calls: the functions that the client wrote before this pointer. */
    return hs_load_acquire(&hs_heap_table.calls);
}

/* The name that the client gave to a heap; 0: it gave none, or there is no such heap. */
static inline uint32_t hs_heap_table_client_heap(uint32_t heap)
{
    return hs_likely(heap < HS_API_HEAPS) ? hs_load_relaxed(&hs_heap_table.heaps[heap].client_heap)
                                          : 0;
}

/* Is it registered? */
static inline bool hs_heap_table_is_registered(uint32_t heap)
{
    return heap < HS_API_HEAPS &&
           (hs_load_relaxed(&hs_heap_table.heaps[heap].flags) & HS_API_HEAP_REGISTERED) != 0;
}

/* --- hot --- */

/* The generation of the client's settings; 0 without a client. */
static inline uint32_t hs_heap_table_generation(void)
{
    uintptr_t va =
        (uintptr_t)&hs_heap_table + (uintptr_t)hs_load_relaxed(&hs_heap_table.generation_off);
    return hs_load_relaxed((const uint32_t *)va);
}

/* Does no client record any heap of the program, as far as this thread can know? */
static inline bool hs_heap_table_is_quiet(void)
{
    return hs_heap_table_generation() == hs_load_relaxed(&hs_heap_table.quiet);
}
