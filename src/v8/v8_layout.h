/*
 * Where V8 keeps what is needed to name a JavaScript function: offsets, types and tags, from the
 * symbols that V8 exports for debuggers (v8dbg_*). Each is an int in the program's memory.
 *
 * A tagged word is a small integer or the address of an object, plus a tag. An object begins with
 * the tagged address of its map, which has the object's type.
 *
 * Ensures   all values of a layout that was read are in sensible ranges.
 * Trust     symbols and values are untrusted.
 * See       docs/adr/0049-javascript-functions.md
 */
#pragma once

#include <stdint.h>

#include "v8/js_memory.h"

enum hs_v8_value {
    /* In a frame, from its frame pointer. */
    HS_V8_FRAME_CONTEXT,
    HS_V8_FRAME_FUNCTION,
    /* Tags. */
    HS_V8_OBJECT_TAG,
    HS_V8_OBJECT_TAG_MASK,
    HS_V8_SMI_SHIFT, /* the tag's bits */
    HS_V8_SMI_SHIFT_MORE,
    HS_V8_TAGGED_BYTES,
    /* Types. */
    HS_V8_TYPE_CONTEXT_FIRST,
    HS_V8_TYPE_CONTEXT_LAST,
    HS_V8_TYPE_FUNCTION, /* the first of several */
    HS_V8_TYPE_SHARED,
    HS_V8_TYPE_SCOPE,
    HS_V8_TYPE_SCRIPT,
    HS_V8_TYPE_FIXED_ARRAY,
    HS_V8_TYPE_STRING_END, /* all smaller types are strings */
    /* In the type of a string. */
    HS_V8_STRING_KIND_MASK,
    HS_V8_STRING_WIDTH_MASK,
    HS_V8_STRING_ONE_BYTE,
    HS_V8_STRING_SEQ,
    HS_V8_STRING_CONS,
    HS_V8_STRING_EXTERNAL,
    HS_V8_STRING_SLICED,
    HS_V8_STRING_THIN,
    /* Offsets of fields in objects. */
    HS_V8_OBJECT_MAP,
    HS_V8_MAP_TYPE,
    HS_V8_FUNCTION_SHARED,
    HS_V8_SHARED_NAME, /* of the name, or of the scope that has it */
    HS_V8_SHARED_SCRIPT,
    HS_V8_SHARED_FLAGS,
    HS_V8_SCRIPT_NAME,
    HS_V8_SCRIPT_SOURCE,
    HS_V8_SCRIPT_LINE_ENDS,
    HS_V8_SCRIPT_EVAL_FROM,
    HS_V8_STRING_LENGTH,
    HS_V8_ONE_BYTE_CHARS,
    HS_V8_TWO_BYTE_CHARS,
    HS_V8_CONS_FIRST,
    HS_V8_CONS_SECOND,
    HS_V8_SLICED_PARENT,
    HS_V8_SLICED_OFFSET,
    HS_V8_THIN_ACTUAL,
    HS_V8_EXTERNAL_RESOURCE,
    HS_V8_ARRAY_LENGTH,
    HS_V8_ARRAY_DATA,
    /* In a scope: numbers of words behind the map. */
    HS_V8_SCOPE_LOCAL_COUNT,
    HS_V8_SCOPE_FIRST_VARS,
    HS_V8_VALUE_N,
};

/* The fields that identify a function lie in the first bytes of their objects, and the last one of
 * each object behind the others. */
#define HS_V8_HEAD_BYTES 160U

/* What is known of a V8. */
struct hs_v8_layout {
    int32_t value[HS_V8_VALUE_N];
};

/* The words of a scope between the number of its local variables and the first of these. V8 13
 * (node 24) and later have the function's position there, in two words; older ones have none, and
 * the position is behind the local variables and names. */
static inline int32_t hs_v8_scope_position_words(const struct hs_v8_layout *layout)
{
    return layout->value[HS_V8_SCOPE_FIRST_VARS] - layout->value[HS_V8_SCOPE_LOCAL_COUNT] - 1;
}

/* Whether a V8 can be read. */
enum hs_v8_refusal {
    HS_V8_READ,
    HS_V8_NO_SYMBOLS,     /* it exports no, or not all, symbols for debuggers */
    HS_V8_UNKNOWN_LAYOUT, /* their values make no sense, or are not supported */
};

/* Finds the address of an exported symbol; 0: there is none. */
typedef uint64_t (*hs_v8_symbol_fn)(void *ctx, const char *name);

/* Reads the values. *ret_layout is whole only if the result is HS_V8_READ. */
enum hs_v8_refusal hs_v8_layout_read(const struct hs_js_memory *memory, hs_v8_symbol_fn find,
                                     void *find_ctx, struct hs_v8_layout *ret_layout);
