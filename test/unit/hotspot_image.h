/*
 * Memory of a small JVM: the exported tables, a code heap with one compiled method and one stub,
 * two methods and their names. With the layout of a real one in kind, not in its numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hotspot/debug_scopes.h"
#include "hotspot/java_method.h"

#define IMAGE_VA    UINT64_C(0x7f0000100000)
#define IMAGE_BYTES 32768U

struct hotspot_image {
    uint8_t bytes[IMAGE_BYTES];
    uint32_t used;
    uint32_t symbol_count;
    char symbol_names[32][56];
    uint64_t symbol_va[32];
    /* What tests look at: */
    uint64_t heap_va, segmap_va, low_va;
    uint64_t blob_va, code_va, stub_code_va;
    uint64_t method_va[2], bytecodes_va;
};

static bool image_read(void *ctx, uint64_t va, void *ret_bytes, size_t byte_count)
{
    const struct hotspot_image *image = ctx;
    uint64_t off = va - IMAGE_VA;
    if (off > IMAGE_BYTES || byte_count > IMAGE_BYTES - off) {
        return false;
    }
    memcpy(ret_bytes, image->bytes + off, byte_count);
    return true;
}

static uint64_t image_symbol(void *ctx, const char *name)
{
    const struct hotspot_image *image = ctx;
    for (uint32_t i = 0; i < image->symbol_count; i++) {
        if (strcmp(image->symbol_names[i], name) == 0) {
            return image->symbol_va[i];
        }
    }
    return 0;
}

static uint64_t image_take(struct hotspot_image *image, size_t byte_count)
{
    uint64_t va = IMAGE_VA + image->used;
    image->used += (uint32_t)((byte_count + 15) / 16 * 16);
    return va;
}

static void image_put(struct hotspot_image *image, uint64_t va, uint64_t value, size_t byte_count)
{
    memcpy(image->bytes + (va - IMAGE_VA), &value, byte_count);
}

static uint64_t image_text(struct hotspot_image *image, const char *text)
{
    uint64_t va = image_take(image, strlen(text) + 1);
    memcpy(image->bytes + (va - IMAGE_VA), text, strlen(text) + 1);
    return va;
}

/* A variable of 64 bits that the library exports. */
static void image_export(struct hotspot_image *image, const char *name, uint64_t value)
{
    uint32_t i = image->symbol_count++;
    snprintf(image->symbol_names[i], sizeof(image->symbol_names[i]), "%s", name);
    image->symbol_va[i] = image_take(image, 8);
    image_put(image, image->symbol_va[i], value, 8);
}

/* --- the tables ------------------------------------------------------------------------------- */

struct image_field {
    const char *type, *name;
    uint64_t at; /* of a static variable: which one of image_statics */
    bool is_static;
};

static const struct image_field image_fields[] = {
    { "CodeCache", "_heaps", 0, true },
    { "CodeCache", "_low_bound", 1, true },
    { "CodeCache", "_high_bound", 2, true },
    { "Abstract_VM_Version", "_vm_major_version", 3, true },
    { "StubRoutines", "_call_stub_return_address", 4, true },
    { "GrowableArrayBase", "_len", 0, false },
    { "GrowableArray<int>", "_data", 8, false },
    { "CodeHeap", "_memory", 8, false },
    { "CodeHeap", "_segmap", 48, false },
    { "CodeHeap", "_log2_segment_size", 96, false },
    { "VirtualSpace", "_low", 16, false },
    { "VirtualSpace", "_high", 24, false },
    { "HeapBlock::Header", "_length", 0, false },
    { "HeapBlock::Header", "_used", 8, false },
    { "CodeBlob", "_name", 40, false },
    { "CodeBlob", "_size", 8, false },
    { "CodeBlob", "_header_size", 12, false },
    { "CodeBlob", "_frame_size", 16, false },
    { "CodeBlob", "_code_begin", 24, false },
    { "CompiledMethod", "_method", 48, false },
    { "CompiledMethod", "_scopes_data_begin", 56, false },
    { "CompiledMethod", "_deopt_handler_begin", 64, false },
    { "CompiledMethod", "_deopt_mh_handler_begin", 72, false },
    { "nmethod", "_scopes_pcs_offset", 80, false },
    { "nmethod", "_dependencies_offset", 84, false },
    { "nmethod", "_metadata_offset", 88, false },
    { "nmethod", "_orig_pc_offset", 92, false },
    { "nmethod", "_compile_id", 96, false },
    { "PcDesc", "_pc_offset", 0, false },
    { "PcDesc", "_scope_decode_offset", 4, false },
    { "Method", "_constMethod", 8, false },
    { "Method", "_access_flags", 16, false },
    { "ConstMethod", "_constants", 0, false },
    { "ConstMethod", "_constMethod_size", 8, false },
    { "ConstMethod", "_flags", 12, false },
    { "ConstMethod", "_code_size", 14, false },
    { "ConstMethod", "_name_index", 16, false },
    { "ConstMethod", "_signature_index", 18, false },
    { "ConstantPool", "_pool_holder", 0, false },
    { "ConstantPool", "_length", 8, false },
    { "ConstantPool", "_source_file_name_index", 12, false },
    { "Klass", "_name", 8, false },
    { "Symbol", "_length", 4, false },
    { "Symbol", "_body", 6, false },
};

static const struct image_field image_types[] = {
    { NULL, "HeapBlock", 16, false },    { NULL, "nmethod", 104, false },
    { NULL, "PcDesc", 16, false },       { NULL, "ConstMethod", 24, false },
    { NULL, "ConstantPool", 16, false },
};

static const struct image_field image_constants[] = {
    { NULL, "ConstMethod::_has_linenumber_table", 1, false },
    { NULL, "frame::interpreter_frame_sender_sp_offset", UINT32_MAX, false },
};

#define IMAGE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `missing`: the field of this name is left out; NULL: none is. */
static void image_put_tables(struct hotspot_image *image, const uint64_t *static_va,
                             const char *missing)
{
    uint64_t va = image_take(image, (IMAGE_COUNT(image_fields) + 1) * 40);
    image_export(image, "gHotSpotVMStructs", va);
    for (size_t i = 0; i < IMAGE_COUNT(image_fields); i++) {
        const struct image_field *field = &image_fields[i];
        if (missing && strcmp(field->name, missing) == 0) {
            continue;
        }
        image_put(image, va, image_text(image, field->type), 8);
        image_put(image, va + 8, image_text(image, field->name), 8);
        image_put(image, va + 16, field->is_static, 4);
        image_put(image, va + 24, field->is_static ? 0 : field->at, 8);
        image_put(image, va + 32, field->is_static ? static_va[field->at] : 0, 8);
        va += 40;
    }
    va = image_take(image, (IMAGE_COUNT(image_types) + 1) * 16);
    image_export(image, "gHotSpotVMTypes", va);
    for (size_t i = 0; i < IMAGE_COUNT(image_types); i++, va += 16) {
        image_put(image, va, image_text(image, image_types[i].name), 8);
        image_put(image, va + 8, image_types[i].at, 8);
    }
    va = image_take(image, (IMAGE_COUNT(image_constants) + 1) * 16);
    image_export(image, "gHotSpotVMIntConstants", va);
    for (size_t i = 0; i < IMAGE_COUNT(image_constants); i++, va += 16) {
        image_put(image, va, image_text(image, image_constants[i].name), 8);
        image_put(image, va + 8, image_constants[i].at, 4);
    }
    static const struct image_field sizes[] = {
        { NULL, "gHotSpotVMStructEntryArrayStride", 40, false },
        { NULL, "gHotSpotVMStructEntryTypeNameOffset", 0, false },
        { NULL, "gHotSpotVMStructEntryFieldNameOffset", 8, false },
        { NULL, "gHotSpotVMStructEntryIsStaticOffset", 16, false },
        { NULL, "gHotSpotVMStructEntryOffsetOffset", 24, false },
        { NULL, "gHotSpotVMStructEntryAddressOffset", 32, false },
        { NULL, "gHotSpotVMTypeEntryArrayStride", 16, false },
        { NULL, "gHotSpotVMTypeEntryTypeNameOffset", 0, false },
        { NULL, "gHotSpotVMTypeEntrySizeOffset", 8, false },
        { NULL, "gHotSpotVMIntConstantEntryArrayStride", 16, false },
        { NULL, "gHotSpotVMIntConstantEntryNameOffset", 0, false },
        { NULL, "gHotSpotVMIntConstantEntryValueOffset", 8, false },
    };
    for (size_t i = 0; i < IMAGE_COUNT(sizes); i++) {
        image_export(image, sizes[i].name, sizes[i].at);
    }
}

/* --- methods ---------------------------------------------------------------------------------- */

static uint64_t image_put_symbol(struct hotspot_image *image, const char *text)
{
    uint64_t va = image_take(image, 6 + strlen(text));
    image_put(image, va + 4, strlen(text), 2);
    memcpy(image->bytes + (va + 6 - IMAGE_VA), text, strlen(text));
    return va;
}

/* A method of 40 bytes of code: lines 10 from 0, 12 from 5, 9 from 20, and 1009 from 30. */
static uint64_t image_put_method(struct hotspot_image *image, const char *class, const char *name,
                                 uint64_t *ret_bytecodes_va)
{
    /* 255 is followed by numbers with signs: 255, 15, -3 as 5; 255, 10, 1000 as 2000. */
    const uint8_t lines[] = { 255, 0, 20, 5 << 3 | 2, 255, 30, 5, 255, 20, 208, 28, 0 };
    uint64_t pool_va = image_take(image, 16 + 4 * 8), klass_va = image_take(image, 16);
    uint64_t const_va = image_take(image, 24 + 40 + 16), method_va = image_take(image, 24);
    image_put(image, klass_va + 8, image_put_symbol(image, class), 8);
    image_put(image, pool_va, klass_va, 8);
    image_put(image, pool_va + 8, 4, 4);
    image_put(image, pool_va + 12, 2, 2);
    image_put(image, pool_va + 16 + 8, image_put_symbol(image, name), 8);
    image_put(image, pool_va + 16 + 16, image_put_symbol(image, "Source.java"), 8);
    image_put(image, const_va, pool_va, 8);
    image_put(image, const_va + 8, 10, 4);
    image_put(image, const_va + 12, 1, 2);
    image_put(image, const_va + 14, 40, 2);
    image_put(image, const_va + 16, 1, 2);
    memcpy(image->bytes + (const_va + 24 + 40 - IMAGE_VA), lines, sizeof(lines));
    image_put(image, method_va + 8, const_va, 8);
    *ret_bytecodes_va = const_va + 24;
    return method_va;
}

/* --- code ------------------------------------------------------------------------------------- */

/* At segment 0, of 6 segments: the first method, with the second one inlined at pc 16. */
static void image_put_compiled(struct hotspot_image *image)
{
    /* Offset 1: the outer scope; offset 4: the inner one, whose caller is at 1. Bytecode + 1. */
    const uint8_t scopes[] = { 0, 0, 1, 6, 1, 2, 21 };
    uint64_t blob_va = image->low_va + 16, metadata_va = blob_va + 176, pcs_va = blob_va + 208;
    image->blob_va = blob_va;
    image->code_va = blob_va + 104;
    image_put(image, image->low_va, 6, 8);
    image_put(image, image->low_va + 8, 1, 1);
    image_put(image, blob_va + 8, 288, 4);
    image_put(image, blob_va + 12, 104, 4);
    image_put(image, blob_va + 16, 6, 4);
    image_put(image, blob_va + 24, image->code_va, 8);
    image_put(image, blob_va + 40, image_text(image, "nmethod"), 8);
    image_put(image, blob_va + 48, image->method_va[0], 8);
    image_put(image, blob_va + 56, blob_va + 192, 8);
    image_put(image, blob_va + 64, image->code_va + 60, 8);
    image_put(image, blob_va + 80, 208, 4);
    image_put(image, blob_va + 84, 272, 4);
    image_put(image, blob_va + 88, 176, 4);
    image_put(image, blob_va + 96, 77, 4);
    image_put(image, metadata_va, image->method_va[0], 8);
    image_put(image, metadata_va + 8, image->method_va[1], 8);
    memcpy(image->bytes + (blob_va + 192 - IMAGE_VA), scopes, sizeof(scopes));
    const int32_t pcs[4][2] = { { -1, 0 }, { 8, 1 }, { 16, 4 }, { INT32_MAX, 0 } };
    for (int i = 0; i < 4; i++) {
        image_put(image, pcs_va + 16 * (uint64_t)i, (uint32_t)pcs[i][0], 4);
        image_put(image, pcs_va + 16 * (uint64_t)i + 4, (uint32_t)pcs[i][1], 4);
    }
}

/* At segment 6, of 2 segments. */
static void image_put_stub(struct hotspot_image *image)
{
    uint64_t block_va = image->low_va + UINT64_C(6) * 64, blob_va = block_va + 16;
    image->stub_code_va = blob_va + 48;
    image_put(image, block_va, 2, 8);
    image_put(image, block_va + 8, 1, 1);
    image_put(image, blob_va + 8, 100, 4);
    image_put(image, blob_va + 16, UINT32_MAX, 4);
    image_put(image, blob_va + 24, image->stub_code_va, 8);
    image_put(image, blob_va + 40, image_text(image, "StubRoutines (1)"), 8);
}

static void image_make(struct hotspot_image *image, uint32_t vm_major, const char *missing)
{
    const uint8_t segmap[10] = { 0, 1, 2, 3, 4, 5, 0, 1, 255, 255 };
    uint64_t static_va[5];
    memset(image, 0, sizeof(*image));
    for (int i = 0; i < 5; i++) {
        static_va[i] = image_take(image, 8);
    }
    image_put_tables(image, static_va, missing);
    image->method_va[0] = image_put_method(image, "a/b/Outer", "run", &image->bytecodes_va);
    image->method_va[1] = image_put_method(image, "a/Hidden+0x12", "in", &image->bytecodes_va);
    uint64_t array_va = image_take(image, 16), data_va = image_take(image, 8);
    image->heap_va = image_take(image, 104);
    image->segmap_va = image_take(image, sizeof(segmap));
    image->used = (image->used + 63) / 64 * 64;
    image->low_va = image_take(image, 640);
    memcpy(image->bytes + (image->segmap_va - IMAGE_VA), segmap, sizeof(segmap));
    image_put(image, array_va, 1, 4);
    image_put(image, array_va + 8, data_va, 8);
    image_put(image, data_va, image->heap_va, 8);
    image_put(image, image->heap_va + 8 + 16, image->low_va, 8);
    image_put(image, image->heap_va + 8 + 24, image->low_va + 640, 8);
    image_put(image, image->heap_va + 48 + 16, image->segmap_va, 8);
    image_put(image, image->heap_va + 96, 6, 4);
    image_put(image, static_va[0], array_va, 8);
    image_put(image, static_va[1], image->low_va, 8);
    image_put(image, static_va[2], image->low_va + 640, 8);
    image_put(image, static_va[3], vm_major, 4);
    image_put_compiled(image);
    image_put_stub(image);
}
