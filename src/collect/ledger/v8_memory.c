/*
 * Recognizes the pages of V8's heap: see v8_memory.h.
 */
#include "collect/ledger/v8_memory.h"

#include <stdbool.h>
#include <string.h>

#include "collect/ledger/residency.h"
#include "trace/ledger.h"

#define PAGE_BYTES       UINT64_C(4096)
#define CHUNK_ALIGN      UINT64_C(0x40000)
#define HEADER_BYTES_MAX UINT64_C(0x4000)
#define PAGES_A_READ_MAX 100000U /* a process can have very many such mappings */

static const char heap_name[] = "V8 heap";

/* What describes a page, in V8's terms a MemoryChunk. Up to V8 12.1, the page begins with it. */
struct chunk {
    uint64_t size_bytes;
    uint64_t flags;
    uint64_t heap_va; /* V8's heap object; 0 for pages that heaps share */
    uint64_t area_start_va, area_end_va;
};

/* From V8 12.2 on, a page begins with its flags and the address of what describes it: of itself at
 * first, of memory elsewhere later. */
struct newer_head {
    uint64_t flags;
    uint64_t description_va;
};

/* The description that is elsewhere has the same numbers, in an order that has changed. */
#define DESCRIPTION_WORDS 16U

static bool are_flags(uint64_t flags)
{
    return flags != 0 && flags <= UINT32_MAX;
}

static bool is_area(uint64_t va, uint64_t size_bytes, uint64_t start_va, uint64_t end_va)
{
    return start_va > va && start_va < va + HEADER_BYTES_MAX && end_va > start_va &&
           end_va <= va + size_bytes;
}

static bool is_chunk(const struct chunk *chunk, uint64_t va, uint64_t bytes_max,
                     const struct hs_address_space *space)
{
    return chunk->size_bytes >= PAGE_BYTES && chunk->size_bytes % PAGE_BYTES == 0 &&
           chunk->size_bytes <= bytes_max && are_flags(chunk->flags) &&
           chunk->area_start_va > va + sizeof(*chunk) &&
           is_area(va, chunk->size_bytes, chunk->area_start_va, chunk->area_end_va) &&
           (chunk->heap_va == 0 || hs_address_space_find(space, chunk->heap_va));
}

/* The largest size that fits an area in the description; 0: there is none. Some pages end with
 * memory that guards them. */
static uint64_t described_bytes(const uint64_t *words, uint64_t va, uint64_t bytes_max)
{
    uint64_t start_va = 0, size_bytes = 0;
    for (size_t i = 0; i < DESCRIPTION_WORDS && start_va == 0; i++) {
        start_va = words[i] > va && words[i] < va + HEADER_BYTES_MAX ? words[i] : 0;
    }
    for (size_t i = 0; i < DESCRIPTION_WORDS * DESCRIPTION_WORDS && start_va != 0; i++) {
        uint64_t bytes = words[i / DESCRIPTION_WORDS], end_va = words[i % DESCRIPTION_WORDS];
        if (bytes > size_bytes && bytes % PAGE_BYTES == 0 && bytes <= bytes_max &&
            is_area(va, bytes, start_va, end_va) && va + bytes - end_va < CHUNK_ALIGN) {
            size_bytes = bytes;
        }
    }
    return size_bytes;
}

/* The size of the page that begins at `va`; 0: none does. */
static uint64_t page_bytes(const struct hs_remote_window *window, int pagemap_fd,
                           const struct hs_address_space *space, uint64_t va, uint64_t bytes_max)
{
    uint64_t words[1 + sizeof(struct chunk) / sizeof(uint64_t)];
    uint64_t description[DESCRIPTION_WORDS];
    struct chunk chunk;
    struct newer_head head;
    if (!hs_residency_is_resident(pagemap_fd, va) ||
        !hs_remote_window_peek(window, va, words, sizeof(words))) {
        return 0;
    }
    memcpy(&chunk, words, sizeof(chunk));
    if (is_chunk(&chunk, va, bytes_max, space)) {
        return chunk.size_bytes;
    }
    memcpy(&head, words, sizeof(head));
    if (head.description_va == va) { /* flags, itself, size, heap, area */
        chunk = (struct chunk){ words[2], words[0], words[3], words[4], words[5] };
        return is_chunk(&chunk, va, bytes_max, space) ? chunk.size_bytes : 0;
    }
    return are_flags(head.flags) && head.description_va % sizeof(uint64_t) == 0 &&
                   hs_address_space_find(space, head.description_va) &&
                   hs_residency_is_resident(pagemap_fd, head.description_va) &&
                   hs_residency_is_resident(pagemap_fd,
                                            head.description_va + sizeof(description) - 1) &&
                   hs_remote_window_peek(window, head.description_va, description,
                                         sizeof(description))
               ? described_bytes(description, va, bytes_max)
               : 0;
}

int hs_v8_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                      const struct hs_address_space *space, struct hs_owned_ranges *owned)
{
    unsigned left = PAGES_A_READ_MAX;
    int r = 0;
    for (size_t i = 0; i < space->count && left > 0 && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        uint64_t va = mapping->start_va;
        if (!hs_mapping_is_plain(space, mapping) || !mapping->is_readable ||
            mapping->rss_bytes == 0) {
            continue;
        }
        /* The kernel can have joined several. */
        for (; r == 0 && left > 0 && va < mapping->end_va && va % CHUNK_ALIGN == 0; left--) {
            uint64_t bytes = page_bytes(window, pagemap_fd, space, va, mapping->end_va - va);
            if (bytes == 0) {
                break;
            }
            const struct hs_owned_range range = { va, va + bytes, HS_LEDGER_RUNTIME, heap_name };
            r = hs_owned_ranges_add(owned, &range);
            va += bytes;
        }
    }
    return r;
}
