/*
 * The parts of a dump: how those of a sample are found, and how they get other stacks.
 *
 * Requires  the parts of a dump and view are ordered by node and heap, as the builder leaves them.
 * Threads   one user, and no reader meanwhile, of what changes them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"

/* Parts of one sample: indices in p->parts, [first, end). */
struct hs_part_range {
    uint64_t first, end;
};

/* The parts that the dump has of a sample in a view; none if the dump has no parts. */
struct hs_part_range hs_dump_parts_of(const struct hs_profile *p,
                                      const struct hs_profile_dump *dump, enum hs_part_view view,
                                      const struct hs_profile_sample *sample);
/* Gives each part of the dump the node that `nodes` has at its index in p->parts, and puts the
 * parts in order again. */
void hs_dump_parts_move(struct hs_profile *p, const struct hs_profile_dump *dump,
                        const uint32_t *nodes);
/* Forgets what has the stacks of samples and is not among parts: blocks, births and lifetimes. For
 * a dump whose samples get other stacks. */
void hs_dump_forget_others(struct hs_profile_dump *dump);
/* Puts parts in order, one or more. */
void hs_dump_parts_sort(struct hs_profile_part *parts, size_t count);
