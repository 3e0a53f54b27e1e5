/*
 * Which stacks belong to carved heaps, and which to heaps that the session has left out: what a
 * scan of the records must know of each stack.
 *
 * Threads   one.
 * Fails     -ENOMEM, or as region_reader.h.
 * See       record_scan.h
 */
#pragma once

#include <stdint.h>

#include "collect/region/heap_peaks.h"
#include "collect/region/region_reader.h"

/* Adds the heaps that the target has named since `heaps` was loaded, and marks the first
 * `stack_count` stacks as hs_record_scan.carved_heaps wants it. *ret_marks is NULL if all marks
 * would be 0, as in most processes; the caller frees it. 0, or see Fails. */
int hs_heap_marks_find(const struct hs_region *region, struct hs_heap_peaks *heaps,
                       const struct hs_region_map *stacks, uint32_t stack_count,
                       uint16_t **ret_marks);
