/*
 * Recognizes the pages of V8's heap: see v8_memory.h.
 */
#include "collect/ledger/v8_memory.h"

#include <stdbool.h>

#include "collect/ledger/residency.h"
#include "trace/ledger.h"

#define PAGE_BYTES       UINT64_C(4096)
#define CHUNK_ALIGN      UINT64_C(0x40000)
#define HEADER_BYTES_MAX UINT64_C(0x4000)
#define PAGES_A_READ_MAX 100000U /* a process can have very many such mappings */

static const char heap_name[] = "V8 heap";

/* The head of a page, in V8's terms: a MemoryChunk. */
struct chunk {
    uint64_t size_bytes;
    uint64_t flags;
    uint64_t heap_va; /* V8's heap object; 0 for pages that heaps share */
    uint64_t area_start_va, area_end_va;
};

static bool is_chunk(const struct chunk *chunk, uint64_t va, uint64_t mapping_end_va,
                     const struct hs_address_space *space)
{
    return chunk->size_bytes >= PAGE_BYTES && chunk->size_bytes % PAGE_BYTES == 0 &&
           chunk->size_bytes <= mapping_end_va - va && chunk->flags != 0 &&
           chunk->flags <= UINT32_MAX && chunk->area_start_va > va + sizeof(*chunk) &&
           chunk->area_start_va < va + HEADER_BYTES_MAX &&
           chunk->area_end_va > chunk->area_start_va &&
           chunk->area_end_va <= va + chunk->size_bytes &&
           (chunk->heap_va == 0 || hs_address_space_find(space, chunk->heap_va));
}

int hs_v8_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                      const struct hs_address_space *space, struct hs_owned_ranges *owned)
{
    unsigned left = PAGES_A_READ_MAX;
    int r = 0;
    for (size_t i = 0; i < space->count && left > 0 && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        uint64_t va = mapping->start_va;
        struct chunk chunk;
        if (!hs_mapping_is_plain(space, mapping) || !mapping->is_readable ||
            mapping->rss_bytes == 0) {
            continue;
        }
        /* The kernel can have joined several. */
        for (; r == 0 && left > 0 && va < mapping->end_va && va % CHUNK_ALIGN == 0; left--) {
            if (!hs_residency_is_resident(pagemap_fd, va) ||
                !hs_remote_window_peek(window, va, &chunk, sizeof(chunk)) ||
                !is_chunk(&chunk, va, mapping->end_va, space)) {
                break;
            }
            const struct hs_owned_range range = { va, va + chunk.size_bytes, HS_LEDGER_RUNTIME,
                                                  heap_name };
            r = hs_owned_ranges_add(owned, &range);
            va += chunk.size_bytes;
        }
    }
    return r;
}
