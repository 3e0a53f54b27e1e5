/*
 * Reads PcDescs and scopes. See debug_scopes.h.
 */
#include "hotspot/debug_scopes.h"

#include "hotspot/compressed_int.h"

/* Three numbers of at most five bytes. */
#define SCOPE_BYTES 15U

/* The offset of the scope of `pc`. */
static bool find_pc(const struct hs_hotspot_layout *layout, const struct hs_hotspot_memory *memory,
                    const struct hs_code_blob *blob, uint64_t pc, uint32_t *ret_off)
{
    const uint64_t elem_bytes = layout->size_bytes[HS_HOTSPOT_SIZE_PC_DESC];
    int64_t want = (int64_t)(pc - blob->code_va);
    uint64_t first = 0, end = (blob->pcs_end_va - blob->pcs_va) / elem_bytes;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2, va = blob->pcs_va + middle * elem_bytes;
        uint32_t off;
        if (!hs_hotspot_int(memory, va + layout->at[HS_HOTSPOT_PC_OFFSET], &off)) {
            return false;
        }
        if ((int32_t)off == want) {
            return hs_hotspot_int(memory, va + layout->at[HS_HOTSPOT_PC_SCOPE], ret_off);
        }
        if ((int32_t)off < want) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return false;
}

bool hs_debug_scopes_next(struct hs_debug_scopes *scopes, uint64_t *ret_method_va, int32_t *ret_bci)
{
    const struct hs_code_blob *blob = scopes->blob;
    uint64_t stream_bytes = blob->pcs_va - blob->scopes_va;
    uint8_t bytes[SCOPE_BYTES];
    if (scopes->next_off == 0 || scopes->next_off >= stream_bytes) {
        return false;
    }
    uint64_t left = stream_bytes - scopes->next_off;
    size_t count = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
    if (!hs_hotspot_read(scopes->memory, blob->scopes_va + scopes->next_off, bytes, count)) {
        return false;
    }
    struct hs_cursor c = { .at = bytes, .end = bytes + count };
    uint32_t sender_off = hs_compressed_int(&c, scopes->layout->vm_major);
    uint64_t method_idx = hs_compressed_int(&c, scopes->layout->vm_major);
    int32_t bci = (int32_t)(hs_compressed_int(&c, scopes->layout->vm_major) - 1);
    if (c.is_bad || sender_off >= scopes->next_off || method_idx == 0 ||
        method_idx > (blob->scopes_va - blob->metadata_va) / 8 ||
        !hs_hotspot_word(scopes->memory, blob->metadata_va + (method_idx - 1) * 8, ret_method_va)) {
        return false;
    }
    scopes->next_off = sender_off;
    *ret_bci = bci;
    return true;
}

/* Does the chain of scopes end with the method that the blob is of? */
static bool is_whole(struct hs_debug_scopes scopes)
{
    uint64_t method_va = 0;
    int32_t bci;
    while (scopes.next_off != 0) {
        if (!hs_debug_scopes_next(&scopes, &method_va, &bci)) {
            return false;
        }
    }
    return method_va != 0 && method_va == scopes.blob->method_va;
}

bool hs_debug_scopes_begin(const struct hs_hotspot_layout *layout,
                           const struct hs_hotspot_memory *memory, const struct hs_code_blob *blob,
                           uint64_t pc, struct hs_debug_scopes *ret_scopes)
{
    *ret_scopes = (struct hs_debug_scopes){ .layout = layout, .memory = memory, .blob = blob };
    return blob->kind == HS_BLOB_COMPILED &&
           find_pc(layout, memory, blob, pc, &ret_scopes->next_off) && is_whole(*ret_scopes);
}
