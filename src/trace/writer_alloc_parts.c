/*
 * What was allocated in each scope, as parts. Freed blocks have no records, but stacks that differ
 * in their scope only are stacks of their own in a snapshot, each with what was allocated through
 * it. The file has one row for all of them.
 *
 * See       writer_parts.c, heap_parts.h
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/writer_state.h"

int hs_writer_alloc_parts(const struct hs_writer_dump *dump, struct hs_snap_part **ret_parts,
                          size_t *ret_count)
{
    const struct hs_snapshot *snap = dump->snap;
    bool *has_scope = calloc(dump->process->stacks.count + 1u, sizeof(has_scope[0]));
    struct hs_snap_part *parts = calloc(snap->stack_count + 1u, sizeof(parts[0]));
    size_t count = 0;
    for (size_t i = 0; i < snap->stack_count && has_scope && parts; i++) {
        if (dump->stack_idx[i] != UINT32_MAX) {
            has_scope[dump->stack_idx[i]] |= snap->stacks[i].scope_id != 0;
        }
    }
    for (size_t i = 0; i < snap->stack_count && has_scope && parts; i++) {
        const struct hs_estimate *alloc = &snap->stacks[i].alloc;
        if (dump->stack_idx[i] != UINT32_MAX && has_scope[dump->stack_idx[i]] &&
            (alloc->bytes > 0 || alloc->count > 0)) {
            parts[count++] =
                (struct hs_snap_part){ .key = { .stack_id = (uint32_t)i }, .amount = *alloc };
        }
    }
    *ret_parts = parts;
    *ret_count = count;
    int r = has_scope && parts ? 0 : -ENOMEM;
    free(has_scope);
    return r;
}
