/*
 * The frames of a script: what a reader of an interpreter's structures finds in a running thread.
 *
 * A reader goes from the innermost frame outward and calls `add` for each. One call of the
 * interpreter's run loop may run many frames of the script; after the outermost of them the reader
 * calls `end_entry`, so that the frames can stand among the native ones where that call stands.
 *
 * A frame is reported as a place: the addresses of its function and of its current instruction. The
 * reader describes a place only if it was not met before, or if the memory behind it has changed:
 * that takes many times longer (thread/place_cache.h).
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/script/script_memory.h"

/* Frames of one stack, at most: of a deeper one the outer frames are left out. */
#define HS_SCRIPT_FRAMES_MAX 160U

/* Frames that a reader looks at, at most, with those that it does not report. */
#define HS_SCRIPT_STEPS_MAX 4096U

/* The longest name of a function that readers put together, with the NUL. */
#define HS_SCRIPT_NAME_BYTES 256U

/* A text that is not NUL-terminated; valid while the reader runs. */
struct hs_script_text {
    const char *text; /* NULL: unknown */
    uint32_t bytes;
    uint64_t va; /* of a file's name: an address that no other name has meanwhile; else 0 */
};

/* Where a frame is. Two frames with equal places have the same description, as long as the memory
 * that the description was read from is the same. */
struct hs_script_place {
    uint64_t code_va; /* its function */
    uint64_t at_va;   /* its instruction or statement; 0: none */
    uint32_t kind;    /* the reader's own number, below 256 */
    uint64_t root_va; /* for the reader, where it is not the same for all threads; it identifies
                       * nothing */
};

/* A place in words. */
struct hs_script_frame {
    struct hs_script_text function;  /* NULL: no frame is to be shown */
    struct hs_script_text file;      /* many places have the same, so its `va` is given */
    uint32_t line;                   /* that it runs; 0: unknown */
    uint32_t first_line;             /* of the function; 0: unknown */
    char name[HS_SCRIPT_NAME_BYTES]; /* room for a function's name that is put together */
};

/* Describes a place. `roots`: what is known of the interpreter. `ret_frame` is all zero. False: it
 * is not what the reader knows. */
typedef bool hs_script_describe_fn(const void *roots, struct hs_script_memory *memory,
                                   const struct hs_script_place *place,
                                   struct hs_script_frame *ret_frame);

/* What became of a place that was reported. */
enum hs_script_added {
    HS_SCRIPT_ADDED,
    HS_SCRIPT_SKIPPED, /* no frame is to be shown */
    HS_SCRIPT_NO_ROOM, /* the reader stops */
    HS_SCRIPT_WRONG,   /* it is not what the reader knows */
};

/* What a reader reports to. */
struct hs_script_sink {
    enum hs_script_added (*add)(void *ctx, const struct hs_script_place *place);
    /* Of the frames that were added, those from the last such call up to the first `frame_count`
     * belong to one call of the run loop. */
    void (*end_entry)(void *ctx, uint32_t frame_count);
    void *ctx;
};

/* What all readers have while they read. */
struct hs_script_walk {
    struct hs_script_memory *memory;
    const struct hs_script_sink *sink;
    uint32_t frame_count; /* reported */
    bool is_full;
};

/* Reports a place. False: it is not what the reader knows. */
static inline bool hs_script_report(struct hs_script_walk *walk,
                                    const struct hs_script_place *place)
{
    enum hs_script_added added = walk->sink->add(walk->sink->ctx, place);
    walk->frame_count += added == HS_SCRIPT_ADDED;
    walk->is_full |= added == HS_SCRIPT_NO_ROOM;
    return added != HS_SCRIPT_WRONG;
}

/* All frames up to here belong to one call of the run loop. */
static inline void hs_script_end_entry(struct hs_script_walk *walk)
{
    walk->sink->end_entry(walk->sink->ctx, walk->frame_count);
}

/* How a reader ended. */
enum hs_script_end {
    HS_SCRIPT_WHOLE,
    HS_SCRIPT_CUT,     /* the stack is deeper */
    HS_SCRIPT_NONE,    /* this thread runs no script */
    HS_SCRIPT_UNKNOWN, /* the structures are not what the reader knows; no frame may be used */
};

/* The part of a text that may be stored: up to `limit_bytes`, and up to a NUL. */
static inline struct hs_script_text hs_script_clip(struct hs_script_text text, uint32_t limit_bytes)
{
    uint32_t bytes = text.bytes < limit_bytes ? text.bytes : limit_bytes;
    if (text.text) {
        text.bytes = (uint32_t)strnlen(text.text, bytes);
    }
    return text;
}

/* Appends to a name in a buffer of HS_SCRIPT_NAME_BYTES; what does not fit is left out. */
static inline void hs_script_append(char *name, uint32_t *bytes, struct hs_script_text text)
{
    uint32_t room = HS_SCRIPT_NAME_BYTES - 1 - *bytes;
    text = hs_script_clip(text, room);
    if (text.text) {
        memcpy(name + *bytes, text.text, text.bytes);
        *bytes += text.bytes;
    }
}

#define HS_SCRIPT_TEXT(literal)                                                                    \
    {                                                                                              \
        .text = "" literal, .bytes = sizeof(literal) - 1                                           \
    }
#define HS_SCRIPT_LITERAL(literal) ((struct hs_script_text)HS_SCRIPT_TEXT(literal))
