/*
 * What the hooks of functions that map memory do before and after the real call.
 *
 * A call that maps memory is recorded after it has returned, because no other thread can know the
 * address before that. Before a call that unmaps, moves or closes memory the ranges are taken away,
 * because another thread may be given the addresses as soon as the kernel has done it.
 *
 * What is memory? Anonymous mappings, private and shared, and those of a memfd, as soon as any
 * access to them is permitted: at once, or when mprotect(2) or a mapping over them permits it.
 * Address space that is only reserved is none. A call whose caller is the allocator that serves
 * malloc is not recorded: what it maps is malloc's reserve. While Python's
 * objects are recorded, what pymalloc maps is theirs.
 *
 * Threads   any; also signal handlers. In a handler that interrupted our own code, memory that is
 *           mapped is counted as lost, and memory that is unmapped is followed.
 * Fails     what cannot be followed is counted, and the ranges are compared with what the kernel
 *           says at one of the next calls.
 * See       tables/mapped.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/tables/life_state.h"
#include "client/tables/mapped.h"
#include "rt/atomic.h"

/* Before a call that takes memory away: takes what is known of these addresses. Ranges that the
 * kernel would refuse are ignored. */
void hs_mapping_take(uint64_t start_va, uint64_t len_bytes, struct hs_mapped_chain *chain);
/* After the call: it has failed, and perhaps done a part of its work. */
void hs_mapping_put_back(struct hs_mapped_chain *chain);
/* After the call: it has succeeded. */
void hs_mapping_drop(struct hs_mapped_chain *chain);
/* After the call: the memory can no longer be accessed, and stays mapped. */
void hs_mapping_close(struct hs_mapped_chain *chain);

/* What was mapped. */
struct hs_mapping_new {
    uint64_t start_va, len_bytes;
    bool is_open;   /* it can be accessed */
    bool is_shared; /* MAP_SHARED */
};
/* After a call that has mapped memory. */
void hs_mapping_add(const struct hs_mapping_new *mapping, const struct hs_regs *regs);
/* Do the pieces of a chain fill these addresses? */
bool hs_mapping_is_whole(const struct hs_mapped_chain *chain, uint64_t start_va,
                         uint64_t len_bytes);

/* Where a mapping was, and where it is now. */
struct hs_mapping_move {
    uint64_t from_va, old_bytes, to_va, new_bytes;
    bool is_fixed; /* the program chose the new place: what was known of it has been taken */
};
/* After a call that has moved memory: what was taken from the old place is now at the new one. The
 * chain stays the caller's. */
void hs_mapping_add_moved(const struct hs_mapped_chain *old, const struct hs_mapping_move *moved,
                          const struct hs_regs *regs);
/* After a call that has permitted access. */
void hs_mapping_open(uint64_t start_va, uint64_t len_bytes, const struct hs_regs *regs);

/* The same after a call that has failed, and may have permitted access to a part. */
void hs_mapping_open_partly(uint64_t start_va, uint64_t len_bytes, const struct hs_regs *regs);

/* What is known of the byte at `va`; false: nothing. */
bool hs_mapping_kind(uint64_t va, enum hs_range_kind *ret_kind);

/* --- hot -------------------------------------------------------------------------------------- */

/* May anything have to be recorded in this process, now or soon? */
static inline bool hs_mapping_may_matter(void)
{
    return hs_load_relaxed(&hs_life_state.state) != HS_LIFE_OFF;
}
