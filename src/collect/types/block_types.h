/*
 * The types of live blocks: found in a process's memory from outside, without its help.
 *
 *     struct hs_block_types types = { 0 };
 *     for each snapshot:
 *         blocks[i] = (struct hs_typed_block){ .va, .size_bytes } from the records
 *         r = hs_block_types_read(pid, &space, blocks, count, time_ns_max, &types);
 *         drop the types of blocks whose records have changed
 *         ... hs_type_names_text(&types.names, blocks[i].type_idx) ...
 *     hs_block_types_deinit(&types);
 *
 * A block has a type if it begins with the pointer to the primary vtable of a C++ class
 * (vtable_types.h), or contains an object of CPython (python_types.h). An array that new[] made
 * begins with the number of its elements, and an allocator of the program's own may have put the
 * size there: these words are looked behind, and more is then required of the block.
 *
 * The process runs on. A block can be freed and its memory used again between the moment of the
 * records and that of reading, and then has the type of what is there now. So the caller looks at
 * the records again afterwards, and drops the types of those that are not the same any more.
 *
 * Ensures   type_idx of each block is 0 or a number of `names`; looked_count is the number of
 *           blocks, and the sum of named_count, unknown_count, unreadable_count and late_count.
 * Trust     everything that is read is hostile; a process can only mislead its own user.
 * Threads   one.
 * Fails     -ENOMEM; hs_block_types_read also as remote_window.h.
 * See       docs/adr/0039-types-of-blocks.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/address_space.h"
#include "collect/types/type_memory.h"
#include "collect/types/type_names.h"

struct hs_typed_block {
    uint64_t va;
    uint64_t size_bytes; /* as the program asked for it */
    uint32_t type_idx;   /* 0: unknown */
    bool is_read;        /* its memory was read, or is too short for a type */
};

/* Of the last search. */
struct hs_block_type_counts {
    uint64_t looked_count;
    uint64_t named_count;
    uint64_t unknown_count;
    uint64_t unreadable_count; /* not resident, or gone; is_read is false, as of those below */
    uint64_t late_count;       /* not reached in time */
    uint64_t cpu_ns;
};

struct hs_block_types {
    struct hs_type_names names; /* of all searches */
    struct hs_block_type_counts counts;
    uint64_t next_va; /* where the next search begins: the last one ran out of time there */
};

/* Frees the names. A struct of zeros has none. */
void hs_block_types_deinit(struct hs_block_types *types);

/* Fills in type_idx and is_read of all blocks of a process, which are in any order; best in that of
 * their addresses. `time_ns_max`: after that time, the rest is left out, and the next search begins
 * with it; 0: never. */
int hs_block_types_read(pid_t pid, const struct hs_address_space *space,
                        struct hs_typed_block *blocks, size_t count, uint64_t time_ns_max,
                        struct hs_block_types *types);
/* The same with memory from anywhere. */
int hs_block_types_find(const struct hs_type_memory *memory, struct hs_typed_block *blocks,
                        size_t count, uint64_t time_ns_max, struct hs_block_types *types);
