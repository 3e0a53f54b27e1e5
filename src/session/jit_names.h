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
#include "trace/trace_writer.h"
#include "util/intern.h"

/* The name of a piece of code. */
struct hs_jit_name {
    char *function; /* NULL: it had none */
    char *file;     /* NULL: unknown */
    uint32_t line;  /* of the address; 0: unknown */
};

struct hs_jit_process {
    uint32_t pid;
    uint64_t start_mono_ns; /* another one: another program image */
    struct hs_intern pcs;
    struct hs_jit_name *names; /* by id */
    size_t name_capacity;
};

/* Empty when zero-initialized. */
struct hs_jit_names {
    struct hs_jit_process *processes;
    size_t count, capacity;
};

/* Frees everything. */
void hs_jit_names_deinit(struct hs_jit_names *names);

/* What is known of this address? NULL: it was not looked up. */
const struct hs_jit_name *hs_jit_names_find(const struct hs_jit_names *names,
                                            const struct hs_snapshot *snap, uint64_t pc);
/* Stores copies of the texts of an address that is not known. 0 or -ENOMEM. */
int hs_jit_names_put(struct hs_jit_names *names, const struct hs_snapshot *snap, uint64_t pc,
                     const struct hs_trace_frame_name *name);
/* Drops the program image of a snapshot: no other one of it will follow. */
void hs_jit_names_drop(struct hs_jit_names *names, const struct hs_snapshot *snap);
