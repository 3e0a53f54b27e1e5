/*
 * Reads the older form of a heap in a MemoryInfra trace: totals of stacks that share frames.
 *
 *     [{"size":"4f0","count":"9"},{"bt":"1","size":"4f0","count":"9"},{"bt":"2","size":"f0",...}]
 *
 * The first entry is the whole heap. What an entry has and its callees' entries do not have is that
 * of the stack itself, or of callees that the writer left out as too small. Entries with a type
 * divide the same memory once more, and are not read.
 *
 * Ensures   the figures add up to those of the entry for the whole heap, if there is one.
 * Threads   one user.
 * Fails     by setting tables->err.
 */
#pragma once

#include "profile/read/infra_tables.h"

/* Gets the figures of one stack. */
typedef void hs_infra_add_fn(void *ctx, uint32_t heap, uint32_t node, double bytes, double count);

/* Reads the entries and calls `add` for each stack that has something itself. */
void hs_infra_read_totals(struct hs_infra_tables *tables, uint32_t process, uint32_t heap,
                          struct hs_json_reader *entries, hs_infra_add_fn *add, void *ctx);
