/*
 * See intern_array.h.
 */
#include "util/intern_array.h"

#include <string.h>

#include "rt/check.h"
#include "util/array.h"

int hs_intern_at(struct hs_intern_array *ids, void *array_address, size_t elem_bytes,
                 struct hs_intern_key key, void **ret_elem, bool *ret_is_new)
{
    uint32_t idx = 0;
    bool is_new = false;
    /* Room first: a key without an element could not be taken back. */
    int err =
        hs_array_reserve(array_address, &ids->capacity, (size_t)ids->ids.count + 1, elem_bytes);
    if (err == 0) {
        err = hs_intern_put(&ids->ids, key, &idx, &is_new);
    }
    if (err < 0) {
        return err;
    }
    HS_ASSERT(ids->ids.count <= ids->capacity && idx < ids->ids.count);
    char *array;
    memcpy(&array, array_address, sizeof(array));
    if (is_new) {
        memset(array + idx * elem_bytes, 0, elem_bytes);
    }
    *ret_elem = array + idx * elem_bytes;
    *ret_is_new = is_new;
    return 0;
}

void *hs_intern_elem(const struct hs_intern_array *ids, void *array, size_t elem_bytes,
                     struct hs_intern_key key)
{
    uint32_t idx;
    return hs_intern_find_near(&ids->ids, key, &idx) ? (char *)array + idx * elem_bytes : NULL;
}
