/*
 * The types of a walk: what its caller provides, and what it gets.
 *
 * Ensures   frames[0] is the innermost. At most HS_FRAMES_MAX - 1 frames are kept. Of a deeper
 *           stack the innermost and the outermost ones are kept, and `cut_idx` says where the gap
 *           is. (One place is left for the caller to mark the gap with.)
 * See       unwind.h for the walk itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/module.h"
#include "unwind/rule_cache.h"

#define HS_FRAMES_MAX 256U
/* Of a deeper stack this many innermost frames are kept; the rest are the outermost. */
#define HS_FRAMES_INNER 191U
#define HS_FRAMES_OUTER (HS_FRAMES_MAX - 1U - HS_FRAMES_INNER)
/* No stack is followed further than this. */
#define HS_FRAMES_WALK_MAX 65536U
/* No walk crosses more signal frames than this: each may lead anywhere. */
#define HS_SIGNALS_WALK_MAX 16U
/* Stack words that a walk remembers for replay: enough for 256 frames with rbp saved in half of
 * them. */
#define HS_WALK_WORDS_MAX 384U
/* Frames of virtual machines of which a walk remembers what they depend on. */
#define HS_VM_NOTES_MAX 256U

/* Why a walk ended. The numbers are those of enum hs_stack_end. */
enum hs_unwind_end {
    HS_UNWIND_END,        /* the outermost frame, as its unwind information says */
    HS_UNWIND_NO_INFO,    /* code without unwind information, and no frame pointer to follow */
    HS_UNWIND_BAD_INFO,   /* unwind information that cannot be used */
    HS_UNWIND_UNREADABLE, /* stack memory that cannot be read */
    HS_UNWIND_NO_ADVANCE, /* the next frame is not further out */
    HS_UNWIND_NO_MODULE,  /* a return address outside all code */
    HS_UNWIND_TOO_DEEP,   /* HS_FRAMES_WALK_MAX reached */
    HS_UNWIND_END_N,
};

/* Stack memory that may be read: [lo_va, hi_va). A walk that needs a word outside it calls
 * `extend`, which returns true after it has changed the window so that the 8 bytes at `va` are
 * inside: by growing it, or, where another stack begins (a signal stack is left), by moving it.
 * NULL: the window cannot be extended. */
struct hs_stack_window {
    uint64_t lo_va;
    uint64_t hi_va;
    /* The byte at va is read at (const uint8_t *)(va + shift). 0 in process. */
    uint64_t shift;
    bool (*extend)(struct hs_stack_window *window, uint64_t va);
    void *ctx;
};

/* What `resolve` returns for a pc. */
struct hs_resolved {
    /* NULL: code without unwind information (of a JIT compiler): frame pointers are tried. Valid
     * until the walk returns. */
    const struct hs_unwind_module *module;
    uint32_t user; /* the frame's id */
    /* The code belongs to a virtual machine that describes it (hs_vm_frame_fn): there is neither
     * module nor id, and nothing is cached, because such code is freed and its place used again. */
    bool is_vm;
};

/* Finds the code at pc. `is_exact`: pc is the next instruction of an interrupted frame; otherwise
 * it is a return address, and the call is before it. False: there is no code at pc (nothing is
 * cached; the walk ends). */
typedef bool (*hs_resolve_fn)(void *ctx, uint64_t pc, bool is_exact,
                              struct hs_resolved *ret_resolved);

/* Methods that a compiler inlined into one frame, at most. */
#define HS_VM_IDS_MAX 128U

/* How the caller of a virtual machine's frame is found. */
enum hs_vm_caller {
    HS_VM_FIXED,         /* frame_bytes above sp: rbp was saved below the return address */
    HS_VM_FRAME_POINTER, /* by rbp */
    HS_VM_GUESS,         /* by rbp, which may be no frame pointer */
    HS_VM_INTERPRETED,   /* by rbp, and the caller's sp is caller_sp */
    HS_VM_UNKNOWN,       /* not at all: the walk ends */
};

struct hs_stack_reader;
struct hs_walker;

/* What the result of a walk depends on besides stack words: what one frame of a virtual machine was
 * found to be. Who describes or names such frames notes it, and checks it before the result is used
 * again: see vm_replay.h. */
enum hs_vm_note_kind {
    HS_VM_NOTE_CODE,     /* the piece of code at `at` is the one that `expected` identifies */
    HS_VM_NOTE_METHOD,   /* the interpreted method `method_va`, at bytecode `at`, has the content
                          * `expected` */
    HS_VM_NOTE_FUNCTION, /* the frame whose frame pointer is `at` bytes above the walk's start
                          * belongs to the function with the frame `user` */
};
struct hs_vm_note {
    uint32_t kind;
    uint32_t user; /* HS_VM_NOTE_FUNCTION; UINT32_MAX: to no function */
    uint64_t at;
    uint64_t method_va;
    uint64_t expected;
};

/* A frame of a virtual machine's code: what the walk knows of it, and what it is told. */
struct hs_vm_frame {
    uint64_t pc;
    uint64_t sp;
    bool is_exact; /* pc was interrupted */
    struct hs_stack_reader *reader;
    struct hs_walker *walker; /* for hs_vm_frame_bp */

    /* The answer depends only on stack words that were read through `reader`, and on what is noted
     * in the walk. */
    bool is_replayable;
    enum hs_vm_caller caller;
    uint32_t frame_bytes;
    uint64_t caller_sp;
    uint32_t id_count; /* at least 1 */
    uint32_t ids[HS_VM_IDS_MAX];
};

/* Reads the frame pointer, on which the walk depends from now on: in most compiled code rbp is
 * data, different each time. False: it cannot be read. */
bool hs_vm_frame_bp(const struct hs_vm_frame *frame, uint64_t *ret_bp);

/* Describes the frame at frame->pc, of which `resolve` said that it is a virtual machine's. False:
 * there is no code there, or no room for ids. */
typedef bool (*hs_vm_frame_fn)(void *ctx, struct hs_vm_frame *frame);

/* Names the function to which a frame of code without unwind information belongs, by the words of
 * the frame, whose frame pointer is `bp` and whose lowest word is at `sp`. True: it is the frame
 * *ret_user. Sets *ret_is_lasting to false if the answer depends on more than the words that were
 * read through `reader`, and what is noted in its walk. */
typedef bool (*hs_name_frame_fn)(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                                 bool *ret_is_lasting, uint32_t *ret_user);

/* What walks share: the rule cache, and how code is found. */
struct hs_unwinder {
    struct hs_rule_cache *cache;
    hs_resolve_fn resolve;
    void *resolve_ctx;
    hs_vm_frame_fn vm_frame;     /* NULL: `resolve` never says is_vm */
    hs_name_frame_fn name_frame; /* NULL: no frame has such a name */
};

/* The result of a walk. About 14 KiB: to be kept in static or mapped memory, not on a stack that
 * may be small. Need not be initialized. */
struct hs_walk {
    enum hs_unwind_end end;
    uint32_t frame_count;
    uint32_t cut_idx;       /* frames[cut_idx] is the first one beyond the gap; 0: no gap */
    uint32_t skipped_count; /* frames in the gap */
    /* The id + 1 of the innermost frame without unwind information whose caller was found by its
     * frame pointer: if it has none, frames in between are missing without a mark. 0: there was
     * none. */
    uint32_t guessed_frame;
    uint32_t frames[HS_FRAMES_MAX];

    /* What the walk depended on besides pc, sp and the modules: for replay.h. */
    bool is_replayable;
    bool has_used_bp; /* the start value of bp was used */
    uint32_t word_count;
    uint64_t top_va;                         /* all words lie below */
    uint32_t word_va_low[HS_WALK_WORDS_MAX]; /* the low half of its address */
    uint64_t word[HS_WALK_WORDS_MAX];
    /* Not 0: it can be replayed only after these have been checked (vm_replay.h). In the order of
     * the frames. */
    uint32_t note_count;
    struct hs_vm_note note[HS_VM_NOTES_MAX];
};
