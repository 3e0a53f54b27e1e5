/*
 * See array.h. The pointer is copied in and out as bytes, because C does not allow reading a
 * `struct hs_box *` as a `void *`.
 */
#include "util/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_COUNT 16U

int hs_array_grow(void *array_address, size_t *capacity, size_t count, size_t elem_bytes)
{
    size_t bigger_count = *capacity * 2; /* no overflow: an array has at most PTRDIFF_MAX bytes */
    bigger_count = bigger_count < FIRST_COUNT ? FIRST_COUNT : bigger_count;
    bigger_count = bigger_count < count ? count : bigger_count;
    if (bigger_count > (size_t)PTRDIFF_MAX / elem_bytes) {
        return -ENOMEM;
    }
    void *array;
    memcpy(&array, array_address, sizeof(array));
    void *bigger = realloc(array, bigger_count * elem_bytes);
    if (!bigger) {
        return -ENOMEM;
    }
    memcpy(array_address, &bigger, sizeof(bigger));
    *capacity = bigger_count;
    return 0;
}

#if HS_HAS_CHECKS

bool hs_array_is_valid(const void *array_address, size_t capacity)
{
    const void *array;
    memcpy(&array, array_address, sizeof(array));
    return (array == NULL) == (capacity == 0);
}

#endif

size_t hs_array_merge(void *items, size_t count, size_t elem_bytes,
                      int (*compare)(const void *a, const void *b),
                      void (*add)(void *sum, void *item))
{
    char *first = items;
    size_t last = 0;
    if (count == 0) {
        return 0;
    }
    qsort(items, count, elem_bytes, compare);
    for (size_t i = 1; i < count; i++) {
        char *sum = first + last * elem_bytes, *item = first + i * elem_bytes;
        if (compare(sum, item) == 0) {
            add(sum, item);
        } else {
            last++;
            memmove(sum + elem_bytes, item, elem_bytes);
        }
    }
    return last + 1;
}

int hs_array_reserve_zeroed(void *array_address, size_t *capacity, size_t count, size_t elem_bytes)
{
    size_t had = *capacity;
    int r = hs_array_reserve(array_address, capacity, count, elem_bytes);
    if (r == 0 && *capacity > had) {
        char *array;
        memcpy(&array, array_address, sizeof(array));
        memset(array + had * elem_bytes, 0, (*capacity - had) * elem_bytes);
    }
    return r;
}
