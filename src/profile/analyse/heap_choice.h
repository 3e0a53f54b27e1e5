/*
 * Chooses heaps by name, for --heap: `pool`, `pool,arena`, `*`, `libc.*`.
 *
 * The heaps that any glob of the patterns matches are chosen. Of these, dump_heaps.h counts those
 * that lie in no other: `*` is the same as all primary heaps, and as no patterns. What was left out
 * of the recording contains nothing: then a carved heap in it is counted, too.
 *
 * Threads   as dump_heaps.h.
 * Fails     -ENOMEM
 */
#pragma once

#include "profile/model/heap_patterns.h"
#include "profile/model/profile.h"

struct hs_buf;

/*
 * Chooses the heaps of a profile. A glob that matches a heap of neither `p` nor `other` (NULL:
 * none), or only heaps that were not recorded, is written to *missing; then nothing is chosen. With
 * `missing` NULL, such globs are allowed. 0 or -ENOMEM.
 */
int hs_heap_choice_apply(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                         const struct hs_profile *other, struct hs_buf *missing);
/*
 * The same, and removes what the profile has of all other heaps, for views that show each heap by
 * itself. Without patterns, nothing is removed.
 */
int hs_heap_choice_keep(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                        struct hs_buf *missing);

/* Writes that there is no heap *missing, or that it was not recorded, and which ones there are. */
void hs_heap_choice_write_missing(const struct hs_profile *p, struct hs_buf *missing,
                                  struct hs_buf *words);

/* Writes the names of the profile's heaps: "libc.malloc, pool and gpu". They are sanitized. */
void hs_heap_choice_list(const struct hs_profile *p, struct hs_buf *buf);
