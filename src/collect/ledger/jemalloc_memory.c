/*
 * Follows jemalloc's tables: see jemalloc_memory.h.
 */
#include "collect/ledger/jemalloc_memory.h"

#include <stdbool.h>

#include "collect/ledger/memory_scan.h"
#include "trace/ledger.h"

#define PAGE_BYTES       UINT64_C(4096)
#define LINE_BYTES       64U
#define BLOCK_ALIGN      UINT64_C(0x200000)
#define HEADS_MAX        UINT32_C(65536) /* of 128 GiB */
#define TABLES_BYTES_MAX (UINT64_C(256) << 20)
#define EXTENTS_MAX      (UINT32_C(1) << 20)

static const char allocator_name[] = "jemalloc";

/* The head of a block of tables. */
struct head {
    uint64_t block_bytes;
    uint64_t next_va;
    uint64_t bits;
    uint64_t left_va; /* what is left of the block: up to its end */
    uint64_t left_bytes;
};

struct search {
    const struct hs_va_ranges *gaps;
    struct hs_owned_ranges *owned;
    uint32_t extents_left;
};

static int add(struct hs_owned_ranges *owned, uint64_t start_va, uint64_t end_va)
{
    const struct hs_owned_range range = { start_va, end_va, HS_LEDGER_ALLOCATOR, allocator_name };
    return hs_owned_ranges_add(owned, &range);
}

static bool is_head(const struct head *head, uint64_t va, uint64_t gap_end_va)
{
    return head->block_bytes > 0 && head->block_bytes % BLOCK_ALIGN == 0 &&
           head->block_bytes <= gap_end_va - va && head->next_va % BLOCK_ALIGN == 0 &&
           head->left_va > va + sizeof(*head) && head->left_va <= va + head->block_bytes &&
           head->left_bytes == va + head->block_bytes - head->left_va;
}

/* The address of an extent is followed by its size. The lower bits of the address say where in its
 * first page the block begins, in cache lines; those of the size are a serial number. */
static int take_extents(void *ctx, const uint64_t *words, size_t word_count)
{
    struct search *search = ctx;
    int r = 0;
    for (size_t i = 0; i + 1 < word_count && search->extents_left > 0 && r == 0; i++) {
        uint64_t va = words[i] & ~(PAGE_BYTES - 1), bytes = words[i + 1] & ~(PAGE_BYTES - 1);
        if (va == 0 || words[i] % LINE_BYTES != 0 || bytes == 0) {
            continue;
        }
        size_t gap = hs_va_ranges_find(search->gaps, va);
        if (gap < search->gaps->count && bytes <= search->gaps->items[gap].end_va - va) {
            search->extents_left--;
            r = add(search->owned, va, va + bytes);
        }
    }
    return r;
}

int hs_jemalloc_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                            const struct hs_va_ranges *gaps, struct hs_owned_ranges *owned)
{
    struct search search = { .gaps = gaps, .owned = owned, .extents_left = EXTENTS_MAX };
    struct hs_memory_scan scan = {
        .window = window,
        .pagemap_fd = pagemap_fd,
        .bytes_left = TABLES_BYTES_MAX,
        .take = take_extents,
        .ctx = &search,
    };
    uint32_t left = HEADS_MAX;
    int r = 0;
    for (size_t i = 0; i < gaps->count && r == 0; i++) {
        uint64_t end_va = gaps->items[i].end_va;
        uint64_t va = (gaps->items[i].start_va + BLOCK_ALIGN - 1) & ~(BLOCK_ALIGN - 1);
        for (; va < end_va && left > 0 && r == 0; left--) {
            struct head head;
            if (hs_residency_is_resident(pagemap_fd, va) &&
                hs_remote_window_peek(window, va, &head, sizeof(head)) &&
                is_head(&head, va, end_va)) {
                r = add(owned, va, va + head.block_bytes);
                r = r == 0 ? hs_memory_scan(&scan, va, va + head.block_bytes) : r;
                va += head.block_bytes;
            } else {
                va += BLOCK_ALIGN;
            }
        }
    }
    return r;
}
