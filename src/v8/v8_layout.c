/*
 * Reads V8's symbols for debuggers. See v8_layout.h.
 */
#include "v8/v8_layout.h"

/* V8's objects whose fields are read are smaller than this. */
#define FIELD_MAX 512
#define TYPE_MAX  65535

/* A symbol, and the range in which its value makes sense. */
struct symbol {
    const char *name;
    int32_t lo;
    int32_t hi;
};

static const struct symbol symbols[HS_V8_VALUE_N] = {
    [HS_V8_FRAME_CONTEXT] = { "v8dbg_off_fp_context_or_frame_type", -8, -8 },
    [HS_V8_FRAME_FUNCTION] = { "v8dbg_off_fp_function", -64, -16 },
    [HS_V8_OBJECT_TAG] = { "v8dbg_HeapObjectTag", 1, 1 },
    [HS_V8_OBJECT_TAG_MASK] = { "v8dbg_HeapObjectTagMask", 3, 3 },
    [HS_V8_SMI_SHIFT] = { "v8dbg_SmiValueShift", 1, 1 },
    [HS_V8_SMI_SHIFT_MORE] = { "v8dbg_SmiShiftSize", 31, 31 },
    [HS_V8_TAGGED_BYTES] = { "v8dbg_TaggedSize", 8, 8 }, /* pointers are not compressed */
    [HS_V8_TYPE_CONTEXT_FIRST] = { "v8dbg_FirstContextType", 1, TYPE_MAX },
    [HS_V8_TYPE_CONTEXT_LAST] = { "v8dbg_LastContextType", 1, TYPE_MAX },
    [HS_V8_TYPE_FUNCTION] = { "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", 1, TYPE_MAX },
    [HS_V8_TYPE_SHARED] = { "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 1,
                            TYPE_MAX },
    [HS_V8_TYPE_SCOPE] = { "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", 1, TYPE_MAX },
    [HS_V8_TYPE_SCRIPT] = { "v8dbg_type_Script__SCRIPT_TYPE", 1, TYPE_MAX },
    [HS_V8_TYPE_FIXED_ARRAY] = { "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", 1, TYPE_MAX },
    /* V8 before 10 has 64 here, and scopes with one more word. */
    [HS_V8_TYPE_STRING_END] = { "v8dbg_FirstNonstringType", 128, TYPE_MAX },
    [HS_V8_STRING_KIND_MASK] = { "v8dbg_StringRepresentationMask", 1, 255 },
    [HS_V8_STRING_WIDTH_MASK] = { "v8dbg_StringEncodingMask", 1, 255 },
    [HS_V8_STRING_ONE_BYTE] = { "v8dbg_OneByteStringTag", 0, 255 },
    [HS_V8_STRING_SEQ] = { "v8dbg_SeqStringTag", 0, 255 },
    [HS_V8_STRING_CONS] = { "v8dbg_ConsStringTag", 0, 255 },
    [HS_V8_STRING_EXTERNAL] = { "v8dbg_ExternalStringTag", 0, 255 },
    [HS_V8_STRING_SLICED] = { "v8dbg_SlicedStringTag", 0, 255 },
    [HS_V8_STRING_THIN] = { "v8dbg_ThinStringTag", 0, 255 },
    [HS_V8_OBJECT_MAP] = { "v8dbg_class_HeapObject__map__Map", 0, 0 },
    [HS_V8_MAP_TYPE] = { "v8dbg_class_Map__instance_type__uint16_t", 1, FIELD_MAX },
    [HS_V8_FUNCTION_SHARED] = { "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 8,
                                FIELD_MAX },
    [HS_V8_SHARED_NAME] = { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 8,
                            FIELD_MAX },
    [HS_V8_SHARED_SCRIPT] = { "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 8,
                              FIELD_MAX },
    [HS_V8_SHARED_FLAGS] = { "v8dbg_class_SharedFunctionInfo__flags__int", 8, FIELD_MAX },
    [HS_V8_SCRIPT_NAME] = { "v8dbg_class_Script__name__Object", 8, FIELD_MAX },
    [HS_V8_SCRIPT_SOURCE] = { "v8dbg_class_Script__source__Object", 8, FIELD_MAX },
    [HS_V8_SCRIPT_LINE_ENDS] = { "v8dbg_class_Script__line_ends__Object", 8, FIELD_MAX },
    [HS_V8_SCRIPT_EVAL_FROM] = { "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__"
                                 "Object",
                                 8, FIELD_MAX },
    [HS_V8_STRING_LENGTH] = { "v8dbg_class_String__length__int32_t", 8, FIELD_MAX },
    [HS_V8_ONE_BYTE_CHARS] = { "v8dbg_class_SeqOneByteString__chars__char", 8, FIELD_MAX },
    [HS_V8_TWO_BYTE_CHARS] = { "v8dbg_class_SeqTwoByteString__chars__char", 8, FIELD_MAX },
    [HS_V8_CONS_FIRST] = { "v8dbg_class_ConsString__first__String", 8, FIELD_MAX },
    [HS_V8_CONS_SECOND] = { "v8dbg_class_ConsString__second__String", 8, FIELD_MAX },
    [HS_V8_SLICED_PARENT] = { "v8dbg_class_SlicedString__parent__String", 8, FIELD_MAX },
    [HS_V8_SLICED_OFFSET] = { "v8dbg_class_SlicedString__offset__SMI", 8, FIELD_MAX },
    [HS_V8_THIN_ACTUAL] = { "v8dbg_class_ThinString__actual__String", 8, FIELD_MAX },
    [HS_V8_EXTERNAL_RESOURCE] = { "v8dbg_class_ExternalString__resource__Object", 8, FIELD_MAX },
    [HS_V8_ARRAY_LENGTH] = { "v8dbg_class_FixedArrayBase__length__SMI", 8, FIELD_MAX },
    [HS_V8_ARRAY_DATA] = { "v8dbg_class_FixedArray__data__uintptr_t", 8, FIELD_MAX },
    [HS_V8_SCOPE_LOCAL_COUNT] = { "v8dbg_scopeinfo_idx_ncontextlocals", 1, 16 },
    [HS_V8_SCOPE_FIRST_VARS] = { "v8dbg_scopeinfo_idx_first_vars", 2, 16 },
};

/* The same field has other symbols in other versions. NULL: it has no more. */
#define OTHER_NAMES 2
static const char *const other_names[HS_V8_VALUE_N][OTHER_NAMES] = {
    [HS_V8_SHARED_NAME] = { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
                            "v8dbg_class_SharedFunctionInfo__name_or_scope_info__"
                            "Tagged_NameOrScopeInfoT_" },
    [HS_V8_SHARED_SCRIPT] = { "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_" },
    [HS_V8_SCRIPT_EVAL_FROM] = { "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__"
                                 "Tagged_Object_",
                                 "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments_or_"
                                 "sfi_table__Object" },
};

/* Do the fields lie as HS_V8_HEAD_BYTES says? */
static bool has_heads(const int32_t *values)
{
    const int32_t last = (int32_t)HS_V8_HEAD_BYTES - 8;
    return values[HS_V8_SHARED_FLAGS] <= last &&
           values[HS_V8_SHARED_NAME] < values[HS_V8_SHARED_FLAGS] &&
           values[HS_V8_SHARED_SCRIPT] < values[HS_V8_SHARED_FLAGS] &&
           values[HS_V8_SCRIPT_EVAL_FROM] <= last &&
           values[HS_V8_SCRIPT_NAME] < values[HS_V8_SCRIPT_LINE_ENDS];
}

/* A script's number is between these two fields, and no symbol says so: see js_function.c. */
static bool has_script_number(const struct hs_v8_layout *layout)
{
    return layout->value[HS_V8_SCRIPT_EVAL_FROM] - layout->value[HS_V8_SCRIPT_LINE_ENDS] ==
           2 * layout->value[HS_V8_TAGGED_BYTES];
}

/* A scope says where its function begins either before or behind the local variables. */
static bool has_position(const struct hs_v8_layout *layout)
{
    int32_t words = hs_v8_scope_position_words(layout);
    return words == 0 || words == 2;
}

static uint64_t find_symbol(uint32_t value, hs_v8_symbol_fn find, void *find_ctx)
{
    uint64_t va = find(find_ctx, symbols[value].name);
    for (uint32_t i = 0; va == 0 && i < OTHER_NAMES && other_names[value][i]; i++) {
        va = find(find_ctx, other_names[value][i]);
    }
    return va;
}

enum hs_v8_refusal hs_v8_layout_read(const struct hs_js_memory *memory, hs_v8_symbol_fn find,
                                     void *find_ctx, struct hs_v8_layout *ret_layout)
{
    struct hs_v8_layout layout;
    bool has_sense = true;
    for (uint32_t i = 0; i < HS_V8_VALUE_N; i++) {
        const struct symbol *symbol = &symbols[i];
        uint64_t va = find_symbol(i, find, find_ctx);
        if (va == 0 || !memory->read(memory->ctx, va, &layout.value[i], sizeof(layout.value[i]))) {
            return HS_V8_NO_SYMBOLS;
        }
        has_sense &= layout.value[i] >= symbol->lo && layout.value[i] <= symbol->hi;
    }
    if (!has_sense || !has_heads(layout.value) || !has_script_number(&layout) ||
        !has_position(&layout)) {
        return HS_V8_UNKNOWN_LAYOUT;
    }
    *ret_layout = layout;
    return HS_V8_READ;
}
