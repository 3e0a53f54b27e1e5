/*
 * Recognizes pools of pymalloc: see pymalloc_memory.h.
 */
#include "collect/ledger/pymalloc_memory.h"

#include <errno.h>
#include <string.h>

#include "collect/ledger/residency.h"
#include "fmt/region_layout.h"
#include "trace/ledger.h"

#define POOL_BYTES_OLD UINT64_C(4096)
#define POOL_BYTES     UINT64_C(16384)
#define HEADER_BYTES   UINT64_C(48)
#define BLOCK_MAX      UINT64_C(512)
/* An arena is at least this long, so one of these steps is in it, and finds it. */
#define STEP_BYTES UINT64_C(65536)
/* At which nothing was recognized. */
#define MISSES_MAX 20000U

const char hs_pymalloc_name[] = HS_HEAP_NAME_PYTHON;

bool hs_pymalloc_may_be_in(const struct hs_address_space *space)
{
    bool is_there = false;
    for (size_t i = 0; i < space->count && !is_there; i++) {
        is_there = space->items[i].inode != 0 &&
                   strstr(hs_mapping_path(space, &space->items[i]), "python") != NULL;
    }
    return is_there;
}

/*
 * The words are: the number of blocks in use (of 32 bits); the first free block; two links; the
 * numbers of the arena and of the size; where the part begins that is not divided yet, and the last
 * offset at which a block can begin.
 */
uint64_t hs_pymalloc_pool_bytes(uint64_t va, const uint64_t words[HS_PYMALLOC_HEADER_WORDS],
                                uint64_t *ret_used_bytes)
{
    static const unsigned shifts[] = { 4, 3 }; /* of a size; 3 before CPython 3.7 */
    static const uint64_t sizes[] = { POOL_BYTES, POOL_BYTES_OLD };
    uint64_t class_idx = words[4] >> 32, next_off = words[5] & UINT32_MAX;
    uint64_t last_off = words[5] >> 32, used_count = words[0] & UINT32_MAX;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t pool_bytes = sizes[i / 2], block_bytes = (class_idx + 1) << shifts[i % 2];
        uint64_t free_off = words[1] - va;
        if (class_idx < BLOCK_MAX && block_bytes <= BLOCK_MAX && va % pool_bytes == 0 &&
            last_off == pool_bytes - block_bytes && next_off <= last_off + block_bytes &&
            next_off >= HEADER_BYTES + block_bytes &&
            (next_off - HEADER_BYTES) % block_bytes == 0 &&
            used_count <= (pool_bytes - HEADER_BYTES) / block_bytes &&
            (words[1] == 0 || (free_off >= HEADER_BYTES && free_off <= last_off &&
                               (free_off - HEADER_BYTES) % block_bytes == 0))) {
            *ret_used_bytes = used_count * block_bytes;
            return pool_bytes;
        }
    }
    return 0;
}

struct search {
    const struct hs_remote_window *window;
    const struct hs_residency *residency;
    unsigned misses_left;
    uint64_t used_bytes; /* of the pool at which was looked last */
};

/* The size of the pool at `va`, or 0. */
static uint64_t look(struct search *search, uint64_t va, uint64_t end_va)
{
    uint64_t words[HS_PYMALLOC_HEADER_WORDS];
    if (hs_residency_next(search->residency, va) != va) {
        return 0;
    }
    uint64_t pool_bytes = end_va - va >= sizeof(words) &&
                                  hs_remote_window_peek(search->window, va, words, sizeof(words))
                              ? hs_pymalloc_pool_bytes(va, words, &search->used_bytes)
                              : 0;
    search->misses_left -= pool_bytes == 0 && search->misses_left > 0 ? 1 : 0;
    return pool_bytes <= end_va - va ? pool_bytes : 0;
}

/* Looks at the places in a step where a pool of the newer size can begin. */
static bool has_pool(struct search *search, uint64_t va, uint64_t end_va)
{
    bool has_it = false;
    for (uint64_t at = (va + POOL_BYTES - 1) / POOL_BYTES * POOL_BYTES; at < end_va && !has_it;
         at += POOL_BYTES) {
        has_it = look(search, at, end_va) != 0;
    }
    return has_it;
}

static int add_pools(struct search *search, uint64_t va, uint64_t end_va, uint64_t gap_end_va,
                     struct hs_owned_ranges *owned, uint64_t *used_bytes)
{
    int r = 0;
    while (va < end_va && r == 0) {
        uint64_t pool_bytes = look(search, va, gap_end_va);
        if (pool_bytes > 0) {
            const struct hs_owned_range range = { va, va + pool_bytes, HS_LEDGER_ALLOCATOR,
                                                  hs_pymalloc_name };
            r = hs_owned_ranges_add(owned, &range);
            *used_bytes += search->used_bytes;
        }
        va += pool_bytes > 0 ? pool_bytes : POOL_BYTES_OLD;
    }
    return r;
}

static int find_in(struct search *search, const struct hs_va_range *gap,
                   struct hs_owned_ranges *owned, uint64_t *used_bytes)
{
    uint64_t va = hs_residency_next(search->residency, gap->start_va);
    int r = 0;
    while (va < gap->end_va && search->misses_left > 0 && r == 0) {
        uint64_t end_va = (va / STEP_BYTES + 1) * STEP_BYTES;
        end_va = end_va < gap->end_va ? end_va : gap->end_va;
        if (has_pool(search, va, end_va)) {
            r = add_pools(search, va, end_va, gap->end_va, owned, used_bytes);
        }
        va = hs_residency_next(search->residency, end_va);
    }
    return r;
}

int hs_pymalloc_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                            const struct hs_va_ranges *gaps, struct hs_owned_ranges *owned,
                            uint64_t *used_bytes)
{
    struct search search = { .window = window, .misses_left = MISSES_MAX };
    int r = 0;
    for (size_t i = 0; i < gaps->count && search.misses_left > 0 && r == 0; i++) {
        struct hs_residency residency;
        r = hs_residency_read(pagemap_fd, gaps->items[i].start_va, gaps->items[i].end_va,
                              &residency);
        if (r == 0) {
            search.residency = &residency;
            r = find_in(&search, &gaps->items[i], owned, used_bytes);
            hs_residency_deinit(&residency);
        }
        r = r == -EFBIG ? 0 : r;
    }
    return r;
}
