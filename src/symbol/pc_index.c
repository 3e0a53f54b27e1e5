/*
 * See pc_index.h.
 */
#include "symbol/pc_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rt/bits.h"
#include "rt/check.h"

void hs_pc_index_deinit(struct hs_pc_index *index)
{
    free(index->first);
    *index = (struct hs_pc_index){ 0 };
}

int hs_pc_index_init(struct hs_pc_index *index, const uint64_t *pcs, size_t pc_count)
{
    *index = (struct hs_pc_index){ .pcs = pcs, .pc_count = pc_count };
    if (pc_count == 0) {
        return 0;
    }
    uint64_t span = pcs[pc_count - 1] - pcs[0];
    unsigned span_bits = span ? hs_log2_floor(span) + 1 : 1;
    unsigned bucket_bits = hs_log2_floor(pc_count) + 1;
    index->shift = span_bits > bucket_bits ? span_bits - bucket_bits : 0;
    index->bucket_count = (size_t)(span >> index->shift) + 1;
    index->first =
        pc_count < UINT32_MAX ? malloc((index->bucket_count + 1) * sizeof(*index->first)) : NULL;
    if (!index->first) {
        return -ENOMEM;
    }
    size_t bucket = 0;
    for (size_t i = 0; i < pc_count; i++) {
        size_t own = (size_t)((pcs[i] - pcs[0]) >> index->shift);
        while (bucket <= own) {
            index->first[bucket++] = (uint32_t)i;
        }
    }
    index->first[index->bucket_count] = (uint32_t)pc_count;
    HS_ASSERT(bucket == index->bucket_count);
    return 0;
}

static int compare_pcs(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

size_t hs_pcs_sort(uint64_t *pcs, size_t count)
{
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++) {
        is_sorted = pcs[i - 1] <= pcs[i];
    }
    if (!is_sorted) {
        qsort(pcs, count, sizeof(*pcs), compare_pcs);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || pcs[kept - 1] != pcs[i]) {
            pcs[kept++] = pcs[i];
        }
    }
    return kept;
}
