/*
 * The slow path of the free filter: making bitmaps. See filter.h.
 */
#include "client/filter.h"

#include <sys/mman.h>

#include "client/pages.h"
#include "rt/sys.h"

#define CHUNK_BYTES (((size_t)HS_FILTER_SUMMARY_WORDS + HS_FILTER_BIT_WORDS) * sizeof(uint64_t))

uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

HS_COLD uint64_t *hs_filter_make_chunk(uintptr_t addr)
{
    uint64_t **slot = &hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT];
    uint64_t *mapped = hs_pages_map_sparse(CHUNK_BYTES), *chunk = NULL;
    if (mapped && !hs_cas_relaxed(slot, &chunk, mapped)) {
        hs_sys_munmap(mapped, CHUNK_BYTES); /* another thread was first */
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
