/*
 * The slow path of the free filter: making bitmaps. See filter.h.
 */
#include "client/tables/filter.h"

#include <sys/mman.h>

#include "client/host/pages.h"
#include "rt/sys.h"

#define CHUNK_BYTES (((size_t)HS_FILTER_SUMMARY_WORDS + HS_FILTER_BIT_WORDS) * sizeof(uint64_t))

uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

HS_COLD uint64_t *hs_filter_make_chunk(uintptr_t addr)
{
    uint64_t **slot = &hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT];
    uint64_t *mapped = hs_pages_map_sparse(CHUNK_BYTES), *chunk = NULL;
    if (mapped && !hs_cas_relaxed(slot, &chunk, mapped)) {
        hs_pages_unmap(mapped, CHUNK_BYTES); /* another thread was first */
        return chunk;
    }
    return mapped;
}

void hs_filter_clear(void)
{
    for (uint32_t i = 0; i < HS_FILTER_CHUNKS; i++) {
        uint64_t *chunk = hs_load_relaxed(&hs_filter_chunks[i]);
        if (chunk) {
            hs_sys_madvise(chunk, CHUNK_BYTES, MADV_DONTNEED);
        }
    }
}

#if HS_HAS_CHECKS

static bool is_chunk_valid(const uint64_t *chunk)
{
    const uint64_t *words = chunk + HS_FILTER_SUMMARY_WORDS;
    for (uint32_t i = 0; i < HS_FILTER_BIT_WORDS; i++) {
        if (words[i] != 0 && !(chunk[i / 32] >> (i % 32) & 1)) {
            return false;
        }
    }
    return true;
}

bool hs_filter_is_valid(void)
{
    for (uint32_t i = 0; i < HS_FILTER_CHUNKS; i++) {
        if (hs_filter_chunks[i] && !is_chunk_valid(hs_filter_chunks[i])) {
            return false;
        }
    }
    return true;
}

uint64_t hs_filter_bit_count(void)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < HS_FILTER_CHUNKS; i++) {
        const uint64_t *chunk = hs_filter_chunks[i];
        for (uint32_t w = 0; chunk && w < HS_FILTER_BIT_WORDS; w++) {
            count += (uint64_t)__builtin_popcountll(chunk[HS_FILTER_SUMMARY_WORDS + w]);
        }
    }
    return count;
}

#endif
