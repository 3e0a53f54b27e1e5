/*
 * Which operator new or delete a call would come to without us.
 *
 * All calls come to our hooks, whichever library makes them. Mostly there is one definition for all: that of a library that was there
 * at the start, or that of the C++ runtime, which a plugin may bring along late. But a plugin may define
 * operators of its own; its calls are meant for these, other plugins' are not, and they go when it is unloaded. So these
 * are never kept, but looked up in the caller's own library, which is there for as long as it calls.
 *
 * Holds     what new gave is taken back by the delete that belongs to it: whether calls of libraries that came late go to the
 *           runtime's operators, or to the caller's own where it has them, is decided once, for all operators.
 * Threads   any, in the middle of a call of an operator: no lock is taken but dl_iterate_phdr()'s, until the runtime is found.
 * Fails     hs_operator_find() returns NULL: nobody defines it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_operator {
    const char *name;
    void *runtimes; /* the late C++ runtime's, once it was looked for and found */
    bool is_aligned;
};

/* *ret_is_kept: the same for all callers, for ever. *ret_is_plain: then it is malloc, aligned_alloc or free with nothing
 * around it (real.h). */
void *hs_operator_find(struct hs_operator *op, uint64_t caller_va, bool *ret_is_kept,
                       bool *ret_is_plain);

/* The late C++ runtime's function of that name. NULL: it has not been loaded, or has none. */
void *hs_operator_of_runtime(const char *name);
