/*
 * Names of code made at run time, as they were when each address was first seen.
 *
 * Code moves, and its addresses are used again. A stack is known by its addresses, so it keeps the
 * name that an address had in the dump in which it first occurred. An address without a name then
 * has none in later dumps either; it is looked up once more at the end of the recording, for lists
 * that a program writes when it ends.
 *
 * Ensures   the answer for an address of a program image never changes.
 * Threads   one user.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/snapshot.h"
#include "util/intern.h"

struct hs_jit_process {
    uint32_t pid;
    uint64_t start_mono_ns; /* another one: another program image */
    struct hs_intern pcs;
    char **names; /* by id; NULL: it had none */
    size_t name_capacity;
};

/* Empty when zero-initialized. */
struct hs_jit_names {
    struct hs_jit_process *processes;
    size_t count, capacity;
};

/* Frees everything. */
void hs_jit_names_deinit(struct hs_jit_names *names);

/* Is this address known, with a name or without? *ret_name is its name, or NULL. */
bool hs_jit_names_find(const struct hs_jit_names *names, const struct hs_snapshot *snap,
                       uint64_t pc, const char **ret_name);
/* Stores the name, or NULL, of an address that is not known. 0 or -ENOMEM. */
int hs_jit_names_put(struct hs_jit_names *names, const struct hs_snapshot *snap, uint64_t pc,
                     const char *name);
/* Drops the program image of a snapshot: no other one of it will follow. */
void hs_jit_names_drop(struct hs_jit_names *names, const struct hs_snapshot *snap);
