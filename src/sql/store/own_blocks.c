/*
 * heapscope_blocks: see own_ledgers.h.
 */
#include "profile/model/dump_heaps.h"
#include "sql/store/own_ledgers.h"

/* Births are whole milliseconds, so that of a new block can be up to one after the dump. */
#define BIRTH_UNIT_NS UINT64_C(1000000)

/* The age of a block at its dump, or HS_ROWS_NULL. The clock of a pprof file's dump may be another
 * one than that of the births. */
static int64_t age_ns(const struct hs_profile_dump *dump, const struct hs_profile_block *block)
{
    if (block->birth_ns == 0 || block->birth_ns > dump->time_ns + BIRTH_UNIT_NS) {
        return HS_ROWS_NULL;
    }
    return block->birth_ns < dump->time_ns ? (int64_t)(dump->time_ns - block->birth_ns) : 0;
}

static void add_block(struct hs_sql_store *store, const struct hs_profile *p, uint32_t dump,
                      const struct hs_profile_block *block, const uint32_t *node_rows)
{
    const struct hs_profile_dump *d = &p->dumps[dump];
    const struct hs_profile_dump_heap *heap = hs_profile_dump_heap(p, d, block->heap);
    HS_SQL_ADD(store, HS_SQL_OWN_BLOCKS, dump, d->process,
               block->address ? (int64_t)block->address : HS_ROWS_NULL, (int64_t)block->size_bytes,
               hs_rows_real(block->bytes), hs_rows_real(block->count),
               (int64_t)hs_own_row_of_node(node_rows, block->node),
               hs_sql_store_str(store, hs_profile_string(p, p->heaps[block->heap])),
               !heap || heap->is_counted, (int64_t)block->tid,
               hs_sql_store_str(store, hs_profile_string(p, block->thread_name)),
               block->birth_ns ? (int64_t)block->birth_ns : HS_ROWS_NULL, age_ns(d, block),
               block->type ? hs_sql_store_str(store, hs_profile_string(p, block->type))
                           : HS_ROWS_NULL);
}

void hs_own_blocks_add(struct hs_sql_store *store, const struct hs_profile *p,
                       const uint32_t *node_rows)
{
    for (uint32_t d = 0; d < p->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[d];
        uint64_t count = dump->has_blocks ? dump->blocks_n : 0;
        for (uint64_t i = 0; i < count && store->err == 0; i++) {
            add_block(store, p, d, &p->blocks[dump->block_first + i], node_rows);
        }
    }
}
