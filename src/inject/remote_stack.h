/*
 * The stack of a stopped thread of another process, walked from outside.
 *
 * The unwinder (src/unwind) reads plain memory: stack words and call frame information. The stack is copied in
 * pieces as the walk gets there. Of the information, whose sections may be as large as the program, the one
 * entry is copied that covers a pc: it is found by a binary search in the table that the linker made, right in
 * the other process's memory. It goes, behind its CIE, into a section of these two.
 *
 * Rules stay in the unwinder's cache: a second walk from the same place copies stack and nothing else.
 *
 * Holds     what is copied is hostile, and the unwinder takes it as such.
 * Threads   one.
 * Fails     a walk never: it says how far it got. hs_remote_stack_init: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/remote_maps.h"
#include "inject/remote_memory.h"
#include "inject/remote_objects.h"
#include "unwind/unwind.h"

/* What is known of a frame by its pc. */
struct hs_remote_frame {
    uint64_t pc;          /* of the call, or where it was interrupted */
    uint64_t function_va; /* where its entry of call frame information begins; 0: there is none */
    const struct hs_remote_object *object; /* NULL: code of nobody's (a JIT compiler's) */
};

struct hs_remote_entry;

struct hs_remote_stack {
    const struct hs_remote_memory *memory;
    const struct hs_remote_objects *objects;
    const struct hs_remote_maps *maps;
    struct hs_rule_cache cache;
    struct hs_rule_entry *rules;
    struct hs_remote_frame *frames; /* by the unwinder's frame id */
    size_t frame_count;
    size_t frame_capacity;
    struct hs_remote_entry *entries; /* copies, in a list */
    uint8_t *copy;                   /* of the stack */
    struct hs_walk walk;
};

int hs_remote_stack_init(struct hs_remote_stack *stack, const struct hs_remote_memory *memory,
                         const struct hs_remote_objects *objects,
                         const struct hs_remote_maps *maps);
void hs_remote_stack_deinit(struct hs_remote_stack *stack);

/* To be called when objects or maps have been loaded anew: all that is known may be wrong. */
void hs_remote_stack_forget(struct hs_remote_stack *stack);

/* Walks from the registers of an interrupted thread; the result is in stack->walk. */
void hs_remote_stack_walk(struct hs_remote_stack *stack, const struct hs_regs *regs);

/* Frame `idx` of the last walk. */
static inline const struct hs_remote_frame *
hs_remote_stack_frame(const struct hs_remote_stack *stack, uint32_t idx)
{
    return &stack->frames[stack->walk.frames[idx]];
}
