/*
 * An interning table whose ids are the indices of an array: finds or adds the element of a key.
 *
 *     struct hs_intern_array ids = { 0 };
 *     struct box *boxes = NULL;
 *     ...
 *     bool is_new;
 *     struct box *box;
 *     int err = hs_intern_at(&ids, &boxes, sizeof(*box), key, (void **)&box, &is_new);
 *
 * Holds     the array has an element for each id. The owner frees the array with free(), and the
 *           ids with hs_intern_deinit(&ids.ids).
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; ids and array are then unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/intern.h"

struct hs_intern_array {
    struct hs_intern ids;
    size_t capacity; /* of the array */
};

/*
 * Finds or adds the element of `key`; a new element is filled with zeros. `array_address` is the
 * address of the pointer to the first element. The element is valid until the next one is added.
 */
int hs_intern_at(struct hs_intern_array *ids, void *array_address, size_t elem_bytes,
                 struct hs_intern_key key, void **ret_elem, bool *ret_is_new);
/* The element of `key` in the array `array`; NULL: there is none. */
void *hs_intern_elem(const struct hs_intern_array *ids, void *array, size_t elem_bytes,
                     struct hs_intern_key key);

/*
 * Writes the id of `key`. False: there is none. Fast for keys that were added in the order of their
 * numbers, as most writers number what they intern: then no search is needed.
 */
static inline bool hs_intern_find_near(const struct hs_intern *table, struct hs_intern_key key,
                                       uint32_t *ret_id)
{
    uint64_t guess = table->count > 0 ? key.lo - table->keys[0].lo : 0;
    if (guess < table->count && table->keys[guess].lo == key.lo &&
        table->keys[guess].hi == key.hi) {
        *ret_id = (uint32_t)guess;
        return true;
    }
    return hs_intern_find(table, key, ret_id);
}
