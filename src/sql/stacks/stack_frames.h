/*
 * The frames of a database with their functions. The functions that were inlined at a frame are
 * separate functions, outermost first.
 *
 * Threads   one user.
 * Fails     an SQLite error code; the connection has the text, except for SQLITE_NOMEM.
 */
#pragma once

#include <sqlite3.h>

#include "sql/store/id_map.h"
#include "util/buf.h"

#define HS_STACK_NO_TEXT UINT32_MAX

/* Texts are numbers for hs_stack_frames_text(). */
struct hs_stack_function {
    uint32_t name;  /* as in the database; never "", may be HS_STACK_NO_TEXT */
    uint32_t shown; /* the demangled name; a symbol without a name has the name of its frame */
    bool is_named;  /* the name is not NULL, but may be "" */
    uint32_t source_file;
    bool has_line;
    bool is_inlined;
    int64_t line_number;
};

struct hs_stack_frame {
    /* HS_STACK_NO_TEXT: the frame has no mapping, or the mapping has no name */
    uint32_t map_name;
    uint32_t first, count; /* functions, at least one */
};

struct hs_stack_frames {
    struct hs_id_map ids;
    struct hs_stack_frame *frames;
    struct hs_stack_function *functions;
    size_t frame_capacity, function_capacity;
    uint32_t function_count;
    struct hs_intern text_ids;
    struct hs_buf text_bytes;
    size_t *text_offs;
    size_t text_capacity;
};

/* Reads all frames and symbols of the database. */
int hs_stack_frames_load(sqlite3 *db, struct hs_stack_frames *frames);
/* Frees the arrays. */
void hs_stack_frames_deinit(struct hs_stack_frames *frames);

/* The text with this number; NULL for HS_STACK_NO_TEXT. */
static inline const char *hs_stack_frames_text(const struct hs_stack_frames *frames, uint32_t text)
{
    return text == HS_STACK_NO_TEXT ? NULL : frames->text_bytes.data + frames->text_offs[text];
}
