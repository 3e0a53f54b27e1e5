/*
 * Adds the live blocks of dumps: see builder.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder_state.h"
#include "profile/model/dump_heaps.h"

/* What rows are rounded by, and estimates may differ by, in blocks. */
#define COUNT_ROUNDING (2.0 / 1024)

static int compare_blocks(const void *left, const void *right)
{
    const struct hs_profile_block *a = left, *b = right;
    int order = hs_sample_order(a->node, a->heap, b->node, b->heap);
    return order != 0 ? order : (a->address > b->address) - (a->address < b->address);
}

void hs_builder_sort_blocks(struct hs_profile_block *blocks, size_t count)
{
    if (count > 0) {
        qsort(blocks, count, sizeof(blocks[0]), compare_blocks);
    }
}

/* A file has the number that a callstack's blocks stand for in 1024ths: the last block of each gets
 * what rounding left. */
static void settle_counts(const struct hs_profile *p, const struct hs_profile_dump *dump,
                          struct hs_profile_block *blocks, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += blocks[i].count;
        if (i + 1 < count && blocks[i + 1].node == blocks[i].node &&
            blocks[i + 1].heap == blocks[i].heap) {
            continue;
        }
        const struct hs_profile_sample *sample =
            hs_profile_sample_at(p, dump, blocks[i].node, blocks[i].heap);
        double rest = sample ? sample->live.count - sum : 0;
        if (fabs(rest) <= COUNT_ROUNDING + 1e-9 * sum) {
            blocks[i].count += rest;
        }
        sum = 0;
    }
}

/* Forgets the blocks of the earliest dumps, until there is room. */
static void make_room(struct hs_profile *p, uint64_t count)
{
    for (uint32_t i = 0; i < p->dump_count && p->block_count + count > HS_BUILDER_BLOCKS_MAX; i++) {
        uint64_t gone = p->dumps[i].has_blocks ? p->dumps[i].blocks_n : 0;
        if (gone == 0) {
            continue;
        }
        uint64_t first = p->dumps[i].block_first;
        memmove(&p->blocks[first], &p->blocks[first + gone],
                (p->block_count - first - gone) * sizeof(p->blocks[0]));
        p->block_count -= gone;
        p->dumps[i].has_blocks = false;
        for (uint32_t k = 0; k < p->dump_count; k++) {
            p->dumps[k].block_first -= p->dumps[k].block_first > first ? gone : 0;
        }
    }
}

void hs_builder_dump_blocks(struct hs_builder *builder, uint32_t dump,
                            struct hs_profile_block *blocks, size_t count)
{
    struct hs_profile *p = builder->p;
    size_t kept = 0;
    if (builder->err != 0 || dump >= p->dump_count || p->dumps[dump].has_blocks ||
        count > HS_BUILDER_BLOCKS_MAX) {
        return;
    }
    make_room(p, count);
    if (!hs_builder_grow(builder, &p->blocks, &builder->block_capacity, p->block_count + count,
                         sizeof(p->blocks[0]))) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].node < p->node_count && blocks[i].heap < p->heap_count) {
            blocks[kept++] = blocks[i];
        }
    }
    if (kept > 0) {
        hs_builder_sort_blocks(blocks, kept);
        settle_counts(p, &p->dumps[dump], blocks, kept);
        memcpy(&p->blocks[p->block_count], blocks, kept * sizeof(blocks[0]));
    }
    p->dumps[dump].has_blocks = true;
    p->dumps[dump].block_first = p->block_count;
    p->dumps[dump].blocks_n = kept;
    p->block_count += kept;
}
