/*
 * Arrays that grow: room for one element more, by doubling, so that adding costs the same on average
 * however many there are.
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
 * Holds     NULL with capacity 0 is an empty array. The owner frees it with free(). What is beyond the
 *           elements put in is not zeroed.
 * Threads   no state.
 * Fails     -ENOMEM; array and capacity are then as they were.
 */
#pragma once

#include <stddef.h>

#include "rt/base.h"

/* The part of hs_array_reserve() that is rare. */
HS_COLD int hs_array_grow(void *array_address, size_t *capacity, size_t count, size_t elem_bytes);

/* Room for `count` elements. array_address: of the pointer to the first one, whatever its type. */
static inline int hs_array_reserve(void *array_address, size_t *capacity, size_t count,
                                   size_t elem_bytes)
{
    return count <= *capacity ? 0 : hs_array_grow(array_address, capacity, count, elem_bytes);
}
