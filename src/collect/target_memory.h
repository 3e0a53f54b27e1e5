/*
 * What is read in the memory of a target, from outside: of what its resident memory consists, and
 * the types of its recorded blocks. Only for target.c.
 *
 * Both are read at snapshots, and now and then between them (hs_target_look_at_ledger() in
 * target.h), because a process that has ended has no memory to read: its last snapshot has what was
 * read last.
 *
 * Threads   one.
 * Fails     what cannot be read is left out.
 */
#pragma once

#include <stdint.h>

#include "collect/target.h"

/* For a snapshot: reads both, if the process has memory and they were not read a moment ago. */
void hs_target_read_memory(struct hs_target *target, uint64_t now_ns);
/* Gives the snapshot copies of the ledgers. */
void hs_target_add_ledgers(const struct hs_target *target, struct hs_snapshot *snap);
/* Frees what was read. */
void hs_target_forget_memory(struct hs_target *target);
