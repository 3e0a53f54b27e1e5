/*
 * Our own packets of the live blocks of a dump, one by one.
 *
 * Blocks are in the order of their callstacks, and of one callstack in that of their addresses, so
 * that differences are small. A packet has at most BLOCKS_PER_PACKET blocks; a callstack with more
 * is in several packets. Unlike rows, all blocks are written again at each dump.
 *
 * See       writer_state.h, snapshot.h, proto/heapscope.proto
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/writer_names.h"
#include "trace/writer_state.h"

#define BLOCKS_PER_PACKET 8000U

struct columns {
    /* one element for each callstack */
    int64_t iid_delta[BLOCKS_PER_PACKET];
    uint32_t heap[BLOCKS_PER_PACKET], block_count[BLOCKS_PER_PACKET];
    size_t stack_count;
    uint32_t last_iid;
    uint32_t last_idx; /* of the last callstack, if stack_count > 0 */
    /* one for each block */
    int64_t address_delta[BLOCKS_PER_PACKET], birth_delta[BLOCKS_PER_PACKET];
    uint64_t size_bytes[BLOCKS_PER_PACKET];
    int32_t thread_delta[BLOCKS_PER_PACKET];
    uint32_t type[BLOCKS_PER_PACKET], hits[BLOCKS_PER_PACKET], interval[BLOCKS_PER_PACKET];
    size_t count;
    uint64_t last_va;
    uint32_t last_birth_ms;
    uint16_t last_thread;
    struct hs_writer_names names;
};

/* A block, and the callstack that it is put to. */
struct place {
    uint64_t va;
    uint32_t idx; /* in process->written */
    uint32_t block;
};

static void flush(struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                  struct columns *columns)
{
    if (columns->count == 0) {
        return;
    }
    Hs__Pb__HsBlocks blocks = HS__PB__HS_BLOCKS__INIT;
    HS_SET_FIELD(&blocks, process_idx, dump->process->process_idx);
    HS_SET_FIELD(&blocks, clock_ns, dump->snap->block_clock_ns);
    HS_WRITER_COLUMN(&blocks, interval_bytes,
                     (uint64_t *)(uintptr_t)dump->snap->block_interval_bytes,
                     (size_t)HS_REGION_INTERVALS);
    blocks.n_callstack_iid_delta = blocks.n_block_count = columns->stack_count;
    blocks.callstack_iid_delta = columns->iid_delta;
    blocks.block_count = columns->block_count;
    HS_WRITER_COLUMN(&blocks, heap, columns->heap, columns->stack_count);
    HS_WRITER_COLUMN(&blocks, address_delta, columns->address_delta, columns->count);
    HS_WRITER_COLUMN(&blocks, size_bytes, columns->size_bytes, columns->count);
    HS_WRITER_COLUMN(&blocks, hits, columns->hits, columns->count);
    HS_WRITER_COLUMN(&blocks, interval, columns->interval, columns->count);
    HS_WRITER_COLUMN(&blocks, thread_delta, columns->thread_delta, columns->count);
    HS_WRITER_COLUMN(&blocks, type, columns->type, columns->count);
    HS_WRITER_COLUMN(&blocks, birth_ms_delta, columns->birth_delta, columns->count);
    HS_WRITER_NAMES_MOVE(&columns->names, &blocks);
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.blocks = &blocks;
    hs_writer_ours(writer, dump->time_ns, &heapscope);
    columns->stack_count = columns->count = 0;
    columns->last_iid = columns->last_birth_ms = 0;
    columns->last_va = columns->last_thread = 0;
}

static int put(const struct hs_writer_dump *dump, struct columns *columns,
               const struct place *place)
{
    const struct hs_snap_block *block = &dump->snap->blocks[place->block];
    struct hs_written_process *process = dump->process;
    if (columns->stack_count == 0 || columns->last_idx != place->idx) {
        uint32_t iid = (uint32_t)process->stacks.keys[place->idx].lo;
        columns->iid_delta[columns->stack_count] = (int64_t)iid - columns->last_iid;
        columns->heap[columns->stack_count] = process->written[place->idx].heap;
        columns->block_count[columns->stack_count++] = 0;
        columns->last_iid = iid;
        columns->last_idx = place->idx;
    }
    size_t at = columns->count++;
    columns->block_count[columns->stack_count - 1]++;
    columns->address_delta[at] = (int64_t)(block->va - columns->last_va);
    columns->size_bytes[at] = block->size_bytes;
    columns->hits[at] = block->hits;
    columns->interval[at] = block->hits ? block->interval_idx : 0;
    columns->thread_delta[at] = (int32_t)block->thread_id - columns->last_thread;
    columns->type[at] = block->type_id;
    columns->birth_delta[at] = (int64_t)block->birth_ms - columns->last_birth_ms;
    columns->last_va = block->va;
    columns->last_thread = block->thread_id;
    columns->last_birth_ms = block->birth_ms;
    int r = hs_writer_name_thread(dump, &columns->names, block->thread_id);
    return r == 0 ? hs_writer_name_type(dump, &columns->names, block->type_id) : r;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return left->idx != right->idx      ? (left->idx < right->idx ? -1 : 1)
           : left->va != right->va      ? (left->va < right->va ? -1 : 1)
           : left->block < right->block ? -1
                                        : left->block > right->block;
}

/* Puts the blocks in order, without those whose callstacks the file leaves out. NULL: no memory. */
static struct place *sort_blocks(const struct hs_writer_dump *dump, size_t *ret_count)
{
    const struct hs_snapshot *snap = dump->snap;
    struct place *places = malloc((snap->block_count + 1) * sizeof(places[0]));
    size_t count = 0;
    for (size_t i = 0; places && i < snap->block_count; i++) {
        uint32_t idx = dump->stack_idx[snap->blocks[i].stack_id];
        if (idx != UINT32_MAX) {
            places[count++] = (struct place){ snap->blocks[i].va, idx, (uint32_t)i };
        }
    }
    if (places && count > 0) {
        qsort(places, count, sizeof(places[0]), compare_places);
    }
    *ret_count = count;
    return places;
}

int hs_writer_blocks(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    if (!dump->snap->has_blocks) {
        return 0;
    }
    size_t count = 0;
    struct columns *columns = calloc(1, sizeof(*columns));
    struct place *places = columns ? sort_blocks(dump, &count) : NULL;
    int r = places && hs_writer_names_init(&columns->names, dump->snap) ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        r = put(dump, columns, &places[i]);
        if (columns->count == BLOCKS_PER_PACKET) {
            flush(writer, dump, columns);
        }
    }
    if (r == 0) {
        flush(writer, dump, columns);
    }
    if (columns) {
        hs_writer_names_deinit(&columns->names);
    }
    free(columns);
    free(places);
    return r;
}
