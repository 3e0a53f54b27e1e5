/*
 * See trace_parts.h.
 */
#include "trace/trace_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_scan.h"
#include "util/array.h"

#define BLOCK_BYTES ((size_t)1 << 20)

struct hs_trace_parts_block {
    struct hs_trace_parts_block *next;
    size_t used_bytes, bytes; /* used_bytes and bytes count bytes of `data` */
    uint8_t data[];
};

void hs_trace_parts_deinit(struct hs_trace_parts *parts)
{
    while (parts->blocks) {
        struct hs_trace_parts_block *next = parts->blocks->next;
        free(parts->blocks);
        parts->blocks = next;
    }
    free(parts->head);
    *parts = (struct hs_trace_parts){ 0 };
}

static bool is_part(const struct hs_trace_field *field)
{
    if (field->wire != HS_TRACE_WIRE_BYTES) {
        return false;
    }
    switch (field->number) {
    case HS_TRACE_FIELD_PROCESS_TREE:
    case HS_TRACE_FIELD_SYS_STATS:
    case HS_TRACE_FIELD_PROCESS_STATS:
    case HS_TRACE_FIELD_PROFILE_PACKET:
    case HS_TRACE_FIELD_SMAPS_PACKET:
    case HS_TRACE_FIELD_PERF_SAMPLE:
    case HS_TRACE_FIELD_STACK_SAMPLE:
    case HS_TRACE_FIELD_OUR_COUNTERS:
        return true;
    default:
        return false;
    }
}

/* Copies the bytes into a block; NULL when out of memory. */
static uint8_t *copy_to_block(struct hs_trace_parts *parts, const uint8_t *data, size_t bytes)
{
    struct hs_trace_parts_block *block = parts->blocks;
    if (!block || block->bytes - block->used_bytes < bytes) {
        size_t block_bytes = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = malloc(sizeof(*block) + block_bytes);
        if (!block) {
            return NULL;
        }
        *block = (struct hs_trace_parts_block){ .next = parts->blocks, .bytes = block_bytes };
        parts->blocks = block;
    }
    uint8_t *kept = block->data + block->used_bytes;
    memcpy(kept, data, bytes);
    block->used_bytes += bytes;
    parts->kept_bytes += bytes;
    return kept;
}

static int add_part(struct hs_trace_parts *parts, const uint8_t *data, size_t bytes,
                    uint32_t number, bool must_copy)
{
    if (parts->count == HS_TRACE_PARTS_MAX ||
        (must_copy && parts->kept_max_bytes - parts->kept_bytes < bytes)) {
        return -E2BIG;
    }
    const uint8_t *kept = must_copy ? copy_to_block(parts, data, bytes) : data;
    if (!kept) {
        return -ENOMEM;
    }
    parts->parts[parts->count++] =
        (struct hs_trace_part){ .data = kept, .bytes = (uint32_t)bytes, .field = number };
    return 0;
}

int hs_trace_parts_split(struct hs_trace_parts *parts, const uint8_t *data, size_t bytes,
                         bool must_copy)
{
    parts->count = 0;
    parts->head_bytes = 0;
    int err = hs_array_reserve(&parts->head, &parts->head_capacity, bytes + 1, 1);
    if (err < 0) {
        return err;
    }
    struct hs_trace_field field;
    for (size_t at = 0, taken; at < bytes; at += taken) {
        taken = hs_trace_scan_field(data + at, bytes - at, &field);
        if (taken == 0) {
            break;
        }
        if (!is_part(&field)) {
            memcpy(parts->head + parts->head_bytes, data + at, taken);
            parts->head_bytes += taken;
            continue;
        }
        int err_part = add_part(parts, data + at, taken, (uint32_t)field.number, must_copy);
        if (err_part == -ENOMEM) {
            return err_part;
        }
        err = err_part < 0 ? err_part : err;
    }
    return err;
}
