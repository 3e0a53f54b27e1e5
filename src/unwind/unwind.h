/*
 * Unwinding: from the registers at a call to the chain of callers.
 *
 * Pure: registers, module bytes and a description of readable stack in; frames out. No globals, no
 * libc calls, no allocation, no locks, so it can run inside malloc, in a signal handler, or outside
 * the target on a copy.
 *
 * A frame is found in three steps: its pc looks up a cached rule (rule_cache.h), the rule is applied
 * (arch), and the next pc is read from the stack. A miss asks the `resolve` callback for the module
 * and interprets its call frame information (cfi.h). The callback also names the frame by a 32-bit
 * id of its own choosing, which the cache keeps, so a walk yields ids and never looks at a module
 * again. In front of all that, replay.h recognises a stack that was walked before.
 *
 * Holds     frames[0] is the innermost. At most HS_FRAMES_MAX - 1 are kept: when a stack is deeper,
 *           the innermost and the outermost ones, with `cut_idx` telling where the gap is. (One
 *           place is left for the caller to mark the gap with.)
 * Threads   a walk writes only to its own hs_walk, hs_stack_window, and the rule cache.
 * Fails     never: a walk that cannot go on says why in `end`, and what was found stays.
 * See       docs/UNWINDING.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "unwind/module.h"
#include "unwind/rule_cache.h"

#define HS_FRAMES_MAX 256U
/* Of a stack deeper than that, this many innermost ones are kept; the rest are the outermost. */
#define HS_FRAMES_INNER 191U
#define HS_FRAMES_OUTER (HS_FRAMES_MAX - 1U - HS_FRAMES_INNER)
/* No stack is followed further than this. */
#define HS_FRAMES_WALK_MAX 65536U
/* No stack crosses more signal frames than this: each may jump anywhere. */
#define HS_SIGNALS_WALK_MAX 16U
/* Stack words a walk remembers for replay. Of 256 frames with rbp saved in half of them. */
#define HS_WALK_WORDS_MAX 384U

enum hs_unwind_end {
    HS_UNWIND_END,        /* the outermost frame, as its unwind information says */
    HS_UNWIND_NO_INFO,    /* code without unwind information, and no frame pointer to follow */
    HS_UNWIND_BAD_INFO,   /* unwind information that cannot be used */
    HS_UNWIND_UNREADABLE, /* stack memory that may not be read */
    HS_UNWIND_NO_ADVANCE, /* the next frame is not further out */
    HS_UNWIND_NO_MODULE,  /* a return address outside all code */
    HS_UNWIND_TOO_DEEP,   /* HS_FRAMES_WALK_MAX reached */
    HS_UNWIND_END_N,
};

/* Stack memory that may be read: [lo_va, hi_va). `extend` is asked when a word outside is wanted;
 * it returns true after it has changed the window so that the word at `va` (8 bytes) is inside: by
 * growing it, or, where another stack begins (a signal stack is left), by moving it. NULL: this is
 * all there is. */
struct hs_stack_window {
    uint64_t lo_va;
    uint64_t hi_va;
    /* Where we read: the byte at va is at (const uint8_t *)(va + shift). 0 in process. */
    uint64_t shift;
    bool (*extend)(struct hs_stack_window *window, uint64_t va);
    void *ctx;
};

/* What `resolve` knows of a pc. */
struct hs_resolved {
    /* NULL: code without unwind information (of a JIT compiler): frame pointers are tried. Valid
     * until the walk returns. */
    const struct hs_unwind_module *module;
    uint32_t user; /* the frame's id */
};

/* `is_exact`: pc is the next instruction of an interrupted frame; otherwise a return address, and
 * the call is before it. False: there is no code at pc (nothing is cached; the walk ends). */
typedef bool (*hs_resolve_fn)(void *ctx, uint64_t pc, bool is_exact,
                              struct hs_resolved *ret_resolved);

struct hs_unwinder {
    struct hs_rule_cache *cache;
    hs_resolve_fn resolve;
    void *resolve_ctx;
};

/* About 6 KiB: keep it in memory of your own, not on a stack that may be small. Need not be
 * initialised. */
struct hs_walk {
    enum hs_unwind_end end;
    uint32_t frame_count;
    uint32_t cut_idx;       /* frames[cut_idx] is the first one beyond the gap; 0: no gap */
    uint32_t skipped_count; /* frames in the gap */
    /* The id + 1 of the innermost frame without unwind information whose caller was found by its frame pointer: if it
     * has none, frames between are missing without a mark. 0: there was none. */
    uint32_t guessed_frame;
    uint32_t frames[HS_FRAMES_MAX];

    /* What the walk depended on besides pc, sp and the modules: for replay.h. */
    bool is_replayable;
    bool has_used_bp; /* the start value of bp mattered */
    uint32_t word_count;
    uint64_t top_va;                         /* all words lie below */
    uint32_t word_va_low[HS_WALK_WORDS_MAX]; /* the low half of its address */
    uint64_t word[HS_WALK_WORDS_MAX];
};

/*
 * Has the rules brought near that a walk from `sp` will probably need. A walk waits for each rule before
 * it knows the next pc. But the outer part of a stack changes little from one walk to the next, so
 * return addresses lie where the last one found them: all their rules can be asked for at once.
 * `last`: a walk of this thread, or zeroes.
 */
void hs_unwind_prefetch(const struct hs_unwinder *unwinder, uint64_t sp,
                        const struct hs_stack_window *window, const struct hs_walk *last);

/* Walks from `start`. `start->pc` is a return address, or, if is_exact, where a signal interrupted.
 * `window` holds what is known to be readable at and above start->sp (both ends may be equal to
 * start->sp: then extend is asked at once). */
void hs_unwind_walk(const struct hs_unwinder *unwinder, const struct hs_regs *start, bool is_exact,
                    struct hs_stack_window *window, struct hs_walk *ret_walk);
