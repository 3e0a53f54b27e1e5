/*
 * Which operator new or delete a call would reach without the client.
 *
 * All calls come to our hooks, whichever library makes them. Usually there is one definition for
 * all of them: that of a library that was there at the start, or that of the C++ runtime, which a
 * plugin may load late. But a plugin may define operators of its own. Its own calls are meant for
 * these operators, those of other plugins are not, and the operators disappear when the plugin is
 * unloaded. So the client never keeps a pointer to them: it looks them up at each call in the
 * library of the caller, which stays loaded for as long as it calls.
 *
 * Holds     the delete that belongs to a new takes back what that new returned: whether calls of
 *           libraries that were loaded late go to the runtime's operators, or to the caller's own
 *           if it has any, is decided once, for all operators.
 * Threads   any, in the middle of a call of an operator. The only lock is that of
 *           dl_iterate_phdr(), until the runtime is found.
 * Fails     hs_operator_find() returns NULL: no object defines the operator.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_operator {
    const char *name;
    void *runtimes; /* the late C++ runtime's, once it was looked for and found */
    bool is_aligned;
};

/* The operator that a call from `caller_va` reaches; NULL: none. *ret_is_kept: it is the same for
 * all callers, and stays. *ret_is_plain: it is malloc, aligned_alloc or free without anything
 * around it (real.h). */
void *hs_operator_find(struct hs_operator *op, uint64_t caller_va, bool *ret_is_kept,
                       bool *ret_is_plain);

/* The late C++ runtime's function of that name. NULL: it has not been loaded, or has none. */
void *hs_operator_of_runtime(const char *name);
