/*
 * The list of the client's own memory: see own_ranges.h.
 */
#include "client/host/own_ranges.h"

#include <sys/mman.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

#define PAGE_BYTES 4096U

struct hs_own_ranges_v2 hs_own_ranges;

/* Makes the page behind `page`, unless another thread is first. NULL: no memory. */
static struct hs_own_ranges_v2 *make_next(struct hs_own_ranges_v2 *page)
{
    uint64_t next_va = 0;
    long va = hs_sys_mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                          -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    struct hs_own_ranges_v2 *made = (struct hs_own_ranges_v2 *)va;
    made->ranges[0].start_va = (uint64_t)va;
    made->ranges[0].end_va = (uint64_t)va + sizeof(*made);
    /* ORDER own-ranges: its first range. */
    if (!hs_cas_acq_rel(&page->next_va, &next_va, (uint64_t)va)) {
        hs_sys_munmap(made, sizeof(*made));
        made = (struct hs_own_ranges_v2 *)(uintptr_t)next_va;
    }
    return made;
}

static struct hs_own_ranges_v2 *next_of(const struct hs_own_ranges_v2 *page)
{
    /* ORDER own-ranges: its first range. */
    return (struct hs_own_ranges_v2 *)(uintptr_t)hs_load_acquire(&page->next_va);
}

void hs_own_ranges_add(const void *start, size_t bytes)
{
    uint64_t start_va = (uint64_t)(uintptr_t)start;
    uint64_t end_va = hs_align_up(start_va + bytes, PAGE_BYTES);
    struct hs_own_ranges_v2 *page = &hs_own_ranges, *next;
    for (; page; page = next) {
        for (size_t i = 0; i < HS_OWN_RANGES; i++) {
            uint64_t none_va = 0;
            if (hs_load_relaxed(&page->ranges[i].start_va) == 0 &&
                hs_cas_relaxed(&page->ranges[i].start_va, &none_va, start_va)) {
                hs_store_relaxed(&page->ranges[i].end_va, end_va);
                return;
            }
        }
        next = next_of(page);
        next = next ? next : make_next(page);
    }
}

void hs_own_ranges_remove(const void *start, size_t bytes)
{
    uint64_t start_va = (uint64_t)(uintptr_t)start;
    uint64_t end_va = hs_align_up(start_va + bytes, PAGE_BYTES);
    for (struct hs_own_ranges_v2 *page = &hs_own_ranges; page; page = next_of(page)) {
        for (size_t i = 0; i < HS_OWN_RANGES; i++) {
            struct hs_own_range_v2 *range = &page->ranges[i];
            uint64_t from_va = hs_load_relaxed(&range->start_va);
            if (hs_load_relaxed(&range->end_va) != end_va || from_va > start_va) {
                continue;
            }
            hs_store_relaxed(&range->end_va, from_va < start_va ? start_va : 0);
            if (from_va == start_va) {
                hs_store_relaxed(&range->start_va, 0); /* now another thread may use it */
            }
            return;
        }
    }
}
