/*
 * Objects in V8's heap: tagged words, types, small integers, and texts.
 *
 * The garbage collector may have moved an object and not yet all references to it: then the map's
 * place contains the new address, and the object is read there.
 *
 * Trust     whatever is read may be anything. No function here reads more than a fixed amount.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "v8/v8_layout.h"

/* V8, and how to read it. */
struct hs_v8 {
    const struct hs_v8_layout *layout;
    struct hs_js_memory memory;
};

/* A text that is being put together: UTF-8, at most `max_bytes`, without NUL at its end. */
struct hs_v8_text {
    char *text;
    uint32_t bytes;
    uint32_t max_bytes;
    bool is_cut; /* there was no more room */
};

/* Is this tagged word the address of an object? */
static inline bool hs_v8_is_object(const struct hs_v8 *v8, uint64_t word)
{
    return (word & (uint64_t)v8->layout->value[HS_V8_OBJECT_TAG_MASK]) ==
           (uint64_t)v8->layout->value[HS_V8_OBJECT_TAG];
}

/* Reads a word of an object, or behind its fields. `offset_bytes` counts from its start. */
bool hs_v8_word(const struct hs_v8 *v8, uint64_t object, int64_t offset_bytes, uint64_t *ret_word);

/* The number in a tagged word. False: it is none, or negative. */
bool hs_v8_smi(const struct hs_v8 *v8, uint64_t word, uint32_t *ret_number);

/* Follows *object to where the garbage collector has moved it, and reads its map. False: it is no
 * object. */
bool hs_v8_follow(const struct hs_v8 *v8, uint64_t *object, uint64_t *ret_map);

/* The same, and reads its type. */
bool hs_v8_type(const struct hs_v8 *v8, uint64_t *object, uint32_t *ret_type);

/* Appends a string. False: it is no string, or cannot be read; what could be read is there. */
bool hs_v8_text_add(const struct hs_v8 *v8, uint64_t string, struct hs_v8_text *text);

/* Counts the line ends before a position in a string, which is flat; false where it is not, or
 * where the position is more than HS_V8_SCAN_CHARS_MAX behind its start. */
#define HS_V8_SCAN_CHARS_MAX (256U * 1024)
bool hs_v8_count_lines(const struct hs_v8 *v8, uint64_t string, uint32_t position,
                       uint32_t *ret_line_ends);
