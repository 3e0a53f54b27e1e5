/*
 * Where a thread may be borrowed: a stopped thread's stack is looked at, frame by frame.
 *
 * What we make it call takes the locks of the allocator and of the loader. If it holds one itself, it waits for
 * itself, for ever; another thread's lock is waited for until that thread, which runs on, is done.
 *
 * Unsafe is a frame in the loader; in an allocator's library; in libc under one of the functions that allocate,
 * load, fork or exit, or under an internal one that nobody knows by name; in the library that we have brought.
 * Where the program has an allocator of its own, an internal function of that looks like any other (a tail call
 * hides the malloc above it), so nothing but a wait that no allocator makes will do: one for descriptors, clocks and
 * the like, or for a condition or the end of another thread.
 * A thread in such a wait is safe when no unsafe frame was found, even if its stack can't be followed to its
 * end, through a JIT compiler's code, say. Any other must have been followed all the way, by unwind information.
 *
 * Threads   no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/remote.h"
#include "inject/known_functions.h"
#include "inject/remote_maps.h"
#include "inject/remote_objects.h"
#include "inject/remote_stack.h"
#include "inject/wait_kind.h"

/* Free stack that a call needs: of dlopen, and of a function that was written for it; with the way back. */
#define HS_SAFE_POINT_LOAD_BYTES (56U * 1024)
#define HS_SAFE_POINT_CALL_BYTES (24U * 1024)
#define HS_SAFE_POINT_WHY_BYTES  120U

enum hs_object_role {
    HS_OBJECT_PLAIN,
    HS_OBJECT_LIBC,      /* its functions are known */
    HS_OBJECT_FORBIDDEN, /* the loader, an allocator, a library of ours */
};

/* What the rules need to know of the process. */
struct hs_safe_point {
    const struct hs_remote_memory *memory;
    const struct hs_remote_objects *objects;
    const struct hs_remote_maps *maps;
    uint8_t *roles; /* enum hs_object_role, by the object's index */
    struct hs_known_functions functions;
    bool has_own_malloc; /* the program itself defines malloc */
};

/* Finds the roles. `own_symbol`: what a library of ours defines. 0 or -errno. */
int hs_safe_point_init(struct hs_safe_point *point, const struct hs_remote_memory *memory,
                       const struct hs_remote_objects *objects, const struct hs_remote_maps *maps,
                       const char *own_symbol);
void hs_safe_point_deinit(struct hs_safe_point *point);

/* Judges a stack that has just been walked. False: `ret_why` says in words where the thread is. */
bool hs_safe_point_judge(const struct hs_safe_point *point, const struct hs_remote_stack *stack,
                         enum hs_wait_kind wait, char ret_why[HS_SAFE_POINT_WHY_BYTES]);

/* Is there so much free stack below sp? Only on a stack of which that is known: the main thread's, and one at whose
 * upper end libc has put what it keeps of the thread (`thread_va`). A signal handler's or a coroutine's may have
 * anything below it. */
bool hs_safe_point_has_room(const struct hs_remote_maps *maps, uint64_t sp, uint64_t thread_va,
                            uint64_t need_bytes);
