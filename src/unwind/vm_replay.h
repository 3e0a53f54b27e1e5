/*
 * Replay of walks through frames of virtual machines, which depend on more than stack words.
 *
 * Such a walk has notes (walk.h): which piece of code, method or function its frames belonged to.
 * The stack words that it read, and a list of its notes, make a *path*. When the same words come
 * again, the notes are checked one after the other, from the innermost frame outwards, by the
 * virtual machine's own reader. Code and methods must be the same, otherwise the stack is walked
 * anew. Functions may be others: V8's collector moves them, and its interpreter runs all functions
 * with the same return addresses. So a path does not lead to one stack, but together with the
 * functions that its frames belong to now.
 *
 * The words of a path are kept by replay.h, in a table of their own: programs without a virtual
 * machine have neither, and their stacks are found as before.
 *
 * Holds     a path has the notes of the walk that it was made from, in the same order.
 * Requires  the result of a walk is determined by its words, by its notes of code and methods, and
 *           by the users of its notes of functions.
 * Threads   one; not even a signal handler of that thread may come in between.
 * Fails     a walk that is not replayable or has no notes is not stored. When there is no room, all
 *           paths are forgotten.
 * See       docs/adr/0050-replay-of-virtual-machine-frames.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/replay.h"
#include "unwind/walk.h"

/* Checks a note of an earlier walk that began at the same sp. False: the frame is not what it was.
 * Otherwise *ret_user says, for HS_VM_NOTE_FUNCTION, to which function it belongs now. */
typedef bool (*hs_vm_check_fn)(void *ctx, const struct hs_vm_note *note, uint64_t sp,
                               uint32_t *ret_user);

#define HS_VM_REPLAY_SLOTS       2048U
#define HS_VM_REPLAY_ARENA_BYTES (1U << 20)
#define HS_VM_REPLAY_PATHS       4096U
#define HS_VM_REPLAY_NOTES       32768U
#define HS_VM_REPLAY_STACKS      4096U

/* Where the words of a stack led. */
struct hs_vm_path {
    uint32_t first_note;
    uint32_t note_count;
};

/* The stack of a path with certain functions. */
struct hs_vm_stack {
    uint64_t key; /* a hash of the path and of its functions; 0: none */
    uint32_t user;
};

/* The table of a thread: 2.2 MiB of zeroed memory, of which only what is touched counts. */
struct hs_vm_replay {
    struct hs_replay words; /* its users are indexes of paths */
    uint64_t era;           /* paths of earlier ones are forgotten */
    uint32_t path_count;
    uint32_t note_count;
    /* What the last search has found, for the walk that follows it. */
    struct {
        bool has_path; /* a path whose notes were right */
        uint64_t key;  /* of that path and its functions */
    } last;
    struct hs_vm_path paths[HS_VM_REPLAY_PATHS];
    struct hs_vm_note notes[HS_VM_REPLAY_NOTES];
    struct hs_vm_stack stacks[HS_VM_REPLAY_STACKS];
    _Alignas(64) uint8_t memory[HS_REPLAY_BYTES(HS_VM_REPLAY_SLOTS, HS_VM_REPLAY_ARENA_BYTES)];
};

/* Makes an empty table of memory that is zero. */
void hs_vm_replay_init(struct hs_vm_replay *replay);

/* Forgets everything, in whatever state the table was left. */
void hs_vm_replay_forget(struct hs_vm_replay *replay);

/* Finds the stack at `start`. True: it is the one that was stored as *ret_user. The window may be
 * extended. */
bool hs_vm_replay_find(struct hs_vm_replay *replay, const struct hs_regs *start,
                       struct hs_stack_window *window, uint64_t generation, hs_vm_check_fn check,
                       void *check_ctx, uint32_t *ret_user);

/* Keeps `walk`, which followed the search for `start`, as the stack `user`. */
void hs_vm_replay_store(struct hs_vm_replay *replay, const struct hs_regs *start,
                        const struct hs_walk *walk, uint64_t generation, uint32_t user);

/* For assertions: are the words' table, and all paths, whole? */
bool hs_vm_replay_is_valid(const struct hs_vm_replay *replay);
