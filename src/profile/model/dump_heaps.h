/*
 * Which heaps the figures of a profile contain.
 *
 * A heap is primary, with memory of its own, or carved: its blocks lie inside blocks of another
 * heap, as those of a pool that gets its slabs from malloc. The figures of a carved heap are beside
 * those of the heap it lies in; added to them, the same memory would count twice. So a heap that is
 * chosen is counted, except one that lies in another heap that is counted too. What is chosen at
 * first: all primary heaps.
 *
 *     libc.malloc   primary                     chosen and counted
 *     pool          carved from libc.malloc     chosen: not counted, as libc.malloc contains it
 *     arena         carved from pool            chosen: not counted, as libc.malloc contains it
 *
 * With `pool` and `arena` chosen, only `pool` is counted. A heap that the recording left out
 * contains nothing, so that `pool` is counted, too, if libc.malloc was left out. If it is not known
 * in which heap a carved heap lies, then it is taken to lie in any primary heap of the process.
 *
 * A dump counts heaps by having only their samples in its list and only their figures in its
 * totals, so that views need not know of heaps. The samples of other heaps stand behind the list.
 *
 * Holds     samples_n + aside_n of a dump changes only when heaps are removed. The live total of a
 *           dump whose heaps have their own figures is at least the sum over the counted heaps.
 * Threads   one user, and no reader meanwhile.
 * Fails     never, or as stated.
 * See       docs/adr/0026-heaps-stand-apart.md, docs/GLOSSARY.md "primary heap"
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/profile.h"

/* Chooses heaps: is_chosen has an element for each of the profile's heaps. May be called once. */
void hs_profile_choose_heaps(struct hs_profile *p, const bool *is_chosen);
/* Removes the samples of all heaps that are not chosen, and what dumps say of these heaps. What is
 * known only of a whole process, such as the figures of a thread, still contains them. Comes after
 * hs_profile_choose_heaps(), with the same heaps. */
void hs_profile_keep_heaps(struct hs_profile *p, const bool *is_chosen);

/* The heap of a dump; NULL: the dump says nothing of it. */
const struct hs_profile_dump_heap *
hs_profile_dump_heap(const struct hs_profile *p, const struct hs_profile_dump *dump, uint32_t heap);

/* The counted sample of this node and heap in a dump; NULL: there is none. */
static inline const struct hs_profile_sample *
hs_profile_sample_at(const struct hs_profile *p, const struct hs_profile_dump *dump, uint32_t node,
                     uint32_t heap)
{
    uint32_t low = 0, high = dump->samples_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + middle];
        bool is_before = hs_sample_order(sample->node, sample->heap, node, heap) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    const struct hs_profile_sample *found =
        low < dump->samples_n ? &p->samples[dump->sample_first + low] : NULL;
    return found && found->node == node && found->heap == heap ? found : NULL;
}
