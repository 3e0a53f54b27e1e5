/*
 * Walks the stack of a stopped thread of another process, from outside.
 *
 * The unwinder (src/unwind) reads plain memory: stack words and call frame information (CFI). The
 * stack is copied piece by piece as the walk gets there. The CFI sections may be as large as the
 * program, so only the one entry (FDE) that covers a pc is copied. It is found by a binary search
 * in the table that the linker made, directly in the other process's memory. The entry and its CIE
 * become a section of their own for the unwinder.
 *
 * Rules stay in the unwinder's cache: a second walk from the same place copies only stack.
 *
 * Ensures   what is copied is hostile, and the unwinder treats it as such.
 * Threads   one.
 * Fails     a walk never fails: it says how far it got. hs_remote_stack_init: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"
#include "unwind/unwind.h"

/* What the pc of a frame tells about the frame. */
struct hs_remote_frame {
    uint64_t pc;          /* the address of the call, or of the interrupted instruction */
    uint64_t function_va; /* where the FDE that covers pc begins; 0: there is none */
    /* NULL: code outside any loaded object (of a JIT compiler) */
    const struct hs_remote_object *object;
};

struct hs_remote_entry;

struct hs_remote_stack {
    const struct hs_remote_memory *memory;
    const struct hs_remote_objects *objects;
    const struct hs_remote_maps *maps;
    struct hs_rule_cache cache;
    struct hs_rule_entry *rules;
    struct hs_remote_frame *frames; /* indexed by the unwinder's frame id */
    size_t frame_count;
    size_t frame_capacity;
    struct hs_remote_entry *entries; /* the copied entries, a linked list */
    uint8_t *copy;                   /* the copy of the stack */
    struct hs_walk walk;
};

/* Prepares *stack for walks in the process that memory, objects and maps describe; they must
 * outlive it. 0 or -ENOMEM. */
int hs_remote_stack_init(struct hs_remote_stack *stack, const struct hs_remote_memory *memory,
                         const struct hs_remote_objects *objects,
                         const struct hs_remote_maps *maps);
/* Frees the copies, the frames and the rule cache. */
void hs_remote_stack_deinit(struct hs_remote_stack *stack);

/* Drops all cached entries and rules. The caller calls this after it has loaded objects or maps
 * again, because the cache may then be wrong. */
void hs_remote_stack_forget(struct hs_remote_stack *stack);

/* Walks from the registers of an interrupted thread; the result is in stack->walk. */
void hs_remote_stack_walk(struct hs_remote_stack *stack, const struct hs_regs *regs);

/* Frame `idx` of the last walk, counted from the innermost. */
static inline const struct hs_remote_frame *
hs_remote_stack_frame(const struct hs_remote_stack *stack, uint32_t idx)
{
    return &stack->frames[stack->walk.frames[idx]];
}
