/*
 * The functions that a CPython interpreter runs in one thread, read from its frames.
 *
 * A walk starts at a thread state and follows the chain of frames outwards. It reads memory only
 * through struct hs_python_memory, which checks each address, and it trusts nothing: a frame whose
 * code object, or whose texts, have not the type that they should have ends the walk without a
 * result. So wrong places of fields (python_layout.h) and frames that are half changed are noticed.
 *
 * Groups. One native frame of the interpreter's evaluation function runs one function of Python up
 * to version 3.10, and several since: these are a group. The walk says where groups end, so that
 * the caller can put each group in the place of its native frame.
 *
 * Identity. A frame has a hash of its code object's address and of what tells that the object is
 * still the same: addresses, lengths and hashes of its texts and of its line table, and its first
 * line. Code objects are freed, and others lie there later.
 *
 * Threads   each walk has its own hs_python_walk. The frames are those of the calling thread, or of
 *           one that does not run.
 * Fails     enum hs_python_result; describing: false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/python/python_layout.h"

/* How memory is read. */
struct hs_python_memory {
    /* Where `bytes` bytes at `va` can be read; NULL: nowhere. Valid until the next call. */
    const uint8_t *(*at)(void *ctx, uint64_t va, uint32_t bytes);
    void *ctx;
};

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

/* A frame has not begun: it has no instruction yet. */
#define HS_PYTHON_NOT_BEGUN UINT32_MAX

struct hs_python_frame {
    uint64_t code_va; /* 0: no function; an empty group */
    uint64_t hash;    /* of the code object and the instruction */
    uint32_t off;     /* of the instruction, in bytes; HS_PYTHON_NOT_BEGUN */
    uint32_t group;   /* 0: the innermost */
};

struct hs_python_walk {
    uint32_t count;   /* in frames: innermost first, then those beyond the gap */
    uint32_t cut_idx; /* frames[cut_idx] is the first one beyond the gap; 0: no gap */
    uint32_t group_count;
    uint64_t hash; /* of all frames that are kept */
    struct hs_python_frame frames[HS_PYTHON_FRAMES_MAX];
};

enum hs_python_result {
    HS_PYTHON_FOUND,
    HS_PYTHON_IDLE,    /* the thread runs no function of Python */
    HS_PYTHON_USELESS, /* what was read makes no sense */
};

/* Reads the frames of a thread state. `thread_id`: what the state must say of its thread. */
enum hs_python_result hs_python_frames_walk(const struct hs_python_memory *memory,
                                            const struct hs_python_types *types, uint64_t state_va,
                                            uint64_t thread_id, struct hs_python_walk *ret_walk);

/* The longest texts, with the NUL. */
#define HS_PYTHON_FUNCTION_BYTES 512U
#define HS_PYTHON_FILE_BYTES     4096U

/* A frame in words. */
struct hs_python_description {
    uint32_t line;       /* 0: unknown */
    uint32_t first_line; /* of the function; 0: unknown */
    uint32_t function_bytes, file_bytes;
    /* UTF-8; half surrogates and NULs are question marks. */
    char function[HS_PYTHON_FUNCTION_BYTES];
    char file[HS_PYTHON_FILE_BYTES];
};

/* Describes a frame that the last walk found. */
bool hs_python_frame_describe(const struct hs_python_memory *memory,
                              const struct hs_python_types *types,
                              const struct hs_python_frame *frame,
                              struct hs_python_description *ret);
