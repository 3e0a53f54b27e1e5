/*
 * Code heaps and the blobs in them. See code_blob.h.
 */
#include "hotspot/code_blob.h"

#include <string.h>

#include "rt/base.h"
#include "rt/text.h"

#define SEGMENT_LOG2_MIN 4U
#define SEGMENT_LOG2_MAX 16U
#define SEGMENT_FREE     255U
/* A block of 64 MiB in segments of 128 bytes has as many steps. */
#define STEPS_MAX       4096U
#define HEAP_BYTES_MAX  (UINT64_C(1) << 36)
#define FRAME_WORDS_MAX 65536U

/* A structure of the JVM, copied whole, so that its fields are of one moment. */
struct copy {
    uint8_t bytes[HS_HOTSPOT_STRUCT_BYTES_MAX + 8];
    size_t byte_count;
};

static bool copy_struct(const struct hs_hotspot_memory *memory, uint64_t va, size_t byte_count,
                        struct copy *ret_copy)
{
    ret_copy->byte_count = byte_count;
    return byte_count <= sizeof(ret_copy->bytes) &&
           hs_hotspot_read(memory, va, ret_copy->bytes, byte_count);
}

/* A field; 0 if it lies outside. */
static uint64_t field(const struct copy *copy, uint64_t off, size_t byte_count)
{
    uint64_t value = 0;
    if (off <= copy->byte_count && byte_count <= copy->byte_count - off) {
        memcpy(&value, copy->bytes + off, byte_count);
    }
    return value;
}

static bool read_heap(const struct hs_hotspot_layout *layout,
                      const struct hs_hotspot_memory *memory, uint64_t heap_va,
                      struct hs_code_heap *ret_heap)
{
    const uint64_t *at = layout->at;
    ret_heap->heap_va = heap_va;
    return hs_hotspot_word(memory, heap_va + at[HS_HOTSPOT_HEAP_MEMORY] + at[HS_HOTSPOT_SPACE_LOW],
                           &ret_heap->low_va) &&
           hs_hotspot_word(memory, heap_va + at[HS_HOTSPOT_HEAP_SEGMAP] + at[HS_HOTSPOT_SPACE_LOW],
                           &ret_heap->segmap_va) &&
           hs_hotspot_int(memory, heap_va + at[HS_HOTSPOT_HEAP_LOG2_SEGMENT],
                          &ret_heap->log2_segment_bytes) &&
           ret_heap->log2_segment_bytes >= SEGMENT_LOG2_MIN &&
           ret_heap->log2_segment_bytes <= SEGMENT_LOG2_MAX && ret_heap->low_va != 0 &&
           ret_heap->segmap_va != 0;
}

bool hs_code_heaps_read(const struct hs_hotspot_layout *layout,
                        const struct hs_hotspot_memory *memory, struct hs_code_heaps *ret_heaps)
{
    const uint64_t *at = layout->at;
    uint64_t array_va, data_va, heap_va;
    uint32_t count;
    if (!hs_hotspot_word(memory, at[HS_HOTSPOT_CODE_CACHE_HEAPS], &array_va) ||
        !hs_hotspot_int(memory, array_va + at[HS_HOTSPOT_ARRAY_LEN], &count) ||
        !hs_hotspot_word(memory, array_va + at[HS_HOTSPOT_ARRAY_DATA], &data_va) ||
        !hs_hotspot_word(memory, at[HS_HOTSPOT_CODE_CACHE_LOW], &ret_heaps->low_va) ||
        !hs_hotspot_word(memory, at[HS_HOTSPOT_CODE_CACHE_HIGH], &ret_heaps->high_va) ||
        !hs_hotspot_word(memory, at[HS_HOTSPOT_CALL_STUB], &ret_heaps->call_stub_ret) ||
        count == 0 || count > HS_CODE_HEAPS_MAX || ret_heaps->low_va >= ret_heaps->high_va ||
        ret_heaps->high_va - ret_heaps->low_va > HEAP_BYTES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct hs_code_heap *heap = &ret_heaps->heaps[i];
        if (!hs_hotspot_word(memory, data_va + 8 * (uint64_t)i, &heap_va) ||
            !read_heap(layout, memory, heap_va, heap) || heap->low_va < ret_heaps->low_va ||
            heap->low_va >= ret_heaps->high_va) {
            return false;
        }
    }
    ret_heaps->count = count;
    return true;
}

/* The heap that contains `pc`; NULL: none. */
static const struct hs_code_heap *find_heap(const struct hs_hotspot_layout *layout,
                                            const struct hs_hotspot_memory *memory,
                                            const struct hs_code_heaps *heaps, uint64_t pc)
{
    const uint64_t high_off =
        layout->at[HS_HOTSPOT_HEAP_MEMORY] + layout->at[HS_HOTSPOT_SPACE_HIGH];
    for (uint32_t i = 0; i < heaps->count; i++) {
        uint64_t high_va;
        if (pc >= heaps->heaps[i].low_va &&
            hs_hotspot_word(memory, heaps->heaps[i].heap_va + high_off, &high_va) && pc < high_va &&
            high_va <= heaps->high_va) {
            return &heaps->heaps[i];
        }
    }
    return NULL;
}

/* The block that contains `pc`: its first byte and the byte behind it. False: there is none. */
static bool find_block(const struct hs_hotspot_layout *layout,
                       const struct hs_hotspot_memory *memory, const struct hs_code_heap *heap,
                       uint64_t pc, uint64_t *ret_start_va, uint64_t *ret_end_va)
{
    uint64_t segment = (pc - heap->low_va) >> heap->log2_segment_bytes, length;
    uint8_t back = 0, is_used;
    for (uint32_t i = 0; i < STEPS_MAX; i++) {
        if (!hs_hotspot_read(memory, heap->segmap_va + segment, &back, 1) || back == SEGMENT_FREE ||
            back > segment) {
            return false;
        }
        if (back == 0) {
            break;
        }
        segment -= back;
    }
    uint64_t start_va = heap->low_va + (segment << heap->log2_segment_bytes);
    if (back != 0 ||
        !hs_hotspot_word(memory, start_va + layout->at[HS_HOTSPOT_BLOCK_LENGTH], &length) ||
        !hs_hotspot_read(memory, start_va + layout->at[HS_HOTSPOT_BLOCK_USED], &is_used, 1) ||
        is_used != 1 || length > HEAP_BYTES_MAX >> heap->log2_segment_bytes) {
        return false;
    }
    *ret_start_va = start_va;
    *ret_end_va = start_va + (length << heap->log2_segment_bytes);
    return pc < *ret_end_va;
}

static bool read_name(const struct hs_hotspot_memory *memory, uint64_t va,
                      char ret_name[HS_BLOB_NAME_BYTES])
{
    for (uint32_t i = 0; i < HS_BLOB_NAME_BYTES; i++) {
        if (!hs_hotspot_read(memory, va + i, &ret_name[i], 1)) {
            return false;
        }
        if (ret_name[i] == '\0') {
            return i > 0;
        }
    }
    ret_name[HS_BLOB_NAME_BYTES - 1] = '\0';
    return true;
}

/* The fields that a compiled method has beyond those of any blob. Whether the places that they say
 * lie in the blob is checked. */
static bool read_compiled(const struct hs_hotspot_layout *layout,
                          const struct hs_hotspot_memory *memory, struct hs_code_blob *blob)
{
    const uint64_t *at = layout->at;
    struct copy copy;
    if (!copy_struct(memory, blob->start_va, layout->size_bytes[HS_HOTSPOT_SIZE_NMETHOD], &copy)) {
        return false;
    }
    uint64_t size_bytes = blob->end_va - blob->start_va;
    uint64_t pcs_off = field(&copy, at[HS_HOTSPOT_NMETHOD_PCS_OFF], 4);
    uint64_t pcs_end_off = field(&copy, at[HS_HOTSPOT_NMETHOD_PCS_END_OFF], 4);
    uint64_t metadata_off = field(&copy, at[HS_HOTSPOT_NMETHOD_METADATA_OFF], 4);
    blob->compile_id = (uint32_t)field(&copy, at[HS_HOTSPOT_NMETHOD_COMPILE_ID], 4);
    blob->orig_pc_off = (uint32_t)field(&copy, at[HS_HOTSPOT_NMETHOD_ORIG_PC_OFF], 4);
    blob->method_va = field(&copy, at[HS_HOTSPOT_COMPILED_METHOD], 8);
    blob->scopes_va = field(&copy, at[HS_HOTSPOT_COMPILED_SCOPES], 8);
    blob->deopt_va[0] = field(&copy, at[HS_HOTSPOT_COMPILED_DEOPT], 8);
    blob->deopt_va[1] = field(&copy, at[HS_HOTSPOT_COMPILED_DEOPT_MH], 8);
    blob->pcs_va = blob->start_va + pcs_off;
    blob->pcs_end_va = blob->start_va + pcs_end_off;
    blob->metadata_va = blob->start_va + metadata_off;
    return pcs_off <= pcs_end_off && pcs_end_off <= size_bytes && metadata_off <= size_bytes &&
           blob->scopes_va >= blob->metadata_va && blob->scopes_va <= blob->pcs_va;
}

bool hs_code_blob_find(const struct hs_hotspot_layout *layout,
                       const struct hs_hotspot_memory *memory, const struct hs_code_heaps *heaps,
                       uint64_t pc, struct hs_code_blob *ret_blob)
{
    const uint64_t *at = layout->at;
    const struct hs_code_heap *heap = find_heap(layout, memory, heaps, pc);
    uint64_t block_va, block_end_va;
    struct copy copy;
    if (!heap || !find_block(layout, memory, heap, pc, &block_va, &block_end_va)) {
        return false;
    }
    ret_blob->start_va = block_va + layout->size_bytes[HS_HOTSPOT_SIZE_BLOCK];
    uint64_t head_bytes = at[HS_HOTSPOT_BLOB_NAME] + 8; /* the last field of a blob's own */
    if (ret_blob->start_va + head_bytes > block_end_va ||
        !copy_struct(memory, ret_blob->start_va, head_bytes, &copy)) {
        return false;
    }
    uint64_t size_bytes = field(&copy, at[HS_HOTSPOT_BLOB_SIZE], 4);
    uint32_t frame_words = (uint32_t)field(&copy, at[HS_HOTSPOT_BLOB_FRAME_SIZE], 4);
    ret_blob->end_va = ret_blob->start_va + size_bytes;
    ret_blob->code_va = field(&copy, at[HS_HOTSPOT_BLOB_CODE_BEGIN], 8);
    if (ret_blob->end_va > block_end_va || pc < ret_blob->code_va || pc >= ret_blob->end_va ||
        ret_blob->code_va < ret_blob->start_va ||
        !read_name(memory, field(&copy, at[HS_HOTSPOT_BLOB_NAME], 8), ret_blob->name)) {
        return false;
    }
    bool is_compiled = hs_text_is_same(ret_blob->name, "nmethod") ||
                       hs_text_is_same(ret_blob->name, "native nmethod");
    ret_blob->kind = is_compiled                                      ? HS_BLOB_COMPILED
                     : hs_text_is_same(ret_blob->name, "Interpreter") ? HS_BLOB_INTERPRETER
                                                                      : HS_BLOB_STUB;
    /* -1 and 0: it has no frame of a fixed size. */
    ret_blob->frame_bytes =
        frame_words >= 2 && frame_words <= FRAME_WORDS_MAX ? frame_words * 8 : 0;
    if (is_compiled) {
        return ret_blob->frame_bytes != 0 && read_compiled(layout, memory, ret_blob);
    }
    return true;
}
