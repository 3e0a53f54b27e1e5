/*
 * Searches the exported tables for the names that are used. See hotspot_layout.h.
 */
#include "hotspot/hotspot_layout.h"

#include "rt/base.h"
#include "rt/text.h"

#define ENTRIES_MAX    16384U
#define TEXT_BYTES     48U
#define UNKNOWN        UINT64_MAX
#define VM_MAJOR_MAX   1000U
#define FIELD_OFF(off) ((off) < HS_HOTSPOT_STRUCT_BYTES_MAX)

/* A name in the tables. An entry for the same thing under another name follows it. */
struct wanted {
    const char *type;
    const char *name;
    uint32_t number; /* in the enum */
};

static const struct wanted fields[] = {
    { "CodeCache", "_heaps", HS_HOTSPOT_CODE_CACHE_HEAPS },
    { "CodeCache", "_low_bound", HS_HOTSPOT_CODE_CACHE_LOW },
    { "CodeCache", "_high_bound", HS_HOTSPOT_CODE_CACHE_HIGH },
    { "Abstract_VM_Version", "_vm_major_version", HS_HOTSPOT_VM_MAJOR },
    { "StubRoutines", "_call_stub_return_address", HS_HOTSPOT_CALL_STUB },
    { "GrowableArrayBase", "_len", HS_HOTSPOT_ARRAY_LEN },
    { "GenericGrowableArray", "_len", HS_HOTSPOT_ARRAY_LEN },
    { "GrowableArray<int>", "_data", HS_HOTSPOT_ARRAY_DATA },
    { "CodeHeap", "_memory", HS_HOTSPOT_HEAP_MEMORY },
    { "CodeHeap", "_segmap", HS_HOTSPOT_HEAP_SEGMAP },
    { "CodeHeap", "_log2_segment_size", HS_HOTSPOT_HEAP_LOG2_SEGMENT },
    { "VirtualSpace", "_low", HS_HOTSPOT_SPACE_LOW },
    { "VirtualSpace", "_high", HS_HOTSPOT_SPACE_HIGH },
    { "HeapBlock::Header", "_length", HS_HOTSPOT_BLOCK_LENGTH },
    { "HeapBlock::Header", "_used", HS_HOTSPOT_BLOCK_USED },
    { "CodeBlob", "_name", HS_HOTSPOT_BLOB_NAME },
    { "CodeBlob", "_size", HS_HOTSPOT_BLOB_SIZE },
    { "CodeBlob", "_header_size", HS_HOTSPOT_BLOB_HEADER_SIZE },
    { "CodeBlob", "_frame_size", HS_HOTSPOT_BLOB_FRAME_SIZE },
    { "CodeBlob", "_code_begin", HS_HOTSPOT_BLOB_CODE_BEGIN },
    { "CompiledMethod", "_method", HS_HOTSPOT_COMPILED_METHOD },
    { "CompiledMethod", "_scopes_data_begin", HS_HOTSPOT_COMPILED_SCOPES },
    { "CompiledMethod", "_deopt_handler_begin", HS_HOTSPOT_COMPILED_DEOPT },
    { "CompiledMethod", "_deopt_mh_handler_begin", HS_HOTSPOT_COMPILED_DEOPT_MH },
    { "nmethod", "_scopes_pcs_offset", HS_HOTSPOT_NMETHOD_PCS_OFF },
    { "nmethod", "_dependencies_offset", HS_HOTSPOT_NMETHOD_PCS_END_OFF },
    { "nmethod", "_metadata_offset", HS_HOTSPOT_NMETHOD_METADATA_OFF },
    { "nmethod", "_orig_pc_offset", HS_HOTSPOT_NMETHOD_ORIG_PC_OFF },
    { "nmethod", "_compile_id", HS_HOTSPOT_NMETHOD_COMPILE_ID },
    { "PcDesc", "_pc_offset", HS_HOTSPOT_PC_OFFSET },
    { "PcDesc", "_scope_decode_offset", HS_HOTSPOT_PC_SCOPE },
    { "Method", "_constMethod", HS_HOTSPOT_METHOD_CONST },
    { "Method", "_access_flags", HS_HOTSPOT_METHOD_ACCESS },
    { "ConstMethod", "_constants", HS_HOTSPOT_CONST_POOL },
    { "ConstMethod", "_constMethod_size", HS_HOTSPOT_CONST_SIZE },
    { "ConstMethod", "_flags", HS_HOTSPOT_CONST_FLAGS },
    { "ConstMethod", "_flags._flags", HS_HOTSPOT_CONST_FLAGS },
    { "ConstMethod", "_code_size", HS_HOTSPOT_CONST_CODE_SIZE },
    { "ConstMethod", "_name_index", HS_HOTSPOT_CONST_NAME },
    { "ConstMethod", "_signature_index", HS_HOTSPOT_CONST_SIGNATURE },
    { "ConstantPool", "_pool_holder", HS_HOTSPOT_POOL_HOLDER },
    { "ConstantPool", "_length", HS_HOTSPOT_POOL_LENGTH },
    { "ConstantPool", "_source_file_name_index", HS_HOTSPOT_POOL_SOURCE },
    { "Klass", "_name", HS_HOTSPOT_KLASS_NAME },
    { "Symbol", "_length", HS_HOTSPOT_SYMBOL_LENGTH },
    { "Symbol", "_body", HS_HOTSPOT_SYMBOL_BODY },
};

static const struct wanted types[] = {
    { NULL, "HeapBlock", HS_HOTSPOT_SIZE_BLOCK },
    { NULL, "nmethod", HS_HOTSPOT_SIZE_NMETHOD },
    { NULL, "PcDesc", HS_HOTSPOT_SIZE_PC_DESC },
    { NULL, "ConstMethod", HS_HOTSPOT_SIZE_CONST_METHOD },
    { NULL, "ConstantPool", HS_HOTSPOT_SIZE_POOL },
};

static const struct wanted constants[] = {
    { NULL, "ConstMethod::_has_linenumber_table", HS_HOTSPOT_HAS_LINES },
    { NULL, "ConstMethodFlags::_misc_has_linenumber_table", HS_HOTSPOT_HAS_LINES },
    { NULL, "frame::interpreter_frame_sender_sp_offset", HS_HOTSPOT_SENDER_SP },
};

/* One of the exported tables while it is read. */
struct table {
    const struct hs_hotspot_memory *memory;
    hs_hotspot_symbol_fn *symbol;
    void *symbol_ctx;
    uint64_t entry_va;
    uint64_t entry_bytes;
    uint64_t name_off;
};

static bool read_variable(const struct table *table, const char *name, uint64_t *ret_value)
{
    return hs_hotspot_word(table->memory, table->symbol(table->symbol_ctx, name), ret_value);
}

static bool open_table(struct table *table, const char *start, const char *stride,
                       const char *name_off)
{
    return read_variable(table, start, &table->entry_va) &&
           read_variable(table, stride, &table->entry_bytes) &&
           read_variable(table, name_off, &table->name_off) && table->entry_bytes >= 16 &&
           FIELD_OFF(table->entry_bytes) && FIELD_OFF(table->name_off);
}

/* Reads the text to which the pointer at `va` leads, up to its NUL or TEXT_BYTES - 1 bytes of it.
 * False: there is none, as at the table's end. */
static bool read_text(const struct table *table, uint64_t va, char ret_text[TEXT_BYTES])
{
    uint64_t text_va;
    uint32_t i = 0;
    if (!hs_hotspot_word(table->memory, va, &text_va) || text_va == 0) {
        return false;
    }
    do {
        if (!hs_hotspot_read(table->memory, text_va + i, &ret_text[i], 1)) {
            return false;
        }
    } while (ret_text[i] != '\0' && ++i < TEXT_BYTES - 1);
    ret_text[i] = '\0';
    return true;
}

/* The wanted one of this name; NULL: it is not wanted. */
static const struct wanted *find_wanted(const struct wanted *list, size_t count, const char *type,
                                        const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (hs_text_is_same(list[i].name, name) && (!type || hs_text_is_same(list[i].type, type))) {
            return &list[i];
        }
    }
    return NULL;
}

static bool read_fields(struct table *table, struct hs_hotspot_layout *layout)
{
    uint64_t field_off, is_static_off, off_off, address_off;
    char type[TEXT_BYTES], name[TEXT_BYTES];
    if (!open_table(table, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
                    "gHotSpotVMStructEntryTypeNameOffset") ||
        !read_variable(table, "gHotSpotVMStructEntryFieldNameOffset", &field_off) ||
        !read_variable(table, "gHotSpotVMStructEntryIsStaticOffset", &is_static_off) ||
        !read_variable(table, "gHotSpotVMStructEntryOffsetOffset", &off_off) ||
        !read_variable(table, "gHotSpotVMStructEntryAddressOffset", &address_off)) {
        return false;
    }
    for (uint32_t i = 0; i < ENTRIES_MAX; i++, table->entry_va += table->entry_bytes) {
        uint32_t is_static;
        if (!read_text(table, table->entry_va + table->name_off, type)) {
            break;
        }
        if (!read_text(table, table->entry_va + field_off, name)) {
            continue;
        }
        const struct wanted *wanted = find_wanted(fields, HS_COUNT_OF(fields), type, name);
        if (wanted && hs_hotspot_int(table->memory, table->entry_va + is_static_off, &is_static) &&
            (is_static != 0) == (wanted->number < HS_HOTSPOT_STATIC_N)) {
            hs_hotspot_word(table->memory, table->entry_va + (is_static ? address_off : off_off),
                            &layout->at[wanted->number]);
        }
    }
    return true;
}

static bool read_types(struct table *table, struct hs_hotspot_layout *layout)
{
    uint64_t size_off;
    char name[TEXT_BYTES];
    if (!open_table(table, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
                    "gHotSpotVMTypeEntryTypeNameOffset") ||
        !read_variable(table, "gHotSpotVMTypeEntrySizeOffset", &size_off)) {
        return false;
    }
    for (uint32_t i = 0; i < ENTRIES_MAX; i++, table->entry_va += table->entry_bytes) {
        if (!read_text(table, table->entry_va + table->name_off, name)) {
            break;
        }
        const struct wanted *wanted = find_wanted(types, HS_COUNT_OF(types), NULL, name);
        if (wanted) {
            hs_hotspot_word(table->memory, table->entry_va + size_off,
                            &layout->size_bytes[wanted->number]);
        }
    }
    return true;
}

static bool read_constants(struct table *table, bool *has_constant,
                           struct hs_hotspot_layout *layout)
{
    uint64_t value_off;
    char name[TEXT_BYTES];
    if (!open_table(table, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride",
                    "gHotSpotVMIntConstantEntryNameOffset") ||
        !read_variable(table, "gHotSpotVMIntConstantEntryValueOffset", &value_off)) {
        return false;
    }
    for (uint32_t i = 0; i < ENTRIES_MAX; i++, table->entry_va += table->entry_bytes) {
        uint32_t value;
        if (!read_text(table, table->entry_va + table->name_off, name)) {
            break;
        }
        const struct wanted *wanted = find_wanted(constants, HS_COUNT_OF(constants), NULL, name);
        if (wanted && hs_hotspot_int(table->memory, table->entry_va + value_off, &value)) {
            layout->constants[wanted->number] = (int32_t)value;
            has_constant[wanted->number] = true;
        }
    }
    return true;
}

static enum hs_java_refusal check(const struct hs_hotspot_layout *layout, const bool *has_constant)
{
    for (uint32_t i = 0; i < HS_HOTSPOT_FIELD_N; i++) {
        if (layout->at[i] == UNKNOWN) {
            return HS_JAVA_NO_FIELD;
        }
        if (i >= HS_HOTSPOT_STATIC_N && !FIELD_OFF(layout->at[i])) {
            return HS_JAVA_BAD_FIELD;
        }
    }
    for (uint32_t i = 0; i < HS_HOTSPOT_TYPE_N; i++) {
        if (layout->size_bytes[i] == UNKNOWN) {
            return HS_JAVA_NO_FIELD;
        }
        if (layout->size_bytes[i] == 0 || layout->size_bytes[i] > HS_HOTSPOT_STRUCT_BYTES_MAX) {
            return HS_JAVA_BAD_FIELD;
        }
    }
    for (uint32_t i = 0; i < HS_HOTSPOT_CONSTANT_N; i++) {
        if (!has_constant[i]) {
            return HS_JAVA_NO_FIELD;
        }
    }
    bool is_known_frame = layout->constants[HS_HOTSPOT_SENDER_SP] == -1;
    return is_known_frame && layout->vm_major != 0 ? HS_JAVA_READ : HS_JAVA_BAD_FIELD;
}

enum hs_java_refusal hs_hotspot_layout_read(const struct hs_hotspot_memory *memory,
                                            hs_hotspot_symbol_fn *symbol, void *symbol_ctx,
                                            struct hs_hotspot_layout *ret_layout)
{
    struct table table = { .memory = memory, .symbol = symbol, .symbol_ctx = symbol_ctx };
    bool has_constant[HS_HOTSPOT_CONSTANT_N] = { false };
    uint32_t major;
    *ret_layout = (struct hs_hotspot_layout){ .vm_major = 0 };
    for (uint32_t i = 0; i < HS_HOTSPOT_FIELD_N; i++) {
        ret_layout->at[i] = UNKNOWN;
    }
    for (uint32_t i = 0; i < HS_HOTSPOT_TYPE_N; i++) {
        ret_layout->size_bytes[i] = UNKNOWN;
    }
    if (!read_fields(&table, ret_layout) || !read_types(&table, ret_layout) ||
        !read_constants(&table, has_constant, ret_layout)) {
        return HS_JAVA_NO_TABLES;
    }
    if (ret_layout->at[HS_HOTSPOT_VM_MAJOR] != UNKNOWN &&
        hs_hotspot_int(memory, ret_layout->at[HS_HOTSPOT_VM_MAJOR], &major) &&
        major <= VM_MAJOR_MAX) {
        ret_layout->vm_major = major;
    }
    return check(ret_layout, has_constant);
}
