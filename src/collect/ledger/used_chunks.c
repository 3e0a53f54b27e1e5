/*
 * Arrays of chunks: see used_chunks.h.
 */
#include "collect/ledger/used_chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/page_sample.h"

#define CLUSTER_BYTES (HS_PAGE_SAMPLE_CLUSTER_PAGES * UINT64_C(4096))

/* The answer for a cluster of pages, because chunks come in the order of their addresses. */
struct memo {
    uint64_t cluster;
    bool is_sampled;
};

static bool is_sampled(uint64_t va, uint64_t word, unsigned shift, struct memo *memo)
{
    uint64_t end_va = va + (word & ~(uint64_t)HS_USED_IS_OWN) + HS_USED_LINKS_BYTES;
    uint64_t cluster = va / CLUSTER_BYTES;
    if ((end_va - 1) / CLUSTER_BYTES != cluster) {
        return hs_pages_are_sampled(va, end_va, shift);
    }
    if (memo->cluster != cluster) {
        *memo = (struct memo){ cluster, hs_page_is_sampled(va / 4096, shift) };
    }
    return memo->is_sampled;
}

void hs_used_chunks_thin(struct hs_used_chunks *chunks, unsigned page_shift)
{
    size_t kept = 0;
    struct memo memo = { .cluster = UINT64_MAX };
    chunks->page_shift = page_shift;
    chunks->last_cluster = UINT64_MAX;
    for (size_t i = 0; i < chunks->count; i++) {
        if (is_sampled(chunks->items[i].key, chunks->items[i].value, page_shift, &memo)) {
            chunks->items[kept++] = chunks->items[i];
        }
    }
    chunks->count = kept;
}

static bool reserve(struct hs_used_chunks *chunks, void *array_address, size_t *capacity,
                    size_t count, size_t elem_bytes)
{
    int r = hs_array_reserve(array_address, capacity, count, elem_bytes);
    chunks->err = r < 0 ? r : chunks->err;
    return r == 0;
}

void hs_used_chunks_add(struct hs_used_chunks *chunks, uint64_t va, uint64_t word)
{
    size_t count_max = chunks->count_max > 0 ? chunks->count_max : HS_USED_CHUNKS_MAX;
    while (chunks->count >= count_max && chunks->page_shift < HS_PAGE_SAMPLE_SHIFT_MAX) {
        hs_used_chunks_thin(chunks, chunks->page_shift + 1);
    }
    struct memo memo = { chunks->last_cluster, chunks->is_last_sampled };
    bool is_wanted = is_sampled(va, word, chunks->page_shift, &memo);
    chunks->last_cluster = memo.cluster;
    chunks->is_last_sampled = memo.is_sampled;
    if (chunks->count >= count_max) {
        chunks->err = -EFBIG;
    } else if (is_wanted && reserve(chunks, &chunks->items, &chunks->capacity, chunks->count + 1,
                                    sizeof(chunks->items[0]))) {
        chunks->items[chunks->count++] = (struct hs_pair){ va, word };
    }
}

void hs_used_chunks_add_cached(struct hs_used_chunks *chunks, uint64_t va)
{
    if (reserve(chunks, &chunks->cached, &chunks->cached_capacity, chunks->cached_count + 1,
                sizeof(chunks->cached[0]))) {
        chunks->cached[chunks->cached_count++] = (struct hs_pair){ va, 0 };
    }
}

void hs_used_chunks_add_large(struct hs_used_chunks *chunks, const struct hs_used_large *large)
{
    if (reserve(chunks, &chunks->large, &chunks->large_capacity, chunks->large_count + 1,
                sizeof(chunks->large[0]))) {
        chunks->large[chunks->large_count++] = *large;
    }
}

void hs_used_chunks_add_huge(struct hs_used_chunks *chunks, const struct hs_used_huge *huge)
{
    if (reserve(chunks, &chunks->huge, &chunks->huge_capacity, chunks->huge_count + 1,
                sizeof(chunks->huge[0]))) {
        chunks->huge[chunks->huge_count++] = *huge;
    }
}

void hs_used_chunks_add_piece(struct hs_used_chunks *chunks, const struct hs_used_piece *piece)
{
    if (reserve(chunks, &chunks->pieces, &chunks->piece_capacity, chunks->piece_count + 1,
                sizeof(chunks->pieces[0]))) {
        chunks->pieces[chunks->piece_count++] = *piece;
    } else {
        struct hs_residency residency = piece->residency;
        hs_residency_deinit(&residency);
    }
}

void hs_used_chunks_deinit(struct hs_used_chunks *chunks)
{
    for (size_t i = 0; i < chunks->piece_count; i++) {
        hs_residency_deinit(&chunks->pieces[i].residency);
    }
    free(chunks->items);
    free(chunks->cached);
    free(chunks->large);
    free(chunks->pieces);
    free(chunks->huge);
    *chunks = (struct hs_used_chunks){ 0 };
}
