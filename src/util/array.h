/*
 * Growable arrays. A full array doubles its capacity, so that the average cost of adding an element
 * does not depend on how many there are.
 *
 *     struct hs_box *boxes = NULL;
 *     size_t count = 0, capacity = 0;
 *     ...
 *     int err = hs_array_reserve(&boxes, &capacity, count + 1, sizeof(*boxes));
 *     if (err < 0) {
 *         return err;
 *     }
 *     boxes[count++] = box;
 *
 * Holds     NULL with capacity 0 is an empty array. The owner frees the array with free(). Memory
 *           behind the elements in use is not zeroed.
 * Threads   no state.
 * Fails     -ENOMEM; the array and its capacity are then unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"
#include "rt/check.h"

/* The rare part of hs_array_reserve(): allocates a larger array. */
HS_COLD int hs_array_grow(void *array_address, size_t *capacity, size_t count, size_t elem_bytes);

/* For assertions: an array has memory exactly if it has a capacity. */
bool hs_array_is_valid(const void *array_address, size_t capacity);

/*
 * Merges the elements that `compare` takes for equal: sorts them, and calls `add` for each further
 * element of a kind, which adds it to the first one and frees what it owns. Returns how many
 * elements are left; they are sorted.
 */
size_t hs_array_merge(void *items, size_t count, size_t elem_bytes,
                      int (*compare)(const void *a, const void *b),
                      void (*add)(void *sum, void *item));

/* As hs_array_reserve(), and fills what is new with zeros: the whole capacity can be read. */
int hs_array_reserve_zeroed(void *array_address, size_t *capacity, size_t count, size_t elem_bytes);

/*
 * Makes room for `count` elements in total. `array_address` is the address of the pointer to the
 * first element, whatever its type. Returns 0 or -ENOMEM.
 */
static inline int hs_array_reserve(void *array_address, size_t *capacity, size_t count,
                                   size_t elem_bytes)
{
    HS_ASSERT(hs_array_is_valid(array_address, *capacity));
    return count <= *capacity ? 0 : hs_array_grow(array_address, capacity, count, elem_bytes);
}
