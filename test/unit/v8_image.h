/*
 * Memory with V8's symbols and objects, made by hand: with the layout of V8 11.3 (node 20) or, if
 * `is_v8_13`, of V8 13.6 (node 24). Types are those of V8 11.3.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "v8/v8_layout.h"

#define V8_IMAGE_VA    UINT64_C(0x100000)
#define V8_IMAGE_BYTES (1U << 20)

/* Types, as in V8 11.3. */
enum v8_image_type {
    V8_TWO_BYTE = 32,
    V8_ONE_BYTE = 40,
    V8_CONS = 41,
    V8_EXTERNAL = 42,
    V8_SLICED = 43,
    V8_THIN = 45,
    V8_EXTERNAL_TWO_BYTE = 34,
    V8_ODDBALL = 131,
    V8_SCRIPT = 167,
    V8_ARRAY = 175,
    V8_CONTEXT = 206,
    V8_SCOPE = 261,
    V8_SHARED = 262,
    V8_FUNCTION = 2066,
};

static const struct {
    const char *name;
    int32_t value;
} v8_image_symbols[] = {
    { "v8dbg_off_fp_context_or_frame_type", -8 },
    { "v8dbg_off_fp_function", -16 },
    { "v8dbg_HeapObjectTag", 1 },
    { "v8dbg_HeapObjectTagMask", 3 },
    { "v8dbg_SmiValueShift", 1 },
    { "v8dbg_SmiShiftSize", 31 },
    { "v8dbg_TaggedSize", 8 },
    { "v8dbg_FirstContextType", 205 },
    { "v8dbg_LastContextType", 214 },
    { "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", V8_FUNCTION },
    { "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", V8_SHARED },
    { "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", V8_SCOPE },
    { "v8dbg_type_Script__SCRIPT_TYPE", V8_SCRIPT },
    { "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", V8_ARRAY },
    { "v8dbg_FirstNonstringType", 128 },
    { "v8dbg_StringRepresentationMask", 7 },
    { "v8dbg_StringEncodingMask", 8 },
    { "v8dbg_OneByteStringTag", 8 },
    { "v8dbg_SeqStringTag", 0 },
    { "v8dbg_ConsStringTag", 1 },
    { "v8dbg_ExternalStringTag", 2 },
    { "v8dbg_SlicedStringTag", 3 },
    { "v8dbg_ThinStringTag", 5 },
    { "v8dbg_class_HeapObject__map__Map", 0 },
    { "v8dbg_class_Map__instance_type__uint16_t", 12 },
    { "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24 },
    { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16 },
    { "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32 },
    { "v8dbg_class_SharedFunctionInfo__flags__int", 48 },
    { "v8dbg_class_Script__name__Object", 16 },
    { "v8dbg_class_Script__source__Object", 8 },
    { "v8dbg_class_Script__line_ends__Object", 56 },
    { "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__Object", 72 },
    { "v8dbg_class_String__length__int32_t", 12 },
    { "v8dbg_class_SeqOneByteString__chars__char", 16 },
    { "v8dbg_class_SeqTwoByteString__chars__char", 16 },
    { "v8dbg_class_ConsString__first__String", 16 },
    { "v8dbg_class_ConsString__second__String", 24 },
    { "v8dbg_class_SlicedString__parent__String", 16 },
    { "v8dbg_class_SlicedString__offset__SMI", 24 },
    { "v8dbg_class_ThinString__actual__String", 16 },
    { "v8dbg_class_ExternalString__resource__Object", 16 },
    { "v8dbg_class_FixedArrayBase__length__SMI", 8 },
    { "v8dbg_class_FixedArray__data__uintptr_t", 16 },
    { "v8dbg_scopeinfo_idx_ncontextlocals", 2 },
    { "v8dbg_scopeinfo_idx_first_vars", 3 },
};

#define V8_IMAGE_SYMBOLS (sizeof(v8_image_symbols) / sizeof(v8_image_symbols[0]))

/* What is another name or value in V8 13.6. */
static const struct {
    const char *name;
    const char *old_name;
    int32_t value;
} v8_image_changes[] = {
    { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
      "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 24 },
    { "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_",
      "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 40 },
    { "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__Tagged_Object_",
      "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__Object", 72 },
    { "v8dbg_class_SharedFunctionInfo__flags__int", "v8dbg_class_SharedFunctionInfo__flags__int",
      56 },
    { "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
      "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 32 },
    { "v8dbg_scopeinfo_idx_first_vars", "v8dbg_scopeinfo_idx_first_vars", 5 },
};

#define V8_IMAGE_CHANGES (sizeof(v8_image_changes) / sizeof(v8_image_changes[0]))

struct v8_image {
    uint8_t bytes[V8_IMAGE_BYTES];
    uint64_t used;
    uint64_t read_count;
    const char *hidden_symbol; /* which the image does not have; NULL: none */
    bool is_v8_13;
};

/* Implements hs_js_memory.read. */
static inline bool v8_image_read(void *ctx, uint64_t va, void *ret_bytes, size_t byte_count)
{
    struct v8_image *image = ctx;
    image->read_count++;
    if (va < V8_IMAGE_VA || byte_count > V8_IMAGE_BYTES ||
        va - V8_IMAGE_VA > V8_IMAGE_BYTES - byte_count) {
        return false;
    }
    memcpy(ret_bytes, image->bytes + (va - V8_IMAGE_VA), byte_count);
    return true;
}

/* Implements hs_v8_symbol_fn: symbol number i is at word i of the image. */
static inline uint64_t v8_image_symbol(void *ctx, const char *name)
{
    struct v8_image *image = ctx;
    for (uint64_t i = 0; image->is_v8_13 && i < V8_IMAGE_CHANGES; i++) {
        if (strcmp(name, v8_image_changes[i].name) == 0) {
            name = v8_image_changes[i].old_name;
        } else if (strcmp(name, v8_image_changes[i].old_name) == 0) {
            return 0;
        }
    }
    for (uint64_t i = 0; i < V8_IMAGE_SYMBOLS; i++) {
        if (strcmp(name, v8_image_symbols[i].name) == 0) {
            bool is_hidden = image->hidden_symbol && strcmp(name, image->hidden_symbol) == 0;
            return is_hidden ? 0 : V8_IMAGE_VA + 8 * i;
        }
    }
    return 0;
}

static inline void v8_image_put(struct v8_image *image, uint64_t object, unsigned offset_bytes,
                                uint64_t word)
{
    memcpy(image->bytes + (object - 1 - V8_IMAGE_VA) + offset_bytes, &word, 8);
}

/* Makes room; returns its tagged address. */
static inline uint64_t v8_image_take(struct v8_image *image, uint64_t byte_count)
{
    uint64_t object = V8_IMAGE_VA + image->used + 1;
    image->used += (byte_count + 7) & ~UINT64_C(7);
    return object;
}

static inline uint64_t v8_image_object(struct v8_image *image, enum v8_image_type type,
                                       uint64_t byte_count)
{
    uint64_t map = v8_image_take(image, 24), object = v8_image_take(image, byte_count);
    uint16_t number = (uint16_t)type;
    memcpy(image->bytes + (map - 1 - V8_IMAGE_VA) + 12, &number, 2);
    v8_image_put(image, object, 0, map);
    return object;
}

static inline uint64_t v8_image_smi(uint32_t number)
{
    return (uint64_t)number << 32;
}

static inline void v8_image_length(struct v8_image *image, uint64_t string, uint32_t length)
{
    memcpy(image->bytes + (string - 1 - V8_IMAGE_VA) + 12, &length, 4);
}

/* A string of one byte for each character. */
static inline uint64_t v8_image_text(struct v8_image *image, const char *text)
{
    size_t bytes = strlen(text);
    uint64_t string = v8_image_object(image, V8_ONE_BYTE, 16 + bytes);
    v8_image_length(image, string, (uint32_t)bytes);
    memcpy(image->bytes + (string - 1 - V8_IMAGE_VA) + 16, text, bytes);
    return string;
}

/* A string that refers to others by two words. */
static inline uint64_t v8_image_pair(struct v8_image *image, enum v8_image_type type,
                                     uint32_t length, uint64_t first, uint64_t second)
{
    uint64_t string = v8_image_object(image, type, 32);
    v8_image_length(image, string, length);
    v8_image_put(image, string, 16, first);
    v8_image_put(image, string, 24, second);
    return string;
}

/* Flags of a function's scope. */
#define V8_SCOPE_MODULE   UINT32_C(3)
#define V8_SCOPE_CLASS    (UINT32_C(1) << 10)
#define V8_SCOPE_NAMED    (UINT32_C(3) << 12)
#define V8_SCOPE_INFERRED (UINT32_C(1) << 14)

/* Puts a position at a byte of a scope; returns the byte behind it. */
static inline unsigned v8_image_position(struct v8_image *image, uint64_t scope, unsigned at,
                                         uint32_t position)
{
    v8_image_put(image, scope, at, v8_image_smi(position));
    v8_image_put(image, scope, at + 8, v8_image_smi(position + 10));
    return at + 16;
}

/* The scope of a function; `flags` say what there is besides local variables and position. */
static inline uint64_t v8_image_scope(struct v8_image *image, uint32_t flags, uint32_t local_count,
                                      uint64_t name, uint64_t inferred, uint32_t position)
{
    uint64_t scope = v8_image_object(image, V8_SCOPE, 144 + 16 * (uint64_t)local_count);
    uint64_t local_name = v8_image_text(image, "local");
    unsigned at = 32;
    v8_image_put(image, scope, 8, image->is_v8_13 ? flags : v8_image_smi(flags));
    v8_image_put(image, scope, 24, v8_image_smi(local_count));
    if (image->is_v8_13) {
        at = v8_image_position(image, scope, at, position);
    }
    at += (flags & 15) == V8_SCOPE_MODULE ? 8 : 0;
    for (uint32_t i = 0; i < local_count && (i == 0 || local_count < 75); i++) {
        v8_image_put(image, scope, at, local_name);
        at += 8;
    }
    at += 8 * local_count;
    at += (flags & V8_SCOPE_CLASS) ? 8 : 0;
    if (flags & V8_SCOPE_NAMED) {
        v8_image_put(image, scope, at, name);
        at += 16;
    }
    if (flags & V8_SCOPE_INFERRED) {
        v8_image_put(image, scope, at, inferred);
        at += 8;
    }
    if (!image->is_v8_13) {
        at = v8_image_position(image, scope, at, position);
    }
    v8_image_put(image, scope, at, local_name); /* the scope around it, or what lies behind */
    return scope;
}

static inline uint64_t v8_image_script(struct v8_image *image, uint64_t name, uint64_t source,
                                       uint32_t number)
{
    uint64_t script = v8_image_object(image, V8_SCRIPT, 128);
    v8_image_put(image, script, 8, source);
    v8_image_put(image, script, 16, name);
    v8_image_put(image, script, 64, v8_image_smi(number));
    return script;
}

/* A function; `name` is a string or a scope. */
static inline uint64_t v8_image_function(struct v8_image *image, uint64_t name, uint64_t script,
                                         uint32_t number)
{
    const unsigned more = image->is_v8_13 ? 8 : 0;
    uint64_t function = v8_image_object(image, V8_FUNCTION, 64);
    uint64_t shared = v8_image_object(image, V8_SHARED, 72);
    v8_image_put(image, function, 24 + more, shared);
    v8_image_put(image, shared, 16 + more, name);
    v8_image_put(image, shared, 32 + more, script);
    v8_image_put(image, shared, 48 + more, (uint64_t)number << 32 | 1);
    return function;
}

/* An empty image, with symbols. */
static inline void v8_image_init(struct v8_image *image, bool is_v8_13)
{
    memset(image, 0, sizeof(*image));
    image->is_v8_13 = is_v8_13;
    for (uint64_t i = 0; i < V8_IMAGE_SYMBOLS; i++) {
        memcpy(image->bytes + 8 * i, &v8_image_symbols[i].value, 4);
    }
    for (uint64_t i = 0; is_v8_13 && i < V8_IMAGE_CHANGES; i++) {
        uint64_t va = v8_image_symbol(image, v8_image_changes[i].name);
        memcpy(image->bytes + (va - V8_IMAGE_VA), &v8_image_changes[i].value, 4);
    }
    image->used = 8 * V8_IMAGE_SYMBOLS;
}
