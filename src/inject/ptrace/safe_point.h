/*
 * Decides whether a stopped thread may be borrowed, by looking at its stack frame by frame.
 *
 * The calls that the thread makes for heapscope take the locks of the allocator and of the loader.
 * If the thread itself holds one, it deadlocks. A lock that another thread holds only delays the
 * call, because that thread runs on and releases it.
 *
 * A frame is unsafe in the loader; in an allocator's library; in libc under one of the functions
 * that allocate, load, fork or exit, or under an internal function without a known name; and in the
 * library that heapscope has loaded. Where the program has an allocator of its own, an internal
 * function of that allocator looks like any other (a tail call hides the malloc above it). There a
 * thread must be in a wait that no allocator makes: for descriptors, clocks and similar things, for
 * a condition, or for the end of another thread. A thread in such a wait is safe when no unsafe
 * frame was found, even if its stack cannot be followed to its end, for example through a JIT
 * compiler's code. The stack of any other thread must have been followed to its end, by unwind
 * information alone.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/remote.h"
#include "inject/ptrace/wait_kind.h"
#include "inject/remote/known_functions.h"
#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_objects.h"
#include "inject/remote/remote_stack.h"

/* Free stack that a call needs, with the return chain: the first for dlopen, the second for a
 * function that was written to be called this way. */
#define HS_SAFE_POINT_LOAD_BYTES (56U * 1024)
#define HS_SAFE_POINT_CALL_BYTES (24U * 1024)
#define HS_SAFE_POINT_WHY_BYTES  120U

enum hs_object_role {
    HS_OBJECT_PLAIN,
    HS_OBJECT_LIBC,      /* its exported functions are known (known_functions.h) */
    HS_OBJECT_FORBIDDEN, /* the loader, an allocator, heapscope's library */
};

/* What the rules need to know about the process. */
struct hs_safe_point {
    const struct hs_remote_memory *memory;
    const struct hs_remote_objects *objects;
    const struct hs_remote_maps *maps;
    uint8_t *roles; /* enum hs_object_role, indexed like objects->items */
    struct hs_known_functions functions;
    bool has_own_malloc; /* the program itself defines malloc */
};

/* Finds the roles of all objects. `own_symbol` is a function that only heapscope's library defines.
 * 0 or -errno. */
int hs_safe_point_init(struct hs_safe_point *point, const struct hs_remote_memory *memory,
                       const struct hs_remote_objects *objects, const struct hs_remote_maps *maps,
                       const char *own_symbol);
/* Frees the roles and the known functions. */
void hs_safe_point_deinit(struct hs_safe_point *point);

/* Judges a stack that has just been walked, of a thread in a wait of kind `wait`. True: safe.
 * False: `ret_why` says where the thread is. */
bool hs_safe_point_judge(const struct hs_safe_point *point, const struct hs_remote_stack *stack,
                         enum hs_wait_kind wait, char ret_why[HS_SAFE_POINT_WHY_BYTES]);

/* Are there `need_bytes` of free stack below sp? This can be known only of two kinds of stacks: the
 * main thread's, and one at whose upper end libc has put its data about the thread (`thread_va`).
 * Below a signal handler's or a coroutine's stack there may be anything. */
bool hs_safe_point_has_room(const struct hs_remote_maps *maps, uint64_t sp, uint64_t thread_va,
                            uint64_t need_bytes);

/* The address of the function that the call before `return_va` called, through the procedure
 * linkage table if there is one: from the code before a return address. A function that ends with a
 * jump to an internal one (a tail call) is not on the stack, but the call instruction in its caller
 * still names it. 0: cannot be determined. What is read is hostile: the answer may be a wrong
 * address. */
uint64_t hs_safe_point_callee(const struct hs_remote_memory *memory, uint64_t return_va);
