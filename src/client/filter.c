/*
 * The cold half of the free filter: bitmaps come into being. See filter.h.
 */
#include "client/filter.h"

#include <sys/mman.h>

#include "client/sandbox.h"
#include "rt/sys.h"

#define CHUNK_BYTES (((size_t)HS_FILTER_SUMMARY_WORDS + HS_FILTER_BIT_WORDS) * sizeof(uint64_t))

uint64_t *hs_filter_chunks[HS_FILTER_CHUNKS];

HS_COLD uint64_t *hs_filter_make_chunk(uintptr_t addr)
{
    uint64_t **slot = &hs_filter_chunks[addr >> HS_FILTER_CHUNK_SHIFT];
    long va = hs_sys_mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    hs_sandbox_advise((void *)va, CHUNK_BYTES, MADV_DONTDUMP);
    /* Sparse by nature: a huge page here would be 2 MiB for a few bits. */
    hs_sandbox_advise((void *)va, CHUNK_BYTES, MADV_NOHUGEPAGE);
    uint64_t *chunk = NULL;
    if (!hs_cas_relaxed(slot, &chunk, (uint64_t *)va)) {
        hs_sys_munmap((void *)va, CHUNK_BYTES); /* another thread was first */
        return chunk;
    }
    return (uint64_t *)va;
}
