/*
 * Numbers for keys that the import finds, each with an element in an array.
 *
 * See       import_state.h
 */
#include <string.h>

#include "sql/import/import_state.h"
#include "util/array.h"

void *hs_import_at(struct hs_import *import, struct hs_import_ids *ids, void *array_address,
                   size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new)
{
    uint32_t idx = 0;
    *ret_is_new = false;
    if (import->store->err != 0) {
        return NULL;
    }
    int err =
        hs_array_reserve(array_address, &ids->capacity, (size_t)ids->ids.count + 1, elem_bytes);
    if (err == 0) {
        err = hs_intern_put(&ids->ids, key, &idx, ret_is_new);
    }
    if (err < 0) {
        import->store->err = err;
        return NULL;
    }
    char *array;
    memcpy(&array, array_address, sizeof(array));
    if (*ret_is_new) {
        memset(array + idx * elem_bytes, 0, elem_bytes);
    }
    return array + idx * elem_bytes;
}

void *hs_import_find(const struct hs_import_ids *ids, void *array, size_t elem_bytes,
                     struct hs_intern_key key)
{
    uint32_t idx;
    return hs_intern_find(&ids->ids, key, &idx) ? (char *)array + idx * elem_bytes : NULL;
}

uint32_t hs_import_count(const struct hs_import_ids *ids)
{
    return ids->ids.count;
}
