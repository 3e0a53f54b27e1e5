/*
 * The frames of a script: what a reader of an interpreter's structures finds in a running thread.
 *
 * A reader goes from the innermost frame outward and calls `add` for each. One call of the
 * interpreter's run loop may run many frames of the script; after the outermost of them the reader
 * calls `end_entry`, so that the frames can stand among the native ones where that call stands.
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
};

struct hs_script_frame {
    struct hs_script_text function;
    struct hs_script_text file;
    uint32_t line;       /* that it runs; 0: unknown */
    uint32_t first_line; /* of the function; 0: unknown */
};

/* What a reader reports to. */
struct hs_script_sink {
    /* False: there is no room for more, and the reader stops. */
    bool (*add)(void *ctx, const struct hs_script_frame *frame);
    /* Of the frames that were added, those from the last such call up to the first `frame_count`
     * belong to one call of the run loop. */
    void (*end_entry)(void *ctx, uint32_t frame_count);
    void *ctx;
};

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

#define HS_SCRIPT_LITERAL(literal)                                                                 \
    ((struct hs_script_text){ .text = "" literal, .bytes = sizeof(literal) - 1 })
