/*
 * Chooses heaps by name, for --heap: `pool`, `pool,arena`, `*`, `libc.*`.
 *
 * A pattern is a list of globs, separated by commas. The heaps that any of them matches are chosen.
 * Of these, dump_heaps.h counts those that lie in no other: `*` is the same as all primary heaps.
 *
 * Threads   as dump_heaps.h.
 * Fails     -ENOMEM
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "profile/model/profile.h"

struct hs_buf;

struct hs_heap_patterns {
    const char *const *texts;
    size_t count; /* 0: all primary heaps; if malloc's was left out, all others */
};

/*
 * Chooses the heaps of a profile. A glob that matches a heap of neither
 * `p` nor `other` (NULL: none) is written to *missing; then nothing is chosen. With `missing` NULL,
 * such globs are allowed. 0 or -ENOMEM.
 */
int hs_heap_choice_apply(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                         const struct hs_profile *other, struct hs_buf *missing);

/* Writes the names of the profile's heaps: "libc.malloc, pool and gpu". They are sanitized. */
void hs_heap_choice_list(const struct hs_profile *p, struct hs_buf *buf);
