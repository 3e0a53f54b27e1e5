/*
 * Finds addresses in a sorted list by a table of their high bits, which says where in the list to
 * search. A symbol table has many more symbols than there are wanted addresses, so the search is
 * what reading one costs. With as many buckets as addresses, most searches end after one step;
 * where the addresses are dense, a bucket is searched by halves.
 *
 * Holds     first[b] is the index of the first address of bucket b or a later one.
 * Threads   none.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_pc_index {
    const uint64_t *pcs; /* ascending; the caller's */
    size_t pc_count;
    unsigned shift; /* an address's distance from pcs[0], shifted right: its bucket */
    size_t bucket_count;
    uint32_t *first; /* bucket_count + 1 of them */
};

/* Makes the index of ascending pcs[0 .. pc_count), which must outlive it; below 2^32 of them. */
int hs_pc_index_init(struct hs_pc_index *index, const uint64_t *pcs, size_t pc_count);
/* Frees it. A zero-initialized index is empty. */
void hs_pc_index_deinit(struct hs_pc_index *index);

/* Sorts addresses, and keeps each once. Returns how many there are then. */
size_t hs_pcs_sort(uint64_t *pcs, size_t count);

/* The index of the first address that is not below va; pc_count when all are. */
static inline size_t hs_pc_index_first(const struct hs_pc_index *index, uint64_t va)
{
    if (index->pc_count == 0 || va <= index->pcs[0]) {
        return 0;
    }
    uint64_t bucket = (va - index->pcs[0]) >> index->shift;
    if (bucket >= index->bucket_count) {
        return index->pc_count;
    }
    size_t low = index->first[bucket], high = index->first[bucket + 1];
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (index->pcs[mid] < va) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}
