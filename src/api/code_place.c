/*
 * The head of an object is hashed by words. Its size is a guess that includes the build id in what
 * linkers make by default; without a build id, the header's offsets and the sizes of the segments
 * still tell nearly all objects apart.
 */
#include "api/code_place.h"

#include <dlfcn.h>
#include <stddef.h>

#include "rt/bits.h"
#include "rt/sys.h"

#define HEAD_BYTES 1024U /* less than a page: it can be read as a whole, or not at all */

static uint64_t hash_of_head(uintptr_t object_va)
{
    const uint64_t *words = (const uint64_t *)object_va;
    uint64_t hash = object_va;
    for (size_t i = 0; i < HEAD_BYTES / sizeof(words[0]); i++) {
        hash = hs_mix64(hash ^ words[i]);
    }
    return hash;
}

/* Objects begin with a page boundary. */
static bool is_readable(uintptr_t va)
{
    return hs_sys_is_readable(va & ~(uintptr_t)7);
}

struct hs_code_place hs_code_place_of(void (*code)(void))
{
    struct hs_code_place place = { .code_va = (uintptr_t)code };
    Dl_info object;
    if (dladdr((const void *)place.code_va, &object) != 0 &&
        is_readable((uintptr_t)object.dli_fbase)) {
        place.object_va = (uintptr_t)object.dli_fbase;
        place.head_hash = hash_of_head(place.object_va);
    }
    return place;
}

bool hs_code_place_is_same(const struct hs_code_place *place)
{
    return place->object_va == 0 || (is_readable(place->object_va) && is_readable(place->code_va) &&
                                     hash_of_head(place->object_va) == place->head_hash);
}
