/*
 * The functions that a CPython interpreter runs in one thread, read from its frames.
 *
 * A walk starts at a thread state and follows the chain of frames outwards. It reads memory only
 * through struct hs_script_memory, which checks each address, and it trusts nothing: if a frame has
 * a code object of another type than it should have, or that has such texts, describing it fails.
 * So wrong places of fields (python_layout.h) and frames that are half changed are noticed.
 *
 * Groups. One native frame of the interpreter's evaluation function runs one function of Python up
 * to version 3.10, and several since: these are a group. The walk says where groups end, so that
 * the caller can put each group in the place of its native frame.
 *
 * Only the frames themselves are read. What they run is a place (struct hs_script_place), which is
 * described when it is new, by hs_python_describe(): that shows whether it is a code object.
 *
 * Threads   each walk has its own hs_python_walk. The frames are those of the calling thread, or of
 *           one that does not run.
 * Fails     enum hs_python_result; describing: false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/python/python_layout.h"
#include "client/script/script_frames.h"

/* What a walk must know of the interpreter. */
struct hs_python_types {
    struct hs_python_layout layout;
    uint64_t code_type_va;
    uint64_t unicode_type_va;
};

/* A walk keeps the innermost and the outermost frames. */
#define HS_PYTHON_FRAMES_INNER 192U
#define HS_PYTHON_FRAMES_OUTER 64U
#define HS_PYTHON_FRAMES_MAX   (HS_PYTHON_FRAMES_INNER + HS_PYTHON_FRAMES_OUTER)
/* No chain is followed further than this. */
#define HS_PYTHON_WALK_MAX 16384U

struct hs_python_frame {
    uint64_t va;
    uint64_t back_va; /* of the next frame outwards; 0: there is none */
    uint64_t code_va; /* 0: no function; an empty group */
    uint64_t at_va;   /* what the frame has of its instruction: an address, or since which one */
    uint32_t group;   /* 0: the innermost */
    bool is_entry;    /* its group ends with it */
};

/* The last walk stays in it: the next one says which frames have changed. All zero: none. */
struct hs_python_walk {
    uint32_t count;   /* in frames: innermost first, then those beyond the gap */
    uint32_t cut_idx; /* frames[cut_idx] is the first one beyond the gap; 0: no gap */
    uint32_t group_count;
    /* The frames from this one on are those that the last walk had there. */
    uint32_t changed_count;
    struct hs_python_frame frames[HS_PYTHON_FRAMES_MAX];
};

enum hs_python_result {
    HS_PYTHON_FOUND,
    HS_PYTHON_IDLE,    /* the thread runs no function of Python */
    HS_PYTHON_USELESS, /* what was read makes no sense */
};

/* Reads the frames of a thread state. `thread_id`: what the state must say of its thread. The walk
 * is empty afterwards if it was not found. */
enum hs_python_result hs_python_frames_walk(struct hs_script_memory *memory,
                                            const struct hs_python_types *types, uint64_t state_va,
                                            uint64_t thread_id, struct hs_python_walk *walk);

/* The longest texts, with the NUL. */
#define HS_PYTHON_FUNCTION_BYTES 512U
#define HS_PYTHON_FILE_BYTES     4096U

/* The texts of a frame: UTF-8; half surrogates and NULs are question marks. */
struct hs_python_description {
    char function[HS_PYTHON_FUNCTION_BYTES];
    char file[HS_PYTHON_FILE_BYTES];
};

/* What describing needs beside memory. */
struct hs_python_roots {
    const struct hs_python_types *types;
    struct hs_python_description *words; /* room */
};

/* Describes a frame; `roots` is a struct hs_python_roots. The interpreter's own helpers are not
 * shown. */
hs_script_describe_fn hs_python_describe;

static inline struct hs_script_place hs_python_place(const struct hs_python_frame *frame)
{
    return (struct hs_script_place){ .code_va = frame->code_va, .at_va = frame->at_va };
}
