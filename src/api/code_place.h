/*
 * Whether a function that a program gave us is still there: a library that owns heaps may have been
 * unloaded, and another may have been loaded in its place.
 *
 * The loader can be asked where a function lies only under its lock, which a report must not wait
 * for. So it is asked when the function is given, and a fingerprint of the object's head is kept:
 * ELF header, program headers and, where linkers place it, the build id. Later, the function is
 * there if the same head is still at the same place.
 *
 * Ensures   hs_code_place_is_same takes no lock, allocates nothing and leaves errno alone.
 * Requires  no other thread unloads the object at this very moment.
 * Fails     a function outside every object, one that was generated, counts as there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_code_place {
    uintptr_t code_va;
    uintptr_t object_va; /* its ELF header; 0: the code lies in no object */
    uint64_t head_hash;
};

/* Where `code` lies now. Takes the loader's lock. */
struct hs_code_place hs_code_place_of(void (*code)(void));
/* Is the code at that place still the same? */
bool hs_code_place_is_same(const struct hs_code_place *place);
